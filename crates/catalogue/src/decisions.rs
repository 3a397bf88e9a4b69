//! Filed checks, and what was decided about them.
//!
//! Entries are only ever added, each in one batch with its audit log entry and its search keys. The texts of checks go
//! again ([`Evidence`](super::Evidence)), and so do their gems ([`Watches`](super::Watches)); [`queue`] knows where checks
//! stand. In [`Table::Decisions`], the first byte of a key says what follows:
//!
//! ```text
//! i                      → the id of the catalogue
//! r id                   → an entry, JSON
//! f id                   → the filed check of an entry, JSON
//! d digest \0 id         → nothing: the entries about a text
//! b library \0 book \0 id → nothing: the filed checks that matched a book, at first or later, and the decisions about them
//! l library \0 id        → nothing: the filed checks that matched a book of a library which counts for whoever asked
//! m id library \0 book   → the books because of which a person decides about a filed check: nothing, or the entry that found one later
//! ```

mod queue;
mod told;

pub use self::queue::{CheckQueue, SoughtChecks};

use std::collections::BTreeSet;
use std::ops::Deref;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use uuid::Uuid;

use super::add::StoredBook;
use super::answer::{CheckOptions, Query};
use super::check::Asked;
use super::copy::rows;
use super::digest::digest_of;
use super::recipes::recipe_stats;
use super::settings::put;
use super::sharing::{EVIDENCE, SETTINGS, Turn};
use super::side_by_side::compared;
use super::{Catalogue, CatalogueError, Editor};
use crate::api::{
    BestMatch, Decision, DecisionPage, Filed, LaterMatch, NewDecision, Report, Ruling,
};
use crate::id::{first_id, new_id};
use lapidary_checking::{InformationalReason, Reason};
use lapidary_common::description::TooLong;
use lapidary_extract::Heading;
use lapidary_store::{
    Action, Actor, BookKey, Library, NOTE_BYTES, Record, Rights, RowChange, Snapshot, StoreError,
    Table,
};

/// Maximum length of the name and of the reference of a case, in bytes.
const REFERENCE_BYTES: usize = 1_000;
/// Maximum number of entries that a search reads for a page.
const MOST_READ: usize = 1_000;
/// Length of an id in a key.
const ID_BYTES: usize = 16;

/// What to file a check under.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Case {
    /// The name of what is checked.
    pub name: Option<String>,
    /// The reference of the case.
    pub reference: Option<String>,
    /// The batch that it is of.
    pub batch: Option<String>,
}

/// Which decisions to list. All conditions hold together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SoughtDecisions {
    /// About the text with this digest.
    pub digest: Option<String>,
    /// About a check that matched this book.
    pub book: Option<BookKey>,
    /// Made on this day, in UTC.
    pub day: Option<Date>,
}

impl SoughtDecisions {
    /// What the keys to search through begin with.
    fn prefix(&self) -> Vec<u8> {
        match (&self.digest, &self.book) {
            (Some(digest), _) => digest_prefix(digest),
            (None, Some(book)) => book_prefix(book.library.as_str(), book.id.as_str()),
            (None, None) => b"r".to_vec(),
        }
    }
}

/// An entry, as stored.
#[skip_serializing_none]
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredDecision {
    pub(super) at: Timestamp,
    pub(super) actor: String,
    ruling: Ruling,
    check: String,
    digest: String,
    verdict: Rights,
    verdict_reason: Option<Reason>,
    name: Option<String>,
    case: Option<String>,
    reason: Option<String>,
    /// For `matched`: the book.
    matched_later: Option<LaterMatch>,
    covered: Option<f64>,
    best_match: Option<BestMatch>,
    batch: Option<String>,
    /// For `assigned`: to whom.
    assignee: Option<String>,
    /// The entry that held before, or holds again.
    previous_id: Option<String>,
}

impl StoredDecision {
    /// The entry of a report that is filed.
    pub(super) fn of_check(
        id: Uuid,
        at: Timestamp,
        actor: &Actor,
        Case {
            name,
            reference,
            batch,
        }: Case,
        digest: String,
        report: &Report,
    ) -> Self {
        Self {
            at,
            actor: actor.to_string(),
            ruling: Ruling::Checked,
            check: id.to_string(),
            digest,
            verdict: report.verdict,
            verdict_reason: Some(report.reason),
            name,
            case: reference,
            reason: None,
            matched_later: None,
            covered: report.covered,
            best_match: best_match(report),
            batch,
            assignee: None,
            previous_id: None,
        }
    }

