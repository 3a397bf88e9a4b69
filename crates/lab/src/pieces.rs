//! Pieces of a book, from a quotation to the whole.

use lapidary_common::random::Random;

/// The length of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CopyLength {
    /// This many characters.
    Characters(usize),
    /// A whole book.
    Whole,
}

impl CopyLength {
    /// A sentence, a quotation, a poem, one page, three pages, a chapter, a book.
    pub(super) const ALL: [Self; 7] = [
        Self::Characters(100),
        Self::Characters(300),
        Self::Characters(1_000),
        Self::Characters(2_000),
        Self::Characters(6_000),
        Self::Characters(20_000),
        Self::Whole,
    ];

    pub(super) fn name(self) -> String {
        match self {
            Self::Characters(characters) => characters.to_string(),
            Self::Whole => "whole".to_owned(),
        }
    }
}

/// A piece of about this many characters at a random position, extended to whole words. Returns `None` if the text is not
/// longer than that.
pub(super) fn piece<'a>(text: &'a str, characters: usize, random: &mut Random) -> Option<&'a str> {
    // The last possible start.
    let (last, _) = text.char_indices().nth_back(characters)?;
    let mut from = random.below(last + 1);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let start = text[..from]
        .rfind(char::is_whitespace)
        .map_or(0, |blank| blank + 1);
    let start = (start..=from)
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(from);
    let end = text[start..]
        .char_indices()
        .nth(characters)
        .map_or(text.len(), |(at, _)| start + at);
    let end = text[end..]
        .find(char::is_whitespace)
        .map_or(text.len(), |blank| end + blank);
    Some(&text[start..end])
}

#[cfg(test)]
mod tests {
    use super::piece;
    use lapidary_common::random::Random;

    #[test]
    fn whole_words_of_the_length_asked_for() {
        let text = "камень gem\u{2003}самоцвет 猫 ".repeat(50);
        for seed in 0..200 {
            let piece = piece(&text, 40, &mut Random::new(seed)).expect("it is long enough");
            let words = || piece.split_whitespace();
            assert!((40..=50).contains(&piece.chars().count()), "{piece}");
            assert!(
                words().all(|word| text.split_whitespace().any(|whole| whole == word)),
                "{piece}"
            );
        }
        assert_eq!(
            piece(&text, text.chars().count(), &mut Random::new(1)),
            None
        );
        assert_eq!(piece("", 300, &mut Random::new(1)), None);
    }
}
