//! The letter tables of the two exact recipes: simplified letters, letter classes, transliteration.

use std::sync::{LazyLock, OnceLock};

use deunicode::deunicode_char;
use hashbrown::HashMap;

use super::plain::Plain;
use crate::base::Base;

/// Greater than the last code point in `simplify.txt` and `soundex.txt`.
const LETTERS: usize = 0x2000;
/// Greater than the last code point that the reference transliterates; higher ones become [`BEYOND`].
const TRANSLITERATED: u32 = 0x1_0000;
const BEYOND: &str = "[] ";
/// How many characters a [`LetterPage`] has.
const PAGE: u32 = 0x100;

/// How a recipe maps single characters.
pub(super) struct LetterTables {
    simplified: Vec<char>,
    classes: Vec<LetterClass>,
    base: Base,
    /// Where the reference transliterates otherwise than `deunicode`.
    differing: OnceLock<HashMap<char, String>>,
    /// Those of the characters below [`TRANSLITERATED`], made when needed: few texts have characters of many pages.
    pages: Vec<OnceLock<LetterPage>>,
    plain: OnceLock<Plain>,
}

/// The concatenated ASCII forms of [`PAGE`] characters, and the end of each.
struct LetterPage(String, Vec<usize>);

/// What a letter maps to when letters become classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LetterClass {
    /// Vowels and similar letters: deleted.
    Deleted,
    /// The digit of its class.
    Digit(char),
    /// Not a letter of the table: kept.
    Kept,
}

impl LetterTables {
    pub(super) fn of(base: Base) -> &'static Self {
        static DOCUMENTED: LazyLock<LetterTables> =
            LazyLock::new(|| LetterTables::read(Base::Documented));
        static RELEASED: LazyLock<LetterTables> =
            LazyLock::new(|| LetterTables::read(Base::Released));
        match base {
            Base::Documented => &DOCUMENTED,
            Base::Released => &RELEASED,
        }
    }

    fn read(base: Base) -> Self {
        let mut simplified: Vec<char> = (0..LETTERS as u32).filter_map(char::from_u32).collect();
        for (c, value) in rows(include_str!("../../data/simplify.txt"), base) {
            if let Some(simple) = u32::from_str_radix(value, 16).ok().and_then(char::from_u32) {
                simplified[c as usize] = simple;
            }
        }
        let mut classes = vec![LetterClass::Kept; LETTERS];
        for (c, value) in rows(include_str!("../../data/soundex.txt"), base) {
            classes[c as usize] = value
                .chars()
                .next()
                .filter(|&d| d != '-')
                .map_or(LetterClass::Deleted, LetterClass::Digit);
        }
        let pages = (0..TRANSLITERATED / PAGE)
            .map(|_| OnceLock::new())
            .collect();
        Self {
            base,
            simplified,
            classes,
            differing: OnceLock::new(),
            pages,
            plain: OnceLock::new(),
        }
    }

    /// The tables of the fast path.
    pub(super) fn plain(&self) -> &Plain {
        self.plain.get_or_init(|| Plain::new(self))
    }

    /// Step 4: the simple form of a letter.
    pub(super) fn simplify(&self, c: char) -> char {
        self.simplified.get(c as usize).copied().unwrap_or(c)
    }

    /// Step 6: whether six of these make a short word.
    pub(super) fn is_of_six(&self, c: char) -> bool {
        match self.base {
            Base::Documented => matches!(c, 'а'..='я'),
            // The bytes of `[а-я]` in UTF-8, each interpreted as a character.
            Base::Released => matches!(c, '\u{8f}' | '\u{b0}'..='\u{d1}'),
        }
    }

    /// Step 9: the class of a letter.
    pub(super) fn class(&self, c: char) -> LetterClass {
        self.classes
            .get(c as usize)
            .copied()
            .unwrap_or(LetterClass::Kept)
    }

    /// Step 10: the transliteration of a lower-case character whose letters have become classes.
    pub(super) fn transliterate(&self, c: char) -> &str {
        let (page, at) = (u32::from(c) / PAGE, (u32::from(c) % PAGE) as usize);
        let Some(of_page) = self.pages.get(page as usize) else {
            return BEYOND;
        };
        let LetterPage(text, ends) = of_page.get_or_init(|| self.page(page * PAGE));
        let start = at.checked_sub(1).map_or(0, |before| ends[before]);
        &text[start..ends[at]]
    }

    /// The page that starts with a code point.
    fn page(&self, first: u32) -> LetterPage {
        let differing = self.differing.get_or_init(|| {
            let rows = rows(include_str!("../../data/translit.txt"), self.base);
            rows.filter_map(|(c, json)| Some((c, serde_json::from_str(json).ok()?)))
                .collect()
        });
        let mut text = String::new();
        let mut ends = Vec::with_capacity(PAGE as usize);
        for code in first..first + PAGE {
            if let Some(c) = char::from_u32(code) {
                if let Some(value) = differing.get(&c) {
                    text.push_str(value);
                } else {
                    for c in deunicode_char(c).unwrap_or_default().to_lowercase().chars() {
                        match self.class(c) {
                            LetterClass::Deleted => {}
                            LetterClass::Digit(digit) => text.push(digit),
                            LetterClass::Kept => text.push(c),
                        }
                    }
                }
            }
            ends.push(text.len());
        }
        LetterPage(text, ends)
    }
}

/// The rows of a table that apply to this recipe: character and value.
fn rows(table: &'static str, base: Base) -> impl Iterator<Item = (char, &'static str)> {
    let column = match base {
        Base::Documented => 1,
        Base::Released => 2,
    };
    table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(move |line| {
            let code = u32::from_str_radix(line.split('\t').next()?, 16).ok()?;
            let value = line.split('\t').nth(column).filter(|&v| v != "=")?;
            Some((char::from_u32(code)?, value))
        })
}
