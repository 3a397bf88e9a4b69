//! The texts of filed checks. A server keeps them for some days, so that the reports go on to show what they are about.
//!
//! They are in [`Table::Decisions`], with these keys:
//!
//! ```text
//! k           → how many texts are kept, and their bytes, JSON
//! k actor     → the same of the checks that this actor filed
//! e id        → the lengths of a text and of its headings, and when it expires, JSON
//! u time id   → nothing: the texts as they expire; times are in milliseconds, u64, big-endian
//! t id number → a piece of the text, or of its headings behind it; numbers are u32, big-endian
//! ```

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Once};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::decisions::{StoredDecision, damaged, id_of, key, missing, read};
use super::{Catalogue, CatalogueError, Editor};
use crate::api::{EvidenceStats, KeptText};
use crate::copy::rows;
use crate::digest::digest_of;
use crate::settings::put;
use crate::sharing::{EVIDENCE, Turn};
use crate::watches::WatchEnd;
use lapidary_extract::Heading;
use lapidary_store::{Action, Actor, RowChange, Table};

/// What the keys of the pieces of texts begin with.
const TEXT: &[u8] = b"t";
/// Length of a piece in bytes: whatever reads a page of rows then needs little memory.
const PIECE: usize = 64 << 10;
/// Number of pieces that are read at a time to delete a text of unknown length.
const PIECES: usize = 16;
/// Number of expired texts, or watched checks, that are deleted in one step.
pub(super) const AT_ONCE: usize = 16;
/// How often to look for expired texts.
const LOOK: Duration = Duration::from_mins(1);
const HOURS_OF_DAY: i64 = 24;
/// What is kept of one actor may take this many times what is still free, so that there is room for those of others.
const THRESHOLD: u64 = 2;
/// Tells the log once that texts are not kept.
static FULL: Once = Once::new();

/// How long texts of filed checks are kept, and how many. By default, none is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct EvidenceLimits {
    /// For this many days. With 0, none is kept from now on.
    pub days: u32,
    /// The most bytes that they take together, before compression.
    pub bytes: u64,
}

impl EvidenceLimits {
    /// Whether all texts may take so many bytes, and those of one actor so many of them.
    fn allow(self, all: u64, own: u64) -> bool {
        is_fair(self.bytes, all, own)
    }

    /// Whether checks are filed without their texts, or will soon be: one actor alone may take two thirds.
    pub(crate) fn are_nearly_reached(self, stats: EvidenceStats) -> bool {
        self.days > 0 && stats.bytes > self.bytes / 2
    }
}

/// A text that was checked, with its headings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedText {
    /// The text.
    pub text: String,
    /// Its headings, if its file had any.
    pub headings: Vec<Heading>,
}

/// What is kept of a text. Its headings are JSON.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct StoredEvidence {
    /// Its length in bytes.
    text: u64,
    /// That of its headings.
    headings: u64,
    /// When it expires.
    until: Timestamp,
}

impl StoredEvidence {
    fn sum(self) -> u64 {
        self.text + self.headings
    }

    /// The keys of all pieces of the text of a check.
    fn pieces(self, id: Uuid) -> impl Iterator<Item = Vec<u8>> {
        piece_keys(TEXT, id, pieces_of(self.text) + pieces_of(self.headings))
    }
}

/// When something expires that is kept for so many days from a time on.
pub(super) fn days_after(time: Timestamp, days: u32) -> Timestamp {
    let days = SignedDuration::from_hours(HOURS_OF_DAY * i64::from(days));
    time.checked_add(days).unwrap_or(Timestamp::MAX)
}

/// Whether so much may be kept in all, and so much of it of one actor.
pub(super) fn is_fair(most: u64, all: u64, own: u64) -> bool {
    own <= THRESHOLD * most.saturating_sub(all)
}

/// How many pieces so many bytes have.
pub(super) fn pieces_of(bytes: u64) -> u32 {
    bytes.div_ceil(PIECE as u64) as u32
}

