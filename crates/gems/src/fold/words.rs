//! Steps 5 and 6: the first run of junk inside a word, and short words.

use std::ops::Range;

use super::characters::Placed;
use super::classes::{is_blank, is_word};
use super::letters::LetterTables;

/// Step 5: the range of characters to leave out, by index: the first run of junk that is enclosed by two word
/// characters. `None` if there is none.
///
/// Matching of junk is greedy, with backtracking; `_` is both junk and a word character.
pub(super) fn first_joint(characters: impl Iterator<Item = Placed>) -> Option<Range<usize>> {
    // A stretch is at most one word character and all the junk after it: its first and its last word character.
    let mut first: Option<usize> = None;
    let mut last: Option<usize> = None;
    for (i, (c, _)) in characters.enumerate() {
        if c == '_' {
            *(if first.is_none() {
                &mut first
            } else {
                &mut last
            }) = Some(i);
        } else if is_word(c) {
            if let Some(found) = joint(first, Some(i)) {
                return Some(found);
            }
            (first, last) = (Some(i), None);
        } else if is_blank(c) {
            if let Some(found) = joint(first, last) {
                return Some(found);
            }
            (first, last) = (None, None);
        }
    }
    joint(first, last)
}

/// The junk between two characters.
fn joint(first: Option<usize>, last: Option<usize>) -> Option<Range<usize>> {
    let (first, last) = (first?, last?);
    (last >= first + 2).then_some(first + 1..last)
}

/// The longest prefix that a word can lose.
const LONGEST: usize = 6;

/// Step 6: drops the short beginnings of words, and so all short words.
pub(super) struct ShortWords<'l> {
    letters: &'l LetterTables,
    /// The first characters of a word, until it is known how many of them are dropped.
    head: Vec<Placed>,
    decided: bool,
}

impl<'l> ShortWords<'l> {
    pub(super) fn new(letters: &'l LetterTables) -> Self {
        Self {
            letters,
            head: Vec::with_capacity(LONGEST + 1),
            decided: false,
        }
    }

    pub(super) fn push(&mut self, (c, place): Placed, out: &mut impl FnMut(Placed)) {
        if is_blank(c) {
            self.end_word(out);
            out((c, place));
        } else if self.decided {
            out((c, place));
        } else {
            self.head.push((c, place));
            if self.head.len() > LONGEST {
                self.decide(out);
            }
        }
    }

    pub(super) fn end_word(&mut self, out: &mut impl FnMut(Placed)) {
        if !self.decided {
            self.decide(out);
        }
        self.decided = false;
    }

    fn decide(&mut self, out: &mut impl FnMut(Placed)) {
        let short = (1..LONGEST)
            .rev()
            .find(|&length| length <= self.head.len() && self.is_edge(length));
        let dropped = match short {
            Some(short) => short,
            None if self.is_six() => LONGEST,
            None => 0,
        };
        self.head.drain(..).skip(dropped).for_each(out);
        self.decided = true;
    }

    /// Whether a word begins or ends behind so many characters.
    fn is_edge(&self, length: usize) -> bool {
        self.is_word(length - 1) != self.is_word(length)
    }

    fn is_word(&self, place: usize) -> bool {
        self.head.get(place).is_some_and(|&(c, _)| is_word(c))
    }

    /// Whether the word begins with six letters that it loses.
    fn is_six(&self) -> bool {
        self.head.get(..LONGEST).is_some_and(|six| {
            six.iter().all(|&(c, _)| self.letters.is_of_six(c)) && self.is_edge(LONGEST)
        })
    }
}
