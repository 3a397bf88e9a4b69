//! Finds books by what their records say.

use lapidary_catalogue::BookFilter;
use lapidary_catalogue::api::FoundBooks;
use lapidary_store::{BookState, Library, Rights};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::{Endpoint, Input, Needs, Operation, OperationError, SentAs, Session, page_limit};

/// Finds books by what their records say.
pub struct FindBooks;

/// Which books to find.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct FindQuery {
    /// Words of the title, the authors, the id and the identifiers, in any order, or an ISBN. The beginnings of words are enough.
    /// Case and accents are ignored
    #[param(example = "dikan gogol")]
    pub q: Option<String>,
    /// An ISBN or another identifier of the book. ISBNs of 10 and 13 characters are the same number, with or without
    /// hyphens; other identifiers must be complete, but may differ in case
    pub identifier: Option<String>,
    /// Words of the title, in any order. Case and accents are ignored
    #[param(example = "evenings dikanka")]
    pub title: Option<String>,
    /// Words of the names of the authors, in any order. Case and accents are ignored
    pub author: Option<String>,
    /// Only books with these rights, on the days on which they are in effect
    #[param(inline)]
    pub rights: Option<Rights>,
    /// Only books in this language, as a tag. `pt` finds `pt-BR`, too
    pub language: Option<String>,
    /// Only books in this state
    #[param(inline)]
    pub state: Option<BookState>,
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
            "q, identifier, title or author, rights, language or state, and library, cursor (the 'next_cursor' of \
             the previous page) and limit (a number)",
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
            "Find books by title, author, identifier, rights or state, one page at a time",
        )
        .about(
            "A condition besides `library` is required, and a book must meet all that are given. An ingest key finds \
             books of its libraries, an admin key of all. Books are ordered by library, oldest first, and then in the \
             order in which they were added. The work for a page is bounded: it may have fewer books, or none, although \
             more pages follow.",
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
            words: query.q,
            identifier: query.identifier,
            title: query.title,
            author: query.author,
            rights: query.rights,
            language: query.language,
            state: query.state,
            library,
        };
        Ok(session
            .books()
            .find(&sought, seen, query.cursor.as_deref(), limit)?)
    }
}
