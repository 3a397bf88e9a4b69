//! A long text in parts, which can be folded and cut at the same time.
//!
//! A part ends where no step remembers anything: behind two words in a row that are plain and that step 6 keeps. No run
//! of step 7 has two words, so the state is that of the start of a text. Step 5 acts once in a text, in its first part;
//! otherwise the text is not folded in parts.

use super::classes::is_ascii_blank;
use super::digits::Transliteration;
use super::letters::Letters;
use super::{Folding, either};
use crate::base::Base;
use crate::boundaries::Boundaries;
use crate::cut::{CutPart, Cutter, PartCutter};

/// The least length of a part in bytes, and how many parts are folded at a time. More of them take more memory; fewer
/// leave threads waiting for each other.
const LENGTH: usize = 64 << 10;
const AT_ONCE: usize = 64;

/// The number of letters from which step 6 keeps a word.
const KEPT: usize = 7;

/// A part of a text, to be folded and cut; see [`Recipe::gems_in_parts`](crate::Recipe::gems_in_parts).
#[derive(Debug)]
pub struct Part<'t> {
    text: &'t str,
    base: Base,
    boundaries: &'t Boundaries,
    transliteration: Transliteration,
}

/// What became of a [`Part`].
#[derive(Debug)]
pub struct FoldedPart {
    cut: CutPart,
    transliteration: Transliteration,
}

impl Part<'_> {
    /// Folds and cuts the part.
    #[must_use]
    pub fn fold(self) -> FoldedPart {
        let sink = PartCutter::new(self.boundaries);
        let mut folding = Folding::new(Letters::of(self.base), self.transliteration, sink);
        folding.joined = true;
        folding.fast(self.text);
        let (cutter, transliteration) = folding.finish();
        FoldedPart { cut: cutter.finish(), transliteration }
    }
}

/// Folds and cuts a text, all parts but the first by `each`.
pub(crate) fn cut_in_parts<'b>(
    text: &str,
    base: Base,
    boundaries: &'b Boundaries,
    each: impl Fn(Vec<Part<'_>>) -> Vec<FoldedPart>,
) -> Cutter<'b> {
    cut_in_parts_of(LENGTH, text, base, boundaries, each)
}

fn cut_in_parts_of<'b>(
    length: usize,
    text: &str,
    base: Base,
    boundaries: &'b Boundaries,
    each: impl Fn(Vec<Part<'_>>) -> Vec<FoldedPart>,
) -> Cutter<'b> {
    let letters = Letters::of(base);
    let first = part_of(text, length);
    let new_sink = || Cutter::new(boundaries);
    either(new_sink, |transliteration, sink| {
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
                parts.push(Part { text: part, base, boundaries, transliteration: transliteration.of_next_part() });
                at += part.len();
            }
            for (start, part) in starts.into_iter().zip(each(parts)) {
                sink.append(part.cut, start as u64);
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

#[cfg(test)]
mod tests {
    use super::super::fold;
    use super::{Base, Boundaries, Cutter, Part, cut_in_parts_of};
    use proptest::prelude::*;

    /// Compares both ways of cutting; with sequences as frequent as these, nearly each digit is in a gem.
    fn same(text: &str, length: usize) -> Result<(), TestCaseError> {
        let frequent = ["4134", "1344", "4413", "3441", "4136", "3641", "1441", "4444", "1414", "4141", "3333"];
        let boundaries = Boundaries::new(frequent, 1).expect("good");
        for base in [Base::Documented, Base::Released] {
            let each = |parts: Vec<Part<'_>>| parts.into_iter().map(Part::fold).collect();
            let in_parts = cut_in_parts_of(length, text, base, &boundaries, each);
            let whole = fold(text, base, || Cutter::new(&boundaries));
            prop_assert_eq!(in_parts.open(), whole.open(), "{:?} under {:?}", text, base);
            prop_assert_eq!(in_parts.finish(), whole.finish(), "{:?} under {:?}", text, base);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn parts_fold_as_the_whole(
            text in "(b'c )?((bcdfghk|бвгджзклм|fghijklmn|bcd|[*.,«\u{2014}-]{1,2}|_|\u{85}|\u{301}|٣|ђћѓє|ß|42)[ \n]{1,2}){0,40}",
            length in 1_usize..60,
        ) {
            same(&text, length)?;
        }

        #[test]
        fn parts_of_decorated_words_fold_as_the_whole(
            text in "b'c (([*-]{0,2}(bcdfghk|бвгджзклм)?[*-]{0,2}|٣ђ|\u{2028})[ \n]{1,2}){0,40}",
            length in 1_usize..30,
        ) {
            same(&text, length)?;
        }
    }
}
