//! Other spellings of a query: letters for what looks like them, and for what was typed in another layout.
//!
//! A book has the gems of its text as it is, so that they never change. A query is looked up by those of both spellings, so a
//! wrong guess here only adds probes.

use std::sync::LazyLock;

use hashbrown::HashMap;
use memchr::memchr2_iter;

use super::undo::{Undone, UndoneText};
use crate::sample::sample;

/// The fewest words or shapes, and letters, in a sample that tell something.
const FEW: usize = 3;
const MANY: usize = 100;
/// Cyrillic letters, and Latin ones that look like them in capitals or in italics.
const CYRILLIC: &str = "кkмmнhтtпnиuшwіi";
/// What Unicode makes of characters that look like a letter (UTS #39), as far as that is a Latin or a Russian one, or `rn`. The
/// whole table would be a tenth of the package for browsers.
static SKELETONS: LazyLock<HashMap<char, &str>> = LazyLock::new(|| {
    let lines = include_str!("../../data/look_alikes.txt").lines();
    let groups = lines.filter_map(|line| line.split_once('\t'));
    groups
        .flat_map(|(skeleton, alike)| alike.chars().map(move |c| (c, skeleton)))
        .collect()
});
const LETTERS: &str = "абвгдежзийклмнопрстуфхцчшщъыьэюяіјѕ";
/// The letters that others may look like, by what Unicode makes of all that do.
static ALPHABET: LazyLock<HashMap<&str, char>> = LazyLock::new(|| {
    let forms = forms_of_letters();
    forms
        .filter_map(|(form, letter)| Some((skeleton_of(form)?, letter)))
        .collect()
});
/// Letters that look like Latin ones although Unicode does not list them with these.
const LATIN: &str = "вbкkмmнhтtпnиuшwщwьbяrгrɾrꓲiⲃbⲅrⲉeⲏhⲓiⲕkⲙmⲛnⲣpⲥcⲧtⲩyⲭxⲱw";
/// The keys of letters of a Russian keyboard, in its Latin layout and in its Cyrillic one.
const KEYS: [&str; 2] = [
    "`qwertyuiop[]asdfghjkl;'zxcvbnm,.~{}:\"<>",
    "ёйцукенгшщзхъфывапролджэячсмитьбюёхъжэбю",
];
/// Cyrillic letters in ASCII characters that look like them, longer ones first.
const VOLAPUK: &[(&str, &str)] = &[
    ("}|{", "ж"),
    (">|<", "ж"),
    (")|(", "ж"),
    ("LLI", "ш"),
    ("LLL", "щ"),
    ("III", "ш"),
    ("JI", "л"),
    ("/I", "л"),
    ("/\\", "л"),
    ("bI", "ы"),
    ("bl", "ы"),
    ("'b", "ъ"),
    ("IO", "ю"),
    ("lO", "ю"),
    ("qp", "ф"),
    ("LL", "ц"),
    ("TT", "п"),
    ("II", "п"),
    ("-)", "э"),
    ("*", "ж"),
    ("6", "б"),
    ("3", "з"),
    ("4", "ч"),
    ("9", "я"),
    ("8", "в"),
    ("0", "о"),
    ("B", "в"),
    ("b", "ь"),
    ("r", "г"),
    ("g", "д"),
    ("D", "д"),
    ("H", "н"),
    ("n", "п"),
    ("p", "р"),
    ("P", "р"),
    ("c", "с"),
    ("C", "с"),
    ("m", "т"),
    ("x", "х"),
    ("X", "х"),
    ("u", "и"),
    ("N", "и"),
    ("U", "ц"),
    ("w", "ш"),
    ("W", "ш"),
    ("R", "я"),
    ("y", "у"),
];

/// The query in another spelling; `None` if it is spelled as usual.
pub(super) fn respelled<'a>(query: &Undone<'a>) -> Option<Undone<'a>> {
    query.then(&[
        without_look_alikes,
        |text| with_letter(text, &["rn"], 'm'),
        |text| with_letter(text, &["cl", "c1", "c|"], 'd'),
        |text| with_letter(text, &["1", "|"], 'l'),
        retyped,
    ])
}

// ------------------------------------------------------------------------------------------ look-alikes -------------

/// What a character is to a reader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Latin,
    Cyrillic,
    /// No letter of either, but looks like a Latin one.
    Alike,
    /// Looks like no other letter.
    Own,
    /// No letter.
    None,
}

/// What characters look like, each looked up once.
#[derive(Default)]
struct Looks {
    latin: HashMap<char, Option<char>>,
    cyrillic: HashMap<char, Option<char>>,
}

