//! Changing a book's metadata without sending its text.

use jiff::Timestamp;

use super::{Books, CatalogueError, Editor};
use crate::api::Amendment;
use lapidary_store::{
    BookKey, Condition, Keeps, Limits, NOTE_BYTES, Note, Outline, Record, Rights, SetBy, Snapshot,
    Standing, StoreError, Validity,
};

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
        let Amendment {
            disabled,
            note,
            confirmed,
            rights,
            validity,
        } = amendment;
        if note.as_ref().is_some_and(|note| note.len() > NOTE_BYTES) {
            return Err(CatalogueError::LongNote);
        }
        let validity = validity.clone().map(checked).transpose()?;
        let authority = self.0.authority()?;
        authority.may_set(
            key,
            rights.unwrap_or(Rights::Unknown),
            validity.as_ref().and_then(Option::as_ref),
        )?;
        let is_of_ban = disabled.is_some() || rights.is_some() || validity.is_some();
        let keeps = if is_of_ban {
            authority.keeps()
        } else {
            Keeps::default()
        };
        let condition = Condition {
            keeps,
            ..condition.clone()
        };
        let (by, now) = (authority.as_setter(), Timestamp::now());
        Ok(self.0.store.amend(&self.0.actor, key, &mut |record| {
            condition.holds(key, Some(record))?;
            if let Some(disabled) = disabled {
                set_disabled(record, *disabled, by, now)?;
            }
            if let Some(text) = note {
                set_note(record, text, by, now)?;
            }
            if *confirmed == Some(true) {
                confirm(record, by, now)?;
            }
            if let Some(validity) = &validity {
                record.standing.validity.clone_from(validity);
            }
            record.rights = rights.unwrap_or(record.rights);
            record.changed_at = now;
            Ok(())
        })?)
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
        let stays = |record: &Record| keeps.ban && record.is_banned() || record.is_disabled();
        if self.get(key)?.is_none_or(|record| stays(&record)) {
            return Ok(());
        }
        self.0.store.amend(&self.0.actor, key, &mut |record| {
            if !stays(record) {
                set_disabled(record, true, SetBy::Library, now)?;
                if !record.standing.is_noted_by_administrator() {
                    set_note(record, note, SetBy::Library, now)?;
                }
                record.changed_at = now;
            }
            Ok(())
        })?;
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
            let standing = &mut record.standing;
            if was_lost(standing, lost) {
                (standing.disabled_at, standing.disabled_by) = (None, None);
                let note = standing.note.take();
                standing.note = note.filter(|note| !is_of_source(note, lost));
                record.changed_at = now;
            }
            Ok(())
        })?;
        Ok(())
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
    standing.disabled_at.is_some() && by != Some(SetBy::Administrator) && (says_so || is_noted)
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
    }
    Ok(())
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