/// The pieces of what is kept of a check, as they are written.
pub(super) fn pieces(kind: &[u8], id: Uuid, parts: &[&[u8]]) -> Vec<RowChange> {
    let pieces = parts.iter().flat_map(|part| part.chunks(PIECE));
    (0..)
        .zip(pieces)
        .map(|(number, piece)| RowChange::put(Table::Decisions, piece_key(kind, id, number), piece))
        .collect()
}

/// The keys of so many pieces.
pub(super) fn piece_keys(kind: &[u8], id: Uuid, pieces: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..pieces).map(move |number| piece_key(kind, id, number))
}

/// Changes that delete texts.
#[derive(Default)]
struct EvidenceDeletion {
    changes: Vec<RowChange>,
    /// The ids of their checks.
    checks: Vec<String>,
    all: EvidenceStats,
    /// What is then left of the actors who filed the checks.
    own: BTreeMap<String, EvidenceStats>,
}

/// The kept texts of filed checks ([`Catalogue::evidence`]).
#[derive(Debug, Clone)]
pub struct Evidence<C>(pub(super) C);

impl Evidence<Editor<'_>> {
    /// What keeps the text of a check, in its turn; `None` if texts are not kept, or there is no room for it.
    pub(super) fn changes_to_keep(
        &self,
        id: Uuid,
        entry: &StoredDecision,
        text: &str,
        headings: &[Heading],
    ) -> Result<Option<Vec<RowChange>>, CatalogueError> {
        let limits = self.0.evidence;
        if limits.days == 0 {
            return Ok(None);
        }
        let headings = serde_json::to_vec(headings).map_err(|_| damaged(id))?;
        let evidence = StoredEvidence {
            text: text.len() as u64,
            headings: headings.len() as u64,
            until: days_after(entry.at, limits.days),
        };
        let mut all = self.stats()?;
        let mut own = self.stats_of(&entry.actor)?;
        for stats in [&mut all, &mut own] {
            stats.texts += 1;
            stats.bytes += evidence.sum();
        }
        if !limits.allow(all.bytes, own.bytes) {
            FULL.call_once(|| tell_of_full(limits));
            return Ok(None);
        }
        let mut changes = pieces(TEXT, id, &[text.as_bytes(), &headings]);
        changes.extend([
            put(Table::Decisions, key(b"e", id), &evidence),
            RowChange::put(Table::Decisions, expiry_key(b"u", evidence.until, id), ""),
            put(Table::Decisions, b"k", &all),
            put(Table::Decisions, stats_key(&entry.actor), &own),
        ]);
        Ok(Some(changes))
    }

    /// The kept text of a check, `None` if there is none any more. `by`: only if this actor sees the check. The audit log says
    /// who read it.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchDecision`].
    pub fn read(
        &self,
        check: &str,
        by: Option<&Actor>,
    ) -> Result<Option<CheckedText>, CatalogueError> {
        self.read_through(None, check, by)
    }

    /// The same for whoever followed a link, as what the maker of the link sees. The audit log names the link.
    pub fn read_through(
        &self,
        link: Option<&str>,
        check: &str,
        by: Option<&Actor>,
    ) -> Result<Option<CheckedText>, CatalogueError> {
        let (id, entry) = self.0.decisions().entry_of(check, by)?;
        let Some(evidence) = self.stored(id, &entry, by, Timestamp::now())? else {
            return Ok(None);
        };
        let keys: Vec<Vec<u8>> = evidence.pieces(id).collect();
        let mut content = Vec::with_capacity(evidence.sum() as usize);
        for piece in self.0.rows_of(Table::Decisions, &keys)? {
            // It may be deleted at this moment.
            let Some(piece) = piece else { return Ok(None) };
            content.extend(piece);
        }
        let headings = content.split_off((evidence.text as usize).min(content.len()));
        let headings = read(&headings, id)?;
        let text = String::from_utf8(content).map_err(|_| damaged(id))?;
        let action = Action::EvidenceRead {
            check: id.to_string(),
            link: link.map(ToOwned::to_owned),
        };
        self.0.store.apply(&self.0.actor, &[], &[action])?;
        Ok(Some(CheckedText { text, headings }))
    }

    /// Deletes the kept text of a check, and ends its watch. `by`: only if this actor filed it.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchDecision`] and [`CatalogueError::NoSuchEvidence`].
    pub fn delete(&self, check: &str, by: Option<&Actor>) -> Result<(), CatalogueError> {
        let (id, entry) = self.0.decisions().entry_of(check, by)?;
        if by.is_some_and(|by| !entry.is_by(by)) {
            return Err(missing(check));
        }
        let turn = self.0.turn(&self.0.filing_evidence, EVIDENCE)?;
        let (mut deletion, mut end) = (self.deletion()?, WatchEnd::default());
        let is_kept = self.add_deletion(id, &mut deletion)?;
        let is_watched = self.0.watches().add_end(id, &mut end)?;
        if self.is_of_successor(&entry, by)? || !(is_kept || is_watched) {
            return Err(CatalogueError::NoSuchEvidence(id.to_string()));
        }
        if !is_kept {
            deletion.checks.push(id.to_string());
        }
        deletion.changes.extend(end.finish());
        self.apply_deletion(&turn, deletion, |check| Action::EvidenceDeleted { check })
    }

    /// Deletes some of the texts that have expired by `now`. Returns whether there may be more.
    fn delete_expired(&self, now: Timestamp) -> Result<bool, CatalogueError> {
        if expired(&self.0, b"u", now, 1)?.is_empty() {
            return Ok(false);
        }
        let turn = self.0.turn(&self.0.filing_evidence, EVIDENCE)?;
        let expired = expired(&self.0, b"u", now, AT_ONCE)?;
        let mut deletion = self.deletion()?;
        for row in &expired {
            if let Some(id) = id_of(row) {
                self.add_deletion(id, &mut deletion)?;
            }
            let expiry = RowChange::delete(Table::Decisions, row.as_slice());
            deletion.changes.push(expiry);
        }
        self.apply_deletion(&turn, deletion, |check| Action::EvidenceExpired { check })?;
        Ok(expired.len() == AT_ONCE)
    }

    fn deletion(&self) -> Result<EvidenceDeletion, CatalogueError> {
        Ok(EvidenceDeletion {
            all: self.stats()?,
            ..EvidenceDeletion::default()
        })
    }

    /// Adds a text to those that are deleted. Returns whether it was there.
    fn add_deletion(
        &self,
        id: Uuid,
        deletion: &mut EvidenceDeletion,
    ) -> Result<bool, CatalogueError> {
        let row = key(b"e", id);
        if self.0.row(Table::Decisions, &row)?.is_none() {
            return Ok(false);
        }
        let (mut keys, bytes) = match readable(self.0.decisions().row::<StoredEvidence>(b"e", id))?
        {
            Some(evidence) => {
                let mut keys: Vec<Vec<u8>> = evidence.pieces(id).collect();
                keys.push(expiry_key(b"u", evidence.until, id));
                (keys, evidence.sum())
            }
            None => pieces_found(&self.0, TEXT, id)?,
        };
        keys.push(row);
        let deleted = keys
            .into_iter()
            .map(|key| RowChange::delete(Table::Decisions, key));
        deletion.changes.extend(deleted);
        deletion.checks.push(id.to_string());
        uncount(&mut deletion.all, bytes);
        if let Some(entry) = readable(self.0.decisions().entry(id))? {
            if !deletion.own.contains_key(&entry.actor) {
                let own = self.stats_of(&entry.actor)?;
                deletion.own.insert(entry.actor.clone(), own);
            }
            let own = deletion.own.entry(entry.actor).or_default();
            uncount(own, bytes);
        }
        Ok(true)
    }

    fn apply_deletion(
        &self,
        turn: &Turn<'_>,
        deletion: EvidenceDeletion,
        action: fn(String) -> Action,
    ) -> Result<(), CatalogueError> {
        let EvidenceDeletion {
            mut changes,
            checks,
            all,
            own,
        } = deletion;
        changes.push(put(Table::Decisions, b"k", &all));
        for (actor, stats) in own {
            let row = stats_key(&actor);
            changes.push(match stats.texts {
                0 => RowChange::delete(Table::Decisions, row),
                _ => put(Table::Decisions, row, &stats),
            });
        }
        let actions: Vec<Action> = checks.into_iter().map(action).collect();
        turn.apply(&self.0.actor, &changes, &actions)?;
        Ok(())
    }
}

