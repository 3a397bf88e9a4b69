//! `lapidary webhooks list|show|set|replay|test|remove`.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Arc;

use clap::{Args, Subcommand};
use lapidary_catalogue::api::{
    DeliveryFailure, EventType, KeyWebhook, NewWebhook, Replay, Webhook, WebhookTest,
};
use lapidary_common::count::count;
use lapidary_operations::webhooks::{
    DeleteKeyWebhook, DeleteOwnWebhook, DeleteWebhook, ListKeyWebhooks, ListWebhooks,
    PutOwnWebhook, PutWebhook, ReplayOwnWebhook, ReplayWebhook, ShowOwnWebhook, ShowWebhook,
    TestOwnWebhook, TestWebhook,
};
use lapidary_report::clean;
use lapidary_store::Library;

use super::arguments::{Listing, Target};
use super::client::CatalogueClient;
use super::failure::{Failure, Status, if_there};
use super::terminal::{lines, out};

/// Manage webhooks: post events of a library, or of what a key sees, to a URL.
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
    /// Show a webhook and its state
    Show {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        owner: Owner,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Create or replace a webhook, and print the secret that signs its events, which is shown only once
    Set {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        owner: Owner,
        /// The types of events to send, such as `book.matched,book.quarantined` [default: `book.matched` of a library, all of a key]
        #[arg(long, value_delimiter = ',', value_name = "EVENT,…")]
        events: Option<Vec<EventType>>,
        /// Allow a private address in a catalogue that is not behind a server. Give it if the servers that send events have this
        /// setting
        #[arg(long, value_name = "BOOL", env = "LAPIDARY_PRIVATE_WEBHOOKS", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        private_webhooks: Option<bool>,
        /// The URL to post events to, such as `https://books.example/lapidary`
        url: String,
    },
    /// Send the events again of an entry of the audit log and of all later ones
    Replay {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        owner: Owner,
        /// The number of the entry, as `lapidary audit` shows it; events name it as `change`
        #[arg(long)]
        from: u64,
    },
    /// Send a test, and say whether it was confirmed
    Test {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        owner: Owner,
    },
    /// Remove a webhook
    Remove {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        owner: Owner,
        /// The key whose webhook it is, if it is another key's
        #[arg(long, value_name = "NAME", conflicts_with = "library")]
        key: Option<String>,
    },
}

/// Whose webhook.
#[derive(Args)]
struct Owner {
    /// The library. Without it, the webhook is that of the key that is used with `--server`
    #[arg(long)]
    library: Option<Library>,
}

impl Owner {
    fn name(&self) -> String {
        match &self.library {
            Some(library) => format!("library {library}"),
            None => "this key".to_owned(),
        }
    }
}

impl WebhooksArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.command {
            WebhooksCommand::List(Listing { target, json }) => list(&target, json),
            WebhooksCommand::Show {
                target,
                owner,
                json,
            } => show(&target, owner, json),
            WebhooksCommand::Set {
                target,
                owner,
                events,
                private_webhooks,
                url,
            } => {
                let private = private_webhooks.unwrap_or_default();
                let events = events.map(BTreeSet::from_iter);
                set(&target, owner, private, NewWebhook { url, events })
            }
            WebhooksCommand::Replay {
                target,
                owner,
                from,
            } => replay(&target, owner, Replay { from }),
            WebhooksCommand::Test { target, owner } => test(&target, owner),
            WebhooksCommand::Remove { target, owner, key } => remove(&target, owner, key),
        }
    }
}

fn show(target: &Target, owner: Owner, json: bool) -> Result<Status, Failure> {
    let catalogue = target.open()?;
    let mut out = out(json);
    if let Some(library) = owner.library {
        let webhook = catalogue.call::<ShowWebhook>(library, ())?;
        lines(&mut out, json, &[webhook], of_library)?;
    } else {
        let webhook = catalogue.call::<ShowOwnWebhook>((), ())?;
        lines(&mut out, json, &[webhook], of_key)?;
    }
    Ok(Status::Done)
}

