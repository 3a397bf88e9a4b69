//! The catalogue over HTTP: one file a resource, and no logic of its own.
//!
//! A handler takes from the request what `body` and `parameters` find there, and gives the rest to `work`, which
//! calls the catalogue off the event loop. Whatever goes wrong becomes a `problem`. `requests` keeps account of each
//! request, `health` looks after the catalogue, and `opening` answers until there is one.
//!
//! Not for other programs on the same machine that may as well use the [`Catalogue`] itself.

mod access;
mod allow;
mod amend;
mod audit;
mod batch;
mod body;
mod books;
mod checks;
mod export;
mod feed;
mod health;
mod import;
mod jobs;
mod keys;
mod libraries;
mod lines;
mod memory;
mod metrics;
mod openapi;
mod opening;
mod outgoing;
mod parameters;
mod problem;
mod requests;
mod settings;
mod tls;
mod turns;
mod webhooks;
mod work;

pub use openapi::openapi;
pub use opening::Opening;
pub use settings::Settings;
pub use tls::{CertificateError, CertificateFiles};

use std::future::{pending, ready};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZero;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use actix_web::dev::HttpServiceFactory;
use actix_web::http::Method;
use actix_web::middleware::from_fn;
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{App, HttpResponse, HttpServer, Route, rt};
use futures_util::future::select;
use tokio::sync::Semaphore;

use self::access::{Access, Needs, guarded};
use self::health::Health;
use self::memory::Memory;
use self::tls::Tls;
use self::turns::Turns;
use crate::catalogue::{Catalogue, CatalogueError};
use crate::extract::Limits;

/// How long a stop waits for the requests that are running, in seconds.
const SHUTDOWN_SECONDS: u64 = 30;
/// How long the head of a request may take.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// How long agreeing on TLS may take.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// Files that are not connections: tables, logs, the standard streams.
const OTHER_FILES: u64 = 640;
/// More connections than this serve nobody.
const MOST_CONNECTIONS: u64 = 50_000;
/// How long what a client still sends is read and thrown away after a refusal, so that it comes to read the refusal.
const LINGER: Duration = Duration::from_secs(5);
/// At least so many threads serve connections: one that takes in a large body keeps the others of its thread waiting for moments.
const LEAST_WORKERS: usize = 4;
/// How many exports and imports may be under way: each has a thread of its own.
const TRANSFERS: usize = 2;
/// The most threads of each worker, for exports and imports and for looking at the catalogue's health.
const THREADS_OF_WORKER: usize = 8;

/// Why a server did not start, or stopped badly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Nothing can listen at the address.
    #[error("cannot listen on {address}: {source}; {}", remedy(source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// It would be open to everybody.
    #[error(
        "{0} can be reached from other machines, and there are no keys; make one first (lapidary keys add --data DIR \
         --role admin NAME), or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// TLS cannot be spoken.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The system refused something else.
    #[error("the server failed: {0}")]
    Io(#[from] io::Error),
    /// The catalogue could not be brought to disk.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "stop the program that listens there, or give another address with --listen",
        io::ErrorKind::PermissionDenied => "give a port from 1024 on with --listen, or the right to use this one",
        _ => "give an address of this machine with --listen",
    }
}

/// What all handlers share.
struct State {
    catalogue: Arc<Catalogue>,
    max_body: usize,
    limits: Limits,
    stopping: AtomicBool,
    slow: Duration,
    min_free: u64,
    health: Health,
    tls: Option<Arc<Tls>>,
    access: Access,
    memory: Arc<Memory>,
    /// Exports and imports that are not under way: each takes a thread.
    transfers: Arc<Semaphore>,
    turns: Turns,
}

/// Opens a catalogue and serves it until the process is told to stop (SIGTERM, SIGINT), as [`Server::run`] does; opens it anew
/// when that lets it be changed again after its disk failed. The log says where it listens.
pub fn run(open: impl Fn() -> Result<Catalogue, CatalogueError>, settings: Settings) -> Result<(), ServerError> {
    let opening = Opening::bind(settings)?;
    loop {
        let server = opening.try_clone()?.open(&open)?;
        let scheme = if server.state.tls.is_some() { "https" } else { "http" };
        for address in server.addresses() {
            tracing::info!("lapidary listens on {scheme}://{address}");
        }
        let tls = server.state.tls.clone();
        if server.serve(told_to_stop(tls))? == Ended::Stopped {
            return Ok(());
        }
    }
}

/// Why a server has ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    /// It was told to.
    Stopped,
    /// The catalogue is to be opened anew.
    Reopening,
}

/// A server that has its addresses, and answers once it runs.
pub struct Server {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    state: Data<State>,
}

impl Server {
    /// Takes the address; who connects from now on is answered when the server runs.
    ///
    /// # Errors
    /// [`ServerError::Bind`] when the address is in use or not to be had; [`ServerError::Open`] when it is not loopback and
    /// the catalogue has no keys; [`ServerError::Certificate`].
    pub fn bind(catalogue: Arc<Catalogue>, settings: Settings) -> Result<Self, ServerError> {
        Opening::bind(settings)?.serve(catalogue)
    }

