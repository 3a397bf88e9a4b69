//! A book's gems as bytes: the value of the family `gems`.
//!
//! ```text
//! ┌────────┬───────────────────┬───────────────────────┬──────────────────────────────────────┐
//! │ count  │ gems              │ placed                │ a pair for each placed gem           │
//! │ varint │ count × 4 or 8 B, │ a bit a gem, from the │ gap: start - end of the pair before, │
//! │        │ little-endian     │ lowest of each byte   │      zigzag varint                   │
//! │        │                   │                       │ length: end - start, varint          │
//! └────────┴───────────────────┴───────────────────────┴──────────────────────────────────────┘
//! ```
//!
//! Gems are hashes and do not compress. Chunks follow each other, so most gaps are 0 and a position takes 3 bytes instead
//! of 16. Differences wrap around, so every list has an encoding.

use lapidary_gems::varint;
use lapidary_gems::{Gem, Place, PlacedGem};

/// Encodes gems of `width` (4 or 8) bytes.
pub(super) fn encode(gems: &[PlacedGem], width: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(gems.len() * (width + 4) + 4);
    varint::put(&mut out, gems.len() as u64);
    for gem in gems {
        out.extend(&gem.gem.0.to_le_bytes()[..width]);
    }
    for eight in gems.chunks(8) {
        let bits = eight.iter().enumerate().map(|(i, gem)| u8::from(gem.place.is_some()) << i);
        out.push(bits.fold(0, |byte, bit| byte | bit));
    }
    let mut end = 0;
    for place in gems.iter().filter_map(|gem| gem.place) {
        varint::put(&mut out, varint::zigzag(place.start.wrapping_sub(end)));
        varint::put(&mut out, place.end.wrapping_sub(place.start));
        end = place.end;
    }
    out
}

/// Decodes gems of `width` (4 or 8) bytes. Returns `None` if the bytes are not an output of [`encode`].
pub(super) fn decode(mut bytes: &[u8], width: usize) -> Option<Vec<PlacedGem>> {
    let count = usize::try_from(varint::take(&mut bytes)?).ok()?;
    let gems = bytes.split_off(..count.checked_mul(width)?)?;
    let placed = bytes.split_off(..count.div_ceil(8))?;
    let mut end = 0_u64;
    let mut list = Vec::with_capacity(count);
    for (i, gem) in gems.chunks_exact(width).enumerate() {
        let mut wide = [0; 8];
        wide[..width].copy_from_slice(gem);
        let gem = Gem(u64::from_le_bytes(wide));
        let place = if placed[i / 8] >> (i % 8) & 1 == 1 {
            let start = end.wrapping_add(varint::unzigzag(varint::take(&mut bytes)?));
            end = start.wrapping_add(varint::take(&mut bytes)?);
            Some(Place { start, end })
        } else {
            None
        };
        list.push(PlacedGem { gem, place });
    }
    bytes.is_empty().then_some(list)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn placed(width: usize) -> impl Strategy<Value = PlacedGem> {
        let edges = prop_oneof![any::<u64>(), 0..300_u64, Just(u64::MAX), Just(u64::MAX >> 1)];
        let place = (edges.clone(), edges).prop_map(|(start, end)| Place { start, end });
        (any::<u64>(), proptest::option::of(place))
            .prop_map(move |(gem, place)| PlacedGem { gem: Gem(if width == 4 { gem >> 32 } else { gem }), place })
    }

    proptest! {
        #[test]
        fn decoding_reverses_encoding(narrow in proptest::collection::vec(placed(4), 0..40),
                                      wide in proptest::collection::vec(placed(8), 0..40)) {
            prop_assert_eq!(decode(&encode(&narrow, 4), 4), Some(narrow));
            prop_assert_eq!(decode(&encode(&wide, 8), 8), Some(wide));
        }

        #[test]
        fn a_cut_list_is_refused(list in proptest::collection::vec(placed(4), 1..40), cut in any::<prop::sample::Index>()) {
            let bytes = encode(&list, 4);
            prop_assert_eq!(decode(&bytes[..cut.index(bytes.len())], 4), None);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = (decode(&bytes, 4), decode(&bytes, 8));
        }
    }

    #[test]
    fn a_chunk_after_another_takes_few_bytes() {
        let list: Vec<_> = (0..300)
            .map(|i| PlacedGem { gem: Gem(i * 7919), place: Some(Place { start: i * 1000, end: i * 1000 + 1000 }) })
            .collect();
        assert_eq!(encode(&list, 4).len(), 2 + 300 * 4 + 300_usize.div_ceil(8) + 300 * 3);
    }

    #[test]
    fn a_count_of_more_than_there_is_is_refused_before_memory_is_taken() {
        let mut bytes = Vec::new();
        varint::put(&mut bytes, u64::MAX >> 3);
        assert_eq!(decode(&bytes, 8), None);
    }
}
