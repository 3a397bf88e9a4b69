//! The definition of a source, as kept in the catalogue.

use super::kind::ReadsPages as _;
use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use url::Url;

use super::kind::Page;
use super::run::PAGE_BYTES;
use super::s3::listing::Prefix;
use super::{HarvestError, OnMissing, SourceKind, exchange};
use lapidary_catalogue::api::{SourceDefinition, Unless};
use lapidary_catalogue::permission::Rate;
use lapidary_catalogue::{CatalogueError, Editor};
use lapidary_extract::MainText;
use lapidary_store::{Library, Rights, Validity};

/// The longest time between runs.
const LONGEST: Duration = Duration::from_hours(8784);
/// The most requests per second to a host that need no administrator.
const POLITE: f64 = 1.0;
/// The fewest: sources that ask one host wait for each other, and a pause must end.
const SLOWEST: f64 = 1.0 / 60.0;
/// The most parts of addresses of a source, and the most bytes of one, of a contact and of a set.
const PARTS: usize = 100;
const WORD_BYTES: usize = 500;
/// The most patterns of a source, the most bytes of one, and how much memory each of its compiled forms may take.
const PATTERNS: usize = 10;
const PATTERN_BYTES: usize = 500;
const PATTERN_MEMORY: usize = 1 << 20;
/// The most bytes of an address.
const ADDRESS_BYTES: usize = 4_000;

/// Where books come from, and what becomes of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own"
)]
pub struct Source {
    /// What it is.
    pub kind: SourceKind,
    /// Its URL, or a path.
    pub address: String,
    /// The library that its books belong to. Different sources can share one.
    pub library: Library,
    /// The rights of its books.
    pub rights: Rights,
    /// Only books whose addresses contain one of these; all if empty.
    #[serde(default)]
    pub contains: Vec<String>,
    /// Only books whose addresses match one of these, besides those.
    #[serde(default)]
    pub matches: Vec<Pattern>,
    /// The days on which the rights of its books are in effect, if limited.
    pub validity: Option<Validity>,
    /// Whom the owner of a site can write to: an e-mail address or a URL.
    pub contact: Option<String>,
    /// Whether addresses of this machine and its network may be used.
    #[serde(default)]
    pub allow_private: bool,
    /// Whether `robots.txt` is not asked.
    #[serde(default)]
    pub ignore_robots: bool,
    /// Where the text of a page is that is a book; all of it if absent.
    pub text: Option<MainText>,
    /// How many new books of a site are enough: known pages are not read again once a run has added these.
    pub enough: Option<u64>,
    /// What becomes of books that the source no longer has.
    #[serde(default)]
    pub gone: OnMissing,
    /// The set of an OAI repository.
    pub set: Option<String>,
    /// Where the credentials are.
    pub credentials: Option<Credentials>,
    /// The most requests per second to a host.
    pub rate: Option<f64>,
    /// The most addresses of one run.
    pub most: u64,
    /// How long after its beginning a run is repeated.
    pub every: Option<Every>,
    /// Whether books are refused that match protected ones of other libraries.
    #[serde(default)]
    pub gated: bool,
    /// Whether it is paused.
    #[serde(default)]
    pub paused: bool,
    /// The name of the key that defined it: its books count in that key's quota.
    pub by: Option<String>,
    /// Whether an admin key defined it: its books are an administrator's. Otherwise they are those of the key in `by`.
    #[serde(default)]
    pub administrator: bool,
    /// Whether an admin key changed it.
    #[serde(default)]
    pub changed_by_administrator: bool,
    /// Whether an admin key paused it.
    #[serde(default)]
    pub paused_by_administrator: bool,
}

/// A regular expression that addresses match. It is compiled when it is first needed: sources are often only listed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Pattern {
    written: String,
    compiled: Arc<OnceLock<Option<Regex>>>,
}

impl Pattern {
    fn compiled(&self) -> Option<&Regex> {
        self.compiled
            .get_or_init(|| {
                let mut builder = RegexBuilder::new(&self.written);
                builder
                    .size_limit(PATTERN_MEMORY)
                    .dfa_size_limit(PATTERN_MEMORY)
                    .build()
                    .ok()
            })
            .as_ref()
    }

