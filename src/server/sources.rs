//! Tests of sources, which wait for other people's servers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, rt};

use super::ServerState;
use super::access::{Guest, Visible};
use super::operations::path;
use super::problem::{Problem, overloaded};
use super::requests::caller;
use super::work::{Answer, work};
use lapidary_common::error::ErrorCode;
use lapidary_operations::sources::TestSource;
use lapidary_operations::{Operation as _, Session};

/// How many tests run at once: each has a thread, and a page in memory.
const MOST_TESTS: usize = 4;

/// The tests of sources that are running, by whom.
#[derive(Default)]
pub(super) struct Tests(Mutex<Vec<Guest>>);

impl Tests {
    fn lock(&self) -> MutexGuard<'_, Vec<Guest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a test, unless this client runs one: so no key keeps others waiting.
    fn begin(self: &Arc<Self>, by: Guest) -> Result<Testing, Problem> {
        let mut running = self.lock();
        if running.contains(&by) {
            return Err(overloaded(
                "another test of a source with this key is running; try again in some seconds",
            ));
        }
        if running.len() >= MOST_TESTS {
            return Err(overloaded("others test sources; try again in some seconds"));
        }
        running.push(by.clone());
        Ok(Testing {
            tests: Arc::clone(self),
            by,
        })
    }
}

/// A test that is running, until dropped.
struct Testing {
    tests: Arc<Tests>,
    by: Guest,
}

impl Drop for Testing {
    fn drop(&mut self) {
        self.tests.lock().retain(|by| *by != self.by);
    }
}

/// Tests a source on none of the threads that requests share.
pub(super) async fn test(
    request: HttpRequest,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let name = path::<TestSource>(&request)?;
    let testing = state.tests.begin(Guest::of(&request))?;
    let (actor, libraries) = (caller().actor(), Visible::to(&request));
    let host = Data::clone(&state);
    let tested = rt::task::spawn_blocking(move || {
        let _testing = testing;
        let session = Session::new(&host.catalogue, actor, libraries, &**host);
        TestSource::run(&session, name, ())
    });
    let tested = tested
        .await
        .map_err(|error| Problem::failed(ErrorCode::Internal, &error))??;
    work(&state, move |_| Answer::of_operation::<TestSource>(&tested)).await
}
