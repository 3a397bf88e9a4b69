//! What a report says about signs of disguise.

use lapidary_gems::Trick;

use super::page::clean;
use super::words::located;
use lapidary_catalogue::api::{Disguise, DisguisedWord, HiddenText, Report};
use lapidary_extract::Hiding;
use lapidary_language::Language;

/// The sentence on a disguised text: `This text is disguised: 1,204 letters of another script in 38 % of the words`.
pub(super) fn disguise(language: Language, report: &Report) -> Option<String> {
    let signs = report.disguise.as_ref().filter(|signs| signs.disguised)?;
    let tricks: Vec<String> = Trick::ALL
        .into_iter()
        .filter_map(|trick| Some(said(language, trick, number(signs, trick)?)))
        .collect();
    Some(language.disguised(&language.list(&tricks), &language.percent(signs.share)))
}

/// The sentence on words that readers do not see: `1,530 words (61 %) of this file are hidden from its readers: 1,500 …`.
pub(super) fn hidden(language: Language, report: &Report) -> Option<String> {
    Some(hidden_words(
        language,
        report.disguise.as_ref()?.hidden.as_ref()?,
    ))
}

/// What is said of the words of a file that its readers do not see.
#[must_use]
pub fn hidden_words(language: Language, hidden: &HiddenText) -> String {
    let ways: Vec<String> = hidden
        .methods
        .iter()
        .map(|way| language.hidden_way(&name_of(language, way.method), way.words))
        .collect();
    language.hidden_words(
        hidden.words,
        &language.percent(hidden.share),
        &language.list(&ways),
    )
}

fn name_of(language: Language, how: Hiding) -> String {
    match how {
        Hiding::HiddenAttribute => language.hidden_attribute(),
        Hiding::DisplayNone => language.hidden_not_displayed(),
        Hiding::InvisibleRendering => language.hidden_invisible(),
        Hiding::Transparent => language.hidden_transparent(),
        Hiding::SameColour => language.hidden_same_colour(),
        Hiding::Tiny => language.hidden_tiny(),
        Hiding::Clipped => language.hidden_clipped(),
        Hiding::OffPage => language.hidden_off_page(),
        Hiding::Covered => language.hidden_covered(),
        Hiding::HiddenLayer => language.hidden_layer(),
        Hiding::Deleted => language.hidden_deleted(),
        Hiding::RejectedInsertion => language.hidden_rejected(),
    }
}

/// The examples of a disguised text, in context, with everything invisible made visible.
pub(super) fn examples(language: Language, report: &Report) -> impl Iterator<Item = String> {
    let signs = report.disguise.iter().filter(|signs| signs.disguised);
    signs.flat_map(|signs| &signs.examples).map(move |example| {
        let DisguisedWord {
            trick,
            bytes,
            position: at,
            before,
            after,
            ..
        } = example;
        let place = match at {
            Some(at) => located(language, at),
            None => language.place_bytes(bytes.start, bytes.end),
        };
        let context = format!("…{}{}{}…", clean(before), visible(example), clean(after));
        language.disguised_word(&name(language, *trick), &place, &context)
    })
}

fn number(signs: &Disguise, trick: Trick) -> Option<u64> {
    let number = match trick {
        Trick::Invisible => signs.invisible,
        Trick::LookAlikes => signs.look_alikes,
        Trick::Marks => signs.marks,
        Trick::LetterSpaced => signs.letter_spaced,
        Trick::Digits => signs.digits,
        Trick::Hyphens => signs.hyphens,
        Trick::Markup => signs.markup,
        Trick::Misspelled => signs.misspelled,
    };
    (number > 0).then_some(number)
}

fn said(language: Language, trick: Trick, number: u64) -> String {
    match trick {
        Trick::Invisible => language.invisible(number),
        Trick::LookAlikes => language.look_alikes(number),
        Trick::Marks => language.marks(number),
        Trick::LetterSpaced => language.letter_spaced(number),
        Trick::Digits => language.digits(number),
        Trick::Hyphens => language.hyphens(number),
        Trick::Markup => language.markup(number),
        Trick::Misspelled => language.misspelled(number),
    }
}

fn name(language: Language, trick: Trick) -> String {
    match trick {
        Trick::Invisible => language.trick_invisible(),
        Trick::LookAlikes => language.trick_look_alikes(),
        Trick::Marks => language.trick_marks(),
        Trick::LetterSpaced => language.trick_letter_spaced(),
        Trick::Digits => language.trick_digits(),
        Trick::Hyphens => language.trick_hyphens(),
        Trick::Markup => language.trick_markup(),
        Trick::Misspelled => language.trick_misspelled(),
    }
}

/// The word with what is hard to see: `tre[U+200B]asure`, `tr[е=U+0435]asure`.
fn visible(example: &DisguisedWord) -> String {
    let (mut letters, mut latin) = (0, 0);
    for c in example.word.chars().filter(|c| c.is_alphabetic()) {
        letters += 1;
        latin += usize::from(is_latin(c));
    }
    let mostly_latin = 2 * latin >= letters;
    let characters = example.word.chars();
    characters
        .map(|c| visible_character(example.trick, c, mostly_latin))
        .collect()
}

fn visible_character(trick: Trick, c: char, mostly_latin: bool) -> String {
    let is_seen = clean(c.encode_utf8(&mut [0; 4])) == c.to_string();
    let is_mark = !(c.is_alphanumeric() || c.is_ascii());
    let code = u32::from(c);
    if c.is_whitespace() {
        " ".to_owned()
    } else if !is_seen || is_joiner(c) || trick == Trick::Marks && is_mark {
        format!("[U+{code:04X}]")
    } else if trick == Trick::LookAlikes && c.is_alphabetic() && is_latin(c) != mostly_latin {
        format!("[{c}=U+{code:04X}]")
    } else {
        c.to_string()
    }
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || ('\u{c0}'..'\u{250}').contains(&c)
}

/// Invisible characters that are harmless on a terminal.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(
            c,
            '\u{200c}' | '\u{200d}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}'
        )
}
