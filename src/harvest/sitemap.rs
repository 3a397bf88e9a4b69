//! Sitemaps (sitemaps.org): lists of addresses, indexes of such lists, and plain lists; packed with gzip or not.

use std::io::Read as _;

use flate2::read::GzDecoder;
use roxmltree::Node;

use super::Entry;
use super::kind::{Entries, Page};

/// The largest sitemap, unpacked: the protocol's own limit.
const UNPACKED: u64 = 50 << 20;

pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    if !page.bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(listed(page)?.into_iter().map(Ok)));
    }
    let mut bytes = Vec::new();
    GzDecoder::new(page.bytes).take(UNPACKED + 1).read_to_end(&mut bytes).map_err(|_| "it is damaged".to_owned())?;
    if bytes.len() as u64 > UNPACKED {
        return Err(format!("it is larger than {UNPACKED} bytes unpacked"));
    }
    Ok(Box::new(listed(&Page { bytes: &bytes, ..*page })?.into_iter().map(Ok)))
}

fn listed(page: &Page<'_>) -> Result<Vec<Entry>, String> {
    let text = page.text()?;
    if !text.starts_with('<') {
        let books = text.lines().filter_map(|line| page.link(line)).filter(|address| page.source.takes(address));
        return Ok(books.map(Entry::book).collect());
    }
    let document = page.document()?;
    let root = document.root_element();
    let listed = root.children().filter(Node::is_element);
    let address = |node: &Node<'_, '_>| page.link(child(node, "loc")?);
    match root.tag_name().name() {
        "sitemapindex" => Ok(listed.filter_map(|node| address(&node)).map(Entry::page).collect()),
        "urlset" => {
            let books = listed.filter_map(|node| Some((address(&node)?, child(&node, "lastmod").map(str::to_owned))));
            let taken = books.filter(|(address, _)| page.source.takes(address));
            Ok(taken.map(|(address, version)| Entry { version, ..Entry::book(address) }).collect())
        }
        other => Err(format!("it is not a sitemap, but <{other}>")),
    }
}

fn child<'d>(node: &Node<'d, '_>, name: &str) -> Option<&'d str> {
    node.children().find(|child| child.tag_name().name() == name)?.text().map(str::trim)
}
