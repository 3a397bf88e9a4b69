//! What a book is called: the metadata that every format, request and record has in common, and its length limits.
//! A report shows at most a thousand books, so these limits also bound the size of a report.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Maximum length of a title, in bytes of UTF-8.
pub const TITLE_BYTES: usize = 2_000;
/// Maximum length of an author's name, in bytes of UTF-8.
pub const AUTHOR_BYTES: usize = 1_000;
/// Maximum length of a language, in bytes. BCP 47 tags of 35 bytes are rare.
pub const LANGUAGE_BYTES: usize = 64;
/// Maximum length of an identifier, in bytes of UTF-8.
pub const IDENTIFIER_BYTES: usize = 1_000;
/// Maximum number of authors, and of identifiers.
pub const MOST_LISTED: usize = 100;
/// Maximum total length of title, authors, language and identifiers, in bytes.
pub const DESCRIPTION_BYTES: usize = 8_000;

/// Declares a struct with the fields of a [`Description`] after its own. Input that refuses unknown fields needs this:
/// serde cannot combine that with `flatten`.
#[doc(hidden)]
#[macro_export]
macro_rules! described {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident { $($own:tt)* }) => {
        $(#[$attribute])*
        $visibility struct $name {
            $($own)*
            /// The title, if known.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub title: Option<String>,
            /// The authors, in title page order.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub authors: Vec<String>,
            /// The language as a BCP 47 tag, if known. In a file, it may be written in another way.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub language: Option<String>,
            /// ISBNs and other identifiers, as given or as found in the file.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub identifiers: Vec<String>,
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
                }
            }
        }
    };
}

described! {
    /// Title, authors, language and identifiers of a book.
    #[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    pub struct Description {}
}

/// What is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} is longer than {most} {unit}; shorten it")]
pub struct TooLong {
    pub(crate) what: &'static str,
    pub(crate) most: usize,
    pub(crate) unit: &'static str,
}

impl TooLong {
    pub(crate) fn bytes(what: &'static str, most: usize) -> Self {
        Self { what, most, unit: "bytes" }
    }
}

impl Description {
    /// Fills in what is missing from another description.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let first = |list: Vec<String>, other| if list.is_empty() { other } else { list };
        Self {
            title: self.title.or(other.title),
            authors: first(self.authors, other.authors),
            language: self.language.or(other.language),
            identifiers: first(self.identifiers, other.identifiers),
        }
    }

    /// Checks the description against the limits.
    pub fn within_bounds(&self) -> Result<(), TooLong> {
        if self.title.as_ref().is_some_and(|title| title.len() > TITLE_BYTES) {
            return Err(TooLong::bytes("the title", TITLE_BYTES));
        }
        if self.language.as_ref().is_some_and(|language| language.len() > LANGUAGE_BYTES) {
            return Err(TooLong::bytes("the language", LANGUAGE_BYTES));
        }
        for (list, what, whats, most) in [
            (&self.authors, "an author's name", "the list of authors", AUTHOR_BYTES),
            (&self.identifiers, "an identifier", "the list of identifiers", IDENTIFIER_BYTES),
        ] {
            if list.len() > MOST_LISTED {
                return Err(TooLong { what: whats, most: MOST_LISTED, unit: "entries" });
            }
            if list.iter().any(|one| one.len() > most) {
                return Err(TooLong::bytes(what, most));
            }
        }
        let values = self.title.iter().chain(&self.authors).chain(&self.language).chain(&self.identifiers);
        if values.map(String::len).sum::<usize>() > DESCRIPTION_BYTES {
            return Err(TooLong::bytes("title, authors, language and identifiers together", DESCRIPTION_BYTES));
        }
        Ok(())
    }
}
