//! A book's gems as bytes.
//!
//! ```text
//! ┌──────┬────────────┬────────┬──────────────┬───────────────────────┬─────────────────────────────┬──────────────────────┐
//! │ 0x80 │ 1 if all   │ count  │ gems         │ if not all are:       │ gaps: start - end of the    │ lengths: end - start │
//! │      │ are placed │ varint │ count × 4 or │ a bit a gem, from the │ placed gem before: a number │ a number a placed    │
//! │      │ u8         │        │ 6 B, little- │ lowest of each byte   │ a placed gem                │ gem                  │
//! │      │            │        │ endian       │                       │                             │                      │
//! └──────┴────────────┴────────┴──────────────┴───────────────────────┴─────────────────────────────┴──────────────────────┘
//! ```
//!
//! Gems are hashes and do not compress. Gaps and lengths are numbers of similar size (Rice 1979, "Some practical universal
//! noiseless coding techniques"): of how far each is from their median, in zigzag, the lower bits as they are, and the higher ones in
//! unary, a 0 for each and then a 1. A place so takes 12 bits instead of 128. A number of `FAR` or more higher bits has the others
//! at the end.
//!
//! ```text
//! ┌───────────────┬──────────┬──────────────────┬────────────────┬───────┬───────────────────────┐
//! │ median        │ low bits │ lower bits       │ length of the  │ highs │ those of far numbers  │
//! │ zigzag varint │ u8       │ `low` bits each  │ highs, varint  │       │ varint each           │
//! └───────────────┴──────────┴──────────────────┴────────────────┴───────┴───────────────────────┘
//! ```
//!
//! Differences wrap around, so every list has an encoding.

use lapidary_gems::varint;
use lapidary_gems::{Gem, Place, PlacedGem};

use super::Enough;
use super::bits::{Numbers, pack, word};

/// What a list begins with, so that no other value is taken for one.
const MARK: u8 = 0x80;
/// The maximum number of zeros in unary.
const FAR: u64 = 24;
/// The maximum number of lower bits.
const MOST_LOW_BITS: u32 = 57;

/// Encodes gems of `width` bytes.
#[must_use]
pub fn encode(gems: &[PlacedGem], width: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(gems.len() * (width + 3) + 16);
    let all_placed = gems.iter().all(|gem| gem.place.is_some());
    out.extend([MARK, all_placed.into()]);
    varint::put(&mut out, gems.len() as u64);
    for gem in gems {
        out.extend(&gem.gem.0.to_le_bytes()[..width]);
    }
    let partly_placed = if all_placed { &[] } else { gems };
    for eight in partly_placed.chunks(8) {
        let bits = eight
            .iter()
            .enumerate()
            .map(|(i, gem)| u8::from(gem.place.is_some()) << i);
        out.push(bits.fold(0, |byte, bit| byte | bit));
    }
    let mut gaps = Vec::with_capacity(gems.len());
    let mut lengths = Vec::with_capacity(gems.len());
    let mut end = 0_u64;
    for place in gems.iter().filter_map(|gem| gem.place) {
        gaps.push(place.start.wrapping_sub(end));
        lengths.push(place.end.wrapping_sub(place.start));
        end = place.end;
    }
    put_similar(&mut out, gaps);
    put_similar(&mut out, lengths);
    out
}

/// Appends numbers of similar size.
fn put_similar(out: &mut Vec<u8>, mut numbers: Vec<u64>) {
    if numbers.is_empty() {
        return;
    }
    let middle = median(&mut numbers.clone(), u64::cast_signed);
    for number in &mut numbers {
        *number = varint::zigzag(number.wrapping_sub(middle));
    }
    let low = shortest(&numbers);
    varint::put(out, varint::zigzag(middle));
    out.push(low as u8);
    pack(
        out,
        numbers.iter().map(|number| number & ((1 << low) - 1)),
        low,
    );
    let mut highs = Vec::with_capacity(numbers.len() / 2);
    let (mut far, mut bit) = (Vec::new(), 0);
    for number in numbers {
        let high = number >> low;
        if high >= FAR {
            varint::put(&mut far, high - FAR);
        }
        bit += high.min(FAR) as usize;
        highs.resize(bit / 8 + 1, 0);
        highs[bit / 8] |= 1 << (bit % 8);
        bit += 1;
    }
    varint::put(out, highs.len() as u64);
    out.append(&mut highs);
    out.append(&mut far);
}

fn median<K: Ord>(numbers: &mut [u64], key: impl Fn(u64) -> K) -> u64 {
    let middle = numbers.len() / 2;
    *numbers
        .select_nth_unstable_by_key(middle, |number| key(*number))
        .1
}

