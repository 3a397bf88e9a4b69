//! OPDS catalogues: 1.2 (Atom) and 2.0 (JSON), with navigation and paging. Of a book's files, the one in the best format is
//! taken.

use roxmltree::Node;
use serde_json::Value;

use super::kind::{Entries, Offers, Page};
use super::{Entry, Reason};
use lapidary_common::description::{Description, PartialDate};

/// How a link to a book's file begins its relation.
const ACQUISITION: &str = "http://opds-spec.org/acquisition";
/// Ways to acquire a book that do not give its file, or not all of it.
const NOT_FILES: [&str; 4] = ["/buy", "/borrow", "/subscribe", "/sample"];
/// Why a book without a file cannot be used.
const NO_FILE: (Reason, &str) = (
    Reason::NoFile,
    "the catalogue gives no file of it; perhaps it must be bought, borrowed or subscribed to",
);

pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    let start = page.bytes.trim_ascii_start();
    let listed = if start.first() == Some(&b'{') {
        json(page)?
    } else {
        atom(page)?
    };
    Ok(Box::new(listed.into_iter().map(Ok)))
}

fn is_file(relation: &str) -> bool {
    relation.starts_with(ACQUISITION) && !NOT_FILES.iter().any(|not| relation.ends_with(not))
}

fn atom(page: &Page<'_>) -> Result<Vec<Entry>, String> {
    let document = page.document()?;
    let root = document.root_element();
    match root.tag_name().name() {
        "feed" => {
            let entries = children(root, "entry").enumerate();
            let mut listed: Vec<Entry> = entries
                .flat_map(|(at, entry)| atom_entry(page, entry, at))
                .collect();
            let next = children(root, "link").find(|link| link.attribute("rel") == Some("next"));
            listed.extend(
                next.and_then(|link| page.link(link.attribute("href")?))
                    .map(Entry::page),
            );
            Ok(listed)
        }
        "entry" => Ok(atom_entry(page, root, 0)),
        other => Err(format!("it is not an OPDS catalogue, but <{other}>")),
    }
}

/// What a book is called that has neither an id nor a title: the number of its entry on the page.
fn nameless(page: &Page<'_>, at: usize) -> String {
    format!("{}#{at}", page.address)
}

/// A book, or else the pages that an entry leads to. An entry that leads to nothing is a book without a file.
fn atom_entry(page: &Page<'_>, entry: Node<'_, '_>, at: usize) -> Vec<Entry> {
    let acquisitions: Vec<_> = children(entry, "link")
        .filter(|link| attribute(*link, "rel").starts_with(ACQUISITION))
        .collect();
    let offers: Offers = acquisitions
        .iter()
        .filter(|link| is_file(attribute(**link, "rel")))
        .filter_map(|link| {
            let kind = link.attribute("type").map(str::to_owned);
            Some((kind, page.link(link.attribute("href")?)?))
        })
        .collect();
    if let Some(address) = offers.best(page) {
        return vec![Entry {
            id: text_of(entry, "id"),
            version: text_of(entry, "updated"),
            description: atom_description(entry),
            ..Entry::book(address)
        }];
    }
    let mut listed: Vec<Entry> = atom_pages(page, entry).collect();
    // The whole entry may be elsewhere.
    let is_whole = entry.parent_element().is_none()
        || !children(entry, "link").any(|link| attribute(link, "type").contains("type=entry"));
    if listed.is_empty() || !acquisitions.is_empty() && is_whole {
        let name = text_of(entry, "id")
            .or_else(|| text_of(entry, "title"))
            .unwrap_or_else(|| nameless(page, at));
        listed.extend(offers.unusable(page, name, NO_FILE));
    }
    listed
}

fn atom_pages(page: &Page<'_>, entry: Node<'_, '_>) -> impl Iterator<Item = Entry> {
    children(entry, "link")
        .filter(|link| attribute(*link, "type").starts_with("application/atom+xml"))
        .filter_map(|link| page.link(link.attribute("href")?))
        .map(Entry::page)
}

fn atom_description(entry: Node<'_, '_>) -> Description {
    let authors =
        children(entry, "author").filter_map(|author| children(author, "name").next()?.text());
    let identifiers = children(entry, "identifier").filter_map(|node| node.text());
    Description {
        title: text_of(entry, "title"),
        authors: authors.map(|name| name.trim().to_owned()).collect(),
        language: text_of(entry, "language"),
        identifiers: identifiers.map(str::to_owned).collect(),
        published: text_of(entry, "issued").and_then(|issued| PartialDate::of_file(&issued)),
    }
}

