//! Webhooks: tell libraries and keys what they wait for.
//!
//! The audit log is the queue. It contains every change, written in the same batch as the change itself, and each
//! webhook stores the number of the last entry it has processed. So no event is lost if the server is killed or a
//! receiver is down for days; memory does not grow with the backlog; and books added while no server was running are
//! reported by the next one. An event that is sent twice, after a crash, has the same id both times. What an entry tells
//! whom is decided in [`events`].

mod delivery;
mod events;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use ureq::http::Uri;

use self::delivery::{Sender, Undelivered, addresses, new_secret};
use self::events::{Event, Listener, Subscription};
use super::settings::put;
use super::sharing::SETTINGS;
use super::{Catalogue, CatalogueError, Editor};
use crate::api::{
    DeliveryFailure, EventType, KeyWebhook, MadeKeyWebhook, MadeWebhook, NewWebhook, Webhook,
    WebhookTest,
};
use crate::metrics::METRICS;
use lapidary_store::{Action, AuditFrom, Library, RowChange, Table};
use lapidary_work::{Bottleneck, DueWork, LeasedWork, Slot, WorkKind};

/// Number of audit log entries to look at before the next webhook gets its turn.
const PAGE: usize = 256;
/// Maximum number of webhooks served at once, one thread each, and how many of these may be ones whose last delivery
/// failed, so that dead receivers do not hold up the others.
const AT_ONCE: usize = 16;
const FAILING_AT_ONCE: usize = 8;
/// How long to wait after a failure. The delay doubles with each failure, from the first to the last of these.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LAST_WAIT: Duration = Duration::from_hours(1);
/// Maximum length of an address.
const URL_BYTES: usize = 2_000;

/// Whose things a webhook tells.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WebhookOwner {
    /// Those of a library. An administrator manages its webhook.
    Library(Library),
    /// What the key of this name sees. It manages its webhook itself.
    Key(String),
}

impl WebhookOwner {
    /// The table of its webhook, that of how far this has got, and the key of its row in both.
    fn place(&self) -> (Table, Table, &str) {
        match self {
            Self::Library(library) => (Table::Webhooks, Table::WebhookProgress, library.as_str()),
            Self::Key(name) => (Table::KeyWebhooks, Table::KeyWebhookProgress, name),
        }
    }

    /// The changes that remove its webhook.
    pub(super) fn removal(&self) -> [RowChange; 2] {
        let (webhooks, progress, key) = self.place();
        [webhooks, progress].map(|table| RowChange::delete(table, key))
    }

    /// The events that are sent if none are chosen.
    fn usual_events(&self) -> BTreeSet<EventType> {
        match self {
            Self::Library(_) => [EventType::BookMatched].into(),
            Self::Key(_) => EventType::ALL.into(),
        }
    }
}

impl fmt::Display for WebhookOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(library) => write!(f, "library {library}"),
            Self::Key(name) => write!(f, "key {name}"),
        }
    }
}

/// A webhook as stored.
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
struct StoredWebhook {
    url: String,
    secret: String,
    since: Timestamp,
    /// If not the usual ones.
    events: Option<BTreeSet<EventType>>,
    /// For that of a key, when the key was added: another key of the same name does not inherit it.
    key_since: Option<Timestamp>,
}

/// How a webhook is.
struct WebhookStatus {
    url: String,
    events: BTreeSet<EventType>,
    created_at: Timestamp,
    pending_changes: u64,
    failure: Option<DeliveryFailure>,
}

impl WebhookStatus {
    fn of_library(self, library: Library) -> Webhook {
        let Self {
            url,
            events,
            created_at,
            pending_changes,
            failure,
        } = self;
        Webhook {
            library,
            url,
            events,
            created_at,
            pending_changes,
            failure,
        }
    }

    fn of_key(self, key: String) -> KeyWebhook {
        let Self {
            url,
            events,
            created_at,
            pending_changes,
            failure,
        } = self;
        KeyWebhook {
            key,
            url,
            events,
            created_at,
            pending_changes,
            failure,
        }
    }
}

/// The webhook state of a catalogue in this process.
#[derive(Default)]
pub(super) struct LocalWebhooks {
    /// Whether webhooks may use addresses that are not on the public internet.
    pub(super) private: bool,
    failing: Mutex<BTreeMap<WebhookOwner, Pause>>,
}

/// A webhook waiting after a failure.
struct Pause {
    until: Instant,
    failing: DeliveryFailure,
}

