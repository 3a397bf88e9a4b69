//! The catalogue over HTTP: one file a resource, and no logic of its own.
//!
//! A handler takes from the request what `body` and `parameters` find there, and gives the rest to `work`, which
//! calls the catalogue off the event loop. Whatever goes wrong becomes a `problem`. `requests` keeps account of each
//! request, `health` looks after the catalogue, and `opening` answers until there is one.
//!
//! Not for other programs on the same machine that may as well use the [`Catalogue`] itself.

mod allow;
mod amend;
mod batch;
mod body;
mod books;
mod checks;
mod feed;
mod health;
mod jobs;
mod libraries;
mod lines;
mod metrics;
mod openapi;
mod opening;
mod parameters;
mod problem;
mod requests;
mod work;

pub use openapi::openapi;
pub use opening::Opening;

use std::future::{pending, ready};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZero;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use actix_web::http::Method;
use actix_web::middleware::from_fn;
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{App, HttpResponse, HttpServer, Resource, Route, guard, rt};
use futures_util::future::select;

use self::health::Health;
use crate::catalogue::{Catalogue, CatalogueError};
use crate::metrics::METRICS;

/// The largest body that is taken when the settings say nothing: a text of 64 MiB is some fifty thick novels.
const MAX_BODY: usize = 64 << 20;
/// How long a stop waits for the requests that are running, in seconds.
const SHUTDOWN_SECONDS: u64 = 30;
/// How long what a client still sends is read and thrown away after a refusal, so that it comes to read the refusal.
const LINGER: Duration = Duration::from_secs(5);
/// The most threads that each worker fingerprints and reads the store with. More than cores, so that the system shares
/// those out and a check does not wait behind books; few enough for the memory that each may take.
const THREADS_OF_WORKER: usize = 32;
/// A request that takes longer is worth a warning when the settings say nothing.
const SLOW: Duration = Duration::from_secs(5);
/// With less free space on its disk a server is not ready, when the settings say nothing: all that is in memory, and as much
/// again to compact it.
const MIN_FREE: u64 = 256 << 20;

/// How to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Where to listen. Port 0 is one that the system chooses.
    pub listen: SocketAddr,
    /// The largest body of a request, in bytes.
    pub max_body: usize,
    /// A request that takes as long is logged as a warning.
    pub slow: Duration,
    /// With less free space on the catalogue's disk, in bytes, the server is not ready.
    pub min_free: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let listen = SocketAddr::from(([127, 0, 0, 1], 8093));
        Self { listen, max_body: MAX_BODY, slow: SLOW, min_free: MIN_FREE }
    }
}

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
    stopping: AtomicBool,
    slow: Duration,
    min_free: u64,
    health: Health,
}

/// Opens a catalogue and serves it until the process is told to stop (SIGTERM, SIGINT), as [`Server::run`] does. The log
/// says where it listens.
pub fn run(open: impl FnOnce() -> Result<Catalogue, CatalogueError>, settings: Settings) -> Result<(), ServerError> {
    let server = Opening::bind(settings)?.open(open)?;
    tracing::info!("lapidary listens on http://{}", server.address());
    server.run()
}

/// A server that has its address, and answers once it runs.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    state: Data<State>,
}

impl Server {
    /// Takes the address; who connects from now on is answered when the server runs.
    ///
    /// # Errors
    /// [`ServerError::Bind`] when the address is in use or not to be had.
    pub fn bind(catalogue: Arc<Catalogue>, settings: Settings) -> Result<Self, ServerError> {
        Ok(Opening::bind(settings)?.serve(catalogue))
    }

    fn new(listener: TcpListener, address: SocketAddr, catalogue: Arc<Catalogue>, settings: Settings) -> Self {
        let Settings { max_body, slow, min_free, .. } = settings;
        let health = Health::of(&catalogue, min_free);
        let stopping = AtomicBool::new(false);
        let state = Data::new(State { catalogue, max_body, stopping, slow, min_free, health });
        Self { listener, address, state }
    }

    /// The address it listens on, with the real port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until SIGTERM or SIGINT; then takes no more requests, finishes those that run, and brings the catalogue
    /// to disk.
    pub fn run(self) -> Result<(), ServerError> {
        self.run_until(told_to_stop())
    }

