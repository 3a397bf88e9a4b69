//! Steps 1 to 4: the characters of a text, each normalised, lower-cased, set apart and simplified, with its place.

use std::char::ToLowercase;
use std::iter::{self, Map};
use std::str::{CharIndices, Chars};

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
use unicode_normalization::{IsNormalized, Recompositions, UnicodeNormalization, is_nfkc_quick};

use super::classes::{is_blank, is_word, known};
use super::letters::LetterTables;
use crate::gem::Place;

/// A character and the bytes of the source that it came from.
pub(super) type Placed = (char, Place);

/// The characters that the later steps see.
pub(super) fn characters<'a>(
    text: &'a str,
    letters: &'a LetterTables,
) -> impl Iterator<Item = Placed> + 'a {
    SetApart::new(Lower::new(Nfkc::new(text))).map(|(c, place)| (letters.simplify(c), place))
}

/// A piece in normal form, produced lazily.
type Normal<'a> = Recompositions<Map<Chars<'a>, fn(char) -> char>>;

/// Step 1: NFKC, piece by piece. All output of a piece of several characters has the place of the whole piece.
struct Nfkc<'a> {
    pieces: NormalPieces<'a>,
    several: Option<(Normal<'a>, Place)>,
}

impl<'a> Nfkc<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            pieces: NormalPieces {
                text,
                chars: text.char_indices(),
                start: 0,
                first: None,
            },
            several: None,
        }
    }
}

impl Iterator for Nfkc<'_> {
    type Item = Placed;

    fn next(&mut self) -> Option<Placed> {
        loop {
            if let Some((normal, place)) = &mut self.several {
                if let Some(c) = normal.next() {
                    return Some((c, *place));
                }
                self.several = None;
            }
            match self.pieces.next()? {
                NormalPiece::Single(c, place) => return Some((c, place)),
                NormalPiece::Several(text, place) => {
                    let known: fn(char) -> char = known;
                    self.several = Some((text.chars().map(known).nfkc(), place));
                }
            }
        }
    }
}

/// Step 2: full lower-case mapping, each character independently (so `Σ` is always `σ`).
struct Lower<I> {
    inner: I,
    /// The rest of a character that maps to several.
    rest: Option<(ToLowercase, Place)>,
}

impl<I> Lower<I> {
    fn new(inner: I) -> Self {
        Self { inner, rest: None }
    }
}

impl<I: Iterator<Item = Placed>> Iterator for Lower<I> {
    type Item = Placed;

    fn next(&mut self) -> Option<Placed> {
        if let Some((rest, place)) = &mut self.rest {
            if let Some(c) = rest.next() {
                return Some((c, *place));
            }
            self.rest = None;
        }
        let (c, place) = self.inner.next()?;
        if c.is_ascii() {
            return Some((c.to_ascii_lowercase(), place));
        }
        let mut lower = c.to_lowercase();
        let first = lower.next().unwrap_or(c);
        if lower.len() > 0 {
            self.rest = Some((lower, place));
        }
        Some((first, place))
    }
}

/// A part of a text whose normal form does not depend on its context.
enum NormalPiece<'a> {
    /// One character, in normal form.
    Single(char, Place),
    /// One or more characters that must be normalised together.
    Several(&'a str, Place),
}

/// Splits a text before every character that can neither combine with nor be reordered before the preceding text
/// (Unicode Standard Annex 15, section 9).
struct NormalPieces<'a> {
    text: &'a str,
    chars: CharIndices<'a>,
    start: usize,
    /// The first character of the next piece, if it has been read.
    first: Option<char>,
}

impl<'a> Iterator for NormalPieces<'a> {
    type Item = NormalPiece<'a>;

    fn next(&mut self) -> Option<NormalPiece<'a>> {
        let first = match self.first.take() {
            Some(first) => first,
            None => known(self.chars.next()?.1),
        };
        let start = self.start;
        let mut single = true;
        loop {
            let next = self.chars.next().map(|(at, c)| (at, known(c)));
            // Nothing combines with an ASCII blank: a mark after one belongs to the token that it begins.
            let after_blank = single && first.is_ascii() && is_blank(first);
            if let Some((_, c)) = next
                && !after_blank
                && !starts_piece(c)
            {
                single = false;
                continue;
            }
            let end = next.map_or(self.text.len(), |(at, _)| at);
            self.start = end;
            self.first = next.map(|(_, c)| c);
            let place = Place {
                start: start as u64,
                end: end as u64,
            };
            return Some(if single && is_normal(first) {
                NormalPiece::Single(first, place)
            } else {
                NormalPiece::Several(&self.text[start..end], place)
            });
        }
    }
}

/// Whether a character is always a piece of its own, in normal form, unless something combines with it.
pub(super) fn is_plain_form(c: char) -> bool {
    known(c) == c && starts_piece(c) && is_normal(c)
}

fn starts_piece(c: char) -> bool {
    if c < '\u{300}' || is_plain_cyrillic(c) {
        return true;
    }
    let mut first = None;
    decompose_compatible(c, |part| first = first.or(Some(part)));
    let first = first.unwrap_or(c);
    canonical_combining_class(first) == 0 && is_nfkc_quick(iter::once(first)) == IsNormalized::Yes
}

fn is_normal(c: char) -> bool {
    c < '\u{a0}' || is_plain_cyrillic(c) || is_nfkc_quick(iter::once(c)) == IsNormalized::Yes
}

/// The letters of most Cyrillic texts: all in normal form, none combining.
fn is_plain_cyrillic(c: char) -> bool {
    ('\u{400}'..='\u{482}').contains(&c)
}

/// Step 3: a blank after each mark between two word characters. A word character is not used for two marks.
struct SetApart<I> {
    inner: I,
    seen: SeenBefore,
    held: Option<Placed>,
}

/// What precedes the next character, as far as no earlier blank has used it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SeenBefore {
    Nothing,
    Word,
    WordAndMark,
}

impl<I> SetApart<I> {
    fn new(inner: I) -> Self {
        Self {
            inner,
            seen: SeenBefore::Nothing,
            held: None,
        }
    }
}

impl<I: Iterator<Item = Placed>> Iterator for SetApart<I> {
    type Item = Placed;

    fn next(&mut self) -> Option<Placed> {
        if let Some(held) = self.held.take() {
            return Some(held);
        }
        let (c, place) = self.inner.next()?;
        let word = is_word(c);
        if self.seen == SeenBefore::WordAndMark && word {
            self.seen = SeenBefore::Nothing;
            self.held = Some((c, place));
            return Some((
                ' ',
                Place {
                    start: place.start,
                    end: place.start,
                },
            ));
        }
        self.seen = match self.seen {
            _ if word => SeenBefore::Word,
            SeenBefore::Word if sets_apart(c) => SeenBefore::WordAndMark,
            _ => SeenBefore::Nothing,
        };
        Some((c, place))
    }
}

/// Whether step 3 separates the words around this mark.
pub(super) fn sets_apart(c: char) -> bool {
    matches!(
        c,
        '.' | ',' | ';' | ':' | '&' | '?' | '!' | '*' | '#' | '%' | '+' | '^' | '\\' | '/'
    )
}
