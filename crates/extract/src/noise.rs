//! Tells noise from text.
//!
//! Almost all encodings assign a meaning to almost all bytes, so that any file "can be decoded". Unlike text, binary
//! data contains control characters and, decoded as text, a jumble of letters and signs.

use super::encoding::Encoding;

/// The share of control characters that a text may have: an occasional printer or editor code.
const MOST_CONTROLS: f64 = 0.01;

/// What a control character counts. A character from U+0080 to U+009F in Unicode counts 1 where windows-1252 has a quotation
/// mark, a dash or a letter: that was taken for Latin-1, and may be every tenth character. Binary data that was converted so
/// has many others, too.
const CONTROL: usize = 10;

/// This count is acceptable in UTF-8, whose pattern binary data does not match: a short text may have one.
const FEW_CONTROLS: usize = 7 * CONTROL;

/// The share of a text's characters that may be broken or belong to no script: stray bytes, fonts with their own signs.
const MOST_UNKNOWN: f64 = 0.05;

/// The longest character, in bytes.
const LONGEST: usize = 4;

/// The first and last character of a short text may be cut in two.
const FEW_UNKNOWN: usize = 2;

/// The share of adjacent letters that may not belong together in a single-byte text: books have up to 0.01.
const MOST_ODD: f64 = 0.2;

/// Fewer pairs are not significant.
const FEWEST_NEIGHBOURS: usize = 12;

/// Whether this is a control character that has no use in a text.
pub(super) fn is_control(byte: u8) -> bool {
    (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | 0x0C | b'\r')) || byte == 0x7F
}

/// Why a sample that was decoded in `encoding` is not text, for people.
pub(super) fn complaint(sample: &str, encoding: Encoding) -> Option<String> {
    controls(sample, encoding)
        .or_else(|| unknown(sample))
        .or_else(|| {
            if encoding.is_unicode() {
                None
            } else {
                odd(sample)
            }
        })
}

/// A complaint if `text` has too many control characters. The end mark of CP/M and DOS, and the padding after it, do
/// not count at the end.
pub(super) fn controls(text: &str, encoding: Encoding) -> Option<String> {
    let text = Some(text.trim_end_matches(['\0', '\x1A']))
        .filter(|text| !text.is_empty())
        .unwrap_or(text);
    let controls = count_controls(text.as_bytes(), encoding);
    if allows(controls, text.len(), encoding) {
        return None;
    }
    let share = share(controls, CONTROL * text.chars().count());
    (share > MOST_CONTROLS).then(|| {
        format!(
            "{} of its characters are control characters",
            percent(share)
        )
    })
}

/// Whether a text of this length in UTF-8 surely may have control characters that count so much.
pub(super) fn allows(controls: usize, length: usize, encoding: Encoding) -> bool {
    // No character is longer, so there is no need to count them.
    controls == 0
        || (encoding == Encoding::UTF_8 && controls <= FEW_CONTROLS)
        || share(controls, CONTROL * (length / LONGEST)) <= MOST_CONTROLS
}

/// What the control characters count that have no use in a text, which is now in UTF-8.
pub(super) fn count_controls(text: &[u8], encoding: Encoding) -> usize {
    // Counted in bytes, many at a time.
    let ascii: usize = text.chunks(usize::from(u8::MAX)).map(controls_of).sum();
    let others = memchr::memchr_iter(0xC2, text).filter_map(|at| text.get(at + 1));
    let others: usize = others
        .map(|byte| match byte {
            // U+0085 is a line end.
            0x85 | 0xA0.. => 0,
            0x81 | 0x8D | 0x8F | 0x90 | 0x9D => CONTROL,
            _ if encoding.is_unicode() => 1,
            _ => CONTROL,
        })
        .sum();
    CONTROL * ascii + others
}

fn controls_of(some: &[u8]) -> usize {
    usize::from(
        some.iter()
            .map(|byte| u8::from(is_control(*byte)))
            .sum::<u8>(),
    )
}

