//! Repositories that speak OAI-PMH 2.0. Records are listed as Dublin Core, or as MARC 21 if the source's address asks for it
//! (`?metadataPrefix=marc21`), from the day of the last complete harvest on; full texts are what the records link to.

use roxmltree::{Document, Node};
use url::Url;

use super::kind::{Entries, Page};
use super::{Entry, Mark, Reason, Source};
use lapidary_common::description::{Description, PartialDate};

/// The first page of a list.
pub(super) fn begin(source: &Source, since: Option<&str>) -> Result<Entry, String> {
    let address =
        Url::parse(&source.address).map_err(|_| format!("{:?} is not a URL", source.address))?;
    let asked = address
        .query_pairs()
        .find(|(name, _)| name == "metadataPrefix")
        .map(|(_, prefix)| prefix);
    let mut url = base(&source.address)?;
    let prefix = asked.as_deref().unwrap_or("oai_dc");
    url.query_pairs_mut()
        .append_pair("verb", "ListRecords")
        .append_pair("metadataPrefix", prefix);
    // All repositories know days; records of that day that are already known are not fetched again.
    if let Some(day) = since.and_then(|since| since.get(..10)) {
        url.query_pairs_mut().append_pair("from", day);
    }
    if let Some(set) = &source.set {
        url.query_pairs_mut().append_pair("set", set);
    }
    Ok(Entry::page(url))
}

fn base(address: &str) -> Result<Url, String> {
    let mut url = Url::parse(address).map_err(|_| format!("{address:?} is not a URL"))?;
    url.set_query(None);
    Ok(url)
}

pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    let document = page.document()?;
    let root = document.root_element();
    if root.tag_name().name() != "OAI-PMH" {
        return Err(format!(
            "it is not an OAI repository, but <{}>",
            root.tag_name().name()
        ));
    }
    if let Some(error) = child(root, "error") {
        return answer_to_error(page, error);
    }
    let Some(list) = child(root, "ListRecords") else {
        return Err("the answer has no list of records".to_owned());
    };
    let mut listed: Vec<Entry> = list
        .children()
        .filter(|node| node.tag_name().name() == "record")
        .filter_map(|node| record(page, node))
        .collect();
    let token = child_text(list, "resumptionToken");
    if let Some(token) = token.filter(|token| !token.is_empty()) {
        let mut url = base(&page.source.address)?;
        url.query_pairs_mut()
            .append_pair("verb", "ListRecords")
            .append_pair("resumptionToken", token);
        listed.push(Entry::page(url));
    }
    Ok(Box::new(listed.into_iter().map(Ok)))
}

/// What a page lists that is an error.
fn answer_to_error<'p>(page: &Page<'_>, error: Node<'_, '_>) -> Result<Entries<'p>, String> {
    match error.attribute("code").unwrap_or_default() {
        "noRecordsMatch" => Ok(Box::new(std::iter::empty())),
        // The list is begun again. What is known of it is not fetched again.
        "badResumptionToken" => Ok(Box::new(std::iter::once(Ok(Entry {
            mark: Some(Mark::Again),
            ..begin(page.source, page.since)?
        })))),
        code => Err(format!(
            "the repository answers {code}: {}",
            error.text().unwrap_or_default().trim()
        )),
    }
}

/// When the repository says that it answered.
pub(super) fn answered(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?;
    let document = Document::parse(text.trim_start_matches('\u{feff}')).ok()?;
    child_text(document.root_element(), "responseDate").map(str::to_owned)
}

fn record(page: &Page<'_>, record: Node<'_, '_>) -> Option<Entry> {
    let header = child(record, "header")?;
    let id = child_text(header, "identifier")?.to_owned();
    let version = child_text(header, "datestamp").map(str::to_owned);
    if header.attribute("status") == Some("deleted") {
        return Some(Entry {
            address: id.clone(),
            book: true,
            id: Some(id),
            mark: Some(Mark::Gone),
            version,
            ..Entry::default()
        });
    }
    let metadata =
        child(record, "metadata").and_then(|metadata| metadata.children().find(Node::is_element));
    let Some(metadata) = metadata else {
        return Some(Entry {
            version,
            ..Entry::unusable(id, Reason::NoFile, "the record has no metadata")
        });
    };
    let (description, link) = match metadata.tag_name().name() {
        "record" | "collection" => marc(metadata),
        _ => dublin_core(metadata),
    };
    let Some(address) = link.and_then(|link| page.link(&link)) else {
        return Some(Entry {
            version,
            ..Entry::unusable(id, Reason::NoFile, "the record has no address of the web")
        });
    };
    page.source.takes(&address).then(|| Entry {
        id: Some(id),
        description,
        version,
        ..Entry::book(address)
    })
}

