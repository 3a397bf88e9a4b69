//! What a character means to the search for signs of disguise.

use std::sync::LazyLock;

use icu_properties::CodePointMapData;
use icu_properties::props::Script;

use crate::hardened::readings::{ReadingKind, Readings};

/// The class of a character: its kind in the table of `hardened`, and whatever else tells the ordinary from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CharacterClass {
    /// Ends a word.
    End,
    Latin,
    Cyrillic,
    Greek,
    /// A letter or mark of any other alphabet.
    Foreign,
    /// A symbol used as a Latin letter: full-width, mathematical, circled, small capital, superscript, of a flag, or turned.
    Styled,
    /// Is a word by itself.
    Sign,
    Digit,
    Hyphen,
    Blank,
    /// A blank that is hardly seen.
    ThinBlank,
    Line,
    Mark,
    Invisible,
    SoftHyphen,
    /// Changes the direction of writing of the letters after it.
    Override,
}

impl CharacterClass {
    #[inline]
    pub(super) fn of(c: char) -> Self {
        /// The classes of all characters below the surrogates, which are none.
        static USUAL: LazyLock<Vec<CharacterClass>> =
            LazyLock::new(|| ('\0'..='\u{d7ff}').map(CharacterClass::looked_up).collect());
        USUAL
            .get(c as usize)
            .copied()
            .unwrap_or_else(|| Self::looked_up(c))
    }

    fn looked_up(c: char) -> Self {
        match Readings::get().of(c).kind() {
            ReadingKind::Digit if c.is_ascii() => Self::Digit,
            // Other digits are signs of footnotes, fractions and the like.
            ReadingKind::End | ReadingKind::Joint | ReadingKind::Digit => Self::End,
            ReadingKind::Sign => Self::Sign,
            ReadingKind::Hyphen => Self::Hyphen,
            ReadingKind::Blank if is_thin(c) => Self::ThinBlank,
            ReadingKind::Blank => Self::Blank,
            ReadingKind::Line => Self::Line,
            ReadingKind::Letter if is_styled(c) => Self::Styled,
            ReadingKind::Letter => match script(c) {
                Script::Latin => Self::Latin,
                Script::Cyrillic => Self::Cyrillic,
                Script::Greek => Self::Greek,
                Script::Common | Script::Inherited => Self::End,
                _ => Self::Foreign,
            },
            ReadingKind::Ignored => match c {
                '\u{ad}' => Self::SoftHyphen,
                '\u{202d}' | '\u{202e}' => Self::Override,
                _ if is_invisible(c) => Self::Invisible,
                // Also controls, and characters without a meaning of their own.
                _ if !is_mark(c) => Self::End,
                _ => match script(c) {
                    Script::Inherited
                    | Script::Common
                    | Script::Latin
                    | Script::Cyrillic
                    | Script::Greek => Self::Mark,
                    _ => Self::Foreign,
                },
            },
        }
    }

    /// Whether it is a letter of a script that is written without joiners.
    pub(super) fn is_plain_letter(self) -> bool {
        matches!(
            self,
            Self::Latin | Self::Cyrillic | Self::Greek | Self::Styled
        )
    }

    pub(super) fn is_letter(self) -> bool {
        self.is_plain_letter() || self == Self::Foreign
    }

    /// Whether it can continue a word without being a letter of it.
    pub(super) fn is_within(self) -> bool {
        matches!(
            self,
            Self::Mark | Self::Invisible | Self::SoftHyphen | Self::Override
        )
    }
}

fn script(c: char) -> Script {
    CodePointMapData::<Script>::new().get(c)
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

fn is_invisible(c: char) -> bool {
    use icu_properties::CodePointSetData;
    use icu_properties::props::DefaultIgnorableCodePoint;
    CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

fn is_thin(c: char) -> bool {
    matches!(c, '\u{2005}'..='\u{2006}' | '\u{2008}'..='\u{200a}' | '\u{202f}' | '\u{205f}')
}

/// Not the superscript letters of phonetics.
fn is_styled(c: char) -> bool {
    matches!(
        c,
        '\u{ff21}'..='\u{ff3a}'
            | '\u{ff41}'..='\u{ff5a}'
            | '\u{1d400}'..='\u{1d7cb}'
            | '\u{2100}'..='\u{214f}'
            | '\u{249c}'..='\u{24e9}'
            | '\u{1f110}'..='\u{1f189}'
            | '\u{1d00}'..='\u{1d22}'
            | '\u{1d2c}'..='\u{1d6a}'
            | '\u{2090}'..='\u{209c}'
    ) || is_of_flag(c)
        || is_turned(c)
}

/// Two of these make the flag of a country.
pub(super) fn is_of_flag(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Letters that stand on their heads, some of which are also letters of phonetics.
pub(super) fn is_turned(c: char) -> bool {
    matches!(c, 'ɐ' | 'ɟ' | 'ɥ' | 'ᴉ' | 'ʞ' | 'ɯ' | 'ɹ' | 'ʇ' | 'ʍ' | 'ʎ')
}
