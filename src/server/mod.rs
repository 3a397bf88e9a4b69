//! The HTTP API of a catalogue, without logic of its own.
//!
//! Operations are declared in [`lapidary_operations`] and mounted by one handler (`operations`). Calls with streams, forms,
//! files or conditions have handlers of their own, in one file for each resource. From all declarations follow the routes
//! and the API description (`routes`, `openapi`).
//!
//! A handler parses the `request` and passes the result to `work`, which calls the catalogue off the event loop. Every error
//! becomes a `problem`. `requests` logs and counts each request, `health` monitors the catalogue, and `opening` responds
//! until the catalogue is open.
//!
//! Programs on the same machine can use the [`Catalogue`] directly instead.

mod access;
mod answer;
mod batch;
mod books;
mod calls;
mod checks;
mod clamd;
mod coding;
mod compare;
mod connection;
mod export;
mod feed;
mod fetch;
mod filed;
mod gates;
mod health;
mod import;
mod index;
pub(crate) mod inside;
mod me;
mod memory;
mod metrics;
mod objects;
pub(crate) mod oidc;
mod openapi;
mod operations;
mod outside;
mod permits;
mod recipes;
mod recut;
mod report_page;
mod request;
mod requests;
mod routes;
pub mod settings;
mod shared;
mod site;
mod tables;
mod texts;
mod turns;

pub use self::connection::opening::Opening;
pub use self::connection::proxies::{BadNetwork, ProxyNetwork};
pub use self::connection::tls::{CertificateError, CertificateFiles};
pub(crate) use self::feed::id_of_file;
pub(crate) use self::request::language;
pub use openapi::openapi;
pub use settings::Settings;

use std::future::pending;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZero;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use actix_tls::accept::max_concurrent_tls_connect;
use actix_web::rt;
use actix_web::web::Data;
use futures_util::future::select;
use tokio::sync::Semaphore;

use self::access::Access;
use self::answer::{outgoing, problem, work};
use self::connection::{connections, opening, proxies, tls};
use self::connections::Connections;
use self::health::Health;
use self::inside::Inside;
use self::memory::Memory;
use self::oidc::Oidc;
use self::permits::Permits;
use self::request::{body, conditions, forms, lines, once, parameters};
use self::settings::CheckUrls;
use self::tls::Tls;
use self::turns::Turns;
use crate::console::{self, Console};
use lapidary_catalogue::history::Recorder;
use lapidary_catalogue::metrics::METRICS;
use lapidary_catalogue::{
    Catalogue, CatalogueError, UnwrittenRevocation, delete_removed_books, expire_evidence,
    resume_jobs, start_watching, start_webhooks,
};
use lapidary_extract::Limits;
use lapidary_harvest::{KeyBounds, ObjectStore, Schedule};
use lapidary_store::Actor;

/// How long a shutdown waits for running requests, in seconds.
const SHUTDOWN_SECONDS: u64 = 30;
/// Open files that are not connections: tables, logs, the standard streams.
const OTHER_FILES: u64 = 640;
/// More connections than this are of no use.
const MOST_CONNECTIONS: u64 = 50_000;
/// The minimum number of threads that serve connections: receiving a large body briefly delays the other connections
/// of its thread.
const LEAST_WORKERS: usize = 4;
/// How many exports and imports can run at once: each has its own thread.
const TRANSFERS: usize = 2;
/// The maximum number of threads per worker, for exports, imports, tests of sources and webhooks, and health checks.
const THREADS_OF_WORKER: usize = 8;

/// Why a server failed to start or stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}; {}", remedy(source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The address for clients of `ClamAV` cannot be bound.
    #[error(
        "cannot answer clients of ClamAV at {address}: {source}; choose another address with --clamd"
    )]
    Clamd {
        /// The address, or the path of the socket.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// The server would be open to everybody.
    #[error(
        "{0} is reachable from other machines, but the catalogue has no keys; add one first (lapidary keys add --data \
         DIR --role admin NAME), or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// Whoever can connect could use the link that signs in.
    #[error(
        "--open signs in whoever is at this machine, and {0} is reachable from others; listen on 127.0.0.1, or open the \
         console yourself and sign in with a key"
    )]
    OpenToOthers(SocketAddr),
    /// TLS cannot be set up.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The secret for the identity provider cannot be read.
    #[error("oidc.client-secret: {}: {why}", file.display())]
    ClientSecret {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// The buckets of S3 cannot be used.
    #[error("the settings of s3: {0}")]
    Buckets(String),
    /// Another I/O error.
    #[error("the server failed: {0}")]
    Io(#[from] io::Error),
    /// The catalogue could not be written to disk.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "stop the program that uses it, or choose another address with --listen"
        }
        io::ErrorKind::PermissionDenied => {
            "choose a port from 1024 on with --listen, or grant the right to use this \
                                            one"
        }
        _ => "choose an address of this machine with --listen",
    }
}