impl<C: Deref<Target = Catalogue>> Evidence<C> {
    /// How many texts are kept.
    pub fn stats(&self) -> Result<EvidenceStats, CatalogueError> {
        self.0.decisions().stats_in(b"k")
    }

    fn stats_of(&self, actor: &str) -> Result<EvidenceStats, CatalogueError> {
        self.0.decisions().stats_in(&stats_key(actor))
    }

    /// What is kept of the text of a check, for an actor.
    pub(super) fn kept(
        &self,
        id: Uuid,
        entry: &StoredDecision,
        by: Option<&Actor>,
    ) -> Result<Option<KeptText>, CatalogueError> {
        let evidence = self.stored(id, entry, by, Timestamp::now())?;
        Ok(evidence.map(|evidence| KeptText {
            bytes: evidence.text,
            expires_at: evidence.until,
        }))
    }

    fn stored(
        &self,
        id: Uuid,
        entry: &StoredDecision,
        by: Option<&Actor>,
        now: Timestamp,
    ) -> Result<Option<StoredEvidence>, CatalogueError> {
        let evidence = self.0.decisions().row::<StoredEvidence>(b"e", id)?;
        let Some(evidence) = evidence.filter(|evidence| now < evidence.until) else {
            return Ok(None);
        };
        Ok((!self.is_of_successor(entry, by)?).then_some(evidence))
    }

