//! What each character is to a word. Characters newer than Unicode 14 never get here: see `text`.

use std::sync::LazyLock;

use icu_properties::props::{
    DefaultIgnorableCodePoint, GeneralCategory as Category, GeneralCategoryGroup as Group,
};
use icu_properties::{CodePointMapData, CodePointSetData};

/// A character, lower-cased and simplified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordCharacter {
    Letter(char),
    Number(char),
    Mark(char),
    /// A letter or number of a script without blanks: a word of its own.
    Word(char),
    Apostrophe,
    /// Nothing, not even between letters.
    Nothing,
    /// What cannot be in a word.
    Blank,
}

/// Scripts without blanks between words.
const EACH_A_WORD: [(char, char); 6] = [
    ('\u{3040}', '\u{30ff}'),
    ('\u{31f0}', '\u{31ff}'),
    ('\u{3400}', '\u{4dbf}'),
    ('\u{4e00}', '\u{9fff}'),
    ('\u{f900}', '\u{faff}'),
    ('\u{20000}', '\u{3ffff}'),
];

fn is_each_a_word(c: char) -> bool {
    EACH_A_WORD
        .iter()
        .any(|(first, last)| (*first..=*last).contains(&c))
}

fn category(c: char) -> Category {
    CodePointMapData::<Category>::new().get(c)
}

pub(super) fn is_letter(c: char) -> bool {
    Group::Letter.contains(category(c))
}

pub(super) fn is_letter_or_number(c: char) -> bool {
    let category = category(c);
    Group::Letter.contains(category) || Group::Number.contains(category)
}

/// A letter, number or mark.
pub(super) fn is_of_word(c: char) -> bool {
    is_letter_or_number(c) || Group::Mark.contains(category(c))
}

pub(super) fn is_lower_case(c: char) -> bool {
    category(c) == Category::LowercaseLetter
}

/// Format characters and others that nothing shows of.
pub(crate) fn is_invisible(c: char) -> bool {
    // The soft hyphen is the first.
    c >= '\u{ad}' && (category(c) == Category::Format || is_ignorable(c))
}

/// What programs show nothing for even if they do not know it.
pub(super) fn is_ignorable(c: char) -> bool {
    CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

/// A character as part of a word.
pub(super) fn folded(c: char) -> WordCharacter {
    /// Up to the first script whose characters are words.
    const MOST: usize = 0x3000;
    static TABLE: LazyLock<Vec<WordCharacter>> = LazyLock::new(|| {
        (0..MOST as u32)
            .map(|c| char::from_u32(c).map_or(WordCharacter::Blank, computed))
            .collect()
    });
    TABLE
        .get(c as usize)
        .copied()
        .unwrap_or_else(|| computed(c))
}

fn computed(c: char) -> WordCharacter {
    if matches!(c, '\'' | '`' | '\u{2018}' | '\u{2019}' | '\u{2bc}') {
        return WordCharacter::Apostrophe;
    }
    // Only the dotted capital I becomes more than one character, and its dot is deleted.
    let lower = c
        .to_lowercase()
        .find(|c| !('\u{300}'..='\u{36f}').contains(c));
    let Some(lower) = lower else {
        return WordCharacter::Nothing;
    };
    let simple = match lower {
        'ς' => 'σ',
        'ё' => 'е',
        other => other,
    };
    let category = category(simple);
    if Group::Mark.contains(category) {
        WordCharacter::Mark(simple)
    } else if !is_letter_or_number(simple) {
        WordCharacter::Blank
    } else if is_each_a_word(simple) {
        WordCharacter::Word(simple)
    } else if Group::Letter.contains(category) {
        WordCharacter::Letter(simple)
    } else {
        WordCharacter::Number(simple)
    }
}
