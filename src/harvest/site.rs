//! A crawl within one host. Pages are followed from a start page on; those whose addresses are taken are books, too.

use html5gum::{Token, Tokenizer};
use url::Url;

use super::Entry;
use super::kind::{Entries, Page};

/// Endings of files that are neither pages nor books.
const OTHERS: [&str; 17] = [
    ".css", ".js", ".json", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".woff", ".woff2", ".mp3",
    ".mp4", ".ogg", ".avi", ".xml",
];

/// The pages that a page links to.
pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    let start = Url::parse(&page.source.address).map_err(|_| "the address is not a URL".to_owned())?;
    let mut at = page.address.to_owned();
    let mut listed = Vec::new();
    for token in Tokenizer::new(page.bytes) {
        let Ok(Token::StartTag(tag)) = token else { continue };
        let attribute = |name: &[u8]| tag.attributes.get(name).map(|value| String::from_utf8_lossy(value).into_owned());
        match tag.name.as_slice() {
            b"base" => at = attribute(b"href").and_then(|to| page.link(&to)).unwrap_or(at),
            b"a" | b"area" if attribute(b"rel").is_none_or(|rel| !rel.contains("nofollow")) => {
                let here = Page { address: &at, ..*page };
                listed.extend(attribute(b"href").and_then(|to| here.link(&to)));
            }
            _ => {}
        }
    }
    let origin = start.origin();
    let is_here = move |address: &String| {
        let url = Url::parse(address).ok();
        url.is_some_and(|url| {
            url.origin() == origin && !OTHERS.iter().any(|end| url.path().to_ascii_lowercase().ends_with(end))
        })
    };
    Ok(Box::new(
        listed
            .into_iter()
            .filter(is_here)
            .map(|address| Ok(Entry { book: page.source.takes(&address), ..Entry::page(address) })),
    ))
}