    fn is_match(&self, address: &str) -> bool {
        self.compiled().is_some_and(|regex| regex.is_match(address))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

/// As it is kept, and so known to be one.
impl From<String> for Pattern {
    fn from(written: String) -> Self {
        Self {
            written,
            compiled: Arc::default(),
        }
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.written
    }
}

impl FromStr for Pattern {
    type Err = HarvestError;

    fn from_str(written: &str) -> Result<Self, HarvestError> {
        let pattern = Self::from(written.to_owned());
        if written.len() <= PATTERN_BYTES && pattern.compiled().is_some() {
            return Ok(pattern);
        }
        let start: String = written.chars().take(PATTERN_BYTES).collect();
        let what = format!(
            "is not a regular expression of at most {PATTERN_BYTES} bytes, such as /book/[0-9]+"
        );
        Err(HarvestError::Input(format!("{start:?} {what}")))
    }
}

/// A time between runs, such as `6h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub struct Every(Duration);

impl Every {
    /// This many seconds.
    ///
    /// # Errors
    /// If a run cannot be repeated so soon, or so late.
    pub fn of_seconds(seconds: u64) -> Result<Self, HarvestError> {
        if !(1..=LONGEST.as_secs()).contains(&seconds) {
            return Err(HarvestError::Input(format!(
                "'interval_seconds' is {seconds}; give a number from 1 to {}",
                LONGEST.as_secs()
            )));
        }
        Ok(Self(Duration::from_secs(seconds)))
    }

    /// In seconds.
    #[must_use]
    pub fn seconds(self) -> u64 {
        self.0.as_secs()
    }

    /// When a run follows one that began at this time.
    pub(super) fn after(self, begun: Timestamp) -> Timestamp {
        begun.saturating_add(self.0).unwrap_or(Timestamp::MAX)
    }
}

impl FromStr for Every {
    type Err = HarvestError;

    fn from_str(written: &str) -> Result<Self, HarvestError> {
        let wrong = || {
            HarvestError::Input(format!(
                "{written:?} is not a time between runs; give one such as 30m, 6h or 7d"
            ))
        };
        let days = written
            .strip_suffix('d')
            .and_then(|days| days.trim().parse().ok())
            .map(|days: u32| Duration::from_secs(u64::from(days) * 86_400));
        let time = days
            .or_else(|| Duration::try_from(written.parse::<SignedDuration>().ok()?).ok())
            .ok_or_else(wrong)?;
        Self::of_seconds(time.as_secs()).map_err(|_| wrong())
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            seconds if seconds % 86_400 == 0 => write!(f, "{}d", seconds / 86_400),
            seconds if seconds % 3_600 == 0 => write!(f, "{}h", seconds / 3_600),
            seconds if seconds % 60 == 0 => write!(f, "{}m", seconds / 60),
            seconds => write!(f, "{seconds}s"),
        }
    }
}

/// Where credentials are: a file, or `env:` and the name of an environment variable. They themselves are not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials(pub String);

impl Credentials {
    /// What the names of variables start with: a source must not send any other secret of the machine.
    pub const PREFIX: &str = "LAPIDARY_SOURCE_";

    /// The name of the variable.
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        self.0.strip_prefix("env:")
    }
}

impl Source {
    /// Checks what can be checked without a request.
    ///
    /// # Errors
    /// [`HarvestError::Input`].
    pub fn checked(self) -> Result<Self, HarvestError> {
        if let Some(Validity {
            from: Some(from),
            until: Some(until),
            ..
        }) = self.validity
            && until < from
        {
            return Err(CatalogueError::BadValidity { from, until }.into());
        }
        let fault = self
            .fault_of_address()
            .or_else(|| self.fault_of_words())
            .or_else(|| self.fault_of_limits());
        fault.map_or(Ok(self), |why| Err(HarvestError::Input(why)))
    }

    fn fault_of_address(&self) -> Option<String> {
        let (address, is_web) = (&self.address, self.is_web());
        let may_be_file = matches!(
            self.kind,
            SourceKind::Folder | SourceKind::List | SourceKind::Onix
        );
        if address.len() > ADDRESS_BYTES {
            return Some(format!("the address is longer than {ADDRESS_BYTES} bytes"));
        }
        if !may_be_file && !is_web {
            return Some(format!(
                "{address:?} is not an address: give a URL that starts with http:// or https://"
            ));
        }
        if is_web && self.kind == SourceKind::Folder {
            return Some(format!("{address:?} is not a folder"));
        }
        if may_be_file && !is_web && address.contains("://") {
            return Some(format!(
                "{address:?} is neither a path nor an address of the web"
            ));
        }
        match self.kind {
            SourceKind::S3 => Prefix::of(self).err(),
            SourceKind::Lapidary => exchange::library(self).err(),
            _ => None,
        }
    }