/// The state shared by all handlers.
struct ServerState {
    catalogue: Arc<Catalogue>,
    max_body: usize,
    limits: Limits,
    stopping: AtomicBool,
    slow: Duration,
    min_free: u64,
    health: Health,
    tls: Option<Arc<Tls>>,
    access: Access,
    /// The proxies that are believed whom a request comes from.
    trusted_proxies: Vec<ProxyNetwork>,
    memory: Arc<Memory>,
    /// Permits for exports and imports, which take a thread each.
    transfers: Arc<Semaphore>,
    /// The tests of sources and webhooks, and the files that are fetched for checks, which take a thread each, too.
    tests: Arc<Permits>,
    fetches: Arc<Permits>,
    /// How often each link to a filed check may be followed.
    links: access::ClientLimit,
    check_urls: CheckUrls,
    /// The buckets that it reads, and the name of the key that may tell of what is new in them.
    objects: Option<Arc<ObjectStore>>,
    events_key: Option<String>,
    /// With which people sign in, beside keys.
    oidc: Option<Arc<Oidc>>,
    turns: Turns,
    history: Recorder,
}

/// Opens a catalogue and serves it until the process is told to stop (SIGTERM, SIGINT), as [`Server::run`] does. If
/// the disk failed and the catalogue can be changed again only after reopening it, reopens it. Logs the addresses it
/// listens on.
pub fn run(
    open: impl Fn() -> Result<Catalogue, CatalogueError>,
    settings: Settings,
) -> Result<(), ServerError> {
    let (shows, opens) = (!settings.no_console, settings.open);
    let opening = Opening::bind(settings)?;
    let console = shows.then(Console::new);
    let mut opens = console.as_ref().filter(|_| opens);
    let mut revocations = Vec::new();
    loop {
        let unwritten = std::mem::take(&mut revocations);
        let server = opening
            .try_clone()?
            .open(|| Ok(open()?.with_revocations(unwritten)))?
            .with_console(console.clone());
        let scheme = if server.state.tls.is_some() {
            "https"
        } else {
            "http"
        };
        server.log_addresses(scheme)?;
        health::hold_reserve(&server.state.catalogue);
        if let (Some(console), Some(address)) = (opens.take(), server.addresses().first()) {
            console.open(scheme, *address);
        }
        let tls = server.state.tls.clone();
        match server.serve(told_to_stop(tls))? {
            ServerEnd::Stopped => return Ok(()),
            ServerEnd::Reopening(unwritten) => revocations = unwritten,
        }
    }
}

/// Why a server ended.
#[derive(Debug, PartialEq, Eq)]
enum ServerEnd {
    /// It was told to stop.
    Stopped,
    /// The catalogue is to be reopened, with these revocations.
    Reopening(Vec<UnwrittenRevocation>),
}

/// A server that has bound its addresses, and responds once it runs.
pub struct Server {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    clamd: Option<clamd::Listener>,
    clamd_key: Option<String>,
    state: Data<ServerState>,
    console: Option<Data<Console>>,
    connections: Connections,
    /// How many sources run at once.
    sources: usize,
    /// How many addresses may wait for all sources of a key.
    sources_queue: u64,
}

impl Server {
    /// Binds the addresses. Connections made from now on are served when the server runs.
    ///
    /// # Errors
    /// [`ServerError::Bind`] if the address is in use or unavailable; [`ServerError::Open`] if it is not loopback and
    /// the catalogue has no keys; [`ServerError::Certificate`].
    pub fn bind(catalogue: Arc<Catalogue>, settings: Settings) -> Result<Self, ServerError> {
        Opening::bind(settings)?.serve(catalogue)
    }

