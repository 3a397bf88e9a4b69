//! Allow-lists: gems that checks ignore, and books that do not affect the verdict.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;
use utoipa::openapi::path::HttpMethod::{Delete, Get, Put};

use super::access::Needs::Admin;
use super::calls::{Call, json};
use super::problem::{Problem, excerpt};
use super::work::{Answer, work};
use super::{State, body, parameters};
use lapidary_catalogue::api::{AllowList, AllowLists, ToAllow};
use lapidary_catalogue::{Allowable, BookGems, Content};
use lapidary_common::error::ErrorCode;
use lapidary_store::BookId;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/allow", Admin, all).named("allow_lists", "List all allow-lists").answers(
            200,
            "All allow-lists, by name",
            [json::<AllowLists>()],
        ),
        // Allow-lists weaken every verdict, so only administrators can change them.
        Call::new(Put, "/v1/allow/{name:.*}", Admin, put)
            .named("put_allow_list", "Add or replace an allow-list: a text, gems, or a book")
            .about(
                "Checks ignore gems in an allow-list. A book in an allow-list is still shown as a match, but does not \
                 affect the verdict.",
            )
            .takes([json::<ToAllow>().example(json!({
                "gems": [2_054_203_394, 772_109_542, 3_170_125_001_u32], "note": "the imprint of all our books"
            }))])
            .answers(200, "It replaced an existing one", [json::<AllowList>()])
            .answers(201, "It was created", [json::<AllowList>()]),
        Call::new(Delete, "/v1/allow/{name:.*}", Admin, delete)
            .named("delete_allow_list", "Remove an allow-list")
            .answers(204, "It was removed", []),
    ]
}

async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| {
        Answer::ok(&AllowLists {
            allow: catalogue.allow_lists()?,
        })
    })
    .await
}

async fn put(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let name = name(&request)?;
    parameters::none(request.query_string())?;
    let body = body::body_of(body::JSON, &request, payload, &state, state.max_body).await?;
    work(&state, move |catalogue| {
        let (
            ToAllow {
                text,
                clean,
                gems,
                recipe,
                book,
                note,
            },
            mut room,
        ) = body.json()?;
        room.grow_for(text.as_deref(), catalogue)?;
        let what = match (text, gems, book, recipe) {
            (Some(text), None, None, None) => Allowable::Gems(Content::Text { text, clean }),
            (None, ..) if clean.is_some() => {
                return Err(Problem::new(
                    ErrorCode::BadJson,
                    "'clean' applies only to a text",
                ));
            }
            (None, Some(gems), None, recipe) => Allowable::Gems(Content::Gems(BookGems {
                recipe: recipe.map(TryInto::try_into).transpose()?,
                gems,
            })),
            (None, None, Some(book), None) => Allowable::Book(book),
            _ => {
                let detail =
                    "give exactly one of 'text', 'gems' and 'book', and a 'recipe' only with gems";
                return Err(Problem::new(ErrorCode::BadJson, detail));
            }
        };
        let (list, replaced) = catalogue.allow(name, what, note)?;
        Answer::json(
            if replaced {
                StatusCode::OK
            } else {
                StatusCode::CREATED
            },
            &list,
        )
    })
    .await
}

async fn delete(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let name = name(&request)?;
    work(&state, move |catalogue| {
        if catalogue.disallow(&name)? {
            return Ok(Answer::done());
        }
        let name = excerpt(name.as_str());
        Err(Problem::new(
            ErrorCode::NoSuchAllowList,
            format!("there is no allow-list '{name}'"),
        ))
    })
    .await
}

fn name(request: &HttpRequest) -> Result<BookId, Problem> {
    Ok(parameters::rest(request, 3)?.into_owned().try_into()?)
}