fn set(target: &Target, owner: Owner, private: bool, new: NewWebhook) -> Result<Status, Failure> {
    let catalogue = if target.server.is_some() {
        target.open()?
    } else {
        let catalogue = target.open_existing()?;
        CatalogueClient::Local(Arc::new(catalogue.with_private_webhooks(private)))
    };
    let (owner, url, secret) = if let Some(library) = owner.library {
        let made = catalogue.call::<PutWebhook>(library, new)?.item;
        let Webhook { library, url, .. } = made.webhook;
        (library.to_string(), url, made.secret)
    } else {
        let made = catalogue.call::<PutOwnWebhook>((), new)?.item;
        let KeyWebhook { key, url, .. } = made.webhook;
        (format!("key {key}"), url, made.secret)
    };
    writeln!(
        out(false),
        "{}\t{url}\tset; what happens from now on is sent\n{secret}",
        clean(&owner)
    )?;
    Ok(Status::Done)
}

fn replay(target: &Target, owner: Owner, again: Replay) -> Result<Status, Failure> {
    let catalogue = target.open()?;
    let name = owner.name();
    match owner.library {
        Some(library) => catalogue.call::<ReplayWebhook>(library, again)?,
        None => catalogue.call::<ReplayOwnWebhook>((), again)?,
    };
    let from = again.from;
    writeln!(
        out(false),
        "{name} is told again of what happened since change {from}"
    )?;
    Ok(Status::Done)
}

fn test(target: &Target, owner: Owner) -> Result<Status, Failure> {
    let catalogue = target.open()?;
    let name = owner.name();
    let WebhookTest { error, .. } = match owner.library {
        Some(library) => catalogue.call::<TestWebhook>(library, ())?,
        None => catalogue.call::<TestOwnWebhook>((), ())?,
    };
    if let Some(error) = error {
        let why = format!("the webhook of {name} does not work: {error}");
        return Err(Failure::Failed(why));
    }
    writeln!(out(false), "the webhook of {name} works")?;
    Ok(Status::Done)
}

fn remove(target: &Target, owner: Owner, key: Option<String>) -> Result<Status, Failure> {
    let catalogue = target.open()?;
    let name = match &key {
        Some(key) => format!("key {}", clean(key)),
        None => owner.name(),
    };
    let removed = match (owner.library, key) {
        (Some(library), _) => catalogue.call::<DeleteWebhook>(library, ()),
        (None, Some(key)) => catalogue.call::<DeleteKeyWebhook>(key, ()),
        (None, None) => catalogue.call::<DeleteOwnWebhook>((), ()),
    };
    if if_there(removed)?.is_some() {
        writeln!(out(false), "removed the webhook of {name}")?;
        return Ok(Status::Done);
    }
    Err(Failure::Input(format!("{name} has no webhook")))
}

fn list(target: &Target, json: bool) -> Result<Status, Failure> {
    let (catalogue, mut out) = (target.open()?, out(json));
    let of_libraries = catalogue.all::<ListWebhooks>(&())?;
    lines(&mut out, json, &of_libraries, of_library)?;
    let of_keys = catalogue.all::<ListKeyWebhooks>(&())?;
    lines(&mut out, json, &of_keys, of_key)?;
    Ok(Status::Done)
}

fn of_library(webhook: &Webhook) -> String {
    let Webhook { library, url, .. } = webhook;
    let state = state(webhook.pending_changes, webhook.failure.as_ref());
    let (events, since) = (names(&webhook.events), webhook.created_at);
    format!("{library}\t{url}\t{events}\tsince {since}\t{state}")
}

fn of_key(webhook: &KeyWebhook) -> String {
    let KeyWebhook { key, url, .. } = webhook;
    let state = state(webhook.pending_changes, webhook.failure.as_ref());
    let (events, since) = (names(&webhook.events), webhook.created_at);
    format!(
        "key {}\t{url}\t{events}\tsince {since}\t{state}",
        clean(key)
    )
}

fn names(events: &BTreeSet<EventType>) -> String {
    let names: Vec<&str> = events.iter().map(|event| event.as_str()).collect();
    names.join(",")
}

fn state(pending: u64, failure: Option<&DeliveryFailure>) -> String {
    let behind = count(pending, "change", "changes");
    let state = match failure {
        Some(failing) => {
            let attempts = count(failing.attempts.into(), "attempt", "attempts");
            format!("failing ({attempts}): {}", failing.error)
        }
        None => "works".to_owned(),
    };
    format!("{behind} behind\t{state}")
}
