//! Bounds on the cost of a text: a limit on how many characters it expands to, so that time and memory grow at most
//! linearly with its bytes.

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};

/// Written out in full (NFKD), a text may have as many characters as it has bytes, plus this many. No text in any
/// language comes close: most characters become one, and those that become many are isolated.
const CHARACTERS_FREE: usize = 1 << 16;
/// The maximum number of consecutive combining marks on one letter: they are sorted together. Unicode's stream-safe
/// form allows 30.
const MOST_MARKS: usize = 1_000;

/// Why a text is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Costly {
    /// Written out it is much longer.
    #[error(
        "normalised (NFKD), the text has more characters than bytes; remove what is not text, such as rows of U+FDFA"
    )]
    Expands,
    /// Too many consecutive combining marks.
    #[error(
        "the text has more than {MOST_MARKS} combining marks in a row; remove what is not text"
    )]
    Marks,
}

/// Checks whether the gems of a text can be computed in time proportional to its length.
///
/// ```
/// use lapidary_gems::{Costly, bounded};
///
/// assert_eq!(bounded("The treasure lay in a box. \u{fdfa}"), Ok(()));
/// assert_eq!(bounded(&"\u{fdfa}".repeat(10_000)), Err(Costly::Expands));
/// ```
///
/// # Errors
/// [`Costly`].
pub fn bounded(text: &str) -> Result<(), Costly> {
    let most = text.len().saturating_add(CHARACTERS_FREE);
    let (mut characters, mut marks) = (0_usize, 0);
    let mut rest = text;
    loop {
        let simple = simple(rest.as_bytes());
        if simple > 0 {
            (characters, marks) = (characters + simple, 0);
        }
        rest = &rest[simple..];
        let Some(c) = rest.chars().next() else {
            return Ok(());
        };
        rest = &rest[c.len_utf8()..];
        decompose_compatible(c, |_| characters += 1);
        marks = if canonical_combining_class(c) == 0 {
            0
        } else {
            marks + 1
        };
        if marks > MOST_MARKS {
            return Err(Costly::Marks);
        }
        if characters > most {
            return Err(Costly::Expands);
        }
    }
}

/// The length of what can be counted as its bytes, without decomposing it: characters below U+0300 and Cyrillic letters
/// (U+0400 to U+047F). None of them has more than three characters when written out, and none combines.
fn simple(bytes: &[u8]) -> usize {
    /// Bytes tested at once, with vector instructions.
    const BLOCK: usize = 32;
    let blocks = bytes
        .chunks_exact(BLOCK)
        .take_while(|block| block.iter().fold(true, |all, byte| all & is_simple(*byte)))
        .count();
    let rest = bytes[blocks * BLOCK..].iter();
    blocks * BLOCK + rest.take_while(|byte| is_simple(**byte)).count()
}

/// Whether it is a byte of ASCII, a continuation byte, or the first byte of one of these letters.
#[inline]
fn is_simple(byte: u8) -> bool {
    byte < 0xCC || matches!(byte, 0xD0 | 0xD1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn simple_characters_are_found_as_one_by_one(text in "([a-zа-я \\PC\u{301}]{0,40}[a-zа-я ]{0,40}){0,4}") {
            let is_simple = |c: &char| *c < '\u{300}' || ('\u{400}'..'\u{480}').contains(c);
            let expected: usize = text.chars().take_while(is_simple).map(char::len_utf8).sum();
            prop_assert_eq!(simple(text.as_bytes()), expected);
        }
    }

    #[test]
    fn texts_of_every_script_are_within_and_bombs_are_not() {
        let texts = [
            "The treasure lay in a box, ½ of it gold. ",
            "Клад лежал в одном сундуке; ёлки, Йод. ",
            "宝物は一つの箱の中に㌔㍍㈱。",
            "보물은 상자 하나에 들어 있었다. ",
            "كان الكنز في صندوق واحد ﷺ ",
            "ख़ज़ाना एक संदूक में था। ",
            "Kho báu nằm trong một chiếc hộp ệ ",
            "Z\u{351}\u{36b}\u{343}\u{32a}\u{302}\u{36b}\u{33d}\u{34f}\u{334}\u{319}algo ",
        ];
        for text in texts {
            assert_eq!(bounded(&text.repeat(20_000)), Ok(()), "{text}");
        }
        assert_eq!(bounded(&"\u{fdfa} ".repeat(20_000)), Err(Costly::Expands));
        assert_eq!(bounded(&"\u{fdfb}".repeat(100_000)), Err(Costly::Expands));
        assert_eq!(
            bounded(&"a".repeat(1_001).replace('a', "\u{301}")),
            Err(Costly::Marks)
        );
        assert_eq!(bounded(&format!("a{}", "\u{301}".repeat(1_000))), Ok(()));
    }
}
