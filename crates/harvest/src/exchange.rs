//! A library of another Lapidary server: each page lists books of it, and each book is fetched as an export has it.

use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::books::{BookChanges, FetchedBook, Refused, id_of};
use super::kind::{Entries, Page};
use super::{Entry, HarvestError, Reason, Source};
use lapidary_catalogue::NewEntry;
use lapidary_catalogue::api::{self, ExportBook, Record};
use lapidary_store::{BookKey, Rights, RowChange, Validity};

/// The largest book, in bytes: it is read in this process, where its gems take several times as much.
pub(super) const BOOK_BYTES: u64 = 16 << 20;
/// How many books a page lists.
const LISTED: u32 = 1_000;

/// The library that a source names: `https://HOST/v1/libraries/LIBRARY`.
pub(super) fn library(source: &Source) -> Result<Url, String> {
    let address = source.address.trim_end_matches('/');
    let is_library = address
        .split_once("/v1/libraries/")
        .is_some_and(|(_, name)| !name.is_empty() && !name.contains(['/', '?', '#']));
    let url = Url::parse(address).ok().filter(|_| is_library);
    url.ok_or_else(|| {
        format!("{address:?} names no library: give https://HOST/v1/libraries/LIBRARY")
    })
}

pub(super) fn begin(source: &Source) -> Result<Entry, String> {
    Ok(page_after(&library(source)?, None))
}

/// The address of the page that lists the books behind one, in the order of their ids.
fn page_after(library: &Url, id: Option<&str>) -> Entry {
    let mut url = library.clone();
    url.set_path(&format!("{}/books", library.path()));
    url.query_pairs_mut()
        .append_pair("limit", &LISTED.to_string())
        .extend_pairs(id.map(|id| ("cursor", id)));
    Entry::page(url)
}

pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    let library = library(page.source)?;
    let listed: api::Page = serde_json::from_slice(page.bytes)
        .map_err(|error| format!("it is no list of books: {error}"))?;
    let next = listed.next_cursor;
    let next = next.map(|id| page_after(&library, Some(id.as_str())));
    let books = listed.books.into_iter().filter(counts);
    let books: Vec<Entry> = books.map(|book| listed_book(&library, &book)).collect();
    let taken = books
        .into_iter()
        .filter(|book| page.source.takes(&book.address));
    Ok(Box::new(taken.chain(next).map(Ok)))
}

/// Whether a book counts where it is from. Others are as good as gone.
fn counts(book: &Record) -> bool {
    let standing = &book.standing;
    let is_left_out = standing.disabled_at.is_some() || standing.removed_at.is_some();
    !is_left_out && !standing.is_quarantined()
}

fn listed_book(library: &Url, book: &Record) -> Entry {
    let id = book.key.id.as_str();
    let encoded = utf8_percent_encode(id, NON_ALPHANUMERIC);
    Entry {
        id: Some(id.to_owned()),
        version: Some(format!("{} {}", book.changed_at, book.digest)),
        ..Entry::book(format!("{library}/exports/{encoded}"))
    }
}

impl BookChanges<'_, '_> {
    /// Adds books of another server, from their text if that was sent, otherwise from their gems.
    pub(super) fn add_exchanged(
        &mut self,
        books: Vec<FetchedBook>,
        rows: &mut Vec<RowChange>,
    ) -> Result<(), HarvestError> {
        let (mut entries, mut ids_of_books) = (Vec::new(), Vec::new());
        for book in books {
            match self.exchanged(&book)? {
                Ok(entry) => {
                    ids_of_books.push((book, vec![Ok(entry.key.id.clone())]));
                    entries.push(entry);
                }
                Err((reason, why)) => {
                    self.0
                        .refuse_entry(&book.queued, book.known, reason, why, rows);
                }
            }
        }
        self.add_entries(entries, ids_of_books, rows)
    }

    /// The book to add, with the rights that the other server gives it, but none stricter than those of the source.
    fn exchanged(&self, fetched: &FetchedBook) -> Result<Result<NewEntry, Refused>, HarvestError> {
        let sent = match serde_json::from_slice::<ExportBook>(&fetched.found.bytes) {
            Ok(sent) => sent,
            Err(error) => return Ok(Err((Reason::BadBook, error.to_string()))),
        };
        let ExportBook { book, .. } = &sent;
        let transfer = self.0.editor.transfer();
        if transfer.is_from_here(&book.description)? {
            let why = "it is a book of this catalogue, which the other server has from here";
            return Ok(Err((Reason::Own, why.to_owned())));
        }
        let (rights, validity) = (book.rights, book.standing.validity.clone());
        let description = book.description.clone();
        let Some(content) = transfer.content(sent) else {
            let why = "it has neither a text nor gems of a public recipe that this catalogue has";
            return Ok(Err((Reason::BadBook, why.to_owned())));
        };
        let source = &self.0.source;
        let key = BookKey {
            library: source.library.clone(),
            id: id_of(&fetched.queued.entry)?,
        };
        Ok(Ok(NewEntry {
            description,
            validity: validity.map(|validity| Validity {
                otherwise: milder(validity.otherwise, source.rights),
                ..validity
            }),
            fetched: Some(Timestamp::now()),
            gate: self.gate(),
            ..NewEntry::new(key, milder(rights, source.rights), content)
        }))
    }
}

/// The less strict of two.
fn milder(one: Rights, other: Rights) -> Rights {
    one.max(other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::SourceKind;
    use super::super::kind::tests::source;
    use super::*;

    #[test]
    fn a_page_leads_to_books_that_count_and_to_the_next_page() {
        let book = |id: &str, standing: serde_json::Value| {
            json!({ "library": "novels", "id": id, "rights": "protected", "digest": "d", "bytes": 1, "gems": {},
                    "changed_at": "2026-01-01T00:00:00Z", "standing": standing })
        };
        let page = json!({
            "books": [
                book("a/b ?", json!({})),
                book("off", json!({ "disabled_at": "2026-01-02T00:00:00Z" })),
            ],
            "next_cursor": "off",
        })
        .to_string();
        let address = "https://books.example/v1/libraries/novels";
        let source = source(SourceKind::Lapidary, address);
        let page = Page {
            source: &source,
            address,
            bytes: page.as_bytes(),
            since: None,
        };
        let found: Result<Vec<Entry>, String> = entries(&page).expect("a list").collect();
        let found = found.expect("entries");
        let addresses: Vec<_> = found.iter().map(|entry| entry.address.as_str()).collect();
        let expected = [
            "https://books.example/v1/libraries/novels/exports/a%2Fb%20%3F",
            "https://books.example/v1/libraries/novels/books?limit=1000&cursor=off",
        ];
        assert_eq!(addresses, expected);
        assert_eq!(found[0].id.as_deref(), Some("a/b ?"));
    }

    #[test]
    fn a_source_names_a_library() {
        for address in [
            "https://books.example",
            "https://books.example/v1/libraries/",
            "https://books.example/v1/libraries/a/books",
            "https://books.example/v1/libraries/a?b",
        ] {
            let source = source(SourceKind::Lapidary, address);
            assert!(library(&source).is_err(), "{address}");
        }
    }

    #[test]
    fn rights_are_never_stricter_than_those_of_the_source() {
        let of = |said| milder(said, Rights::Protected);
        assert_eq!(of(Rights::Forbidden), Rights::Protected);
        assert_eq!(of(Rights::Free), Rights::Free);
        assert_eq!(milder(Rights::Protected, Rights::Unknown), Rights::Unknown);
    }
}
