//! `lapidary serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::arguments::{FoldsArgument, RuleArguments};
use super::failure::{Failure, Status};
use crate::catalogue::Catalogue;
use crate::index::CACHE_BYTES;
use crate::server::{self, Settings};

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
    #[command(flatten)]
    rule: RuleArguments,
    #[command(flatten)]
    folds: FoldsArgument,
}

impl Serve {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let catalogue = Catalogue::open_or_create_with_cache(&self.data, self.cache)?.with_rule(self.rule.rule());
        self.folds.apply(&catalogue)?;
        let catalogue = Arc::new(catalogue);
        catalogue.resume_jobs()?;
        let settings = Settings { listen: self.listen, max_body: self.max_body };
        server::run(catalogue, settings).map_err(|e| Failure::Failed(e.to_string()))?;
        Ok(Status::Done)
    }
}
