//! One pass over a text that counts its words and finds the places to look at closely. Vector instructions classify 64
//! bytes at a time, so that plain text costs little.

use wide::u8x16;

use super::characters::CharacterClass;
use super::word::is_inside_word;
use crate::fold::bits::{BLOCK, Bits, bits, in_range, splat};

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
        before: LastBlock::default(),
        soft: None,
        accents: (0, 0),
    };
    let bytes = text.as_bytes();
    for (start, bytes) in (0..).step_by(BLOCK).zip(bytes.chunks(BLOCK)) {
        let mut block = [b' '; BLOCK];
        block[..bytes.len()].copy_from_slice(bytes);
        let (words, letters) = scan.block(start, &ByteClasses::of(&block));
        for place in Bits(words | letters) {
            let is_word = words >> place & 1 != 0;
            let suspect = if is_word {
                Suspect::Word
            } else {
                Suspect::Letters
            };
            take(start + place, suspect);
        }
    }
    scan.words
}

struct Scan<'a> {
    text: &'a str,
    words: u64,
    before: LastBlock,
    /// Where the last soft hyphen is.
    soft: Option<usize>,
    /// Where the last Latin letters outside of ASCII end, and how many there are.
    accents: (usize, u32),
}

/// A word with so many Latin letters outside of ASCII in a row is looked at.
const ACCENTS: u32 = 3;

/// The scripts that a word cannot mix.
#[derive(Clone, Copy)]
enum WordScript {
    Latin,
    Cyrillic,
    /// Greek, styled and all others.
    Other,
}

/// The letters of a block by script, each with the marks and invisible characters after it.
#[derive(Default, Clone, Copy)]
struct ScriptBits {
    latin: u64,
    cyrillic: u64,
    other: u64,
}

impl ScriptBits {
    fn all(self) -> u64 {
        self.latin | self.cyrillic | self.other
    }

    fn of(&mut self, script: WordScript) -> &mut u64 {
        match script {
            WordScript::Latin => &mut self.latin,
            WordScript::Cyrillic => &mut self.cyrillic,
            WordScript::Other => &mut self.other,
        }
    }

    /// The bytes that follow letters, of which `last` are those of the block before.
    #[inline]
    fn following(self, last: Self) -> Self {
        Self {
            latin: moved(self.latin, last.latin, 1),
            cyrillic: moved(self.cyrillic, last.cyrillic, 1),
            other: moved(self.other, last.other, 1),
        }
    }
}

/// What the blocks before leave behind.
#[derive(Default)]
struct LastBlock {
    /// All bits of the last block.
    letters: ScriptBits,
    continuation: u64,
    starts: u64,
    singles: u64,
    pairs: u64,
    /// The bits in this block of characters that began in the last one.
    here: ScriptBits,
}

impl LastBlock {
    /// What follows a single letter, of one byte or of two.
    #[inline]
    fn singles(&self, starts: u64, continuation: u64, letter: u64) -> u64 {
        let of_two = moved(starts, self.starts, 2) & moved(continuation, self.continuation, 1);
        (moved(starts, self.starts, 1) | of_two) & !letter
    }
}

/// What is known of a block so far.
struct ScannedBlock {
    here: ScriptBits,
    /// The bits in the next block of characters that begin in this one.
    next: ScriptBits,
    hyphen: u64,
    suspects: u64,
}

