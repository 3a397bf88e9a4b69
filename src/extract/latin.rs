//! Two corrections of chardetng's guess among the Latin encodings.

use encoding_rs::{Encoding, ISO_8859_2, ISO_8859_4, ISO_8859_13, ISO_8859_15, WINDOWS_1250, WINDOWS_1252, WINDOWS_1254};
use encoding_rs::{WINDOWS_1257, WINDOWS_1258};

/// What chardetng takes for a text in windows-1252 with few non-ASCII characters, for want of evidence.
const RIVALS: [&Encoding; 7] =
    [WINDOWS_1250, ISO_8859_2, WINDOWS_1254, WINDOWS_1257, WINDOWS_1258, ISO_8859_4, ISO_8859_13];

/// The letters of German, French, Italian, Spanish and Portuguese that are not ASCII.
const WESTERN: &str = "àáâãäæçèéêëìíîïñòóôõöùúûüœß";

/// In the languages of the other encodings at least 3 % of the letters are not ASCII: one in so many or fewer is an
/// English text with a foreign name, or Italian.
const LETTERS_PER_HIGH: usize = 50;

/// The bytes of Š š Ž ž Œ œ Ÿ in ISO-8859-15, which are ¦ ¨ ´ ¸ ¼ ½ ¾ in windows-1252.
const LATIN_9: [u8; 7] = [0xA6, 0xA8, 0xB4, 0xB8, 0xBC, 0xBD, 0xBE];

/// The guess, or a better one.
pub(super) fn refine(sample: &[u8], guess: &'static Encoding) -> &'static Encoding {
    let guess = if RIVALS.contains(&guess) && is_western(sample) { WINDOWS_1252 } else { guess };
    if guess == WINDOWS_1252 && is_latin_9(sample) { ISO_8859_15 } else { guess }
}

/// Has the text few non-ASCII letters, and are they in windows-1252 of the kind and in the places that they have in
/// western languages?
fn is_western(sample: &[u8]) -> bool {
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(sample);
    let mut letters = 0_usize;
    let mut high = 0_usize;
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let beside_letter = before.is_alphabetic() || chars.peek().is_some_and(|next| next.is_alphabetic());
        letters += usize::from(char.is_alphabetic());
        if !char.is_ascii() {
            high += usize::from(char.is_alphabetic());
            let fits = match char {
                // Quotation marks and dashes are the same in all Windows code pages.
                '\u{A0}' | '«' | '»' | '·' | '°' | 'º' | 'ª' | '§' | '¿' | '¡' | '\u{2000}'..='\u{206F}' => true,
                _ if char.is_alphabetic() => char.to_lowercase().all(|small| WESTERN.contains(small)),
                _ => !beside_letter,
            };
            if !fits {
                return false;
            }
        }
        before = char;
    }
    high * LETTERS_PER_HIGH <= letters
}

/// Would signs stand inside words in windows-1252, and are there no bytes 0x80–0x9F, which have no meaning in
/// ISO-8859-15?
fn is_latin_9(sample: &[u8]) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte >= 0xC0;
    let mut inside = 0;
    let mut outside = 0;
    for pair in sample.windows(2) {
        if LATIN_9.contains(&pair[0]) {
            // The letter may be the first of its word ("œil"), and a fraction does not stand before a letter.
            if is_letter(pair[1]) { inside += 1 } else { outside += 1 }
        }
    }
    inside > outside && !sample.iter().any(|byte| (0x80..0xA0).contains(byte))
}
