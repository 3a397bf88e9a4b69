//! `lapidary webhooks list|set|remove`.

use std::io::Write as _;
use std::sync::Arc;

use clap::{Args, Subcommand};
use lapidary_catalogue::api::{NewWebhook, Webhook};
use lapidary_common::count::count;
use lapidary_operations::webhooks::{DeleteWebhook, ListWebhooks, PutWebhook};
use lapidary_store::Library;

use super::arguments::{Listing, Target};
use super::client::CatalogueClient;
use super::failure::{Failure, Status, if_there};
use super::terminal::{lines, out};

/// Manage webhooks: notify a URL when a book added to a library matches others.
///
/// Events are sent by a running server.
#[derive(Args)]
pub(super) struct WebhooksArgs {
    #[command(subcommand)]
    command: WebhooksCommand,
}

#[derive(Subcommand)]
enum WebhooksCommand {
    /// List all webhooks and their state
    List(Listing),
    /// Create or replace a library's webhook, and print the secret that signs its events, which is shown only once
    Set {
        #[command(flatten)]
        target: Target,
        /// The library
        #[arg(long)]
        library: Library,
        /// Allow a private address in a catalogue that is not behind a server. Give it if the servers that send events have this
        /// setting
        #[arg(long, value_name = "BOOL", env = "LAPIDARY_PRIVATE_WEBHOOKS", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        private_webhooks: Option<bool>,
        /// The URL to post events to, such as `https://books.example/lapidary`
        url: String,
    },
    /// Remove a library's webhook
    Remove {
        #[command(flatten)]
        target: Target,
        /// The library
        #[arg(long)]
        library: Library,
    },
}

impl WebhooksArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.command {
            WebhooksCommand::List(Listing { target, json }) => list(&target, json),
            WebhooksCommand::Set {
                target,
                library,
                private_webhooks,
                url,
            } => {
                let catalogue = if target.server.is_some() {
                    target.open()?
                } else {
                    let catalogue = target.open_existing()?;
                    let private = private_webhooks.unwrap_or_default();
                    CatalogueClient::Local(Arc::new(catalogue.with_private_webhooks(private)))
                };
                let made = catalogue
                    .call::<PutWebhook>(library, NewWebhook { url })?
                    .item;
                let Webhook { library, url, .. } = made.webhook;
                writeln!(
                    out(false),
                    "{library}\t{url}\tset; nothing is sent until a book matches\n{}",
                    made.secret
                )?;
                Ok(Status::Done)
            }
            WebhooksCommand::Remove { target, library } => {
                let catalogue = target.open()?;
                let removed = catalogue.call::<DeleteWebhook>(library.clone(), ());
                if if_there(removed)?.is_some() {
                    writeln!(out(false), "removed the webhook of {library}")?;
                    return Ok(Status::Done);
                }
                Err(Failure::Input(format!(
                    "library {:?} has no webhook",
                    library.as_str()
                )))
            }
        }
    }
}

fn list(target: &Target, json: bool) -> Result<Status, Failure> {
    let mut out = out(json);
    lines(
        &mut out,
        json,
        &target.open()?.all::<ListWebhooks>(&())?,
        line,
    )?;
    Ok(Status::Done)
}

fn line(webhook: &Webhook) -> String {
    let Webhook {
        library,
        url,
        created_at: since,
        pending_changes: behind,
        failure: failing,
    } = webhook;
    let behind = count(*behind, "change", "changes");
    let state = match failing {
        Some(failing) => {
            format!(
                "failing ({}): {}",
                count(failing.attempts.into(), "attempt", "attempts"),
                failing.error
            )
        }
        None => "works".to_owned(),
    };
    format!("{library}\t{url}\tsince {since}\t{behind} behind\t{state}")
}
