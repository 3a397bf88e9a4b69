//! Libraries: listed, trusted, and the books in them.

use lapidary_catalogue::api::{Libraries, LibraryTrust, Page};
use lapidary_store::{BookId, Library};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::IntoParams;

use crate::{Endpoint, Input, Needs, Operation, OperationError, SentAs, Session, page_limit};

/// Lists all libraries that have books.
pub struct ListLibraries;

impl Operation for ListLibraries {
    type Path = ();
    type Input = ();
    type Answer = Libraries;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/libraries", Needs::Admin)
        .named("libraries", "List all libraries")
        .answers(&[(200, "All libraries that have books")]);

    fn run(session: &Session<'_>, (): (), (): ()) -> Result<Libraries, OperationError> {
        let libraries = session.libraries().list()?;
        Ok(Libraries { libraries })
    }
}

/// Lists the books of a library.
pub struct ListBooks;

/// Which books of a library.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct BooksQuery {
    /// The `next_cursor` of the previous page
    #[param(
        min_length = 1,
        max_length = 512,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub cursor: Option<String>,
    /// The maximum number of books
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

impl Input for BooksQuery {
    fn sent_as() -> SentAs {
        SentAs::query::<Self>(
            "cursor (the 'next_cursor' of the previous page) and limit (a number)",
        )
    }
}

impl Operation for ListBooks {
    type Path = Library;
    type Input = BooksQuery;
    type Answer = Page;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/libraries/{library}/books", Needs::Ingest)
        .named("books", "List the books of a library, one page at a time")
        .answers(&[(200, "A page of books, ordered by id")]);

    fn run(
        session: &Session<'_>,
        library: Library,
        query: BooksQuery,
    ) -> Result<Page, OperationError> {
        let cursor: Option<BookId> = query.cursor.map(TryInto::try_into).transpose()?;
        let limit = page_limit(query.limit)?;
        Ok(session.books().page(&library, cursor.as_ref(), limit)?)
    }
}

/// Says whether a library is trusted.
pub struct TrustLibrary;

impl Input for LibraryTrust {
    fn sent_as() -> SentAs {
        SentAs::json::<Self>(json!({ "trusted": true }))
    }
}

impl Operation for TrustLibrary {
    type Path = Library;
    type Input = LibraryTrust;
    type Answer = LibraryTrust;
    const ENDPOINT: Endpoint = Endpoint::put("/v1/libraries/{library}/trust", Needs::Admin)
        .named("trust_library", "Say whether a library is trusted")
        .about(
            "The books of a library that is not trusted decide only in what its own keys are told. For everybody else, they \
             are information. A library of which nothing was said is trusted. It may have no books yet.",
        )
        .answers(&[(200, "Whether it is trusted now")]);

    fn run(
        session: &Session<'_>,
        library: Library,
        said: LibraryTrust,
    ) -> Result<LibraryTrust, OperationError> {
        session.libraries().set_trust(&library, said.trusted)?;
        Ok(said)
    }
}