/// With how many lower bits these numbers take the least space. It is near the size of the median.
fn shortest(numbers: &[u64]) -> u32 {
    let median = median(&mut numbers.to_vec(), |number| number);
    let about = median.checked_ilog2().unwrap_or(0).min(MOST_LOW_BITS);
    let bits = |low: &u32| {
        let of_number = |number: &u64| u64::from(*low) + (number >> low).min(FAR);
        numbers.iter().map(of_number).sum::<u64>()
    };
    let near = about.saturating_sub(1)..=(about + 1).min(MOST_LOW_BITS);
    near.min_by_key(bits).unwrap_or(about)
}

/// Takes `count` numbers of similar size from the front of `bytes`.
fn take_similar(bytes: &mut &[u8], count: usize) -> Option<Vec<u64>> {
    if count == 0 {
        return Some(Vec::new());
    }
    let middle = varint::unzigzag(varint::take(bytes)?);
    let low = u32::from(*bytes.split_off_first()?);
    if low > MOST_LOW_BITS {
        return None;
    }
    let lows = Numbers::take(bytes, count, low as usize)?;
    let length = usize::try_from(varint::take(bytes)?).ok()?;
    let highs = bytes.split_off(..length)?;
    let mut bit = 0;
    let mut numbers = Vec::with_capacity(count);
    for i in 0..count {
        let zeros = u64::from((word(highs, bit / 8) >> (bit % 8)).trailing_zeros());
        bit += zeros as usize + 1;
        let high = match zeros {
            ..FAR => zeros,
            FAR => FAR.checked_add(varint::take(bytes)?)?,
            _ => return None,
        };
        let number = varint::unzigzag(high << low | lows.get(i));
        numbers.push(number.wrapping_add(middle));
    }
    Some(numbers)
}

/// Decodes gems of `width` bytes. Returns `None` if the bytes are not a list of gems.
#[must_use]
pub fn decode(mut bytes: &[u8], width: usize) -> Option<Vec<PlacedGem>> {
    let (gems, placed) = take_gems(&mut bytes, width)?;
    let mut list: Vec<PlacedGem> = gems.map(|gem| PlacedGem { gem, place: None }).collect();
    let count = match placed {
        Placed::All => list.len(),
        Placed::These(bits) => bits.iter().map(|byte| byte.count_ones() as usize).sum(),
    };
    let gaps = take_similar(&mut bytes, count)?;
    let lengths = take_similar(&mut bytes, count)?;
    let mut pairs = gaps.into_iter().zip(lengths);
    place(&mut list, placed, || pairs.next())?;
    (bytes.is_empty() && pairs.next().is_none()).then_some(list)
}

/// The same, or `Some(None)` if they are not enough. Then no place is read.
#[must_use]
pub fn decode_if(
    bytes: &[u8],
    width: usize,
    enough: Option<Enough<'_>>,
) -> Option<Option<Vec<PlacedGem>>> {
    if let Some(Enough { among, is_enough }) = enough {
        let (gems, _) = take_gems(&mut &*bytes, width)?;
        if !is_enough(gems.filter(|gem| among.contains(gem)).count() as u32) {
            return Some(None);
        }
    }
    decode(bytes, width).map(Some)
}

/// Which gems have a place.
#[derive(Clone, Copy)]
enum Placed<'a> {
    All,
    /// Those with a bit.
    These(&'a [u8]),
}

impl Placed<'_> {
    fn has(self, i: usize) -> bool {
        match self {
            Self::All => true,
            Self::These(bits) => bits[i / 8] >> (i % 8) & 1 == 1,
        }
    }
}

/// Takes what is before the places from the front of `bytes`: the gems, and which of them have a place.
fn take_gems<'a>(
    bytes: &mut &'a [u8],
    width: usize,
) -> Option<(impl Iterator<Item = Gem> + use<'a>, Placed<'a>)> {
    let [MARK, all_placed @ (0 | 1), rest @ ..] = *bytes else {
        return None;
    };
    *bytes = rest;
    let count = usize::try_from(varint::take(bytes)?).ok()?;
    let gems = bytes.split_off(..count.checked_mul(width)?)?;
    let placed = match all_placed {
        0 => Placed::These(bytes.split_off(..count.div_ceil(8))?),
        _ => Placed::All,
    };
    let gems = gems.chunks_exact(width).map(move |bytes| {
        let mut wide = [0; 8];
        wide[..width].copy_from_slice(bytes);
        Gem(u64::from_le_bytes(wide))
    });
    Some((gems, placed))
}

