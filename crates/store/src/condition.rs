//! Conditions on the present version of a book, under which it is changed or shown.

use super::{BookKey, Record, StoreError};

/// How many hexadecimal digits of a hash name a version.
const TAG_DIGITS: usize = 32;

/// Names the version of what is stored or shown as these bytes.
#[must_use]
pub fn tag_of(bytes: &[u8]) -> String {
    let mut tag = blake3::hash(bytes).to_string();
    tag.truncate(TAG_DIGITS);
    tag
}

/// Versions of a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Versions {
    /// Each version that there is.
    Any,
    /// Those with these tags ([`Record::tag`]).
    Tagged(Vec<String>),
}

impl Versions {
    /// Whether the version with this tag is one of them. Nothing is in no version.
    fn include_tag(&self, tag: Option<&str>) -> bool {
        tag.is_some_and(|tag| match self {
            Self::Any => true,
            Self::Tagged(tags) => tags.iter().any(|known| known == tag),
        })
    }

    fn include(&self, record: Option<&Record>) -> bool {
        match self {
            Self::Any => record.is_some(),
            Self::Tagged(_) => self.include_tag(record.map(Record::tag).as_deref()),
        }
    }
}

/// What must be true of a book for it to be changed. The store decides while it writes, so of several changes with the
/// same condition only those are made that it still holds for.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The present version is one of these.
    pub among: Option<Versions>,
    /// The present version is none of these.
    pub not_among: Option<Versions>,
    /// What the change must not undo.
    pub keeps: Keeps,
}

/// What a change of a book must not undo.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Keeps {
    /// That nobody may publish the book.
    pub ban: bool,
    /// That an administrator disabled it or wrote a note on it.
    pub word_of_administrator: bool,
}

impl Keeps {
    /// # Errors
    /// [`StoreError::MayNotForbid`] and [`StoreError::SetByAdministrator`] for a book of which something would be undone.
    fn allow(self, record: &Record) -> Result<(), StoreError> {
        if self.ban && record.is_banned() {
            return Err(StoreError::MayNotForbid(record.key.to_string()));
        }
        let standing = &record.standing;
        let set = [
            (standing.is_disabled_by_administrator(), "disabled"),
            (standing.is_noted_by_administrator(), "noted"),
        ];
        match set
            .into_iter()
            .find(|(is_set, _)| *is_set && self.word_of_administrator)
        {
            Some((_, what)) => Err(StoreError::SetByAdministrator {
                book: record.key.clone(),
                what,
            }),
            None => Ok(()),
        }
    }
}

impl Condition {
    /// Whether the version with this tag, or the absence of any, is one that it must be among.
    #[must_use]
    pub fn finds_tag(&self, tag: Option<&str>) -> bool {
        let among = self.among.as_ref();
        among.is_none_or(|versions| versions.include_tag(tag))
    }

    /// Whether the version with this tag is one of those that it must not be among.
    #[must_use]
    pub fn excludes_tag(&self, tag: Option<&str>) -> bool {
        let not_among = self.not_among.as_ref();
        not_among.is_some_and(|versions| versions.include_tag(tag))
    }

    /// Whether the present version is one of those that it must be among.
    #[must_use]
    pub fn finds(&self, record: Option<&Record>) -> bool {
        self.among
            .as_ref()
            .is_none_or(|versions| versions.include(record))
    }

    /// Whether the present version is one of those that it must not be among.
    #[must_use]
    pub fn excludes(&self, record: Option<&Record>) -> bool {
        self.not_among
            .as_ref()
            .is_some_and(|versions| versions.include(record))
    }

    /// # Errors
    /// [`StoreError::OtherVersion`] if the present version of the book, or its absence, does not meet the condition;
    /// [`StoreError::MayNotForbid`] and [`StoreError::SetByAdministrator`] if the change would undo what it must not.
    pub fn holds(&self, key: &BookKey, record: Option<&Record>) -> Result<(), StoreError> {
        if self.finds(record) && !self.excludes(record) {
            return record.map_or(Ok(()), |record| self.keeps.allow(record));
        }
        Err(StoreError::OtherVersion {
            book: key.clone(),
            is_there: record.is_some(),
        })
    }
}

impl Record {
    /// Names this version of the book: a hash of everything that is shown of it. How many gems it has of recipes with a secret is
    /// not.
    #[must_use]
    pub fn tag(&self) -> String {
        let mut shown = self.clone();
        for (recipe, gems) in &mut shown.gems {
            if recipe.without_secret().is_some() {
                *gems = 0;
            }
        }
        // Text, numbers and times always serialize.
        tag_of(&serde_json::to_vec(&shown).unwrap_or_default())
    }
}
