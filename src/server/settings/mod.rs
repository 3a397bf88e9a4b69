//! The settings of a server. Each is declared once, here: as a flag, an environment variable and a key of the settings
//! file, with its help and its default. The reference and the sample file are generated from that.

mod limits;
mod listen;
mod oidc;
mod rule;
mod s3;
mod size;

use std::num::NonZero;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use clap::{ArgAction, Args, Command, ValueEnum};
use lapidary_catalogue::WatchLimits;
use lapidary_catalogue::permission::Rate;
use lapidary_gems::RecipeName;
use lapidary_operations::MIN_FREE;
use lapidary_store::CACHE_BYTES;
use lapidary_store_redis::ClusterAddress;
use serde::{Deserialize, Serialize};

pub use self::limits::LimitArguments;
pub use self::listen::{Listen, SocketAddress};
pub use self::oidc::OidcArguments;
pub(super) use self::oidc::is_safe;
pub use self::rule::RuleArguments;
pub use self::s3::S3Arguments;
pub use self::size::Size;
use super::proxies::ProxyNetwork;
use super::tls::CertificateFiles;

/// A text of 64 MiB is about fifty thick novels.
const MAX_BODY: usize = 64 << 20;
/// Enough for one client to send the largest body as JSON.
const BODY_MEMORY: usize = 8 * MAX_BODY;
/// About two thousand novels.
const MAX_EVIDENCE: u64 = 1 << 30;
/// The same in a cluster, where they are in memory.
const MAX_SHARED_EVIDENCE: u64 = 64 << 20;
/// More than one, because some wait for the disk.
const JOBS_OF_CORE: usize = 3;