    /// That a filed check matches a book which was added later.
    fn of_match(self, at: Timestamp, book: &Record) -> Self {
        let matched_later = Some(LaterMatch {
            library: book.key.library.to_string(),
            id: book.key.id.to_string(),
            title: book.description.title.clone(),
            matched_at: at,
        });
        Self {
            at,
            actor: Actor::Local.to_string(),
            ruling: Ruling::Matched,
            reason: None,
            matched_later,
            ..self
        }
    }

    /// Who made it.
    pub(super) fn by(&self) -> Option<Actor> {
        Actor::written(&self.actor)
    }

    /// Whether this actor made it.
    pub(super) fn is_by(&self, actor: &Actor) -> bool {
        self.actor == actor.to_string()
    }

    fn shown(self, id: Uuid, filed: Option<Filed>) -> Decision {
        let Self {
            at,
            actor,
            ruling,
            check,
            digest,
            verdict,
            verdict_reason,
            name,
            case,
            reason,
            matched_later,
            covered,
            best_match,
            batch,
            assignee,
            previous_id,
        } = self;
        Decision {
            id: id.to_string(),
            created_at: at,
            actor,
            ruling,
            check,
            digest,
            verdict,
            verdict_reason,
            name,
            case,
            reason,
            filed,
            text: None,
            state: None,
            decision_id: None,
            watch_expires_at: None,
            matched_later,
            covered,
            best_match,
            batch,
            assignee,
            previous_id,
        }
    }
}

/// The first book that a report shows, of those that are more than information.
fn best_match(report: &Report) -> Option<BestMatch> {
    let mut matches = report.matches.iter();
    let best = matches.find(|found| found.informational.is_none())?;
    Some(BestMatch {
        library: best.book.library.clone(),
        id: best.book.id.clone(),
        title: best.book.title.clone(),
    })
}

/// A check that is to be filed.
pub(super) struct MadeCheck {
    pub(super) filed: Filed,
    /// What it looked up.
    pub(super) asked: Asked,
    /// The last entry of the audit log before it was made.
    pub(super) since: u64,
}

/// The register of checks and decisions ([`Catalogue::decisions`]). Who has an [`Editor`] adds to it.
#[derive(Debug, Clone)]
pub struct Decisions<C>(pub(super) C);

