//! Single books: shown, updated, removed, and which others they share passages with.

use lapidary_catalogue::api::{Amendment, Record, Report};
use lapidary_common::error::ErrorCode;
use lapidary_store::BookKey;
use serde_json::json;

use crate::{Done, Endpoint, Input, Needs, Operation, OperationError, SentAs, Session, excerpt};

/// Shows a book.
pub struct ShowBook;

impl Operation for ShowBook {
    type Path = BookKey;
    type Input = ();
    type Answer = Record;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/libraries/{library}/books/{id:.*}", Needs::Read)
        .named("book", "Show a book")
        .answers(&[(200, "The book's record")]);

    fn run(session: &Session<'_>, key: BookKey, (): ()) -> Result<Record, OperationError> {
        let mut record = there(session.books().get(&key)?, &key)?;
        session.hide_notes([&mut record.standing])?;
        Ok(record.into())
    }
}

/// Updates a book. Its text and gems stay.
pub struct AmendBook;

impl Input for Amendment {
    fn sent_as() -> SentAs {
        let note = json!({ "note": "the translation of 1926" });
        let enable = json!({ "disabled": false, "note": "" });
        SentAs::Json(vec![
            crate::json::<Self>().example(note),
            crate::json::<Self>()
                .example(enable)
                .with_type("application/merge-patch+json"),
        ])
    }
}

impl Operation for AmendBook {
    type Path = BookKey;
    type Input = Amendment;
    type Answer = Record;
    const ENDPOINT: Endpoint =
        Endpoint::patch("/v1/libraries/{library}/books/{id:.*}", Needs::Ingest)
            .named(
                "amend_book",
                "Update a book: disable or enable it, set a note, change its rights",
            )
            .about("Omitted fields keep their values.")
            .answers(&[(200, "The updated record")]);

    fn run(
        session: &Session<'_>,
        key: BookKey,
        amendment: Amendment,
    ) -> Result<Record, OperationError> {
        there(session.books().amend(&key, &amendment)?, &key).map(Into::into)
    }
}

/// Shows which other books a book shares passages with.
pub struct ShowMatches;

impl Operation for ShowMatches {
    type Path = BookKey;
    type Input = ();
    type Answer = Report;
    const ENDPOINT: Endpoint =
        Endpoint::get("/v1/libraries/{library}/matches/{id:.*}", Needs::Admin)
            .named(
                "matches",
                "Show which other books a book shares passages with",
            )
            .about("The book is checked against all others, by its gems.")
            .answers(&[(200, "The report, with spans")]);

    fn run(session: &Session<'_>, key: BookKey, (): ()) -> Result<Report, OperationError> {
        there(session.checks().of_book(&key)?, &key)
    }
}

/// Removes a book.
pub struct DeleteBook;

impl Operation for DeleteBook {
    type Path = BookKey;
    type Input = ();
    type Answer = Done;
    const ENDPOINT: Endpoint =
        Endpoint::delete("/v1/libraries/{library}/books/{id:.*}", Needs::Ingest)
            .named("delete_book", "Remove a book")
            .answers(&[(204, "It was removed")]);

    fn run(session: &Session<'_>, key: BookKey, (): ()) -> Result<Done, OperationError> {
        let removed = session.books().remove(std::slice::from_ref(&key))?;
        there(removed.contains(&true).then_some(Done), &key)
    }
}

/// What was found of a book.
fn there<T>(found: Option<T>, key: &BookKey) -> Result<T, OperationError> {
    found.ok_or_else(|| no_such_book(key))
}

/// There is no such book.
#[must_use]
pub fn no_such_book(key: &BookKey) -> OperationError {
    let (library, id) = (excerpt(key.library.as_str()), excerpt(key.id.as_str()));
    let detail = format!("library '{library}' has no book '{id}'");
    OperationError::refused(ErrorCode::NoSuchBook, detail)
}
