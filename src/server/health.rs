//! Liveness and readiness.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_web::HttpResponse;
use actix_web::http::header::RETRY_AFTER;
use actix_web::rt;
use actix_web::web::Data;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use utoipa::openapi::path::HttpMethod::Get;

use super::access::Needs::Nothing;
use super::calls::{Call, json};
use super::problem::Problem;
use super::{SHUTDOWN_SECONDS, ServerState};
use lapidary_catalogue::api;
use lapidary_catalogue::metrics::METRICS;
use lapidary_catalogue::{Catalogue, CatalogueError};
use lapidary_common::error::ErrorCode;
use lapidary_store::StoreError;

/// How often the catalogue is checked.
const INTERVAL: Duration = Duration::from_secs(2);
/// A check that takes longer means that the disk does not respond.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a store that refuses changes has to recover by itself, after its folder has become writable again.
const CHANCE: Duration = Duration::from_secs(15);
/// The retry delay for clients.
const RETRY_SECONDS: u64 = 5;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/healthz", Nothing, alive)
            .named("alive", "Liveness: whether the server is running")
            .answers(200, "The server is running", [json::<api::Health>()]),
        Call::new(Get, "/readyz", Nothing, ready)
            .named("ready", "Readiness: whether the server accepts requests")
            .answers(200, "The server is ready", [json::<api::Health>()]),
    ]
}

pub(super) async fn alive() -> HttpResponse {
    HttpResponse::Ok().json(api::Health::of("ok"))
}

pub(super) async fn ready(state: Data<ServerState>) -> Result<HttpResponse, Problem> {
    match state.fault() {
        None => Ok(HttpResponse::Ok().json(api::Health::of("ready"))),
        Some(fault) => Err(fault.into()),
    }
}

/// The response to every request while the catalogue is being opened.
pub(super) async fn starting() -> Result<HttpResponse, Problem> {
    Err(HealthFault::Starting.into())
}

/// Why a server is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HealthFault {
    Starting,
    Stopping,
    Silent,
    ReadOnly,
    DiskFull,
    StoreFailed,
    StoreEmptied,
    DiskNearlyFull,
}

impl From<HealthFault> for Problem {
    fn from(fault: HealthFault) -> Self {
        // These messages are public, so none of them names a folder.
        let (code, detail, seconds) = match fault {
            HealthFault::Starting => (
                ErrorCode::Starting,
                "the catalogue is being opened; ask again in a moment",
                RETRY_SECONDS,
            ),
            HealthFault::Stopping => {
                let detail =
                    "the server is stopping; try again after it has restarted, or use another";
                (ErrorCode::Stopping, detail, SHUTDOWN_SECONDS)
            }
            HealthFault::Silent => (
                ErrorCode::StoreSilent,
                "the catalogue's disk does not respond; check the disk",
                RETRY_SECONDS,
            ),
            HealthFault::ReadOnly => {
                let detail = "the catalogue's folder is not writable; remount it or fix its permissions, and the \
                              server recovers by itself";
                (ErrorCode::ReadOnly, detail, RETRY_SECONDS)
            }
            HealthFault::DiskFull => {
                let detail = "the catalogue's disk is full; free some space, and the server recovers by itself";
                (ErrorCode::NoDiskSpace, detail, RETRY_SECONDS)
            }
            HealthFault::StoreFailed => {
                let detail = "the catalogue cannot be changed; see the server's log, fix the cause, then restart the server";
                (ErrorCode::NotWritable, detail, RETRY_SECONDS)
            }
            HealthFault::StoreEmptied => {
                let detail = "a node of the cluster has lost data; the server's log says which: start it with its data, or \
                              repair the rest with lapidary verify --fix";
                (ErrorCode::StoreEmptied, detail, RETRY_SECONDS)
            }
            HealthFault::DiskNearlyFull => {
                let detail = "the catalogue's disk is nearly full; free some space (serve --min-free sets the limit)";
                (ErrorCode::DiskNearlyFull, detail, RETRY_SECONDS)
            }
        };
        Self::new(code, detail).with(RETRY_AFTER, seconds.to_string())
    }
}

