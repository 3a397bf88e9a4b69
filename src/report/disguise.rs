//! The wording of signs of disguise.

use lapidary_gems::Trick;

use super::page::clean;
use super::words::percent;
use crate::api::{Disguise, DisguisedWord, Report};
use crate::count::{count, grouped};

/// The sentence on a disguised text: `This text is disguised: 1,204 letters of another script in 38 % of the words`.
pub(super) fn disguise(report: &Report) -> Option<String> {
    let signs = report.disguise.as_ref().filter(|signs| signs.disguised)?;
    let found: Vec<String> =
        Trick::ALL.into_iter().filter_map(|trick| Some(said(trick, number(signs, trick)?))).collect();
    let found = match &found[..] {
        [several @ .., last] if !several.is_empty() => format!("{} and {last}", several.join(", ")),
        _ => found.concat(),
    };
    Some(format!("This text is disguised: {found} in {} of the words", percent(signs.share)))
}

/// The examples of a disguised text, in context, with everything invisible made visible.
pub(super) fn examples(report: &Report) -> impl Iterator<Item = String> {
    let signs = report.disguise.iter().filter(|signs| signs.disguised);
    signs.flat_map(|signs| &signs.examples).map(|example| {
        let DisguisedWord { trick, bytes, before, after, .. } = example;
        let word = visible(example);
        let (start, end) = (grouped(bytes.start), grouped(bytes.end));
        let (before, after) = (clean(before), clean(after));
        format!("{}, bytes {start} to {end}: …{before}{word}{after}…", name(*trick))
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
    };
    (number > 0).then_some(number)
}

fn said(trick: Trick, number: u64) -> String {
    match trick {
        Trick::Invisible => count(number, "invisible character", "invisible characters"),
        Trick::LookAlikes => count(number, "letter of another script", "letters of another script"),
        Trick::Marks => count(number, "combining mark", "combining marks"),
        Trick::LetterSpaced => count(number, "letter-spaced word", "letter-spaced words"),
        Trick::Digits => count(number, "digit for a letter", "digits for letters"),
        Trick::Hyphens => count(number, "hyphen inside a word", "hyphens inside words"),
    }
}

fn name(trick: Trick) -> &'static str {
    match trick {
        Trick::Invisible => "invisible characters",
        Trick::LookAlikes => "letters of another script",
        Trick::Marks => "combining marks",
        Trick::LetterSpaced => "letter-spacing",
        Trick::Digits => "digits for letters",
        Trick::Hyphens => "hyphens inside words",
    }
}

/// The word with what is hard to see: `tre[U+200B]asure`, `tr[е=U+0435]asure`.
fn visible(example: &DisguisedWord) -> String {
    let code = |c: char| format!("U+{:04X}", u32::from(c));
    let is_latin = |c: &char| c.is_ascii_alphabetic() || ('\u{c0}'..'\u{250}').contains(c);
    let letters = || example.word.chars().filter(|c| c.is_alphabetic());
    let mostly_latin = 2 * letters().filter(is_latin).count() >= letters().count();
    let shown = |c: char| {
        let is_seen = clean(c.encode_utf8(&mut [0; 4])) == c.to_string();
        if c.is_whitespace() {
            " ".to_owned()
        } else if !is_seen || is_joiner(c) || example.trick == Trick::Marks && !(c.is_alphanumeric() || c.is_ascii()) {
            format!("[{}]", code(c))
        } else if example.trick == Trick::LookAlikes && c.is_alphabetic() && is_latin(&c) != mostly_latin {
            format!("[{c}={}]", code(c))
        } else {
            c.to_string()
        }
    };
    example.word.chars().map(shown).collect()
}

/// Invisible characters that are harmless on a terminal.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(c, '\u{200c}' | '\u{200d}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}')
}
