//! What a webhook is told: the events that an entry of the audit log makes, for whoever may read that in the API.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::Webhooks;
use crate::add::StoredBook;
use crate::api::{
    BookEvent, BookRef, DecisionEvent, EventType, JobEvent, JobState, Key, LibraryEvent,
    MatchEvent, QuotaEvent, SourceEvent, TestEvent,
};
use crate::check::today;
use crate::permission::Permission;
use crate::{Catalogue, CatalogueError, CheckOptions};
use lapidary_store::{
    Action, Amended, AuditEntry, AuditedBook, BookKey, BookNo, Library, Record, Snapshot,
};

/// Characters that are encoded in a segment of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Who is told, and what of it.
pub(super) struct Subscription {
    pub(super) listener: Listener,
    pub(super) events: BTreeSet<EventType>,
}

/// Who is told.
pub(super) enum Listener {
    /// A library, whose webhook an administrator set.
    Library(Library),
    /// A key.
    Key(Arc<Key>),
}

impl Listener {
    fn is_administrator(&self) -> bool {
        matches!(self, Self::Key(key) if key.permits(Permission::Administer))
    }

    /// Whether it has the books of a library.
    fn has(&self, library: &str) -> bool {
        match self {
            Self::Library(own) => own.as_str() == library,
            Self::Key(key) => {
                self.is_administrator()
                    || key.permits(Permission::Ingest) && key.libraries.contains(library)
            }
        }
    }

    /// The libraries whose books decide in what it is told of the books of one; `None` if it is not told what they match.
    fn own_libraries(&self, library: &str) -> Option<BTreeSet<Library>> {
        match self {
            _ if !self.has(library) => None,
            Self::Library(own) => Some([own.clone()].into()),
            // Who only ingests is told of no matches by the API. Nobody checks the books of all libraries for an administrator.
            Self::Key(key) => (key.permits(Permission::Check) && !self.is_administrator())
                .then(|| key.libraries.clone()),
        }
    }
}

/// An event, as it is sent.
#[derive(Serialize)]
pub(super) struct Event {
    #[serde(skip)]
    pub(super) id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    timestamp: Timestamp,
    data: EventData,
}

#[derive(Serialize)]
#[serde(untagged)]
enum EventData {
    Match(Box<MatchEvent>),
    Book(BookEvent),
    Library(LibraryEvent),
    Quota(QuotaEvent),
    Decision(Box<DecisionEvent>),
    Job(JobEvent),
    Source(SourceEvent),
    Test(TestEvent),
}

impl Event {
    fn of(entry: &AuditEntry, kind: EventType, data: EventData) -> Self {
        // Of one entry, both can be sent.
        let of_entry = if kind == EventType::BookQuarantined {
            "quarantine"
        } else {
            "change"
        };
        Self {
            id: format!("{of_entry}-{}", entry.number),
            kind: kind.as_str(),
            timestamp: entry.created_at,
            data,
        }
    }

    /// An event about nothing.
    pub(super) fn test() -> Self {
        let now = Timestamp::now();
        Self {
            id: format!("test-{}", crate::id::new_id(now)),
            kind: "webhook.test",
            timestamp: now,
            data: EventData::Test(TestEvent {}),
        }
    }
}

