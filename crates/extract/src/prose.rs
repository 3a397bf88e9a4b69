//! The visible text of a document with markup: words separated by one blank, and paragraphs separated by an empty
//! line, as in plain-text books. This is not only cosmetic: step 7 of the exact recipes distinguishes one blank
//! between two words from two, so a book has the same gems in every format only if its paragraphs are separated in
//! the same way.

use super::headings::{self, Heading};
use super::hidden::{HiddenWords, Hiding};
use super::{Extracted, Format};
use lapidary_common::description::Description;

/// A text under construction.
#[derive(Default)]
pub(super) struct Prose {
    text: String,
    blank: bool,
    headings: Vec<Heading>,
    /// Where the heading begins that is being read.
    heading: Option<usize>,
    hidden: HiddenWords,
}

impl Prose {
    /// Adds a piece of text; any run of white space becomes one blank.
    pub(super) fn text(&mut self, piece: &str) {
        self.hidden.end_word();
        self.blank |= piece.starts_with(is_space);
        for word in piece.split(is_space).filter(|word| !word.is_empty()) {
            if self.blank && !self.text.is_empty() && !self.text.ends_with('\n') {
                self.text.push(' ');
            }
            self.text.push_str(word);
            self.blank = true;
        }
        self.blank =
            piece.ends_with(is_space) || (self.blank && piece.trim_matches(is_space).is_empty());
    }

    /// Leaves out a piece of text that no reader sees.
    pub(super) fn hide(&mut self, how: Hiding, piece: &str) {
        self.hidden.add(how, piece);
    }

    /// Like [`Prose::hide`], for text that leaves a gap where it cannot be seen, unless it takes no room.
    pub(super) fn hide_in_place(&mut self, how: Hiding, piece: &str) {
        let leaves_gap = matches!(
            how,
            Hiding::SameColour | Hiding::InvisibleRendering | Hiding::Transparent
        );
        if leaves_gap && piece.trim_matches(is_space).is_empty() {
            return self.text(piece);
        }
        self.hide(how, piece);
        self.blank |= leaves_gap;
    }

    /// Starts a new line.
    pub(super) fn line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.blank = false;
        self.hidden.end_word();
    }

    /// Starts a new paragraph.
    pub(super) fn paragraph(&mut self) {
        self.line();
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Starts a new word.
    pub(super) fn blank(&mut self) {
        self.blank = true;
        self.hidden.end_word();
    }

    /// Says that what follows is a heading.
    pub(super) fn begin_heading(&mut self) {
        self.heading.get_or_insert(self.text.len());
    }

    /// Ends a heading, if one was begun.
    pub(super) fn end_heading(&mut self) {
        if let Some(start) = self.heading.take() {
            headings::add(&mut self.headings, start, &self.text[start..]);
        }
    }

    /// Appends another text below.
    pub(super) fn below(&mut self, other: Self) {
        self.paragraph();
        headings::append(&mut self.headings, self.text.len(), other.headings);
        self.text.push_str(&other.text);
        self.hidden.extend(&other.hidden);
    }

    /// The content of a book of this format, without metadata.
    pub(super) fn finish(mut self, format: Format) -> Extracted {
        self.text.truncate(self.text.trim_end_matches('\n').len());
        let Self {
            text,
            headings,
            hidden,
            ..
        } = self;
        Extracted {
            format,
            text,
            headings,
            hidden,
            metadata: Description::default(),
            encoding: None,
        }
    }
}

/// White space as defined by XML and HTML, which excludes the no-break space.
fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\n' | '\t' | '\r' | '\x0C')
}

/// A short text, such as a title, on one line; `None` if it is empty.
pub(super) fn phrase(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    text.contains(char::is_alphanumeric)
        .then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{Format, Prose};

    #[test]
    fn blanks_and_lines() {
        let mut prose = Prose::default();
        for piece in [
            "  \n gra", "nite", " and", "\n\t", "opal ", " ", "ston", "e",
        ] {
            prose.text(piece);
        }
        prose.line();
        prose.line();
        prose.text(" jade");
        prose.blank();
        prose.text("beryl");
        prose.paragraph();
        prose.paragraph();
        prose.text("\n");
        prose.line();
        prose.text(" onyx ");
        prose.paragraph();
        assert_eq!(
            prose.finish(Format::Text).text,
            "granite and opal stone\njade beryl\n\nonyx"
        );
    }
}
