//! `lapidary serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::arguments::{FoldsArgument, RuleArguments};
use super::failure::{Failure, Status};
use super::log::{self, Format};
use crate::catalogue::{Backups, Catalogue};
use crate::index::CACHE_BYTES;
use crate::server::{self, ServerError, Settings};

/// Answer checks and take books over HTTP.
#[derive(Args)]
pub(super) struct Serve {
    /// The catalogue's folder; made if it is not there
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Where to listen; loopback unless told otherwise
    #[arg(long, value_name = "ADDR:PORT", default_value_t = Settings::default().listen)]
    listen: SocketAddr,
    /// The largest body of a request, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Settings::default().max_body)]
    max_body: usize,
    /// How much memory to take for what was read of the index, in bytes; the system keeps more of it where it has room
    #[arg(long, value_name = "BYTES", default_value_t = CACHE_BYTES)]
    cache: usize,
    /// How to write the log, on standard error; `RUST_LOG` says how much of it
    #[arg(long, value_name = "FORMAT", env = "LAPIDARY_LOG_FORMAT", value_enum, default_value_t)]
    log_format: Format,
    /// A request that takes as many seconds is logged as a warning
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "5")]
    slow: Duration,
    /// With less free space on the catalogue's disk, in bytes, /readyz says no
    #[arg(long, value_name = "BYTES", default_value_t = Settings::default().min_free)]
    min_free: u64,
    #[command(flatten)]
    rule: RuleArguments,
    #[command(flatten)]
    folds: FoldsArgument,
    /// A folder for backups: jobs make them in folders right below it
    #[arg(long, value_name = "DIR")]
    backups: Option<PathBuf>,
}

impl Serve {
    pub(super) fn begin_log(&self) {
        log::begin(self.log_format, "info,actix_server=warn");
        log::take_panics();
    }

    pub(super) fn run(self) -> Result<Status, Failure> {
        let Self { listen, max_body, slow, min_free, .. } = self;
        let settings = Settings { listen, max_body, slow, min_free };
        let rule = self.rule.rule();
        let open = || {
            let catalogue = Catalogue::open_or_create_with_cache(&self.data, self.cache)?.with_rule(rule);
            let backups = self.backups.clone().map_or(Backups::Nowhere, Backups::Below);
            let catalogue = catalogue.with_backups(backups);
            self.folds.apply(&catalogue)?;
            Ok(catalogue)
        };
        match server::run(open, settings) {
            Ok(()) => Ok(Status::Done),
            Err(ServerError::Catalogue(error)) => Err(error.into()),
            Err(error) => Err(Failure::Failed(error.to_string())),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "give a number of seconds, such as 0.5".to_owned())
}