impl Decisions<Editor<'_>> {
    /// Checks a text with its headings, or gems, and files the report if the options ask for it. The report names the entry.
    ///
    /// # Errors
    /// Those of [`Checks::report`](crate::Checks::report), and [`CatalogueError::TooLong`].
    pub fn check(
        &self,
        query: &Query,
        headings: &[Heading],
        options: &CheckOptions,
    ) -> Result<Report, CatalogueError> {
        let mut report = match options.record.clone() {
            Some(case) => return self.file(query, headings, options, case),
            None => self.0.checks().report(query, options)?,
        };
        report.locate_in(query.as_text(), headings);
        Ok(report)
    }

    fn file(
        &self,
        query: &Query,
        headings: &[Heading],
        options: &CheckOptions,
        case: Case,
    ) -> Result<Report, CatalogueError> {
        if let Some(report) = self.filed_before()? {
            return Ok(report);
        }
        check_lengths(case.name.as_deref(), case.reference.as_deref(), None)?;
        self.0.batches().check_case(&case)?;
        let mut check = self.checked(query, headings, options)?;
        let at = Timestamp::now();
        let id = new_id(at);
        let report = &mut check.filed.report;
        report.filed = Some(id.to_string());
        let digest = query.digest();
        let entry = StoredDecision::of_check(id, at, &self.0.actor, case, digest, report);
        self.write_check(id, &entry, check, query.as_text(), headings)
    }

    /// The report that the request was answered with, if it was made before.
    fn filed_before(&self) -> Result<Option<Report>, CatalogueError> {
        let Some(id) = self.0.answered_before::<String>()? else {
            return Ok(None);
        };
        let filed = self.filed(parsed(&id)?)?.ok_or_else(|| missing(&id))?;
        Ok(Some(filed.report))
    }

    /// Makes the check that is to be filed: its report has positions.
    pub(super) fn checked(
        &self,
        query: &Query,
        headings: &[Heading],
        options: &CheckOptions,
    ) -> Result<MadeCheck, CatalogueError> {
        // The day is part of what the answer depends on.
        let options = CheckOptions {
            day: Some(options.day.unwrap_or_else(super::check::today)),
            ..options.clone()
        };
        let since = self.0.store.last_audited()?;
        let snapshot = self.0.store.snapshot();
        let checks = self.0.checks();
        let (mut report, asked) = checks.report_with_query(&*snapshot, query, &options)?;
        let text = query.as_text();
        report.locate_in(text, headings);
        let filed = Filed {
            other_libraries: other_libraries(&report),
            book_digests: digests_of_books(&*snapshot, &report)?,
            report,
            catalogue_id: catalogue_id(&self.0)?.to_string(),
            catalogue_digest: digest_of_catalogue(&self.0, &*snapshot)?,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            library: options.library.map(Into::into),
            limit: options.limit,
            detail: options.detail,
            bytes: text.map(|text| text.len() as u64),
            clean: query.clean(),
            policy: options.policy,
        };
        Ok(MadeCheck {
            filed,
            asked,
            since,
        })
    }

    /// Writes a filed check with its text and its gems, or without what there is no room for.
    pub(super) fn write_check(
        &self,
        id: Uuid,
        entry: &StoredDecision,
        mut check: MadeCheck,
        text: Option<&str>,
        headings: &[Heading],
    ) -> Result<Report, CatalogueError> {
        let turn = self.turn_to_file(text, entry)?;
        let turn = turn.as_ref();
        // Another server may have had the turn before.
        if let Some(report) = self.filed_before()? {
            return Ok(report);
        }
        let gems = self.0.watches().changes_to_watch(id, entry, &check)?;
        let evidence = self.0.evidence();
        let kept = text.map(|text| evidence.changes_to_keep(id, entry, text, headings));
        let kept = kept.transpose()?.flatten();
        let filed = &mut check.filed;
        if gems.is_some() || kept.is_some() {
            filed.report.text_kept = text.map(|_| kept.is_some());
            let is_watched = gems.is_some();
            let changes = gems.into_iter().chain(kept).flatten().collect();
            match self.write_filed(id, entry, filed, changes, is_watched, turn) {
                Ok(()) => return Ok(check.filed.report),
                Err(CatalogueError::Store(StoreError::DiskFull(_) | StoreError::Full { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        filed.report.text_kept = text.map(|_| false);
        self.write_filed(id, entry, filed, Vec::new(), false, turn)?;
        Ok(check.filed.report)
    }

    /// The turn in which a check is filed, if its gems or its text may be kept. A request that takes effect once has it anyway for
    /// a text: another server may keep texts, and have begun the same request before. A batch counts its checks.
    fn turn_to_file(
        &self,
        text: Option<&str>,
        entry: &StoredDecision,
    ) -> Result<Option<Turn<'_>>, CatalogueError> {
        let keeps_text = self.0.evidence.days > 0 || self.0.once().is_some();
        let has_turn = self.0.watching.days > 0 || text.is_some() && keeps_text;
        let has_turn = has_turn || entry.batch.is_some();
        has_turn
            .then(|| self.0.turn(&self.0.filing_evidence, EVIDENCE))
            .transpose()
    }

    /// Writes a filed check with the answer to its request, and with the changes that keep its text and its gems.
    fn write_filed(
        &self,
        id: Uuid,
        entry: &StoredDecision,
        filed: &Filed,
        mut changes: Vec<RowChange>,
        is_watched: bool,
        turn: Option<&Turn<'_>>,
    ) -> Result<(), CatalogueError> {
        changes.push(put(Table::Decisions, key(b"f", id), filed));
        changes.extend(self.0.check_queue().state_changes(id, entry, is_watched)?);
        if let (Some(batch), Some(name)) = (&entry.batch, &entry.name) {
            changes.extend(self.0.batches().changes_of_check(batch, name, id)?);
        }
        changes.extend(self.0.keep_answer(&filed.report.filed)?);
        self.write(id, entry, Some(filed), changes, turn, false)
    }

    /// Records what was decided about a filed check.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchDecision`], [`CatalogueError::BadDecision`], [`CatalogueError::BadAssignee`],
    /// [`CatalogueError::NothingToWithdraw`] and [`CatalogueError::TooLong`].
    pub fn decide(
        &self,
        new: &NewDecision,
        by: Option<&Actor>,
    ) -> Result<Decision, CatalogueError> {
        if let Some(decision) = self.0.answered_before()? {
            return Ok(decision);
        }
        check_lengths(None, None, Some(&new.reason))?;
        if !is_complete(new) {
            return Err(CatalogueError::BadDecision);
        }
        let (check, about) = self.entry_of(&new.check, by)?;
        let filed = self
            .filed(check)?
            .filter(|_| about.ruling == Ruling::Checked);
        let filed = filed.ok_or_else(|| CatalogueError::NoSuchDecision(new.check.clone()))?;
        let turn = self.0.turn(&self.0.filing_evidence, EVIDENCE)?;
        // Another server may have had the turn before.
        if let Some(decision) = self.0.answered_before()? {
            return Ok(decision);
        }
        let queue = self.0.check_queue();
        let previous_id = match new.ruling {
            Ruling::Withdrawn => Some(queue.holds_again(check, &self.0.actor, by)?),
            Ruling::Assigned => {
                let assignee = new.assignee.as_deref();
                queue.may_assign(assignee, (check, &about), &self.0.actor, by)?;
                None
            }
            _ => queue.last_of(check)?,
        };
        let at = queue.time_after(check, about.at)?;
        let id = new_id(at);
        let reason = Some(new.reason.clone()).filter(|reason| !reason.trim().is_empty());
        let kept = StoredDecision {
            at,
            actor: self.0.actor.to_string(),
            ruling: new.ruling,
            reason,
            assignee: new.assignee.clone(),
            previous_id,
            ..about
        };
        let decision = kept.clone().shown(id, None);
        let mut changes = self.0.keep_answer(&decision)?;
        if queue.is_up_to(new.ruling, check, by)? {
            changes.extend(queue.state_changes(id, &kept, false)?);
        }
        self.write(id, &kept, Some(&filed), changes, Some(&turn), false)?;
        Ok(decision)
    }

    /// Writes an entry with its search keys and its audit log entry, perhaps in a turn.
    fn write(
        &self,
        id: Uuid,
        kept: &StoredDecision,
        filed: Option<&Filed>,
        mut changes: Vec<RowChange>,
        turn: Option<&Turn<'_>>,
        imported: bool,
    ) -> Result<(), CatalogueError> {
        changes.extend(rows_of_entry(id, kept, filed)?);
        let action = action_of(id, kept, imported);
        match turn {
            Some(turn) => turn.apply(&self.0.actor, &changes, &[action])?,
            None => self.0.apply_once(&changes, &[action])?,
        }
        Ok(())
    }

    /// What records, in the turn of filing, that a check matches a book which was added later; `None` if it is known.
    pub(super) fn changes_of_match(
        &self,
        check: Uuid,
        book: &Record,
    ) -> Result<Option<(Vec<RowChange>, Action)>, CatalogueError> {
        let Some(about) = self.entry(check)? else {
            return Ok(None);
        };
        if self.is_because_of(&book.key, check)? {
            return Ok(None);
        }
        let queue = self.0.check_queue();
        let at = queue.time_after(check, about.at)?;
        let id = new_id(at);
        let kept = about.of_match(at, book);
        let mut changes = rows_of_entry(id, &kept, None)?;
        changes.extend(queue.state_changes(id, &kept, false)?);
        Ok(Some((changes, action_of(id, &kept, false))))
    }

    /// Adds an entry of an export, unless it is there already. Returns `false` if another one with this id is there.
    pub(super) fn import(&self, decision: Decision) -> Result<bool, CatalogueError> {
        let Decision {
            id,
            created_at: at,
            actor,
            ruling,
            check,
            digest,
            verdict,
            verdict_reason,
            name,
            case,
            reason,
            filed,
            matched_later,
            covered,
            best_match,
            batch,
            assignee,
            previous_id,
            ..
        } = decision;
        let (id, check) = (parsed(&id)?, parsed(&check)?);
        check_lengths(name.as_deref(), case.as_deref(), reason.as_deref())?;
        let check_id = check.to_string();
        let kept = StoredDecision {
            at,
            actor,
            ruling,
            check: check_id,
            digest,
            verdict,
            verdict_reason,
            name,
            case,
            reason,
            // Of a check, they are said by other entries.
            matched_later: matched_later.filter(|_| ruling == Ruling::Matched),
            assignee: assignee.filter(|_| ruling == Ruling::Assigned),
            covered,
            best_match,
            batch,
            previous_id,
        };
        if let Some(known) = self.entry(id)? {
            return Ok(known == kept);
        }
        let of_check = if filed.is_none() {
            self.filed(check)?
        } else {
            None
        };
        let mut changes = self.0.check_queue().state_changes(id, &kept, false)?;
        changes.extend(
            filed
                .iter()
                .map(|filed| put(Table::Decisions, key(b"f", id), filed)),
        );
        let filed = filed.as_ref().or(of_check.as_ref());
        self.write(id, &kept, filed, changes, None, true)?;
        Ok(true)
    }
}

impl<C: Deref<Target = Catalogue>> Decisions<C> {
    /// An entry, with the check if it is one. `by`: only if this actor sees it.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchDecision`].
    pub fn get(&self, id: &str, by: Option<&Actor>) -> Result<Decision, CatalogueError> {
        let (id, kept) = self.entry_of(id, by)?;
        let (filed, text) = (self.filed(id)?, self.0.evidence().kept(id, &kept, by)?);
        let watch_expires_at = self.0.watches().until(id)?;
        let mut shown = kept.shown(id, filed);
        self.0.check_queue().add_states([&mut shown])?;
        Ok(Decision {
            text,
            watch_expires_at,
            ..shown
        })
    }

    /// A page of entries. `by`: only those that this actor sees. The work of a call is bounded.
    ///
    /// # Errors
    /// [`CatalogueError::BadCursor`].
    pub fn page(
        &self,
        sought: &SoughtDecisions,
        by: Option<&Actor>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<DecisionPage, CatalogueError> {
        let prefix = sought.prefix();
        let of_book = sought.book.as_ref().filter(|_| sought.digest.is_some());
        let (first, end) = sought.day.map(days).unzip();
        let end = end.map(first_id);
        let after = after(first.map(first_id), cursor)?.map(|after| key(&prefix, after));
        let rows = self
            .0
            .store
            .page(Table::Decisions, &prefix, after.as_deref(), MOST_READ)?;
        let (mut decisions, mut last, read) = (Vec::new(), None, rows.len());
        let mut is_full = false;
        for (row, _) in rows {
            let Some(id) = id_of(&row) else { continue };
            if end.is_some_and(|end| id >= end) {
                last = None;
                break;
            }
            is_full = decisions.len() == limit;
            if is_full {
                break;
            }
            last = Some(id);
            decisions.extend(self.decision_of(id, of_book, by)?);
        }
        self.0.check_queue().add_states(&mut decisions)?;
        let next_cursor = last
            .filter(|_| is_full || read == MOST_READ)
            .map(|id| id.to_string());
        Ok(DecisionPage {
            decisions,
            next_cursor,
        })
    }

    /// The filed checks with these ids, without their reports.
    pub(super) fn listed(&self, ids: &[Uuid]) -> Result<Vec<Option<Decision>>, CatalogueError> {
        let mut listed = Vec::with_capacity(ids.len());
        for id in ids {
            listed.push(self.entry(*id)?.map(|entry| entry.shown(*id, None)));
        }
        let checks = listed.iter_mut().flatten();
        self.0.check_queue().add_states(checks)?;
        Ok(listed)
    }

    /// The decision of this id, if it is about this book and this viewer sees it.
    fn decision_of(
        &self,
        id: Uuid,
        book: Option<&BookKey>,
        by: Option<&Actor>,
    ) -> Result<Option<Decision>, CatalogueError> {
        let Some(stored) = self.entry(id)? else {
            return Ok(None);
        };
        let is_of_book = match book {
            Some(book) => self.is_of_book(book, id)?,
            None => true,
        };
        Ok((is_of_book && self.is_seen(&stored, by)?).then(|| stored.shown(id, None)))
    }

    /// Passes on all entries, oldest first.
    pub(super) fn each(
        &self,
        mut each: impl FnMut(Decision) -> Result<(), CatalogueError>,
    ) -> Result<(), CatalogueError> {
        for row in rows(&*self.0.store, Table::Decisions, b"r", MOST_READ) {
            let (key, value) = row?;
            let id = id_of(&key).unwrap_or_default();
            let kept: StoredDecision = read(&value, id)?;
            each(kept.shown(id, self.filed(id)?))?;
        }
        Ok(())
    }

    pub(super) fn entry(&self, id: Uuid) -> Result<Option<StoredDecision>, CatalogueError> {
        self.row(b"r", id)
    }

    fn filed(&self, id: Uuid) -> Result<Option<Filed>, CatalogueError> {
        self.row(b"f", id)
    }

    pub(super) fn row<T: for<'a> Deserialize<'a>>(
        &self,
        kind: &[u8],
        id: Uuid,
    ) -> Result<Option<T>, CatalogueError> {
        let value = self.0.row(Table::Decisions, &key(kind, id))?;
        value.map(|value| read(&value, id)).transpose()
    }

    /// The numbers in a row, which are zero if it is missing.
    pub(super) fn stats_in<T: for<'a> Deserialize<'a> + Default>(
        &self,
        row: &[u8],
    ) -> Result<T, CatalogueError> {
        let value = self.0.row(Table::Decisions, row)?;
        let stats = value.map(|value| read(&value, Uuid::nil())).transpose()?;
        Ok(stats.unwrap_or_default())
    }

    /// Whether a person decides about a check because of a book, among others: it was known then, or told later.
    pub(super) fn is_because_of(
        &self,
        book: &BookKey,
        check: Uuid,
    ) -> Result<bool, CatalogueError> {
        let row = cause_row(check, book.library.as_str(), book.id.as_str());
        Ok(self.0.row(Table::Decisions, &row)?.is_some())
    }

    fn is_of_book(&self, book: &BookKey, id: Uuid) -> Result<bool, CatalogueError> {
        let prefix = book_prefix(book.library.as_str(), book.id.as_str());
        Ok(self.0.row(Table::Decisions, &key(&prefix, id))?.is_some())
    }

    pub(super) fn entry_of(
        &self,
        id: &str,
        by: Option<&Actor>,
    ) -> Result<(Uuid, StoredDecision), CatalogueError> {
        let parsed = parsed(id)?;
        match self.entry(parsed)? {
            Some(stored) if self.is_seen(&stored, by)? => Ok((parsed, stored)),
            _ => Err(missing(id)),
        }
    }

    /// The id of a filed check that an actor sees.
    pub(super) fn seen_check(&self, id: &str, by: Option<&Actor>) -> Result<Uuid, CatalogueError> {
        match self.entry_of(id, by)? {
            (check, entry) if entry.ruling == Ruling::Checked => Ok(check),
            _ => Err(missing(id)),
        }
    }

    /// Whether an actor sees an entry: one that it made, or about a check that it filed or reviews.
    fn is_seen(&self, entry: &StoredDecision, by: Option<&Actor>) -> Result<bool, CatalogueError> {
        let Some(by) = by else { return Ok(true) };
        if entry.is_by(by) {
            return Ok(true);
        }
        let check = parsed(&entry.check)?;
        if entry.ruling != Ruling::Checked {
            let filed = self.entry(check)?;
            if filed.is_some_and(|filed| filed.is_by(by)) {
                return Ok(true);
            }
        }
        self.matches_library_of(check, by)
    }

    /// Whether a check matched a book of the libraries that an actor reviews.
    fn matches_library_of(&self, check: Uuid, by: &Actor) -> Result<bool, CatalogueError> {
        self.matches_any_of(check, &self.0.keys().reviewed_by(by)?)
    }

    /// Whether a check matched a book of these libraries which counts for whoever asked.
    fn matches_any_of<'l>(
        &self,
        check: Uuid,
        libraries: impl IntoIterator<Item = &'l Library>,
    ) -> Result<bool, CatalogueError> {
        let libraries = libraries.into_iter();
        let keys: Vec<Vec<u8>> = libraries
            .map(|library| key(&library_prefix(library.as_str()), check))
            .collect();
        let rows = self.0.rows_of(Table::Decisions, &keys)?;
        Ok(rows.iter().any(Option::is_some))
    }
}

/// An entry with its search keys.
fn rows_of_entry(
    id: Uuid,
    kept: &StoredDecision,
    filed: Option<&Filed>,
) -> Result<Vec<RowChange>, CatalogueError> {
    let check = parsed(&kept.check)?;
    let (mut libraries, mut keys) = (filed.map(libraries_of).unwrap_or_default(), Vec::new());
    let mut causes = Vec::new();
    for (library, book) in filed.map(books_of).unwrap_or_default() {
        keys.push(key(&book_prefix(&library, &book), id));
    }
    if let Some(LaterMatch {
        library, id: book, ..
    }) = &kept.matched_later
    {
        libraries.insert(library);
        let cause = cause_row(check, library, book);
        causes.push(RowChange::put(
            Table::Decisions,
            cause,
            id.as_bytes().as_slice(),
        ));
        let book = book_prefix(library, book);
        keys.extend([check, id].map(|id| key(&book, id)));
    }
    let matches = filed.map_or(&[][..], |filed| &filed.report.matches);
    for found in matches
        .iter()
        .filter(|found| found.decides() && needs_person(found.book.rights))
    {
        keys.push(cause_row(check, &found.book.library, &found.book.id));
    }
    for library in libraries {
        keys.push(key(&library_prefix(library), check));
    }
    keys.push(key(&digest_prefix(&kept.digest), id));
    let rows = keys.into_iter();
    let rows = rows.map(|row| RowChange::put(Table::Decisions, row, ""));
    Ok(rows
        .chain(causes)
        .chain([put(Table::Decisions, key(b"r", id), kept)])
        .collect())
}

/// The entry of the audit log for an entry.
fn action_of(id: Uuid, kept: &StoredDecision, imported: bool) -> Action {
    Action::Decided {
        decision: id.to_string(),
        ruling: kept.ruling.as_str().to_owned(),
        check: kept.check.clone(),
        digest: kept.digest.clone(),
        imported,
    }
}

/// A digest of all that the answer of a check depends on.
fn digest_of_catalogue(
    catalogue: &Catalogue,
    snapshot: &dyn Snapshot,
) -> Result<String, CatalogueError> {
    let allowances = catalogue.allow_lists().combined()?;
    let rules: Vec<_> = snapshot
        .recipes()
        .iter()
        .map(|recipe| catalogue.rule.on(recipe.rule()))
        .collect();
    let (libraries, recipes) = (snapshot.libraries()?, recipe_stats(snapshot)?);
    let libraries: Vec<_> = libraries.iter().map(|library| &**library).collect();
    let state = (
        libraries,
        recipes,
        allowances.versions(),
        rules,
        catalogue.libraries().statements()?,
    );
    Ok(digest_of(&serde_json::to_vec(&state).unwrap_or_default()))
}

/// The id of the catalogue, which it gets if it has none.
pub(super) fn catalogue_id(editor: &Editor<'_>) -> Result<Uuid, CatalogueError> {
    if let Some(id) = known_id(editor)? {
        return Ok(id);
    }
    let turn = editor.turn(&editor.changing_settings, SETTINGS)?;
    // Another server may have been first.
    if let Some(id) = known_id(editor)? {
        return Ok(id);
    }
    let id = new_id(Timestamp::now());
    let change = RowChange::put(Table::Decisions, "i", id.as_bytes().as_slice());
    turn.apply(&editor.actor, &[change], &[])?;
    Ok(id)
}

fn known_id(catalogue: &Catalogue) -> Result<Option<Uuid>, CatalogueError> {
    let id = catalogue.row(Table::Decisions, b"i")?;
    Ok(id.and_then(|id| Uuid::from_slice(&id).ok()))
}

/// The digests of the texts of the first books that a report shows.
fn digests_of_books(
    snapshot: &dyn Snapshot,
    report: &Report,
) -> Result<Vec<String>, CatalogueError> {
    let mut digests = Vec::new();
    for found in report.matches.iter().take(compared(&report.matches)) {
        let key = BookKey {
            library: found.book.library.clone().try_into()?,
            id: found.book.id.clone().try_into()?,
        };
        let stored = StoredBook::find(snapshot, &key)?;
        digests.push(
            stored
                .map(|stored| stored.record.digest)
                .unwrap_or_default(),
        );
    }
    Ok(digests)
}

/// The books that a check matched and showed.
fn books_of(filed: &Filed) -> BTreeSet<(String, String)> {
    filed
        .report
        .matches
        .iter()
        .map(|found| (found.book.library.clone(), found.book.id.clone()))
        .collect()
}

/// The libraries with a book that a check matched, shown or not, and that counts for whoever asked. Whoever asks by a policy of
/// their own hides nothing by it.
fn libraries_of(filed: &Filed) -> BTreeSet<&str> {
    let matches = filed.report.matches.iter();
    let shown = matches.filter(|found| {
        found
            .informational
            .is_none_or(InformationalReason::is_of_policy)
    });
    let hidden = filed.other_libraries.iter().map(String::as_str);
    shown
        .map(|found| found.book.library.as_str())
        .chain(hidden)
        .collect()
}

/// The libraries of matches that a report does not show.
fn other_libraries(report: &Report) -> Vec<String> {
    let of_shown = |library: &&Library| {
        let mut shown = report.matches.iter();
        shown.any(|found| found.book.library == library.as_str())
    };
    let others = report.libraries.iter().filter(|library| !of_shown(library));
    others.map(ToString::to_string).collect()
}

pub(super) fn key(prefix: &[u8], id: Uuid) -> Vec<u8> {
    [prefix, id.as_bytes()].concat()
}

/// The id at the end of a key.
pub(super) fn id_of(key: &[u8]) -> Option<Uuid> {
    key.last_chunk::<ID_BYTES>().map(|id| Uuid::from_bytes(*id))
}

fn digest_prefix(digest: &str) -> Vec<u8> {
    [b"d", digest.as_bytes(), b"\0"].concat()
}

fn book_prefix(library: &str, book: &str) -> Vec<u8> {
    [b"b", library.as_bytes(), b"\0", book.as_bytes(), b"\0"].concat()
}

fn cause_row(check: Uuid, library: &str, book: &str) -> Vec<u8> {
    let book = [library.as_bytes(), b"\0", book.as_bytes()].concat();
    [key(b"m", check), book].concat()
}

/// Whether a person decides about a text that matches a book with these rights.
pub(super) fn needs_person(rights: Rights) -> bool {
    rights.forbids() || rights == Rights::Unknown
}

fn library_prefix(library: &str) -> Vec<u8> {
    [b"l", library.as_bytes(), b"\0"].concat()
}

/// The beginning of a day, and of the next.
fn days(day: Date) -> (Timestamp, Timestamp) {
    (start_of(day), start_of(day.saturating_add(1.day())))
}

fn start_of(day: Date) -> Timestamp {
    day.to_zoned(TimeZone::UTC)
        .map_or(Timestamp::MAX, |begin| begin.timestamp())
}

/// Whether a new decision says what its ruling needs, and nothing else.
fn is_complete(new: &NewDecision) -> bool {
    let has_reason = !new.reason.trim().is_empty();
    match new.ruling {
        Ruling::Checked | Ruling::Matched => false,
        Ruling::Accepted | Ruling::Refused | Ruling::Appealed => {
            has_reason && new.assignee.is_none()
        }
        Ruling::Withdrawn => new.assignee.is_none(),
        Ruling::Assigned => true,
    }
}

/// What was said of a case and of a decision must not be too long.
fn check_lengths(
    name: Option<&str>,
    case: Option<&str>,
    reason: Option<&str>,
) -> Result<(), TooLong> {
    for (what, said, most) in [
        ("the name", name, REFERENCE_BYTES),
        ("the case", case, REFERENCE_BYTES),
        ("the reason", reason, NOTE_BYTES),
    ] {
        if said.is_some_and(|said| said.len() > most) {
            return Err(TooLong::bytes(what, most));
        }
    }
    Ok(())
}

pub(super) fn parsed(id: &str) -> Result<Uuid, CatalogueError> {
    id.parse().map_err(|_| missing(id))
}

pub(super) fn missing(id: &str) -> CatalogueError {
    CatalogueError::NoSuchDecision(id.chars().take(64).collect())
}

pub(super) fn read<T: for<'a> Deserialize<'a>>(
    value: &[u8],
    id: Uuid,
) -> Result<T, CatalogueError> {
    serde_json::from_slice(value).map_err(|_| damaged(id))
}

pub(super) fn damaged(id: Uuid) -> CatalogueError {
    CatalogueError::BadSetting {
        kind: Table::Decisions.as_str(),
        name: id.to_string(),
    }
}

/// The last id before a page: that of the page before, or the one before the first that is sought.
fn after(first: Option<Uuid>, cursor: Option<&str>) -> Result<Option<Uuid>, CatalogueError> {
    let cursor = cursor.map(str::parse::<Uuid>).transpose();
    let cursor = cursor.map_err(|_| CatalogueError::BadCursor)?;
    let before_first = first.and_then(|first| first.as_u128().checked_sub(1));
    Ok(cursor.max(before_first.map(Uuid::from_u128)))
}