    /// As [`Self::run`], but until `stop` is ready, and with no heed of signals.
    pub fn run_until(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), ServerError> {
        let Self { listener, state, .. } = self;
        let catalogue = Arc::clone(&state.catalogue);
        let told = state.clone();
        let workers = available_parallelism().map_or(1, NonZero::get);
        METRICS.work_threads(workers * THREADS_OF_WORKER);
        catalogue.resume_jobs()?;
        rt::System::new().block_on(async move {
            rt::spawn(health::watch(state.clone()));
            let app = move || App::new().app_data(state.clone()).wrap(from_fn(requests::observe)).configure(routes);
            HttpServer::new(app)
                .workers(workers)
                .worker_max_blocking_threads(THREADS_OF_WORKER)
                .client_disconnect_timeout(LINGER)
                .shutdown_timeout(SHUTDOWN_SECONDS)
                .shutdown_signal(async move {
                    stop.await;
                    told.stopping.store(true, Ordering::Relaxed);
                    tracing::info!("stopping: running requests are finished first");
                })
                .listen(listener)?
                .run()
                .await
        })?;
        let flushed = catalogue.flush();
        catalogue.stop_jobs();
        Ok(flushed?)
    }
}

/// Ready when the process is told to stop.
async fn told_to_stop() {
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
    select(pin!(interrupted), pin!(terminated)).await;
}

/// Every call there is.
fn routes(app: &mut ServiceConfig) {
    let (get, put, post, delete) = (Method::GET, Method::PUT, Method::POST, Method::DELETE);
    let patch = Method::PATCH;
    let to_book = [
        (get.clone(), web::to(books::get)),
        (put.clone(), web::to(books::put)),
        (patch, web::to(amend::patch)),
        (delete.clone(), web::to(books::delete)),
    ];
    let to_allow_list = [(put, web::to(allow::put)), (delete.clone(), web::to(allow::delete))];
    let existing_clients = ["/copyright_check_by_gems", "/copyright_check_by_gems/"];
    app.service(resource(&["/v1/checks"], [(post.clone(), web::to(checks::check))]))
        .service(resource(&existing_clients, [(post.clone(), web::to(checks::check_by_gems))]))
        .service(resource(&["/v1/checks:batch"], [(post.clone(), web::to(batch::check))]))
        .service(resource(&["/v1/libraries"], [(get.clone(), web::to(libraries::all))]))
        .service(resource(
            &["/v1/libraries/{library}/books"],
            [(get.clone(), web::to(libraries::books)), (post.clone(), web::to(feed::add))],
        ))
        // An id may have slashes, and is empty in a request that forgot it.
        .service(resource(&["/v1/libraries/{library}/books/{id:.*}"], to_book))
        .service(resource(&["/v1/libraries/{library}/recut/{id:.*}"], [(post.clone(), web::to(jobs::recut))]))
        .service(resource(&["/v1/jobs"], [(get.clone(), web::to(jobs::all)), (post, web::to(jobs::start))]))
        .service(resource(&["/v1/jobs/{id}"], [(get.clone(), web::to(jobs::get)), (delete, web::to(jobs::cancel))]))
        .service(resource(&["/v1/allow"], [(get.clone(), web::to(allow::all))]))
        .service(resource(&["/v1/allow/{name:.*}"], to_allow_list))
        .service(resource(&["/v1/stats"], [(get.clone(), web::to(libraries::stats))]))
        .service(resource(&["/openapi.json"], [(get.clone(), web::to(openapi::json))]))
        .service(web::redirect("/docs", "/docs/"))
        .service(openapi::page())
        .service(resource(&["/healthz"], [(get.clone(), web::to(health::alive))]))
        .service(resource(&["/readyz"], [(get.clone(), web::to(health::ready))]))
        .service(resource(&["/metrics"], [(get, web::to(metrics::show))]))
        .default_service(web::to(problem::nothing_here));
}

/// The calls of one path; any other method is refused with the names of those that there are. What can be got can be
/// asked for its head too.
fn resource<const N: usize>(paths: &[&str], calls: [(Method, Route); N]) -> Resource {
    let mut resource = web::resource(paths.to_vec());
    let mut allowed = Vec::new();
    for (method, route) in calls {
        allowed.push(method.to_string());
        if method == Method::GET {
            allowed.push(Method::HEAD.to_string());
            resource = resource.route(route.guard(guard::Any(guard::Get()).or(guard::Head())));
        } else {
            resource = resource.route(route.method(method));
        }
    }
    let allowed = allowed.join(", ");
    resource.default_service(web::to(move || ready(Err::<HttpResponse, _>(problem::wrong_method(&allowed)))))
}
