//! A crawl within one host. Pages are followed from a start page on; those whose addresses are taken are books, too. A page that
//! names another as the original (`rel=canonical`) is not a book itself.

use html5gum::{StartTag, Token, Tokenizer};
use url::Url;

use super::kind::{Entries, Page};
use super::{Entry, Mark, Reason};

/// Endings of files that are neither pages nor books.
const OTHERS: [&str; 17] = [
    ".css", ".js", ".json", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".woff",
    ".woff2", ".mp3", ".mp4", ".ogg", ".avi", ".xml",
];
/// Parameters that number visits rather than pages, or say where a visitor came from, in lower case.
const VISITS: [&str; 12] = [
    "jsessionid",
    "phpsessid",
    "sid",
    "sessionid",
    "session_id",
    "session-id",
    "zenid",
    "oscsid",
    "cfid",
    "cftoken",
    "fbclid",
    "gclid",
];
/// The beginnings of such parameters.
const VISITS_BEGIN: [&str; 2] = ["aspsessionid", "utm_"];

/// The pages that a page links to, and the one that it is a copy of.
pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    let start =
        Url::parse(&page.source.address).map_err(|_| "the address is not a URL".to_owned())?;
    let listed = links(page);
    let origin = start.origin();
    let urls = listed
        .into_iter()
        .filter_map(|address| Url::parse(&address).ok());
    let urls = urls.filter(move |url| url.origin() == origin);
    let original = original(page);
    Ok(Box::new(urls.filter_map(move |url| {
        let is_other = OTHERS
            .iter()
            .any(|end| url.path().to_ascii_lowercase().ends_with(end));
        let address = without_visit(url);
        let book = page.source.takes(&address);
        if is_other {
            let why = "it is called as pictures, sounds, videos and parts of pages are";
            return book.then(|| Ok(Entry::unusable(address, Reason::Format, why)));
        }
        let mark = (Some(&address) == original.as_ref()).then_some(Mark::Original);
        Some(Ok(Entry {
            book,
            mark,
            ..Entry::page(address)
        }))
    })))
}

/// The page of its host that a page says it is a copy of.
fn original(page: &Page<'_>) -> Option<String> {
    let mut tags = tags(page.bytes).take_while(|tag| tag.name.as_slice() != b"body");
    let canonical = page.link(&attribute(&tags.find(is_canonical)?, b"href")?)?;
    let (canonical, here) = (Url::parse(&canonical).ok()?, Url::parse(page.address).ok()?);
    let is_of_host = canonical.origin() == here.origin();
    let canonical = without_visit(canonical);
    (is_of_host && canonical != without_visit(here)).then_some(canonical)
}

/// The address without what differs from visit to visit.
fn without_visit(mut url: Url) -> String {
    if let Some((path, parameter)) = url.path().rsplit_once(';')
        && parameter
            .split_once('=')
            .is_some_and(|(name, _)| is_visit(name))
    {
        let path = path.to_owned();
        url.set_path(&path);
    }
    if url.query().is_some_and(|query| {
        query
            .split('&')
            .any(|pair| is_visit(pair.split('=').next().unwrap_or(pair)))
    }) {
        let query = url.query().unwrap_or_default().split('&');
        let kept: Vec<&str> = query
            .filter(|pair| !is_visit(pair.split('=').next().unwrap_or(pair)))
            .collect();
        let kept = kept.join("&");
        url.set_query(Some(kept.as_str()).filter(|kept| !kept.is_empty()));
    }
    url.set_fragment(None);
    url.into()
}

fn is_visit(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    VISITS.contains(&name.as_str()) || VISITS_BEGIN.iter().any(|begin| name.starts_with(begin))
}

fn tags(bytes: &[u8]) -> impl Iterator<Item = StartTag<()>> {
    Tokenizer::new(bytes).filter_map(|token| match token {
        Ok(Token::StartTag(tag)) => Some(tag),
        _ => None,
    })
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    tag.attributes
        .get(name)
        .map(|value| String::from_utf8_lossy(value).into_owned())
}

fn is_canonical(tag: &StartTag<()>) -> bool {
    tag.name.as_slice() == b"link"
        && attribute(tag, b"rel").is_some_and(|rel| {
            rel.split_ascii_whitespace()
                .any(|rel| rel.eq_ignore_ascii_case("canonical"))
        })
}

/// The addresses that a page leads to.
fn links(page: &Page<'_>) -> Vec<String> {
    let mut at = page.address.to_owned();
    let mut listed = Vec::new();
    for tag in tags(page.bytes) {
        let here = Page {
            address: &at,
            ..*page
        };
        let to = || attribute(&tag, b"href").and_then(|to| here.link(&to));
        match tag.name.as_slice() {
            b"base" => at = to().unwrap_or(at),
            b"a" | b"area"
                if attribute(&tag, b"rel").is_none_or(|rel| !rel.contains("nofollow")) =>
            {
                listed.extend(to());
            }
            b"link" if is_canonical(&tag) => listed.extend(to()),
            _ => {}
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::super::kind::tests::source;
    use super::super::{Entry, SourceKind};
    use super::{Page, entries, original};

    fn page<'p>(source: &'p super::super::Source, address: &'p str, html: &'p str) -> Page<'p> {
        Page {
            source,
            address,
            bytes: html.as_bytes(),
            since: None,
        }
    }

    fn listed(html: &str) -> Vec<String> {
        let source = source(SourceKind::Site, "http://x.y/");
        let page = page(&source, "http://x.y/a/", html);
        let listed = entries(&page)
            .expect("a list")
            .map(|entry| entry.expect("an entry"));
        listed.map(|Entry { address, .. }| address).collect()
    }

    #[test]
    fn addresses_are_the_same_for_every_visit() {
        let html = "<a href='b#c'>1</a><a href='//x.y:80/b'>2</a><a href='b;jsessionid=A1?n=2'>3</a><a href='b?PHPSESSID=f&n=2'>4</a>\
            <a href='b?n=2&sid=9&utm_source=m'>5</a><a href='b?sid=1'>6</a><a href='b?side=1;x'>7</a><a href='c;v=1'>8</a>";
        let b = "http://x.y/a/b";
        let expected = [
            b,
            "http://x.y/b",
            &format!("{b}?n=2"),
            &format!("{b}?n=2"),
            &format!("{b}?n=2"),
            b,
        ];
        let others = [format!("{b}?side=1;x"), "http://x.y/a/c;v=1".to_owned()];
        assert_eq!(
            listed(html),
            expected
                .into_iter()
                .map(str::to_owned)
                .chain(others)
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_copy_names_its_original() {
        let source = source(SourceKind::Site, "http://x.y/");
        let copy = |html: &str| original(&page(&source, "http://x.y/a?print=1", html)).is_some();
        assert!(copy("<head><link rel='canonical' href='/a'></head><body>"));
        assert!(!copy(
            "<head><link rel='canonical' href='/a?print=1&amp;sid=4#top'></head>"
        ));
        assert!(
            !copy("<head><link rel='canonical' href='http://other.z/a'></head>"),
            "only the host can say so of itself"
        );
        assert!(!copy("<body><link rel='canonical' href='/a'>"));
        assert_eq!(
            listed("<link rel='shortlink canonical' href='/a'>"),
            ["http://x.y/a"]
        );
    }
}
