//! Changing a book's metadata without sending its text.

use jiff::Timestamp;

use super::{Books, CatalogueError, Editor, today};
use crate::api::{Amendment, FieldChange};
use crate::table::{self, TableRow};
use lapidary_common::description::Description;
use lapidary_store::{
    BookKey, Condition, Keeps, Limits, NOTE_BYTES, Note, Outline, Record, Rights, SetBy, Snapshot,
    Standing, StoreError, Validity,
};

/// What the notes of books begin with that a row of a table deletes.
const DELETED: &str = "deleted by a feed or table on ";

impl Books<Editor<'_>> {
    /// Changes a book's metadata. Returns `None` if there is no such book.
    ///
    /// # Errors
    /// [`CatalogueError::LongNote`] and [`CatalogueError::BadValidity`]; [`StoreError::SetByAdministrator`] and
    /// [`StoreError::MayNotForbid`] for what the actor may not change.
    pub fn amend(
        &self,
        key: &BookKey,
        amendment: &Amendment,
    ) -> Result<Option<Record>, CatalogueError> {
        self.amend_if(key, amendment, &Condition::default())
    }

    /// Like [`Books::amend`], if the book meets the condition.
    ///
    /// # Errors
    /// [`StoreError::OtherVersion`] too.
    pub fn amend_if(
        &self,
        key: &BookKey,
        amendment: &Amendment,
        condition: &Condition,
    ) -> Result<Option<Record>, CatalogueError> {
        let change = self.change(key, amendment, condition)?;
        let store = &self.0.store;
        Ok(store.amend(&self.0.actor, key, &mut |record| change.make(record))?)
    }

    /// Changes a book as a row of a table says, or only says what would change, and what differs: nothing if the book is as the
    /// row says. A row that deletes the book disables it; a later one enables it again. Returns `None` if there is no such book.
    ///
    /// # Errors
    /// Those of [`Books::amend`].
    pub fn follow(
        &self,
        key: &BookKey,
        row: &TableRow,
        dry_run: bool,
    ) -> Result<Option<Vec<FieldChange>>, CatalogueError> {
        let amendment = row.amendment();
        let change = self.change(key, &amendment, &Condition::default())?;
        let (keeps, note) = (self.0.authority()?.keeps(), format!("{DELETED}{}", today()));
        let mut make = |record: &mut Record| {
            if row.deleted {
                return lose(record, keeps, &note, change.now);
            }
            change.make(record)?;
            restore(record, DELETED, change.now);
            Ok(())
        };
        let Some(before) = self.get(key)? else {
            return Ok(None);
        };
        let mut after = before.clone();
        make(&mut after)?;
        let differences = table::differences(&before, &after);
        if dry_run || differences.is_empty() {
            return Ok(Some(differences));
        }
        let amended = self.0.store.amend(&self.0.actor, key, &mut make)?;
        Ok(amended.map(|_| differences))
    }

    /// The change that an amendment asks for, if the actor may make it.
    fn change<'a>(
        &self,
        key: &BookKey,
        amendment: &'a Amendment,
        condition: &Condition,
    ) -> Result<RecordAmendment<'a>, CatalogueError> {
        let Amendment {
            note,
            rights,
            validity,
            ..
        } = amendment;
        if note.as_ref().is_some_and(|note| note.len() > NOTE_BYTES) {
            return Err(CatalogueError::LongNote);
        }
        let validity = validity.clone().map(checked).transpose()?.flatten();
        let authority = self.0.authority()?;
        authority.may_set(key, rights.unwrap_or(Rights::Unknown), validity.as_ref())?;
        let keeps = if amendment.is_of_notes() {
            Keeps::default()
        } else if amendment.removed == Some(true) {
            authority.keeps_of_removed()
        } else {
            authority.keeps()
        };
        let condition = Condition {
            keeps,
            ..condition.clone()
        };
        Ok(RecordAmendment {
            amendment,
            validity,
            condition,
            by: authority.as_setter(),
            now: Timestamp::now(),
        })
    }

    /// Disables a new book of a library's key if an administrator disabled one with the same content in the key's libraries, with the
    /// administrator's note: what does not count under one id does not count under another. `digests`: those of its content.
    pub(super) fn keep_disabled(
        &self,
        record: &mut Record,
        digests: &[String],
        snapshot: &dyn Snapshot,
    ) -> Result<(), CatalogueError> {
        if record.standing.is_disabled_by_administrator() {
            return Ok(());
        }
        let digests: Vec<String> = digests
            .iter()
            .chain(&record.clean_digest)
            .cloned()
            .collect();
        for library in &self.0.own_libraries()? {
            for digest in &digests {
                let numbers = snapshot.with_digest(
                    digest,
                    Limits {
                        fewest: 1,
                        library: Some(library),
                        ..Limits::NONE
                    },
                )?;
                let mut same = snapshot
                    .outline(&numbers)?
                    .into_iter()
                    .flatten()
                    .filter(|outline| outline.is_of(&digests));
                if let Some(Outline { standing, .. }) =
                    same.find(|same| same.standing.is_disabled_by_administrator())
                {
                    let is_noted = standing.is_noted_by_administrator();
                    (record.standing.disabled_at, record.standing.disabled_by) =
                        (standing.disabled_at, standing.disabled_by);
                    if is_noted {
                        record.standing.note = standing.note;
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Disables a book that its source does not have any more, with a note. What an administrator said of it stays, and so does
    /// a ban that the source could not have made.
    pub fn lose(&self, key: &BookKey, note: &str) -> Result<(), CatalogueError> {
        let (keeps, now) = (self.0.authority()?.keeps(), Timestamp::now());
        if self.get(key)?.is_none_or(|record| stays(&record, keeps)) {
            return Ok(());
        }
        let mut change = |record: &mut Record| lose(record, keeps, note, now);
        self.0.store.amend(&self.0.actor, key, &mut change)?;
        Ok(())
    }

    /// Enables a book that its source has again, if it was the source that disabled it. `lost` is what the source's notes begin
    /// with.
    pub fn restore(&self, key: &BookKey, lost: &str) -> Result<(), CatalogueError> {
        let now = Timestamp::now();
        let stored = self.get(key)?;
        if !stored.is_some_and(|record| was_lost(&record.standing, lost)) {
            return Ok(());
        }
        self.0.store.amend(&self.0.actor, key, &mut |record| {
            restore(record, lost, now);
            Ok(())
        })?;
        Ok(())
    }
}

/// An amendment that its actor may make.
struct RecordAmendment<'a> {
    amendment: &'a Amendment,
    /// The days to set, if they are to be changed; `None` for all days.
    validity: Option<Validity>,
    condition: Condition,
    by: SetBy,
    now: Timestamp,
}

impl RecordAmendment<'_> {
    fn make(&self, record: &mut Record) -> Result<(), StoreError> {
        let (by, now) = (self.by, self.now);
        self.condition.holds(&record.key, Some(record))?;
        if self.amendment.removed == Some(false) {
            record.standing.restore();
        }
        if let Some(disabled) = self.amendment.disabled {
            set_disabled(record, disabled, by, now)?;
        }
        if self.amendment.removed == Some(true) {
            set_removed(&mut record.standing, now);
        }
        if let Some(text) = &self.amendment.note {
            set_note(record, text, by, now)?;
        }
        if self.amendment.confirmed == Some(true) {
            confirm(record, by, now)?;
        }
        if self.amendment.validity.is_some() {
            record.standing.validity.clone_from(&self.validity);
        }
        record.rights = self.amendment.rights.unwrap_or(record.rights);
        describe(&mut record.description, self.amendment);
        record.within_bounds().map_err(StoreError::TooLong)?;
        record.changed_at = now;
        Ok(())
    }
}

/// Changes what a book is called. What is empty is removed.
fn describe(description: &mut Description, amendment: &Amendment) {
    replace(&mut description.title, amendment.title.as_ref());
    replace(&mut description.language, amendment.language.as_ref());
    if let Some(authors) = &amendment.authors {
        description.authors.clone_from(authors);
    }
    if let Some(identifiers) = &amendment.identifiers {
        description.identifiers.clone_from(identifiers);
    }
    description.published = amendment.published.unwrap_or(description.published);
}

fn replace(old: &mut Option<String>, new: Option<&String>) {
    if let Some(new) = new {
        *old = Some(new.clone()).filter(|new| !new.is_empty());
    }
}

/// Whether a book stays although its source does not have it any more.
fn stays(record: &Record, keeps: Keeps) -> bool {
    keeps.ban && record.is_banned() || record.is_disabled()
}

/// Disables a book that its source does not have any more, unless it stays.
fn lose(record: &mut Record, keeps: Keeps, note: &str, now: Timestamp) -> Result<(), StoreError> {
    if stays(record, keeps) {
        return Ok(());
    }
    set_disabled(record, true, SetBy::Library, now)?;
    if !record.standing.is_noted_by_administrator() {
        set_note(record, note, SetBy::Library, now)?;
    }
    record.changed_at = now;
    Ok(())
}

/// Enables a book if it was the source that disabled it.
fn restore(record: &mut Record, lost: &str, now: Timestamp) {
    let standing = &mut record.standing;
    if was_lost(standing, lost) {
        (standing.disabled_at, standing.disabled_by) = (None, None);
        let note = standing.note.take();
        standing.note = note.filter(|note| !is_of_source(note, lost));
        record.changed_at = now;
    }
}

/// Whether the source disabled a book because it did not have it any more. `lost` is what the source's notes begin with.
fn was_lost(standing: &Standing, lost: &str) -> bool {
    let by = standing.disabled_by;
    let says_so = standing
        .note
        .as_ref()
        .is_some_and(|note| is_of_source(note, lost));
    // The source leaves a note of an administrator as it is. Older versions did not write down who disabled a book.
    let is_noted = standing.is_noted_by_administrator() && by == Some(SetBy::Library);
    let is_disabled = standing.disabled_at.is_some() && standing.removed_at.is_none();
    is_disabled && by != Some(SetBy::Administrator) && (says_so || is_noted)
}

fn is_of_source(note: &Note, lost: &str) -> bool {
    note.created_by != Some(SetBy::Administrator) && note.text.starts_with(lost)
}

/// Disables or enables a book.
///
/// # Errors
/// [`StoreError::SetByAdministrator`] if a library would enable what an administrator disabled.
fn set_disabled(
    record: &mut Record,
    disabled: bool,
    by: SetBy,
    now: Timestamp,
) -> Result<(), StoreError> {
    let standing = &mut record.standing;
    let is_of_administrator = standing.is_disabled_by_administrator();
    if disabled {
        standing.disabled_at = standing.disabled_at.or(Some(now));
        // Otherwise the book would be deleted, and could be added again as if nothing had been said of it.
        if by == SetBy::Administrator {
            standing.removed_at = None;
        }
        standing.disabled_by = Some(if is_of_administrator {
            SetBy::Administrator
        } else {
            by
        });
    } else if is_of_administrator && by == SetBy::Library {
        return Err(StoreError::SetByAdministrator {
            book: record.key.clone(),
            what: "disabled",
        });
    } else {
        (standing.disabled_at, standing.disabled_by) = (None, None);
        standing.removed_at = None;
    }
    Ok(())
}

/// Removes a book. That is no word of an administrator: whoever may write the book may restore it.
fn set_removed(standing: &mut Standing, now: Timestamp) {
    standing.removed_at = standing.removed_at.or(Some(now));
    if standing.disabled_at.is_none() {
        (standing.disabled_at, standing.disabled_by) = (Some(now), Some(SetBy::Library));
    }
}

/// Ends the quarantine of a book.
///
/// # Errors
/// [`StoreError::MayNotConfirm`]: this is for administrators.
fn confirm(record: &mut Record, by: SetBy, now: Timestamp) -> Result<(), StoreError> {
    let Some(quarantine) = &mut record.standing.quarantine else {
        return Ok(());
    };
    if by == SetBy::Library {
        return Err(StoreError::MayNotConfirm(record.key.clone()));
    }
    quarantine.confirmed_at = quarantine.confirmed_at.or(Some(now));
    Ok(())
}

/// Sets or removes the note on a book.
///
/// # Errors
/// [`StoreError::SetByAdministrator`] if a library would change what an administrator wrote.
fn set_note(record: &mut Record, text: &str, by: SetBy, now: Timestamp) -> Result<(), StoreError> {
    let standing = &mut record.standing;
    if by == SetBy::Library && standing.is_noted_by_administrator() {
        let is_same = standing.note.as_ref().is_some_and(|note| note.text == text);
        let refused = StoreError::SetByAdministrator {
            book: record.key.clone(),
            what: "noted",
        };
        return if is_same { Ok(()) } else { Err(refused) };
    }
    standing.note = (!text.is_empty()).then(|| Note {
        text: text.to_owned(),
        created_at: now,
        created_by: Some(by),
    });
    Ok(())
}

/// Checks a validity. Returns `None` if it limits nothing.
pub(super) fn checked(validity: Validity) -> Result<Option<Validity>, CatalogueError> {
    match (validity.from, validity.until) {
        (None, None) => Ok(None),
        (Some(from), Some(until)) if until < from => {
            Err(CatalogueError::BadValidity { from, until })
        }
        _ => Ok(Some(validity)),
    }
}
