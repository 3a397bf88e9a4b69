//! `lapidary health`.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lapidary::server::settings::{Listen, Settings};
use lapidary_catalogue::api::{Health, Problem};
use lapidary_catalogue::client::unanswered;
use lapidary_catalogue::parse;
use ureq::tls::TlsConfig;
use ureq::{Agent, Error};

use super::arguments::read_argument;
use super::failure::{Failure, Status};
use super::terminal::out;

/// A server that takes longer does not respond.
const PATIENCE: Duration = Duration::from_secs(4);

/// Ask the server on this machine whether it is running, for the health check of a container or a monitor.
///
/// It asks at the address on which `serve` listens with the same flags, variables and file; on loopback if that is `0.0.0.0` or `[::]`.
/// It sends no key. If the server has TLS, its certificate is not verified, because the address is this machine's own.
///
/// A server that expects the PROXY protocol of this machine (`proxy-protocol`, with loopback in `trusted-proxies`) does not
/// answer it.
///
/// Exit status: 0 it is running, or ready with `--ready`; 1 it is not, or does not answer within 4 s; 2 wrong usage.
#[derive(Args)]
pub(super) struct HealthArgs {
    /// Ask whether it can take requests (`/readyz`), instead of whether it is running (`/healthz`)
    #[arg(long)]
    ready: bool,
    /// The server's settings file
    #[arg(long, value_name = "FILE.toml", env = "LAPIDARY_CONFIG")]
    config: Option<PathBuf>,
    /// The address and port on which the server listens [default: that of the file, or 127.0.0.1:8093]
    #[arg(long, value_name = "HOST:PORT", env = "LAPIDARY_LISTEN")]
    listen: Option<Listen>,
    /// Ask over HTTPS only, as for a server with this certificate, which is not read. Without it, HTTP is tried first, then HTTPS
    #[arg(long, value_name = "FILE.pem", env = "LAPIDARY_CERTIFICATE")]
    certificate: Option<PathBuf>,
}

impl HealthArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let of_file = match &self.config {
            Some(file) => read_argument("--config", file, parse::toml::<Settings>)?,
            None => Settings::default(),
        };
        let listen = self.listen.unwrap_or(of_file.listen);
        let schemes: &[&str] = if self.certificate.or(of_file.certificate).is_some() {
            &["https"]
        } else {
            &["http", "https"]
        };
        let agent = agent();
        let mut first = None;
        'addresses: for address in listen.reachable() {
            for scheme in schemes {
                let url = format!("{scheme}://{address}");
                match ask(&agent, &url, self.ready) {
                    Ok((status, sentence)) => {
                        writeln!(out(false), "{sentence}")?;
                        return Ok(status);
                    }
                    Err(error) => {
                        first.get_or_insert_with(|| {
                            format!("no answer from {url}: {}", unanswered(&error))
                        });
                        if matches!(error, Error::Timeout(_)) {
                            // It would be as late at another address, and the health checks of containers wait no longer.
                            break 'addresses;
                        }
                    }
                }
            }
        }
        writeln!(out(false), "{}", first.unwrap_or_default())?;
        Ok(Status::Found)
    }
}

fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(PATIENCE))
        .max_redirects(0)
        // What the environment names as a proxy does not lead to this machine.
        .proxy(None)
        .tls_config(TlsConfig::builder().disable_verification(true).build())
        .build()
        .into()
}

/// What the server says about itself, as a sentence.
fn ask(agent: &Agent, url: &str, ready: bool) -> Result<(Status, String), Error> {
    let (path, healthy) = if ready {
        ("/readyz", "ready")
    } else {
        ("/healthz", "running")
    };
    let mut response = agent.get(format!("{url}{path}")).call()?;
    let is_success = response.status().is_success();
    let body = response.body_mut().read_to_string()?;
    if is_success && serde_json::from_str::<Health>(&body).is_ok() {
        return Ok((Status::Done, format!("{url} is {healthy}")));
    }
    let why = serde_json::from_str(&body).map_or_else(
        |_| "it does not answer as Lapidary does".to_owned(),
        |problem: Problem| problem.detail,
    );
    Ok((Status::Found, format!("{url} is not {healthy}: {why}")))
}
