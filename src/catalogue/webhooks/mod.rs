//! Webhooks: a library is told when a book that was added or replaced in it matches others of the catalogue.
//!
//! The queue is the audit log, which has every change in the batch that made it: a webhook keeps the number of the entry that it
//! has come to. So nothing is lost when the server is killed or a receiver is gone for days, memory does not grow with what
//! waits, and books that were put in while no server ran are told of by the next one. What is told twice, after a crash, has the
//! same id both times.

mod addresses;
mod delivery;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use ureq::http::Uri;
use utoipa::ToSchema;

use self::delivery::{Sender, Undelivered, new_secret};
use super::{BookRef, Catalogue, CatalogueError, Report};
use crate::index::{Action, AuditEntry, AuditFrom, AuditedBook, BookKey, Library, Small, Snapshot};
use crate::metrics::METRICS;

/// The kind of setting that webhooks are.
const KIND: &str = "webhook";
/// The kind under which the number is kept of the last entry of the audit log that a webhook needs no more.
const PROGRESS: &str = "webhook-progress";
/// How many entries of the audit log are looked at before another webhook has its turn.
const PAGE: usize = 256;
/// How long to wait when there is nothing to tell.
const PAUSE: Duration = Duration::from_millis(500);
/// How many webhooks are told at once, each by a thread; and how many of them may have failed the last time, so that receivers
/// that are gone hold up no others.
const AT_ONCE: usize = 16;
const FAILING_AT_ONCE: usize = 8;
/// How long to wait after a failure: twice as long after each, from the first to the last of these.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LAST_WAIT: Duration = Duration::from_secs(3_600);
/// The longest address.
const URL_BYTES: usize = 2_000;

/// Where a library's events go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// The library.
    #[schema(value_type = String)]
    pub library: Library,
    /// The address that events are posted to.
    pub url: String,
    /// Since when. Books that were put in before are not told of.
    pub since: Timestamp,
    /// How many changes of the catalogue have not been looked at yet.
    pub behind: u64,
    /// What keeps events from being delivered, if anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
}

/// Why events are not delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Failing {
    /// How often the event that comes next was sent in vain since the server started.
    pub attempts: u32,
    /// What happened the last time.
    pub error: String,
}

/// A webhook that was just made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeWebhook {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// What its events are signed with, told this once.
    pub secret: String,
}

/// What is posted.
#[derive(Debug, Serialize)]
struct Event {
    /// `book.matched`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// When the book was put in.
    timestamp: Timestamp,
    /// The book and what it matches.
    data: Found,
}

/// A book that matches others.
#[derive(Debug, Serialize)]
struct Found {
    /// The book that was added or replaced.
    book: BookRef,
    /// The number of the change in the audit log.
    change: u64,
    /// What a check of it finds, itself left out.
    report: Report,
}

/// A webhook as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    url: String,
    secret: String,
    since: Timestamp,
}

/// What is known of the webhooks of a catalogue in this process.
#[derive(Default)]
pub(super) struct Webhooks {
    /// Whether they may lead to addresses that are not of the internet.
    private: bool,
    failing: Mutex<BTreeMap<Library, Pause>>,
    /// Those that have their turn.
    busy: Mutex<BTreeSet<Library>>,
    /// One of them has had it.
    ended: Condvar,
}

/// A webhook that waits after a failure.
struct Pause {
    until: Instant,
    failing: Failing,
}

/// A webhook has its turn until this is dropped.
struct Turn<'w> {
    webhooks: &'w Webhooks,
    library: Library,
}

impl<'w> Turn<'w> {
    fn begin(webhooks: &'w Webhooks, library: Library) -> Self {
        lock(&webhooks.busy).insert(library.clone());
        Self { webhooks, library }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        lock(&self.webhooks.busy).remove(&self.library);
        self.webhooks.ended.notify_one();
    }
}

impl Catalogue {
    /// This catalogue with webhooks that may lead to private addresses, as those of this machine and its network.
    #[must_use]
    pub fn with_private_webhooks(mut self, allowed: bool) -> Self {
        self.webhooks.private = allowed;
        self
    }