    /// Whether a check was filed with an earlier key of the name of this actor's. Its text is not for the new one.
    pub(super) fn is_of_successor(
        &self,
        entry: &StoredDecision,
        by: Option<&Actor>,
    ) -> Result<bool, CatalogueError> {
        let own = by.filter(|by| entry.is_by(by));
        let Some(Actor::Key(name)) = own else {
            return Ok(false);
        };
        let since = self.0.keys().since(name)?;
        Ok(since.is_some_and(|since| entry.at < since))
    }
}

/// The keys of the pieces of a check of unknown length, and their bytes.
pub(super) fn pieces_found(
    catalogue: &Catalogue,
    kind: &[u8],
    id: Uuid,
) -> Result<(Vec<Vec<u8>>, u64), CatalogueError> {
    tracing::warn!("what is kept of the filed check {id} is damaged");
    let (mut keys, mut bytes) = (Vec::new(), 0);
    for row in rows(&*catalogue.store, Table::Decisions, &key(kind, id), PIECES) {
        let (key, piece) = row?;
        bytes += piece.len() as u64;
        keys.push(key);
    }
    Ok((keys, bytes))
}

/// The rows of what has expired of a kind, the first ones first.
pub(super) fn expired(
    catalogue: &Catalogue,
    kind: &[u8],
    now: Timestamp,
    most: usize,
) -> Result<Vec<Vec<u8>>, CatalogueError> {
    let rows = catalogue.store.page(Table::Decisions, kind, None, most)?;
    let first_kept = expiry_key(kind, now, Uuid::max());
    let rows = rows.into_iter().map(|(row, _)| row);
    Ok(rows.take_while(|row| *row <= first_kept).collect())
}

