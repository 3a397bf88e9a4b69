//! The texts of filed checks. A server keeps them for some days, so that the reports go on to show what they are about.
//!
//! They are in [`Table::Decisions`] too, with these keys:
//!
//! ```text
//! k           → how many texts are kept, and their bytes, JSON
//! e id        → the lengths of a text and of its headings, JSON
//! t id number → a piece of the text, or of its headings behind it; numbers are u32, big-endian
//! ```

use std::iter;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Catalogue, CatalogueError, Decisions, Editor, damaged, id_of, key, read};
use crate::api::{EvidenceStats, KeptText};
use crate::digest::digest_of;
use crate::id::first_id;
use crate::settings::put;
use crate::sharing::{SETTINGS, Turn};
use lapidary_extract::Heading;
use lapidary_store::{Action, Actor, RowChange, Table};

/// Length of a piece in bytes: whatever reads a page of rows then needs little memory.
const PIECE: usize = 64 << 10;
/// Number of expired texts that are deleted in one step.
const AT_ONCE: usize = 16;
/// How often to look for expired texts.
const LOOK: Duration = Duration::from_mins(1);
const HOURS_OF_DAY: i64 = 24;

/// How long texts of filed checks are kept, and how many. By default, none is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct EvidenceLimits {
    /// For this many days. With 0, none is kept.
    pub days: u32,
    /// The most bytes that they take together, before compression.
    pub bytes: u64,
}

impl EvidenceLimits {
    fn time(self) -> SignedDuration {
        SignedDuration::from_hours(HOURS_OF_DAY * i64::from(self.days))
    }

    /// When the text of a check expires that was filed at a time.
    fn until(self, filed: Timestamp) -> Timestamp {
        filed.checked_add(self.time()).unwrap_or(Timestamp::MAX)
    }

    /// The texts of checks with ids before this one have expired.
    fn first_kept(self, now: Timestamp) -> Uuid {
        if self.days == 0 {
            return Uuid::max();
        }
        first_id(now.checked_sub(self.time()).unwrap_or(Timestamp::MIN))
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

/// The lengths of a kept text and of its headings as JSON, in bytes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct EvidenceLengths {
    text: u64,
    headings: u64,
}

impl EvidenceLengths {
    fn sum(self) -> u64 {
        self.text + self.headings
    }

    fn pieces(self) -> u32 {
        let pieces = |bytes: u64| bytes.div_ceil(PIECE as u64) as u32;
        pieces(self.text) + pieces(self.headings)
    }

    /// The keys of all pieces of the text of a check.
    fn keys(self, id: Uuid) -> impl Iterator<Item = Vec<u8>> {
        (0..self.pieces()).map(move |number| piece_key(id, number))
    }
}

/// What keeps a text, in the turn in which there is room for it.
pub(super) struct Keeping<'c> {
    turn: Turn<'c>,
    changes: Vec<RowChange>,
}

impl<'c> Keeping<'c> {
    pub(super) fn parts(self) -> (Turn<'c>, Vec<RowChange>) {
        (self.turn, self.changes)
    }
}

