//! Tests of sources and webhooks, which wait for other people's servers.

use std::sync::Arc;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, rt};

use super::ServerState;
use super::access::{Guest, Visible};
use super::operations::path;
use super::permits::Permits;
use super::problem::Problem;
use super::requests::caller;
use super::work::{Answer, work};
use lapidary_common::error::ErrorCode;
use lapidary_operations::{Operation, Session};

/// How many tests run at once: each has a thread, and a page in memory.
const MOST_TESTS: usize = 4;

/// A client runs one test at a time, so no key keeps others waiting.
pub(super) fn permits() -> Arc<Permits> {
    Permits::new("tests of sources and webhooks", MOST_TESTS, 1)
}

/// Runs a test on none of the threads that requests share.
pub(super) async fn test<O: Operation<Input = ()>>(
    request: HttpRequest,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let path = path::<O>(&request)?;
    let testing = state.tests.take(Guest::of(&request))?;
    let (actor, libraries) = (caller().actor(), Visible::to(&request));
    let host = Data::clone(&state);
    let tested = rt::task::spawn_blocking(move || {
        let _testing = testing;
        let session = Session::new(&host.catalogue, actor, libraries, &**host);
        O::run(&session, path, ())
    });
    let tested = tested
        .await
        .map_err(|error| Problem::failed(ErrorCode::Internal, &error))??;
    work(&state, move |_| Answer::of_operation::<O>(&tested)).await
}
