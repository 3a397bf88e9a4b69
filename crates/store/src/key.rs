//! What identifies a book: its library's name, its id there, and its internal number.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use lapidary_common::error::{Classified, ErrorCode};

/// Maximum length of a library name or book id, in bytes of UTF-8.
pub const NAME_BYTES: usize = 512;

/// An invalid library name or book id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must have 1 to {NAME_BYTES} bytes and no control characters, not {value:?}")]
pub struct BadName {
    what: &'static str,
    value: String,
}

impl Classified for BadName {
    fn code(&self) -> ErrorCode {
        ErrorCode::BadName
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
        #[schema(value_type = String, min_length = 1, max_length = 512)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name as a string.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;

            fn try_from(value: String) -> Result<Self, BadName> {
                if value.is_empty() || value.len() > NAME_BYTES || value.chars().any(char::is_control) {
                    let value = value.chars().take(80).collect();
                    return Err(BadName { what: $what, value });
                }
                Ok(Self(value))
            }
        }

        impl FromStr for $name {
            type Err = BadName;

            fn from_str(value: &str) -> Result<Self, BadName> {
                Self::try_from(value.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A library's name: 1 to 512 bytes without control characters.
    Library,
    "a library's name"
);
name!(
    /// A book's id within its library: 1 to 512 bytes without control characters. Slashes and any script are allowed.
    BookId,
    "a book's id"
);

/// Identifies a book: its library and its id there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct BookKey {
    /// The library.
    pub library: Library,
    /// The book's id in the library.
    pub id: BookId,
}

impl fmt::Display for BookKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.library, self.id)
    }
}

/// A book's internal number. Users see its [`BookKey`] instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BookNo(pub u32);
