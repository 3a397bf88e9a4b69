//! Changing what is said of a book, without its text.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Catalogue, CatalogueError};
use crate::index::{BookKey, NOTE_BYTES, Note, Record, Rights, Validity};
use crate::object;

/// What to change of a book. What is left out stays.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Amendment {
    /// Whether the book is disabled: kept, and counted by no check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// What to note; empty: forget the note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4000)]
    pub note: Option<String>,
    /// What may be done with the book.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<Rights>,
    /// The days that its rights hold on; `{}`: all.
    #[serde(default, deserialize_with = "object::optional", skip_serializing_if = "Option::is_none")]
    pub validity: Option<Validity>,
}

impl Catalogue {
    /// Changes what is said of a book; `None` when there is no such book.
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

/// A validity that can be; `None` when it limits nothing.
pub(super) fn checked(validity: Validity) -> Result<Option<Validity>, CatalogueError> {
    match (validity.from, validity.until) {
        (None, None) => Ok(None),
        (Some(from), Some(until)) if until < from => Err(CatalogueError::BadValidity { from, until }),
        _ => Ok(Some(validity)),
    }
}
