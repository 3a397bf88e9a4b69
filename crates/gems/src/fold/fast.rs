//! The fast path through a text: plain tokens by masks, many at a time, and all others by the steps.

use std::ops::Range;

use super::bits::{BLOCK, SPAN, inside, through};
use super::characters::characters;
use super::classes::is_ascii_blank;
use super::decorated::Kind;
use super::masks::Masks;
use super::rest::{Rest, Row};
use super::squeeze::Squeezed;
use super::words::first_joint;
use super::{Folding, Sink};
use crate::gem::Place;

/// Buffers of the fast path, created once per text.
struct Work {
    masks: Masks,
    rest: Rest,
    squeezed: Squeezed,
}

impl<S: Sink> Folding<S> {
    /// Reads a whole text.
    pub(super) fn fast(&mut self, text: &str) {
        let mut work = Work {
            masks: Masks::new(),
            rest: Rest::new(),
            squeezed: Squeezed::new(),
        };
        let mut at = 0;
        while at < text.len() {
            work.masks
                .read(self.letters.plain(), &text.as_bytes()[at..], self.joined);
            work.rest
                .drop_short(&work.masks, (text.len() - at).min(SPAN));
            at = self.stretch(text, at, &mut work);
        }
    }

    /// Reads the tokens of the stretch of text that starts at `offset`. Returns where the first token begins that
    /// does not lie completely in the stretch.
    fn stretch(&mut self, text: &str, offset: usize, work: &mut Work) -> usize {
        let rest = text.len() - offset;
        let end = if rest <= SPAN {
            rest
        } else {
            work.masks
                .blank
                .last_in(0..SPAN)
                .map_or(0, |blank| blank + 1)
        };
        let mut next = 0;
        while next < end {
            if let Some(used) = self.decorated.at_rest() {
                // Plain tokens, up to the first odd one.
                let odd = work.masks.odd.first_in(next..end);
                let blank = odd.map(|odd| work.masks.blank.last_in(next..odd));
                let range = next..blank.map_or(end, |blank| blank.map_or(next, |blank| blank + 1));
                let row = Row {
                    masks: &work.masks,
                    range: range.clone(),
                };
                let read = work.rest.read(&row, used, range.end == rest);
                self.letters(text, offset, next..read.end, work);
                self.decorated.rest(read.used);
                if read.end == end || odd.is_none() && read.end > 0 {
                    // It is better to start what is open at the end of a stretch again in the next one.
                    return offset + read.end;
                }
                next = read.end;
            }
            let token_end = work.masks.blank.next(next, end);
            self.token(text, offset + next..offset + token_end);
            next = work.masks.first.next(token_end + 1, end);
        }
        if end > 0 {
            return offset + end;
        }
        // A token longer than a stretch.
        let long = text.as_bytes()[offset..]
            .iter()
            .position(|&byte| is_ascii_blank(byte))
            .unwrap_or(rest);
        self.token(text, offset..offset + long);
        offset + (long + 1).min(rest)
    }

    /// Processes the remaining letters of the plain tokens in the range.
    fn letters(&mut self, text: &str, offset: usize, range: Range<usize>, work: &mut Work) {
        let text = &text.as_bytes()[offset..];
        let plain = self.letters.plain();
        let mut open = false;
        work.squeezed.clear();
        for block in range.start / BLOCK..range.end.div_ceil(BLOCK) {
            let inside = inside(&range, block);
            let letters = work.rest.letter.block(block) & work.masks.last.block(block) & inside;
            let blank = work.masks.blank.block(block) & inside;
            // And the blank after each token that still has letters.
            let last = letters | through(letters, inside & !blank, &mut open) & blank;
            let from = block * BLOCK;
            match text[from..].first_chunk::<BLOCK>() {
                Some(bytes) if letters & work.masks.rare.block(block) == 0 => {
                    work.squeezed
                        .letters(block, last, |at| plain.by_last_byte(bytes[at % BLOCK]));
                }
                _ => work
                    .squeezed
                    .letters(block, last, |at| plain.letter(text, from + at)),
            }
        }
        if work.squeezed.is_transliterated() {
            self.decorated.digits().transliterate();
        }
        let (digits, places) = work.squeezed.digits();
        self.sink.digits(digits, |digit| {
            let last = usize::from(places[digit]);
            let length = if text[last] < 0x80 { 1 } else { 2 };
            Place {
                start: (offset + last + 1 - length) as u64,
                end: (offset + last + 1) as u64,
            }
        });
    }

    /// Processes any token, and the blank after it, by the steps.
    #[cold]
    fn token(&mut self, text: &str, range: Range<usize>) {
        let offset = range.start as u64;
        let token = &text[range];
        let joint = if self.joined {
            None
        } else {
            first_joint(characters(token, self.letters))
        };
        self.joined |= joint.is_some();
        let joint = joint.unwrap_or_default();
        for (i, (c, Place { start, end })) in characters(token, self.letters).enumerate() {
            if !joint.contains(&i) {
                self.push((
                    c,
                    Place {
                        start: start + offset,
                        end: end + offset,
                    },
                ));
            }
        }
        self.end_word();
        self.decorated.turn(Kind::Blank, &mut self.digits);
        self.decorated.digits().blank();
        self.settle();
    }
}