/// A row, or `None` if it is damaged.
pub(super) fn readable<T>(
    row: Result<Option<T>, CatalogueError>,
) -> Result<Option<T>, CatalogueError> {
    match row {
        Err(CatalogueError::BadSetting { .. }) => Ok(None),
        row => row,
    }
}

fn uncount(stats: &mut EvidenceStats, bytes: u64) {
    stats.texts = stats.texts.saturating_sub(1);
    stats.bytes = stats.bytes.saturating_sub(bytes);
}

fn tell_of_full(limits: EvidenceLimits) {
    tracing::warn!(
        "texts of filed checks are not kept any more, or not those of some keys: they may take {} bytes together (max-evidence)",
        limits.bytes
    );
}

/// Makes sure that a text is the one that was checked.
///
/// # Errors
/// [`CatalogueError::OtherEvidence`].
pub fn is_evidence(digest: &str, text: &str) -> Result<(), CatalogueError> {
    let found = digest_of(text.as_bytes());
    if found == digest {
        return Ok(());
    }
    let filed = digest.to_owned();
    Err(CatalogueError::OtherEvidence { found, filed })
}

/// Deletes texts of filed checks and ends watches in the background when they expire, until [`Jobs::stop`](crate::Jobs::stop).
pub fn expire_evidence(catalogue: &Arc<Catalogue>) {
    let expiring = Arc::clone(catalogue);
    catalogue.runner.beside(move || {
        loop {
            let (editor, now) = (expiring.by(Actor::Local), Timestamp::now());
            let texts = editor.evidence().delete_expired(now);
            let watches = editor.watches().end_expired(now);
            let more = [texts, watches].into_iter().any(|more| {
                more.unwrap_or_else(|error| {
                    tracing::warn!("what has expired of filed checks is not deleted: {error}");
                    false
                })
            });
            let pause = if more { Duration::ZERO } else { LOOK };
            if !expiring.runner.sleep(pause) {
                return;
            }
        }
    });
}

fn piece_key(kind: &[u8], id: Uuid, number: u32) -> Vec<u8> {
    [kind, id.as_bytes(), &number.to_be_bytes()].concat()
}

fn stats_key(actor: &str) -> Vec<u8> {
    [b"k", actor.as_bytes()].concat()
}

pub(super) fn expiry_key(kind: &[u8], until: Timestamp, id: Uuid) -> Vec<u8> {
    let milliseconds = u64::try_from(until.as_millisecond()).unwrap_or(0);
    key(&[kind, &milliseconds.to_be_bytes()].concat(), id)
}

#[cfg(test)]
mod tests {

    use jiff::ToSpan as _;
    use lapidary_store::{AuditFrom, BookKey, Rights};

    use super::*;
    use crate::api::NewKey;
    use crate::id::new_id;
    use crate::permission::Role;
    use crate::{Case, CheckOptions, Content, NewEntry, OnceRequest, Query, Terms};

    /// A catalogue that keeps texts for a day, so many bytes of them.
    fn keeping(folder: &std::path::Path, bytes: u64) -> Catalogue {
        let limits = EvidenceLimits { days: 1, bytes };
        let catalogue = Catalogue::open_or_create(folder)
            .expect("a catalogue")
            .with_evidence(limits);
        let book = BookKey {
            library: "house".parse().expect("a library"),
            id: "1".parse().expect("an id"),
        };
        let book = NewEntry::new(book, Rights::Free, Content::text("Some text.".to_owned()));
        let editor = catalogue.by(Actor::Local);
        editor.books().add(book).expect("it is added");
        catalogue
    }

