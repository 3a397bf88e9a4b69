//! Distinguishes the single-byte Cyrillic encodings from each other and from all other encodings.
//!
//! The approach is that of Mozilla's detectors (Li and Momoi, "A composite approach to language/encoding detection",
//! 2001): decode the bytes in each encoding and choose the one whose result looks most like a language. Here a
//! reading is rated by the likelihood of its letters, and of the positions of capitals and signs: wrong readings have
//! rare letters, capitals and signs inside words, and Latin letters among Cyrillic ones. The frequencies are rounded
//! percentages for each language from handbooks of cryptography and linguistics. More precision is not needed,
//! because another encoding misplaces nearly all letters.
//!
//! chardetng alone is not enough: it knows neither Mac Cyrillic nor cp855, and mistakes them for other encodings.

use std::sync::LazyLock;

use super::encoding::Encoding;
use super::latin;

/// Percentages of the letters in Russian, Ukrainian and Serbian, most frequent first.
const LANGUAGES: [&[(char, f32)]; 3] = [
    &[
        ('о', 11.0),
        ('е', 8.5),
        ('а', 8.0),
        ('и', 7.4),
        ('н', 6.7),
        ('т', 6.3),
        ('с', 5.5),
        ('р', 4.7),
        ('в', 4.5),
        ('л', 4.4),
        ('к', 3.5),
        ('м', 3.2),
        ('д', 3.0),
        ('п', 2.8),
        ('у', 2.6),
        ('я', 2.0),
        ('ы', 1.9),
        ('ь', 1.7),
        ('г', 1.7),
        ('з', 1.7),
        ('б', 1.6),
        ('ч', 1.4),
        ('й', 1.2),
        ('х', 1.0),
        ('ж', 0.9),
        ('ш', 0.7),
        ('ю', 0.6),
        ('ц', 0.5),
        ('щ', 0.4),
        ('э', 0.3),
        ('ф', 0.3),
        ('ъ', 0.3),
        ('ё', 0.2),
    ],
    &[
        ('о', 9.4),
        ('а', 8.2),
        ('н', 6.7),
        ('и', 6.1),
        ('і', 5.7),
        ('т', 5.5),
        ('в', 5.2),
        ('р', 4.7),
        ('е', 4.6),
        ('с', 4.1),
        ('л', 3.6),
        ('к', 3.5),
        ('у', 3.3),
        ('д', 3.1),
        ('м', 3.0),
        ('п', 2.9),
        ('я', 2.2),
        ('з', 2.1),
        ('ь', 1.8),
        ('б', 1.7),
        ('г', 1.6),
        ('ч', 1.4),
        ('й', 1.3),
        ('х', 1.2),
        ('ц', 0.9),
        ('ж', 0.9),
        ('ї', 0.7),
        ('ю', 0.7),
        ('ш', 0.8),
        ('щ', 0.5),
        ('є', 0.5),
        ('ф', 0.3),
        ('ґ', 0.1),
    ],
    &[
        ('а', 11.5),
        ('и', 9.8),
        ('о', 9.0),
        ('е', 8.8),
        ('н', 5.5),
        ('р', 5.0),
        ('с', 4.8),
        ('т', 4.5),
        ('ј', 4.3),
        ('у', 4.3),
        ('д', 3.8),
        ('в', 3.7),
        ('к', 3.6),
        ('л', 3.4),
        ('м', 3.4),
        ('п', 2.9),
        ('з', 1.8),
        ('г', 1.7),
        ('б', 1.5),
        ('ш', 1.1),
        ('ч', 1.0),
        ('ц', 0.9),
        ('ж', 0.7),
        ('њ', 0.6),
        ('х', 0.6),
        ('ћ', 0.6),
        ('љ', 0.5),
        ('ђ', 0.3),
        ('ф', 0.2),
        ('џ', 0.1),
    ],
];

/// Percentages of characters in no language's table: another Cyrillic letter, typographic punctuation, any other character.
const OTHER_LETTER: f32 = 0.02;
const DASH: f32 = 1.2;
const QUOTE: f32 = 0.7;
const PUNCTUATION: f32 = 0.2;
const SIGN: f32 = 0.01;

/// The non-ASCII punctuation of books.
const PUNCTUATION_MARKS: &str = "\u{A0}«»„“”‘’–…№§·•";

/// A text is Cyrillic if it costs fewer bits per character than this: Russian, Ukrainian and Serbian need about 4.8,
/// Belarusian and Macedonian 5.7. The threshold depends on chardetng's guess. If the guess is a Cyrillic encoding,
/// the only question is which one …
const AFTER_CYRILLIC: f32 = 7.5;
/// … Latin is its guess for encodings that it does not know …
const AFTER_LATIN: f32 = 5.9;
/// … and it is seldom wrong about other scripts: Hebrew coincides with the lower-case letters of windows-1251, and
/// costs 5.5.
const AFTER_OTHERS: f32 = 5.2;

/// A Cyrillic text has words: fewer adjacent letters than this are not evidence.
const FEWEST_NEIGHBOURS: u32 = 2;

/// The kind of a byte's character in an encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterKind {
    /// ASCII except letters.
    Blank,
    Latin,
    Small,
    Capital,
    Dash,
    Punctuation,
    Sign,
}

/// An encoding, prepared for rating.
struct RatedEncoding {
    encoding: Encoding,
    rarity: f32,
    kinds: [CharacterKind; 256],
    /// The cost of each byte in each language, in bits.
    bits: [[f32; 256]; LANGUAGES.len()],
}

/// How a sample looks in an encoding.
struct Rating {
    encoding: Encoding,
    /// The average over the non-ASCII characters.
    bits: f32,
    /// How often a Cyrillic letter follows another.
    neighbours: u32,
}

