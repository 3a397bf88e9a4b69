//! The fast path through a text: plain tokens by masks, many at a time, and all others by the steps.

use std::ops::Range;

use super::bits::{BLOCK, SPAN, blocks, inside, through};
use super::characters::characters;
use super::classes::is_ascii_blank;
use super::decorated::RunKind;
use super::masks::Masks;
use super::rest::{Rest, Row};
use super::squeeze::Squeezed;
use super::words::first_joint;
use super::{Folding, Sink};
use crate::gem::Place;

/// Buffers of the fast path, created once per text.
struct FastBuffers {
    masks: Masks,
    rest: Rest,
    squeezed: Squeezed,
}

/// The position after a blank; `start` if there is none.
fn behind(blank: Option<usize>, start: usize) -> usize {
    blank.map_or(start, |blank| blank + 1)
}

impl<S: Sink> Folding<S> {
    /// Reads a whole text.
    pub(super) fn fast(&mut self, text: &str) {
        let mut work = FastBuffers {
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
    fn stretch(&mut self, text: &str, offset: usize, work: &mut FastBuffers) -> usize {
        let rest = text.len() - offset;
        let end = if rest <= SPAN {
            rest
        } else {
            behind(work.masks.blank.last_in(0..SPAN), 0)
        };
        if end == 0 {
            return self.long_token(text, offset);
        }
        let mut next = 0;
        while next < end {
            if let Some(used) = self.decorated.at_rest() {
                // Plain tokens, up to the first odd one.
                let odd = work.masks.odd.first_in(next..end);
                let range =
                    next..odd.map_or(end, |odd| behind(work.masks.blank.last_in(next..odd), next));
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
        offset + end
    }

    /// Processes a token longer than a stretch. Returns where the next one begins.
    #[cold]
    fn long_token(&mut self, text: &str, offset: usize) -> usize {
        let mut bytes = text.as_bytes()[offset..].iter();
        let end = bytes
            .position(|&byte| is_ascii_blank(byte))
            .map_or(text.len(), |length| offset + length);
        self.token(text, offset..end);
        (end + 1).min(text.len())
    }

    /// Processes the remaining letters of the plain tokens in the range.
    fn letters(&mut self, text: &str, offset: usize, range: Range<usize>, work: &mut FastBuffers) {
        let text = &text.as_bytes()[offset..];
        let plain = self.letters.plain();
        let mut open = false;
        work.squeezed.clear();
        for block in blocks(&range) {
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
        self.decorated.turn(RunKind::Blank, &mut self.digits);
        self.decorated.digits().blank();
        self.settle();
    }
}
