//! How a book stands beside its rights: whether it counts at all, from which day to which, and what was noted of it.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Rights;

/// The longest note, in bytes of UTF-8.
pub const NOTE_BYTES: usize = 4_000;

/// How a book stands: usually it counts, always, and there is nothing to note.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Standing {
    /// Since when the book is disabled: kept, and counted by no check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_since: Option<Timestamp>,
    /// Why, or whatever else its library wants to remember.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// The days that its rights hold on, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validity: Option<Validity>,
    /// When its rights, their days, the note or whether it counts were last amended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amended: Option<Timestamp>,
}

impl Standing {
    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// What may be done on this day with a book of these rights.
    #[must_use]
    pub fn rights_on(&self, day: Date, rights: Rights) -> Rights {
        match &self.validity {
            Some(validity) if !validity.holds(day) => validity.otherwise,
            _ => rights,
        }
    }
}

/// A remark on a book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Note {
    /// What is remarked.
    pub text: String,
    /// When it was written.
    pub since: Timestamp,
}

/// The days that a book's rights hold on, in UTC, and what holds on all others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Validity {
    /// The first day; without it, from ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Date>,
    /// The last day; without it, for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Date>,
    /// What may be done with the book on all other days: `unknown` unless told otherwise.
    #[serde(default = "unknown")]
    pub otherwise: Rights,
}

fn unknown() -> Rights {
    Rights::Unknown
}

impl Validity {
    /// Whether a book's rights hold on this day.
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
            assert_eq!(validity(from, until).holds(day(on)), holds, "{from:?} {until:?} {on}");
        }
    }
}
