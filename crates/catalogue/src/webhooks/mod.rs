//! Webhooks: notify a library when a book added or replaced in it matches other books of the catalogue.
//!
//! The audit log is the queue. It contains every change, written in the same batch as the change itself, and each
//! webhook stores the number of the last entry it has processed. So no event is lost if the server is killed or a
//! receiver is down for days; memory does not grow with the backlog; and books added while no server was running are
//! reported by the next one. An event that is sent twice, after a crash, has the same id both times.

mod delivery;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use ureq::http::Uri;

use self::delivery::{Sender, Undelivered, addresses, new_secret};
use super::add::StoredBook;
use super::settings::put;
use super::{Catalogue, CatalogueError, CheckOptions, Editor};
use crate::api::{BookRef, DeliveryFailure, MadeWebhook, MatchEvent, Webhook, WebhookEvent};
use crate::metrics::METRICS;
use lapidary_store::{
    Action, AuditEntry, AuditFrom, AuditedBook, BookKey, Library, RowChange, Snapshot, Table,
};
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

/// A webhook as stored.
#[derive(Serialize, Deserialize)]
struct StoredWebhook {
    url: String,
    secret: String,
    since: Timestamp,
}

/// The webhook state of a catalogue in this process.
#[derive(Default)]
pub(super) struct LocalWebhooks {
    /// Whether webhooks may use addresses that are not on the public internet.
    pub(super) private: bool,
    failing: Mutex<BTreeMap<Library, Pause>>,
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
    library: Library,
    kept: StoredWebhook,
    /// The last entry that it has been told.
    done: u64,
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
        let last = self.catalogue.store.last_audited()?;
        let progress = self.catalogue.webhooks().progress()?;
        let failing = lock(&self.catalogue.webhooks.failing);
        let (mut due, mut most_behind) = (Vec::new(), 0);
        for (library, kept) in self.catalogue.webhooks().stored()? {
            let done = progress.get(&library).copied().unwrap_or(last);
            most_behind = most_behind.max(last.saturating_sub(done));
            let pause = failing.get(&library);
            if done >= last || pause.is_some_and(|pause| pause.until > Instant::now()) {
                continue;
            }
            let bottleneck = pause.map(|_| Bottleneck {
                name: "failing".to_owned(),
                places: FAILING_AT_ONCE,
            });
            let owner = library.to_string();
            due.push(DueWork {
                name: format!("webhook {library}"),
                since: kept.since,
                slot: Slot { owner, bottleneck },
                task: BehindWebhook {
                    library,
                    kept,
                    done,
                },
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
    /// All webhooks, by library.
    pub fn all(&self) -> Result<Vec<Webhook>, CatalogueError> {
        let last = self.0.store.last_audited()?;
        let progress = self.progress()?;
        let failing = lock(&self.0.webhooks.failing);
        let kept = self
            .stored()?
            .into_iter()
            .map(|(library, StoredWebhook { url, since, .. })| {
                let behind = last.saturating_sub(progress.get(&library).copied().unwrap_or(last));
                let failing = failing.get(&library).map(|pause| pause.failing.clone());
                Webhook {
                    library,
                    url,
                    created_at: since,
                    pending_changes: behind,
                    failure: failing,
                }
            });
        Ok(kept.collect())
    }

    /// Delivers the first event that the webhook has not been told, unless a turn's worth of entries has none.
    fn tell_next(
        &self,
        sender: &Sender,
        BehindWebhook {
            library,
            kept,
            done,
        }: &BehindWebhook,
        work: &LeasedWork,
    ) -> Result<(), CatalogueError> {
        let reached = self.tell(sender, library, kept, *done)?;
        // If the webhook was set again in the meantime, its new starting point stays.
        let _changing = self.0.changing_settings();
        let now = self.stored()?;
        let is_as_before = now
            .get(library)
            .is_some_and(|now| now.secret == kept.secret);
        if reached > *done && is_as_before {
            // If another process delivers now, it will send the event again.
            work.apply(&[put(Table::WebhookProgress, library.as_str(), &reached)])?;
        }
        Ok(())
    }

    /// Processes audit log entries after entry `behind` until one event was sent. Returns the last processed entry.
    fn tell(
        &self,
        sender: &Sender,
        library: &Library,
        kept: &StoredWebhook,
        behind: u64,
    ) -> Result<u64, CatalogueError> {
        let entries = self.0.store.audit(AuditFrom::Behind(behind), PAGE)?;
        // Taken after the entries were read, so that it has their books.
        let snapshot = self.0.store.snapshot();
        let mut done = behind;
        for entry in entries {
            let Some(event) = self.event(&*snapshot, library, &entry)? else {
                done = entry.number;
                continue;
            };
            drop(snapshot);
            let body = json(&event);
            let delivered = sender.send(
                &kept.url,
                &kept.secret,
                &format!("change-{}", entry.number),
                &body,
            );
            return Ok(if self.settle(library, entry.number, delivered) {
                entry.number
            } else {
                done
            });
        }
        Ok(done)
    }

    /// The event to send for an entry, if any.
    fn event(
        &self,
        snapshot: &dyn Snapshot,
        library: &Library,
        entry: &AuditEntry,
    ) -> Result<Option<WebhookEvent>, CatalogueError> {
        let (Action::Added(AuditedBook {
            library: of,
            id,
            digest,
            ..
        })
        | Action::Replaced(AuditedBook {
            library: of,
            id,
            digest,
            ..
        })) = &entry.action
        else {
            return Ok(None);
        };
        if of != library.as_str() {
            return Ok(None);
        }
        let key = BookKey {
            library: library.clone(),
            id: id.parse()?,
        };
        let Some(StoredBook { number, record }) = StoredBook::find(snapshot, &key)? else {
            return Ok(None);
        };
        // If the book was replaced since, a later entry reports it.
        if record.digest != *digest || record.is_disabled() {
            return Ok(None);
        }
        let options = CheckOptions {
            own: [library.clone()].into(),
            ..CheckOptions::default()
        };
        let report = self
            .0
            .checks()
            .report_of(snapshot, number, &record, &options)?;
        Ok(report.filter(|report| report.total > 0).map(|report| {
            let book = BookRef::on(report.day, record);
            let data = MatchEvent {
                book,
                change: entry.number,
                report,
            };
            WebhookEvent {
                kind: "book.matched".to_owned(),
                timestamp: entry.created_at,
                data,
            }
        }))
    }

    /// Records the outcome of an attempt. Returns whether the event needs no further attempt.
    fn settle(&self, library: &Library, change: u64, delivered: Result<(), Undelivered>) -> bool {
        let error = match delivered {
            Ok(()) => {
                METRICS.webhook("delivered");
                self.forget_failure(library);
                return true;
            }
            Err(Undelivered::Refused(status)) => {
                tracing::warn!(
                    "the webhook of {library} rejected change {change} with status {status}; it is not sent again"
                );
                METRICS.webhook("refused");
                self.forget_failure(library);
                return true;
            }
            Err(Undelivered::Failed(error)) => error,
        };
        METRICS.webhook("failed");
        let mut failing = lock(&self.0.webhooks.failing);
        let attempts = failing
            .get(library)
            .map_or(0, |pause| pause.failing.attempts)
            .saturating_add(1);
        let wait = FIRST_WAIT
            .saturating_mul(1 << (attempts - 1).min(20))
            .min(LAST_WAIT);
        tracing::warn!(
            "the webhook of {library}: attempt {attempts} to send change {change} failed: {error}; retrying in {wait:?}"
        );
        failing.insert(
            library.clone(),
            Pause {
                until: Instant::now() + wait,
                failing: DeliveryFailure { attempts, error },
            },
        );
        false
    }

    fn forget_failure(&self, library: &Library) {
        lock(&self.0.webhooks.failing).remove(library);
    }

    fn stored(&self) -> Result<BTreeMap<Library, StoredWebhook>, CatalogueError> {
        self.0.rows(Table::Webhooks)
    }

    fn progress(&self) -> Result<BTreeMap<Library, u64>, CatalogueError> {
        self.0.rows(Table::WebhookProgress)
    }
}

impl Webhooks<Editor<'_>> {
    /// Sends events of a library's books to this address from now on. The returned flag says whether this replaced an
    /// earlier webhook.
    ///
    /// # Errors
    /// [`CatalogueError::BadWebhook`] if this is not an HTTP address; [`CatalogueError::UnreachableWebhook`] if no event would be
    /// sent there.
    pub fn set(
        &self,
        library: Library,
        url: String,
    ) -> Result<(MadeWebhook, bool), CatalogueError> {
        let parsed = url.parse::<Uri>().ok().filter(|_| url.len() <= URL_BYTES);
        let good = parsed.filter(|url| {
            let web = matches!(url.scheme_str(), Some("http" | "https"));
            web && url
                .authority()
                .is_some_and(|host| !host.host().is_empty() && !host.as_str().contains('@'))
        });
        let refusal =
            addresses(self.0.webhooks.private).refusal(&good.ok_or(CatalogueError::BadWebhook)?);
        if let Some(why) = refusal {
            return Err(CatalogueError::UnreachableWebhook(why));
        }
        let secret = new_secret().map_err(CatalogueError::NoRandom)?;
        let since = Timestamp::now();
        let last = self.0.store.last_audited()?;
        let kept = StoredWebhook {
            url: url.clone(),
            secret: secret.clone(),
            since,
        };
        let progress = put(Table::WebhookProgress, library.as_str(), &last);
        let replaced = self.0.change_setting(
            put(Table::Webhooks, library.as_str(), &kept),
            Some(progress),
        )?;
        self.forget_failure(&library);
        Ok((
            MadeWebhook {
                webhook: Webhook {
                    library,
                    url,
                    created_at: since,
                    pending_changes: 0,
                    failure: None,
                },
                secret,
            },
            replaced,
        ))
    }

    /// Removes a library's webhook. Returns whether it existed.
    pub fn remove(&self, library: &Library) -> Result<bool, CatalogueError> {
        let removed = |table| RowChange::delete(table, library.as_str());
        let was_there = self.0.change_setting(
            removed(Table::Webhooks),
            Some(removed(Table::WebhookProgress)),
        )?;
        self.forget_failure(library);
        Ok(was_there)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("these have text keys only and are written to memory")
}