impl Decisions<Editor<'_>> {
    /// What keeps the text of a check with this id; `None` if texts are not kept, or there is no room for it.
    pub(super) fn keep(
        &self,
        id: Uuid,
        text: &str,
        headings: &[Heading],
    ) -> Result<Option<Keeping<'_>>, CatalogueError> {
        let limits = self.0.evidence;
        if limits.days == 0 {
            return Ok(None);
        }
        let headings = serde_json::to_vec(headings).unwrap_or_default();
        let lengths = EvidenceLengths {
            text: text.len() as u64,
            headings: headings.len() as u64,
        };
        let turn = self.0.turn(&self.0.changing_settings, SETTINGS)?;
        let mut kept = self.kept_texts()?;
        kept.texts += 1;
        kept.bytes += lengths.sum();
        if kept.bytes > limits.bytes {
            tracing::warn!(
                "the text of the filed check {id} is not kept: with it, they would take {} bytes, and may take {} (max-evidence)",
                kept.bytes,
                limits.bytes
            );
            return Ok(None);
        }
        let pieces = text.as_bytes().chunks(PIECE).chain(headings.chunks(PIECE));
        let pieces = (0..)
            .zip(pieces)
            .map(|(number, piece)| RowChange::put(Table::Decisions, piece_key(id, number), piece));
        let counted = [
            put(Table::Decisions, key(b"e", id), &lengths),
            put(Table::Decisions, b"k", &kept),
        ];
        let changes = pieces.chain(counted).collect();
        Ok(Some(Keeping { turn, changes }))
    }

    /// The kept text of a check, `None` if there is none any more. `by`: only if this actor filed it. The audit log says
    /// who read it.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchDecision`].
    pub fn read_text(
        &self,
        check: &str,
        by: Option<&Actor>,
    ) -> Result<Option<CheckedText>, CatalogueError> {
        let (id, _) = self.entry_of(check, by)?;
        let Some(lengths) = self.unexpired(id)? else {
            return Ok(None);
        };
        let keys: Vec<Vec<u8>> = lengths.keys(id).collect();
        let mut content = Vec::with_capacity(lengths.sum() as usize);
        for piece in self.0.rows_of(Table::Decisions, &keys)? {
            // It may be deleted at this moment.
            let Some(piece) = piece else { return Ok(None) };
            content.extend(piece);
        }
        let headings = content.split_off((lengths.text as usize).min(content.len()));
        let headings = read(&headings, id)?;
        let text = String::from_utf8(content).map_err(|_| damaged(id))?;
        let action = Action::EvidenceRead {
            check: id.to_string(),
        };
        self.0.store.apply(&self.0.actor, &[], &[action])?;
        Ok(Some(CheckedText { text, headings }))
    }

    /// Deletes the kept text of a check. `by`: only if this actor filed it.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchDecision`] and [`CatalogueError::NoSuchEvidence`].
    pub fn delete_text(&self, check: &str, by: Option<&Actor>) -> Result<(), CatalogueError> {
        let (id, _) = self.entry_of(check, by)?;
        let turn = self.0.turn(&self.0.changing_settings, SETTINGS)?;
        let lengths = self.row(b"e", id)?;
        let lengths = lengths.ok_or_else(|| CatalogueError::NoSuchEvidence(id.to_string()))?;
        self.delete(&turn, &[(id, lengths)])
    }

    /// Deletes some of the texts that have expired by `now`. Returns whether there may be more.
    fn delete_expired(&self, now: Timestamp) -> Result<bool, CatalogueError> {
        let first = self.0.evidence.first_kept(now);
        if self.before(first, 1)?.is_empty() {
            return Ok(false);
        }
        let turn = self.0.turn(&self.0.changing_settings, SETTINGS)?;
        let expired = self.before(first, AT_ONCE)?;
        self.delete(&turn, &expired)?;
        Ok(expired.len() == AT_ONCE)
    }

    fn delete(
        &self,
        turn: &Turn<'_>,
        texts: &[(Uuid, EvidenceLengths)],
    ) -> Result<(), CatalogueError> {
        let mut kept = self.kept_texts()?;
        let (mut changes, mut actions) = (Vec::new(), Vec::new());
        for &(id, lengths) in texts {
            kept.texts = kept.texts.saturating_sub(1);
            kept.bytes = kept.bytes.saturating_sub(lengths.sum());
            let keys = lengths.keys(id).chain(iter::once(key(b"e", id)));
            changes.extend(keys.map(|key| RowChange::delete(Table::Decisions, key)));
            actions.push(Action::EvidenceDeleted {
                check: id.to_string(),
            });
        }
        changes.push(put(Table::Decisions, b"k", &kept));
        turn.apply(&self.0.actor, &changes, &actions)?;
        Ok(())
    }
}

impl<C: Deref<Target = Catalogue>> Decisions<C> {
    /// How many texts are kept.
    pub fn kept_texts(&self) -> Result<EvidenceStats, CatalogueError> {
        let value = self.0.row(Table::Decisions, b"k")?;
        let kept = value.map(|value| read(&value, Uuid::nil())).transpose()?;
        Ok(kept.unwrap_or_default())
    }

    /// What is kept of the text of a check that was filed at a time.
    pub(super) fn text_of(
        &self,
        id: Uuid,
        filed: Timestamp,
    ) -> Result<Option<KeptText>, CatalogueError> {
        let lengths = self.unexpired(id)?;
        Ok(lengths.map(|lengths| KeptText {
            bytes: lengths.text,
            until: self.0.evidence.until(filed),
        }))
    }

    fn unexpired(&self, id: Uuid) -> Result<Option<EvidenceLengths>, CatalogueError> {
        if id < self.0.evidence.first_kept(Timestamp::now()) {
            return Ok(None);
        }
        self.row(b"e", id)
    }

