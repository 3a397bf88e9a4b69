//! RSS, Atom and JSON feeds.

use feed_rs::model::{Entry as Item, Link};
use feed_rs::parser;

use url::Url;

use super::Entry;
use super::kind::{Entries, Page};
use crate::description::{Description, Published};

pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    let parser = parser::Builder::new().base_uri(Some(page.address)).build();
    let feed = parser.parse(page.bytes).map_err(|error| format!("it is no RSS, Atom or JSON feed: {error}"))?;
    let next = feed.links.iter().find(|link| link.rel.as_deref() == Some("next"));
    let next = next.and_then(|link| page.link(&link.href)).map(Entry::page);
    let items = feed.entries.into_iter().filter_map(|item| book(page, item));
    Ok(Box::new(items.chain(next).map(Ok)))
}

/// An item: the file that comes with it, else the page that it is about.
fn book(page: &Page<'_>, item: Item) -> Option<Entry> {
    let rel = |name: &'static str| move |link: &&Link| link.rel.as_deref() == Some(name);
    let content = || item.media.iter().flat_map(|media| &media.content).find_map(|content| content.url.as_ref());
    let enclosed = item.links.iter().find(rel("enclosure")).map(|link| link.href.as_str());
    let usual = item.links.iter().find(rel("alternate")).or_else(|| item.links.iter().find(|link| link.rel.is_none()));
    let address = enclosed.or_else(|| content().map(Url::as_str)).or_else(|| usual.map(|link| link.href.as_str()))?;
    let address = page.link(address).filter(|address| page.source.takes(address))?;
    let description = Description {
        title: item.title.map(|title| title.content),
        authors: item.authors.into_iter().filter_map(|person| person.name).collect(),
        language: item.language,
        identifiers: Vec::new(),
        published: item.published.and_then(|at| Published::of_file(&at.to_rfc3339())),
    };
    let version = item.updated.or(item.published).map(|at| at.to_rfc3339());
    let id = Some(item.id).filter(|id| !id.is_empty());
    Some(Entry { id, description, version, ..Entry::book(address) })
}