    /// Tells a library's books from now on to this address; in place of the one before, if there was one, which the second
    /// value says.
    ///
    /// # Errors
    /// [`CatalogueError::BadWebhook`] for what is no address of HTTP.
    pub fn set_webhook(&self, library: Library, url: String) -> Result<(MadeWebhook, bool), CatalogueError> {
        let parsed = url.parse::<Uri>().ok().filter(|_| url.len() <= URL_BYTES);
        let good = parsed.is_some_and(|url| {
            let web = matches!(url.scheme_str(), Some("http" | "https"));
            web && url.authority().is_some_and(|host| !host.host().is_empty() && !host.as_str().contains('@'))
        });
        if !good {
            return Err(CatalogueError::BadWebhook);
        }
        let secret =
            new_secret().map_err(|e| CatalogueError::BadKey(format!("no random numbers for a secret: {e}")))?;
        let since = Timestamp::now();
        let last = self.store.snapshot().last_audited()?;
        let kept = Kept { url: url.clone(), secret: secret.clone(), since };
        let progress = (Small::Setting(PROGRESS, library.as_str()), Some(last.to_string().into_bytes()));
        let replaced = self.change_setting(KIND, library.as_str(), Some(json(&kept)), Some(progress))?;
        self.forget_failure(&library);
        Ok((MadeWebhook { webhook: Webhook { library, url, since, behind: 0, failing: None }, secret }, replaced))
    }

    /// Removes a library's webhook; says whether there was one.
    pub fn remove_webhook(&self, library: &Library) -> Result<bool, CatalogueError> {
        let progress = (Small::Setting(PROGRESS, library.as_str()), None);
        let was_there = self.change_setting(KIND, library.as_str(), None, Some(progress))?;
        self.forget_failure(library);
        Ok(was_there)
    }

    /// All webhooks, by library.
    pub fn webhooks(&self) -> Result<Vec<Webhook>, CatalogueError> {
        let last = self.store.snapshot().last_audited()?;
        let progress = self.progress()?;
        let failing = lock(&self.webhooks.failing);
        let kept = self.kept_webhooks()?.into_iter().map(|(library, Kept { url, since, .. })| {
            let behind = last.saturating_sub(progress.get(&library).copied().unwrap_or(last));
            let failing = failing.get(&library).map(|pause| pause.failing.clone());
            Webhook { library, url, since, behind, failing }
        });
        Ok(kept.collect())
    }

    /// Delivers events until [`Catalogue::stop_jobs`], in threads of their own.
    pub fn start_webhooks(self: &Arc<Self>) {
        let catalogue = Arc::clone(self);
        self.jobs.run_beside(move || {
            let sender = Sender::new(catalogue.webhooks.private);
            thread::scope(|scope| {
                while !catalogue.jobs.are_stopping() {
                    if let Err(error) = catalogue.deliver(scope, &sender) {
                        tracing::error!("webhooks: {error}");
                    }
                    let busy = lock(&catalogue.webhooks.busy);
                    let _ = catalogue.webhooks.ended.wait_timeout(busy, PAUSE);
                }
            });
        });
    }

