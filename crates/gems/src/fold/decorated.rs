//! Step 7: decorated words, such as `-=word=-`. Readers ignore them, but they would make a copy look like a different text.

use std::mem;

use super::Sink;
use super::characters::Placed;
use super::classes::{is_blank, is_word};
use super::digits::Digits;

/// Drops every run of: (start of the text or a blank), marks, at most one blank, a word, any blanks, marks, (a blank
/// or the end). Everything but its first and last blank is dropped.
///
/// Because a word can have any length, a possible run is passed on, and undone if it turns out to be one.
pub(super) struct Decorated<'l> {
    state: DecoratedState,
    /// Where the current attempt started.
    undo: UndoPoint<'l>,
    /// After the blank before the closing marks, where the next attempt starts if this one fails.
    retry: Option<UndoPoint<'l>>,
    digits: Digits<'l>,
}

/// A point to return to: the state of the next step, and how many digits had been output.
struct UndoPoint<'l> {
    digits: Digits<'l>,
    out: usize,
}

/// The kind of a run of characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RunKind {
    Mark,
    Blank,
    Word,
}

/// How much of a run has been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DecoratedState {
    /// No attempt, and not at a border.
    Inside,
    /// No attempt, right after the start of the text or after a blank that does not end a run.
    Border,
    Marks,
    MarksBlank,
    Word,
    WordBlank,
    Closing,
}

impl<'l> Decorated<'l> {
    pub(super) fn new(digits: Digits<'l>) -> Self {
        Self {
            state: DecoratedState::Border,
            undo: UndoPoint {
                digits: digits.clone(),
                out: 0,
            },
            retry: None,
            digits,
        }
    }

    /// Takes a character; `out` holds all digits that are not settled yet.
    pub(super) fn push(&mut self, (c, place): Placed, out: &mut Vec<Placed>) {
        if is_blank(c) {
            self.turn(RunKind::Blank, out);
            self.digits.push(c, place, out);
        } else if is_word(c) {
            self.turn(RunKind::Word, out);
            // Step 8: drop all junk.
            if c != '_' {
                self.digits.push(c, place, out);
            }
        } else {
            self.turn(RunKind::Mark, out);
        }
    }

    /// Takes a run of characters of one kind, before any of it goes to the next step.
    #[expect(
        clippy::match_same_arms,
        reason = "one line for each state and kind of character"
    )]
    pub(super) fn turn(&mut self, kind: RunKind, out: &mut Vec<Placed>) {
        use DecoratedState::{Border, Closing, Inside, Marks, MarksBlank, Word, WordBlank};
        let blank = kind == RunKind::Blank;
        let word = kind == RunKind::Word;
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
                self.retry = Some(UndoPoint {
                    digits: self.digits.clone(),
                    out: out.len(),
                });
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

    /// `None` during an attempt; otherwise whether a run has just ended, in which case its last blank cannot start another.
    pub(super) fn at_rest(&self) -> Option<bool> {
        match self.state {
            DecoratedState::Border => Some(false),
            DecoratedState::Inside => Some(true),
            _ => None,
        }
    }

    /// Continues after a blank at which there is no attempt, as reported by [`Self::at_rest`].
    pub(super) fn rest(&mut self, inside: bool) {
        self.state = if inside {
            DecoratedState::Inside
        } else {
            DecoratedState::Border
        };
    }

    /// The next step.
    pub(super) fn digits(&mut self) -> &mut Digits<'l> {
        &mut self.digits
    }

    /// Passes on the part of `out` that can no longer be undone.
    pub(super) fn settle(&mut self, out: &mut Vec<Placed>, sink: &mut impl Sink) {
        let settled = match self.state {
            DecoratedState::Inside | DecoratedState::Border => out.len(),
            _ => mem::take(&mut self.undo.out),
        };
        if let Some(retry) = &mut self.retry {
            retry.out = retry.out.saturating_sub(settled);
        }
        out.drain(..settled)
            .for_each(|(digit, place)| sink.digit(digit, place));
    }

    /// Ends the text and returns the next step.
    pub(super) fn finish(mut self, out: &mut Vec<Placed>) -> Digits<'l> {
        if self.state == DecoratedState::Closing {
            self.drop_run(out);
        }
        self.digits
    }

    fn begin(&mut self, out: usize) -> DecoratedState {
        self.undo = UndoPoint {
            digits: self.digits.clone(),
            out,
        };
        DecoratedState::Marks
    }

    fn drop_run(&mut self, out: &mut Vec<Placed>) {
        self.digits = self.undo.digits.clone();
        out.truncate(self.undo.out);
    }
}