/// Delivers events: all webhooks of a store are served by one process, which knows those that fail.
struct Delivery {
    catalogue: Arc<Catalogue>,
    sender: Sender,
}

/// A webhook that is behind the audit log.
struct BehindWebhook {
    owner: WebhookOwner,
    kept: StoredWebhook,
    to: Subscription,
}

impl WorkKind for Delivery {
    type Task = BehindWebhook;
    type Error = CatalogueError;

    const NAME: &'static str = "webhook";
    const LEASE: Option<&'static str> = Some("webhooks");

    fn places(&self) -> usize {
        AT_ONCE
    }

    fn due(&self) -> Result<Vec<DueWork<BehindWebhook>>, CatalogueError> {
        let webhooks = self.catalogue.webhooks();
        let last = self.catalogue.store.last_audited()?;
        let (progress, stored) = (webhooks.progress()?, webhooks.stored()?);
        let mut failing = self.catalogue.webhooks.failing.lock();
        failing.retain(|owner, _| stored.contains_key(owner));
        let (mut due, mut most_behind) = (Vec::new(), 0);
        for (owner, kept) in stored {
            let Some(to) = webhooks.subscription(&owner, &kept)? else {
                continue;
            };
            let done = progress.get(&owner).copied().unwrap_or(last);
            most_behind = most_behind.max(last.saturating_sub(done));
            let pause = failing.get(&owner);
            if done >= last || pause.is_some_and(|pause| pause.until > Instant::now()) {
                continue;
            }
            let bottleneck = pause.map(|_| Bottleneck {
                name: "failing".to_owned(),
                places: FAILING_AT_ONCE,
            });
            let name = format!("webhook of {owner}");
            due.push(DueWork {
                since: kept.since,
                slot: Slot {
                    owner: name.clone(),
                    bottleneck,
                },
                name,
                task: BehindWebhook { owner, kept, to },
            });
        }
        METRICS.webhooks_behind(most_behind);
        Ok(due)
    }

    fn run(&self, webhook: BehindWebhook, work: &Arc<LeasedWork>) -> Result<(), CatalogueError> {
        self.catalogue
            .webhooks()
            .tell_next(&self.sender, &webhook, work)
    }
}

/// Delivers events in the background until [`Jobs::stop`](crate::Jobs::stop).
pub fn start_webhooks(catalogue: &Arc<Catalogue>) {
    catalogue.runner.schedule(Delivery {
        sender: Sender::new(catalogue.webhooks.private),
        catalogue: Arc::clone(catalogue),
    });
}

/// The webhooks of a catalogue ([`Catalogue::webhooks`]).
#[derive(Debug, Clone)]
pub struct Webhooks<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> Webhooks<C> {
    /// The webhooks of libraries, by library.
    pub fn of_libraries(&self) -> Result<Vec<Webhook>, CatalogueError> {
        let all = self.all()?.into_iter();
        let of_libraries = all.filter_map(|(owner, status)| match owner {
            WebhookOwner::Library(library) => Some(status.of_library(library)),
            WebhookOwner::Key(_) => None,
        });
        Ok(of_libraries.collect())
    }

    /// The webhooks of keys, by key.
    pub fn of_keys(&self) -> Result<Vec<KeyWebhook>, CatalogueError> {
        let all = self.all()?.into_iter();
        let of_keys = all.filter_map(|(owner, status)| match owner {
            WebhookOwner::Key(key) => Some(status.of_key(key)),
            WebhookOwner::Library(_) => None,
        });
        Ok(of_keys.collect())
    }

    /// All webhooks, by owner.
    fn all(&self) -> Result<Vec<(WebhookOwner, WebhookStatus)>, CatalogueError> {
        let last = self.0.store.last_audited()?;
        let (progress, stored) = (self.progress()?, self.stored()?);
        let failing = self.0.webhooks.failing.lock();
        let mut all = Vec::new();
        for (owner, kept) in stored {
            let StoredWebhook {
                url, since, events, ..
            } = kept;
            let status = WebhookStatus {
                url,
                events: events.unwrap_or_else(|| owner.usual_events()),
                created_at: since,
                pending_changes: last.saturating_sub(progress.get(&owner).copied().unwrap_or(last)),
                failure: failing.get(&owner).map(|pause| pause.failing.clone()),
            };
            all.push((owner, status));
        }
        Ok(all)
    }

