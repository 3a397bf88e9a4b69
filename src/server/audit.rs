//! The audit log.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::path::HttpMethod::Get;

use super::State;
use super::access::Needs::Admin;
use super::calls::{Call, json};
use super::parameters;
use super::problem::Problem;
use super::work::{Answer, work};
use lapidary_catalogue::api::AuditPage;
use lapidary_common::error::ErrorCode;
use lapidary_store::AuditFrom;

/// The default number of entries per page.
const PAGE: usize = 100;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Only entries after this number
    after: Option<u64>,
    /// Only entries from this time on; use instead of `after`
    since: Option<Timestamp>,
    /// Only entries about books of this library
    library: Option<String>,
    /// With `library`: only entries about this book, by its id
    book: Option<String>,
    /// The maximum number of entries, from 1 to 1000
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/audit", Admin, page)
            .named("audit", "Show the audit log: who changed what, and when")
            .about(
                "With `library`, a page may have fewer entries than the limit, or none, although more follow: a call reads no \
                 more than 50,000 entries.",
            )
            .query::<Wanted>()
            .answers(200, "A page of entries", [json::<AuditPage>()]),
    ]
}

async fn page(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let known = "after (the 'next' of the previous page) or since (a time such as 2030-01-31T08:00:00Z), library and book (to see entries about it), and limit (a \
         number)";
    let Wanted {
        after,
        since,
        library,
        book,
        limit,
    } = parameters::query(request.query_string(), known)?;
    let from = match (after, since) {
        (after, None) => AuditFrom::Behind(after.unwrap_or(0)),
        (None, Some(time)) => AuditFrom::Time(time),
        (Some(_), Some(_)) => {
            return Err(Problem::new(
                ErrorCode::BadQuery,
                "give one of 'after' and 'since'",
            ));
        }
    };
    let limit = parameters::limit(limit.unwrap_or(PAGE), 1)?;
    let about = match (library, book) {
        (None, Some(_)) => {
            return Err(Problem::new(
                ErrorCode::BadQuery,
                "'book' needs the 'library' that it is in",
            ));
        }
        (library, book) => library.map(|library| (library, book)),
    };
    work(&state, move |catalogue| match &about {
        None => Answer::ok(&catalogue.audit(from, limit)?),
        Some((library, book)) => {
            Answer::ok(&catalogue.audit_of(from, library, book.as_deref(), limit)?)
        }
    })
    .await
}