/// A complaint if too many characters of `text` are broken or belong to no script.
fn unknown(text: &str) -> Option<String> {
    // The bytes that such characters begin with, found many at a time: few texts have any.
    let bytes = text.as_bytes();
    let first =
        memchr::memchr3_iter(0xEE, 0xEF, 0xF3, bytes).chain(memchr::memchr_iter(0xF4, bytes));
    let unknown = first
        .filter(|&at| {
            text[at..].chars().next().is_some_and(
                |char| matches!(char, '\u{FFFD}' | '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..),
            )
        })
        .count();
    if unknown <= FEW_UNKNOWN {
        return None;
    }
    let share = share(unknown, text.chars().count());
    (share > MOST_UNKNOWN).then(|| {
        format!(
            "{} of its characters are broken or belong to no script",
            percent(share)
        )
    })
}

/// A complaint if too many adjacent characters in `text` do not belong together: only for encodings in which any
/// bytes are characters.
fn odd(text: &str) -> Option<String> {
    let mut neighbours = 0;
    let mut odd = 0;
    let mut before = ' ';
    for char in text.chars() {
        let classes = (Class::of(before), Class::of(char));
        if !(before.is_ascii() && char.is_ascii())
            && classes.0 != Class::Neutral
            && classes.1 != Class::Neutral
        {
            neighbours += 1;
            // Letters of two alphabets, a letter and a sign, or a capital after a lower-case letter.
            odd += usize::from(
                classes.0 != classes.1 || (before.is_lowercase() && char.is_uppercase()),
            );
        }
        before = char;
    }
    let share = share(odd, neighbours);
    (neighbours >= FEWEST_NEIGHBOURS && share > MOST_ODD).then(|| {
        format!(
            "its bytes form no words in any known encoding ({} of adjacent characters do not belong together)",
            percent(share)
        )
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Latin,
    Greek,
    Cyrillic,
    /// Found between words or anywhere: blanks, punctuation, digits, all other scripts.
    Neutral,
    /// Not found next to letters.
    Sign,
}

impl Class {
    fn of(char: char) -> Self {
        match char {
            '\u{370}'..='\u{3FF}' => Self::Greek,
            '\u{400}'..='\u{52F}' => Self::Cyrillic,
            '\0'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}' if char.is_alphabetic() => Self::Latin,
            '\u{A0}'
            | '¡'
            | '¿'
            | '«'
            | '»'
            | '·'
            | '°'
            | '´'
            | '§'
            | '№'
            | '\u{2000}'..='\u{206F}' => Self::Neutral,
            '\u{80}'..='\u{BF}' | '×' | '÷' | '\u{2070}'..='\u{2BFF}' | '\u{FFFD}' => Self::Sign,
            _ => Self::Neutral,
        }
    }
}

/// A share of a whole; 0 if the whole is 0.
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn percent(share: f64) -> String {
    format!("{:.0} %", (100.0 * share).max(1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CONTROL, Encoding, count_controls};

    proptest! {
        #[test]
        fn control_characters_are_counted(text in "[\0\x08-\x0E\x7F-\u{A1}aé\u{482}]{0,600}") {
            let is_useful = |c| matches!(c, '\t' | '\n' | '\x0C' | '\r' | '\u{85}');
            let count = |c: &char| {
                let byte = [*c as u8];
                let (meant, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&byte);
                if *c < '\u{80}' || meant.starts_with(*c) { CONTROL } else { 1 }
            };
            let controls: Vec<char> = text.chars().filter(|c| c.is_control() && !is_useful(*c)).collect();
            prop_assert_eq!(count_controls(text.as_bytes(), Encoding::UTF_8), controls.iter().map(count).sum::<usize>());
            let latin_2 = "iso-8859-2".parse().expect("an encoding");
            prop_assert_eq!(count_controls(text.as_bytes(), latin_2), CONTROL * controls.len());
        }
    }
}
