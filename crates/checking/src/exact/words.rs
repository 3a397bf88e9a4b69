//! The words of two texts, as written and as read.

use std::ops::Range;

use hashbrown::HashMap;
use lapidary_gems::{Place, has_scrambled_letters, with_inner_letters_sorted};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_security::confusable_detection::skeleton;

/// A word: letters and digits, with marks and invisible characters between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Number of letters and digits.
    pub(super) letters: u32,
    /// Equal for words that are written alike.
    pub(super) written: u32,
}

impl Word {
    pub(super) fn place(&self) -> Place {
        Place {
            start: self.start as u64,
            end: self.end as u64,
        }
    }
}

/// The words of both texts.
pub(super) struct Words {
    pub(super) query: Vec<Word>,
    pub(super) book: Vec<Word>,
    /// For each word a number that is equal for words that read alike.
    pub(super) query_keys: Vec<u32>,
    pub(super) book_keys: Vec<u32>,
    /// The same from the last word to the first.
    pub(super) query_keys_back: Vec<u32>,
    pub(super) book_keys_back: Vec<u32>,
    /// The words as read, by their keys.
    read: Vec<String>,
}

impl Words {
    pub(super) fn of(query: &str, book: &str) -> Self {
        let mut numbers = WordNumbers {
            is_scrambled: has_scrambled_letters(query),
            ..WordNumbers::default()
        };
        let (query, query_keys) = numbers.number(query);
        let (book, book_keys) = numbers.number(book);
        let mut read = vec![String::new(); numbers.read.len()];
        for (word, key) in numbers.read {
            read[key as usize] = word;
        }
        let (query_keys_back, book_keys_back) = (reversed(&query_keys), reversed(&book_keys));
        Self {
            query,
            book,
            query_keys,
            book_keys,
            query_keys_back,
            book_keys_back,
            read,
        }
    }

    /// Whether the words of a stretch of the query are those of a stretch of the book, but for where words end.
    pub(super) fn read_alike(&self, query: &Range<usize>, book: &Range<usize>) -> bool {
        let (query, book) = (
            &self.query_keys[query.clone()],
            &self.book_keys[book.clone()],
        );
        !query.is_empty() && self.letters(query).eq(self.letters(book))
    }

    fn letters(&self, keys: &[u32]) -> impl Iterator<Item = char> {
        keys.iter().flat_map(|key| self.read[*key as usize].chars())
    }
}

fn reversed(keys: &[u32]) -> Vec<u32> {
    keys.iter().rev().copied().collect()
}

/// The numbers of words.
#[derive(Default)]
struct WordNumbers<'a> {
    /// A number for each word as written, and its key.
    written: HashMap<&'a str, (u32, u32)>,
    read: HashMap<String, u32>,
    /// Whether words read alike whatever the order of their inner letters.
    is_scrambled: bool,
}

impl<'a> WordNumbers<'a> {
    fn number(&mut self, text: &'a str) -> (Vec<Word>, Vec<u32>) {
        let (mut words, mut keys) = (Vec::new(), Vec::new());
        each_word(text, |place, letters| {
            let word = &text[place.clone()];
            let next = self.written.len() as u32;
            let (written, key) = *self.written.entry(word).or_insert_with(|| {
                let next_key = self.read.len() as u32;
                let mut read = as_read(word);
                if self.is_scrambled {
                    read = with_inner_letters_sorted(&read);
                }
                (next, *self.read.entry(read).or_insert(next_key))
            });
            words.push(Word {
                start: place.start,
                end: place.end,
                letters,
                written,
            });
            keys.push(key);
        });
        (words, keys)
    }
}

/// A word without case, marks, invisible characters, and letters that only look like others.
fn as_read(word: &str) -> String {
    if word
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() && !matches!(byte, b'm'))
    {
        return word.to_owned();
    }
    let plain: String = word
        .chars()
        .filter(|c| !is_invisible(*c))
        .nfkd()
        .filter(|c| !is_combining_mark(*c))
        .collect();
    skeleton(&plain.to_lowercase())
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Passes on the words of a text, each with its number of letters and digits.
pub(super) fn each_word(text: &str, mut take: impl FnMut(Range<usize>, u32)) {
    let (mut start, mut end, mut letters) = (0, 0, 0);
    for (at, c) in text.char_indices() {
        let is_sign = is_sign(c);
        if letters > 0 && !is_sign && (is_letter(c) || is_within(c)) {
            letters += u32::from(is_letter(c));
        } else {
            if letters > 0 {
                take(start..end, letters);
                letters = 0;
            }
            if !is_letter(c) {
                continue;
            }
            (start, letters) = (at, 1);
        }
        end = at + c.len_utf8();
        if is_sign {
            take(start..end, letters);
            letters = 0;
        }
    }
    if letters > 0 {
        take(start..end, letters);
    }
}

fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
    } else {
        c.is_alphanumeric() && !is_within(c)
    }
}

/// Whether a character can be inside a word without being a letter of it.
fn is_within(c: char) -> bool {
    !c.is_ascii() && (is_combining_mark(c) || is_invisible(c))
}

pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character is a word by itself: it belongs to a script that has no blanks between words.
fn is_sign(c: char) -> bool {
    c >= '\u{e00}'
        && matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
        && is_letter(c)
}

#[cfg(test)]
mod tests {
    use super::{as_read, each_word};

    fn words(text: &str) -> Vec<(&str, u32)> {
        let mut words = Vec::new();
        each_word(text, |place, letters| words.push((&text[place], letters)));
        words
    }

    #[test]
    fn words_of_a_text() {
        assert_eq!(
            words("«Ёлка» — it's 12,5!"),
            [("Ёлка", 4), ("it", 2), ("s", 1), ("12", 2), ("5", 1)]
        );
        assert_eq!(
            words("tre\u{200b}asu\u{301}re\u{200b}"),
            [("tre\u{200b}asu\u{301}re\u{200b}", 8)]
        );
        assert_eq!(words("\u{200b}宝島 ok"), [("宝", 1), ("島", 1), ("ok", 2)]);
        assert_eq!(words(" \u{301}.\u{200b} "), []);
    }

    #[test]
    fn words_as_read() {
        for [disguised, plain] in [
            ["trеаsurе", "treasure"],
            ["TRE\u{200b}Asu\u{301}re", "treasure"],
            ["ｔｒｅａｓｕｒｅ", "Treasure"],
            ["ёлка", "Елка"],
            ["pусский", "русский"],
            ["Mum", "mum"],
        ] {
            assert_eq!(as_read(disguised), as_read(plain), "{disguised}");
        }
        assert_ne!(as_read("cat"), as_read("cut"));
    }
}
