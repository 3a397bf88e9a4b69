//! Limits of what is not a request of the API with a key: by address, and of signing in also by key.

use std::sync::Arc;
use std::time::Duration;

use actix_web::web;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, RateLimiter};

use super::super::problem::Problem;
use super::super::turns::Client;
use super::quota;
use lapidary_catalogue::Catalogue;
use lapidary_catalogue::permission::Rate;
use lapidary_common::error::ErrorCode;
use lapidary_store::Spending;

/// Above this number of remembered clients, idle ones are forgotten.
const MANY: usize = 100_000;

/// How often a client may do something, in all servers together that share a catalogue.
pub(crate) struct ClientLimit {
    /// What it may do.
    name: &'static str,
    pub(super) rate: Rate,
    here: DefaultKeyedRateLimiter<Client>,
}

impl ClientLimit {
    pub(crate) fn new(name: &'static str, rate: Rate) -> Self {
        Self {
            name,
            rate,
            here: RateLimiter::keyed(quota(rate)),
        }
    }

    /// Counts a request. Returns how long to wait if there were too many.
    pub(in crate::server) async fn count(
        &self,
        catalogue: &Arc<Catalogue>,
        client: &Client,
    ) -> Result<Option<Duration>, Problem> {
        if self.here.len() > MANY {
            self.here.retain_recent();
        }
        // What is too much for one server costs the others nothing.
        if let Err(until) = self.here.check_key(client) {
            return Ok(Some(until.wait_time_from(DefaultClock::default().now())));
        }
        if !catalogue.is_shared() {
            return Ok(None);
        }
        // No key has such a name.
        let who = match client {
            Client::Address(address) => format!("\0{} {address}", self.name),
            Client::Key(name) => format!("\0{} key {name}", self.name),
            Client::Local => return Ok(None),
        };
        let rate = (
            self.rate.count,
            Duration::from_secs(self.rate.per.seconds().into()),
        );
        let spending = Spending {
            quota: (None, 0),
            day: String::new(),
            rate: (Some(rate), 1),
        };
        let catalogue = Arc::clone(catalogue);
        // Not on a thread that serves connections.
        let spent = web::block(move || catalogue.spend(&who, &spending)).await;
        let spent = spent.map_err(|_| {
            Problem::new(
                ErrorCode::Internal,
                "the limit of the client could not be counted",
            )
        })??;
        Ok(spent.map(|spent| spent.wait).filter(|wait| !wait.is_zero()))
    }
}
