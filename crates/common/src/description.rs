//! What a book is called: the metadata that every format, request and record has in common, and its length limits.
//! A report shows at most a thousand books, so these limits also bound the size of a report.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Maximum length of a title, in bytes of UTF-8.
const TITLE_BYTES: usize = 2_000;
/// Maximum length of an author's name, in bytes of UTF-8.
const AUTHOR_BYTES: usize = 1_000;
/// Maximum length of a language, in bytes. BCP 47 tags of 35 bytes are rare.
const LANGUAGE_BYTES: usize = 64;
/// Maximum length of an identifier, in bytes of UTF-8.
const IDENTIFIER_BYTES: usize = 1_000;
/// Maximum number of authors, and of identifiers.
const MOST_LISTED: usize = 100;
/// Maximum total length of title, authors, language and identifiers, in bytes.
const DESCRIPTION_BYTES: usize = 8_000;

/// Declares a struct with the fields of a [`Description`] after its own. Input that refuses unknown fields needs this:
/// serde cannot combine that with `flatten`.
#[doc(hidden)]
#[macro_export]
macro_rules! described {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident { $($own:tt)* }) => {
        #[serde_with::skip_serializing_none]
        $(#[$attribute])*
        $visibility struct $name {
            $($own)*
            /// The title, if known.
            pub title: Option<String>,
            /// The authors, in title page order.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub authors: Vec<String>,
            /// The language as a BCP 47 tag, if known. In a file, it may be written in another way.
            pub language: Option<String>,
            /// ISBNs and other identifiers, as given or as found in the file.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub identifiers: Vec<String>,
            /// When it was first published, if known: `1886`, `1886-05` or `1886-05-31`.
            pub published: Option<$crate::description::PartialDate>,
        }

        impl $name {
            /// Takes the description, and leaves an empty one.
            #[must_use]
            pub fn take_description(&mut self) -> $crate::description::Description {
                use std::mem::take;
                $crate::description::Description {
                    title: take(&mut self.title),
                    authors: take(&mut self.authors),
                    language: take(&mut self.language),
                    identifiers: take(&mut self.identifiers),
                    published: take(&mut self.published),
                }
            }
        }
    };
}

described! {
    /// Title, authors, language, identifiers and date of a book.
    #[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    pub struct Description {}
}

/// The year, the month or the day when a book was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, SerializeDisplay, DeserializeFromStr)]
pub struct PartialDate {
    /// The first day that it can have been.
    first: Date,
    /// How many of year, month and day are known.
    known: u8,
}

/// What is no date of publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a date of publication is a year, a month or a day: 1886, 1886-05 or 1886-05-31")]
pub struct BadDate;

impl PartialDate {
    /// The first day that it can have been.
    #[must_use]
    pub fn first_day(self) -> Date {
        self.first
    }

    /// The date at the beginning of what a file says, such as `1886-05-31T00:00:00Z`.
    #[must_use]
    pub fn of_file(written: &str) -> Option<Self> {
        let written = written.trim();
        let rest = written.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        let found = &written[..written.len() - rest.len()];
        let is_end = rest.is_empty() || rest.starts_with(['T', ' ']);
        found.parse().ok().filter(|_| is_end)
    }
}

impl PartialSchema for PartialDate {
    fn schema() -> RefOr<Schema> {
        let examples = ["1886", "1886-05", "1886-05-31"];
        let described = "A year, a month or a day";
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(described))
            .examples(examples)
            .into()
    }
}

impl ToSchema for PartialDate {}

impl FromStr for PartialDate {
    type Err = BadDate;

    fn from_str(written: &str) -> Result<Self, BadDate> {
        let parts: Option<Vec<i16>> = written.split('-').map(number).collect();
        let parts = parts.ok_or(BadDate)?;
        let (year, month, day) = match parts[..] {
            [year] => (year, 1, 1),
            [year, month] => (year, month, 1),
            [year, month, day] => (year, month, day),
            _ => return Err(BadDate),
        };
        let (Ok(month), Ok(day)) = (month.try_into(), day.try_into()) else {
            return Err(BadDate);
        };
        Ok(Self {
            first: Date::new(year, month, day).map_err(|_| BadDate)?,
            known: parts.len() as u8,
        })
    }
}

