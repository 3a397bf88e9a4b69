//! What a text may cost: a bound on the characters that it becomes, so that the time for a text is at most in proportion to
//! its bytes, and the memory too.

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};

/// A text may become as many characters as it has bytes, and this many more, when it is written out in full (NFKD). No text in
/// any language comes near: most characters become one, and those that become many stand alone.
const CHARACTERS_FREE: usize = 1 << 16;
/// The most marks in a row that combine with one letter: they are sorted together. Unicode's stream-safe form has 30.
const MOST_MARKS: usize = 1_000;

/// Why a text is given no gems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Costly {
    /// Written out it is much longer.
    #[error(
        "written out in full (NFKD) it has more characters than bytes; leave out what is no text, such as rows of U+FDFA"
    )]
    Expands,
    /// Marks without an end.
    #[error("it has more than {MOST_MARKS} combining marks in a row; leave out what is no text")]
    Marks,
}

/// Whether gems of a text can be made in a time that fits its length.
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
    for c in text.chars() {
        // Below, no character becomes more than two of its bytes, and none of those combines.
        if c < '\u{300}' || ('\u{400}'..='\u{482}').contains(&c) {
            (characters, marks) = (characters + c.len_utf8(), 0);
            continue;
        }
        decompose_compatible(c, |_| characters += 1);
        marks = if canonical_combining_class(c) == 0 { 0 } else { marks + 1 };
        if marks > MOST_MARKS {
            return Err(Costly::Marks);
        }
        if characters > most {
            return Err(Costly::Expands);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(bounded(&"a".repeat(1_001).replace('a', "\u{301}")), Err(Costly::Marks));
        assert_eq!(bounded(&format!("a{}", "\u{301}".repeat(1_000))), Ok(()));
    }
}
