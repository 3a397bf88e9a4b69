//! The kinds of sources, and what they have in common.

use std::collections::BTreeSet;

use roxmltree::{Document, ParsingOptions};
use url::Url;

use super::s3::listing;
use super::{
    Entry, Reason, Source, SourceKind, exchange, feed, folder, list, oai, onix, opds, site, sitemap,
};
use lapidary_extract::rank;

/// A fetched page.
pub(super) struct Page<'p> {
    pub(super) source: &'p Source,
    /// Where it was found in the end.
    pub(super) address: &'p str,
    pub(super) bytes: &'p [u8],
    /// Where the last complete harvest began, as the source said.
    pub(super) since: Option<&'p str>,
}

impl Page<'_> {
    /// The address that a link of the page leads to, if it leads anywhere on the web.
    pub(super) fn link(&self, to: &str) -> Option<String> {
        let mut url = Url::parse(self.address).ok()?.join(to.trim()).ok()?;
        url.set_fragment(None);
        matches!(url.scheme(), "http" | "https").then(|| url.into())
    }

    /// The page as text.
    pub(super) fn text(&self) -> Result<&str, String> {
        let text = str::from_utf8(self.bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        Ok(text.trim_start_matches('\u{feff}').trim_start())
    }

    /// The page as XML.
    pub(super) fn document(&self) -> Result<Document<'_>, String> {
        let options = ParsingOptions {
            nodes_limit: MOST_NODES,
            ..ParsingOptions::default()
        };
        Document::parse_with_options(self.text()?, options)
            .map_err(|error| format!("it is not valid XML: {error}"))
    }
}

/// The files that a book is offered as: their media types, if those are said, and addresses.
#[derive(Default)]
pub(super) struct Offers(Vec<(Option<String>, String)>);

impl FromIterator<(Option<String>, String)> for Offers {
    fn from_iter<I: IntoIterator<Item = (Option<String>, String)>>(offers: I) -> Self {
        Self(offers.into_iter().collect())
    }
}

impl Offers {
    /// The address of the one in the best format, of those that the source takes and that can be read.
    pub(super) fn best(&self, page: &Page<'_>) -> Option<String> {
        let taken = self
            .0
            .iter()
            .filter(|(_, address)| page.source.takes(address));
        let ranked =
            taken.filter_map(|(kind, address)| Some((rank(kind.as_deref(), address)?, address)));
        ranked.min().map(|(_, address)| address.clone())
    }

    /// The book, of which none can be used. Without files, it is called `name`, for this reason. `None` if the source takes none of
    /// its files.
    pub(super) fn unusable(
        self,
        page: &Page<'_>,
        name: String,
        without: (Reason, &str),
    ) -> Option<Entry> {
        let (reason, why) = without;
        if self.0.is_empty() {
            return Some(Entry::unusable(name, reason, why));
        }
        let taken: Vec<_> = self
            .0
            .iter()
            .filter(|(_, address)| page.source.takes(address))
            .collect();
        let (_, first) = taken.first()?;
        let kinds: BTreeSet<&str> = taken
            .iter()
            .filter_map(|(kind, _)| kind.as_deref())
            .collect();
        let kinds: Vec<&str> = kinds.into_iter().take(KINDS_SHOWN).collect();
        let why = format!(
            "it is only there as {}, which cannot be read",
            kinds.join(", ")
        );
        Some(Entry::unusable(first, Reason::Format, why))
    }
}

/// How many media types a reason names.
const KINDS_SHOWN: usize = 3;

/// The largest page, in elements, attributes and texts.
const MOST_NODES: u32 = 4_000_000;

/// What a page lists, in order. An error ends the list.
pub(super) type Entries<'p> = Box<dyn Iterator<Item = Result<Entry, String>> + 'p>;

/// How the pages of a kind of source are read.
pub(super) trait ReadsPages: Sized {
    /// Whether its pages list every book that there is, so that a book that none lists is gone.
    fn lists_all(self) -> bool;

    /// The page to begin with.
    fn begin(self, source: &Source, since: Option<&str>) -> Result<Entry, String>;

    /// What a page lists.
    fn entries<'p>(self, page: &'p Page<'p>) -> Result<Entries<'p>, String>;
}

impl ReadsPages for SourceKind {
    fn lists_all(self) -> bool {
        matches!(
            self,
            Self::Folder | Self::S3 | Self::Opds | Self::Sitemap | Self::List | Self::Lapidary
        )
    }

    fn begin(self, source: &Source, since: Option<&str>) -> Result<Entry, String> {
        match self {
            Self::Oai => oai::begin(source, since),
            Self::Onix => Ok(onix::begin(source)),
            Self::S3 => listing::begin(source),
            Self::Lapidary => exchange::begin(source),
            Self::Site => Ok(Entry {
                book: source.takes(&source.address),
                ..Entry::page(&source.address)
            }),
            _ => Ok(Entry::page(&source.address)),
        }
    }

    fn entries<'p>(self, page: &'p Page<'p>) -> Result<Entries<'p>, String> {
        match self {
            Self::Folder => folder::entries(page),
            Self::S3 => listing::entries(page),
            Self::Lapidary => exchange::entries(page),
            Self::List => list::entries(page),
            Self::Sitemap => sitemap::entries(page),
            Self::Feed => feed::entries(page),
            Self::Opds => opds::entries(page),
            Self::Oai => oai::entries(page),
            Self::Onix => onix::entries(page),
            Self::Site => site::entries(page),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::super::{Source, SourceKind};

    /// A source for tests.
    pub(in super::super) fn source(kind: SourceKind, address: &str) -> Source {
        let source = json!({"kind": kind, "address": address, "library": "lib", "rights": "protected", "most": 100});
        serde_json::from_value(source).expect("a source")
    }
}