impl Looks {
    fn of(&mut self, c: char) -> Look {
        match c {
            _ if c.is_ascii_alphabetic() => Look::Latin,
            _ if c.is_ascii() => Look::None,
            '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Look::Latin,
            '\u{400}'..='\u{52f}' => Look::Cyrillic,
            _ if self.latin(c).is_some() => Look::Alike,
            _ if c.is_alphabetic() => Look::Own,
            _ => Look::None,
        }
    }

    /// The Latin letter that it is or looks like.
    fn latin(&mut self, c: char) -> Option<char> {
        if c.is_ascii() {
            return c.is_ascii_alphabetic().then_some(c);
        }
        *self.latin.entry(c).or_insert_with(|| latin_alike(c))
    }

    /// The Cyrillic letter that it is or looks like. Letters of few languages are taken for those that they look like.
    fn cyrillic(&mut self, c: char) -> Option<char> {
        if let Some(known) = self.cyrillic.get(&c) {
            return *known;
        }
        let found = self.cyrillic_alike(c);
        self.cyrillic.insert(c, found);
        found
    }

    fn cyrillic_alike(&mut self, c: char) -> Option<char> {
        let own = Some(c).filter(|c| matches!(c, '\u{400}'..='\u{52f}'));
        if own.is_some_and(|c| c < '\u{460}') {
            return own;
        }
        if let Some(letter) = skeleton_of(c).and_then(|skeleton| ALPHABET.get(skeleton)) {
            return Some(*letter);
        }
        let latin = self.latin(c).map(|latin| latin.to_ascii_lowercase());
        let alike = pairs(CYRILLIC).find(|(_, other)| Some(*other) == latin);
        alike.map(|(letter, _)| letter).or(own)
    }
}

fn skeleton_of(c: char) -> Option<&'static str> {
    SKELETONS.get(&c).copied()
}

/// Russian letters, small and capital, with the small one.
fn forms_of_letters() -> impl Iterator<Item = (char, char)> {
    LETTERS.chars().flat_map(|letter| {
        let capital = letter.to_uppercase();
        capital.chain([letter]).map(move |form| (form, letter))
    })
}

/// The pairs of characters in a list.
fn pairs(list: &str) -> impl Iterator<Item = (char, char)> {
    let (first, second) = (list.chars().step_by(2), list.chars().skip(1).step_by(2));
    first.zip(second)
}

/// The ASCII letter that looks like this character.
fn latin_alike(c: char) -> Option<char> {
    let lower = c.to_lowercase().next().unwrap_or(c);
    if let Some((_, latin)) = pairs(LATIN).find(|(other, _)| *other == lower) {
        return Some(latin);
    }
    match skeleton_of(c)?.as_bytes() {
        b"rn" => Some('m'),
        // A capital `i`.
        b"l" if c.is_uppercase() => Some('i'),
        [letter] if letter.is_ascii_alphabetic() => Some(char::from(*letter)),
        _ => None,
    }
}

/// The letters of a word, by what they are.
#[derive(Default)]
struct LettersOfWord {
    latin: usize,
    cyrillic: usize,
    alike: usize,
    own: usize,
}

impl LettersOfWord {
    fn of(word: &str, looks: &mut Looks) -> Self {
        let mut letters = Self::default();
        for c in word.chars() {
            match looks.of(c) {
                Look::Latin => letters.latin += 1,
                Look::Cyrillic => letters.cyrillic += 1,
                Look::Alike => letters.alike += 1,
                Look::Own => letters.own += 1,
                Look::None => {}
            }
        }
        letters
    }

    fn is_mixed(&self) -> bool {
        self.latin.min(self.cyrillic) > 0 || self.is_alike() && self.latin + self.cyrillic > 0
    }

    fn is_alike(&self) -> bool {
        self.alike > 0 && self.own == 0
    }
}

/// The text with letters of one alphabet in each word. `None` if hardly a word mixes them, and if lines stand on their heads.
fn without_look_alikes(text: &str) -> Option<UndoneText> {
    if sample(text).all(str::is_ascii) {
        return None;
    }
    let mut looks = Looks::default();
    let (mut words, mut mixed, mut alike, mut latin, mut cyrillic) = (0, 0, 0, 0, 0);
    for part in sample(text) {
        if part.is_ascii() {
            words += part.split_ascii_whitespace().count();
            latin += part.len();
            continue;
        }
        let parts = part.split(is_between_words);
        for word in parts.filter(|word| !word.is_empty()) {
            let letters = LettersOfWord::of(word, &mut looks);
            words += 1;
            mixed += usize::from(letters.is_mixed());
            alike += usize::from(letters.is_alike());
            latin += letters.latin + letters.alike;
            cyrillic += letters.cyrillic;
        }
    }
    // A text wholly in another alphabet has letters that look like no others.
    let is_mixed = mixed >= FEW && 50 * mixed > words || alike >= FEW && 2 * alike > words;
    if !is_mixed || text.contains('ǝ') {
        return None;
    }
    let mut plain = UndoneText::new(text.len());
    let (mut at, mut is_cyrillic) = (0, cyrillic > latin);
    for word in text.split_inclusive(is_between_words) {
        if word.is_ascii() {
            plain.push_str(word, at);
        } else {
            is_cyrillic = reads_as_cyrillic(word, &mut looks, is_cyrillic);
            push_in_one_alphabet(&mut plain, word, at, &mut looks, is_cyrillic);
        }
        at += word.len();
    }
    Some(plain)
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace()
        || c.is_ascii_punctuation()
        || matches!(c, '\u{80}'..='\u{bf}' | '\u{2010}'..='\u{2026}')
}

