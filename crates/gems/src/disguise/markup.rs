//! Tags and character references in the words of a text.

use memchr::memchr2_iter;

use super::place;
use crate::gem::Place;
use crate::hardened::undo::{reference, tag};

/// A word with markup.
pub(super) struct MarkedWord {
    pub(super) place: Place,
    /// Whether no author would write it so. Otherwise it is ordinary up to a point.
    pub(super) is_trick: bool,
}

/// Passes on the words that have a tag in them or behind them, and those with references to letters.
pub(super) fn marked_words(text: &str, mut take: impl FnMut(MarkedWord)) {
    let mut read_to = 0;
    for at in memchr2_iter(b'<', b'&', text.as_bytes()) {
        if at < read_to {
            continue;
        }
        let Some((end, is_trick)) = marked(text, at) else {
            continue;
        };
        read_to = end_of_word(text, end);
        let place = place(start_of_word(text, at), read_to);
        take(MarkedWord { place, is_trick });
    }
}

/// The end of a tag behind a letter or of a reference to one, and whether it is inside a word, or to an ASCII letter.
fn marked(text: &str, at: usize) -> Option<(usize, bool)> {
    if let Some(end) = tag(text, at) {
        let is_inside = text[end..].starts_with(char::is_alphabetic);
        return text[..at]
            .ends_with(char::is_alphabetic)
            .then_some((end, is_inside));
    }
    let (end, c) = reference(text, at)?;
    let is_numeric = text[at..end].contains('#');
    (is_numeric && c.is_alphabetic()).then_some((end, c.is_ascii()))
}

fn start_of_word(text: &str, at: usize) -> usize {
    text[..at].trim_end_matches(char::is_alphabetic).len()
}

/// Where the letters end that begin here, with the markup between them.
fn end_of_word(text: &str, mut at: usize) -> usize {
    loop {
        let rest = text[at..].trim_start_matches(char::is_alphabetic);
        at = text.len() - rest.len();
        match marked(text, at) {
            Some((end, _)) => at = end,
            None => return at,
        }
    }
}