    /// Whom a webhook tells of what; `None` if it is that of a key which has expired.
    fn subscription(
        &self,
        owner: &WebhookOwner,
        kept: &StoredWebhook,
    ) -> Result<Option<Subscription>, CatalogueError> {
        let listener = match owner {
            WebhookOwner::Library(library) => Some(Listener::Library(library.clone())),
            WebhookOwner::Key(name) => {
                let key = self.0.keys().named(name)?;
                key.filter(|key| !key.has_expired()).map(Listener::Key)
            }
        };
        let events = kept.events.clone();
        Ok(listener.map(|listener| Subscription {
            listener,
            events: events.unwrap_or_else(|| owner.usual_events()),
        }))
    }

    /// Delivers the first events that the webhook has not been told, unless a turn's worth of entries has none.
    fn tell_next(
        &self,
        sender: &Sender,
        webhook: &BehindWebhook,
        work: &LeasedWork,
    ) -> Result<(), CatalogueError> {
        let BehindWebhook { owner, kept, .. } = webhook;
        // It may have been told, or removed, since it was found to be behind.
        let Some(done) = self.progress_of(owner, kept)? else {
            return Ok(());
        };
        let reached = self.tell(sender, webhook, done)?;
        // If the webhook was set again or rewound in the meantime, its new starting point stays.
        let _changing = self.0.changing_settings();
        if reached > done && self.progress_of(owner, kept)? == Some(done) {
            let (_, progress, row) = owner.place();
            // If another process delivers now, it will send the event again.
            work.apply(&[put(progress, row, &reached)])?;
        }
        Ok(())
    }

    /// The last entry that a webhook has been told, unless it was set again or removed.
    fn progress_of(
        &self,
        owner: &WebhookOwner,
        kept: &StoredWebhook,
    ) -> Result<Option<u64>, CatalogueError> {
        let now = self.stored_of(owner)?;
        if now.is_none_or(|now| now.secret != kept.secret) {
            return Ok(None);
        }
        let (_, progress, row) = owner.place();
        self.row_of(progress, row)
    }

    /// Processes audit log entries until the events of one were sent. Returns the last processed entry.
    fn tell(
        &self,
        sender: &Sender,
        webhook: &BehindWebhook,
        mut done: u64,
    ) -> Result<u64, CatalogueError> {
        let BehindWebhook { owner, kept, to } = webhook;
        let entries = self.0.store.audit(AuditFrom::Behind(done), PAGE)?;
        // Taken after the entries were read, so that it has their books.
        let snapshot = self.0.store.snapshot();
        for entry in entries {
            let events = self.events(&*snapshot, to, &entry)?;
            if events.is_empty() {
                done = entry.number;
                continue;
            }
            drop(snapshot);
            for event in events {
                let delivered = sender.send(&kept.url, &kept.secret, &event.id, &json(&event));
                if !self.settle(owner, entry.number, delivered) {
                    return Ok(done);
                }
            }
            return Ok(entry.number);
        }
        Ok(done)
    }

    /// Sends an event about nothing, now and once; `None` if there is no such webhook.
    pub fn test(&self, owner: &WebhookOwner) -> Result<Option<WebhookTest>, CatalogueError> {
        let Some(StoredWebhook { url, secret, .. }) = self.stored_of(owner)? else {
            return Ok(None);
        };
        let event = Event::test();
        let sender = Sender::new(self.0.webhooks.private);
        let sent = sender.send(&url, &secret, &event.id, &json(&event));
        let error = sent.err().map(|why| why.to_string());
        Ok(Some(WebhookTest {
            delivered: error.is_none(),
            error,
        }))
    }

    /// Records the outcome of an attempt. Returns whether the event needs no further attempt.
    fn settle(
        &self,
        owner: &WebhookOwner,
        change: u64,
        delivered: Result<(), Undelivered>,
    ) -> bool {
        let error = match delivered {
            Ok(()) => {
                METRICS.webhook("delivered");
                self.forget_failure(owner);
                return true;
            }
            Err(Undelivered::Refused(status)) => {
                tracing::warn!(
                    "the webhook of {owner} rejected change {change} with status {status}; it is not sent again"
                );
                METRICS.webhook("refused");
                self.forget_failure(owner);
                return true;
            }
            Err(Undelivered::Failed(error)) => error,
        };
        METRICS.webhook("failed");
        let mut failing = self.0.webhooks.failing.lock();
        let attempts = failing
            .get(owner)
            .map_or(0, |pause| pause.failing.attempts)
            .saturating_add(1);
        let wait = FIRST_WAIT
            .saturating_mul(1 << (attempts - 1).min(20))
            .min(LAST_WAIT);
        tracing::warn!(
            "the webhook of {owner}: attempt {attempts} to send change {change} failed: {error}; retrying in {wait:?}"
        );
        failing.insert(
            owner.clone(),
            Pause {
                until: Instant::now() + wait,
                failing: DeliveryFailure { attempts, error },
            },
        );
        false
    }