impl<C: Deref<Target = Catalogue>> Webhooks<C> {
    /// The events that an entry makes for a subscription.
    pub(super) fn events(
        &self,
        snapshot: &dyn Snapshot,
        to: &Subscription,
        entry: &AuditEntry,
    ) -> Result<Vec<Event>, CatalogueError> {
        let change = entry.number;
        let made = match &entry.action {
            Action::Added(book) | Action::Replaced(book) => {
                return self.of_added(snapshot, to, entry, book);
            }
            Action::Amended(book) if book.changes.contains(&Amended::Confirmed) => {
                of_confirmed(snapshot, to, change, book)?
            }
            Action::LibraryTrust { library, trusted } => of_trust(to, change, library, *trusted),
            Action::Decided {
                imported: false,
                ruling,
                decision,
                ..
            } => self.of_decision(to, change, ruling, decision)?,
            Action::JobEnded { job, state, .. } => self.of_job(to, change, *job, state)?,
            Action::JobCancelled { job } => self.of_job(to, change, *job, "cancelled")?,
            Action::SourceRun { .. } => of_source(to, change, &entry.action),
            Action::QuotaReached { name } => of_quota(to, change, name),
            _ => None,
        };
        let made = made.filter(|(kind, _)| to.events.contains(kind));
        let events = made.map(|(kind, data)| Event::of(entry, kind, data));
        Ok(events.into_iter().collect())
    }

    fn of_added(
        &self,
        snapshot: &dyn Snapshot,
        to: &Subscription,
        entry: &AuditEntry,
        book: &AuditedBook,
    ) -> Result<Vec<Event>, CatalogueError> {
        let wanted = [EventType::BookMatched, EventType::BookQuarantined];
        let is_wanted = wanted.iter().any(|kind| to.events.contains(kind));
        if !is_wanted || !to.listener.has(&book.library) {
            return Ok(Vec::new());
        }
        let Some((number, record)) = find(snapshot, book)? else {
            return Ok(Vec::new());
        };
        // If the book was replaced since, a later entry reports it.
        if record.digest != book.digest || record.is_disabled() {
            return Ok(Vec::new());
        }
        let mut events = Vec::new();
        if record.standing.is_quarantined() && to.events.contains(&EventType::BookQuarantined) {
            let data = of_book(entry.number, record.clone());
            events.push(Event::of(entry, EventType::BookQuarantined, data));
        }
        if to.events.contains(&EventType::BookMatched)
            && let Some(own) = to.listener.own_libraries(&book.library)
            && let Some(data) = self.of_match(snapshot, entry.number, (number, record), own)?
        {
            events.push(Event::of(entry, EventType::BookMatched, data));
        }
        Ok(events)
    }

    fn of_match(
        &self,
        snapshot: &dyn Snapshot,
        change: u64,
        (number, record): (BookNo, Record),
        own: BTreeSet<Library>,
    ) -> Result<Option<EventData>, CatalogueError> {
        let options = CheckOptions {
            own,
            ..CheckOptions::default()
        };
        let report = self
            .0
            .checks()
            .report_of(snapshot, number, &record, &options)?;
        Ok(report.filter(|report| report.total > 0).map(|report| {
            let book = BookRef::on(report.day, record);
            EventData::Match(Box::new(MatchEvent {
                book,
                change,
                report,
            }))
        }))
    }

    fn of_decision(
        &self,
        to: &Subscription,
        change: u64,
        ruling: &str,
        id: &str,
    ) -> Result<Option<(EventType, EventData)>, CatalogueError> {
        let Listener::Key(key) = &to.listener else {
            return Ok(None);
        };
        let kind = match ruling {
            "assigned" => return Ok(None),
            "checked" => EventType::CheckFiled,
            "matched" => EventType::CheckMatched,
            "appealed" => EventType::DecisionAppealed,
            _ => EventType::DecisionMade,
        };
        if !to.events.contains(&kind) {
            return Ok(None);
        }
        let decisions = self.0.decisions();
        let told = if kind == EventType::CheckFiled {
            decisions.waiting_for(key, id)?
        } else {
            let decision = decisions.told_to(key, id)?;
            decision.map(|decision| (decision, BTreeSet::new()))
        };
        Ok(told.map(|(decision, libraries)| {
            let event = DecisionEvent {
                decision,
                libraries,
                change,
                url: path(&["decisions", id]),
            };
            (kind, EventData::Decision(Box::new(event)))
        }))
    }

