//! RSS, Atom and JSON feeds.

use feed_rs::model::Entry as Item;
use feed_rs::parser;

use super::kind::{Entries, Offers, Page};
use super::{Entry, Reason};
use lapidary_common::description::{Description, PartialDate};

pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    let parser = parser::Builder::new().base_uri(Some(page.address)).build();
    let feed = parser
        .parse(page.bytes)
        .map_err(|error| format!("it is no RSS, Atom or JSON feed: {error}"))?;
    let next = feed
        .links
        .iter()
        .find(|link| link.rel.as_deref() == Some("next"));
    let next = next.and_then(|link| page.link(&link.href)).map(Entry::page);
    let items = feed.entries.into_iter().filter_map(|item| book(page, item));
    Ok(Box::new(items.chain(next).map(Ok)))
}

/// The files that an item leads to.
fn offers(page: &Page<'_>, item: &Item) -> Offers {
    let enclosed = item
        .links
        .iter()
        .filter(|link| link.rel.as_deref() == Some("enclosure"))
        .map(|link| (link.media_type.clone(), link.href.clone()));
    let content = item
        .media
        .iter()
        .flat_map(|media| &media.content)
        .filter_map(|content| {
            // Without a type, it is a picture.
            Some((
                Some(content.content_type.as_ref()?.to_string()),
                content.url.as_ref()?.to_string(),
            ))
        });
    enclosed
        .chain(content)
        .filter_map(|(kind, to)| Some((kind, page.link(&to)?)))
        .collect()
}

/// An item: the file that comes with it, else the page that it is about.
fn book(page: &Page<'_>, item: Item) -> Option<Entry> {
    let offers = offers(page, &item);
    let usual = item
        .links
        .iter()
        .find(|link| link.rel.as_deref() == Some("alternate"))
        .or_else(|| item.links.iter().find(|link| link.rel.is_none()));
    let Some(address) = offers.best(page).or_else(|| page.link(&usual?.href)) else {
        let name = item.title.map_or(item.id, |title| title.content);
        return offers.unusable(page, name, (Reason::NoFile, "the item leads to nothing"));
    };
    if !page.source.takes(&address) {
        return None;
    }
    let description = Description {
        title: item.title.map(|title| title.content),
        authors: item
            .authors
            .into_iter()
            .filter_map(|person| person.name)
            .collect(),
        language: item.language,
        identifiers: Vec::new(),
        published: item
            .published
            .and_then(|at| PartialDate::of_file(&at.to_rfc3339())),
    };
    let version = item.updated.or(item.published).map(|at| at.to_rfc3339());
    let id = Some(item.id).filter(|id| !id.is_empty());
    Some(Entry {
        id,
        description,
        version,
        ..Entry::book(address)
    })
}