/// The settings of a server.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// The catalogue's folder, created if missing
    #[arg(long, value_name = "DIR", env = "LAPIDARY_DATA")]
    pub data: Option<PathBuf>,
    /// The Redis Cluster that holds the catalogue, instead of a folder (experimental): `redis://[USER@]HOST:PORT[,HOST:PORT…][/PREFIX]`,
    /// or `rediss://` for TLS. The prefix is `lapidary` by default. Any number of servers can share it
    #[arg(long, value_name = "URL", env = "LAPIDARY_STORE")]
    pub store: Option<ClusterAddress>,
    /// Accept a cluster whose nodes do not keep their data on disk, so that it is lost when they stop
    #[arg(long, value_name = "BOOL", env = "LAPIDARY_ALLOW_VOLATILE", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub allow_volatile: bool,
    /// Listen on this address or host name, and port. A name may stand for several addresses, as localhost does. Anything but
    /// loopback needs keys. With port 0, the system chooses one
    // Addresses of a family that this machine lacks are skipped, unless no others are available.
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "LAPIDARY_LISTEN",
        default_value = "127.0.0.1:8093"
    )]
    pub listen: Listen,
    /// While there are no keys, accept these host names too, besides localhost and the machine's addresses. Whoever can connect
    /// from this machine is an administrator then, and this keeps out web pages in a local browser
    #[arg(
        long,
        value_name = "HOST,…",
        env = "LAPIDARY_ALLOWED_HOSTS",
        value_delimiter = ','
    )]
    pub allowed_hosts: Vec<String>,
    /// Believe these proxies, addresses or networks, whom a request comes from (X-Forwarded-For or Forwarded). Limits by address
    /// then count the client, not the proxy. Nobody else is believed
    #[arg(
        long,
        value_name = "ADDRESS,…",
        env = "LAPIDARY_TRUSTED_PROXIES",
        value_delimiter = ','
    )]
    pub trusted_proxies: Vec<ProxyNetwork>,
    /// Expect a header of the PROXY protocol, version 1 or 2, at the beginning of each connection of a trusted proxy, as
    /// `HAProxy` sends with `send-proxy` or `send-proxy-v2`
    #[arg(long, value_name = "BOOL", env = "LAPIDARY_PROXY_PROTOCOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub proxy_protocol: bool,
    /// Serve HTTPS with the certificate chain in this PEM file. It is reloaded when it changes. Without it, plain HTTP is served
    #[arg(long, value_name = "FILE.pem", env = "LAPIDARY_CERTIFICATE")]
    pub certificate: Option<PathBuf>,
    /// The private key of the certificate
    #[arg(long, value_name = "FILE.pem", env = "LAPIDARY_PRIVATE_KEY")]
    pub private_key: Option<PathBuf>,
    /// Answer clients of `clamd`, the daemon of `ClamAV`, at this address or path of a socket, such as `/run/lapidary/clamd.sock`. A copy
    /// of a protected book is what they call infected
    #[arg(long, value_name = "ADDRESS", env = "LAPIDARY_CLAMD")]
    pub clamd: Option<SocketAddress>,
    /// The name of the key that checks files for clients of `ClamAV`. Without it, they are checked while there are no keys
    #[arg(long, value_name = "NAME", env = "LAPIDARY_CLAMD_KEY")]
    pub clamd_key: Option<String>,
    /// The size of the index cache, in bytes or with a unit. The system may cache more in free memory. The server takes at most
    /// this, body-memory, and 160 MiB more
    #[arg(long, value_name = "SIZE", env = "LAPIDARY_CACHE", default_value_t = CACHE_BYTES.into())]
    pub cache: Size,
    /// The largest request body, and the largest line of a stream
    #[arg(long, value_name = "SIZE", env = "LAPIDARY_MAX_BODY", default_value_t = MAX_BODY.into())]
    pub max_body: Size,
    /// Memory limit for all requests together: their bodies, the data built from them, and large responses. Requests beyond it get
    /// a 503. One client can use up to two thirds of seven eighths of it [default: 512MiB, or max-body if that is more]
    #[arg(long, value_name = "SIZE", env = "LAPIDARY_BODY_MEMORY")]
    pub body_memory: Option<Size>,
    /// How many small requests to process at once, separately for reads and changes. Half as many large ones run next to them,
    /// and one file per core [default: three per core]
    #[arg(long, value_name = "N", env = "LAPIDARY_CONCURRENT", default_value_t = three_per_core(), hide_default_value = true)]
    pub concurrent: usize,
    /// How many more requests of each kind may wait. Requests beyond that get a 503
    // On a machine that handles 1,000 per second, the last of them waits a quarter of a second.
    #[arg(long, value_name = "N", env = "LAPIDARY_QUEUE", default_value_t = 256)]
    pub queue: usize,
    /// Let clients without a key check by gems (`/copyright_check_by_gems/`), up to this rate per address, such as 5/s
    #[arg(long, value_name = "RATE", env = "LAPIDARY_KEYLESS_RATE")]
    pub keyless_rate: Option<Rate>,
    /// The recipe of gems sent to `/copyright_check_by_gems/`, and of others without a recipe's name that fit it [default:
    /// released once every book has gems of it, else documented]
    #[arg(long, value_name = "RECIPE", env = "LAPIDARY_CLIENT_RECIPE")]
    pub client_recipe: Option<RecipeName>,
    /// The format of the log on standard error. `RUST_LOG` sets the level
    #[arg(
        long,
        value_name = "FORMAT",
        env = "LAPIDARY_LOG_FORMAT",
        value_enum,
        default_value_t
    )]
    pub log_format: LogFormat,
    /// Log requests that take this many seconds as warnings
    #[arg(
        long,
        value_name = "SECONDS",
        env = "LAPIDARY_SLOW",
        default_value_t = 5.0
    )]
    pub slow: f64,
    /// Report not ready at /readyz with less free disk space than this
    #[arg(long, value_name = "SIZE", env = "LAPIDARY_MIN_FREE", default_value_t = Size(MIN_FREE))]
    pub min_free: Size,
    /// Keep the text of a filed check for this many days, so that its report goes on to show passages. With 0, none is kept from
    /// now on
    // As long as a dispute about a refusal may take.
    #[arg(
        long,
        value_name = "DAYS",
        env = "LAPIDARY_KEEP_EVIDENCE_DAYS",
        default_value_t = 90
    )]
    pub keep_evidence_days: u32,
    /// The most that the texts of filed checks take together, before compression; those of one key at most twice what is still
    /// free. Beyond it, checks are filed without their texts [default: 1GiB, or 64MiB with --store, where they are in memory]
    #[arg(long, value_name = "SIZE", env = "LAPIDARY_MAX_EVIDENCE")]
    pub max_evidence: Option<Size>,
    /// Look up each book that is added in the gems of the checks that were filed within this many days. With 0, no check is watched
    /// from now on
    #[arg(
        long,
        value_name = "DAYS",
        env = "LAPIDARY_WATCH_DAYS",
        default_value_t = 90
    )]
    pub watch_days: u32,
    /// The most that the gems of watched checks take together, before compression; those of one key at most twice what is still
    /// free. Beyond it, checks are not watched [default: 4GiB, or 64MiB with --store, where they are in memory]
    #[arg(long, value_name = "SIZE", env = "LAPIDARY_MAX_WATCHED")]
    pub max_watched: Option<Size>,
    /// Allow backup jobs, which write to folders directly below this one. Without it, a server makes no backups
    #[arg(long, value_name = "DIR", env = "LAPIDARY_BACKUPS")]
    pub backups: Option<PathBuf>,
    /// Allow webhooks to private addresses, such as this machine's and its network's
    #[arg(long, value_name = "BOOL", env = "LAPIDARY_PRIVATE_WEBHOOKS", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub private_webhooks: bool,
    /// Fetch files whose address a check or a book names: none, those on the public internet, or any that this machine can reach
    #[arg(
        long,
        value_name = "WHICH",
        env = "LAPIDARY_CHECK_URLS",
        value_enum,
        default_value_t
    )]
    pub check_urls: CheckUrls,
    /// Serve no web console
    #[arg(long, value_name = "BOOL", env = "LAPIDARY_NO_CONSOLE", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub no_console: bool,
    /// How many sources to fetch at once; with 0, this server fetches none
    // Most of the time, each waits for a server.
    #[arg(long, value_name = "N", env = "LAPIDARY_SOURCES", default_value_t = 8)]
    pub sources: usize,
    /// The most addresses that may wait for all sources of an ingest key. What is more is left out, and counted
    // Five times the most of one source, and some hundred megabytes.
    #[arg(
        long,
        value_name = "N",
        env = "LAPIDARY_SOURCES_QUEUE",
        default_value_t = 500_000
    )]
    pub sources_queue: u64,
    /// Limits on files.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// Buckets whose objects may be named.
    #[command(flatten)]
    pub s3: S3Arguments,
    /// Sign-in with an identity provider.
    #[command(flatten)]
    pub oidc: OidcArguments,
    /// The rule that defines a match.
    #[command(flatten)]
    pub rule: RuleArguments,
    /// Whether to open the console in a browser, signed in as whoever started the server.
    #[arg(skip)]
    #[serde(skip)]
    pub open: bool,
}

