//! Sources, as kept in the catalogue.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use url::Url;

use super::frontier::Frontier;
use super::{HarvestError, Kind, Tally};
use crate::catalogue::{Catalogue, Editor, put};
use crate::index::{BookId, Library, Rights, RowChange, Table};

/// How many refusals a summary shows.
const REFUSALS: usize = 20;

/// Where books come from, and what becomes of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// What it is.
    pub kind: Kind,
    /// Its URL, or a path.
    pub address: String,
    /// The library that its books belong to. Different sources can share one.
    pub library: Library,
    /// The rights of its books.
    pub rights: Rights,
    /// Only books whose addresses contain one of these; all if empty.
    #[serde(default)]
    pub contains: Vec<String>,
    /// Whom the owner of a site can write to: an e-mail address or a URL.
    #[serde(default)]
    pub contact: Option<String>,
    /// Whether addresses of this machine and its network may be used.
    #[serde(default)]
    pub allow_private: bool,
    /// What becomes of books that the source no longer has.
    #[serde(default)]
    pub gone: Gone,
    /// The set of an OAI repository.
    #[serde(default)]
    pub set: Option<String>,
    /// A file with `USER:PASSWORD` or a bearer token. Only its path is kept.
    #[serde(default)]
    pub credentials: Option<PathBuf>,
    /// The most requests per second to a host.
    #[serde(default)]
    pub rate: Option<f64>,
    /// The most addresses of one run.
    pub most: u64,
    /// Whether it is paused.
    #[serde(default)]
    pub paused: bool,
}

/// What becomes of books that a source no longer has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gone {
    /// They stay.
    #[default]
    Keep,
    /// They are disabled, with a note.
    Disable,
}

impl Source {
    /// Checks what can be checked without a request.
    ///
    /// # Errors
    /// [`HarvestError::Input`].
    pub fn checked(self) -> Result<Self, HarvestError> {
        let input = |why: String| Err(HarvestError::Input(why));
        let is_web =
            matches!(Url::parse(&self.address), Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host());
        let may_be_file = matches!(self.kind, Kind::Folder | Kind::List);
        if !may_be_file && !is_web {
            return input(format!(
                "{:?} is not an address: give a URL that starts with http:// or https://",
                self.address
            ));
        }
        if is_web && self.kind == Kind::Folder {
            return input(format!("{:?} is not a folder", self.address));
        }
        if self.kind != Kind::Folder && self.contact.is_none() && !self.allow_private {
            return input(
                "a source on the web needs --contact MAIL, so that the owner of the site can write to you".to_owned(),
            );
        }
        if self.contact.as_ref().is_some_and(|contact| !contact.chars().all(|c| c.is_ascii_graphic())) {
            return input("the contact must be an e-mail address or a URL".to_owned());
        }
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
            return input("the rate must be more than 0".to_owned());
        }
        Ok(self)
    }

    /// Whether a book of this address is to be taken.
    pub(super) fn takes(&self, address: &str) -> bool {
        self.contains.is_empty() || self.contains.iter().any(|part| address.contains(part.as_str()))
    }
}

/// What is known of a source.
#[derive(Debug, Clone, Serialize)]
pub struct SourceSummary {
    /// Its name.
    pub name: BookId,
    /// Its definition.
    #[serde(flatten)]
    pub source: Source,
    /// The number of addresses in the queue.
    pub queued: u64,
    /// The current or last run, and those before it, the newest first.
    pub runs: Vec<Harvested>,
    /// Some of the addresses that were refused, and why.
    pub refused: Vec<Refusal>,
}

/// A run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Harvested {
    /// When it began.
    pub begun: Timestamp,
    /// When it ended; missing while it runs, or if it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// What became of the books.
    #[serde(flatten)]
    pub tally: Tally,
}

/// An address that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The address.
    pub address: String,
    /// Why.
    pub why: String,
    /// When.
    pub at: Timestamp,
}

/// The sources of a catalogue.
pub trait Sources {
    /// All sources, by name.
    fn sources(&self) -> Result<BTreeMap<BookId, Source>, HarvestError>;

    /// A source.
    ///
    /// # Errors
    /// [`HarvestError::NoSuchSource`].
    fn source(&self, name: &BookId) -> Result<Source, HarvestError> {
        let none = || HarvestError::NoSuchSource(name.as_str().to_owned());
        self.sources()?.remove(name).ok_or_else(none)
    }

    /// What is known of a source.
    fn source_summary(&self, name: &BookId) -> Result<SourceSummary, HarvestError>;
}

impl Sources for Catalogue {
    fn sources(&self) -> Result<BTreeMap<BookId, Source>, HarvestError> {
        Ok(self.rows(Table::Sources)?)
    }

    fn source_summary(&self, name: &BookId) -> Result<SourceSummary, HarvestError> {
        let source = self.source(name)?;
        let frontier = Frontier::new(self, name);
        let refused = frontier.refused(REFUSALS)?;
        Ok(SourceSummary {
            name: name.clone(),
            source,
            queued: frontier.queued()?,
            runs: frontier.state()?.runs,
            refused,
        })
    }
}

impl Editor<'_> {
    /// Adds a source, or replaces the definition of one. Returns whether it replaced one.
    pub fn set_source(&self, name: &BookId, source: &Source) -> Result<bool, HarvestError> {
        Ok(self.change_setting(put(Table::Sources, name.as_str(), source), None)?)
    }

    /// Removes a source and what is known of it. Its books stay. Returns whether it existed.
    pub fn remove_source(&self, name: &BookId) -> Result<bool, HarvestError> {
        let existed = self.change_setting(RowChange::delete(Table::Sources, name.as_str()), None)?;
        Frontier::new(self, name).clear(self)?;
        Ok(existed)
    }
}