    fn of_job(
        &self,
        to: &Subscription,
        change: u64,
        number: u32,
        state: &str,
    ) -> Result<Option<(EventType, EventData)>, CatalogueError> {
        if !to.listener.is_administrator() || !to.events.contains(&EventType::JobEnded) {
            return Ok(None);
        }
        let job = self.0.jobs().in_store(number)?;
        let event = JobEvent {
            job: number,
            kind: job.as_ref().map(|job| job.task.kind().to_owned()),
            state: match state {
                "done" => JobState::Done,
                "cancelled" => JobState::Cancelled,
                _ => JobState::Failed,
            },
            error: job.and_then(|job| job.error),
            change,
            url: path(&["jobs", &number.to_string()]),
        };
        Ok(Some((EventType::JobEnded, EventData::Job(event))))
    }
}

fn of_confirmed(
    snapshot: &dyn Snapshot,
    to: &Subscription,
    change: u64,
    book: &AuditedBook,
) -> Result<Option<(EventType, EventData)>, CatalogueError> {
    if !to.listener.has(&book.library) {
        return Ok(None);
    }
    let found = find(snapshot, book)?;
    let confirmed = found.filter(|(_, record)| record.digest == book.digest);
    Ok(confirmed.map(|(_, record)| (EventType::BookConfirmed, of_book(change, record))))
}

fn of_trust(
    to: &Subscription,
    change: u64,
    library: &str,
    is_trusted: bool,
) -> Option<(EventType, EventData)> {
    let kind = if is_trusted {
        EventType::LibraryTrusted
    } else {
        EventType::LibraryDistrusted
    };
    let event = LibraryEvent {
        library: library.to_owned(),
        change,
        url: path(&["libraries", library, "books"]),
    };
    to.listener
        .has(library)
        .then_some((kind, EventData::Library(event)))
}

fn of_quota(to: &Subscription, change: u64, key: &str) -> Option<(EventType, EventData)> {
    let is_own = matches!(&to.listener, Listener::Key(own) if own.name == key);
    let event = QuotaEvent {
        key: key.to_owned(),
        change,
        url: if is_own {
            path(&["me"])
        } else {
            path(&["keys", key])
        },
    };
    (is_own || to.listener.is_administrator())
        .then_some((EventType::QuotaReached, EventData::Quota(event)))
}

fn of_source(to: &Subscription, change: u64, action: &Action) -> Option<(EventType, EventData)> {
    let Action::SourceRun {
        source,
        library,
        run,
        error,
        administrators,
    } = action
    else {
        return None;
    };
    let sees_it = to.listener.has(library) && !administrators;
    if !sees_it && !to.listener.is_administrator() {
        return None;
    }
    let kind = match error {
        None => EventType::SourceEnded,
        Some(_) => EventType::SourceFailed,
    };
    let event = SourceEvent {
        source: source.clone(),
        library: library.clone(),
        run: *run,
        error: error.clone(),
        change,
        url: path(&["sources", source]),
    };
    Some((kind, EventData::Source(event)))
}

fn of_book(change: u64, record: Record) -> EventData {
    let key = &record.key;
    let url = path(&["libraries", key.library.as_str(), "books", key.id.as_str()]);
    EventData::Book(BookEvent {
        book: BookRef::on(today(), record),
        change,
        url,
    })
}

/// The book of an entry, if it is still there.
fn find(
    snapshot: &dyn Snapshot,
    book: &AuditedBook,
) -> Result<Option<(BookNo, Record)>, CatalogueError> {
    let key = BookKey {
        library: book.library.parse()?,
        id: book.id.parse()?,
    };
    let found = StoredBook::find(snapshot, &key)?;
    Ok(found.map(|StoredBook { number, record }| (number, record)))
}

/// A path of the API.
fn path(segments: &[&str]) -> String {
    let mut path = String::from("/v1");
    for segment in segments {
        path.push('/');
        path.extend(utf8_percent_encode(segment, SEGMENT));
    }
    path
}
