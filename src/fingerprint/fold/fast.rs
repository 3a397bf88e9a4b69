//! The fast way through a text: plain tokens by masks and tables, all others by the steps.
//!
//! Short words are most of a text and are not even looked at: what is, begins with six letters or has a mark.

use std::ops::Range;

use super::characters::characters;
use super::classes::is_ascii_blank;
use super::decorated::Kind;
use super::masks::{BLOCK, Masks, SPAN};
use super::plain::Plain;
use super::tokens::{Rest, Token};
use super::words::first_joint;
use super::{Folding, Sink};
use crate::fingerprint::gem::Place;

impl<S: Sink> Folding<S> {
    /// Reads a whole text.
    pub(super) fn fast(&mut self, text: &str) {
        let mut masks = Masks::new();
        let mut at = 0;
        while at < text.len() {
            masks.read(self.letters.plain(), &text.as_bytes()[at..]);
            at += self.stretch(text, at, &masks);
            self.settle();
        }
    }

    /// Reads the tokens of a stretch of text from `offset` on; returns where the first token begins that it does not
    /// hold wholly.
    fn stretch(&mut self, text: &str, offset: usize, masks: &Masks) -> usize {
        let plain = self.letters.plain();
        let rest = &text.as_bytes()[offset..];
        let read = rest.len().min(SPAN);
        // Where the next token begins.
        let mut next = 0_usize;
        for block in (0..read).step_by(BLOCK) {
            let blank = masks.blank.from(block);
            let behind = u64::MAX.checked_shl(next.saturating_sub(block) as u32).unwrap_or(0);
            let mut notable = masks.notable(block) & behind;
            while notable != 0 {
                let place = block + notable.trailing_zeros() as usize;
                let behind = blank & !(notable & notable.wrapping_neg()).wrapping_sub(1);
                // Never far: before a token's first notable byte stand five letters at most.
                let start = place + 1 - masks.blank.up_to(place).leading_zeros() as usize;
                let end = place + masks.blank.from(place).trailing_zeros() as usize;
                // On to the next token, or out of the block.
                notable &= !(behind & behind.wrapping_neg()).wrapping_sub(1);
                self.decorated.blanks(start > next);
                match Token::new(masks, offset, start, end) {
                    // A joint has marks between letters.
                    Some(token) if self.joined || !token.is_joined() => {
                        self.plain_token(plain, text, token);
                        next = end + 1;
                    }
                    _ => {
                        let is_blank = |byte: &u8| is_ascii_blank(*byte);
                        let end = rest[place..].iter().position(is_blank).map_or(rest.len(), |blank| place + blank);
                        if start > 0 && end >= SPAN {
                            return start;
                        }
                        self.token(text, offset + start..offset + end);
                        next = end + 1;
                    }
                }
            }
        }
        // What is left is short words, or nothing, if a long token was the last.
        let start = read.saturating_sub(masks.blank.up_to(read - 1).leading_zeros() as usize);
        self.decorated.blanks(start > next);
        if read == rest.len() { rest.len() } else { next.max(start) }
    }

    /// Takes a token of plain characters, in which is no joint, and the blank behind it.
    #[inline]
    fn plain_token(&mut self, plain: &Plain, text: &str, token: Token) {
        if token.may_split() { self.parts(plain, text, token) } else { self.part(plain, text, &token) }
    }

    /// As [`Self::plain_token`] where step 3 may cut.
    #[cold]
    fn parts(&mut self, plain: &Plain, text: &str, mut token: Token) {
        while let Some(before) = token.split_off(text.as_bytes()) {
            self.part(plain, text, &before);
        }
        self.part(plain, text, &token);
    }

    /// Takes what lies between two blanks once step 3 is done, and the blank behind it.
    #[inline]
    fn part(&mut self, plain: &Plain, text: &str, token: &Token) {
        let rest = token.rest(plain, text.as_bytes());
        let letters = rest.letter.trailing_ones() as usize;
        if rest.letter >> letters != 0 {
            return self.with_marks(plain, text, &rest);
        }
        if letters > 0 {
            let word = &text[rest.start..rest.start + letters];
            self.decorated.digits().plain_word(plain, word, rest.first, rest.start, &mut self.digits);
        }
        self.decorated.token(letters > 0, rest.length > letters, &mut self.digits);
    }

    /// As [`Self::part`] where marks stand before or between the letters that are left.
    #[cold]
    fn with_marks(&mut self, plain: &Plain, text: &str, rest: &Rest) {
        let mut at = 0;
        while at < rest.length {
            let letters = rest.letter >> at;
            let (kind, length) = match letters.trailing_ones() {
                0 => (Kind::Mark, letters.trailing_zeros()),
                length => (Kind::Word, length),
            };
            self.decorated.turn(kind, &mut self.digits);
            at += length as usize;
        }
        let word = &text[rest.start..rest.start + (rest.letter.ilog2() + 1) as usize];
        // Between letters, the mask of first bytes may have an ellipsis: there each character is looked at.
        self.decorated.digits().plain_word(plain, word, 0, rest.start, &mut self.digits);
        self.decorated.turn(Kind::Blank, &mut self.digits);
    }

    /// Takes any token, and the blank behind it, by the steps.
    #[cold]
    fn token(&mut self, text: &str, range: Range<usize>) {
        let offset = range.start as u64;
        let token = &text[range];
        let joint = if self.joined { None } else { first_joint(characters(token, self.letters)) };
        self.joined |= joint.is_some();
        let joint = joint.unwrap_or_default();
        for (i, (c, Place { start, end })) in characters(token, self.letters).enumerate() {
            if !joint.contains(&i) {
                self.push((c, Place { start: start + offset, end: end + offset }));
            }
        }
        self.end_word();
        self.decorated.turn(Kind::Blank, &mut self.digits);
        self.decorated.digits().blank();
    }
}
