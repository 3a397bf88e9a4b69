//! Libraries: listed, trusted, and the books in them.

use std::cmp::Ordering;

use lapidary_catalogue::api::{Libraries, LibraryTrust, Page};
use lapidary_checking::Policy;
use lapidary_store::{BookId, Library};
use serde_json::json;

use crate::{
    Endpoint, Input, Needs, Operation, OperationError, PageQuery, SentAs, Session, VersionOf,
};

/// Lists all libraries that have books.
pub struct ListLibraries;

impl Operation for ListLibraries {
    type Path = ();
    type Input = PageQuery;
    type Answer = Libraries;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/libraries", Needs::Admin)
        .named("libraries", "List all libraries")
        .answers(&[(200, "A page of the libraries that have books, by name")]);

    fn run(session: &Session<'_>, (): (), query: PageQuery) -> Result<Libraries, OperationError> {
        let libraries = session.libraries().list()?;
        let page = query.of(libraries, |one| one.library.clone(), Ordering::Greater)?;
        Ok(page.into())
    }
}

/// Lists the books of a library.
pub struct ListBooks;

impl Operation for ListBooks {
    type Path = Library;
    type Input = PageQuery;
    type Answer = Page;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/libraries/{library}/books", Needs::Read)
        .named("books", "List the books of a library, one page at a time")
        .answers(&[(200, "A page of books, ordered by id")]);

    fn run(
        session: &Session<'_>,
        library: Library,
        query: PageQuery,
    ) -> Result<Page, OperationError> {
        let cursor = query.place::<BookId>()?;
        let books = session.books();
        let mut page = books.page(&library, cursor.as_ref(), query.limit()?)?;
        session.hide_notes(page.books.iter_mut().map(|book| &mut book.standing))?;
        Ok(page)
    }
}

/// The version of what was said of a library.
fn version(session: &Session<'_>, library: &Library) -> Result<Option<String>, OperationError> {
    Ok(Some(session.libraries().version(library)?))
}

/// Shows whether a library is trusted.
pub struct ShowTrust;

impl Operation for ShowTrust {
    type Path = Library;
    type Input = ();
    type Answer = LibraryTrust;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::get("/v1/libraries/{library}/trust", Needs::Admin)
        .named("library_trust", "Show whether a library is trusted")
        .answers(&[(200, "Whether it is trusted")]);

    fn run(
        session: &Session<'_>,
        library: Library,
        (): (),
    ) -> Result<LibraryTrust, OperationError> {
        let trusted = session.libraries().is_trusted(&library)?;
        Ok(LibraryTrust { trusted })
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
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
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

/// Shows the policy of a library.
pub struct ShowPolicy;

impl Operation for ShowPolicy {
    type Path = Library;
    type Input = ();
    type Answer = Policy;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::get("/v1/libraries/{library}/policy", Needs::Admin)
        .named(
            "policy",
            "Show from how much on a match with a book of a library decides",
        )
        .answers(&[(200, "The policy")]);

    fn run(session: &Session<'_>, library: Library, (): ()) -> Result<Policy, OperationError> {
        Ok(session.libraries().policy(&library)?)
    }
}

/// Sets the policy of a library.
pub struct SetPolicy;

impl Input for Policy {
    fn sent_as() -> SentAs {
        SentAs::json::<Self>(json!({ "min_covered": 0.1 }))
    }
}

impl Operation for SetPolicy {
    type Path = Library;
    type Input = Policy;
    type Answer = Policy;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::put("/v1/libraries/{library}/policy", Needs::Admin)
        .named("set_policy", "Set from how much on a match with a book of a library decides")
        .about(
            "Matches with less only inform (`too_little`). Fields that are left out are as by default: all but quotations \
             decide, and these do if they are a twentieth of the text or one has 4,000 characters. `{}` is the default.",
        )
        .answers(&[(200, "The policy now")]);

    fn run(
        session: &Session<'_>,
        library: Library,
        policy: Policy,
    ) -> Result<Policy, OperationError> {
        let own = Some(&policy).filter(|policy| **policy != Policy::default());
        session.libraries().set_policy(&library, own)?;
        Ok(policy)
    }
}