    fn fault_of_words(&self) -> Option<String> {
        if !self.is_local() && self.contact.is_none() && !self.allow_private {
            return Some(
                "a source on the web needs a contact (an e-mail address), so that the owner of the site can write to you"
                    .to_owned(),
            );
        }
        if !self
            .contact
            .as_ref()
            .is_none_or(|contact| contact.chars().all(|c| c.is_ascii_graphic()))
        {
            return Some("the contact must be an e-mail address or a URL".to_owned());
        }
        if self.contains.len() > PARTS {
            return Some(format!(
                "a source has at most {PARTS} parts of addresses to take"
            ));
        }
        let mut words = self.contains.iter().chain(&self.contact).chain(&self.set);
        words.find(|word| word.len() > WORD_BYTES).map(|word| {
            let start: String = word.chars().take(20).collect();
            format!("{start:?}… is longer than {WORD_BYTES} bytes")
        })
    }

    fn fault_of_limits(&self) -> Option<String> {
        if self
            .rate
            .is_some_and(|rate| !(rate >= SLOWEST && rate.is_finite()))
        {
            return Some("the rate must be at least one request in a minute: 1/min".to_owned());
        }
        if self.enough.is_some() && self.kind != SourceKind::Site {
            return Some("only of a site some new books can be enough".to_owned());
        }
        if self.enough == Some(0) {
            return Some("at least one new book must be enough".to_owned());
        }
        let variable = self.credentials.as_ref().and_then(Credentials::variable)?;
        (!variable.starts_with(Credentials::PREFIX)).then(|| {
            format!(
                "the name of a variable with credentials must start with {}",
                Credentials::PREFIX
            )
        })
    }

    /// Whether its books and pages are files of this machine.
    pub(super) fn is_local(&self) -> bool {
        match self.kind {
            SourceKind::Folder => true,
            SourceKind::Onix => !self.is_web(),
            _ => false,
        }
    }

    /// Whether an address is a folder that it reads.
    pub(super) fn is_folder(&self, address: &str) -> bool {
        match self.kind {
            SourceKind::Folder => true,
            SourceKind::Onix => self.is_local() && Path::new(address).is_dir(),
            _ => false,
        }
    }

    /// Whether its address is one of the web.
    fn is_web(&self) -> bool {
        Url::parse(&self.address).is_ok_and(|url| is_of_web(&url))
    }

    /// The origin of its address, if it is one of the web.
    pub(super) fn host(&self) -> Option<String> {
        let url = Url::parse(&self.address).ok().filter(is_of_web)?;
        Some(url.origin().ascii_serialization())
    }

    /// What it does that only an administrator may have done: a library's own key must reach neither the machine nor its
    /// network, and must not press other people's servers.
    #[must_use]
    pub fn needs_administrator(&self) -> Option<&'static str> {
        match self {
            _ if !self.is_web() => Some("it reads files of the server"),
            Self {
                allow_private: true,
                ..
            } => Some("it reaches addresses of the server's network"),
            Self {
                ignore_robots: true,
                ..
            } => Some("it ignores robots.txt"),
            Self {
                credentials: Some(_),
                ..
            } => Some("it uses credentials of the server"),
            Self {
                rate: Some(rate), ..
            } if *rate > POLITE => Some("its rate is more than one request per second"),
            _ => None,
        }
    }

    /// What only an administrator may ask for, although a source that has it is shown to all keys of its library.
    #[must_use]
    pub fn asks_for_more(&self) -> Option<&'static str> {
        (self.most > SourceDefinition::MOST)
            .then_some("it fetches more than 100,000 addresses in a run")
    }

    /// Checks what can be known at once of the files that it names on this machine.
    ///
    /// # Errors
    /// [`HarvestError::Input`] if a folder or file does not exist or cannot be read.
    pub fn checked_on_disk(self) -> Result<Self, HarvestError> {
        if let Some(Credentials(path)) = self
            .credentials
            .as_ref()
            .filter(|place| place.variable().is_none())
        {
            fs::metadata(path).map_err(|error| wrong_at(path, error))?;
        }
        if self.is_web() || self.kind == SourceKind::List && self.address == "-" {
            return Ok(self);
        }
        let path = self.address.as_str();
        let found = fs::metadata(path).map_err(|error| wrong_at(path, error))?;
        match self.kind {
            SourceKind::Folder if !found.is_dir() => {
                return Err(wrong_at(path, "it is a file, not a folder"));
            }
            SourceKind::Folder | SourceKind::Onix if found.is_dir() => {
                drop(fs::read_dir(path).map_err(|error| wrong_at(path, error))?);
            }
            _ if !found.is_file() => {
                return Err(wrong_at(path, "it is not a file with addresses"));
            }
            _ => {
                let file = fs::File::open(path).map_err(|error| wrong_at(path, error))?;
                let mut bytes = Vec::new();
                file.take(PAGE_BYTES)
                    .read_to_end(&mut bytes)
                    .map_err(|error| wrong_at(path, error))?;
                let page = Page {
                    source: &self,
                    address: path,
                    bytes: &bytes,
                    since: None,
                };
                let first = self
                    .kind
                    .entries(&page)
                    .and_then(|mut entries| entries.next().transpose());
                first.map_err(|why| wrong_at(path, why))?;
            }
        }
        Ok(self)
    }

    /// Whether only an administrator changes it: one defined or changed it, or a command on the machine did.
    #[must_use]
    pub fn is_of_administrator(&self) -> bool {
        self.administrator || self.changed_by_administrator || self.by.is_none()
    }

    /// An editor for whoever defined the source, who can let a server do no more than they may do themselves.
    #[must_use]
    pub fn editor_of_definer<'c>(&self, editor: &Editor<'c>) -> Editor<'c> {
        editor.on_behalf_of(self.by.as_deref().filter(|_| !self.administrator))
    }

    /// Checks what may not be asked for from elsewhere, whoever asks.
    ///
    /// # Errors
    /// [`HarvestError::Input`].
    pub fn checked_for_server(self) -> Result<Self, HarvestError> {
        if self.address == "-" {
            return Err(HarvestError::Input(
                "a server has no standard input to read a list from".to_owned(),
            ));
        }
        if !self.is_web() && !std::path::Path::new(&self.address).is_absolute() {
            return Err(HarvestError::Input(
                "give the whole path, as it is on the server".to_owned(),
            ));
        }
        if self
            .credentials
            .as_ref()
            .is_some_and(|credentials| credentials.variable().is_none())
        {
            let why = format!(
                "name a variable of the server with the credentials: env:{}NAME",
                Credentials::PREFIX
            );
            return Err(HarvestError::Input(why));
        }
        self.checked()
    }

    /// Whether a book of this address is to be taken.
    pub(super) fn takes(&self, address: &str) -> bool {
        (self.contains.is_empty() && self.matches.is_empty())
            || self
                .contains
                .iter()
                .any(|part| address.contains(part.as_str()))
            || self.matches.iter().any(|pattern| pattern.is_match(address))
    }
}

