//! Kept texts: shown as they are, and next to a text that was checked.

use std::collections::BTreeSet;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use utoipa::openapi::path::HttpMethod::Get;

use super::ServerState;
use super::access::Needs;
use super::calls::{Call, text};
use super::memory::Room;
use super::parameters;
use super::problem::Problem;
use super::work::{Answer, work};
use lapidary_catalogue::api::{BookRef, Report};
use lapidary_catalogue::{Catalogue, CatalogueError, compared, side_by_side};
use lapidary_checking::{Passage, memory_to_compare};
use lapidary_extract::Whole;
use lapidary_extract::position::Locator;
use lapidary_operations::books::no_such_book;
use lapidary_store::{BookKey, Library, Record};

/// How many copies of a text exist while it is read.
pub(super) const COPIES: usize = 2;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(
            Get,
            "/v1/libraries/{library}/texts/{id:.*}",
            Needs::Texts,
            get,
        )
        .named("book_text", "Show the kept text of a book")
        .about("A text is kept if the book was added with `keep_text`.")
        .answers(200, "The text", [text("text/plain")]),
    ]
}

async fn get(request: HttpRequest, state: Data<ServerState>) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    let mut room = state.memory.room();
    work(&state, move |catalogue| {
        let record = catalogue
            .books()
            .get(&key)?
            .ok_or_else(|| no_such_book(&key))?;
        room.grow(COPIES.saturating_mul(record.bytes as usize))?;
        let text = catalogue.books().text(&key)?;
        Ok(Answer::text(text.ok_or(CatalogueError::NoSuchText(key))?))
    })
    .await
}

/// Compares the best matches with the kept texts of their books, as far as these are in `readable` libraries (`None`: all), and
/// returns the texts. With the `digests` of the texts that the books had when they were matched, only with those. Memory is
/// reserved for all of it; a match for which a single client may not have enough stays as it is.
pub(super) fn compare(
    catalogue: &Catalogue,
    report: &mut Report,
    checked: &str,
    locator: &Locator,
    readable: Option<&BTreeSet<Library>>,
    digests: Option<&[String]>,
    room: &mut Room,
) -> Result<Vec<Option<String>>, Problem> {
    let mut texts = Vec::new();
    let compared = compared(&report.matches);
    for (number, found) in report.matches.iter_mut().take(compared).enumerate() {
        let mut of_match = room.another();
        let text = match record_of(catalogue, &found.book, readable)? {
            Some(record) if is_as_matched(&record, &found.book, digests, number) => {
                text_of(catalogue, &record, checked, &mut of_match)?
            }
            _ => None,
        };
        texts.push(text.map(|text| {
            let book = Whole {
                text,
                ..Whole::default()
            };
            side_by_side(found, checked, locator, &book);
            book.text
        }));
        drop(of_match);
        room.grow(texts.last().and_then(Option::as_ref).map_or(0, String::len))?;
        room.grow(found.passages.iter().map(Passage::size).sum())?;
    }
    Ok(texts)
}

/// The record of a book whose text is kept and may be read.
fn record_of(
    catalogue: &Catalogue,
    book: &BookRef,
    readable: Option<&BTreeSet<Library>>,
) -> Result<Option<Record>, Problem> {
    let key = BookKey {
        library: book.library.clone().try_into()?,
        id: book.id.clone().try_into()?,
    };
    if readable.is_some_and(|readable| !readable.contains(&key.library)) {
        return Ok(None);
    }
    let record = catalogue.books().get(&key)?;
    Ok(record.filter(|record| record.text_kept))
}

/// Whether a book has the text that it had when it was matched: the positions of the match are of that one.
fn is_as_matched(
    record: &Record,
    book: &BookRef,
    digests: Option<&[String]>,
    number: usize,
) -> bool {
    match digests {
        Some(digests) => digests.get(number) == Some(&record.digest),
        // It was matched just now.
        None => record.bytes == book.bytes,
    }
}

/// The text of a book, if a client may have enough memory to compare it with the text that was checked.
fn text_of(
    catalogue: &Catalogue,
    record: &Record,
    checked: &str,
    room: &mut Room,
) -> Result<Option<String>, Problem> {
    if !fits(room, COPIES.saturating_mul(record.bytes as usize))? {
        return Ok(None);
    }
    let Some(text) = catalogue.books().text(&record.key)? else {
        return Ok(None);
    };
    Ok(fits(room, memory_to_compare(checked, &text))?.then_some(text))
}

/// Reserves memory. Returns whether a client may have that much.
pub(super) fn fits(room: &mut Room, bytes: usize) -> Result<bool, Problem> {
    match room.grow(bytes) {
        Err(problem) if !problem.is_overload() => Ok(false),
        reserved => reserved.map(|()| true),
    }
}