/// Whether more characters of a word can be read as Cyrillic letters than as Latin ones, or as many and the word before was
/// Cyrillic.
fn reads_as_cyrillic(word: &str, looks: &mut Looks, before: bool) -> bool {
    let (mut latin, mut cyrillic) = (0, 0);
    for c in word.chars() {
        latin += usize::from(looks.of(c) == Look::Latin || looks.latin(c).is_some());
        cyrillic += usize::from(looks.cyrillic(c).is_some());
    }
    cyrillic > latin || before && cyrillic == latin
}

fn push_in_one_alphabet(
    plain: &mut UndoneText,
    word: &str,
    start: usize,
    looks: &mut Looks,
    is_cyrillic: bool,
) {
    for (at, c) in word.char_indices() {
        let letter = match looks.of(c) {
            Look::Latin if !is_cyrillic => Some(c),
            _ if is_cyrillic => looks.cyrillic(c),
            _ => looks.latin(c),
        };
        let letter = letter.unwrap_or(c);
        plain.push_str(letter.encode_utf8(&mut [0; 4]), start + at);
    }
}

// -------------------------------------------------------------------------------------- missing letters -------------

/// The text with a letter for shapes that look like it, if it has these inside words, and hardly ever the letter.
fn with_letter(text: &str, shapes: &[&str], letter: char) -> Option<UndoneText> {
    let (mut bytes, mut of_shapes, mut of_letter) = (0, 0, 0);
    for part in sample(text) {
        bytes += part.len();
        of_letter += part.matches(letter).count();
    }
    // So often, the letter is not missing.
    if 100 * of_letter > bytes {
        return None;
    }
    for part in sample(text) {
        of_shapes += inside_words(part, shapes).count();
    }
    if bytes < MANY || of_shapes < FEW || 20 * of_letter > of_shapes {
        return None;
    }
    let mut whole = UndoneText::new(text.len());
    let mut copied = 0;
    for (at, length) in inside_words(text, shapes) {
        if at >= copied {
            whole.push_str(&text[copied..at], copied);
            whole.push_str(letter.encode_utf8(&mut [0; 4]), at);
            copied = at + length;
        }
    }
    whole.push_str(&text[copied..], copied);
    Some(whole)
}

/// Where one of these ASCII shapes, of one or two first characters, has a letter in it or beside it, and how long it is.
fn inside_words<'a>(
    text: &'a str,
    shapes: &'a [&str],
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let bytes = text.as_bytes();
    let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
    let [first, last] =
        [shapes.first(), shapes.last()].map(|shape| shape.map_or(0, |s| s.as_bytes()[0]));
    memchr2_iter(first, last, bytes).filter_map(move |at| {
        let shape = shapes
            .iter()
            .find(|shape| bytes[at..].starts_with(shape.as_bytes()))?;
        let is_inside = [at, at.wrapping_sub(1), at + shape.len()]
            .into_iter()
            .any(is_letter);
        is_inside.then_some((at, shape.len()))
    })
}

// -------------------------------------------------------------------------------------- other layouts ---------------

/// The letters and words of a sample that tell how it was typed.
#[derive(Default)]
struct TypedLetters {
    latin: usize,
    cyrillic: usize,
    /// Keys of `о` and `а` in the Latin layout, and of `o` and `a` in the Cyrillic one.
    j_and_f: usize,
    shcha_and_ef: usize,
    words: usize,
    /// Words with a capital behind a small letter, and with a digit beside a letter.
    with_capitals: usize,
    with_digits: usize,
}

impl TypedLetters {
    fn of(text: &str) -> Self {
        let mut typed = Self::default();
        for word in sample(text).flat_map(str::split_whitespace) {
            typed.add(word);
        }
        typed
    }

