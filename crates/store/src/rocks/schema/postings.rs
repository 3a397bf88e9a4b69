//! The keys of posting lists: buckets of the main index, long lists, and the delta.

use std::fmt;

use lapidary_gems::Gem;

use super::{BOOK_BYTES, BUCKET_BITS, BUCKET_BYTES, RECIPE_BYTES};
use crate::BookNo;
use crate::recipes::KnownRecipe;
use crate::rocks::owners::LibraryNo;

/// A bucket's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::rocks) struct Bucket(u32);

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bucket {}", self.0)
    }
}

impl Bucket {
    /// The bucket of a gem. The gem must fit its recipe's bits.
    pub(in crate::rocks) fn of(recipe: &KnownRecipe, gem: Gem) -> Self {
        Self((gem.0 >> rest_bits(recipe)) as u32)
    }

    pub(in crate::rocks) fn key(self, recipe: &KnownRecipe) -> [u8; RECIPE_BYTES + BUCKET_BYTES] {
        let [_, bucket @ ..] = self.0.to_be_bytes();
        let mut key = [0; RECIPE_BYTES + BUCKET_BYTES];
        key[..RECIPE_BYTES].copy_from_slice(&recipe.number.to_be_bytes());
        key[RECIPE_BYTES..].copy_from_slice(&bucket);
        key
    }

    /// The beginning of the key range of all lists and changes of its gems.
    pub(in crate::rocks) fn start(self, recipe: &KnownRecipe) -> Vec<u8> {
        gem_key(recipe, Gem(u64::from(self.0) << rest_bits(recipe)))
    }

    /// The end of the key range of all lists and changes of its gems.
    pub(in crate::rocks) fn end(self, recipe: &KnownRecipe) -> Vec<u8> {
        let bits = rest_bits(recipe);
        let mut key = gem_key(recipe, Gem(u64::from(self.0) << bits | ((1 << bits) - 1)));
        key.extend([0xff; 1 + BOOK_BYTES + 1]);
        key
    }

    /// The gem of this bucket with these lower bits; `None` if there can be no such gem.
    pub(in crate::rocks) fn gem(self, recipe: &KnownRecipe, rest: u64) -> Option<Gem> {
        let bits = rest_bits(recipe);
        (rest >> bits == 0).then_some(Gem(u64::from(self.0) << bits | rest))
    }
}

/// The lower bits of a gem, which are not in its bucket's number.
pub(in crate::rocks) fn rest_of(recipe: &KnownRecipe, gem: Gem) -> u64 {
    gem.0 & ((1 << rest_bits(recipe)) - 1)
}

/// The number of these lower bits.
pub(in crate::rocks) fn rest_bits(recipe: &KnownRecipe) -> u32 {
    recipe.gem_bits - BUCKET_BITS
}

/// Parses a key of [`Family::Postings`] into the recipe's number and the bucket.
pub(in crate::rocks) fn read_bucket_key(key: &[u8]) -> Option<(u16, Bucket)> {
    let (recipe, bucket) = key.split_first_chunk::<RECIPE_BYTES>()?;
    let &[a, b, c] = bucket else { return None };
    let bucket = u32::from_be_bytes([0, a, b, c]);
    (bucket >> BUCKET_BITS == 0).then_some((u16::from_be_bytes(*recipe), Bucket(bucket)))
}

/// The key of a long list's counts, and the prefix of the keys of its parts and of all changes of the gem. The gem
/// must fit its recipe's bits.
pub(in crate::rocks) fn gem_key(recipe: &KnownRecipe, gem: Gem) -> Vec<u8> {
    let gem = gem.0.to_be_bytes();
    let mut key = Vec::with_capacity(RECIPE_BYTES + gem.len() + 1 + BOOK_BYTES);
    key.extend(recipe.number.to_be_bytes());
    key.extend(&gem[gem.len() - recipe.gem_bytes()..]);
    key
}

/// The key of a library's part of a gem's list.
pub(in crate::rocks) fn list_key(recipe: &KnownRecipe, gem: Gem, library: LibraryNo) -> Vec<u8> {
    let mut key = gem_key(recipe, gem);
    key.extend(library.0.to_be_bytes());
    key
}