    fn forget_failure(&self, owner: &WebhookOwner) {
        self.0.webhooks.failing.lock().remove(owner);
    }

    fn stored(&self) -> Result<BTreeMap<WebhookOwner, StoredWebhook>, CatalogueError> {
        let of_libraries: BTreeMap<Library, StoredWebhook> = self.0.rows(Table::Webhooks)?;
        let of_keys: BTreeMap<String, StoredWebhook> = self.0.rows(Table::KeyWebhooks)?;
        let of_libraries = of_libraries.into_iter();
        let mut stored: BTreeMap<_, _> = of_libraries
            .map(|(library, kept)| (WebhookOwner::Library(library), kept))
            .collect();
        let keys = self.0.keys().all_since()?;
        for (name, kept) in of_keys {
            if keys.get(&name) == kept.key_since.as_ref() {
                stored.insert(WebhookOwner::Key(name), kept);
            }
        }
        Ok(stored)
    }

    /// The webhook of one.
    fn stored_of(&self, owner: &WebhookOwner) -> Result<Option<StoredWebhook>, CatalogueError> {
        let (table, _, row) = owner.place();
        let kept: Option<StoredWebhook> = self.row_of(table, row)?;
        let key_since = match owner {
            WebhookOwner::Library(_) => None,
            WebhookOwner::Key(name) => self.0.keys().since(name)?,
        };
        Ok(kept.filter(|kept| kept.key_since == key_since))
    }

    fn row_of<T: DeserializeOwned>(
        &self,
        table: Table,
        name: &str,
    ) -> Result<Option<T>, CatalogueError> {
        let row = self.0.row(table, name.as_bytes())?;
        let read = row.map(|row| serde_json::from_slice(&row)).transpose();
        read.map_err(|_| CatalogueError::BadSetting {
            kind: table.as_str(),
            name: name.to_owned(),
        })
    }

    fn progress(&self) -> Result<BTreeMap<WebhookOwner, u64>, CatalogueError> {
        let of_libraries: BTreeMap<Library, u64> = self.0.rows(Table::WebhookProgress)?;
        let of_keys: BTreeMap<String, u64> = self.0.rows(Table::KeyWebhookProgress)?;
        let of_libraries = of_libraries.into_iter();
        let of_libraries =
            of_libraries.map(|(library, done)| (WebhookOwner::Library(library), done));
        let of_keys = of_keys.into_iter();
        Ok(of_libraries
            .chain(of_keys.map(|(name, done)| (WebhookOwner::Key(name), done)))
            .collect())
    }
}