/// One to four digits.
fn number(part: &str) -> Option<i16> {
    let is_number = part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    part.parse().ok().filter(|_| is_number)
}

impl fmt::Display for PartialDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = (self.first.year(), self.first.month(), self.first.day());
        match self.known {
            1 => write!(f, "{year:04}"),
            2 => write!(f, "{year:04}-{month:02}"),
            _ => write!(f, "{year:04}-{month:02}-{day:02}"),
        }
    }
}

/// What is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} is longer than {most} {unit}; shorten it")]
pub struct TooLong {
    /// What it is.
    pub what: &'static str,
    /// How long it may be.
    pub most: usize,
    /// In which unit.
    pub unit: &'static str,
}

impl TooLong {
    /// What is longer than `most` bytes.
    #[must_use]
    pub fn bytes(what: &'static str, most: usize) -> Self {
        Self {
            what,
            most,
            unit: "bytes",
        }
    }
}

fn or_other(list: Vec<String>, other: Vec<String>) -> Vec<String> {
    if list.is_empty() { other } else { list }
}

impl Description {
    /// Fills in what is missing from another description.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            title: self.title.or(other.title),
            authors: or_other(self.authors, other.authors),
            language: self.language.or(other.language),
            identifiers: or_other(self.identifiers, other.identifiers),
            published: self.published.or(other.published),
        }
    }

    /// Checks the description against the limits.
    pub fn within_bounds(&self) -> Result<(), TooLong> {
        if self
            .title
            .as_ref()
            .is_some_and(|title| title.len() > TITLE_BYTES)
        {
            return Err(TooLong::bytes("the title", TITLE_BYTES));
        }
        if self
            .language
            .as_ref()
            .is_some_and(|language| language.len() > LANGUAGE_BYTES)
        {
            return Err(TooLong::bytes("the language", LANGUAGE_BYTES));
        }
        for (list, what, whats, most) in [
            (
                &self.authors,
                "an author's name",
                "the list of authors",
                AUTHOR_BYTES,
            ),
            (
                &self.identifiers,
                "an identifier",
                "the list of identifiers",
                IDENTIFIER_BYTES,
            ),
        ] {
            if list.len() > MOST_LISTED {
                return Err(TooLong {
                    what: whats,
                    most: MOST_LISTED,
                    unit: "entries",
                });
            }
            if list.iter().any(|one| one.len() > most) {
                return Err(TooLong::bytes(what, most));
            }
        }
        let values = self
            .title
            .iter()
            .chain(&self.authors)
            .chain(&self.language)
            .chain(&self.identifiers);
        if values.map(String::len).sum::<usize>() > DESCRIPTION_BYTES {
            return Err(TooLong::bytes(
                "title, authors, language and identifiers together",
                DESCRIPTION_BYTES,
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::PartialDate;

    #[test]
    fn dates_are_years_months_or_days() {
        let table = [
            ("1886", Some(("1886", "1886-01-01"))),
            ("862", Some(("0862", "0862-01-01"))),
            ("1886-05", Some(("1886-05", "1886-05-01"))),
            ("1886-5-31", Some(("1886-05-31", "1886-05-31"))),
            ("1886-13", None),
            ("1886-02-30", None),
            ("1886-05-31-1", None),
            ("1886-", None),
            ("+886", None),
            ("May 1886", None),
            ("", None),
        ];
        for (written, expected) in table {
            let published: Option<PartialDate> = written.parse().ok();
            let found = published
                .map(|published| (published.to_string(), published.first_day().to_string()));
            assert_eq!(
                found,
                expected.map(|(as_is, first)| (as_is.to_owned(), first.to_owned())),
                "{written}"
            );
        }
        for (written, expected) in [
            ("2009-05-31T12:00:00+02:00", Some("2009-05-31")),
            (" 1886 ", Some("1886")),
            ("1886 г.", Some("1886")),
            ("1886?", None),
            ("c. 1886", None),
        ] {
            assert_eq!(
                PartialDate::of_file(written)
                    .map(|it| it.to_string())
                    .as_deref(),
                expected,
                "{written}"
            );
        }
    }
}
