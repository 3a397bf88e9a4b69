//! A long text in parts, which can be folded at the same time.
//!
//! A part ends where no step remembers anything: behind two words in a row that are plain and that step 6 keeps. No run
//! of step 7 has two words, so the state is that of the start of a text. Step 5 acts once in a text, in its first part;
//! otherwise the text is not folded in parts.

use super::classes::is_ascii_blank;
use super::digits::Transliteration;
use super::letters::Letters;
use super::{Folding, Sink, either};
use crate::base::Base;

/// The least length of a part in bytes, and how many parts are folded at a time. More of them take more memory; fewer
/// leave threads waiting for each other.
pub(crate) const PART: usize = 64 << 10;
const AT_ONCE: usize = 256;

/// The number of letters from which step 6 keeps a word.
const KEPT: usize = 7;

/// A part of a text, to be folded.
#[derive(Debug)]
pub(crate) struct TextPart<'t> {
    text: &'t str,
    base: Base,
    transliteration: Transliteration,
}

/// What became of a part.
#[derive(Debug)]
pub(crate) struct Folded<T> {
    made: T,
    transliteration: Transliteration,
}

impl TextPart<'_> {
    /// Folds the part into `sink`; `finish` makes of it what is to be appended.
    pub(crate) fn fold<S: Sink, T>(self, sink: S, finish: impl FnOnce(S) -> T) -> Folded<T> {
        let mut folding = Folding::new(Letters::of(self.base), self.transliteration, sink);
        folding.joined = true;
        folding.fast(self.text);
        let (sink, transliteration) = folding.finish();
        Folded { made: finish(sink), transliteration }
    }
}

/// Folds a text in parts of at least `length` bytes: the first into a new sink, the others by `each`, which are then
/// appended with their offsets in the text.
pub(crate) fn fold_in_parts<'t, S: Sink, T>(
    (text, length): (&'t str, usize),
    base: Base,
    new_sink: impl Fn() -> S,
    each: impl Fn(Vec<TextPart<'t>>) -> Vec<Folded<T>>,
    append: impl Fn(&mut S, T, u64),
) -> S {
    let letters = Letters::of(base);
    let first = part_of(text, length);
    either(&new_sink, |transliteration, sink| {
        let mut folding = Folding::new(letters, transliteration, sink);
        folding.fast(first);
        if !folding.joined || u32::try_from(text.len()).is_err() {
            folding = Folding::new(letters, transliteration, new_sink());
            folding.fast(text);
            return folding.finish();
        }
        let (mut sink, mut transliteration) = folding.finish();
        let mut at = first.len();
        while at < text.len() && transliteration != Transliteration::TooLate {
            let (mut starts, mut parts) = (Vec::new(), Vec::new());
            while at < text.len() && parts.len() < AT_ONCE {
                let part = part_of(&text[at..], length);
                starts.push(at);
                parts.push(TextPart { text: part, base, transliteration: transliteration.of_next_part() });
                at += part.len();
            }
            for (start, part) in starts.into_iter().zip(each(parts)) {
                append(&mut sink, part.made, start as u64);
                transliteration = transliteration.and(part.transliteration);
            }
        }
        (sink, transliteration)
    })
}

impl Transliteration {
    /// What a part starts with that follows others.
    fn of_next_part(self) -> Self {
        if self == Self::Needed { Self::Needed } else { Self::Needless }
    }

    /// That of a text whose last part may have been folded without regard to the parts before it.
    fn and(self, part: Self) -> Self {
        match (self, part) {
            (Self::TooLate, _) | (_, Self::TooLate) | (Self::Missed, Self::Needed) | (Self::Needed, Self::Missed) => {
                Self::TooLate
            }
            (Self::Needed, _) | (_, Self::Needed) => Self::Needed,
            (Self::Missed, _) | (_, Self::Missed) => Self::Missed,
            (Self::Needless, Self::Needless) => Self::Needless,
        }
    }
}

/// The first part of a text: at least `length` bytes, unless the text is shorter.
fn part_of(text: &str, length: usize) -> &str {
    let mut words = 0;
    let mut start = None;
    for (at, _) in text.bytes().enumerate().skip(length).filter(|(_, byte)| is_ascii_blank(*byte)) {
        words = if start.is_some_and(|start| is_kept(&text[start..at])) { words + 1 } else { 0 };
        start = Some(at + 1);
        if words == 2 {
            return &text[..=at];
        }
    }
    text
}

/// Whether a token is a word of Latin or Russian letters that step 6 keeps.
fn is_kept(token: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || matches!(c, 'А'..='я');
    token.chars().all(is_letter) && token.chars().count() >= KEPT
}