    fn new(
        listeners: Vec<TcpListener>,
        addresses: Vec<SocketAddr>,
        tls: Option<Arc<Tls>>,
        catalogue: Arc<Catalogue>,
        settings: &Settings,
    ) -> Result<Self, ServerError> {
        let open = addresses.iter().find(|address| !address.ip().is_loopback());
        let loopback = open.is_none();
        if let Some(&address) = open
            && catalogue.has_no_keys()?
        {
            return Err(ServerError::Open(address));
        }
        // Who serves a new catalogue makes it: no client of it decides which recipe is the default.
        catalogue.ensure_recipes(&[])?;
        let Settings { max_body, slow, min_free, keyless_rate, concurrent, queue, body_memory, limits, .. } = *settings;
        let health = Health::of(&catalogue, min_free);
        let access = Access::new(loopback, &settings.allowed_hosts, keyless_rate);
        let (memory, turns) = (Memory::new(body_memory), Turns::new(concurrent, queue)?);
        let stopping = AtomicBool::new(false);
        let state = Data::new(State {
            catalogue,
            max_body,
            limits,
            stopping,
            slow,
            min_free,
            health,
            tls,
            access,
            memory,
            transfers: Arc::new(Semaphore::new(TRANSFERS)),
            turns,
        });
        Ok(Self { listeners, addresses, state })
    }

    /// The addresses it listens on, with the real port.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Serves until SIGTERM or SIGINT, and reads the certificate anew on SIGHUP; then takes no more requests, finishes those that run, and brings the catalogue
    /// to disk.
    pub fn run(self) -> Result<(), ServerError> {
        let tls = self.state.tls.clone();
        self.run_until(told_to_stop(tls))
    }

    /// As [`Self::run`], but until `stop` is ready, and with no heed of signals.
    pub fn run_until(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), ServerError> {
        self.serve(stop).map(|_| ())
    }

    fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<Ended, ServerError> {
        let Self { listeners, state, .. } = self;
        let catalogue = Arc::clone(&state.catalogue);
        let (told, settled, tls) = (state.clone(), state.clone(), state.tls.clone());
        let workers = available_parallelism().map_or(1, NonZero::get).max(LEAST_WORKERS);
        // What streams and jobs share out among all cores is heavy work too. Another part of this program may have threads already.
        let _ = rayon::ThreadPoolBuilder::new().start_handler(|_| turns::give_way()).build_global();
        catalogue.resume_jobs()?;
        catalogue.start_webhooks();
        listeners.iter().for_each(outgoing::give_up);
        rt::System::new().block_on(async move {
            rt::spawn(health::watch(state.clone()));
            let app = move || App::new().app_data(state.clone()).wrap(from_fn(requests::observe)).configure(routes);
            let most = connections(workers);
            let mut server = HttpServer::new(app)
                .workers(workers)
                .worker_max_blocking_threads(THREADS_OF_WORKER)
                .max_connections(most)
                // Those who say nothing after connecting keep nobody else from agreeing on TLS.
                .max_connection_rate(most)
                .tls_handshake_timeout(HANDSHAKE_PATIENCE)
                .client_request_timeout(HEAD_PATIENCE)
                .client_disconnect_timeout(LINGER)
                .shutdown_timeout(SHUTDOWN_SECONDS)
                .shutdown_signal(async move {
                    select(pin!(stop), pin!(told.health.reopen())).await;
                    told.stopping.store(true, Ordering::Relaxed);
                    tracing::info!("stopping: running requests are finished first");
                });
            for listener in listeners {
                server = match &tls {
                    None => server.listen(listener)?,
                    Some(tls) => server.listen_rustls_0_23(listener, tls.config())?,
                };
            }
            server.run().await
        })?;
        let noted = settled.access.note_usage(&catalogue);
        let flushed = catalogue.flush();
        catalogue.stop_jobs();
        if settled.health.is_reopening() {
            // It could not be written, which is why.
            return Ok(Ended::Reopening);
        }
        noted?;
        flushed?;
        Ok(Ended::Stopped)
    }
}

/// Ready when the process is told to stop.
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

/// Reads the certificate anew whenever the process is told to (SIGHUP); never ready.
async fn told_to_reload(tls: Option<Arc<Tls>>) {
    #[cfg(unix)]
    if let Some(mut signal) = opening::hangups() {
        while signal.recv().await.is_some() {
            tracing::info!("SIGHUP: the certificate is read anew, if there is one; all other settings take a restart");
            if let Some(tls) = tls.clone() {
                // What goes wrong has been logged.
                let _ = rt::task::spawn_blocking(move || tls.renew()).await;
            }
        }
    }
    #[cfg(not(unix))]
    drop(tls);
    pending::<()>().await;
}

/// How many connections each worker may have, so that there are files for all; those beyond wait to be accepted.
fn connections(workers: usize) -> usize {
    let files = raise_file_limit().saturating_sub(OTHER_FILES).clamp(64, MOST_CONNECTIONS);
    (files as usize / workers).max(1)
}

