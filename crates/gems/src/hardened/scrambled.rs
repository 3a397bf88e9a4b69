//! Grams of a query as they would be if the inner letters of its words were in another order.
//!
//! A word keeps its first and its last letter, and vowels have no sound, so the sounds of a gram have few orders. A scrambled query
//! is looked up by all orders of the grams that have fewest. As with other [spellings](super::respell), a wrong guess only adds
//! probes.
//!
//! ```text
//! text ──▶ words ──▶ the sounds of each in all orders ──▶ how many grams begin at each place ──▶ grams, where they are few
//! ```

use std::ops::Range;

use hashbrown::{HashMap, HashSet};

use super::constants::{Constants, SOUNDS, mix};
use super::grams::{ELIGIBLE, Gram, is_eligible};
use super::readings::{CharacterReading, ReadingKind, Readings, Script, Votes};
use super::sounds::{Sound, hear};
use crate::sample::boundary;

/// The sounds of a gram.
const COUNT: usize = SOUNDS as usize;
/// The parts of a text that are read at a time, and at most so many of them, at equal distances.
const PART: usize = 64 << 10;
const PARTS: usize = 64;
/// How many grams are made for each byte of a query, and in all; enough to tell a whole book from a translation. [`TAKEN`] in a
/// window are taken.
const MADE_OF_BYTE: u64 = 50;
const MADE: u64 = 4_800_000;
const MOST: usize = 1 << 18;
const TAKEN: u64 = 2;
/// The most orders of a word's sounds, and for each gram that is made for a byte: words with more are in none of the grams that
/// have fewest.
const ORDERS: u64 = 720;
const ORDERS_OF_MADE: u64 = 12;
/// How many are tried for each.
const TRIED_OF_ORDER: usize = 8;
/// The most words of a gram behind the first. Words may have no sound of their own.
const FARTHEST: usize = 30;
/// How many orders of words are kept from one part to the next.
const KEPT_ORDERS: usize = 1 << 16;
/// The longest word, in letters.
const LONGEST: usize = 24;

/// The grams of a text with the sounds of its words in all orders, of which those are taken that may be the smallest of a window.
pub(super) fn unscrambled(text: &str, window: u64, constants: &Constants) -> Vec<Gram> {
    let bytes = text.len().max(1) as u64;
    let made = MADE.min(MADE_OF_BYTE * bytes);
    let most_orders = (ORDERS_OF_MADE * made).div_ceil(bytes).min(ORDERS);
    in_all_orders(text, window, constants, made, most_orders as usize)
}

/// At most so many grams of a text, of words with at most so many orders.
pub(super) fn in_all_orders(
    text: &str,
    window: u64,
    constants: &Constants,
    made: u64,
    most_orders: usize,
) -> Vec<Gram> {
    let mut grams = Vec::new();
    let mut orders = AllOrders::new(constants, most_orders);
    let parts = parts(text);
    let made_of_part = made / parts.len() as u64;
    for part in parts {
        if orders.count > KEPT_ORDERS {
            orders = AllOrders::new(constants, most_orders);
        }
        let words = words(&text[part.clone()], part.start, &mut orders);
        let maker = GramMaker {
            leaves: leaves(&words, &orders),
            words,
            orders: &orders,
            limit: (u64::MAX / window).saturating_mul(TAKEN * ELIGIBLE),
        };
        maker.make(made_of_part, &mut grams);
    }
    grams
}

/// Parts of a text at equal distances, or all of it.
fn parts(text: &str) -> impl ExactSizeIterator<Item = Range<usize>> {
    let parts = text.len().div_ceil(PART).clamp(1, PARTS);
    (0..parts).map(move |part| {
        let [start, next] = [part, part + 1].map(|part| text.len() * part / parts);
        boundary(text, start)..boundary(text, next.min(start + PART))
    })
}

// ------------------------------------------------------------------------------------------ words -------------------

/// A word of the text with sounds, or something that no gram is made across.
#[derive(Clone, Copy)]
struct SoundedWord {
    /// The ends of its first letter and of its last one.
    first: u64,
    last: u64,
    /// Which of [`AllOrders`].
    orders: usize,
}

