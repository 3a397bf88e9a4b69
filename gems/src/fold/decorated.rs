//! Step 7: decorated words, such as `-=word=-`, which a reader passes over and which would otherwise make a copy look
//! like another text.

use std::mem;

use super::Sink;
use super::characters::Placed;
use super::classes::{is_blank, is_word};
use super::digits::Digits;

/// Drops every run of: (start of the text or a blank), marks, at most one blank, a word, any blanks, marks, (a blank or
/// the end). All but its first and last blank goes.
///
/// What may be such a run is passed on and taken back when it turns out to be one, since a word has no limit in length.
pub(super) struct Decorated<'l> {
    state: State,
    /// Where the current attempt began.
    undo: Point<'l>,
    /// Behind the blank before the closing marks, where the next attempt begins if this one fails.
    retry: Option<Point<'l>>,
    digits: Digits<'l>,
}

/// A point to come back to: the next step as it was then, and how many digits were out.
struct Point<'l> {
    digits: Digits<'l>,
    out: usize,
}

/// What a run of characters is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Mark,
    Blank,
    Word,
}

/// What has been read of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// No attempt; before is no border.
    Inside,
    /// No attempt; before is the start of the text, or a blank that ends no run.
    Border,
    Marks,
    MarksBlank,
    Word,
    WordBlank,
    Closing,
}

impl<'l> Decorated<'l> {
    pub(super) fn new(digits: Digits<'l>) -> Self {
        Self { state: State::Border, undo: Point { digits: digits.clone(), out: 0 }, retry: None, digits }
    }

    /// Takes a character; `out` has every digit that is not yet settled.
    pub(super) fn push(&mut self, (c, place): Placed, out: &mut Vec<Placed>) {
        if is_blank(c) {
            self.turn(Kind::Blank, out);
            self.digits.push(c, place, out);
        } else if is_word(c) {
            self.turn(Kind::Word, out);
            // Step 8: all junk goes.
            if c != '_' {
                self.digits.push(c, place, out);
            }
        } else {
            self.turn(Kind::Mark, out);
        }
    }

    /// Takes a run of characters of one kind, before any of it goes to the step behind.
    #[expect(clippy::match_same_arms, reason = "one line for each state and kind of character")]
    pub(super) fn turn(&mut self, kind: Kind, out: &mut Vec<Placed>) {
        use State::{Border, Closing, Inside, Marks, MarksBlank, Word, WordBlank};
        let blank = kind == Kind::Blank;
        let word = kind == Kind::Word;
        self.state = match self.state {
            Inside if blank => Border,
            Inside => Inside,
            Border if blank => Border,
            Border if word => Inside,
            Border => self.begin(out.len()),
            Marks if blank => MarksBlank,
            Marks if word => Word,
            Marks => Marks,
            MarksBlank if blank => Border,
            MarksBlank if word => Word,
            MarksBlank => self.begin(out.len()),
            Word if blank => WordBlank,
            Word if word => Word,
            Word => {
                self.retry = None;
                Closing
            }
            WordBlank if blank => WordBlank,
            WordBlank if word => Inside,
            WordBlank => {
                self.retry = Some(Point { digits: self.digits.clone(), out: out.len() });
                Closing
            }
            Closing if blank => {
                self.drop_run(out);
                Inside
            }
            Closing if word => match self.retry.take() {
                Some(retry) => {
                    self.undo = retry;
                    Word
                }
                None => Inside,
            },
            Closing => Closing,
        };
    }

    /// Whether no attempt is under way; and if so, whether a run has just ended, whose last blank can begin no other.
    pub(super) fn at_rest(&self) -> Option<bool> {
        match self.state {
            State::Border => Some(false),
            State::Inside => Some(true),
            _ => None,
        }
    }

    /// Goes on behind a blank at which no attempt is under way, as [`Self::at_rest`] says.
    pub(super) fn rest(&mut self, inside: bool) {
        self.state = if inside { State::Inside } else { State::Border };
    }

    /// The step behind this one.
    pub(super) fn digits(&mut self) -> &mut Digits<'l> {
        &mut self.digits
    }

    /// Hands on what of `out` cannot be taken back any more.
    pub(super) fn settle(&mut self, out: &mut Vec<Placed>, sink: &mut impl Sink) {
        let settled = match self.state {
            State::Inside | State::Border => out.len(),
            _ => mem::take(&mut self.undo.out),
        };
        if let Some(retry) = &mut self.retry {
            retry.out = retry.out.saturating_sub(settled);
        }
        out.drain(..settled).for_each(|(digit, place)| sink.digit(digit, place));
    }

    /// Ends the text and returns the step behind this one.
    pub(super) fn finish(mut self, out: &mut Vec<Placed>) -> Digits<'l> {
        if self.state == State::Closing {
            self.drop_run(out);
        }
        self.digits
    }

    fn begin(&mut self, out: usize) -> State {
        self.undo = Point { digits: self.digits.clone(), out };
        State::Marks
    }

    fn drop_run(&mut self, out: &mut Vec<Placed>) {
        self.digits = self.undo.digits.clone();
        out.truncate(self.undo.out);
    }
}
