//! The keys of [`Family::Meta`](super::Family::Meta).

use super::{read_book, read_recipe};
use crate::{BookNo, Library};

/// A key of [`Family::Meta`](super::Family::Meta), whose documentation shows their layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rocks) enum MetaKey<'a> {
    /// The format version.
    Version,
    /// The next book's number.
    Next,
    /// The number of the last audit log entry, as its key.
    Audited,
    /// The number of postings.
    Postings,
    /// The default recipe.
    Default,
    /// Folds are kept.
    Folds,
    /// A recipe's definition.
    Recipe(u16),
    /// A recipe's sizes.
    Sizes(u16),
    /// The recipe is being dropped.
    Leaving(u16),
    /// The recipe is ready.
    Ready(u16),
    /// A library's summary.
    Library(&'a [u8]),
    /// The start of a run of book numbers.
    Owner(BookNo),
    /// A setting: its kind, and its name.
    Setting(&'a [u8], &'a [u8]),
}

impl<'a> MetaKey<'a> {
    /// The keys without a variable part.
    const FIXED: [Self; 6] = [
        Self::Version,
        Self::Next,
        Self::Audited,
        Self::Postings,
        Self::Default,
        Self::Folds,
    ];
    /// The keys of a recipe, as made from its number.
    const OF_RECIPE: [fn(u16) -> Self; 4] = [Self::Recipe, Self::Sizes, Self::Leaving, Self::Ready];

    /// The key of a library's summary.
    pub(in crate::rocks) fn library(library: &'a Library) -> Self {
        Self::Library(library.as_str().as_bytes())
    }

    /// All keys of a recipe.
    pub(in crate::rocks) fn of_recipe(recipe: u16) -> [Self; 4] {
        Self::OF_RECIPE.map(|key| key(recipe))
    }

    /// The number of the recipe that the key belongs to, if any.
    pub(in crate::rocks) fn recipe(self) -> Option<u16> {
        match self {
            Self::Recipe(number)
            | Self::Sizes(number)
            | Self::Leaving(number)
            | Self::Ready(number) => Some(number),
            _ => None,
        }
    }

    /// The word that the key starts with.
    fn word(self) -> &'static [u8] {
        match self {
            Self::Version => b"version",
            Self::Next => b"next",
            Self::Audited => b"audited",
            Self::Postings => b"postings",
            Self::Default => b"default",
            Self::Folds => b"folds",
            Self::Recipe(_) => b"recipe\0",
            Self::Sizes(_) => b"sizes\0",
            Self::Leaving(_) => b"leaving\0",
            Self::Ready(_) => b"ready\0",
            Self::Library(_) => b"library\0",
            Self::Owner(_) => b"owner\0",
            Self::Setting(..) => b"setting\0",
        }
    }

    pub(in crate::rocks) fn bytes(self) -> Vec<u8> {
        let word = self.word();
        match self {
            Self::Recipe(number)
            | Self::Sizes(number)
            | Self::Leaving(number)
            | Self::Ready(number) => [word, &number.to_be_bytes()].concat(),
            Self::Library(name) => [word, name].concat(),
            Self::Owner(start) => [word, &start.0.to_be_bytes()].concat(),
            Self::Setting(kind, name) => [word, kind, b"\0", name].concat(),
            _ => word.to_vec(),
        }
    }

    /// Parses a key.
    pub(in crate::rocks) fn read(key: &'a [u8]) -> Option<Self> {
        let Some(at) = memchr::memchr(0, key) else {
            return Self::FIXED.into_iter().find(|fixed| fixed.word() == key);
        };
        let (word, rest) = key.split_at(at + 1);
        if let Some(of_recipe) = Self::OF_RECIPE
            .iter()
            .find(|of_recipe| of_recipe(0).word() == word)
        {
            return read_recipe(rest).map(of_recipe);
        }
        match word {
            b"library\0" => Some(Self::Library(rest)),
            b"owner\0" => read_book(rest).map(Self::Owner),
            b"setting\0" => {
                let end = memchr::memchr(0, rest)?;
                Some(Self::Setting(&rest[..end], &rest[end + 1..]))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        let mut keys = MetaKey::FIXED.to_vec();
        keys.extend(
            [0, 1, 256, u16::MAX]
                .into_iter()
                .flat_map(MetaKey::of_recipe),
        );
        keys.extend([
            MetaKey::Library(b"a library"),
            MetaKey::Owner(BookNo(7)),
            MetaKey::Setting(b"kind", b"a\0name"),
        ]);
        for key in keys {
            assert_eq!(MetaKey::read(&key.bytes()), Some(key));
        }
        for none in [
            &b""[..],
            b"more",
            b"version2",
            b"recipe\0\x01",
            b"owner\0\0\0\0",
            b"setting\0kind",
            b"sizes\0abc",
        ] {
            assert_eq!(MetaKey::read(none), None, "{none:?}");
        }
    }
}
