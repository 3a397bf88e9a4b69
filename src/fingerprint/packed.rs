//! A fold to be kept, so that a text can be cut anew without the text.
//!
//! ```text
//! ┌────────┬──────────────────┬───────────────────┬─────────────────────┬──────────────────────┐
//! │ count  │ digits           │ others            │ gaps                │ lengths              │
//! │ varint │ two a byte, the  │ a varint for each │ a zigzag varint a   │ a varint a digit:    │
//! │        │ first the lower; │ 15: the character │ digit: start - that │ end - start          │
//! │        │ 15: not ASCII    │                   │ of the digit before │                      │
//! └────────┴──────────────────┴───────────────────┴─────────────────────┴──────────────────────┘
//! ```
//!
//! The places of digits go along, since the gems of another cut begin and end at other digits. A store compresses this:
//! most gaps and lengths are one of very few.

use super::gem::Place;
use super::recipe::Base;
use crate::varint;

/// A fold with the places of its digits, packed. Any recipe of the same base cuts it into the gems that it would make of
/// the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFold {
    pub(super) base: Base,
    bytes: Vec<u8>,
}

/// Stands for a digit outside ASCII.
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
        let mut before = 0;
        for (_, Place { start, .. }) in digits {
            varint::put(&mut bytes, varint::zigzag(start.wrapping_sub(before)));
            before = *start;
        }
        for (_, Place { start, end }) in digits {
            varint::put(&mut bytes, end.wrapping_sub(*start));
        }
        Self { base, bytes }
    }

    /// A fold of these bytes, which [`Self::as_bytes`] gave, by the base of this name; `None` when there is no such base.
    #[must_use]
    pub fn new(base: &str, bytes: Vec<u8>) -> Option<Self> {
        Some(Self { base: Base::named(base)?, bytes })
    }

    /// The name of the built-in recipe that folds so.
    #[must_use]
    pub fn base(&self) -> &'static str {
        self.base.name()
    }

    /// The fold as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The digits with their places; `None` when these bytes are no fold.
    pub(super) fn unpack(&self) -> Option<Vec<(char, Place)>> {
        let mut bytes = self.bytes.as_slice();
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
        let mut start = 0_u64;
        for (_, place) in &mut digits {
            start = start.wrapping_add(varint::unzigzag(varint::take(&mut bytes)?));
            place.start = start;
        }
        for (_, place) in &mut digits {
            place.end = place.start.wrapping_add(varint::take(&mut bytes)?);
        }
        bytes.is_empty().then_some(digits)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::PackedFold;
    use crate::fingerprint::{Boundaries, Recipe};

    fn recut_is_as_cut(text: &str) -> Result<(), TestCaseError> {
        let fine = Boundaries::new(["41", "52", "14", "86"].map(|two| two.repeat(2)), 1).expect("good");
        for base in [Recipe::documented(), Recipe::released()] {
            let packed = base.folded(text);
            for recipe in [base.with_boundaries(fine.clone()), base] {
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
            let _ = Recipe::documented().recut(&PackedFold::new("documented", bytes).expect("a base"));
        }
    }

    #[test]
    fn another_base_cannot_cut_it() {
        let packed = Recipe::released().folded("a text");
        assert_eq!(Recipe::documented().recut(&packed), None);
        assert_eq!(PackedFold::new("released", packed.as_bytes().to_vec()), Some(packed));
        assert_eq!(PackedFold::new("other", Vec::new()), None);
    }
}
