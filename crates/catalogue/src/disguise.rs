//! The signs of disguise in a text, as a report shows them.

use lapidary_gems::{Place, Signs, Trick};

use crate::api::{Disguise, DisguisedWord, HiddenText};
use lapidary_extract::HiddenWords;

/// How many characters of the text to show on either side of an example, and at most of the example.
const CONTEXT: usize = 40;
const WORD: usize = 80;

/// The signs of disguise in a text, and in the file that it was read from; `None` if there are none.
pub(super) fn signs(text: &str, hidden: &HiddenWords) -> Option<Disguise> {
    let (signs, hidden) = (Signs::of(text), HiddenText::of(hidden, text));
    (signs.is_any() || hidden.is_some()).then(|| Disguise {
        disguised: signs.is_disguised(),
        share: signs.share(),
        invisible: signs.count(Trick::Invisible),
        look_alikes: signs.count(Trick::LookAlikes),
        marks: signs.count(Trick::Marks),
        letter_spaced: signs.count(Trick::LetterSpaced),
        digits: signs.count(Trick::Digits),
        hyphens: signs.count(Trick::Hyphens),
        markup: signs.count(Trick::Markup),
        misspelled: signs.count(Trick::Misspelled),
        examples: signs
            .examples()
            .map(|(trick, place)| example(text, trick, place))
            .collect(),
        hidden,
    })
}

fn example(text: &str, trick: Trick, bytes: Place) -> DisguisedWord {
    let (start, end) = (bytes.start as usize, bytes.end as usize);
    let context = text[..start]
        .char_indices()
        .rev()
        .take(CONTEXT)
        .last()
        .map_or(start, |(at, _)| at);
    let of = |text: &str, most| text.chars().take(most).collect();
    DisguisedWord {
        trick,
        bytes,
        position: None,
        before: text[context..start].to_owned(),
        word: of(&text[start..end], WORD),
        after: of(&text[end..], CONTEXT),
    }
}

#[cfg(test)]
mod tests {
    use super::{HiddenWords, signs};

    #[test]
    fn examples_have_a_context_of_bounded_length() {
        let none = HiddenWords::default();
        assert_eq!(signs("Nothing of the kind, «ничего».", &none), None);
        let long = "\u{200b}a".repeat(1_000);
        let text = format!("Клад лежал в сун{long}дуке, {}.", "ё".repeat(100));
        let found = signs(&text, &none).expect("a sign");
        assert_eq!(
            (found.invisible, found.disguised, found.examples.len()),
            (1_000, false, 2)
        );
        let example = &found.examples[0];
        assert_eq!(example.before, "Клад лежал в ");
        assert_eq!(example.word.chars().count(), 80);
        assert!(
            example.word.starts_with("сун\u{200b}a") && example.after.starts_with(", ё"),
            "{example:?}"
        );
        assert_eq!(example.after.chars().count(), 40);
        assert_eq!(
            &text[example.bytes.start as usize..example.bytes.end as usize],
            format!("сун{long}дуке")
        );
    }
}