impl Webhooks<Editor<'_>> {
    /// Sends events of a library's books to this address from now on. The returned flag says whether this replaced an
    /// earlier webhook.
    ///
    /// # Errors
    /// [`CatalogueError::BadWebhook`] if this is not an HTTP address; [`CatalogueError::UnreachableWebhook`] if no event would be
    /// sent there; [`CatalogueError::BadEvents`].
    pub fn set_of_library(
        &self,
        library: Library,
        new: NewWebhook,
    ) -> Result<(MadeWebhook, bool), CatalogueError> {
        let (status, secret, replaced) = self.set(&WebhookOwner::Library(library.clone()), new)?;
        let webhook = status.of_library(library);
        Ok((MadeWebhook { webhook, secret }, replaced))
    }

    /// Sends the events of a key to this address from now on, in the same way.
    ///
    /// # Errors
    /// The same, and [`CatalogueError::NoSuchKey`].
    pub fn set_of_key(
        &self,
        key: String,
        new: NewWebhook,
    ) -> Result<(MadeKeyWebhook, bool), CatalogueError> {
        let (status, secret, replaced) = self.set(&WebhookOwner::Key(key.clone()), new)?;
        let webhook = status.of_key(key);
        Ok((MadeKeyWebhook { webhook, secret }, replaced))
    }

    fn set(
        &self,
        owner: &WebhookOwner,
        NewWebhook { url, events }: NewWebhook,
    ) -> Result<(WebhookStatus, String, bool), CatalogueError> {
        self.approve(&url)?;
        approve_events(owner, events.as_ref())?;
        let key_since = match owner {
            WebhookOwner::Library(_) => None,
            WebhookOwner::Key(name) => {
                let since = self.0.keys().since(name)?;
                Some(since.ok_or_else(|| CatalogueError::NoSuchKey(name.clone()))?)
            }
        };
        let secret = new_secret().map_err(CatalogueError::NoRandom)?;
        let since = Timestamp::now();
        let last = self.0.store.last_audited()?;
        let kept = StoredWebhook {
            url: url.clone(),
            secret: secret.clone(),
            since,
            events: events.clone(),
            key_since,
        };
        let (webhooks, progress, row) = owner.place();
        let replaced = self
            .0
            .change_setting(put(webhooks, row, &kept), Some(put(progress, row, &last)))?;
        self.forget_failure(owner);
        let status = WebhookStatus {
            url,
            events: events.unwrap_or_else(|| owner.usual_events()),
            created_at: since,
            pending_changes: 0,
            failure: None,
        };
        Ok((status, secret, replaced))
    }

    /// Whether events would be sent to this address.
    fn approve(&self, url: &str) -> Result<(), CatalogueError> {
        let parsed = url.parse::<Uri>().ok().filter(|_| url.len() <= URL_BYTES);
        let good = parsed.filter(|url| {
            let web = matches!(url.scheme_str(), Some("http" | "https"));
            web && url
                .authority()
                .is_some_and(|host| !host.host().is_empty() && !host.as_str().contains('@'))
        });
        let refusal =
            addresses(self.0.webhooks.private).refusal(&good.ok_or(CatalogueError::BadWebhook)?);
        match refusal {
            Some(why) => Err(CatalogueError::UnreachableWebhook(why)),
            None => Ok(()),
        }
    }

    /// Removes a webhook. Returns whether it existed.
    pub fn remove(&self, owner: &WebhookOwner) -> Result<bool, CatalogueError> {
        let [webhook, progress] = owner.removal();
        let was_there = self.0.change_setting(webhook, Some(progress))?;
        self.forget_failure(owner);
        Ok(was_there)
    }

    /// Sends the events again of an entry of the audit log and of all later ones, with the same ids. Returns whether there is such
    /// a webhook.
    ///
    /// # Errors
    /// [`CatalogueError::BadReplay`] if there is no such entry.
    pub fn replay(&self, owner: &WebhookOwner, from: u64) -> Result<bool, CatalogueError> {
        let first = self.0.store.audit(AuditFrom::Behind(0), 1)?;
        let first = first.first().map_or(1, |entry| entry.number);
        let last = self.0.store.last_audited()?;
        if !(first..=last).contains(&from) {
            return Err(CatalogueError::BadReplay { from, first, last });
        }
        let turn = self.0.turn(&self.0.changing_settings, SETTINGS)?;
        if self.stored_of(owner)?.is_none() {
            return Ok(false);
        }
        let (webhooks, progress, row) = owner.place();
        let action = Action::Setting {
            kind: format!("{}-replay", webhooks.as_str()),
            name: row.to_owned(),
            removed: false,
        };
        let rewound = put(progress, row, &(from - 1));
        turn.apply(&self.0.actor, &[rewound], &[action])?;
        drop(turn);
        self.forget_failure(owner);
        Ok(true)
    }
}

/// Whether the owner of a webhook can be told of these events.
fn approve_events(
    owner: &WebhookOwner,
    events: Option<&BTreeSet<EventType>>,
) -> Result<(), CatalogueError> {
    let mut known = EventType::ALL.to_vec();
    if matches!(owner, WebhookOwner::Library(_)) {
        known.retain(|event| event.is_of_libraries());
    }
    let are_known = |events: &BTreeSet<EventType>| {
        !events.is_empty() && events.iter().all(|event| known.contains(event))
    };
    if events.is_none_or(are_known) {
        return Ok(());
    }
    let known: Vec<&str> = known.into_iter().map(EventType::as_str).collect();
    Err(CatalogueError::BadEvents(known.join(", ")))
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("these have text keys only and are written to memory")
}