/// The text of the first element of this name that has one.
fn text_of(entry: Node<'_, '_>, name: &'static str) -> Option<String> {
    let text = children(entry, name).find_map(|node| node.text());
    text.map(|text| text.trim().to_owned())
}

/// An attribute, or nothing.
fn attribute<'a>(node: Node<'a, '_>, name: &str) -> &'a str {
    node.attribute(name).unwrap_or_default()
}

fn children<'a, 'd: 'a>(
    node: Node<'a, 'd>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'd>> {
    node.children()
        .filter(move |child| child.tag_name().name() == name)
}

fn json(page: &Page<'_>) -> Result<Vec<Entry>, String> {
    let feed: Value =
        serde_json::from_slice(page.bytes).map_err(|_| "it is not valid JSON".to_owned())?;
    let mut listed = Vec::new();
    if feed
        .get("publications")
        .or_else(|| feed.get("navigation"))
        .or_else(|| feed.get("groups"))
        .is_none()
    {
        let is_publication = feed.get("metadata").or_else(|| feed.get("links")).is_some();
        listed.extend(
            is_publication
                .then(|| publication(page, &feed, 0))
                .flatten(),
        );
    }
    section(page, &feed, &mut listed);
    for group in array(&feed, "groups") {
        section(page, group, &mut listed);
        // A group shows a part of a page.
        listed.extend(linked(page, group, "self"));
    }
    listed.extend(linked(page, &feed, "next"));
    Ok(listed)
}

/// The pages and books of a feed or of a group in it.
fn section(page: &Page<'_>, section: &Value, listed: &mut Vec<Entry>) {
    let pages =
        array(section, "navigation").filter_map(|link| page.link(link.get("href")?.as_str()?));
    listed.extend(pages.map(Entry::page));
    for book in array(section, "publications") {
        listed.extend(publication(page, book, listed.len()));
    }
}

/// The page that a feed or a group links to in this relation.
fn linked(page: &Page<'_>, section: &Value, relation: &str) -> Option<Entry> {
    let link = array(section, "links").find(|link| relations(link).any(|rel| rel == relation))?;
    page.link(link.get("href")?.as_str()?).map(Entry::page)
}

fn publication(page: &Page<'_>, book: &Value, at: usize) -> Option<Entry> {
    let metadata = book.get("metadata").unwrap_or(&Value::Null);
    let files = array(book, "links").filter(|link| relations(link).any(is_file));
    let offers: Offers = files
        .filter_map(|link| {
            Some((
                link.get("type").and_then(words),
                page.link(link.get("href")?.as_str()?)?,
            ))
        })
        .collect();
    let text = |name| metadata.get(name).and_then(words);
    let description = Description {
        title: text("title"),
        authors: several(metadata.get("author")).filter_map(words).collect(),
        language: several(metadata.get("language")).find_map(words),
        identifiers: several(metadata.get("identifier"))
            .filter_map(words)
            .collect(),
        published: text("published").and_then(|published| PartialDate::of_file(&published)),
    };
    let Some(address) = offers.best(page) else {
        let name = text("identifier")
            .or(description.title)
            .unwrap_or_else(|| nameless(page, at));
        return offers.unusable(page, name, NO_FILE);
    };
    Some(Entry {
        id: text("identifier"),
        version: text("modified"),
        description,
        ..Entry::book(address)
    })
}

fn array<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// The elements of an array, or the value itself.
fn several(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    let (array, single) = match value {
        Some(Value::Array(array)) => (array.as_slice(), None),
        single => (&[][..], single),
    };
    array.iter().chain(single)
}

fn relations(link: &Value) -> impl Iterator<Item = &str> {
    several(link.get("rel")).filter_map(Value::as_str)
}

