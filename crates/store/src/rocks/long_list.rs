//! Long posting lists: the family `lists`.

use std::collections::BTreeMap;

use lapidary_gems::{Gem, varint};

use super::owners::{LibraryNo, Owners};
use super::schema;
use crate::BookNo;
use crate::postings::encode_list;
use crate::recipes::KnownRecipe;

/// The entries of a long list, sorted by key.
pub(super) fn long_list(
    recipe: &KnownRecipe,
    gem: Gem,
    books: &[BookNo],
    owners: &Owners,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut parts: BTreeMap<LibraryNo, Vec<BookNo>> = BTreeMap::new();
    let mut walk = owners.walk();
    for book in books {
        parts.entry(walk.of(*book)).or_default().push(*book);
    }
    let counts: Vec<_> = parts
        .iter()
        .map(|(library, books)| (*library, books.len() as u32))
        .collect();
    let lists = parts
        .iter()
        .map(|(library, books)| (schema::list_key(recipe, gem, *library), encode_list(books)));
    [(schema::gem_key(recipe, gem), encode_parts(&counts))]
        .into_iter()
        .chain(lists)
        .collect()
}

/// Encodes how many books each library has in a long list, by library number.
pub(super) fn encode_parts(parts: &[(LibraryNo, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (library, count) in parts {
        varint::put(&mut bytes, u64::from(library.0));
        varint::put(&mut bytes, u64::from(*count));
    }
    bytes
}

/// Decodes the output of [`encode_parts`]. Returns `None` if the bytes are invalid.
pub(super) fn decode_parts(mut bytes: &[u8]) -> Option<Vec<(LibraryNo, u32)>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let library = LibraryNo(u32::try_from(varint::take(&mut bytes)?).ok()?);
        parts.push((library, u32::try_from(varint::take(&mut bytes)?).ok()?));
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_list_come_back() {
        let parts = [
            (LibraryNo(0), 1),
            (LibraryNo(300), 5_000),
            (LibraryNo(u32::MAX), u32::MAX),
        ];
        assert_eq!(decode_parts(&encode_parts(&parts)).unwrap(), parts);
        assert_eq!(decode_parts(&[7]), None);
    }
}
