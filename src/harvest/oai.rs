//! Repositories that speak OAI-PMH 2.0. Records are listed as Dublin Core, from the day of the last complete harvest on;
//! full texts are what the records' identifiers link to.

use roxmltree::{Document, Node};
use url::Url;

use super::kind::{Entries, Page};
use super::{Entry, Mark, Source};
use crate::description::Description;

/// The first page of a list.
pub(super) fn begin(source: &Source, since: Option<&str>) -> Result<Entry, String> {
    let mut url = base(&source.address)?;
    url.query_pairs_mut().append_pair("verb", "ListRecords").append_pair("metadataPrefix", "oai_dc");
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
        return Err(format!("it is not an OAI repository, but <{}>", root.tag_name().name()));
    }
    if let Some(error) = child(root, "error") {
        return match error.attribute("code").unwrap_or_default() {
            "noRecordsMatch" => Ok(Box::new(std::iter::empty())),
            // The list is begun again. What is known of it is not fetched again.
            "badResumptionToken" => {
                let begin = begin(page.source, page.since)?;
                Ok(Box::new(std::iter::once(Ok(Entry { mark: Some(Mark::Again), ..begin }))))
            }
            code => Err(format!("the repository answers {code}: {}", error.text().unwrap_or_default().trim())),
        };
    }
    let Some(list) = child(root, "ListRecords") else { return Err("the answer has no list of records".to_owned()) };
    let mut listed: Vec<Entry> = list
        .children()
        .filter(|node| node.tag_name().name() == "record")
        .filter_map(|node| record(page, node))
        .collect();
    let token = child(list, "resumptionToken").and_then(|node| node.text()).map(str::trim).unwrap_or_default();
    if !token.is_empty() {
        let mut url = base(&page.source.address)?;
        url.query_pairs_mut().append_pair("verb", "ListRecords").append_pair("resumptionToken", token);
        listed.push(Entry::page(url));
    }
    Ok(Box::new(listed.into_iter().map(Ok)))
}

/// When the repository says that it answered.
pub(super) fn answered(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?;
    let document = Document::parse(text.trim_start_matches('\u{feff}')).ok()?;
    child(document.root_element(), "responseDate")?.text().map(|at| at.trim().to_owned())
}

fn record(page: &Page<'_>, record: Node<'_, '_>) -> Option<Entry> {
    let header = child(record, "header")?;
    let id = child(header, "identifier")?.text()?.trim().to_owned();
    let version = child(header, "datestamp").and_then(|node| node.text()).map(|at| at.trim().to_owned());
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
    let dc = child(record, "metadata")?.children().find(Node::is_element)?;
    let all = |name: &'static str| {
        let named = dc.children().filter(move |node| node.tag_name().name() == name);
        named.filter_map(|node| node.text()).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let is_web = |text: &String| text.starts_with("http://") || text.starts_with("https://");
    let link = all("identifier").chain(all("relation")).find(is_web).and_then(|link| page.link(&link));
    let description = Description {
        title: all("title").next(),
        authors: all("creator").collect(),
        language: all("language").next(),
        identifiers: all("identifier").filter(|identifier| !is_web(identifier)).collect(),
    };
    // Without a link there is nothing to fetch; the reason is kept with the record's own identifier.
    let address = link.unwrap_or_else(|| id.clone());
    page.source.takes(&address).then(|| Entry { id: Some(id), description, version, ..Entry::book(address) })
}

fn child<'a, 'd>(node: Node<'a, 'd>, name: &str) -> Option<Node<'a, 'd>> {
    node.children().find(|child| child.tag_name().name() == name)
}
