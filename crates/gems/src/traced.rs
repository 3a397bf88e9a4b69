//! A text assembled from pieces of another text, which tracks where each piece came from.

use std::ops::Range;

/// A text assembled from pieces of a source, in source order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Traced {
    text: String,
    /// In text order, without gaps, none empty.
    pieces: Vec<TracedPiece>,
}

/// Small, since a text of short lines has many.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TracedPiece {
    /// Where it begins in the text, and in the source.
    at: usize,
    from: usize,
    /// How many bytes of the source it replaces as a whole; `None` if it is a byte-for-byte copy.
    instead: Option<u16>,
}

impl TracedPiece {
    /// Where in the source a part of the text ends that ends in this piece.
    fn source(&self, end: usize) -> usize {
        match self.instead {
            None => self.from + (end - self.at),
            Some(bytes) => self.from + usize::from(bytes),
        }
    }
}

impl Traced {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes),
            pieces: Vec::new(),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Adds a part of the source; `part` must be a slice of `source`, or empty.
    pub(super) fn copy(&mut self, source: &str, part: &str) {
        if !part.is_empty() {
            self.copied(part.as_ptr().addr() - source.as_ptr().addr(), part);
        }
    }

    /// Adds a line end in place of the next character of the source, which is a line end or a blank before one.
    pub(super) fn end_line(&mut self, source: &str) {
        let end = self
            .pieces
            .last()
            .map_or(0, |last| last.source(self.text.len()));
        if source.as_bytes().get(end).is_some_and(u8::is_ascii) {
            self.copied(end, "\n");
        } else {
            self.replace(end, 0, "\n");
        }
    }

    /// Adds a replacement for `bytes` bytes of the source.
    pub(super) fn replace(&mut self, from: usize, bytes: u16, by: &str) {
        self.pieces.push(TracedPiece {
            at: self.text.len(),
            from,
            instead: Some(bytes),
        });
        self.text.push_str(by);
    }

    /// Removes the last character.
    pub(super) fn pop(&mut self) {
        self.text.pop();
        while self
            .pieces
            .last()
            .is_some_and(|last| last.at >= self.text.len())
        {
            self.pieces.pop();
        }
    }

    /// Maps a part of the text to its place in the source.
    pub(super) fn source(&self, part: Range<usize>) -> Range<usize> {
        let start = self
            .piece(part.start)
            .map_or(part.start, |piece| match piece.instead {
                None => piece.from + (part.start - piece.at),
                Some(_) => piece.from,
            });
        if part.is_empty() {
            return start..start;
        }
        start
            ..self
                .piece(part.end - 1)
                .map_or(part.end, |piece| piece.source(part.end))
    }

    fn piece(&self, at: usize) -> Option<&TracedPiece> {
        self.pieces[..self.pieces.partition_point(|piece| piece.at <= at)].last()
    }

    fn copied(&mut self, from: usize, part: &str) {
        let goes_on = self
            .pieces
            .last()
            .is_some_and(|last| last.instead.is_none() && last.source(self.text.len()) == from);
        if !goes_on {
            self.pieces.push(TracedPiece {
                at: self.text.len(),
                from,
                instead: None,
            });
        }
        self.text.push_str(part);
    }
}
