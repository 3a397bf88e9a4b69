//! A closer look at a single word: what in it is a trick, and what is ordinary.

use unicode_normalization::char::{compose, decompose_canonical};

use super::characters::{CharacterClass, is_of_flag, is_turned};

/// The fewest letters of a word with letters of two scripts, or with styled letters. Units of measurement (`kΩ`) and
/// formulas have fewer.
const LETTERS: u64 = 3;
/// The fewest parts of a single letter, one after the other, that make a word spelled out. Hyphenated words have fewer.
const PARTS: u32 = 3;
/// The fewest letters of a word that may all have accents.
const ACCENTED: u64 = 4;
/// The most letters with marks of Church Slavonic in a word.
const SLAVONIC: u64 = 3;
/// The most consecutive digits that can stand for letters.
const DIGITS: u64 = 3;
/// The most blanks and line ends after a hyphen that belong to the word.
const GAP: usize = 100;

/// What was found in a word, from its first character to its last.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct SuspectWord {
    pub(super) end: usize,
    /// The number of runs of letters that it consists of.
    pub(super) runs: u64,
    pub(super) invisible: u64,
    /// Thin blanks between small letters.
    pub(super) thin: u64,
    pub(super) look_alikes: u64,
    pub(super) marks: u64,
    pub(super) digits: u64,
    pub(super) hyphens: u64,
    /// Whether each of its parts is a single letter, so that the hyphens are not of a compound.
    pub(super) is_spelled: bool,
}

/// Whether a word has characters of this class, besides hyphens.
fn is_part(class: CharacterClass) -> bool {
    class.is_letter() || class.is_within() || class == CharacterClass::Digit
}

/// The start of the word that contains or precedes `at`, not before `from`.
pub(super) fn start_of_word(text: &str, from: usize, at: usize) -> usize {
    let before = text[from..at].char_indices().rev();
    before
        .take_while(|(_, c)| is_part(CharacterClass::of(*c)))
        .last()
        .map_or(at, |(start, _)| from + start)
}

/// Reads the word that starts here.
pub(super) fn read(text: &str, start: usize) -> SuspectWord {
    let mut reader = WordReader::default();
    let mut characters = text[start..]
        .char_indices()
        .map(|(at, c)| (start + at, c))
        .peekable();
    while let Some((at, c)) = characters.next() {
        let class = CharacterClass::of(c);
        match class {
            _ if class.is_letter() => reader.letter(class, c),
            CharacterClass::Digit => reader.digit(c),
            CharacterClass::Mark => reader.mark(c),
            CharacterClass::Invisible => reader.invisible(c),
            CharacterClass::Override => reader.word.invisible += 1,
            CharacterClass::SoftHyphen => reader.soft.separator(),
            CharacterClass::ThinBlank if is_inside_word(text, at) => reader.thin_blank(),
            CharacterClass::Hyphen if reader.last.is_some() && reader.digits == 0 => {
                let Some(gap) = gap(&text[at + c.len_utf8()..]) else {
                    break;
                };
                reader.hyphen();
                for _ in 0..gap {
                    characters.next();
                }
            }
            _ => break,
        }
        reader.word.end = at + c.len_utf8();
    }
    reader.word.end = reader.word.end.max(start);
    reader.finish()
}

/// Whether a blank at this position is inside a word: behind several letters, and before several small ones.
pub(super) fn is_inside_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().rev().take_while(|c| c.is_alphabetic());
    let behind = text[at..].chars().skip(1).take_while(|c| c.is_lowercase());
    before.take(2).count() == 2 && behind.take(2).count() == 2
}

/// How many blanks and line ends are between a hyphen and the rest of the word; `None` if this is no part of a word.
fn gap(behind: &str) -> Option<usize> {
    let classes = behind.chars().take(GAP).map(CharacterClass::of);
    let (at, class) = classes.enumerate().find(|(_, class)| {
        !matches!(
            class,
            CharacterClass::Blank | CharacterClass::ThinBlank | CharacterClass::Line
        )
    })?;
    class.is_letter().then_some(at)
}

/// The parts of a word between separators.
#[derive(Debug, Default)]
struct WordParts {
    separators: u64,
    /// Of the last part.
    letters: u64,
    /// How many parts of a single letter come last, and the letter of the last.
    single: u32,
    letter: Option<char>,
    /// Whether these are different letters: `b-b-b-but` is stammered.
    differ: bool,
    is_spelled: bool,
}

