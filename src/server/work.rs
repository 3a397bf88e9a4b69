//! Work off the event loop: whatever takes CPU or touches the store.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, ContentType, VARY};
use actix_web::web::Data;
use actix_web::{HttpResponse, HttpResponseBuilder};
use serde::Serialize;
use tracing::Span;

use super::State;
use super::outgoing::{Outgoing, PIECE};
use super::problem::Problem;
use super::requests;
use super::turns::Patience;
use crate::catalogue::Catalogue;

/// An answer, written out already where that cannot hold up others.
pub(super) struct Answer {
    status: StatusCode,
    /// What is shown, and as what.
    shown: Option<(ContentType, Vec<u8>)>,
}

impl Answer {
    /// Something to show.
    pub(super) fn json(status: StatusCode, shown: &impl Serialize) -> Result<Self, Problem> {
        let json = serde_json::to_vec(shown).map_err(|error| Problem::failed("internal", &error))?;
        Ok(Self { status, shown: Some((ContentType::json(), json)) })
    }

    /// A page to show.
    pub(super) fn page(page: String) -> Self {
        Self { status: StatusCode::OK, shown: Some((ContentType::html(), page.into_bytes())) }
    }

    /// Something to show: 200.
    pub(super) fn ok(shown: &impl Serialize) -> Result<Self, Problem> {
        Self::json(StatusCode::OK, shown)
    }

    /// It is done, and there is nothing to show: 204.
    pub(super) fn done() -> Self {
        Self { status: StatusCode::NO_CONTENT, shown: None }
    }
}

/// Does `job` when it is its turn, on a thread that may take its time. Should it panic, this one request fails.
pub(super) async fn work<F>(state: &Data<State>, job: F) -> Result<HttpResponse, Problem>
where
    F: FnOnce(&Catalogue) -> Result<Answer, Problem> + Send + 'static,
{
    work_shared(state, |catalogue| job(catalogue)).await
}

/// As [`work`], for what may outlast the request.
pub(super) async fn work_shared<F>(state: &Data<State>, job: F) -> Result<HttpResponse, Problem>
where
    F: FnOnce(&Arc<Catalogue>) -> Result<Answer, Problem> + Send + 'static,
{
    let catalogue = Arc::clone(&state.catalogue);
    let (request, by) = (Span::current(), requests::caller());
    let actor = by.actor();
    let job = move || request.in_scope(|| actor.act(|| job(&catalogue)));
    let Answer { status, shown } = state.turns.take(by.lane, by.client, Patience::Refusable, job).await??;
    let mut response = HttpResponseBuilder::new(status);
    Ok(match shown {
        Some((kind, body)) => {
            if kind == ContentType::html() {
                // Nothing of a page comes from elsewhere or runs.
                response.insert_header((CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"));
            }
            response.insert_header((VARY, "accept")).insert_header(kind);
            if body.len() <= PIECE {
                return Ok(response.body(body));
            }
            let mut room = state.memory.room();
            room.grow(body.len())?;
            response.body(Outgoing::new(body, room))
        }
        None => response.finish(),
    })
}