/// Sets the places of the gems that have one. `pair` returns the next gap and length.
fn place(
    list: &mut [PlacedGem],
    placed: Placed<'_>,
    mut pair: impl FnMut() -> Option<(u64, u64)>,
) -> Option<()> {
    let mut before = 0_u64;
    for (i, gem) in list.iter_mut().enumerate() {
        if placed.has(i) {
            let (gap, length) = pair()?;
            let start = before.wrapping_add(gap);
            before = start.wrapping_add(length);
            gem.place = Some(Place { start, end: before });
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use hashbrown::HashSet;
    use proptest::prelude::*;

    use super::*;

    fn placed(width: usize) -> impl Strategy<Value = PlacedGem> {
        let edges = prop_oneof![
            any::<u64>(),
            0..300_u64,
            Just(u64::MAX),
            Just(u64::MAX >> 1)
        ];
        let place = (edges.clone(), edges).prop_map(|(start, end)| Place { start, end });
        (any::<u64>(), proptest::option::of(place)).prop_map(move |(gem, place)| PlacedGem {
            gem: Gem(gem >> (64 - 8 * width)),
            place,
        })
    }

    proptest! {
        #[test]
        fn decoding_reverses_encoding(narrow in proptest::collection::vec(placed(4), 0..40),
                                      wide in proptest::collection::vec(placed(6), 0..40)) {
            for (list, width) in [(narrow, 4), (wide, 6)] {
                let bytes = encode(&list, width);
                let among: HashSet<Gem> = list.iter().step_by(3).map(|placed| placed.gem).collect();
                let count = list.iter().filter(|placed| among.contains(&placed.gem)).count() as u32;
                for least in [0, count, count + 1] {
                    let is_enough = |found| found >= least;
                    let enough = Enough { among: &among, is_enough: &is_enough };
                    let wanted = (count >= least).then(|| list.clone());
                    prop_assert_eq!(decode_if(&bytes, width, Some(enough)), Some(wanted));
                }
                prop_assert_eq!(decode_if(&bytes, width, None), Some(Some(list.clone())));
                prop_assert_eq!(decode(&bytes, width), Some(list));
            }
        }

        #[test]
        fn a_cut_list_is_refused(list in proptest::collection::vec(placed(4), 1..40), cut in any::<prop::sample::Index>()) {
            let bytes = encode(&list, 4);
            prop_assert_eq!(decode(&bytes[..cut.index(bytes.len())], 4), None);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let enough = Enough { among: &HashSet::new(), is_enough: &|found| found > 0 };
            for begin in [&[][..], &[MARK, 0], &[MARK, 1]] {
                let marked = [begin, &bytes].concat();
                let _ = [4, 6].map(|width| (decode(&marked, width), decode_if(&marked, width, Some(enough))));
            }
        }
    }

    /// Three hundred gems, each this far behind the end of the one before, and this long.
    fn list(gap: fn(u64) -> u64, length: fn(u64) -> u64) -> Vec<PlacedGem> {
        let mut end = 0;
        (0..300)
            .map(|i| {
                let start = end + gap(i);
                end = start + length(i);
                PlacedGem {
                    gem: Gem(i * 7919),
                    place: Some(Place { start, end }),
                }
            })
            .collect()
    }

    #[test]
    fn places_take_few_bytes() {
        let size = |list: &[PlacedGem]| encode(list, 4).len() - (2 + 2 + 300 * 4);
        // Alike: a bit each, and what a column begins with.
        assert_eq!(
            size(&list(|_| 0, |_| 1000)),
            (1 + 1 + 1 + 38) + (2 + 1 + 1 + 38)
        );
        let varied = list(|i| i * 7919 % 400, |i| 30 + i * 104_729 % 20);
        assert!(size(&varied) < 300 * 2, "{}", size(&varied));
        // One far number does not make the others larger.
        let far = list(
            |i| if i == 7 { 1 << 40 } else { i * 7919 % 400 },
            |i| 30 + i * 104_729 % 20,
        );
        assert!(size(&far) < size(&varied) + 16);
    }

    #[test]
    fn a_count_of_more_than_there_is_is_refused_before_memory_is_taken() {
        let mut bytes = Vec::new();
        varint::put(&mut bytes, u64::MAX >> 3);
        assert_eq!(decode(&bytes, 6), None);
        for all_placed in [0, 1] {
            assert_eq!(
                decode(&[&[MARK, all_placed], bytes.as_slice()].concat(), 6),
                None
            );
        }
    }
}
