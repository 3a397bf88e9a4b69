//! Changing a book's metadata without sending its text.

use jiff::Timestamp;

use super::{CatalogueError, Editor};
use crate::api::Amendment;
use crate::index::{BookKey, NOTE_BYTES, Note, Record, Validity};

impl Editor<'_> {
    /// Changes a book's metadata. Returns `None` if there is no such book.
    ///
    /// # Errors
    /// [`CatalogueError::LongNote`] and [`CatalogueError::BadValidity`].
    pub fn amend(&self, key: &BookKey, amendment: &Amendment) -> Result<Option<Record>, CatalogueError> {
        let Amendment { disabled, note, rights, validity } = amendment;
        if note.as_ref().is_some_and(|note| note.len() > NOTE_BYTES) {
            return Err(CatalogueError::LongNote);
        }
        let validity = validity.clone().map(checked).transpose()?;
        let now = Timestamp::now();
        Ok(self.store.amend(&self.actor, key, &mut |record| {
            let standing = &mut record.standing;
            match disabled {
                Some(true) => standing.disabled_since = standing.disabled_since.or(Some(now)),
                Some(false) => standing.disabled_since = None,
                None => {}
            }
            if let Some(text) = note {
                standing.note = (!text.is_empty()).then(|| Note { text: text.clone(), since: now });
            }
            if let Some(validity) = &validity {
                standing.validity.clone_from(validity);
            }
            record.rights = rights.unwrap_or(record.rights);
            record.changed = now;
        })?)
    }
}

/// Checks a validity. Returns `None` if it limits nothing.
pub(super) fn checked(validity: Validity) -> Result<Option<Validity>, CatalogueError> {
    match (validity.from, validity.until) {
        (None, None) => Ok(None),
        (Some(from), Some(until)) if until < from => Err(CatalogueError::BadValidity { from, until }),
        _ => Ok(Some(validity)),
    }
}
