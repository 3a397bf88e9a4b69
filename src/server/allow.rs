//! Allow-lists: gems that checks ignore, and books that do not affect the verdict.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use lapidary_gems::WrittenGem;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::problem::{Details, Problem, excerpt};
use super::work::{Answer, work};
use super::{State, body, parameters};
use crate::catalogue::{AllowList, Allowable, Content};
use crate::index::{BookId, BookKey};
use crate::object;

/// All allow-lists.
#[derive(Serialize, ToSchema)]
pub(super) struct Lists {
    /// Ordered by name.
    allow: Vec<AllowList>,
}

/// What to allow: exactly one of `text`, `gems` and `book`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ToAllow)]
pub(super) struct Asked {
    /// A text. Its gems are stored; the text itself is not.
    text: Option<String>,
    /// Whether to remove print artifacts from the text; the default depends on the recipe.
    clean: Option<bool>,
    /// Gems.
    gems: Option<Vec<WrittenGem>>,
    /// The recipe of `gems`; by default the catalogue's default recipe.
    recipe: Option<String>,
    /// A book.
    #[serde(default, deserialize_with = "object::optional")]
    book: Option<BookKey>,
    /// A note on why this is allowed.
    note: Option<String>,
}

#[utoipa::path(get, path = "/v1/allow", tag = "allow-lists", operation_id = "allow_lists", summary = "List all allow-lists",
    responses((status = 200, description = "All allow-lists, by name", body = Lists), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| Answer::ok(&Lists { allow: catalogue.allow_lists()? })).await
}

#[utoipa::path(put, path = "/v1/allow/{name}", tag = "allow-lists", operation_id = "put_allow_list",
    summary = "Add or replace an allow-list: a text, gems, or a book",
    description = "Checks ignore gems in an allow-list. A book in an allow-list is still shown as a match, but does not affect the verdict.",
    params(("name" = String, Path, description = "The list's name", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")),
    request_body = Asked,
    responses((status = 200, description = "It replaced an existing one", body = AllowList), (status = 201, description = "It was created", body = AllowList), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn put(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let name = name(&request)?;
    parameters::none(request.query_string())?;
    let body = body::json_only(&request, payload, &state, state.max_body).await?;
    work(&state, move |catalogue| {
        let (Asked { text, clean, gems, recipe, book, note }, mut room) = body.json()?;
        room.grow_for(text.as_deref(), catalogue)?;
        let what = match (text, gems, book, recipe) {
            (Some(text), None, None, None) => Allowable::Gems(Content::Text { text, clean }),
            (None, ..) if clean.is_some() => {
                return Err(Problem::bad("bad_json", "'clean' says how a text is read: give it with one only"));
            }
            (None, Some(gems), None, recipe) => {
                Allowable::Gems(Content::Gems { recipe: recipe.map(TryInto::try_into).transpose()?, gems })
            }
            (None, None, Some(book), None) => Allowable::Book(book),
            _ => {
                let detail = "give exactly one of 'text', 'gems' and 'book', and a 'recipe' only with gems";
                return Err(Problem::bad("bad_json", detail));
            }
        };
        let (list, replaced) = catalogue.allow(name, what, note)?;
        Answer::json(if replaced { StatusCode::OK } else { StatusCode::CREATED }, &list)
    })
    .await
}

#[utoipa::path(delete, path = "/v1/allow/{name}", tag = "allow-lists", operation_id = "delete_allow_list", summary = "Remove an allow-list",
    params(("name" = String, Path, description = "The list's name", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")),
    responses((status = 204, description = "It was removed"), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn delete(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let name = name(&request)?;
    work(&state, move |catalogue| {
        if catalogue.disallow(&name)? {
            return Ok(Answer::done());
        }
        let name = excerpt(name.as_str());
        Err(Problem::missing("no_such_allow_list", format!("there is no allow-list '{name}'")))
    })
    .await
}

fn name(request: &HttpRequest) -> Result<BookId, Problem> {
    Ok(parameters::rest(request, 3)?.into_owned().try_into()?)
}
