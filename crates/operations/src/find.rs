//! Finds books by identifier, title and author.

use lapidary_catalogue::BookFilter;
use lapidary_catalogue::api::FoundBooks;
use lapidary_store::Library;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::{Endpoint, Input, Needs, Operation, OperationError, SentAs, Session, page_limit};

/// Finds books by identifier, title or author.
pub struct FindBooks;

/// Which books to find.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct FindQuery {
    /// An ISBN or another identifier of the book. ISBNs of 10 and 13 characters are the same number, with or without
    /// hyphens; other identifiers must be complete, but may differ in case
    pub identifier: Option<String>,
    /// Words of the title, in any order. Case and accents are ignored
    #[param(example = "evenings dikanka")]
    pub title: Option<String>,
    /// Words of the names of the authors, in any order. Case and accents are ignored
    pub author: Option<String>,
    /// Only books of this library
    #[param(
        min_length = 1,
        max_length = 512,
        pattern = "^[^\\x00-\\x1f\\x7f-\\x9f]+$"
    )]
    pub library: Option<String>,
    /// The `next_cursor` of the previous page
    pub cursor: Option<String>,
    /// The maximum number of books
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<usize>,
}

impl Input for FindQuery {
    fn sent_as() -> SentAs {
        SentAs::query::<Self>(
            "identifier, title or author, and library, cursor (the 'next_cursor' of the previous page) and limit (a \
             number)",
        )
    }
}

impl Operation for FindBooks {
    type Path = ();
    type Input = FindQuery;
    type Answer = FoundBooks;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/books", Needs::AnyIngest)
        .named(
            "find_books",
            "Find books by identifier, title or author, one page at a time",
        )
        .about(
            "At least one of `identifier`, `title` and `author` is required, and a book must meet all that are \
             given. An ingest key finds books of its libraries, an admin key of all. Books are ordered by \
             library, oldest first, and then in the order in which they were added.",
        )
        .answers(&[(200, "A page of books")]);

    fn run(session: &Session<'_>, (): (), query: FindQuery) -> Result<FoundBooks, OperationError> {
        let library: Option<Library> = query.library.map(TryInto::try_into).transpose()?;
        let seen = session.libraries.as_ref();
        if let (Some(asked), Some(seen)) = (&library, seen)
            && !seen.contains(asked)
        {
            return Err(OperationError::not_your_library());
        }
        let limit = page_limit(query.limit)?;
        let sought = BookFilter {
            identifier: query.identifier,
            title: query.title,
            author: query.author,
            library,
        };
        Ok(session
            .books()
            .find(&sought, seen, query.cursor.as_deref(), limit)?)
    }
}
