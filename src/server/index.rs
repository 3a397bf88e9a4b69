//! `GET /`: the console for browsers, and for programs what there is.

use actix_web::http::header::VARY;
use actix_web::{HttpRequest, HttpResponse};
use utoipa::openapi::path::HttpMethod::Get;

use super::access::Needs::Nothing;
use super::calls::{Call, json, text};
use super::checks::wants_page;
use crate::console;
use lapidary_catalogue::api::Index;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/", Nothing, index)
            .named("index", "Show what there is: the console for browsers, links for programs")
            .about("With `Accept: text/html`, the answer is the web console, unless the server runs without it.")
            .answers(200, "The name, the version, and links", [json::<Index>(), text("text/html")]),
    ]
}

async fn index(request: HttpRequest) -> HttpResponse {
    if wants_page(&request)
        && let Some(page) = console::home(&request).await
    {
        return page;
    }
    let has_console = console::is_there(&request);
    HttpResponse::Ok()
        .insert_header((VARY, "accept"))
        .json(Index::new(has_console))
}
