//! The audit log.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use jiff::Timestamp;
use serde::Deserialize;

use super::State;
use super::parameters;
use super::problem::{Details, Problem};
use super::work::{Answer, work};
use crate::index::AuditFrom;

/// The default number of entries per page.
const PAGE: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    after: Option<u64>,
    since: Option<Timestamp>,
    limit: Option<usize>,
}

#[utoipa::path(get, path = "/v1/audit", tag = "server", operation_id = "audit", summary = "Show the audit log: who changed what, and when", params(("after" = Option<u64>, Query, description = "Only entries after this number", format = "uint64"), ("since" = Option<String>, Query, description = "Only entries from this time on; use instead of `after`", format = DateTime), ("limit" = Option<u32>, Query, description = "The maximum number of entries, from 1 to 1000", minimum = 1, maximum = 1000)), responses((status = 200, description = "A page of entries", body = Object), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")))]
pub(super) async fn page(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let known =
        "after (the 'next' of the page before) or since (a time such as 2030-01-31T08:00:00Z), and limit (a number)";
    let Wanted { after, since, limit } = parameters::query(request.query_string(), known)?;
    let from = match (after, since) {
        (after, None) => AuditFrom::Behind(after.unwrap_or(0)),
        (None, Some(time)) => AuditFrom::Time(time),
        (Some(_), Some(_)) => return Err(Problem::bad("bad_query", "give one of 'after' and 'since'")),
    };
    let limit = parameters::limit(limit.unwrap_or(PAGE), 1)?;
    work(&state, move |catalogue| Answer::ok(&catalogue.audit(from, limit)?)).await
}
