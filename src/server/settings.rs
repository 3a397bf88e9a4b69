//! Server settings.

use std::net::SocketAddr;
use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Duration;

use super::proxies::ProxyNetwork;
use super::tls::CertificateFiles;
use lapidary_catalogue::permission::Rate;
use lapidary_extract::Limits;
use lapidary_operations::MIN_FREE;

/// The default size limit for request bodies: a text of 64 MiB is about fifty thick novels.
const MAX_BODY: usize = 64 << 20;
/// The default memory limit for all requests together: enough for one client to send the largest body as JSON.
const BODY_MEMORY: usize = 8 * MAX_BODY;
/// Concurrent jobs per core: more than one, because some wait for the disk.
const JOBS_OF_CORE: usize = 4;
/// Waiting jobs: on a machine that handles 1,000 per second, the last of them waits a quarter of a second.
const QUEUE: usize = 256;
/// A request that takes longer is logged as a warning.
const SLOW: Duration = Duration::from_secs(5);

/// How many sources are fetched at once: most of the time, each waits for a server.
const SOURCES: usize = 8;
/// How many addresses may wait for all sources of an ingest key: five times the most of one, and some hundred megabytes.
const SOURCES_QUEUE: u64 = 500_000;

/// How to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The addresses to listen on. Port 0 lets the system choose a port, the same for all addresses. Addresses of a
    /// family that this machine lacks are skipped, unless no others are available.
    pub listen: Vec<SocketAddr>,
    /// Host names that clients without a key may use for the server, in addition to `localhost` and the addresses of
    /// this machine. Matters only while there are no keys.
    pub allowed_hosts: Vec<String>,
    /// The proxies that are believed whom a request comes from.
    pub trusted_proxies: Vec<ProxyNetwork>,
    /// Whether their connections begin with a header of the PROXY protocol.
    pub proxy_protocol: bool,
    /// The TLS certificate and key; `None` serves plain HTTP.
    pub tls: Option<CertificateFiles>,
    /// The maximum size of a request body, in bytes.
    pub max_body: usize,
    /// The memory limit for all requests together, in bytes, including the data built from their bodies.
    pub body_memory: usize,
    /// How many small reads and how many small changes run at once; for large requests, half as many.
    pub concurrent: usize,
    /// How many more of each kind can wait.
    pub queue: usize,
    /// How often an address can use the check for existing clients without a key; `None` requires a key there too.
    pub keyless_rate: Option<Rate>,
    /// A request that takes at least this long is logged as a warning.
    pub slow: Duration,
    /// The server is not ready with less free space than this on the catalogue's disk, in bytes.
    pub min_free: u64,
    /// How many sources are fetched at once; 0 for none.
    pub sources: usize,
    /// How many addresses may wait for all sources that an ingest key defined.
    pub sources_queue: u64,
    /// Resource limits for reading files.
    pub limits: Limits,
    /// Whether browsers get the web console.
    pub console: bool,
    /// Whether to open the console in a browser, signed in as whoever started the server.
    pub open: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 8093))],
            allowed_hosts: Vec::new(),
            trusted_proxies: Vec::new(),
            proxy_protocol: false,
            tls: None,
            max_body: MAX_BODY,
            body_memory: BODY_MEMORY,
            concurrent: JOBS_OF_CORE * available_parallelism().map_or(1, NonZero::get),
            queue: QUEUE,
            keyless_rate: None,
            slow: SLOW,
            min_free: MIN_FREE,
            sources: SOURCES,
            sources_queue: SOURCES_QUEUE,
            limits: Limits::default(),
            console: true,
            open: false,
        }
    }
}
