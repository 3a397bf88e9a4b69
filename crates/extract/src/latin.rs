//! Corrects chardetng's guess among the encodings of Latin alphabets.
//!
//! chardetng rates pairs of letters and can be misled by short texts, and it does not know ISO-8859-15 and Mac Roman.
//! But a text is in one language, whose alphabet has few letters beyond ASCII. In the wrong encoding there are
//! letters that do not occur together in any alphabet, and signs inside words.

use encoding_rs::{Encoding, ISO_8859_2, ISO_8859_4, ISO_8859_13, ISO_8859_15, MACINTOSH};
use encoding_rs::{WINDOWS_1250, WINDOWS_1252, WINDOWS_1254, WINDOWS_1257};

/// The non-ASCII letters, one language each: French, Italian, Spanish with Catalan, Portuguese, German, the
/// Scandinavian languages, Icelandic.
const WESTERN: &[&str] = &[
    "àâæçèéêëîïñôöùûüÿœ",
    "àèéìíîòóùú",
    "áéíñóúüïçàèò",
    "àáâãçéêíóôõúü",
    "äöüßéàèê",
    "åäöæøé",
    "áðéíóúýþæö",
];
/// Polish, Czech with Slovak, Hungarian, Croatian with Slovene, Romanian.
const CENTRAL: &[&str] = &[
    "ąćęłńóśźż",
    "áčďéěíňóřšťúůýžľôä",
    "áéíóöőúüű",
    "čćđšž",
    "ăâîşţ",
];
/// Latvian, Lithuanian, Estonian.
const BALTIC: &[&str] = &["āčēģīķļņšūžōŗ", "ąčęėįšųūž", "äöõüšž"];
/// Includes the lower-case form of İ.
const TURKISH: &[&str] = &["çğıi\u{307}öşüâîû"];

/// The encodings, and the alphabets written in them. Among equals, the first wins.
const CANDIDATES: [(&Encoding, &[&str]); 9] = [
    (WINDOWS_1252, WESTERN),
    (ISO_8859_15, WESTERN),
    (WINDOWS_1250, CENTRAL),
    (ISO_8859_2, CENTRAL),
    (WINDOWS_1257, BALTIC),
    (ISO_8859_13, BALTIC),
    (ISO_8859_4, BALTIC),
    (WINDOWS_1254, TURKISH),
    (MACINTOSH, WESTERN),
];

/// In the other languages at least 3 % of the letters are not ASCII: a text with one in this many or fewer is English
/// with a foreign name, or Italian.
const LETTERS_PER_HIGH: u32 = 50;

/// Whether this is an encoding of a Latin alphabet.
pub(super) fn knows(encoding: &'static Encoding) -> bool {
    CANDIDATES
        .iter()
        .any(|(candidate, _)| *candidate == encoding)
}

/// The guess, or an encoding in which far less of the sample is out of place.
pub(super) fn refine(sample: &[u8], guess: &'static Encoding) -> &'static Encoding {
    let bytes = LatinBytes::count(sample);
    let guessed = match CANDIDATES.iter().find(|(encoding, _)| *encoding == guess) {
        Some(candidate) => bytes.misfits(*candidate),
        // Another script, which does not occur next to ASCII letters.
        None if bytes.is_mixed() => bytes.high() / 5 + 1,
        None => return guess,
    };
    let ratings = CANDIDATES
        .iter()
        .map(|candidate| (candidate.0, bytes.misfits(*candidate)));
    match ratings.min_by_key(|(_, misfits)| *misfits) {
        Some((better, misfits)) if misfits * 2 < guessed => better,
        _ if bytes.is_mostly_ascii() && bytes.misfits(CANDIDATES[0]) <= guessed => CANDIDATES[0].0,
        _ => guess,
    }
}

/// How often each byte occurs, and next to what.
struct LatinBytes {
    all: [u32; 256],
    beside_letter: [u32; 256],
    after_small: [u32; 256],
}

impl LatinBytes {
    fn count(sample: &[u8]) -> Self {
        let mut bytes = Self {
            all: [0; 256],
            beside_letter: [0; 256],
            after_small: [0; 256],
        };
        let mut before = b' ';
        for (n, &byte) in sample.iter().enumerate() {
            let after = sample.get(n + 1).copied().unwrap_or(b' ');
            let index = usize::from(byte);
            bytes.all[index] += 1;
            bytes.beside_letter[index] +=
                u32::from(before.is_ascii_alphabetic() || after.is_ascii_alphabetic());
            bytes.after_small[index] += u32::from(before.is_ascii_lowercase());
            before = byte;
        }
        bytes
    }

    /// How many characters are out of place in the alphabet that fits best.
    fn misfits(&self, (encoding, alphabets): (&'static Encoding, &[&str])) -> u32 {
        let high: Vec<u8> = (0x80..=u8::MAX).collect();
        // Each byte is one character in all candidates.
        let (chars, _) = encoding.decode_without_bom_handling(&high);
        let misfits = alphabets.iter().map(|alphabet| {
            let chars = chars.chars().zip(high.iter().copied().map(usize::from));
            chars
                .map(|(char, byte)| self.misfits_of(char, byte, alphabet))
                .sum::<u32>()
        });
        misfits.min().unwrap_or(0)
    }

    fn misfits_of(&self, char: char, byte: usize, alphabet: &str) -> u32 {
        match char {
            // Punctuation. The dashes and quotation marks of Unicode are in General Punctuation.
            '\u{A0}'
            | '¡'
            | '§'
            | 'ª'
            | '«'
            | '°'
            | '·'
            | 'º'
            | '»'
            | '¿'
            | '\u{2000}'..='\u{206F}' => 0,
            _ if char.is_control() => self.all[byte],
            _ if !char.is_alphabetic() => self.beside_letter[byte],
            _ if !char.to_lowercase().all(|small| alphabet.contains(small)) => self.all[byte],
            _ if char.is_uppercase() => self.after_small[byte],
            _ => 0,
        }
    }

    fn high(&self) -> u32 {
        self.all[0x80..].iter().sum()
    }

    /// Whether non-ASCII bytes occur next to ASCII letters.
    fn is_mixed(&self) -> bool {
        self.beside_letter[0x80..].iter().sum::<u32>() * 2 > self.high()
    }

    fn is_mostly_ascii(&self) -> bool {
        let ascii: u32 = (b'A'..=b'z')
            .filter(u8::is_ascii_alphabetic)
            .map(|byte| self.all[usize::from(byte)])
            .sum();
        let high: u32 = self.all[0xC0..].iter().sum();
        high * LETTERS_PER_HIGH <= ascii
    }
}
