//! A text made of pieces of another, which knows where each was.

use std::ops::Range;

/// A text made of pieces of a source, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Traced {
    text: String,
    /// In the order of the text, without gaps, none empty.
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    /// Where it begins in the text.
    at: usize,
    from: From,
}

/// Where a piece is in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
enum From {
    /// Byte by byte from here on.
    Copied(usize),
    /// It stands for this.
    Instead(Range<usize>),
}

impl Traced {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), pieces: Vec::new() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Adds a part of the source, which must be a slice of it.
    pub(super) fn copy(&mut self, source: &str, part: &str) {
        if part.is_empty() {
            return;
        }
        let start = part.as_ptr().addr() - source.as_ptr().addr();
        let goes_on = self.pieces.last().is_some_and(|last| match last.from {
            From::Copied(from) => from + (self.text.len() - last.at) == start,
            From::Instead(_) => false,
        });
        if !goes_on {
            self.pieces.push(Piece { at: self.text.len(), from: From::Copied(start) });
        }
        self.text.push_str(part);
    }

    /// Adds what stands for a part of the source.
    pub(super) fn replace(&mut self, part: Range<usize>, by: &str) {
        self.pieces.push(Piece { at: self.text.len(), from: From::Instead(part) });
        self.text.push_str(by);
    }

    /// Adds what stands for nothing.
    pub(super) fn put(&mut self, new: &str) {
        let end = self.source(0..self.text.len()).end;
        self.replace(end..end, new);
    }

    /// Takes the last character away.
    pub(super) fn pop(&mut self) {
        self.text.pop();
        while self.pieces.last().is_some_and(|last| last.at >= self.text.len()) {
            self.pieces.pop();
        }
    }

    /// Where a part of the text is in the source.
    pub(super) fn source(&self, part: Range<usize>) -> Range<usize> {
        let piece = |at: usize| self.pieces[..self.pieces.partition_point(|piece| piece.at <= at)].last();
        let start = piece(part.start).map_or(part.start, |Piece { at, from }| match from {
            From::Copied(from) => from + (part.start - at),
            From::Instead(instead) => instead.start,
        });
        if part.is_empty() {
            return start..start;
        }
        let end = piece(part.end - 1).map_or(part.end, |Piece { at, from }| match from {
            From::Copied(from) => from + (part.end - at),
            From::Instead(instead) => instead.end,
        });
        start..end
    }
}