fn is_web(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// What Dublin Core says of a book, and where it is.
fn dublin_core(dc: Node<'_, '_>) -> (Description, Option<String>) {
    let all = |name: &'static str| {
        texts(
            dc.children()
                .filter(move |node| node.tag_name().name() == name),
        )
    };
    let description = Description {
        title: all("title").next(),
        authors: all("creator").collect(),
        language: all("language").next(),
        identifiers: all("identifier")
            .filter(|identifier| !is_web(identifier))
            .collect(),
        published: all("date").find_map(|date| PartialDate::of_file(&date)),
    };
    (
        description,
        all("identifier")
            .chain(all("relation"))
            .find(|link| is_web(link)),
    )
}

/// What a MARC 21 record says of a book, and where it is.
fn marc(marc: Node<'_, '_>) -> (Description, Option<String>) {
    let title = marc_fields(marc, "245")
        .next()
        .map(|field| without_separator(&marc_parts(field, "abnp").join(" ")));
    let authors = marc_firsts(marc, "100").chain(marc_firsts(marc, "700"));
    let coded = marc_fields(marc, "008").filter_map(|field| field.text()?.get(35..38));
    // What follows an ISBN says which edition it is of.
    let isbns = marc_firsts(marc, "020")
        .filter_map(|isbn| isbn.split_whitespace().next().map(str::to_owned));
    let identifiers = isbns.chain(marc_firsts(marc, "024"));
    let description = Description {
        title: title.filter(|title| !title.is_empty()),
        authors: authors.map(|author| without_separator(&author)).collect(),
        language: marc_firsts(marc, "041")
            .chain(coded.map(str::to_owned))
            .find(|code| is_language(code)),
        identifiers: identifiers.filter(|of| !is_web(of)).collect(),
        published: marc_fields(marc, "008")
            .find_map(|field| PartialDate::of_file(field.text()?.get(7..11)?)),
    };
    let mut links = marc_fields(marc, "856").flat_map(|field| marc_parts(field, "u"));
    (description, links.find(|link| is_web(link)))
}

fn marc_fields<'a, 'd: 'a>(
    marc: Node<'a, 'd>,
    tag: &'static str,
) -> impl Iterator<Item = Node<'a, 'd>> {
    marc.descendants()
        .filter(move |node| node.attribute("tag") == Some(tag))
}

/// The subfields of a field that have one of these codes.
fn marc_parts(field: Node<'_, '_>, codes: &str) -> Vec<String> {
    let parts = field.children().filter(|node| {
        node.attribute("code")
            .is_some_and(|code| codes.contains(code))
    });
    texts(parts).collect()
}

/// The first subfield `a` of each field.
fn marc_firsts(marc: Node<'_, '_>, tag: &'static str) -> impl Iterator<Item = String> {
    marc_fields(marc, tag).filter_map(|field| marc_parts(field, "a").into_iter().next())
}

/// Cataloguers end each part with what separates it from the next.
fn without_separator(text: &str) -> String {
    text.trim_end_matches([' ', '/', ':', ';', ',', '='])
        .to_owned()
}

fn is_language(code: &str) -> bool {
    code.len() == 3
        && code.bytes().all(|c| c.is_ascii_lowercase())
        && !["und", "mul", "zxx"].contains(&code)
}

/// The texts of nodes, without blanks around them; those without text are left out.
fn texts<'a, 'd: 'a>(nodes: impl Iterator<Item = Node<'a, 'd>>) -> impl Iterator<Item = String> {
    nodes
        .filter_map(|node| node.text())
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

fn child<'a, 'd>(node: Node<'a, 'd>, name: &str) -> Option<Node<'a, 'd>> {
    node.children()
        .find(|child| child.tag_name().name() == name)
}