/// The letters of a word.
#[derive(Default)]
struct Spelled {
    readings: Vec<CharacterReading>,
    /// The sounds of the letters, four bits each, the first in the lowest bits.
    sounds: Vec<u16>,
    first: u64,
    last: u64,
    /// Whether the word before ends in the sound that this one begins with.
    is_joined: bool,
}

fn words(text: &str, start: usize, orders: &mut AllOrders<'_>) -> Vec<SoundedWord> {
    let readings = Readings::get();
    let mut reader = SoundedWords {
        orders,
        script: Script::Latin,
        words: Vec::new(),
        before: None,
    };
    let mut word = Spelled::default();
    for (at, c) in text.char_indices() {
        let (reading, end) = (readings.of(c), (start + at + c.len_utf8()) as u64);
        match reading.kind() {
            ReadingKind::Letter => {
                if word.readings.is_empty() {
                    word.first = end;
                }
                word.last = end;
                word.readings.push(reading);
            }
            ReadingKind::Ignored => {}
            ReadingKind::Sign => {
                reader.end(std::mem::take(&mut word));
                reader.barrier(end);
            }
            _ => reader.end(std::mem::take(&mut word)),
        }
    }
    reader.end(word);
    reader.finish()
}

struct SoundedWords<'a, 'b> {
    orders: &'a mut AllOrders<'b>,
    /// The script of the last word.
    script: Script,
    words: Vec<SoundedWord>,
    /// The word before, until it is known whether it loses its last sound.
    before: Option<Spelled>,
}

impl SoundedWords<'_, '_> {
    fn end(&mut self, mut word: Spelled) {
        if word.readings.is_empty() {
            return;
        }
        let mut votes = Votes::default();
        word.readings.iter().for_each(|reading| votes.add(*reading));
        self.script = votes.decide(self.script);
        let sounds = word
            .readings
            .iter()
            .map(|reading| reading.sounds(self.script) as u16);
        word.sounds = sounds.collect();
        let before = self.before.take();
        let heard = before
            .as_ref()
            .and_then(|before| before.sounds.last())
            .copied();
        let (ends, begins) = (last_sound(heard.unwrap_or(0)), first_sound(word.sounds[0]));
        // A vowel keeps words apart. What an `h` at the end is heard as depends on the order.
        let is_apart = ends == 0 || begins == 0 || ends == Sound::H as u8;
        let step = hear(ends, begins);
        word.is_joined = !is_apart && !step.stays;
        if let Some(before) = before {
            self.push(&before, !is_apart && step.drops);
        }
        self.before = Some(word);
    }

    fn push(&mut self, word: &Spelled, drops_last: bool) {
        let orders = self.orders.of(&word.sounds, word.is_joined, drops_last);
        // Words without a sound are between no two words.
        if !self.orders.all[orders].is_silent {
            self.words.push(SoundedWord {
                first: word.first,
                last: word.last,
                orders,
            });
        }
    }

    fn flush(&mut self) {
        if let Some(before) = self.before.take() {
            self.push(&before, false);
        }
    }

    fn barrier(&mut self, end: u64) {
        self.flush();
        self.words.push(SoundedWord {
            first: end,
            last: end,
            orders: BARRIER,
        });
    }

    fn finish(mut self) -> Vec<SoundedWord> {
        self.flush();
        self.words
    }
}

fn first_sound(letter: u16) -> u8 {
    letter as u8 & 0xf
}

fn last_sound(letter: u16) -> u8 {
    each_sound(letter).last().unwrap_or(0)
}

fn each_sound(letter: u16) -> impl Iterator<Item = u8> {
    (0..3)
        .map(move |at| (letter >> (4 * at)) as u8 & 0xf)
        .filter(|sound| *sound != 0)
}

// ------------------------------------------------------------------------------------------ orders ------------------

/// Sounds in a row: four bits each, the last in the lowest bits.
type Heard = u64;

/// Some rows of sounds, as sums, by their number of sounds.
#[derive(Default)]
struct SoundRows {
    sums: Box<[u64]>,
    /// Where those of each number of sounds end.
    ends: [u16; COUNT + 1],
}