/// The results of the catalogue checks.
pub(super) struct Health {
    last: RwLock<(Instant, Option<HealthFault>)>,
    /// The time since which the store has refused changes although its folder is writable.
    refusing: Mutex<Option<Instant>>,
    /// Whether the catalogue is to be reopened; `reopen` waits for this.
    reopening: AtomicBool,
    told: Notify,
}

impl Health {
    /// Checks the catalogue now.
    pub(super) fn of(catalogue: &Catalogue, min_free: u64) -> Self {
        let last = RwLock::new((Instant::now(), look(catalogue, min_free)));
        Self {
            last,
            refusing: Mutex::default(),
            reopening: AtomicBool::new(false),
            told: Notify::new(),
        }
    }

    fn last(&self) -> (Instant, Option<HealthFault>) {
        *self.last.read()
    }

    /// Completes when the catalogue is to be reopened.
    pub(super) async fn reopen(&self) {
        self.told.notified().await;
    }

    pub(super) fn is_reopening(&self) -> bool {
        self.reopening.load(Ordering::Relaxed)
    }

    /// Requests that the catalogue be reopened if it does not recover by itself.
    fn look_after(&self, catalogue: &Catalogue) {
        let mut refusing = self.refusing.lock();
        if !catalogue.wants_reopening() {
            *refusing = None;
        } else if refusing.get_or_insert_with(Instant::now).elapsed() > CHANCE
            && !self.reopening.swap(true, Ordering::Relaxed)
        {
            tracing::warn!("the catalogue's folder is writable again: reopening the catalogue");
            self.told.notify_one();
        }
    }
}

impl ServerState {
    /// Why the server is not ready, if it is not.
    pub(super) fn fault(&self) -> Option<HealthFault> {
        if self.stopping.load(Ordering::Relaxed) {
            return Some(HealthFault::Stopping);
        }
        let (at, found) = self.health.last();
        if at.elapsed() > PATIENCE {
            Some(HealthFault::Silent)
        } else {
            found
        }
    }

    fn look(&self) {
        if let Some(tls) = &self.tls {
            tls.renew();
        }
        if let Err(error) = self
            .access
            .note_usage(&self.catalogue)
            .and_then(|()| self.access.note_quotas(&self.catalogue))
        {
            tracing::error!("cannot save the keys' quota usage: {error}");
        }
        self.write_figures();
        hold_reserve(&self.catalogue);
        if let Err(error) = self.catalogue.keys().write_revocations() {
            tracing::warn!(
                "keys that were revoked are refused, but that is not on disk yet: {error}"
            );
        }
        self.health.look_after(&self.catalogue);
        let found = look(&self.catalogue, self.min_free);
        let (_, before) = self.health.last();
        match found {
            Some(fault) if found != before => {
                tracing::error!("not ready: {}", Problem::from(fault));
            }
            None if found != before => tracing::info!("ready again"),
            _ => {}
        }
        *self.health.last.write() = (Instant::now(), found);
    }

    fn write_figures(&self) {
        let counted = self.catalogue.check_history().write();
        let taken = self.history.take(&METRICS, &self.catalogue);
        if let Err(error) = counted.and(taken) {
            tracing::error!("cannot save figures of checks: {error}");
        }
    }
}

/// Checks the catalogue periodically, for `/readyz` and for the metrics. Both respond at once, however often they are
/// called and however busy the server and its disk are.
pub(super) async fn watch(state: Data<ServerState>) {
    loop {
        rt::time::sleep(INTERVAL).await;
        let state = state.clone();
        // A panic in a check has been logged; the last result then becomes stale.
        let _ = rt::task::spawn_blocking(move || state.look()).await;
    }
}

/// Reserves disk space, and says if there is too little for that.
pub(super) fn hold_reserve(catalogue: &Catalogue) {
    if let Err(error) = catalogue.hold_reserve() {
        tracing::warn!(
            "cannot reserve disk space: {error}. If the disk is full, keys can be revoked only until the server ends"
        );
    }
}