/// The encodings, and how much rarer than the first each is, in bits. Of those that rate a sample equally, the first
/// is chosen.
static READINGS: LazyLock<Vec<RatedEncoding>> = LazyLock::new(|| {
    let encodings = [
        (Encoding::web(encoding_rs::WINDOWS_1251), 0.0),
        (Encoding::web(encoding_rs::KOI8_R), 2.0),
        (Encoding::web(encoding_rs::KOI8_U), 2.0),
        (Encoding::web(encoding_rs::IBM866), 2.0),
        (Encoding::web(encoding_rs::X_MAC_CYRILLIC), 3.0),
        (Encoding::web(encoding_rs::ISO_8859_5), 3.0),
        (Encoding::CP855, 3.0),
    ];
    encodings
        .into_iter()
        .map(|(encoding, rarity)| RatedEncoding::new(encoding, rarity))
        .collect()
});

/// The Cyrillic encoding of the sample, if it has one; `guess` is chardetng's.
pub(super) fn detect(sample: &[u8], guess: &'static encoding_rs::Encoding) -> Option<Encoding> {
    let ratings = READINGS.iter().filter_map(|reading| reading.rate(sample));
    let best = ratings.reduce(|best, other| if other.bits < best.bits { other } else { best })?;
    let limit = if READINGS
        .iter()
        .any(|reading| reading.encoding == Encoding::web(guess))
    {
        AFTER_CYRILLIC
    } else if latin::knows(guess) {
        AFTER_LATIN
    } else {
        AFTER_OTHERS
    };
    (best.bits < limit && best.neighbours >= FEWEST_NEIGHBOURS).then_some(best.encoding)
}

impl RatedEncoding {
    fn new(encoding: Encoding, rarity: f32) -> Self {
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        // Each of these encodings maps each byte to one character.
        let text = encoding.decode_lossy(bytes);
        let mut kinds = [CharacterKind::Blank; 256];
        let mut bits = [[0.0; 256]; LANGUAGES.len()];
        for (byte, char) in text.chars().enumerate().take(256) {
            kinds[byte] = kind(char);
            if !char.is_ascii() {
                for (bits, letters) in bits.iter_mut().zip(LANGUAGES) {
                    bits[byte] = -(percent(char, letters) / 100.0).log2();
                }
            }
        }
        Self {
            encoding,
            rarity,
            kinds,
            bits,
        }
    }

    /// `None` if the sample is ASCII.
    fn rate(&self, sample: &[u8]) -> Option<Rating> {
        let mut counts = [0_u32; 256];
        let mut places = 0.0;
        let mut neighbours = 0;
        let mut before = CharacterKind::Blank;
        for &byte in sample {
            let kind = self.kinds[usize::from(byte)];
            counts[usize::from(byte)] += 1;
            places += place_bits(before, kind);
            neighbours += u32::from(is_cyrillic(before) && is_cyrillic(kind));
            before = kind;
        }
        let high: u32 = counts[0x80..].iter().sum();
        let letters = self.bits.iter().map(|bits| {
            let counted = counts.iter().zip(bits);
            counted
                .map(|(&count, bits)| count as f32 * bits)
                .sum::<f32>()
        });
        let letters = letters.reduce(f32::min)?;
        let bits = (self.rarity + places + letters) / high as f32;
        (high > 0).then_some(Rating {
            encoding: self.encoding,
            bits,
            neighbours,
        })
    }
}

fn is_cyrillic(kind: CharacterKind) -> bool {
    matches!(kind, CharacterKind::Small | CharacterKind::Capital)
}

fn kind(char: char) -> CharacterKind {
    match char {
        'A'..='Z' | 'a'..='z' => CharacterKind::Latin,
        '\0'..='\x7F' => CharacterKind::Blank,
        '\u{400}'..='\u{4FF}' if char.is_lowercase() => CharacterKind::Small,
        '\u{400}'..='\u{4FF}' => CharacterKind::Capital,
        '—' => CharacterKind::Dash,
        _ if PUNCTUATION_MARKS.contains(char) => CharacterKind::Punctuation,
        _ => CharacterKind::Sign,
    }
}

fn percent(char: char, letters: &[(char, f32)]) -> f32 {
    match kind(char) {
        CharacterKind::Small | CharacterKind::Capital => {
            let small = char.to_lowercase().next();
            letters
                .iter()
                .find(|(letter, _)| Some(*letter) == small)
                .map_or(OTHER_LETTER, |(_, percent)| *percent)
        }
        CharacterKind::Dash => DASH,
        CharacterKind::Punctuation if matches!(char, '«' | '»') => QUOTE,
        CharacterKind::Punctuation => PUNCTUATION,
        _ => SIGN,
    }
}

/// The cost of a character's position in bits: how rarely it follows one of the preceding kind, beyond its own rarity.
fn place_bits(before: CharacterKind, kind: CharacterKind) -> f32 {
    match (before, kind) {
        (CharacterKind::Small, CharacterKind::Capital) => 9.0,
        (CharacterKind::Latin, CharacterKind::Small | CharacterKind::Capital)
        | (CharacterKind::Small | CharacterKind::Capital, CharacterKind::Latin) => 6.0,
        // A text in capitals must not cost much more than one in lower case.
        (CharacterKind::Capital, CharacterKind::Capital) => 0.5,
        // A dash stands between words, and the byte of a Mac Cyrillic dash is С in windows-1251.
        (
            CharacterKind::Small | CharacterKind::Capital,
            CharacterKind::Sign | CharacterKind::Dash,
        )
        | (CharacterKind::Sign | CharacterKind::Dash, CharacterKind::Small)
        | (_, CharacterKind::Capital) => 3.0,
        _ => 0.0,
    }
}