    /// Files a check of a text. Returns its id, and whether the text is kept.
    fn file(catalogue: &Catalogue, by: &Actor, text: &str, headings: &[Heading]) -> (String, bool) {
        let options = CheckOptions {
            record: Some(Case::default()),
            ..CheckOptions::default()
        };
        let editor = catalogue.by(by.clone());
        let report = editor
            .decisions()
            .check(&Query::text(text.to_owned()), headings, &options)
            .expect("a report");
        (
            report.filed.expect("it is filed"),
            report.text_kept.expect("it is of a text"),
        )
    }

    /// Whether texts are kept or not, here.
    #[test]
    fn what_another_server_has_answered_meanwhile_is_not_filed_again() {
        for days in [1, 0] {
            let folder = tempfile::tempdir().expect("a folder");
            let bytes = 1 << 20;
            let limits = EvidenceLimits { days, bytes };
            let catalogue = keeping(folder.path(), bytes).with_evidence(limits);
            let once =
                OnceRequest::begin(&catalogue, &Actor::Local, "the name of a request", "", "");
            let terms = Terms::default().once(once.expect("it is new"));
            let editor = catalogue.by(Actor::Local).on(Arc::new(terms));
            let (decisions, query) = (editor.decisions(), Query::text("Some text.".to_owned()));
            let options = CheckOptions {
                record: Some(Case::default()),
                ..CheckOptions::default()
            };
            let checked = decisions.checked(&query, &[], &options).expect("a check");
            let other = decisions.check(&query, &[], &options).expect("a report");
            assert_eq!(other.text_kept, Some(days > 0));
            let (at, case) = (Timestamp::now(), Case::default());
            let (id, by, digest) = (new_id(at), &Actor::Local, query.digest());
            let entry = StoredDecision::of_check(id, at, by, case, digest, &checked.filed.report);
            let report = decisions
                .write_check(id, &entry, checked, query.as_text(), &[])
                .expect("a report");
            assert_eq!(report.filed, other.filed);
            assert_eq!(rows_of(&catalogue, b"r"), 1);
            assert_eq!(rows_of(&catalogue, b"e"), days as usize);
        }
    }

    fn rows_of(catalogue: &Catalogue, prefix: &[u8]) -> usize {
        let rows = catalogue.store.page(Table::Decisions, prefix, None, 99);
        rows.expect("a store").len()
    }

    #[test]
    fn a_text_is_kept_whole_until_it_expires() {
        let folder = tempfile::tempdir().expect("a folder");
        // Letters of two bytes, so that pieces end inside one; and more than one piece.
        let text = format!("x{}", "ы".repeat(PIECE));
        let headings = [Heading {
            at: 1,
            title: "Глава".to_owned(),
        }];
        let catalogue = keeping(folder.path(), 1 << 20);
        let (id, _) = file(&catalogue, &Actor::Local, &text, &headings);
        // How long it is kept was said when it was filed.
        let catalogue = catalogue.with_evidence(EvidenceLimits::default());
        let editor = catalogue.by(Actor::Key("reader".to_owned()));
        let decisions = editor.decisions();
        let kept = editor.evidence().read(&id, None).expect("a store");
        let expected = CheckedText {
            text: text.clone(),
            headings: headings.to_vec(),
        };
        assert_eq!(kept, Some(expected));
        let counted = editor.evidence().stats().expect("a store");
        assert!(counted.texts == 1 && counted.bytes > text.len() as u64);
        let entry = decisions.get(&id, None).expect("an entry");
        let KeptText {
            bytes,
            expires_at: until,
        } = entry.text.expect("its text");
        assert_eq!(bytes, text.len() as u64);

        let late = |seconds: i64| until.checked_add(seconds.seconds()).expect("a time");
        let (uuid, stored) = decisions.entry_of(&id, None).expect("an entry");
        let shown = |now| editor.evidence().stored(uuid, &stored, None, now);
        assert!(shown(late(-1)).expect("a store").is_some());
        assert!(shown(late(0)).expect("a store").is_none());
        editor.evidence().delete_expired(late(-1)).expect("a store");
        assert_eq!(editor.evidence().stats().expect("a store"), counted);
        editor.evidence().delete_expired(late(1)).expect("a store");
        assert_eq!(editor.evidence().read(&id, None).expect("a store"), None);
        assert_eq!(
            editor.evidence().stats().expect("a store"),
            EvidenceStats::default()
        );
        // No piece stays behind, and the report does not go with its text.
        let left = [b"t", b"e", b"u", b"k", b"f"].map(|prefix| rows_of(&catalogue, prefix));
        assert_eq!(left, [0, 0, 0, 1, 1]);
        let audit = catalogue.store.audit(AuditFrom::Last, 1).expect("a log");
        assert_eq!(audit[0].action, Action::EvidenceExpired { check: id });
    }

