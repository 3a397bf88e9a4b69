//! A stored fold, from which a text can be cut again without the text itself.
//!
//! ```text
//! ┌────────┬──────────────────┬───────────────────┬─────────────────────┬──────────────────────┐
//! │ count  │ digits           │ others            │ gaps                │ lengths              │
//! │ varint │ two per byte,    │ a varint for each │ a zigzag varint per │ a varint per digit:  │
//! │        │ low nibble first;│ 15: the character │ digit: start - that │ end - start          │
//! │        │ 15: not ASCII    │                   │ of the digit before │                      │
//! └────────┴──────────────────┴───────────────────┴─────────────────────┴──────────────────────┘
//! ```
//!
//! The places of all digits are included, because the gems of another cut begin and end at other digits. A store
//! compresses the bytes well: most gaps and lengths take one of very few values. A fold of words has the same format
//! without digits, and with all codes as others.

use super::base::{Base, WORDS};
use super::gem::Place;
use crate::varint;

/// A packed fold with the places of its digits. Any recipe with the same base cuts it into the gems that it would
/// compute from the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFold {
    base: &'static str,
    bytes: Vec<u8>,
}

/// Marks a digit outside ASCII.
const OTHER: u8 = 15;

impl PackedFold {
    pub(super) fn pack(base: Base, digits: &[(char, Place)]) -> Self {
        let mut bytes = Vec::with_capacity(digits.len() * 5 / 2 + 10);
        varint::put(&mut bytes, digits.len() as u64);
        let nibble = |&(digit, _): &(char, Place)| digit.to_digit(10).map_or(OTHER, |value| value as u8);
        for two in digits.chunks(2) {
            bytes.push(nibble(&two[0]) | two.get(1).map_or(0, nibble) << 4);
        }
        for (digit, _) in digits.iter().filter(|digit| nibble(digit) == OTHER) {
            varint::put(&mut bytes, u64::from(u32::from(*digit)));
        }
        put_places(&mut bytes, digits);
        Self { base: base.name(), bytes }
    }

    /// Packs a fold of words, each a number.
    pub(super) fn of_words(words: &[(u32, Place)]) -> Self {
        let mut bytes = Vec::with_capacity(words.len() * 5 + 10);
        varint::put(&mut bytes, words.len() as u64);
        for (word, _) in words {
            varint::put(&mut bytes, u64::from(*word));
        }
        put_places(&mut bytes, words);
        Self { base: WORDS, bytes }
    }

    /// A fold from the bytes of [`Self::as_bytes`] and the name of its base; `None` if there is no such base.
    #[must_use]
    pub fn new(base: &str, bytes: Vec<u8>) -> Option<Self> {
        let base = Base::named(base).map(Base::name).or((base == WORDS).then_some(WORDS))?;
        Some(Self { base, bytes })
    }

    /// The name of the built-in recipe that has this fold.
    #[must_use]
    pub fn base(&self) -> &'static str {
        self.base
    }

    /// The fold as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The digits with their places; `None` if the bytes are not a fold, or the fold has another base.
    pub(super) fn digits(&self, base: Base) -> Option<Vec<(char, Place)>> {
        let mut bytes = (self.base == base.name()).then_some(self.bytes.as_slice())?;
        let count = usize::try_from(varint::take(&mut bytes)?).ok()?;
        let packed = bytes.split_off(..count.div_ceil(2))?;
        let mut digits = Vec::with_capacity(count);
        for i in 0..count {
            let digit = match packed[i / 2] >> (i % 2 * 4) & 0xf {
                digit @ 0..=9 => char::from(b'0' + digit),
                OTHER => char::from_u32(u32::try_from(varint::take(&mut bytes)?).ok()?)?,
                _ => return None,
            };
            digits.push((digit, Place { start: 0, end: 0 }));
        }
        take_places(bytes, &mut digits)?;
        Some(digits)
    }

    /// The words with their places; `None` if the bytes are not a fold of words.
    pub(super) fn words(&self) -> Option<Vec<(u32, Place)>> {
        let mut bytes = (self.base == WORDS).then_some(self.bytes.as_slice())?;
        let count = varint::take(&mut bytes)?;
        // No preallocation: the count may be wrong.
        let mut words = Vec::new();
        for _ in 0..count {
            words.push((u32::try_from(varint::take(&mut bytes)?).ok()?, Place { start: 0, end: 0 }));
        }
        take_places(bytes, &mut words)?;
        Some(words)
    }
}

fn put_places<T>(bytes: &mut Vec<u8>, places: &[(T, Place)]) {
    let mut before = 0;
    for (_, Place { start, .. }) in places {
        varint::put(bytes, varint::zigzag(start.wrapping_sub(before)));
        before = *start;
    }
    for (_, Place { start, end }) in places {
        varint::put(bytes, end.wrapping_sub(*start));
    }
}

/// `None` unless these bytes are exactly the places.
fn take_places<T>(mut bytes: &[u8], places: &mut [(T, Place)]) -> Option<()> {
    let mut start = 0_u64;
    for (_, place) in places.iter_mut() {
        start = start.wrapping_add(varint::unzigzag(varint::take(&mut bytes)?));
        place.start = start;
    }
    for (_, place) in places {
        place.end = place.start.wrapping_add(varint::take(&mut bytes)?);
    }
    bytes.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::PackedFold;
    use crate::{Boundaries, Recipe};

    fn recut_is_as_cut(text: &str) -> Result<(), TestCaseError> {
        let fine = Boundaries::new(["41", "52", "14", "86"].map(|two| two.repeat(2)), 1).expect("good");
        let hardened = [Recipe::hardened(), Recipe::hardened_fine()];
        let exact = [Recipe::documented(), Recipe::released()].map(|base| [base.with_boundaries(fine.clone()), base]);
        for recipes in exact.into_iter().chain([hardened]) {
            let packed = recipes[0].folded(text, |place| place);
            for recipe in recipes {
                prop_assert_eq!(recipe.recut(&packed), Some(recipe.gems(text)));
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn a_packed_fold_is_cut_as_its_text(text in "([a-eа-еb-kr-zё٣٤]{0,9}[ .,*-]{0,2}[ \n]){0,300}") {
            recut_is_as_cut(&text)?;
        }

        #[test]
        fn any_text_can_be_packed(text in any::<String>()) {
            recut_is_as_cut(&text)?;
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            for base in [Recipe::documented(), Recipe::hardened()] {
                let _ = base.recut(&PackedFold::new(base.base(), bytes.clone()).expect("a base"));
            }
        }
    }

    #[test]
    fn another_base_cannot_cut_it() {
        let packed = Recipe::released().folded("a text", |place| place);
        assert_eq!(Recipe::documented().recut(&packed), None);
        assert_eq!(PackedFold::new("released", packed.as_bytes().to_vec()), Some(packed));
        assert_eq!(PackedFold::new("other", Vec::new()), None);
    }
}