    /// The kept texts of checks before one, the oldest first.
    fn before(
        &self,
        first: Uuid,
        most: usize,
    ) -> Result<Vec<(Uuid, EvidenceLengths)>, CatalogueError> {
        let mut texts = Vec::new();
        for (row, value) in self.0.store.page(Table::Decisions, b"e", None, most)? {
            match id_of(&row) {
                Some(id) if id < first => texts.push((id, read(&value, id)?)),
                _ => break,
            }
        }
        Ok(texts)
    }
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

/// Deletes texts of filed checks in the background when they expire, until [`Jobs::stop`](crate::Jobs::stop).
pub fn expire_evidence(catalogue: &Arc<Catalogue>) {
    let expiring = Arc::clone(catalogue);
    catalogue.runner.beside(move || {
        loop {
            let decisions = expiring.by(Actor::Local).decisions();
            let more = decisions
                .delete_expired(Timestamp::now())
                .unwrap_or_else(|error| {
                    tracing::warn!("expired texts of filed checks are not deleted: {error}");
                    false
                });
            let pause = if more { Duration::ZERO } else { LOOK };
            if !expiring.runner.sleep(pause) {
                return;
            }
        }
    });
}

fn piece_key(id: Uuid, number: u32) -> Vec<u8> {
    [b"t", id.as_bytes().as_slice(), &number.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;
    use lapidary_store::{AuditFrom, BookKey, Rights};

    use super::*;
    use crate::{Case, CheckOptions, Content, NewEntry, Query};

    /// A catalogue that keeps texts for a day, with one filed check of this text.
    fn filed(folder: &std::path::Path, text: &str, headings: &[Heading]) -> (Catalogue, String) {
        let limits = EvidenceLimits {
            days: 1,
            bytes: 1 << 20,
        };
        let catalogue = Catalogue::open_or_create(folder)
            .expect("a catalogue")
            .with_evidence(limits);
        let editor = catalogue.by(Actor::Local);
        let book = BookKey {
            library: "house".parse().expect("a library"),
            id: "1".parse().expect("an id"),
        };
        let book = NewEntry::new(book, Rights::Free, Content::text("Some text.".to_owned()));
        editor.books().add(book).expect("it is added");
        let options = CheckOptions {
            record: Some(Case::default()),
            ..CheckOptions::default()
        };
        let report = editor
            .decisions()
            .check(&Query::text(text.to_owned()), headings, &options)
            .expect("a report");
        assert_eq!(report.text_kept, Some(true));
        let id = report.filed.expect("it is filed");
        (catalogue, id)
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
        let (catalogue, id) = filed(folder.path(), &text, &headings);
        let editor = catalogue.by(Actor::Key("reader".to_owned()));
        let decisions = editor.decisions();
        let kept = decisions.read_text(&id, None).expect("a store");
        let expected = CheckedText {
            text: text.clone(),
            headings: headings.to_vec(),
        };
        assert_eq!(kept, Some(expected));
        let counted = decisions.kept_texts().expect("a store");
        assert!(counted.texts == 1 && counted.bytes > text.len() as u64);
        let entry = decisions.get(&id, None).expect("an entry");
        let KeptText { bytes, until } = entry.text.expect("its text");
        assert_eq!(bytes, text.len() as u64);

        let day_is_over = |late: i64| until.checked_add(late.seconds()).expect("a time");
        decisions.delete_expired(day_is_over(-1)).expect("a store");
        assert_eq!(decisions.kept_texts().expect("a store"), counted);
        decisions.delete_expired(day_is_over(1)).expect("a store");
        assert_eq!(decisions.read_text(&id, None).expect("a store"), None);
        assert_eq!(
            decisions.kept_texts().expect("a store"),
            EvidenceStats::default()
        );
        // No piece stays behind, and the report does not go with its text.
        let rows = |prefix: &[u8]| {
            let rows = catalogue.store.page(Table::Decisions, prefix, None, 9);
            rows.expect("a store").len()
        };
        assert_eq!((rows(b"t"), rows(b"e"), rows(b"f")), (0, 0, 1));
        let audit = catalogue.store.audit(AuditFrom::Last, 1).expect("a log");
        assert_eq!(audit[0].action, Action::EvidenceDeleted { check: id });
    }

    #[test]
    fn an_expired_text_is_not_shown_before_it_is_deleted() {
        let folder = tempfile::tempdir().expect("a folder");
        let (catalogue, id) = filed(folder.path(), "Some text.", &[]);
        let expired = catalogue.with_evidence(EvidenceLimits::default());
        let editor = expired.by(Actor::Local);
        assert_eq!(editor.decisions().read_text(&id, None).expect("it"), None);
        let entry = editor.decisions().get(&id, None).expect("an entry");
        assert_eq!(entry.text, None);
        assert_eq!(editor.decisions().kept_texts().expect("a store").texts, 1);
    }
}
