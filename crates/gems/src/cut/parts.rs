//! A long text in parts, each folded and cut by itself.
//!
//! Where the digits of a part are cut may depend on the digits before it: sequences do not overlap, and the one that
//! ended last is unknown. That uncertainty ends at the first sequence that no other may overlap. The digits up to there
//! are kept, to be cut behind those of the part before.

use super::{Chunk, CutChunks, Cutter, EndedChunk, NO_DIGITS, with};
use crate::base::Base;
use crate::boundaries::{Boundaries, SEQUENCE};
use crate::fold::{FoldPass, FoldedInto, Sink, end_of_part, fold_in_parts};
use crate::gem::{Place, PlacedGem};

/// Folds and cuts the parts of a text, in any order and on any thread; see
/// [`Recipe::gems_in_parts`](crate::Recipe::gems_in_parts).
#[derive(Debug)]
pub struct TextParts<'a> {
    pass: &'a FoldPass,
    boundaries: &'a Boundaries,
}

/// What became of a part of a text.
#[derive(Debug)]
pub struct FoldedPart(FoldedInto<CutPart>);

impl TextParts<'_> {
    /// Where a part of a text in UTF-8 may end, behind its first `from` bytes; `None` if nowhere. The text may be a part
    /// itself, or be cut off anywhere.
    #[must_use]
    pub fn end(text: &[u8], from: usize) -> Option<usize> {
        end_of_part(text, from)
    }

    /// Folds and cuts the part that starts at this offset in bytes. `None` if the text cannot be folded in parts.
    #[must_use]
    pub fn fold(&self, part: &str, offset: u64) -> Option<FoldedPart> {
        self.pass
            .fold(
                (part, offset),
                PartCutter::new(self.boundaries),
                PartCutter::finish,
            )
            .map(FoldedPart)
    }
}

/// Folds and cuts a text in parts, which `fold` does in a pass.
pub(crate) fn cut_in_parts(
    base: Base,
    boundaries: &Boundaries,
    mut fold: impl FnMut(&TextParts<'_>) -> Option<Vec<FoldedPart>>,
) -> Option<Cutter<'_>> {
    let parts = fold_in_parts(base, |pass| {
        let parts = fold(&TextParts { pass, boundaries })?;
        Some(parts.into_iter().map(|FoldedPart(part)| part).collect())
    })?;
    let mut cutter = Cutter::new(boundaries);
    for FoldedInto { offset, made, .. } in parts {
        cutter.append(made, offset);
    }
    Some(cutter)
}

/// Cuts the digits of a part as far as they can be cut.
struct PartCutter<'b> {
    before: Uncertain,
    ended: Vec<EndedChunk>,
    chunks: CutChunks<'b>,
}

/// The digits of a part, cut as far as they can be.
#[derive(Debug)]
struct CutPart {
    before: Uncertain,
    /// Behind these digits.
    ended: Vec<EndedChunk>,
    open: Chunk,
    tail: u16,
}

/// The digits up to the first sequence that ends a chunk for certain.
#[derive(Debug)]
struct Uncertain {
    /// Whether that sequence was found.
    over: bool,
    tail: u16,
    /// How many digits have come since one that may end a sequence: each of the first three may.
    since: usize,
    digits: Vec<(char, [u32; 2])>,
}

impl<'b> PartCutter<'b> {
    fn new(boundaries: &'b Boundaries) -> Self {
        let before = Uncertain {
            over: false,
            tail: NO_DIGITS,
            since: 0,
            digits: Vec::new(),
        };
        Self {
            before,
            ended: Vec::new(),
            chunks: CutChunks::new(boundaries),
        }
    }

    fn finish(self) -> CutPart {
        let CutChunks { open, tail, .. } = self.chunks;
        CutPart {
            before: self.before,
            ended: self.ended,
            open,
            tail,
        }
    }
}

impl Sink for PartCutter<'_> {
    fn digits(&mut self, digits: &[u8], place: impl Fn(usize) -> Place) {
        let mut from = 0;
        while from < digits.len() && !self.before.over {
            self.before.digit(
                char::from(digits[from]),
                place(from),
                self.chunks.boundaries,
            );
            from += 1;
        }
        self.chunks.digits(
            &digits[from..],
            |i| place(from + i),
            |ended| self.ended.push(ended),
        );
    }

    fn digit(&mut self, digit: char, place: Place) {
        if self.before.over {
            self.chunks
                .digit(digit, place, |ended| self.ended.push(ended));
        } else {
            self.before.digit(digit, place, self.chunks.boundaries);
        }
    }
}