/// The bytes of a block by their classes.
#[derive(Default)]
struct ByteClasses {
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

impl ByteClasses {
    #[inline]
    fn of(block: &[u8; BLOCK]) -> Self {
        let mut bytes = Self::default();
        for (i, sixteen) in block.as_chunks().0.iter().enumerate() {
            let b = u8x16::new(*sixteen);
            let shift = 16 * i;
            bytes.latin |= bits(in_range(b | splat(0x20), b'a', 26)) << shift;
            let signs = b.simd_eq(splat(b'@')) | b.simd_eq(splat(b'$'));
            bytes.digit |= bits(in_range(b, b'0', 10) | signs) << shift;
            bytes.hyphen |= bits(b.simd_eq(splat(b'-'))) << shift;
            let high = bits(b);
            if high != 0 {
                let cyrillic = bits((b | splat(1)).simd_eq(splat(0xd1)));
                let continuation = bits(in_range(b, 0x80, 0x40));
                bytes.cyrillic |= cyrillic << shift;
                bytes.continuation |= continuation << shift;
                bytes.other |= (high & !cyrillic & !continuation) << shift;
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

/// Moves bits by all distances that leave room for a blank of three bytes.
#[inline]
fn moved_near(bits: u64, before: u64) -> u64 {
    (2..=5).fold(0, |near, by| near | moved(bits, before, by))
}

impl Scan<'_> {
    /// The suspect places of a block: words, and runs of single letters.
    #[inline]
    fn block(&mut self, start: usize, is: &ByteClasses) -> (u64, u64) {
        let mut block = ScannedBlock {
            here: self.before.here,
            next: ScriptBits::default(),
            hyphen: is.hyphen,
            suspects: 0,
        };
        block.here.latin |= is.latin;
        block.here.cyrillic |= is.cyrillic | is.cyrillic << 1;
        block.next.cyrillic = is.cyrillic >> (BLOCK - 1);
        for place in Bits(is.other) {
            self.character(&mut block, start + place, place);
        }
        let here = block.here;
        let after = here.following(self.before.letters);
        let suspects = block.suspects
            | after.latin & (here.cyrillic | here.other)
            | after.cyrillic & (here.latin | here.other)
            | after.other & (here.latin | here.cyrillic)
            | after.all() & (is.digit | block.hyphen);

        let starts = here.all() & !after.all();
        self.words += u64::from(starts.count_ones());
        let singles = self.before.singles(starts, is.continuation, here.all());
        let pairs = singles & moved_near(singles, self.before.singles);
        let threes = singles & moved_near(pairs, self.before.pairs);
        self.before = LastBlock {
            letters: here,
            continuation: is.continuation,
            starts,
            singles,
            pairs,
            here: block.next,
        };
        (suspects, threes)
    }

    /// Takes a character that vector instructions do not classify, at `at` in the text and at `place` in the block.
    #[inline]
    fn character(&mut self, block: &mut ScannedBlock, at: usize, place: usize) {
        let Some(c) = self.text.get(at..).and_then(|rest| rest.chars().next()) else {
            return;
        };
        let class = CharacterClass::of(c);
        let after = block.here.following(self.before.letters);
        let follows = after.all() >> place & 1 != 0;
        let is_within = class.is_within() && follows;
        let script = match class {
            CharacterClass::Latin => Some(WordScript::Latin),
            CharacterClass::Cyrillic => Some(WordScript::Cyrillic),
            CharacterClass::Greek | CharacterClass::Foreign | CharacterClass::Styled => {
                Some(WordScript::Other)
            }
            _ if !is_within => None,
            _ if after.latin >> place & 1 != 0 => Some(WordScript::Latin),
            _ if after.cyrillic >> place & 1 != 0 => Some(WordScript::Cyrillic),
            _ => Some(WordScript::Other),
        };
        if let Some(script) = script {
            let bytes = ((1_u128 << c.len_utf8()) - 1) << place;
            *block.here.of(script) |= bytes as u64;
            *block.next.of(script) |= (bytes >> BLOCK) as u64;
        }
        self.words += u64::from(class == CharacterClass::Sign);
        block.hyphen |= u64::from(class == CharacterClass::Hyphen) << place;
        let is_suspect =
            self.is_suspect(class, follows, at) | self.is_accented(class, at, c.len_utf8());
        block.suspects |= u64::from(is_suspect) << place;
    }

    /// Whether a character calls for a closer look, by what it is and whether it follows a letter.
    #[inline]
    fn is_suspect(&mut self, class: CharacterClass, follows: bool, at: usize) -> bool {
        match class {
            // Ordinary, except if they set single letters apart.
            CharacterClass::SoftHyphen => self
                .soft
                .replace(at)
                .is_some_and(|last| matches!(at - last, 3 | 4)),
            CharacterClass::Styled | CharacterClass::Override => true,
            CharacterClass::Mark | CharacterClass::Invisible => follows,
            CharacterClass::ThinBlank => follows && is_inside_word(self.text, at),
            _ => false,
        }
    }

    /// Whether it is the last of some Latin letters outside of ASCII in a row.
    #[inline]
    fn is_accented(&mut self, class: CharacterClass, at: usize, length: usize) -> bool {
        let (end, count) = self.accents;
        let before = if end == at { count } else { 0 };
        let is_letter = class == CharacterClass::Latin;
        if is_letter || class.is_within() {
            self.accents = (at + length, before + u32::from(is_letter));
        }
        is_letter && before + 1 == ACCENTS
    }
}