/// Parses the key of a gem into the recipe's number, the size of the gem in bytes, and the gem.
pub(in crate::rocks) fn read_gem_key(key: &[u8]) -> Option<(u16, usize, Gem)> {
    let (recipe, gem) = key.split_first_chunk::<RECIPE_BYTES>()?;
    let mut wide = [0; 8];
    wide[8_usize.checked_sub(gem.len())?..].copy_from_slice(gem);
    Some((
        u16::from_be_bytes(*recipe),
        gem.len(),
        Gem(u64::from_be_bytes(wide)),
    ))
}

/// How a posting differs from the main index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::rocks) enum Sign {
    Removed,
    Added,
}

/// A key of [`Family::Delta`]. A change has many of these, so a key allocates no memory and sorts as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rocks) struct DeltaKey {
    /// The key, padded with zeros.
    bytes: [u8; 15],
    len: u8,
}

impl DeltaKey {
    /// The sort order of keys. All keys of a recipe have the same length.
    pub(in crate::rocks) fn order(&self) -> u128 {
        let mut wide = [0; 16];
        wide[..self.bytes.len()].copy_from_slice(&self.bytes);
        u128::from_be_bytes(wide)
    }
}

impl AsRef<[u8]> for DeltaKey {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }
}

pub(in crate::rocks) fn delta_key(
    recipe: &KnownRecipe,
    gem: Gem,
    sign: Sign,
    book: BookNo,
) -> DeltaKey {
    let (gem, width) = (gem.0.to_be_bytes(), recipe.gem_bytes());
    let parts = [
        &recipe.number.to_be_bytes()[..],
        &gem[gem.len() - width..],
        &[sign as u8],
        &book.0.to_be_bytes(),
    ];
    let mut key = DeltaKey {
        bytes: [0; 15],
        len: 0,
    };
    for part in parts {
        let from = usize::from(key.len);
        key.bytes[from..from + part.len()].copy_from_slice(part);
        key.len += part.len() as u8;
    }
    key
}

/// Splits a key of [`Family::Delta`] into the common prefix of its gem, and the change.
pub(in crate::rocks) fn split_delta_key(key: &[u8]) -> Option<(&[u8], Sign, BookNo)> {
    let (key, book) = key.split_last_chunk::<BOOK_BYTES>()?;
    let (sign, gem) = key.split_last()?;
    let sign = match sign {
        0 => Sign::Removed,
        1 => Sign::Added,
        _ => return None,
    };
    Some((gem, sign, BookNo(u32::from_be_bytes(*book))))
}

/// Numbers of postings.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::rocks) struct Postings {
    /// In the main index.
    pub(in crate::rocks) main: u64,
    /// In the delta.
    pub(in crate::rocks) delta: u64,
}

impl fmt::Display for Postings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} postings and {} changes", self.main, self.delta)
    }
}

impl Postings {
    pub(in crate::rocks) fn write(self) -> [u8; 16] {
        (u128::from(self.main) << 64 | u128::from(self.delta)).to_be_bytes()
    }

    pub(in crate::rocks) fn read(bytes: &[u8]) -> Option<Self> {
        let both = u128::from_be_bytes(bytes.try_into().ok()?);
        Some(Self {
            main: (both >> 64) as u64,
            delta: both as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_changes_have_one_order_as_bytes_and_as_numbers() {
        let known = |(number, name): (u16, &str)| {
            KnownRecipe::new(number, name.parse().expect("a built-in recipe"), true)
        };
        let mut keys = Vec::new();
        for recipe in [(258, "hardened"), (1, "documented"), (3, "released")].map(known) {
            for gem in [0, 1, 255, 256, u64::from(u32::MAX)].map(Gem) {
                for (sign, book) in [0, 1, 256, u32::MAX]
                    .map(BookNo)
                    .into_iter()
                    .flat_map(|b| [(Sign::Added, b), (Sign::Removed, b)])
                {
                    let key = delta_key(&recipe, gem, sign, book);
                    assert_eq!(
                        split_delta_key(key.as_ref()),
                        Some((gem_key(&recipe, gem).as_slice(), sign, book))
                    );
                    keys.push(key);
                }
            }
        }
        let mut as_bytes = keys.clone();
        as_bytes.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
        keys.sort_by_key(DeltaKey::order);
        assert_eq!(keys, as_bytes);
    }
}
