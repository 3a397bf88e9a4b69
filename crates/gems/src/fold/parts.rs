//! A long text in parts, which can be folded at the same time.
//!
//! A part ends where no step remembers anything: behind two words in a row that are plain and that step 6 keeps. No run
//! of step 7 has two words, so the state is that of the start of a text. Step 5 acts once in a text, in its first part;
//! otherwise the text is not folded in parts.

use std::sync::atomic::{AtomicBool, Ordering};

use super::classes::is_ascii_blank;
use super::digits::Transliteration;
use super::letters::LetterTables;
use super::{Folding, Sink};
use crate::base::Base;

/// The number of letters from which step 6 keeps a word.
const KEPT: usize = 7;

/// A pass over the parts of a text, in any order.
#[derive(Debug)]
pub(crate) struct FoldPass {
    base: Base,
    /// Whether a part is known to need transliteration, and so all of them.
    transliterated: AtomicBool,
}

/// What became of the part that starts at `offset` in the text.
#[derive(Debug)]
pub(crate) struct FoldedInto<T> {
    pub(crate) offset: u64,
    pub(crate) made: T,
    transliteration: Transliteration,
}

impl FoldPass {
    fn new(base: Base, transliterated: bool) -> Self {
        Self {
            base,
            transliterated: transliterated.into(),
        }
    }

    /// Folds a part into `sink`; `finish` makes of it what is kept. `None` if the text cannot be folded in parts.
    pub(crate) fn fold<S: Sink, T>(
        &self,
        (text, offset): (&str, u64),
        sink: S,
        finish: impl FnOnce(S) -> T,
    ) -> Option<FoldedInto<T>> {
        u32::try_from(text.len()).ok()?;
        let needed = self.transliterated.load(Ordering::Relaxed);
        let transliteration = if needed {
            Transliteration::Needed
        } else {
            Transliteration::Needless
        };
        let mut folding = Folding::new(LetterTables::of(self.base), transliteration, sink);
        folding.joined = offset > 0;
        folding.fast(text);
        if !folding.joined {
            return None;
        }
        let (sink, transliteration) = folding.finish();
        if transliteration == Transliteration::Needed {
            self.transliterated.store(true, Ordering::Relaxed);
        }
        Some(FoldedInto {
            offset,
            made: finish(sink),
            transliteration,
        })
    }
}

/// Folds a text in parts, which `fold` does in a pass, and again in another if the first ones turn out to have needed
/// transliteration. Returns the parts in the order of the text.
pub(crate) fn fold_in_parts<T>(
    base: Base,
    mut fold: impl FnMut(&FoldPass) -> Option<Vec<FoldedInto<T>>>,
) -> Option<Vec<FoldedInto<T>>> {
    let mut parts = fold(&FoldPass::new(base, false))?;
    let all = parts
        .iter()
        .map(|part| part.transliteration)
        .fold(Transliteration::Needless, Transliteration::and);
    if all == Transliteration::TooLate {
        parts = fold(&FoldPass::new(base, true))?;
    }
    parts.sort_unstable_by_key(|part| part.offset);
    Some(parts)
}

impl Transliteration {
    /// That of a text of which two parts were folded without regard to each other.
    fn and(self, part: Self) -> Self {
        match (self, part) {
            (Self::TooLate, _)
            | (_, Self::TooLate)
            | (Self::Missed, Self::Needed)
            | (Self::Needed, Self::Missed) => Self::TooLate,
            (Self::Needed, _) | (_, Self::Needed) => Self::Needed,
            (Self::Missed, _) | (_, Self::Missed) => Self::Missed,
            (Self::Needless, Self::Needless) => Self::Needless,
        }
    }
}

/// Where a part of a text in UTF-8 may end, behind the first `from` bytes.
pub(crate) fn end_of_part(text: &[u8], from: usize) -> Option<usize> {
    let mut words = 0;
    let mut start = None;
    for (at, _) in text
        .iter()
        .enumerate()
        .skip(from)
        .filter(|(_, byte)| is_ascii_blank(**byte))
    {
        words = if start.is_some_and(|start| is_kept(&text[start..at])) {
            words + 1
        } else {
            0
        };
        start = Some(at + 1);
        if words == 2 {
            return Some(at + 1);
        }
    }
    None
}

/// Whether a token is a word of Latin or Russian letters that step 6 keeps.
fn is_kept(token: &[u8]) -> bool {
    str::from_utf8(token)
        .is_ok_and(|token| token.chars().all(is_letter) && token.chars().count() >= KEPT)
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, 'А'..='я')
}
