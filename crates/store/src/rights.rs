//! What may be done with a book.

use std::str::FromStr;

use lapidary_common::words;

words! {
    /// What may be done with a book, strictest first. A verdict is also one of these.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Rights {
        /// Nobody may publish it, not even its publisher: for example, a court has banned it.
        Forbidden = "forbidden",
        /// Under copyright; others may not publish it.
        Protected = "protected",
        /// Free to publish with its owner's permission.
        Free = "free",
        /// In the public domain.
        PublicDomain = "public_domain",
        /// Not known.
        Unknown = "unknown",
    }
}

impl Rights {
    /// Whether others must not publish it.
    #[must_use]
    pub fn forbids(self) -> bool {
        self <= Self::Protected
    }
}

impl FromStr for Rights {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::named(word).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            format!("rights are one of: {known}")
        })
    }
}