fn look(catalogue: &Catalogue, min_free: u64) -> Option<HealthFault> {
    let disk = match catalogue.vitals() {
        Ok(vitals) => vitals.map(|vitals| vitals.disk),
        Err(error) => {
            tracing::error!("{error}");
            return Some(fault_of(&error));
        }
    };
    if disk.is_some_and(|disk| disk.read_only) {
        return Some(HealthFault::ReadOnly);
    }
    if let Err(error) = catalogue.writable() {
        tracing::error!("{error}");
        return Some(fault_of(&error));
    }
    disk.is_some_and(|disk| disk.free < min_free)
        .then_some(HealthFault::DiskNearlyFull)
}

fn fault_of(error: &CatalogueError) -> HealthFault {
    match error {
        CatalogueError::Store(StoreError::DiskFull(_)) => HealthFault::DiskFull,
        CatalogueError::Store(StoreError::Denied { .. }) => HealthFault::ReadOnly,
        CatalogueError::Store(StoreError::Emptied { .. }) => HealthFault::StoreEmptied,
        _ => HealthFault::StoreFailed,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use actix_web::ResponseError;
    use actix_web::http::header::RETRY_AFTER;
    use actix_web::rt::System;
    use actix_web::web::Data;

    use super::*;
    use crate::server::access::Access;
    use crate::server::memory::Memory;
    use crate::server::permits::Permits;
    use crate::server::settings::CheckUrls;
    use crate::server::turns::Turns;
    use lapidary_catalogue::history::Recorder;
    use lapidary_extract::Limits;

    fn state(min_free: u64, folder: &std::path::Path) -> ServerState {
        let catalogue = Arc::new(Catalogue::open_or_create(folder).unwrap());
        let health = Health::of(&catalogue, min_free);
        let stopping = false.into();
        ServerState {
            catalogue,
            max_body: 0,
            limits: Limits::default(),
            stopping,
            slow: Duration::MAX,
            min_free,
            health,
            tls: None,
            access: Access::new(true, &[], None),
            trusted_proxies: Vec::new(),
            memory: Memory::new(1 << 20),
            transfers: Arc::new(tokio::sync::Semaphore::new(1)),
            tests: Permits::new("tests", 1, 1),
            fetches: Permits::new("downloads", 1, 1),
            links: super::super::shared::limit(),
            check_urls: CheckUrls::None,
            objects: None,
            events_key: None,
            oidc: None,
            turns: Turns::new(1, 1).unwrap(),
            history: Recorder::default(),
        }
    }

    #[test]
    fn a_server_that_stops_is_not_ready() {
        let folder = tempfile::tempdir().unwrap();
        let state = Data::new(state(0, folder.path()));
        assert_eq!(state.fault(), None);
        state.stopping.store(true, Ordering::Relaxed);
        let answer = System::new()
            .block_on(ready(state))
            .unwrap_err()
            .error_response();
        assert_eq!(answer.status(), 503);
        assert_eq!(answer.headers().get(RETRY_AFTER).unwrap(), "30");
    }

    #[test]
    fn a_disk_that_does_not_answer_is_no_ready_one() {
        let folder = tempfile::tempdir().unwrap();
        let state = state(0, folder.path());
        state.health.last.write().0 = Instant::now().checked_sub(PATIENCE + INTERVAL).unwrap();
        assert_eq!(state.fault(), Some(HealthFault::Silent));
        state.look();
        assert_eq!(state.fault(), None);
    }

    #[test]
    fn a_store_that_may_not_be_written_says_so() {
        let denied = StoreError::Denied {
            path: "a folder".into(),
            detail: "read-only file system".into(),
        };
        let fault = fault_of(&denied.into());
        assert_eq!(fault, HealthFault::ReadOnly);
    }

    #[test]
    fn too_little_space_and_a_lost_folder_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let state = state(u64::MAX, folder.path());
        assert_eq!(state.fault(), Some(HealthFault::DiskNearlyFull));
        std::fs::remove_dir_all(folder.path()).unwrap();
        state.look();
        assert_eq!(state.fault(), Some(HealthFault::StoreFailed));
    }
}