impl SoundRows {
    fn new(mut rows: Vec<(usize, Heard)>, constants: &Constants) -> Self {
        rows.sort_unstable();
        rows.dedup();
        let ends = std::array::from_fn(|count| rows.partition_point(|row| row.0 <= count) as u16);
        let sums = rows
            .iter()
            .map(|(count, heard)| sum_of(*heard, *count, constants));
        Self {
            sums: sums.collect(),
            ends,
        }
    }

    fn of(&self, count: usize) -> &[u64] {
        let start = count.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.sums[usize::from(start)..usize::from(self.ends[count])]
    }
}

fn sum_of(heard: Heard, count: usize, constants: &Constants) -> u64 {
    (0..count).rev().fold(0_u64, |sum, at| {
        let number = constants.number((heard >> (4 * at)) as u32 & 0xf);
        sum.wrapping_mul(constants.base).wrapping_add(number)
    })
}

/// The sounds of a word in all orders: whole, and those at its beginning and at its end.
#[derive(Default)]
struct Orders {
    whole: SoundRows,
    beginnings: SoundRows,
    ends: SoundRows,
    is_silent: bool,
}

/// The orders of a word with too many, and of what is none. They have no rows.
const BARRIER: usize = 0;

/// The orders of the words of a text.
struct AllOrders<'a> {
    constants: &'a Constants,
    /// A word has at most so many; one with more is a barrier.
    most: usize,
    all: Vec<Orders>,
    by_letters: HashMap<Box<[u16]>, usize>,
    /// How many there are, and how many words.
    count: usize,
}

impl<'a> AllOrders<'a> {
    fn new(constants: &'a Constants, most: usize) -> Self {
        Self {
            constants,
            most,
            all: vec![Orders::default()],
            by_letters: HashMap::new(),
            count: 0,
        }
    }

    /// Those of a word of these letters, which may lose its first sound to the word before, or its last to the next.
    fn of(&mut self, letters: &[u16], drops_first: bool, drops_last: bool) -> usize {
        if letters.len() > LONGEST {
            return BARRIER;
        }
        let flags = u16::from(drops_first) << 1 | u16::from(drops_last);
        let mut key = letters.to_vec();
        if let [_, inner @ .., _] = key.as_mut_slice() {
            inner.sort_unstable();
        }
        key.push(flags);
        if let Some(known) = self.by_letters.get(&*key) {
            return *known;
        }
        self.count += 1;
        let found = if self.count > 2 * KEPT_ORDERS {
            None
        } else {
            orders(&key[..letters.len()], self.most)
        };
        let number = found.map_or(BARRIER, |orders| {
            self.add(orders, usize::from(drops_first), usize::from(drops_last))
        });
        self.by_letters.insert(key.into(), number);
        number
    }

    fn add(&mut self, found: HashSet<(usize, Heard)>, first: usize, last: usize) -> usize {
        self.count += found.len();
        let mut whole: Vec<(usize, Heard)> = Vec::with_capacity(found.len());
        for (count, heard) in found {
            let count = count.saturating_sub(first + last);
            whole.push((count, low(heard >> (4 * last), count)));
        }
        let is_silent = whole.iter().all(|row| row.0 == 0);
        let rows = |part: fn(Heard, usize, usize) -> Heard| {
            let rows = whole.iter().flat_map(|&(count, heard)| {
                (1..=count).map(move |some| (some, part(heard, count, some)))
            });
            SoundRows::new(rows.collect(), self.constants)
        };
        let orders = Orders {
            beginnings: rows(|heard, count, some| heard >> (4 * (count - some))),
            ends: rows(|heard, _, some| low(heard, some)),
            whole: SoundRows::new(whole, self.constants),
            is_silent,
        };
        self.all.push(orders);
        self.all.len() - 1
    }
}

/// The last sounds of some.
fn low(heard: Heard, count: usize) -> Heard {
    heard & ((1 << (4 * count)) - 1)
}

