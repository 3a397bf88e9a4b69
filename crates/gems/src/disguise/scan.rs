//! One pass over a text that counts its words and finds the places to look at closely. Vector instructions classify 64
//! bytes at a time, so that plain text costs little.

use wide::u8x16;

use super::characters::Class;
use crate::fold::bits::{BLOCK, Bits, in_range};

/// Why a place needs a closer look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspect {
    /// The word around it.
    Word,
    /// It follows the third of several single letters.
    Letters,
}

/// Passes on the suspect places of a text in order, and returns the number of words: of runs of letters, and of characters
/// that are words by themselves.
pub(super) fn scan(text: &str, mut take: impl FnMut(usize, Suspect)) -> u64 {
    let mut scan = Scan {
        text,
        words: 0,
        before: Before::default(),
        soft: None,
    };
    let bytes = text.as_bytes();
    for (start, bytes) in (0..).step_by(BLOCK).zip(bytes.chunks(BLOCK)) {
        let mut block = [b' '; BLOCK];
        block[..bytes.len()].copy_from_slice(bytes);
        let (words, letters) = scan.block(start, &Bytes::of(&block));
        for place in Bits(words | letters) {
            take(
                start + place,
                if words >> place & 1 == 0 {
                    Suspect::Letters
                } else {
                    Suspect::Word
                },
            );
        }
    }
    scan.words
}

struct Scan<'a> {
    text: &'a str,
    words: u64,
    before: Before,
    /// Where the last soft hyphen is.
    soft: Option<usize>,
}

/// The letters of a block by script, each with the marks and invisible characters after it.
#[derive(Default, Clone, Copy)]
struct Letters {
    latin: u64,
    cyrillic: u64,
    /// Greek, styled and all others.
    other: u64,
}

impl Letters {
    fn all(self) -> u64 {
        self.latin | self.cyrillic | self.other
    }
}

/// What the blocks before leave behind.
#[derive(Default)]
struct Before {
    /// All bits of the last block.
    letters: Letters,
    continuation: u64,
    starts: u64,
    singles: u64,
    pairs: u64,
    /// The bits in this block of characters that began in the last one.
    here: Letters,
}

/// The bytes of a block by their classes.
#[derive(Default)]
struct Bytes {
    /// ASCII letters.
    latin: u64,
    /// ASCII digits and signs that stand for letters.
    digit: u64,
    hyphen: u64,
    /// First bytes of U+0400 to U+047F.
    cyrillic: u64,
    /// First bytes of other characters outside of ASCII.
    other: u64,
    continuation: u64,
}

impl Bytes {
    #[inline]
    fn of(block: &[u8; BLOCK]) -> Self {
        let mut bytes = Self::default();
        for (i, sixteen) in block.as_chunks().0.iter().enumerate() {
            let b = u8x16::new(*sixteen);
            let of = |value| u8x16::splat(value);
            let put = |bits: u8x16| u64::from(bits.to_bitmask()) << (16 * i);
            bytes.latin |= put(in_range(b | of(0x20), b'a', 26));
            bytes.digit |= put(in_range(b, b'0', 10) | b.simd_eq(of(b'@')) | b.simd_eq(of(b'$')));
            bytes.hyphen |= put(b.simd_eq(of(b'-')));
            let high = put(b);
            if high != 0 {
                let cyrillic = put((b | of(1)).simd_eq(of(0xd1)));
                let continuation = put(in_range(b, 0x80, 0x40));
                bytes.cyrillic |= cyrillic;
                bytes.continuation |= continuation;
                bytes.other |= high & !cyrillic & !continuation;
            }
        }
        bytes
    }
}

/// Moves bits towards the end of the text.
#[inline]
fn moved(bits: u64, before: u64, by: u32) -> u64 {
    bits << by | before >> (BLOCK as u32 - by)
}

impl Scan<'_> {
    /// The suspect places of a block: words, and runs of single letters.
    #[inline]
    fn block(&mut self, start: usize, is: &Bytes) -> (u64, u64) {
        let before = &self.before;
        let last = before.letters;
        let (mut here, mut next) = (before.here, Letters::default());
        here.latin |= is.latin;
        here.cyrillic |= is.cyrillic | is.cyrillic << 1;
        next.cyrillic = is.cyrillic >> (BLOCK - 1);
        let (mut hyphen, mut suspects) = (is.hyphen, 0);
        for place in Bits(is.other) {
            let at = start + place;
            let Some(c) = self.text.get(at..).and_then(|rest| rest.chars().next()) else {
                continue;
            };
            let class = Class::of(c);
            let follows = |bits: u64, before: u64| moved(bits, before, 1) >> place & 1 != 0;
            let is_within = class.is_within() && follows(here.all(), last.all());
            let script = match class {
                Class::Latin => Some((&mut here.latin, &mut next.latin)),
                Class::Cyrillic => Some((&mut here.cyrillic, &mut next.cyrillic)),
                Class::Greek | Class::Foreign | Class::Styled => {
                    Some((&mut here.other, &mut next.other))
                }
                _ if !is_within => None,
                _ if follows(here.latin, last.latin) => Some((&mut here.latin, &mut next.latin)),
                _ if follows(here.cyrillic, last.cyrillic) => {
                    Some((&mut here.cyrillic, &mut next.cyrillic))
                }
                _ => Some((&mut here.other, &mut next.other)),
            };
            if let Some((bits, beyond)) = script {
                let bytes = ((1_u128 << c.len_utf8()) - 1) << place;
                *bits |= bytes as u64;
                *beyond |= (bytes >> BLOCK) as u64;
            }
            let is_suspect = match class {
                Class::Sign => {
                    self.words += 1;
                    false
                }
                Class::Hyphen => {
                    hyphen |= 1 << place;
                    false
                }
                // Ordinary, except if they set single letters apart.
                Class::SoftHyphen => self
                    .soft
                    .replace(at)
                    .is_some_and(|last| matches!(at - last, 3 | 4)),
                Class::Styled | Class::Override => true,
                Class::Mark | Class::Invisible => is_within,
                _ => false,
            };
            suspects |= u64::from(is_suspect) << place;
        }
        let letter = here.all();
        let follows = |letters: fn(&Letters) -> u64| moved(letters(&here), letters(&last), 1);
        let after_letter = follows(|letters| letters.all());
        suspects |= follows(|letters| letters.latin) & (here.cyrillic | here.other);
        suspects |= follows(|letters| letters.cyrillic) & (here.latin | here.other);
        suspects |= follows(|letters| letters.other) & (here.latin | here.cyrillic);
        suspects |= after_letter & (is.digit | hyphen);

        let starts = letter & !after_letter;
        self.words += u64::from(starts.count_ones());
        // What follows a single letter, of one byte or of two.
        let of_two =
            moved(starts, before.starts, 2) & moved(is.continuation, before.continuation, 1);
        let singles = (moved(starts, before.starts, 1) | of_two) & !letter;
        // There is room for a blank of three bytes.
        let near = |bits, before| (2..=5).fold(0, |near, by| near | moved(bits, before, by));
        let pairs = singles & near(singles, before.singles);
        let threes = singles & near(pairs, before.pairs);
        self.before = Before {
            letters: here,
            continuation: is.continuation,
            starts,
            singles,
            pairs,
            here: next,
        };
        (suspects, threes)
    }
}