    #[test]
    fn one_actor_leaves_room_for_the_texts_of_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = keeping(folder.path(), 10_000);
        let [shop, other] = ["shop", "other"].map(|name| Actor::Key(name.to_owned()));
        let text = "x".repeat(998);
        let file = |by: &Actor| file(&catalogue, by, &text, &[]);
        let kept: Vec<(String, bool)> = (0..9).map(|_| file(&shop)).collect();
        let bytes = kept.iter().filter(|(_, kept)| *kept).count();
        assert_eq!(bytes, 6, "two thirds");
        assert!(file(&other).1);
        assert!(!file(&shop).1);
        // What is deleted makes room for the same actor again.
        let editor = catalogue.by(Actor::Local);
        for (id, _) in &kept[..2] {
            let deleted = editor.evidence().delete(id, None);
            deleted.expect("it is kept");
        }
        assert!(file(&shop).1);
    }

    #[test]
    fn what_is_damaged_does_not_keep_others_from_expiring() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = keeping(folder.path(), 4 << 20);
        let long = "x".repeat(PIECE * (PIECES + 1));
        let (damaged, is_kept) = file(&catalogue, &Actor::Local, &long, &[]);
        assert!(is_kept && file(&catalogue, &Actor::Local, "Some text.", &[]).1);
        let row = key(b"e", damaged.parse().expect("an id"));
        let change = RowChange::put(Table::Decisions, row, "{");
        let written = catalogue.store.apply(&Actor::Local, &[change], &[]);
        written.expect("a store");
        let editor = catalogue.by(Actor::Local);
        let later = Timestamp::now().checked_add(25.hours()).expect("a time");
        editor.evidence().delete_expired(later).expect("a store");
        let left = [b"t", b"e", b"u"].map(|prefix| rows_of(&catalogue, prefix));
        assert_eq!(left, [0, 0, 0]);
        let stats = editor.evidence().stats().expect("a store");
        assert_eq!(stats, EvidenceStats::default());
    }

    #[test]
    fn a_new_key_does_not_read_the_texts_of_an_earlier_one_of_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = keeping(folder.path(), 1 << 20);
        let editor = catalogue.by(Actor::Local);
        let (keys, decisions) = (editor.keys(), editor.decisions());
        let new = || NewKey::new("shop", Role::Check);
        keys.add(new()).expect("a key");
        let shop = Actor::Key("shop".to_owned());
        let (id, kept) = file(&catalogue, &shop, "Some text.", &[]);
        assert!(kept);
        let by = &shop;
        let reads = || editor.evidence().read(&id, Some(by)).expect("a store");
        assert!(reads().is_some());
        let overlap = SignedDuration::from_secs(-1);
        keys.rotate("shop", overlap).expect("a key");
        assert!(reads().is_some(), "the same key with another secret");
        keys.revoke("shop").expect("a store");
        keys.add(new()).expect("a key");
        assert_eq!(reads(), None);
        let shown = decisions.get(&id, Some(by)).expect("an entry");
        assert_eq!(shown.text, None);
        assert!(editor.evidence().delete(&id, Some(by)).is_err());
        let administrator = editor.evidence().read(&id, None).expect("a store");
        assert!(administrator.is_some());
    }
}
