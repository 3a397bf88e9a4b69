//! Every operation on a catalogue, declared once: its method and path, who may call it, what it takes, what it answers, its
//! documentation, and what it does.
//!
//! The server mounts operations and describes them in `docs/openapi.json`, the command line calls them in this process or
//! through a server, and the console calls them in the server's own process. There is a file for each resource.
//!
//! ```
//! use std::sync::Arc;
//!
//! use lapidary_catalogue::Catalogue;
//! use lapidary_catalogue::api::NewKey;
//! use lapidary_catalogue::permission::Role;
//! use lapidary_operations::keys::{ListKeys, MakeKey};
//! use lapidary_operations::{CommandLine, Operation, PageQuery, Request, Session};
//!
//! # let folder = tempfile::tempdir()?;
//! let catalogue = Arc::new(Catalogue::open_or_create(folder.path())?);
//! let session = Session::local(&catalogue, &CommandLine);
//! let made = MakeKey::run(&session, (), NewKey::new("me", Role::Admin))?;
//! let listed = ListKeys::run(&session, (), PageQuery::default())?;
//! assert_eq!(listed.keys, [made.key]);
//!
//! // The same call, for a server.
//! let request = Request::of::<ListKeys>(&[""; 0], &PageQuery::default());
//! assert_eq!((request.method, &*request.target), ("GET", "/v1/keys"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod allow;
pub mod audit;
pub mod batches;
pub mod books;
pub mod decisions;
pub mod find;
pub mod jobs;
pub mod keys;
pub mod libraries;
pub mod links;
pub mod sources;
pub mod status;
pub mod webhooks;

mod answer;
mod body;
mod endpoint;
mod error;
mod input;
mod page;
mod path;
mod request;
mod session;

pub use answer::{Answer, Done, Upserted};
pub use body::{Body, json, text};
pub use endpoint::{Endpoint, Needs};
pub use error::{OperationError, excerpt};
pub use input::{Input, SentAs};
pub use page::{ListPage, Listed, PageQuery};
pub(crate) use page::{page_limit, place_of};
pub use path::{JobNumber, PathParameters};
pub use request::{Request, filled};
pub use session::{CommandLine, Host, MIN_FREE, Session};

/// Finds the version of what is at a path; `None` if nothing is.
pub type VersionOf<P> = fn(&Session<'_>, &P) -> Result<Option<String>, OperationError>;

/// An operation on a catalogue.
pub trait Operation: 'static {
    /// What the placeholders of its path stand for.
    type Path: PathParameters;
    /// What it takes besides: a query or a JSON body.
    type Input: Input;
    /// What it answers.
    type Answer: Answer;
    /// Where it is, who may call it, and what there is to know about it.
    const ENDPOINT: Endpoint;

    /// The version of what is at its path, if it takes conditions on that (`If-Match`, `If-None-Match`).
    const VERSION: Option<VersionOf<Self::Path>> = None;

    /// Whether it creates something each time, so that a client which sends it again says so (`Idempotency-Key`).
    const CREATES: bool = false;

    /// Whether its answer has sentences, in the language that the client prefers (`Accept-Language`).
    const HAS_SENTENCES: bool = false;

    /// Where it can be shown what was created or begun, if that is not at its own path.
    fn place(_answer: &Self::Answer) -> Option<String> {
        None
    }

    /// Does it.
    fn run(
        session: &Session<'_>,
        path: Self::Path,
        input: Self::Input,
    ) -> Result<Self::Answer, OperationError>;
}