/// Which files are fetched for checks and books.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckUrls {
    /// None
    #[default]
    None,
    /// Those on the public internet
    Public,
    /// Also those on this machine and its network
    Any,
}

/// The format of log lines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Human-readable text
    #[default]
    Text,
    /// JSON Lines
    Json,
}

fn three_per_core() -> usize {
    JOBS_OF_CORE * available_parallelism().map_or(1, NonZero::get)
}

/// The values of arguments that are not given, whatever the environment has.
fn defaults<A: Args>() -> A {
    let command = A::augment_args(Command::new("")).mut_args(|argument| argument.env(None));
    let matches = command.try_get_matches_from([""]);
    matches
        .and_then(|matches| A::from_arg_matches(&matches))
        .expect("no setting is required, and each default is valid")
}

impl Default for Settings {
    fn default() -> Self {
        defaults()
    }
}

impl Settings {
    /// The certificate and its key; without them, plain HTTP is served.
    #[must_use]
    pub fn tls(&self) -> Option<CertificateFiles> {
        let (certificate, private_key) = self.certificate.clone().zip(self.private_key.clone())?;
        Some(CertificateFiles {
            certificate,
            private_key,
        })
    }

    /// The memory limit for all requests together, in bytes.
    #[must_use]
    pub fn body_memory(&self) -> usize {
        let usual = BODY_MEMORY.max(self.max_body.in_memory());
        self.body_memory.map_or(usual, Size::in_memory)
    }

    /// The most that the texts of filed checks take together, in bytes.
    #[must_use]
    pub fn max_evidence(&self) -> u64 {
        let usual = if self.store.is_some() {
            MAX_SHARED_EVIDENCE
        } else {
            MAX_EVIDENCE
        };
        self.max_evidence.map_or(usual, |most| most.0)
    }

    /// How long filed checks are watched, and how many.
    #[must_use]
    pub fn watching(&self) -> WatchLimits {
        let usual = WatchLimits::usual(self.store.is_some());
        WatchLimits {
            days: self.watch_days,
            bytes: self.max_watched.map_or(usual.bytes, |most| most.0),
        }
    }

    /// A request that takes at least this long is logged as a warning.
    #[must_use]
    pub fn slow(&self) -> Duration {
        Duration::try_from_secs_f64(self.slow).unwrap_or(Duration::MAX)
    }

    /// Says what is wrong with them, if anything is.
    pub fn verify(&self) -> Result<(), String> {
        let max_body = self.max_body.in_memory();
        if Duration::try_from_secs_f64(self.slow).is_err() {
            return Err("'slow' is a number of seconds, such as 0.5".to_owned());
        }
        if self.certificate.is_some() != self.private_key.is_some() {
            return Err("'certificate' and 'private-key' belong together; give both, or none for plain HTTP".to_owned());
        }
        if self.proxy_protocol && self.trusted_proxies.is_empty() {
            return Err(
                "'proxy-protocol' needs 'trusted-proxies': nobody else is believed".to_owned(),
            );
        }
        if self.clamd_key.is_some() && self.clamd.is_none() {
            return Err("'clamd-key' needs 'clamd', the address that it is for".to_owned());
        }
        self.oidc.verify()?;
        self.s3.verify()?;
        if self.oidc.issuer.is_some() && self.no_console {
            return Err("'oidc' is for the console, which 'no-console' turns off".to_owned());
        }
        if !self.rule.is_possible() {
            return Err("'min-share' is a number from 0 to 1".to_owned());
        }
        for (name, value) in [("max-body", max_body), ("concurrent", self.concurrent)] {
            if value == 0 {
                return Err(format!("'{name}' must be 1 or more"));
            }
        }
        let memory = self.body_memory();
        if memory < max_body {
            return Err(format!(
                "'body-memory' ({memory}) must have room for 'max-body' ({max_body})"
            ));
        }
        Ok(())
    }
}