impl WordParts {
    fn letter(&mut self, c: char) {
        self.letters += 1;
        if self.letters == 1 {
            let last = self.letter.replace(c).filter(|_| self.single > 0);
            self.differ |= last.is_some_and(|last| !last.to_lowercase().eq(c.to_lowercase()));
        }
    }

    fn separator(&mut self) {
        self.separators += 1;
        self.end();
    }

    fn end(&mut self) {
        if self.letters == 1 {
            self.single += 1;
            self.is_spelled |= self.single >= PARTS && self.differ;
        } else {
            (self.single, self.differ) = (0, false);
        }
        self.letters = 0;
    }
}

/// The letters of a part of a word, by script.
#[derive(Debug, Default)]
struct Scripts {
    latin: u64,
    cyrillic: u64,
    greek: u64,
    foreign: u64,
    styled: u64,
    of_flags: u64,
    /// Letters that stand on their heads, how many of these exist only so, and how many are certainly not phonetic.
    turned: u64,
    only_turned: u64,
    unphonetic: u64,
    /// Latin letters that are usual in Cyrillic words: old Russian texts have `i` for `і`, texts of the Caucasus `I`.
    usual_in_cyrillic: u64,
    /// Greek letters that are usual in Latin words: those of the phonetic alphabet.
    usual_in_latin: u64,
}

impl Scripts {
    fn add(&mut self, class: CharacterClass, c: char) {
        match class {
            CharacterClass::Latin => self.latin += 1,
            CharacterClass::Cyrillic => self.cyrillic += 1,
            CharacterClass::Greek => self.greek += 1,
            CharacterClass::Styled if is_of_flag(c) => self.of_flags += 1,
            CharacterClass::Styled if is_turned(c) => self.only_turned += 1,
            CharacterClass::Styled => self.styled += 1,
            _ => self.foreign += 1,
        }
        self.turned += u64::from(is_turned(c) || matches!(c, 'ǝ' | 'ɔ' | 'ƃ' | 'ʌ' | 'ɾ'));
        self.unphonetic += u64::from(matches!(c, 'ǝ' | 'ƃ' | 'ᴉ' | 'ʞ' | 'ʇ'));
        self.usual_in_cyrillic += u64::from(matches!(c, 'i' | 'I' | 'ï' | 'Ï' | 'j' | 'J'));
        self.usual_in_latin += u64::from(matches!(c, 'β' | 'θ' | 'χ'));
    }

    /// How many letters are not of the script of the part.
    fn strange(&self) -> u64 {
        let &Self {
            latin,
            cyrillic,
            greek,
            foreign,
            styled,
            of_flags,
            turned,
            only_turned,
            unphonetic,
            usual_in_cyrillic,
            usual_in_latin,
        } = self;
        let of_scripts = latin + cyrillic + greek + foreign;
        if of_scripts + styled + of_flags + only_turned < LETTERS {
            return 0;
        }
        let own = latin.max(cyrillic).max(greek).max(foreign);
        let usual = match own {
            _ if own == cyrillic => usual_in_cyrillic,
            _ if own == latin => usual_in_latin,
            _ => 0,
        };
        let styled = if styled < LETTERS { 0 } else { styled };
        // Flags have two letters each.
        let of_flags = if of_flags.is_multiple_of(2) {
            0
        } else {
            of_flags
        };
        let turned = if turned > 1 && only_turned.min(unphonetic) > 0 {
            turned
        } else {
            0
        };
        (of_scripts - own).saturating_sub(usual) + styled + of_flags + turned
    }
}

#[derive(Default)]
struct WordReader {
    word: SuspectWord,
    soft: WordParts,
    hyphens: WordParts,
    scripts: Scripts,
    /// The class of the last letter of the part, and the letter with the marks that belong to it.
    last: Option<CharacterClass>,
    base: Option<char>,
    /// How many letters there are, and how many with an accent in one character.
    letters: u64,
    accented: u64,
    /// Marks on consonants that no language has a letter for.
    unusual: u64,
    /// Marks of Church Slavonic.
    slavonic: u64,
    /// Invisible characters since the last letter.
    unseen: u64,
    /// Digits since the last letter, and those of them that can stand for a letter.
    digits: u64,
    as_letters: u64,
}