/// The sounds of a word with its inner letters in all orders. `None` if there are too many, or too many sounds.
fn orders(letters: &[u16], most: usize) -> Option<HashSet<(usize, Heard)>> {
    let (first, others) = letters.split_first()?;
    let (last, inner) = match others.split_last() {
        Some((last, inner)) => (Some(*last), inner),
        None => (None, others),
    };
    let mut consonants: Vec<(u16, usize)> = Vec::new();
    for letter in inner.iter().filter(|letter| **letter != 0) {
        match consonants.last_mut() {
            Some((same, count)) if same == letter => *count += 1,
            _ => consonants.push((*letter, 1)),
        }
    }
    let count: usize = consonants.iter().map(|(_, count)| count).sum();
    let mut speller = Speller {
        consonants,
        last,
        most,
        tried: 0,
        found: HashSet::new(),
    };
    let begun = Hearing::default().then(*first)?;
    let vowels = inner.len() - count;
    let vowels = Vowels {
        left: vowels,
        placed: vowels == 0,
    };
    speller.spell(begun, count, vowels)?;
    Some(speller.found)
}

/// The vowels of a word. They have no sound; between two consonants they may keep these apart.
#[derive(Clone, Copy)]
struct Vowels {
    left: usize,
    /// Whether there is a place for those that are left.
    placed: bool,
}

/// What was heard of a word.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
struct Hearing {
    heard: Heard,
    count: usize,
    last: u8,
}

impl Hearing {
    /// With another letter. `None` if there are too many sounds.
    fn then(mut self, letter: u16) -> Option<Self> {
        if letter == 0 {
            self.last = 0;
        }
        for sound in each_sound(letter) {
            let step = hear(self.last, sound);
            self.last = step.last;
            if step.drops {
                self.heard >>= 4;
                self.count = self.count.saturating_sub(1);
            }
            if step.stays {
                if self.count == COUNT {
                    return None;
                }
                self.heard = self.heard << 4 | u64::from(sound);
                self.count += 1;
            }
        }
        Some(self)
    }

    fn behind_a_vowel(mut self) -> Self {
        self.last = 0;
        self
    }
}

/// Spells a word in all orders.
struct Speller {
    /// The consonants that are left, and how many of each.
    consonants: Vec<(u16, usize)>,
    last: Option<u16>,
    most: usize,
    /// How many were tried. Several may sound alike.
    tried: usize,
    found: HashSet<(usize, Heard)>,
}

impl Speller {
    /// `None` if there are too many orders.
    fn spell(&mut self, heard: Hearing, left: usize, vowels: Vowels) -> Option<()> {
        if left == 0 {
            let Some(last) = self.last else {
                self.found.insert((heard.count, heard.heard));
                return Some(());
            };
            return self.with(heard, last, vowels, |speller, heard, vowels| {
                if vowels.placed {
                    speller.found.insert((heard.count, heard.heard));
                }
                speller.tried += 1;
                let is_bounded = speller.tried <= TRIED_OF_ORDER * speller.most;
                (is_bounded && speller.found.len() <= speller.most).then_some(())
            });
        }
        for at in 0..self.consonants.len() {
            let (letter, count) = self.consonants[at];
            if count > 0 {
                self.consonants[at].1 -= 1;
                self.with(heard, letter, vowels, |speller, heard, vowels| {
                    speller.spell(heard, left - 1, vowels)
                })?;
                self.consonants[at].1 += 1;
            }
        }
        Some(())
    }

    /// Goes on with a letter: next to the one before, and behind a vowel if that makes a difference.
    fn with(
        &mut self,
        heard: Hearing,
        letter: u16,
        vowels: Vowels,
        mut go_on: impl FnMut(&mut Self, Hearing, Vowels) -> Option<()>,
    ) -> Option<()> {
        let (beside, behind) = (heard.then(letter)?, heard.behind_a_vowel().then(letter)?);
        let placed = Vowels {
            placed: true,
            ..vowels
        };
        if beside == behind {
            return go_on(self, beside, placed);
        }
        go_on(self, beside, vowels)?;
        if vowels.left > 0 {
            let left = vowels.left - 1;
            go_on(self, behind, Vowels { left, ..placed })?;
        }
        Some(())
    }
}

// ------------------------------------------------------------------------------------------ grams -------------------

