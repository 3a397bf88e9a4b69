//! Changing a book's metadata without sending its text.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Catalogue, CatalogueError};
use crate::index::{BookKey, NOTE_BYTES, Note, Record, Rights, Validity};
use crate::object;

/// The changes to make. Fields that are left out keep their value.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Amendment {
    /// Whether the book is disabled. A disabled book is kept, but checks do not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// The new note; empty to remove the note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4000)]
    pub note: Option<String>,
    /// The new rights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<Rights>,
    /// The days on which its rights are in effect; `{}` for all days.
    #[serde(default, deserialize_with = "object::optional", skip_serializing_if = "Option::is_none")]
    pub validity: Option<Validity>,
}

impl Catalogue {
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
        Ok(self.store.amend(key, &mut |record| {
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