impl WordReader {
    fn letter(&mut self, class: CharacterClass, c: char) {
        if self.last.is_none() || self.digits > 0 {
            self.word.runs += 1;
        }
        if self.as_letters > 0 && self.digits <= DIGITS && !c.is_uppercase() {
            self.word.digits += self.as_letters;
        }
        if class.is_plain_letter() {
            self.word.invisible += self.unseen;
        }
        (self.digits, self.as_letters, self.unseen) = (0, 0, 0);
        self.letters += 1;
        self.accented += u64::from(class == CharacterClass::Latin && plain(c) != c);
        self.soft.letter(c);
        self.hyphens.letter(c);
        self.scripts.add(class, c);
        (self.last, self.base) = (Some(class), Some(c));
    }

    fn digit(&mut self, c: char) {
        self.digits += 1;
        // Texts of the Caucasus have `1` for a letter.
        let is_usual = c == '1' && self.last == Some(CharacterClass::Cyrillic);
        self.as_letters += u64::from(self.last.is_some() && !is_usual);
        self.base = None;
    }

    fn thin_blank(&mut self) {
        self.word.thin += 1;
        self.word.runs += 1;
        self.hyphens.end();
        self.soft.end();
    }

    fn invisible(&mut self, c: char) {
        // In German, a non-joiner keeps the parts of a compound out of a ligature: `Auf-lage`.
        let is_usual = c == '\u{200c}' && self.base.is_some_and(|base| base == 'f');
        let is_in_word = self.last.is_some_and(CharacterClass::is_plain_letter);
        self.unseen += u64::from(is_in_word && !is_usual);
    }

    fn mark(&mut self, mark: char) {
        let (Some(base), Some(class)) = (self.base, self.last) else {
            return;
        };
        if !class.is_plain_letter() {
            return;
        }
        if let Some(both) = compose(base, mark) {
            self.base = Some(both);
        } else if is_slavonic(mark) && class == CharacterClass::Cyrillic {
            self.slavonic += 1;
            self.word.marks += u64::from(self.slavonic > SLAVONIC);
        } else if !is_usual(mark) {
            self.word.marks += 1;
        } else if !is_vowel(base) {
            self.unusual += 1;
            self.word.marks += u64::from(self.unusual > 1);
        }
    }

    fn hyphen(&mut self) {
        self.end_of_part();
        self.hyphens.separator();
        self.soft.end();
    }

    fn end_of_part(&mut self) {
        self.word.look_alikes += self.scripts.strange();
        self.scripts = Scripts::default();
        (
            self.last,
            self.base,
            self.unseen,
            self.digits,
            self.as_letters,
        ) = (None, None, 0, 0, 0);
    }

    fn finish(mut self) -> SuspectWord {
        self.end_of_part();
        self.soft.end();
        self.hyphens.end();
        self.word.invisible += if self.soft.is_spelled {
            self.soft.separators
        } else {
            0
        };
        if self.letters >= ACCENTED && self.accented == self.letters {
            self.word.marks += self.accented;
        }
        self.word.hyphens = self.hyphens.separators;
        self.word.is_spelled = self.hyphens.is_spelled;
        self.word
    }
}

/// The titla of Church Slavonic, its letters above others, and its breathings.
fn is_slavonic(mark: char) -> bool {
    matches!(
        mark,
        '\u{483}'..='\u{487}' | '\u{33e}' | '\u{2de0}'..='\u{2dff}' | '\u{a66f}'..='\u{a67d}'
    )
}

/// Marks that languages put on letters although Unicode has no such letter: stress and tone, length, nasals, and the small
/// letters of old German.
fn is_usual(mark: char) -> bool {
    matches!(
        mark,
        '\u{300}'..='\u{304}'
            | '\u{306}'..='\u{308}'
            | '\u{30a}'..='\u{30d}'
            | '\u{30f}'
            | '\u{311}'
            | '\u{323}'..='\u{325}'
            | '\u{327}'
            | '\u{328}'
            | '\u{32e}'
            | '\u{331}'
            | '\u{363}'..='\u{36f}'
    )
}

fn is_vowel(letter: char) -> bool {
    const VOWELS: &str = "aeiouyæœøıаеёиоуыэюяіїєѣѵѡѧѫүұөәαεηιουω";
    let plain = plain(letter).to_lowercase().next();
    plain.is_some_and(|plain| VOWELS.contains(plain))
}

/// The letter without its marks.
fn plain(letter: char) -> char {
    if letter.is_ascii() {
        return letter;
    }
    let mut plain = None;
    decompose_canonical(letter, |c| {
        plain.get_or_insert(c);
    });
    plain.unwrap_or(letter)
}