    fn add(&mut self, word: &str) {
        let (mut has_capital, mut has_digit, mut last) = (false, false, ' ');
        for c in word.chars() {
            self.latin += usize::from(c.is_ascii_alphabetic());
            self.cyrillic += usize::from(matches!(c, '\u{400}'..='\u{52f}'));
            self.j_and_f += usize::from(matches!(c, 'j' | 'f' | 'J' | 'F'));
            self.shcha_and_ef += usize::from(matches!(c, 'щ' | 'ф' | 'Щ' | 'Ф'));
            has_capital |= last.is_ascii_lowercase() && c.is_ascii_uppercase();
            has_digit |= last.is_ascii_alphabetic() && c.is_ascii_digit()
                || last.is_ascii_digit() && c.is_ascii_alphabetic();
            last = c;
        }
        self.words += 1;
        self.with_capitals += usize::from(has_capital);
        self.with_digits += usize::from(has_digit);
    }

    /// No language has so many `j` and `f`, or `щ` and `ф`.
    fn is_in_latin_layout(&self) -> bool {
        self.latin >= MANY && 10 * self.j_and_f > self.latin
    }

    fn is_in_cyrillic_layout(&self) -> bool {
        self.cyrillic >= MANY && 20 * self.shcha_and_ef > self.cyrillic
    }

    fn is_volapuk(&self) -> bool {
        self.latin >= MANY
            && 10 * self.with_capitals > 3 * self.words
            && 10 * self.with_digits > self.words
    }
}

/// The text in Cyrillic letters if it was typed in a Latin layout, or in ASCII characters that look like them, and the reverse.
fn retyped(text: &str) -> Option<UndoneText> {
    let typed = TypedLetters::of(text);
    let [latin, cyrillic] = KEYS;
    if typed.is_in_latin_layout() {
        Some(with_keys(text, latin, cyrillic))
    } else if typed.is_in_cyrillic_layout() {
        Some(with_keys(text, cyrillic, latin))
    } else {
        typed.is_volapuk().then(|| from_volapuk(text))
    }
}

fn with_keys(text: &str, from: &str, to: &str) -> UndoneText {
    let keys: HashMap<char, char> = from.chars().zip(to.chars()).collect();
    let mut typed = UndoneText::new(2 * text.len());
    for (at, c) in text.char_indices() {
        let lower = c.to_lowercase().next().unwrap_or(c);
        let key = keys.get(&lower).copied().unwrap_or(c);
        typed.push_str(key.encode_utf8(&mut [0; 4]), at);
    }
    typed
}

fn from_volapuk(text: &str) -> UndoneText {
    let mut by_first: HashMap<u8, Vec<(&str, &str)>> = HashMap::new();
    for &(shape, letter) in VOLAPUK {
        let shapes = by_first.entry(shape.as_bytes()[0]).or_default();
        shapes.push((shape, letter));
    }
    let mut plain = UndoneText::new(2 * text.len());
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let mut shapes = by_first.get(&text.as_bytes()[at]).into_iter().flatten();
        let shape = shapes.find(|(shape, _)| text[at..].starts_with(shape));
        let (letter, length) = match shape {
            Some((shape, letter)) => (*letter, shape.len()),
            None => (&text[at..at + c.len_utf8()], c.len_utf8()),
        };
        plain.push_str(letter, at);
        at += length;
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use unicode_security::confusable_detection::skeleton;

    use super::*;

    fn skeleton_in_unicode(c: char) -> String {
        skeleton(c.encode_utf8(&mut [0; 4])).collect()
    }

    const HEAD: &str = "# Characters that look like a letter, by what UTS #39 makes of them. Generated by a test.\n";

    /// With `UPDATE_LOOK_ALIKES` set, it writes the table.
    #[test]
    fn the_table_is_that_of_unicode() {
        let of_letters = forms_of_letters().map(|(form, _)| skeleton_in_unicode(form));
        let mut kept: BTreeSet<String> = of_letters.chain(["rn".to_owned()]).collect();
        kept.extend(('a'..='z').chain('A'..='Z').map(String::from));
        let mut groups = BTreeMap::<String, String>::new();
        for c in '\0'..=char::MAX {
            let skeleton = skeleton_in_unicode(c);
            if kept.contains(&skeleton) {
                groups.entry(skeleton).or_default().push(c);
            }
        }
        let lines = groups
            .iter()
            .map(|(skeleton, alike)| format!("{skeleton}\t{alike}\n"));
        let made = HEAD.to_owned() + &lines.collect::<String>();
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/look_alikes.txt");
        if std::env::var_os("UPDATE_LOOK_ALIKES").is_some() {
            std::fs::write(file, &made).expect("it is written");
        }
        assert_eq!(std::fs::read_to_string(file).expect("the table"), made);
    }
}
