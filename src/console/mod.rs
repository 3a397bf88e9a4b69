//! The web console: pages for people, beside the API for programs and the command line.
//!
//! One file for each page. A page makes calls of the API for the [visitor](visitor::Visitor) and shows their answers; it has no
//! privileges and no logic of its own. Its words are messages of [`language`](lapidary_language).
//!
//! Pages work as plain forms and links. With scripts, htmx replaces parts of a page, and a file of our own (`assets/console.js`)
//! adds what forms cannot do. Everything that a page loads is in the program.

mod add;
mod assets;
mod audit;
mod batches;
mod book;
mod catalogue;
mod check;
mod compare;
#[cfg(test)]
mod components;
mod decisions;
mod duplicates;
mod failure;
mod filed;
mod first;
mod import;
mod jobs;
mod keys;
mod layout;
mod links;
mod oidc;
mod plot;
mod sessions;
mod shared;
mod sign_in;
mod sources;
mod statistics;
mod tokens;
mod visitor;
mod webhooks;

use std::fmt::Display;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use actix_web::http::StatusCode;
use actix_web::middleware::from_fn;
use actix_web::web::{self, Data, FormConfig, Query, QueryConfig, ServiceConfig};
use actix_web::{Error, HttpRequest, HttpResponse, ResponseError as _};
use serde::Deserialize;

use self::failure::PageFailure;
use self::links::Links;
use self::sessions::Sessions;
use self::visitor::Visitor;
use crate::server::inside::{ClientLimit, Inside};
use lapidary_catalogue::permission::Permission;
use lapidary_common::error::ErrorCode;
use lapidary_operations::status::ShowStats;

/// The largest form without files: a note of the greatest length, each character of it encoded.
const FORM: usize = 64 << 10;

/// What all workers share.
pub(crate) struct Console {
    sessions: Sessions,
    attempts: ClientLimit,
    ended: ClientLimit,
    links: Links,
    /// The token of forms on a server where nobody signs in, and whose store takes no changes.
    token: String,
}

impl Console {
    pub(crate) fn new() -> Data<Self> {
        Data::new(Self {
            sessions: Sessions::default(),
            attempts: sign_in::attempts(),
            ended: oidc::ended(),
            links: Links::default(),
            token: sessions::random(),
        })
    }

    /// Opens a browser, and prints the link for those who want another one.
    pub(crate) fn open(&self, scheme: &str, address: SocketAddr) {
        let link = format!(
            "{scheme}://{address}/console/open?link={}",
            self.links.make(Instant::now())
        );
        tracing::info!("the console is at {link} (once, and within two minutes)");
        if let Err(error) = open::that_detached(&link) {
            tracing::warn!("no browser could be opened ({error}); open the link yourself");
        }
    }
}

/// Adds the pages to an application.
pub(crate) fn configure(app: &mut ServiceConfig, console: Data<Console>, inside: Rc<Inside>) {
    app.app_data(console).app_data(inside).service(
        web::scope("/console")
            .app_data(
                QueryConfig::default().error_handler(|error, request| unreadable(request, &error)),
            )
            .app_data(
                FormConfig::default()
                    .limit(FORM)
                    .error_handler(|error, request| unreadable(request, &error)),
            )
            .service(assets::routes())
            .configure(sign_in::routes)
            .configure(oidc::routes)
            .configure(first::routes)
            .configure(shared::routes)
            .configure(check::routes)
            .configure(filed::routes)
            .configure(batches::routes)
            .configure(compare::routes)
            .configure(catalogue::routes)
            .configure(add::routes)
            .configure(duplicates::routes)
            .configure(import::routes)
            .configure(book::routes)
            .configure(decisions::routes)
            .configure(sources::routes)
            .configure(jobs::routes)
            .configure(keys::routes)
            .configure(webhooks::routes)
            .configure(audit::routes)
            .configure(statistics::routes)
            .route("", web::get().to(|| async { layout::see_other("/") }))
            .route("/", web::get().to(|| async { layout::see_other("/") }))
            .default_service(web::to(layout::nothing_here))
            .wrap(from_fn(tokens::take)),
    );
}

/// A query or a form that no page of the console sends.
fn unreadable(request: &HttpRequest, error: &dyn Display) -> Error {
    let told = failure::problem(
        ErrorCode::BadQuery,
        StatusCode::BAD_REQUEST,
        error.to_string(),
    );
    PageFailure::problem_of(request, told).into()
}

/// Whether a server has a console.
pub(crate) fn is_there(request: &HttpRequest) -> bool {
    request.app_data::<Data<Console>>().is_some()
}

/// The first page, if the server has a console.
pub(crate) async fn home(request: &HttpRequest) -> Option<HttpResponse> {
    if !is_there(request) {
        return None;
    }
    Some(
        first_page(request)
            .await
            .unwrap_or_else(|failure| failure.error_response()),
    )
}

async fn first_page(request: &HttpRequest) -> Result<HttpResponse, PageFailure> {
    let visitor = Visitor::of(request).await?;
    if visitor.is_admin() && visitor.call::<ShowStats>(&[], ()).await?.books == 0 {
        return Ok(first::page(&visitor));
    }
    Ok(if visitor.may(Permission::Check) {
        check::page(&visitor)
    } else if visitor.may(Permission::Ingest) {
        layout::see_other("/console/catalogue")
    } else {
        layout::see_other("/console/decisions")
    })
}

/// The query of the page after another.
#[derive(Deserialize)]
struct From {
    #[serde(default)]
    from: String,
}

type At = Query<From>;