    fn new(
        listeners: Vec<TcpListener>,
        addresses: Vec<SocketAddr>,
        clamd: Option<clamd::Listener>,
        connections: Connections,
        catalogue: Arc<Catalogue>,
        settings: &Settings,
    ) -> Result<Self, ServerError> {
        let loopback = is_loopback(&addresses, &catalogue)?;
        // A new catalogue gets its default recipe from the server, not from its first client.
        catalogue.by(Actor::Local).recipes().ensure(&[])?;
        let min_free = settings.min_free.0;
        let health = Health::of(&catalogue, min_free);
        let access = Access::new(loopback, &settings.allowed_hosts, settings.keyless_rate);
        let state = Data::new(ServerState {
            catalogue,
            max_body: settings.max_body.in_memory(),
            limits: settings.limits.limits(),
            stopping: AtomicBool::new(false),
            slow: settings.slow(),
            min_free,
            health,
            tls: connections.tls.clone(),
            access,
            trusted_proxies: settings.trusted_proxies.clone(),
            memory: Memory::new(settings.body_memory()),
            transfers: Arc::new(Semaphore::new(TRANSFERS)),
            tests: outside::permits(),
            fetches: fetch::permits(),
            links: shared::limit(),
            check_urls: settings.check_urls,
            objects: settings.s3.store()?.map(Arc::new),
            events_key: settings.s3.key.clone(),
            oidc: Oidc::new(&settings.oidc)?,
            turns: Turns::new(settings.concurrent, settings.queue)?,
            history: Recorder::default(),
        });
        let console = (!settings.no_console).then(Console::new);
        Ok(Self {
            listeners,
            addresses,
            clamd,
            clamd_key: settings.clamd_key.clone(),
            state,
            console,
            connections,
            sources: settings.sources,
            sources_queue: settings.sources_queue,
        })
    }

