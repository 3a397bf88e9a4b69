//! What an administrator can set.

use std::net::SocketAddr;
use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Duration;

use super::tls::CertificateFiles;
use crate::catalogue::Rate;
use crate::extract::Limits;

/// The largest body that is taken when the settings say nothing: a text of 64 MiB is some fifty thick novels.
const MAX_BODY: usize = 64 << 20;
/// What all requests together may take: enough for one client to send the largest body as JSON.
const BODY_MEMORY: usize = 8 * MAX_BODY;
/// Jobs at once for each core: more than one, as some wait for the disk.
const JOBS_OF_CORE: usize = 4;
/// Jobs that wait: on a machine that answers 1,000 a second, the last of them waits a quarter of a second.
const QUEUE: usize = 256;
/// A request that takes longer is worth a warning.
const SLOW: Duration = Duration::from_secs(5);
/// With less free space on its disk a server is not ready: all that is in memory, and as much again to compact it.
const MIN_FREE: u64 = 256 << 20;

/// How to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where to listen. Port 0 is one that the system chooses, the same for all addresses. An address of a kind that this
    /// machine has none of is left out, unless no other is there.
    pub listen: Vec<SocketAddr>,
    /// What the server may be called by those without a key, beside `localhost` and addresses of this machine: matters as long as
    /// it has no keys.
    pub allowed_hosts: Vec<String>,
    /// What TLS needs; `None`: plain HTTP.
    pub tls: Option<CertificateFiles>,
    /// The largest body of a request, in bytes.
    pub max_body: usize,
    /// What all requests together may take, in bytes, with what is made of their bodies.
    pub body_memory: usize,
    /// How many small requests are worked on at once, of reads and of changes; of large ones half as many.
    pub concurrent: usize,
    /// How many more of each kind may wait.
    pub queue: usize,
    /// How often an address may use the check of existing clients without a key; `None`: that needs a key too.
    pub keyless_rate: Option<Rate>,
    /// A request that takes as long is logged as a warning.
    pub slow: Duration,
    /// With less free space on the catalogue's disk, in bytes, the server is not ready.
    pub min_free: u64,
    /// What a file may cost.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 8093))],
            allowed_hosts: Vec::new(),
            tls: None,
            max_body: MAX_BODY,
            body_memory: BODY_MEMORY,
            concurrent: JOBS_OF_CORE * available_parallelism().map_or(1, NonZero::get),
            queue: QUEUE,
            keyless_rate: None,
            slow: SLOW,
            min_free: MIN_FREE,
            limits: Limits::default(),
        }
    }
}