/// For each word, how many grams begin before it and need so many sounds of it and the next ones.
fn leaves(words: &[SoundedWord], orders: &AllOrders<'_>) -> Vec<[u32; COUNT]> {
    let mut leaves = vec![[0_u32; COUNT]; words.len() + 1];
    for (at, word) in words.iter().enumerate().rev() {
        let orders = &orders.all[word.orders];
        for needed in 1..COUNT {
            let mut count = orders.beginnings.of(needed).len() as u32;
            for some in 0..needed {
                let next = leaves[at + 1][needed - some];
                count =
                    count.saturating_add(next.saturating_mul(orders.whole.of(some).len() as u32));
            }
            leaves[at][needed] = count;
        }
    }
    leaves
}

/// Makes the grams of a part of a text.
struct GramMaker<'a> {
    words: Vec<SoundedWord>,
    orders: &'a AllOrders<'a>,
    leaves: Vec<[u32; COUNT]>,
    /// The ranks of the grams that are taken are smaller.
    limit: u64,
}

impl GramMaker<'_> {
    /// Makes at most so many, of the places where there are fewest.
    fn make(&self, most: u64, grams: &mut Vec<Gram>) {
        let mut costs = [0_u64; u32::BITS as usize];
        self.each_place(|_, _, cost| costs[cost.ilog2() as usize] += u64::from(cost));
        let mut left = most;
        let cheap = costs.iter().take_while(|cost| {
            let fits = **cost <= left;
            left -= (**cost).min(left) * u64::from(fits);
            fits
        });
        let cheap = cheap.count() as u32;
        self.each_place(|word, of_word, cost| {
            let is_taken = cost.ilog2() < cheap || cost.ilog2() == cheap && u64::from(cost) <= left;
            if !is_taken {
                return;
            }
            if cost.ilog2() == cheap {
                left -= u64::from(cost);
            }
            for sum in self.orders.all[self.words[word].orders].ends.of(of_word) {
                self.complete(word, word + 1, COUNT - of_word, *sum, grams);
            }
        });
    }

    /// Passes on where grams begin: the word, how many sounds of it they have, and how many grams.
    fn each_place(&self, mut take: impl FnMut(usize, usize, u32)) {
        for (at, word) in self.words.iter().enumerate() {
            for of_word in 1..=COUNT {
                let ends = self.orders.all[word.orders].ends.of(of_word).len() as u32;
                let rest = match COUNT - of_word {
                    0 => 1,
                    needed => self.leaves[at + 1][needed],
                };
                let cost = ends.saturating_mul(rest);
                if cost > 0 {
                    take(at, of_word, cost);
                }
            }
        }
    }

    /// Takes the grams that begin in a word with sounds of this sum, and need so many more of another word and the next ones.
    fn complete(&self, first: usize, at: usize, needed: usize, sum: u64, grams: &mut Vec<Gram>) {
        if needed == 0 {
            return self.take(first, at - 1, sum, grams);
        }
        let Some(word) = self.words.get(at).filter(|_| at <= first + FARTHEST) else {
            return;
        };
        let orders = &self.orders.all[word.orders];
        let base = self.orders.constants.base;
        let power = base.wrapping_pow(needed as u32);
        for beginning in orders.beginnings.of(needed) {
            let sum = sum.wrapping_mul(power).wrapping_add(*beginning);
            self.take(first, at, sum, grams);
        }
        for some in (0..needed).filter(|some| self.leaves[at + 1][needed - some] > 0) {
            let power = base.wrapping_pow(some as u32);
            for whole in orders.whole.of(some) {
                let sum = sum.wrapping_mul(power).wrapping_add(*whole);
                self.complete(first, at + 1, needed - some, sum, grams);
            }
        }
    }

    fn take(&self, first: usize, last: usize, sum: u64, grams: &mut Vec<Gram>) {
        let rank = mix(sum);
        if is_eligible(sum) && rank < self.limit && grams.len() < MOST {
            grams.push(Gram {
                number: first as u64,
                rank,
                first: self.words[first].first,
                last: self.words[last].last,
            });
        }
    }
}