/// A text; the name of a person; the text in any language.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => fields.get("name").map_or_else(
            || fields.values().find_map(Value::as_str).map(str::to_owned),
            words,
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::kind::tests::source;
    use super::super::{Entry, Reason, SourceKind};
    use super::{Page, entries};

    fn read(feed: &Value) -> Vec<Entry> {
        let source = source(SourceKind::Opds, "https://x.y/opds/");
        let bytes = feed.to_string();
        let page = Page {
            source: &source,
            address: "https://x.y/opds/home",
            bytes: bytes.as_bytes(),
            since: None,
        };
        let listed = entries(&page)
            .expect("a feed")
            .map(|entry| entry.expect("an entry"));
        listed.collect()
    }

    fn pages_and_books(feed: &Value) -> (Vec<String>, Vec<String>) {
        let usable = read(feed)
            .into_iter()
            .filter(|entry| entry.unusable.is_none());
        let (pages, books): (Vec<Entry>, Vec<Entry>) = usable.partition(|entry| entry.page);
        let addresses =
            |entries: Vec<Entry>| entries.into_iter().map(|entry| entry.address).collect();
        (addresses(pages), addresses(books))
    }

    /// The structures that OPDS 2.0 describes: navigation, groups, facets, a search, and publications.
    #[test]
    fn feeds_of_version_2() {
        let home = json!({
            "metadata": {"title": "Home"},
            "links": [{"rel": "self", "href": "home"}, {"rel": "search", "href": "search{?query}", "templated": true}],
            "navigation": [{"href": "new", "title": "New", "type": "application/opds+json", "rel": "http://opds-spec.org/sort/new"}],
            "facets": [{"metadata": {"title": "Language"}, "links": [{"href": "?lang=fr", "type": "application/opds+json"}]}],
            "groups": [{"metadata": {"title": "More"}, "navigation": [{"href": "/opds/a", "type": "application/opds+json"}]}],
        });
        let expected = ["https://x.y/opds/new", "https://x.y/opds/a"]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(
            pages_and_books(&home),
            (expected, Vec::new()),
            "neither facets nor a search list anything new"
        );

        let acquisition =
            |rel: &str, kind: &str, href: &str| json!({"rel": rel, "type": kind, "href": href});
        let open = "http://opds-spec.org/acquisition/open-access";
        let publication = |links: Vec<Value>| json!({"metadata": {"@type": "http://schema.org/Book", "title": "T"}, "links": links});
        let shelf = json!({
            "metadata": {"title": "Shelf", "numberOfItems": 5},
            "links": [{"rel": ["self"], "href": "shelf"}, {"rel": "next", "href": "shelf?page=2"}],
            "publications": [
                publication(vec![acquisition(open, "application/pdf", "1.pdf"), acquisition(open, "application/epub+zip", "1.epub")]),
                publication(vec![acquisition("http://opds-spec.org/acquisition/buy", "application/epub+zip", "2.epub")]),
                publication(vec![acquisition("http://opds-spec.org/acquisition", "application/vnd.readium.lcp.license.v1.0+json", "3.lcpl")]),
                publication(vec![acquisition("http://opds-spec.org/acquisition/sample", "text/html", "4.html")]),
                publication(vec![json!({"rel": "self", "type": "application/opds-publication+json", "href": "5"})]),
            ],
        });
        let page = vec!["https://x.y/opds/shelf?page=2".to_owned()];
        assert_eq!(
            pages_and_books(&shelf),
            (page, vec!["https://x.y/opds/1.epub".to_owned()])
        );
        let reasons: Vec<Reason> = read(&shelf)
            .into_iter()
            .filter_map(|entry| Some(entry.unusable?.reason))
            .collect();
        assert_eq!(
            reasons,
            [
                Reason::NoFile,
                Reason::Format,
                Reason::NoFile,
                Reason::NoFile
            ],
            "the others are told"
        );
    }

    /// Whatever an entry lacks, it is not passed over in silence.
    #[test]
    fn an_entry_that_leads_to_nothing_is_told() {
        let told = |bytes: &str| -> Vec<(String, Option<Reason>)> {
            let source = source(SourceKind::Opds, "https://x.y/opds/");
            let page = Page {
                source: &source,
                address: "https://x.y/opds",
                bytes: bytes.as_bytes(),
                since: None,
            };
            let listed = entries(&page)
                .expect("a feed")
                .map(|entry| entry.expect("an entry"));
            listed
                .map(|entry| {
                    (
                        entry.address,
                        entry.unusable.map(|unusable| unusable.reason),
                    )
                })
                .collect()
        };
        let no_file = |name: &str| (name.to_owned(), Some(Reason::NoFile));
        let atom = "<feed xmlns='http://www.w3.org/2005/Atom'>
            <entry><id>urn:1</id><title>T</title><link rel='alternate' type='text/html' href='1.html'/></entry>
            <entry><title>Two</title></entry>
            <entry/>
            <entry/>
            <entry><id>urn:5</id><link type='application/atom+xml;type=entry' href='mailto:a@b.c'/></entry>
            <entry><id>urn:6</id><link type='application/atom+xml;type=entry' href='6'/></entry>
        </feed>";
        let elsewhere = ("https://x.y/6".to_owned(), None);
        let nameless = |at: u32| no_file(&format!("https://x.y/opds#{at}"));
        assert_eq!(
            told(atom),
            [
                no_file("urn:1"),
                no_file("Two"),
                nameless(2),
                nameless(3),
                no_file("urn:5"),
                elsewhere
            ]
        );
        let file = json!({"rel": "http://opds-spec.org/acquisition", "href": "b.epub", "type": "application/epub+zip"});
        let feed = json!({"publications": [{"links": []}, {}, {"links": [file]}, {"metadata": {"title": "Four"}}]});
        let book = ("https://x.y/b.epub".to_owned(), None);
        assert_eq!(
            told(&feed.to_string()),
            [nameless(0), nameless(1), book, no_file("Four")]
        );
        assert_eq!(told("{}"), [], "neither a feed nor a publication");
    }

    /// A source takes a book if it takes any of its files.
    #[test]
    fn a_file_that_the_source_does_not_take_hides_no_other() {
        let source = json!({"kind": "opds", "address": "https://x.y/", "library": "l", "rights": "free", "most": 9, "matches": ["/taken/"]});
        let source = serde_json::from_value(source).expect("a source");
        let link = |href: &str, kind: &str| json!({"rel": "http://opds-spec.org/acquisition", "href": href, "type": kind});
        let publication = |links: &[Value]| json!({"metadata": {"title": "T"}, "links": links});
        let feed = json!({"publications": [
            publication(&[link("/other/1.mp3", "audio/mpeg"), link("/taken/1.mp4", "video/mp4")]),
            publication(&[link("/other/2.mp3", "audio/mpeg")]),
        ]});
        let bytes = feed.to_string();
        let page = Page {
            source: &source,
            address: "https://x.y/",
            bytes: bytes.as_bytes(),
            since: None,
        };
        let listed: Vec<Entry> = entries(&page)
            .expect("a feed")
            .map(|entry| entry.expect("an entry"))
            .collect();
        let [only] = &listed[..] else {
            panic!("{listed:?}")
        };
        assert_eq!(only.address, "https://x.y/taken/1.mp4");
        let why = &only.unusable.as_ref().expect("it cannot be read").why;
        assert!(why.contains("video/mp4") && !why.contains("audio"), "{why}");
    }

    #[test]
    fn what_a_publication_says_of_itself() {
        let publication = json!({
            "metadata": {
                "identifier": "urn:isbn:9785170000005",
                "title": {"fr": "Le manteau"},
                "author": [{"name": "N. Gogol", "sortAs": "Gogol"}, "A. Other", {"name": {"en": "Third"}}],
                "language": ["fr", "ru"],
                "modified": "2030-01-02T00:00:00Z",
                "published": "1842-03",
            },
            "links": [{"rel": "http://opds-spec.org/acquisition", "type": "application/epub+zip;v=3", "href": "/b.epub"}],
            "images": [{"href": "cover.jpg", "type": "image/jpeg"}],
        });
        let [
            Entry {
                address,
                id,
                version,
                description,
                ..
            },
        ] = &read(&publication)[..]
        else {
            panic!("one book")
        };
        assert_eq!(address, "https://x.y/b.epub");
        assert_eq!(
            (id.as_deref(), version.as_deref()),
            (Some("urn:isbn:9785170000005"), Some("2030-01-02T00:00:00Z"))
        );
        assert_eq!(description.title.as_deref(), Some("Le manteau"));
        assert_eq!(description.authors, ["N. Gogol", "A. Other", "Third"]);
        assert_eq!(description.language.as_deref(), Some("fr"));
        assert_eq!(
            description
                .published
                .map(|date| date.to_string())
                .as_deref(),
            Some("1842-03")
        );
    }
}