fn wrong_at(path: &str, why: impl std::fmt::Display) -> HarvestError {
    HarvestError::Input(format!("{path}: {why}"))
}

/// Whether a URL is one of the web.
pub(super) fn is_of_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

impl TryFrom<SourceDefinition> for Source {
    type Error = HarvestError;

    fn try_from(definition: SourceDefinition) -> Result<Self, HarvestError> {
        let SourceDefinition {
            kind,
            url: address,
            library,
            rights,
            url_contains: contains,
            contact,
            allow_private,
            on_missing: gone,
            oai_set: set,
            ..
        } = definition;
        if definition.url_matches.len() > PATTERNS {
            return Err(HarvestError::Input(format!(
                "a source has at most {PATTERNS} patterns"
            )));
        }
        Ok(Self {
            kind,
            address,
            library,
            rights,
            contains,
            contact,
            allow_private,
            gone,
            set,
            matches: definition
                .url_matches
                .iter()
                .map(|pattern| pattern.parse())
                .collect::<Result<_, _>>()?,
            validity: definition.validity,
            enough: definition.new_books_per_run,
            ignore_robots: definition.ignore_robots,
            credentials: definition.credentials.map(Credentials),
            rate: definition.rate.map(Rate::per_second),
            most: definition.max_urls,
            every: definition
                .interval_seconds
                .map(Every::of_seconds)
                .transpose()?,
            text: definition
                .text_selector
                .as_deref()
                .map(str::parse)
                .transpose()?,
            gated: definition.unless.is_some(),
            paused: definition.paused,
            by: None,
            administrator: false,
            changed_by_administrator: false,
            paused_by_administrator: false,
        })
    }
}

impl From<Source> for SourceDefinition {
    fn from(source: Source) -> Self {
        Self {
            kind: source.kind,
            url: source.address,
            library: source.library,
            rights: source.rights,
            url_contains: source.contains,
            contact: source.contact,
            allow_private: source.allow_private,
            on_missing: source.gone,
            new_books_per_run: source.enough,
            oai_set: source.set,
            url_matches: source.matches.into_iter().map(Into::into).collect(),
            validity: source.validity,
            ignore_robots: source.ignore_robots,
            credentials: source.credentials.map(|Credentials(place)| place),
            rate: source.rate.map(Rate::of_per_second),
            max_urls: source.most,
            interval_seconds: source.every.map(Every::seconds),
            text_selector: source.text.map(|text| text.to_string()),
            unless: source.gated.then_some(Unless::Protected),
            paused: source.paused,
        }
    }
}
