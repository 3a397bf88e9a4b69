//! Sitemaps (sitemaps.org): lists of addresses, indexes of such lists, and plain lists; packed with gzip or not.

use std::io::Read as _;

use flate2::read::GzDecoder;
use roxmltree::Node;

use super::kind::{Entries, Page};
use super::{Entry, Reason};

/// The largest sitemap, unpacked: the protocol's own limit.
const UNPACKED: u64 = 50 << 20;

pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    if !page.bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(listed(page)?.into_iter().map(Ok)));
    }
    let mut bytes = Vec::new();
    GzDecoder::new(page.bytes)
        .take(UNPACKED + 1)
        .read_to_end(&mut bytes)
        .map_err(|_| "it is damaged".to_owned())?;
    if bytes.len() as u64 > UNPACKED {
        return Err(format!("it is larger than {UNPACKED} bytes unpacked"));
    }
    Ok(Box::new(
        listed(&Page {
            bytes: &bytes,
            ..*page
        })?
        .into_iter()
        .map(Ok),
    ))
}

fn listed(page: &Page<'_>) -> Result<Vec<Entry>, String> {
    let text = page.text()?;
    if !text.starts_with('<') {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        return Ok(lines.filter_map(|line| book(page, line, None)).collect());
    }
    let document = page.document()?;
    let root = document.root_element();
    let listed = root.children().filter(Node::is_element);
    let locations = listed.filter_map(|node| Some((child(&node, "loc")?, child(&node, "lastmod"))));
    match root.tag_name().name() {
        "sitemapindex" => {
            let pages = locations.map(|(address, _)| {
                page.link(address)
                    .map_or_else(|| unusable(address), Entry::page)
            });
            Ok(pages.collect())
        }
        "urlset" => Ok(locations
            .filter_map(|(address, changed)| book(page, address, changed))
            .collect()),
        other => Err(format!("it is not a sitemap, but <{other}>")),
    }
}

/// A book, if its address is to be taken.
fn book(page: &Page<'_>, address: &str, changed: Option<&str>) -> Option<Entry> {
    let Some(found) = page.link(address) else {
        return page.source.takes(address).then(|| unusable(address));
    };
    let version = changed.map(str::to_owned);
    page.source.takes(&found).then(|| Entry {
        version,
        ..Entry::book(found)
    })
}

fn unusable(address: &str) -> Entry {
    Entry::unusable(address, Reason::Address, "this is no address of the web")
}

fn child<'d>(node: &Node<'d, '_>, name: &str) -> Option<&'d str> {
    node.children()
        .find(|child| child.tag_name().name() == name)?
        .text()
        .map(str::trim)
}