/// Lets this process have as many files open as the system grants, and says how many these are.
#[cfg(unix)]
fn raise_file_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let granted = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    let limit = if granted { maximum } else { current };
    limit.unwrap_or(u64::MAX)
}

#[cfg(not(unix))]
fn raise_file_limit() -> u64 {
    MOST_CONNECTIONS
}

/// Every call there is, and what it needs.
fn routes(app: &mut ServiceConfig) {
    use Needs::{Admin, AnyKey, Check, CheckUnlessOpen, Ingest, Nothing};
    let (get, put, post, delete) = (|| Method::GET, || Method::PUT, || Method::POST, || Method::DELETE);
    let existing_clients = ["/copyright_check_by_gems", "/copyright_check_by_gems/"];
    let book = [
        (get(), Ingest, web::to(books::get)),
        (put(), Ingest, web::to(books::put)),
        (Method::PATCH, Ingest, web::to(amend::patch)),
        (delete(), Ingest, web::to(books::delete)),
    ];
    let books = [(get(), Ingest, web::to(libraries::books)), (post(), Ingest, web::to(feed::add))];
    // What weakens every verdict is for administrators.
    let allow_list = [(put(), Admin, web::to(allow::put)), (delete(), Admin, web::to(allow::delete))];
    let jobs = [(get(), Admin, web::to(jobs::all)), (post(), Admin, web::to(jobs::start))];
    let job = [(get(), Admin, web::to(jobs::get)), (delete(), Admin, web::to(jobs::cancel))];
    let keys = [(get(), Admin, web::to(keys::all)), (post(), Admin, web::to(keys::make))];
    let webhook = [(put(), Admin, web::to(webhooks::put)), (delete(), Admin, web::to(webhooks::delete))];
    app.service(resource(&["/v1/checks"], [(post(), Check, web::to(checks::check))]))
        .service(resource(&existing_clients, [(post(), CheckUnlessOpen, web::to(checks::check_by_gems))]))
        .service(resource(&["/v1/checks:batch"], [(post(), Check, web::to(batch::check))]))
        .service(resource(&["/v1/libraries"], [(get(), Admin, web::to(libraries::all))]))
        .service(resource(&["/v1/libraries/{library}/books"], books))
        // An id may have slashes, and is empty in a request that forgot it.
        .service(resource(&["/v1/libraries/{library}/books/{id:.*}"], book))
        .service(resource(&["/v1/libraries/{library}/recut/{id:.*}"], [(post(), Ingest, web::to(jobs::recut))]))
        .service(resource(&["/v1/libraries/{library}/webhook"], webhook))
        .service(resource(&["/v1/webhooks"], [(get(), Admin, web::to(webhooks::all))]))
        .service(resource(&["/v1/jobs"], jobs))
        .service(resource(&["/v1/jobs/{id}"], job))
        .service(resource(&["/v1/keys"], keys))
        .service(resource(&["/v1/keys/{name}"], [(delete(), Admin, web::to(keys::revoke))]))
        .service(resource(&["/v1/keys/{name}/rotate"], [(post(), Admin, web::to(keys::rotate))]))
        .service(resource(&["/v1/audit"], [(get(), Admin, web::to(audit::page))]))
        .service(resource(&["/v1/export"], [(get(), Admin, web::to(export::export))]))
        .service(resource(&["/v1/import"], [(post(), Admin, web::to(import::import))]))
        .service(resource(&["/v1/allow"], [(get(), Admin, web::to(allow::all))]))
        .service(resource(&["/v1/allow/{name:.*}"], allow_list))
        .service(resource(&["/v1/stats"], [(get(), Admin, web::to(libraries::stats))]))
        .service(resource(&["/openapi.json"], [(get(), Nothing, web::to(openapi::json))]))
        .service(web::redirect("/docs", "/docs/"))
        .service(openapi::page())
        .service(resource(&["/healthz"], [(get(), Nothing, web::to(health::alive))]))
        .service(resource(&["/readyz"], [(get(), Nothing, web::to(health::ready))]))
        .service(resource(&["/metrics"], [(get(), AnyKey, web::to(metrics::show))]))
        .default_service(web::to(problem::nothing_here));
}

/// The calls of one path; any other method is refused with the names of those that there are.
fn resource<const N: usize>(paths: &[&str], calls: [(Method, Needs, Route); N]) -> impl HttpServiceFactory + use<N> {
    let mut resource = web::resource(paths.to_vec());
    let (mut allowed, mut needs) = (Vec::new(), Vec::new());
    for (method, need, route) in calls {
        allowed.push(method.to_string());
        needs.push((method.clone(), need));
        if method == Method::GET {
            allowed.push(Method::HEAD.to_string());
        }
        resource = resource.route(route.method(method));
    }
    let allowed = allowed.join(", ");
    let refuse = move || ready(Err::<HttpResponse, _>(problem::wrong_method(&allowed)));
    guarded(resource.default_service(web::to(refuse)), needs)
}
