//! A stored fold, from which a text can be cut again without the text itself.
//!
//! ```text
//! ┌────────┬──────────────────┬───────────────────┬─────────────────────┬──────────────────────┐
//! │ count  │ symbols          │ others            │ gaps                │ lengths              │
//! │ varint │ two per byte,    │ a varint for each │ a zigzag varint per │ a varint per symbol: │
//! │        │ low nibble first;│ 15: the character │ symbol: start - that│ end - start          │
//! │        │ 15: another      │                   │ of the symbol before│                      │
//! └────────┴──────────────────┴───────────────────┴─────────────────────┴──────────────────────┘
//! ```
//!
//! A symbol is a digit, or in a fold of sounds, one of nine letters. The places of all symbols are included, because the
//! gems of another cut begin and end at other symbols. A store compresses the bytes well: most gaps and lengths take one of
//! very few values.

use super::base::{Base, SOUNDS};
use super::gem::Place;
use crate::varint;

/// A packed fold with the places of its symbols. Any recipe with the same base cuts it into the gems that it would
/// compute from the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFold {
    base: &'static str,
    bytes: Vec<u8>,
}

/// The symbols of less than four bits.
const DIGITS: &str = "0123456789";
const LETTERS: &str = "PVKTSLMNR";
/// Marks any other symbol.
const OTHER: u8 = 15;

/// The symbols that a fold has a number for.
fn numbered(base: &str) -> &'static str {
    if base == SOUNDS { LETTERS } else { DIGITS }
}

impl PackedFold {
    pub(super) fn pack(base: &'static str, symbols: &[(char, Place)]) -> Self {
        let mut bytes = Vec::with_capacity(symbols.len() * 5 / 2 + 10);
        varint::put(&mut bytes, symbols.len() as u64);
        let numbers = numbered(base);
        for two in symbols.chunks(2) {
            let second = two.get(1).map_or(0, |(symbol, _)| nibble(numbers, *symbol));
            bytes.push(nibble(numbers, two[0].0) | second << 4);
        }
        for &(symbol, _) in symbols {
            if nibble(numbers, symbol) == OTHER {
                varint::put(&mut bytes, u64::from(u32::from(symbol)));
            }
        }
        put_places(&mut bytes, symbols);
        Self { base, bytes }
    }

    /// A fold from the bytes of [`Self::as_bytes`] and the name of its base; `None` if there is no such base.
    #[must_use]
    pub fn new(base: &str, bytes: Vec<u8>) -> Option<Self> {
        let base = Base::named(base)
            .map(Base::name)
            .or((base == SOUNDS).then_some(SOUNDS))?;
        Some(Self { base, bytes })
    }

    /// The name of the fold, as by `Recipe::base`.
    #[must_use]
    pub fn base(&self) -> &'static str {
        self.base
    }

    /// The fold as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The symbols with their places; `None` if the bytes are not a fold, or the fold has another base.
    pub(super) fn symbols(&self, base: &str) -> Option<Vec<(char, Place)>> {
        let mut bytes = (self.base == base).then_some(self.bytes.as_slice())?;
        let count = usize::try_from(varint::take(&mut bytes)?).ok()?;
        let packed = bytes.split_off(..count.div_ceil(2))?;
        let numbers = numbered(base).as_bytes();
        let mut symbols = Vec::with_capacity(count);
        for i in 0..count {
            let symbol = match packed[i / 2] >> (i % 2 * 4) & 0xf {
                OTHER => char::from_u32(u32::try_from(varint::take(&mut bytes)?).ok()?)?,
                number => char::from(*numbers.get(usize::from(number))?),
            };
            symbols.push((symbol, Place { start: 0, end: 0 }));
        }
        take_places(bytes, &mut symbols)?;
        Some(symbols)
    }
}

fn nibble(numbers: &str, symbol: char) -> u8 {
    numbers.find(symbol).map_or(OTHER, |number| number as u8)
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
        let fine =
            Boundaries::new(["41", "52", "14", "86"].map(|two| two.repeat(2)), 1).expect("good");
        let hardened = vec![
            Recipe::hardened(),
            Recipe::hardened_fine(),
            Recipe::hardened_compact(),
        ];
        let exact = [Recipe::documented(), Recipe::released()]
            .map(|base| vec![base.with_boundaries(fine.clone()), base]);
        for recipes in exact.into_iter().chain([hardened]) {
            let packed = recipes[0].folded(text, |place| place).expect("a fold");
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
        let packed = Recipe::released()
            .folded("a text", |place| place)
            .expect("a fold");
        assert_eq!(Recipe::documented().recut(&packed), None);
        assert_eq!(
            PackedFold::new("released", packed.as_bytes().to_vec()),
            Some(packed)
        );
        assert_eq!(PackedFold::new("other", Vec::new()), None);
    }
}