fn child_text<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    child(node, name)?.text().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::super::kind::tests::source;
    use super::super::{Entry, Mark, SourceKind};
    use super::{Page, begin, entries};

    fn read(answer: &str) -> Result<Vec<Entry>, String> {
        let source = source(SourceKind::Oai, "http://x.y/oai?metadataPrefix=marc21");
        let bytes =
            format!("<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\">{answer}</OAI-PMH>");
        let page = Page {
            source: &source,
            address: "http://x.y/oai",
            bytes: bytes.as_bytes(),
            since: None,
        };
        entries(&page)?.collect()
    }

    /// The errors of the specification, section 3.6.
    #[test]
    fn errors() {
        for code in [
            "badArgument",
            "badVerb",
            "cannotDisseminateFormat",
            "idDoesNotExist",
            "noMetadataFormats",
            "noSetHierarchy",
        ] {
            let why = read(&format!("<error code=\"{code}\"> Why not </error>")).expect_err(code);
            assert_eq!(why, format!("the repository answers {code}: Why not"));
        }
        assert_eq!(read("<error code=\"noRecordsMatch\"/>"), Ok(Vec::new()));
        let again = read("<error code=\"badResumptionToken\"/>").expect("the list, once more");
        assert_eq!((again.len(), again[0].mark), (1, Some(Mark::Again)));
        assert_eq!(
            again[0].address,
            "http://x.y/oai?verb=ListRecords&metadataPrefix=marc21"
        );
        assert!(read("<Identify/>").is_err());
    }

    #[test]
    fn marc() {
        let field = |tag: &str, parts: &[(char, &str)]| {
            let parts = parts
                .iter()
                .map(|(code, text)| format!("<subfield code='{code}'>{text}</subfield>"));
            format!(
                "<datafield tag='{tag}' ind1='1' ind2=' '>{}</datafield>",
                parts.collect::<Vec<_>>().concat()
            )
        };
        let fields = [
            "<controlfield tag='008'>850101s1952    xxu           000 1 rus d</controlfield>"
                .to_owned(),
            field("020", &[('a', "9785170000005 (pbk.)")]),
            field("024", &[('a', "10.1000/182"), ('2', "doi")]),
            field("100", &[('a', "Gogol, Nikolai,"), ('d', "1809-1852.")]),
            field(
                "245",
                &[
                    ('a', "The overcoat :"),
                    ('b', "a story /"),
                    ('c', "N. Gogol"),
                ],
            ),
            field("700", &[('a', "Doe, J."), ('e', "translator")]),
            field(
                "856",
                &[('u', "ftp://x.y/book"), ('u', "http://x.y/book.txt")],
            ),
        ];
        let record = |fields: String| {
            format!(
                "<ListRecords><record><header><identifier>oai:1</identifier><datestamp>2030-01-01</datestamp></header><metadata>\
                 <record xmlns='http://www.loc.gov/MARC21/slim'>{fields}</record></metadata></record></ListRecords>"
            )
        };
        let listed = read(&record(fields.concat())).expect("a list");
        let [
            Entry {
                address,
                description,
                id,
                version,
                ..
            },
        ] = listed.as_slice()
        else {
            panic!("{listed:?}")
        };
        assert_eq!(
            (address.as_str(), id.as_deref(), version.as_deref()),
            ("http://x.y/book.txt", Some("oai:1"), Some("2030-01-01"))
        );
        assert_eq!(description.title.as_deref(), Some("The overcoat : a story"));
        assert_eq!(description.authors, ["Gogol, Nikolai", "Doe, J."]);
        assert_eq!(description.language.as_deref(), Some("rus"));
        assert_eq!(description.identifiers, ["9785170000005", "10.1000/182"]);
        let both = fields.concat() + &field("041", &[('a', "eng"), ('h', "rus")]);
        assert_eq!(
            read(&record(both)).expect("a list")[0]
                .description
                .language
                .as_deref(),
            Some("eng")
        );
        assert_eq!(
            read(&record(String::new())).expect("a list")[0].address,
            "oai:1"
        );
    }

    #[test]
    fn a_harvest_of_a_set_since_a_day() {
        let mut source = source(SourceKind::Oai, "http://x.y/oai");
        source.set = Some("a:b c".to_owned());
        let first = begin(&source, Some("2030-01-15T00:00:00Z"))
            .expect("an address")
            .address;
        assert_eq!(
            first,
            "http://x.y/oai?verb=ListRecords&metadataPrefix=oai_dc&from=2030-01-15&set=a%3Ab+c"
        );
    }
}
