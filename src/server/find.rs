//! Finds books by identifier, title and author.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::path::HttpMethod::Get;

use super::State;
use super::access::{Needs, Visible, not_your_library};
use super::calls::{Call, json};
use super::parameters;
use super::problem::Problem;
use super::work::{Answer, work};
use lapidary_catalogue::Sought;
use lapidary_catalogue::api::FoundBooks;
use lapidary_store::Library;

/// The default number of books per page.
const PAGE: usize = 100;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/books", Needs::AnyIngest, find)
            .named("find_books", "Find books by identifier, title or author, one page at a time")
            .about(
                "At least one of `identifier`, `title` and `author` is required, and a book must meet all that are \
                 given. An ingest key finds books of its libraries, an admin key of all. Books are ordered by \
                 library, oldest first, and then in the order in which they were added.",
            )
            .query::<Wanted>()
            .answers(200, "A page of books", [json::<FoundBooks>()]),
    ]
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// An ISBN or another identifier of the book. ISBNs of 10 and 13 characters are the same number, with or without
    /// hyphens; other identifiers must be complete, but may differ in case
    identifier: Option<String>,
    /// Words of the title, in any order. Case and accents are ignored
    #[param(example = "evenings dikanka")]
    title: Option<String>,
    /// Words of the names of the authors, in any order. Case and accents are ignored
    author: Option<String>,
    /// Only books of this library
    #[param(
        min_length = 1,
        max_length = 512,
        pattern = "^[^\\x00-\\x1f\\x7f-\\x9f]+$"
    )]
    library: Option<String>,
    /// The `next_cursor` of the previous page
    cursor: Option<String>,
    /// The maximum number of books
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

async fn find(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let known = "identifier, title or author, and library, cursor (the 'next_cursor' of the previous page) and limit (a \
                 number)";
    let Wanted {
        identifier,
        title,
        author,
        library,
        cursor,
        limit,
    } = parameters::query(request.query_string(), known)?;
    let library: Option<Library> = library.map(TryInto::try_into).transpose()?;
    let visible = Visible::to(&request);
    if let (Some(asked), Some(visible)) = (&library, &visible)
        && !visible.contains(asked)
    {
        return Err(not_your_library("this key"));
    }
    let limit = parameters::limit(limit.unwrap_or(PAGE), 1)?;
    let sought = Sought {
        identifier,
        title,
        author,
        library,
    };
    work(&state, move |catalogue| {
        Answer::ok(&catalogue.find(&sought, visible.as_ref(), cursor.as_deref(), limit)?)
    })
    .await
}
