//! A book's standing besides its rights: whether it counts, on which days its rights are in effect, and any note.

use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Date;
use lapidary_common::words;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::Rights;

/// Maximum length of a note, in bytes of UTF-8.
pub const NOTE_BYTES: usize = 4_000;

/// A book's standing. Usually a book counts, without date limits or a note.
#[skip_serializing_none]
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Standing {
    /// When the book was disabled. A disabled book is kept, but checks do not count it.
    #[serde(alias = "disabled_since")]
    pub disabled_at: Option<Timestamp>,
    /// Who disabled it. Unknown of books that older versions disabled; it then counts as an administrator.
    pub disabled_by: Option<SetBy>,
    /// When the book was removed. It is disabled, and deleted 30 days later unless it is restored before.
    pub removed_at: Option<Timestamp>,
    /// The reason, or anything else the library wants to remember.
    pub note: Option<Note>,
    /// The days on which its rights are in effect, if limited.
    pub validity: Option<Validity>,
    /// If the book looks like a collage of other people's books: since when, and whether it was confirmed.
    pub quarantine: Option<Quarantine>,
    /// When the rights, their days, the note, the disabled state or the quarantine were last amended.
    #[serde(alias = "amended")]
    pub amended_at: Option<Timestamp>,
}

impl Standing {
    /// Whether everything has its default value.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Takes back its removal. What was disabled for another reason stays so.
    pub fn restore(&mut self) {
        let is_by_removal = self.removed_at.is_some() && self.disabled_at == self.removed_at;
        if is_by_removal && !self.is_disabled_by_administrator() {
            (self.disabled_at, self.disabled_by) = (None, None);
        }
        self.removed_at = None;
    }

    /// Whether an administrator disabled it, as far as is known.
    #[must_use]
    pub fn is_disabled_by_administrator(&self) -> bool {
        self.disabled_at.is_some() && self.disabled_by != Some(SetBy::Library)
    }

    /// Whether an administrator wrote its note, as far as is known.
    #[must_use]
    pub fn is_noted_by_administrator(&self) -> bool {
        self.note
            .as_ref()
            .is_some_and(|note| note.created_by != Some(SetBy::Library))
    }

    /// Whether the book waits in quarantine: it decides nothing for others.
    #[must_use]
    pub fn is_quarantined(&self) -> bool {
        self.quarantine
            .as_ref()
            .is_some_and(|quarantine| quarantine.confirmed_at.is_none())
    }

    /// The rights in effect on a day for a book with these rights. A forbidden book is forbidden on all days.
    #[must_use]
    pub fn rights_on(&self, day: Date, rights: Rights) -> Rights {
        match &self.validity {
            Some(validity) if rights != Rights::Forbidden && !validity.holds(day) => {
                validity.otherwise
            }
            _ => rights,
        }
    }

    /// Whether the last day of a book with these rights is over. A forbidden book is forbidden on all days.
    #[must_use]
    pub fn is_expired_on(&self, day: Date, rights: Rights) -> bool {
        let until = self.validity.as_ref().and_then(|validity| validity.until);
        rights != Rights::Forbidden && until.is_some_and(|until| until < day)
    }
}

words! {
    /// A state of books that one looks for.
    pub enum BookState {
        /// Disabled: checks do not count it.
        Disabled = "disabled",
        /// In quarantine: it decides nothing for others.
        Quarantined = "quarantined",
        /// The last day of its rights is over.
        Expired = "expired",
        /// Removed: it can be restored until it is deleted.
        Removed = "removed",
    }
}

impl FromStr for BookState {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::named(word).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            format!("a state of books is one of: {known}")
        })
    }
}

/// Whether nobody may publish a book with these rights, on some days at least.
#[must_use]
pub fn bans(rights: Rights, validity: Option<&Validity>) -> bool {
    rights == Rights::Forbidden
        || validity.is_some_and(|validity| validity.otherwise == Rights::Forbidden)
}

/// Why a book waits, or waited, until an administrator confirms it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Quarantine {
    /// When its content was added.
    #[serde(alias = "since")]
    pub started_at: Timestamp,
    /// The number of works of other libraries that it shared passages with.
    pub works: u32,
    /// When an administrator confirmed it.
    #[serde(alias = "confirmed")]
    pub confirmed_at: Option<Timestamp>,
}

/// A note on a book.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Note {
    /// The text.
    pub text: String,
    /// When it was written.
    #[serde(alias = "since")]
    pub created_at: Timestamp,
    /// Who wrote it. Unknown of notes that older versions wrote; it then counts as an administrator.
    #[serde(alias = "by")]
    pub created_by: Option<SetBy>,
}

/// Who disabled a book, or wrote its note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SetBy {
    /// An administrator. Nobody else may undo it.
    Administrator,
    /// The library, with its key, or one of its sources.
    Library,
}

/// The days on which a book's rights are in effect, in UTC, and the rights on all other days.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Validity {
    /// The first day; if missing, there is no start date.
    pub from: Option<Date>,
    /// The last day; if missing, there is no end date.
    pub until: Option<Date>,
    /// The rights on all other days. Default: `unknown`.
    #[serde(default = "unknown")]
    pub otherwise: Rights,
}

fn unknown() -> Rights {
    Rights::Unknown
}

impl Validity {
    /// Whether the book's rights are in effect on a day.
    #[must_use]
    pub fn holds(&self, day: Date) -> bool {
        self.from.is_none_or(|from| from <= day) && self.until.is_none_or(|until| day <= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_belong_to_it() {
        let day = |day: &str| day.parse::<Date>().unwrap();
        let validity = |from: Option<&str>, until: Option<&str>| Validity {
            from: from.map(day),
            until: until.map(day),
            otherwise: Rights::Unknown,
        };
        let (first, last) = (Some("2026-03-01"), Some("2026-03-31"));
        let table = [
            (first, last, "2026-02-28", false),
            (first, last, "2026-03-01", true),
            (first, last, "2026-03-31", true),
            (first, last, "2026-04-01", false),
            (first, None, "9999-12-31", true),
            (None, last, "0001-01-01", true),
            (None, None, "2026-03-01", true),
        ];
        for (from, until, on, holds) in table {
            assert_eq!(
                validity(from, until).holds(day(on)),
                holds,
                "{from:?} {until:?} {on}"
            );
        }
    }
}