    /// Begins a turn of every webhook that has something to be told, as far as there are threads.
    fn deliver<'s>(&'s self, scope: &'s Scope<'s, '_>, sender: &'s Sender) -> Result<(), CatalogueError> {
        let last = self.store.snapshot().last_audited()?;
        let progress = self.progress()?;
        let mut most_behind = 0;
        for (library, kept) in self.kept_webhooks()? {
            let done = progress.get(&library).copied().unwrap_or(last);
            most_behind = most_behind.max(last.saturating_sub(done));
            if done >= last || !self.may_begin(&library) {
                continue;
            }
            let turn = Turn::begin(&self.webhooks, library);
            let turn = move || {
                if let Err(error) = self.turn(sender, &turn.library, &kept, done) {
                    tracing::error!("the webhook of {}: {error}", turn.library);
                    thread::sleep(PAUSE);
                }
            };
            if let Err(error) = thread::Builder::new().name("lapidary-webhook".to_owned()).spawn_scoped(scope, turn) {
                tracing::error!("no thread for a webhook: {error}");
            }
        }
        METRICS.webhooks_behind(most_behind);
        Ok(())
    }

    /// Whether a webhook may have its turn now: not while it has one, or waits after a failure.
    fn may_begin(&self, library: &Library) -> bool {
        let (busy, failing) = (lock(&self.webhooks.busy), lock(&self.webhooks.failing));
        let busy_failing = busy.iter().filter(|library| failing.contains_key(*library)).count();
        let may_fail = match failing.get(library) {
            Some(pause) => pause.until <= Instant::now() && busy_failing < FAILING_AT_ONCE,
            None => true,
        };
        may_fail && busy.len() < AT_ONCE && !busy.contains(library)
    }

    /// Tells the first event behind this entry of the audit log, or as many entries as are looked at in a turn have none.
    fn turn(&self, sender: &Sender, library: &Library, kept: &Kept, done: u64) -> Result<(), CatalogueError> {
        let reached = self.tell(sender, library, kept, done)?;
        // A webhook that was set anew meanwhile begins where that says.
        let _changing = self.changing_settings();
        if reached > done && self.kept_webhooks()?.get(library).is_some_and(|now| now.secret == kept.secret) {
            self.store.keep(PROGRESS, library.as_str(), Some(reached.to_string().as_bytes()))?;
        }
        Ok(())
    }

    /// Looks at some entries of the audit log behind this one, until one of them was told; returns the last that needs no
    /// other look.
    fn tell(&self, sender: &Sender, library: &Library, kept: &Kept, behind: u64) -> Result<u64, CatalogueError> {
        let snapshot = self.store.snapshot();
        let entries = snapshot.audit(AuditFrom::Behind(behind), PAGE)?;
        let mut done = behind;
        for entry in entries {
            let Some(event) = self.event(&*snapshot, library, &entry)? else {
                done = entry.number;
                continue;
            };
            drop(snapshot);
            let body = json(&event);
            let delivered = sender.send(&kept.url, &kept.secret, &format!("change-{}", entry.number), &body);
            return Ok(if self.settle(library, entry.number, delivered) { entry.number } else { done });
        }
        Ok(done)
    }

    /// What there is to tell of an entry.
    fn event(
        &self,
        snapshot: &dyn Snapshot,
        library: &Library,
        entry: &AuditEntry,
    ) -> Result<Option<Event>, CatalogueError> {
        let (Action::Added(AuditedBook { library: of, id, digest, .. })
        | Action::Replaced(AuditedBook { library: of, id, digest, .. })) = &entry.action
        else {
            return Ok(None);
        };
        if of != library.as_str() {
            return Ok(None);
        }
        let key = BookKey { library: library.clone(), id: id.parse()? };
        let Some(number) = snapshot.find(&key)? else { return Ok(None) };
        let record = snapshot.fetch(&[number])?.pop().flatten();
        // Of one that was replaced since, a later entry tells.
        let Some(record) = record.filter(|record| record.digest == *digest && !record.is_disabled()) else {
            return Ok(None);
        };
        let report = self.check_book(snapshot, number, &record)?;
        Ok(report.filter(|report| report.total > 0).map(|report| {
            let book = BookRef::on(report.day, record);
            let data = Found { book, change: entry.number, report };
            Event { kind: "book.matched", timestamp: entry.at, data }
        }))
    }

    /// Whether an event needs no other attempt.
    fn settle(&self, library: &Library, change: u64, delivered: Result<(), Undelivered>) -> bool {
        let error = match delivered {
            Ok(()) => {
                METRICS.webhook("delivered");
                self.forget_failure(library);
                return true;
            }
            Err(Undelivered::Refused(status)) => {
                tracing::warn!(
                    "the webhook of {library} refused change {change} with {status}: it is not told of again"
                );
                METRICS.webhook("refused");
                self.forget_failure(library);
                return true;
            }
            Err(Undelivered::Failed(error)) => error,
        };
        METRICS.webhook("failed");
        let mut failing = lock(&self.webhooks.failing);
        let attempts = failing.get(library).map_or(0, |pause| pause.failing.attempts).saturating_add(1);
        let wait = FIRST_WAIT.saturating_mul(1 << (attempts - 1).min(20)).min(LAST_WAIT);
        tracing::warn!(
            "the webhook of {library}, attempt {attempts} to tell of change {change}: {error}; again in {wait:?}"
        );
        failing.insert(library.clone(), Pause { until: Instant::now() + wait, failing: Failing { attempts, error } });
        false
    }

    fn forget_failure(&self, library: &Library) {
        lock(&self.webhooks.failing).remove(library);
    }

    fn kept_webhooks(&self) -> Result<BTreeMap<Library, Kept>, CatalogueError> {
        self.settings_of(KIND)
    }

    fn progress(&self) -> Result<BTreeMap<Library, u64>, CatalogueError> {
        self.settings_of(PROGRESS)
    }

    fn settings_of<T: for<'de> Deserialize<'de>>(
        &self,
        kind: &'static str,
    ) -> Result<BTreeMap<Library, T>, CatalogueError> {
        let read = |(name, value): (String, Vec<u8>)| {
            let value = serde_json::from_slice(&value).ok();
            let read = name.parse().ok().zip(value);
            read.ok_or(CatalogueError::BadSetting { kind, name })
        };
        self.store.settings(kind)?.into_iter().map(read).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("these have text keys only and are written to memory")
}