    /// The addresses it listens on, with the actual port.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    fn log_addresses(&self, scheme: &str) -> Result<(), CatalogueError> {
        for address in self.addresses() {
            tracing::info!("lapidary listens on {scheme}://{address}");
        }
        if let Some(clamd) = &self.clamd {
            tracing::info!("lapidary answers clients of ClamAV at {clamd}");
            clamd::warn_of_key(self.clamd_key.as_deref(), &self.state.catalogue)?;
        }
        Ok(())
    }

    /// Shows this console, whose sessions outlive a reopened catalogue.
    fn with_console(self, console: Option<Data<Console>>) -> Self {
        Self { console, ..self }
    }

    /// Serves until SIGTERM or SIGINT, and reloads the certificate on SIGHUP. On shutdown, it accepts no more
    /// requests, finishes the running ones, and writes the catalogue to disk.
    pub fn run(self) -> Result<(), ServerError> {
        let tls = self.state.tls.clone();
        self.run_until(told_to_stop(tls))
    }

    /// Like [`Self::run`], but until `stop` completes, and ignoring signals.
    pub fn run_until(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServerError> {
        self.serve(stop).map(|_| ())
    }

    fn serve(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<ServerEnd, ServerError> {
        let Self {
            listeners,
            clamd,
            clamd_key,
            state,
            console,
            connections,
            sources,
            sources_queue,
            ..
        } = self;
        let catalogue = Arc::clone(&state.catalogue);
        let (told, settled) = (state.clone(), state.clone());
        let cores = available_parallelism().map_or(1, NonZero::get);
        let workers = cores.max(LEAST_WORKERS);
        create_threads();
        begin_work(&state, sources, sources_queue);
        listeners.iter().for_each(outgoing::give_up);
        rt::System::new().block_on(async move {
            rt::spawn(health::watch(state.clone()));
            let of_clamd = state.clone();
            let app = move || {
                inside::app(state.clone()).configure(|app| {
                    if let Some(console) = &console {
                        let inside = Inside::new(state.clone());
                        console::configure(app, console.clone(), inside);
                    }
                })
            };
            let most = most_connections(workers);
            // Clients that connect and send nothing do not block the TLS handshakes of others.
            max_concurrent_tls_connect(most);
            let mut server = actix_server::Server::build()
                .workers(workers)
                .worker_max_blocking_threads(THREADS_OF_WORKER)
                .max_concurrent_connections(most)
                .shutdown_timeout(SHUTDOWN_SECONDS)
                .shutdown_signal(stopped(stop, told));
            for listener in listeners {
                server = connections.clone().listen(server, listener, app.clone())?;
            }
            if let Some(clamd) = clamd {
                server = clamd.serve(server, of_clamd, clamd_key)?;
            }
            server.run().await
        })?;
        settle(&settled, &catalogue)
    }
}

/// Whether only this machine can connect. If others can, there must be keys.
fn is_loopback(addresses: &[SocketAddr], catalogue: &Catalogue) -> Result<bool, ServerError> {
    let open = addresses.iter().find(|address| !address.ip().is_loopback());
    if let Some(&address) = open
        && catalogue.keys().is_empty()?
    {
        return Err(ServerError::Open(address));
    }
    Ok(open.is_none())
}

/// Creates the threads over which streams and jobs spread their work. That is heavy work, so they give way.
fn create_threads() {
    // This fails if another part of this program has already created them.
    let _ = rayon::ThreadPoolBuilder::new()
        .start_handler(|_| turns::give_way())
        .build_global();
}

/// Completes when the server is to stop or to reopen its catalogue.
async fn stopped(stop: impl Future<Output = ()>, state: Data<ServerState>) {
    select(pin!(stop), pin!(state.health.reopen())).await;
    state.stopping.store(true, Ordering::Relaxed);
    tracing::info!("stopping, after finishing the running requests");
}

/// Writes what is only in memory at the end.
fn settle(state: &ServerState, catalogue: &Catalogue) -> Result<ServerEnd, ServerError> {
    let noted = state.access.note_usage(catalogue);
    let counted = catalogue
        .check_history()
        .write()
        .and_then(|()| state.history.finish(&METRICS, catalogue));
    let flushed = catalogue.flush();
    catalogue.jobs().stop();
    if state.health.is_reopening() {
        // The catalogue could not be written, which is why it is reopened.
        let unwritten = catalogue.keys().unwritten_revocations();
        return Ok(ServerEnd::Reopening(unwritten));
    }
    noted?;
    counted?;
    flushed?;
    Ok(ServerEnd::Stopped)
}

/// Begins what is done in the background.
fn begin_work(state: &Data<ServerState>, sources: usize, sources_queue: u64) {
    let catalogue = &state.catalogue;
    resume_jobs(catalogue);
    start_webhooks(catalogue);
    expire_evidence(catalogue);
    delete_removed_books(catalogue);
    start_watching(catalogue);
    catalogue.follow_others();
    // What is fetched may be no larger than what is sent.
    let limits = Limits {
        input: state.limits.input.min(state.max_body as u64),
        ..state.limits
    };
    let counting = state.clone();
    let quotas = Arc::new(move |key: &str, books| {
        counting.access.count_books(&counting.catalogue, key, books)
    });
    let bounds = KeyBounds {
        quotas,
        queue: sources_queue,
    };
    Schedule::start(catalogue, limits, sources, turns::give_way, bounds);
}

/// Completes when the process is told to stop.
async fn told_to_stop(tls: Option<Arc<Tls>>) {
    let interrupted = async {
        if rt::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminated = async {
        use rt::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => signal.recv().await,
            Err(_) => pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = pending::<()>();
    let stopped = async {
        select(pin!(interrupted), pin!(terminated)).await;
    };
    select(pin!(stopped), pin!(told_to_reload(tls))).await;
}

/// Reloads the certificate whenever the process receives SIGHUP; never completes.
async fn told_to_reload(tls: Option<Arc<Tls>>) {
    #[cfg(unix)]
    if let Some(mut signal) = opening::hangups() {
        while signal.recv().await.is_some() {
            tracing::info!(
                "SIGHUP: reloading the certificate, if there is one; other settings need a restart"
            );
            if let Some(tls) = tls.clone() {
                // Errors have been logged.
                let _ = rt::task::spawn_blocking(move || tls.renew()).await;
            }
        }
    }
    #[cfg(not(unix))]
    drop(tls);
    pending::<()>().await;
}

/// The maximum number of connections per worker, so that there are enough file descriptors; further connections wait
/// to be accepted.
fn most_connections(workers: usize) -> usize {
    let files = raise_file_limit()
        .saturating_sub(OTHER_FILES)
        .clamp(64, MOST_CONNECTIONS);
    (files as usize / workers).max(1)
}

/// Raises the limit on open files as far as the system allows, and returns it.
#[cfg(unix)]
fn raise_file_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let granted = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    )
    .is_ok();
    let limit = if granted { maximum } else { current };
    limit.unwrap_or(u64::MAX)
}

#[cfg(not(unix))]
fn raise_file_limit() -> u64 {
    MOST_CONNECTIONS
}