impl Uncertain {
    fn digit(&mut self, digit: char, place: Place, boundaries: &Boundaries) {
        let Place { start, end } = place;
        self.digits.push((digit, [start as u32, end as u32]));
        if !digit.is_ascii() {
            // No sequence has such a digit.
            (self.tail, self.since) = (NO_DIGITS, SEQUENCE);
            return;
        }
        self.tail = with(self.tail, digit as u8);
        if boundaries.ends_at(self.tail) {
            self.over = self.since >= SEQUENCE - 1;
            self.since = 0;
        } else if self.digits.len() >= SEQUENCE {
            self.since += 1;
        }
    }
}

impl Cutter<'_> {
    /// Goes on with a part that starts at `offset` in the source.
    fn append(&mut self, part: CutPart, offset: u64) {
        let CutPart {
            before,
            ended,
            mut open,
            tail,
        } = part;
        for (digit, place) in before.digits {
            let [start, end] = place.map(|at| offset + u64::from(at));
            self.digit(digit, Place { start, end });
        }
        if !before.over {
            return;
        }
        for mut chunk in ended {
            if let EndedChunk::Chunk(Some(PlacedGem {
                place: Some(place), ..
            })) = &mut chunk
            {
                place.start += offset;
                place.end += offset;
            }
            self.kept.keep(chunk);
        }
        open.start += offset;
        open.ends = open.ends.map(|end| end + offset);
        (self.chunks.open, self.chunks.tail) = (open, tail);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::pass;
    use super::{Base, Boundaries, Cutter, PartCutter, TextParts, cut_in_parts};
    use crate::fold::fold;
    use proptest::prelude::*;

    /// Compares both ways of cutting; with sequences as frequent as these, nearly each digit is in a gem.
    fn same(text: &str, length: usize, turned: bool) -> Result<(), TestCaseError> {
        let frequent = [
            "4134", "1344", "4413", "3441", "4136", "3641", "1441", "4444", "1414", "4141", "3333",
        ];
        let boundaries = Boundaries::new(frequent, 1).expect("good");
        for base in [Base::Documented, Base::Released] {
            let in_parts = cut_in_parts(base, &boundaries, |parts| {
                let (mut all, mut at) = (Vec::new(), 0);
                while at < text.len() {
                    let end = TextParts::end(&text.as_bytes()[at..], length)
                        .map_or(text.len(), |end| at + end);
                    all.push((&text[at..end], at as u64));
                    at = end;
                }
                if turned {
                    all.reverse();
                }
                all.into_iter()
                    .map(|(part, offset)| parts.fold(part, offset))
                    .collect()
            });
            let Some(in_parts) = in_parts else { continue };
            let whole = fold(text, base, || Cutter::new(&boundaries));
            prop_assert_eq!(in_parts.open(), whole.open(), "{:?} under {:?}", text, base);
            prop_assert_eq!(
                in_parts.finish(),
                whole.finish(),
                "{:?} under {:?}",
                text,
                base
            );
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn parts_fold_as_the_whole(
            text in "(b'c )?((bcdfghk|бвгджзклм|fghijklmn|bcd|[*.,«\u{2014}-]{1,2}|_|\u{85}|\u{301}|٣|ђћѓє|ß|42)[ \n]{1,2}){0,40}",
            length in 1_usize..60,
            turned: bool,
        ) {
            same(&text, length, turned)?;
        }

        #[test]
        fn parts_of_decorated_words_fold_as_the_whole(
            text in "b'c (([*-]{0,2}(bcdfghk|бвгджзклм)?[*-]{0,2}|٣ђ|\u{2028})[ \n]{1,2}){0,40}",
            length in 1_usize..30,
            turned: bool,
        ) {
            same(&text, length, turned)?;
        }

        #[test]
        fn parts_cut_as_the_whole(digits in "([12]{1,20}[3٣]?){0,12}", length in 1_usize..40, shortest in 1_usize..4) {
            let boundaries = Boundaries::new(["1212", "2211", "1111", "3123"], shortest).expect("good");
            let digits: Vec<char> = digits.chars().collect();
            let (mut whole, mut in_parts) = (Cutter::new(&boundaries), Cutter::new(&boundaries));
            pass(&digits, &mut whole);
            for (i, part) in digits.chunks(length).enumerate() {
                let mut cutter = PartCutter::new(&boundaries);
                pass(part, &mut cutter);
                in_parts.append(cutter.finish(), (10 * i * length) as u64);
            }
            prop_assert_eq!(in_parts.open(), whole.open());
            prop_assert_eq!(in_parts.finish(), whole.finish());
        }
    }
}
