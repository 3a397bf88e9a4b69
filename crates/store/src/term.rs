//! The terms that a book is found by: the words of its title and of its authors, how these begin, its identifiers, and what it
//! has in common with many others, such as its rights.

use std::collections::BTreeSet;
use std::fmt;

use jiff::civil::Date;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{canonical_combining_class, is_combining_mark};
use unicode_segmentation::UnicodeSegmentation as _;

use lapidary_common::description::Description;
use lapidary_common::isbn::Isbn;

use super::{BookState, Record, Rights};

/// Maximum number of terms of a search. The longest titles have fewer distinct words.
pub const MOST_TERMS: usize = 64;
/// Maximum number of characters of the beginning of a word. An ISBN has 13, and few words are longer than this.
const BEGINNING: usize = 16;

/// The part of a record that a term is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The title.
    Title,
    /// The authors.
    Author,
    /// The identifiers.
    Identifier,
    /// The beginnings of the words of the title, the authors, the id and the identifiers.
    Beginning,
    /// The rights.
    Rights,
    /// The language.
    Language,
    /// What the book waits for, or why it does not count.
    State,
}

/// A word or an identifier in the form in which it is compared.
///
/// Stores keep terms, so a change of this form needs a new version of their format.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    field: Field,
    text: String,
}

impl Term {
    /// The part of a record that it is from.
    #[must_use]
    pub fn field(&self) -> Field {
        self.field
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The words of a text, without case and accents (so ё is е): what is between characters that are neither letters
    /// nor digits. In scripts written without spaces, such as Chinese and Thai, each character is a word.
    pub fn words(field: Field, text: &str) -> impl Iterator<Item = Self> {
        let mut words = words_of(text);
        words.sort_unstable();
        words.dedup();
        words.into_iter().map(move |text| Self { field, text })
    }

    /// An identifier, unless it is blank. An ISBN of 10 characters is its ISBN of 13 digits, however either is written.
    /// Other identifiers are compared as they are, except for case, outer blanks and a leading `urn:`.
    #[must_use]
    pub fn identifier(written: &str) -> Option<Self> {
        let lower = written.trim().to_lowercase();
        let plain = lower.strip_prefix("urn:").unwrap_or(&lower);
        let text = isbn(plain).map_or_else(|| plain.to_owned(), |isbn| isbn.to_string());
        (!text.is_empty()).then_some(Self {
            field: Field::Identifier,
            text,
        })
    }

    /// The beginnings of words, one for each word of a text, of which the first 16 characters are compared. An ISBN is one
    /// word, however it is written.
    #[must_use]
    pub fn beginnings(text: &str) -> BTreeSet<Self> {
        let isbn = isbn(&text.trim().to_lowercase()).map(|isbn| isbn.to_string());
        Self::words(Field::Beginning, isbn.as_deref().unwrap_or(text))
            .filter_map(|word| word.all_beginnings().last())
            .collect()
    }

    /// The beginnings of a word, the shortest first.
    fn all_beginnings(&self) -> impl Iterator<Item = Self> {
        let ends = self.text.char_indices().map(|(at, c)| at + c.len_utf8());
        ends.take(BEGINNING).map(|end| Self {
            field: Field::Beginning,
            text: self.text[..end].to_owned(),
        })
    }

    /// Rights that a book has.
    #[must_use]
    pub fn rights(rights: Rights) -> Self {
        Self {
            field: Field::Rights,
            text: rights.as_str().to_owned(),
        }
    }

    /// The language of a book, by its tag, unless that is blank. A book in `pt-BR` is in `pt`, too.
    #[must_use]
    pub fn language(tag: &str) -> Option<Self> {
        let text = tag.trim().to_lowercase().replace('_', "-");
        (!text.is_empty()).then_some(Self {
            field: Field::Language,
            text,
        })
    }

    /// The state of a book, which may be in it only on some days ([`Record::is_in`]).
    #[must_use]
    pub fn state(state: BookState) -> Self {
        Self {
            field: Field::State,
            text: state.as_str().to_owned(),
        }
    }

    /// The terms of a book.
    #[must_use]
    pub fn of(record: &Record) -> BTreeSet<Self> {
        Self::each_of(record).into_iter().collect()
    }

    /// The terms of a book, in no order, some perhaps more than once.
    pub(crate) fn each_of(record: &Record) -> Vec<Self> {
        let mut terms = Self::of_description(&record.description);
        let (ids, own) = (&record.description.identifiers, record.key.id.as_str());
        let own_form = Self::identifier(own).map(|form| form.text);
        let mut texts: Vec<String> = terms.iter().map(|term| term.text.clone()).collect();
        texts.extend(ids.iter().cloned().chain(own_form));
        texts.push(own.to_owned());
        let words = texts
            .iter()
            .flat_map(|text| Self::words(Field::Beginning, text));
        let mut words: Vec<Self> = words.collect();
        words.sort_unstable();
        words.dedup();
        terms.extend(words.iter().flat_map(Self::all_beginnings));
        terms.push(Self::rights(record.rights));
        let tag = record.description.language.as_deref().unwrap_or_default();
        let broader = tag.split(['-', '_']).next().unwrap_or_default();
        terms.extend([tag, broader].into_iter().filter_map(Self::language));
        let states = BookState::ALL.into_iter();
        terms.extend(
            states
                .filter(|state| record.is_in(*state, Date::MAX))
                .map(Self::state),
        );
        terms
    }

    /// The words and the identifiers of a description.
    fn of_description(description: &Description) -> Vec<Self> {
        let Description {
            title,
            authors,
            identifiers,
            ..
        } = description;
        let title = title
            .iter()
            .flat_map(|title| Self::words(Field::Title, title));
        let authors = authors
            .iter()
            .flat_map(|author| Self::words(Field::Author, author));
        title
            .chain(authors)
            .chain(
                identifiers
                    .iter()
                    .filter_map(|written| Self::identifier(written)),
            )
            .collect()
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.field {
            Field::Title => "the word of the title",
            Field::Author => "the word of the authors",
            Field::Identifier => "the identifier",
            Field::Beginning => "the beginning of a word",
            Field::Rights => "the rights",
            Field::Language => "the language",
            Field::State => "the state",
        };
        write!(f, "{what} {:?}", self.text)
    }
}

/// The words of a text.
fn words_of(text: &str) -> Vec<String> {
    if text.is_ascii() {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        return words.map(str::to_ascii_lowercase).collect();
    }
    words_of_any_script(text)
}

fn words_of_any_script(text: &str) -> Vec<String> {
    let folded = folded(text);
    let words = folded
        .split(|c: char| !c.is_alphanumeric())
        .flat_map(str::split_word_bounds);
    words.map(str::to_owned).collect()
}

/// A text without case, accents and invisible characters.
fn folded(text: &str) -> String {
    text.nfkd()
        .filter(|c| !is_ignored(*c))
        .flat_map(without_case)
        .collect()
}

fn without_case(c: char) -> impl Iterator<Item = char> {
    // Some characters change twice: ẞ, ß, SS, ss.
    c.to_lowercase()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
}

/// Whether a character is an accent, or invisible inside a word. The vowel signs of Indic scripts are letters.
fn is_ignored(c: char) -> bool {
    canonical_combining_class(c) != 0
        || is_combining_mark(c) && !c.is_alphanumeric()
        || matches!(
            c,
            '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'
        )
}

/// The ISBN in a text such as `ISBN-13: 978-0-306-40615-7` or `isbn:0306406152`.
fn isbn(lower: &str) -> Option<Isbn> {
    let rest = lower.strip_prefix("isbn").unwrap_or(lower);
    let rest = ["-10", "-13"]
        .iter()
        .find_map(|kind| rest.strip_prefix(kind)?.strip_prefix([':', ' ']))
        .unwrap_or(rest);
    Isbn::parse(
        &rest
            .trim_start_matches([':', ' '])
            .chars()
            .map(|c| match c {
                '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
                c if c.is_whitespace() => '-',
                c => c,
            })
            .collect::<String>(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        Term::words(Field::Title, text)
            .map(|term| term.text)
            .collect()
    }

    #[test]
    fn words_have_no_case_and_no_accents() {
        let table: [(&str, &[&str]); 17] = [
            (
                "The Old Man and the Sea",
                &["and", "man", "old", "sea", "the"],
            ),
            ("ЁЛКА ёлка елка Е\u{301}лка", &["елка"]),
            ("Cliché CLICHE\u{301}", &["cliche"]),
            ("Straße STRASSE STRAẞE", &["strasse"]),
            ("Οδυσσεύς ΟΔΥΣΣΕΥΣ", &["οδυσσευσ"]),
            ("ﬁnal Ｆｕｌｌ １２３", &["123", "final", "full"]),
            ("А.С. Пушкин", &["а", "пушкин", "с"]),
            ("O’Brien, O'Brien", &["brien", "o"]),
            ("well-known", &["known", "well"]),
            ("co\u{ad}operate coop\u{200b}erate", &["cooperate"]),
            ("1984", &["1984"]),
            ("紅樓夢", &["夢", "樓", "紅"]),
            ("한국어", &["한국어".nfkd().collect::<String>().leak()]),
            ("हिन्दी", &["हिनदी"]),
            ("Łódź", &["łodz"]),
            ("—!?… \u{301}", &[]),
            ("", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn ascii_has_the_same_words_as_any_script(text in "[ -~\n\t]{0,60}") {
            prop_assert_eq!(words_of(&text), words_of_any_script(&text));
        }
    }

    #[test]
    fn identifiers_have_one_form() {
        let one_book = [
            "9780306406157",
            "978-0-306-40615-7",
            " 978 0 306 40615 7 ",
            "978‑0‑306‑40615‑7",
            "0-306-40615-2",
            "0306406152",
            "urn:isbn:9780306406157",
            "URN:ISBN:0-306-40615-2",
            "ISBN 0-306-40615-2",
            "ISBN-13: 978-0-306-40615-7",
            "isbn-10 0306406152",
            "isbn:9780306406157",
        ];
        let text = |written| Term::identifier(written).map(|term| term.text);
        for written in one_book {
            assert_eq!(text(written).as_deref(), Some("9780306406157"), "{written}");
        }
        let table = [
            ("080442957x", Some("9780804429573")),
            ("978-0-306-40615-8", Some("978-0-306-40615-8")),
            ("urn:uuid:F81D4FAE", Some("uuid:f81d4fae")),
            ("UUID:f81d4fae", Some("uuid:f81d4fae")),
            ("DOI:10.1000/182", Some("doi:10.1000/182")),
            ("isbn", Some("isbn")),
            ("ISBN-10", Some("isbn-10")),
            (" ", None),
            ("urn:", None),
        ];
        for (written, expected) in table {
            assert_eq!(text(written).as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn a_word_of_the_title_is_none_of_an_author() {
        let description = Description {
            title: Some("Emma".to_owned()),
            authors: vec!["Jane Austen".to_owned(), "Emma Roe".to_owned()],
            identifiers: vec!["0306406152".to_owned(), "9780306406157".to_owned()],
            published: None,
            language: Some("en".to_owned()),
        };
        let terms: BTreeSet<Term> = Term::of_description(&description).into_iter().collect();
        let shown: Vec<String> = terms.iter().map(ToString::to_string).collect();
        let expected = [
            "the word of the title \"emma\"",
            "the word of the authors \"austen\"",
            "the word of the authors \"emma\"",
            "the word of the authors \"jane\"",
            "the word of the authors \"roe\"",
            "the identifier \"9780306406157\"",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn beginnings_are_of_words_and_of_isbns() {
        let begin = |text: &str| {
            Term::beginnings(text)
                .into_iter()
                .map(|term| term.text)
                .collect::<Vec<_>>()
        };
        assert_eq!(begin("ШИНЕЛ, Гог"), ["гог", "шинел"]);
        for isbn in ["978-0-306-40615-7", "isbn 0306406152", " 0-306-40615-2 "] {
            assert_eq!(begin(isbn), ["9780306406157"], "{isbn}");
        }
        assert_eq!(begin("978-0-306"), ["0", "306", "978"]);
        assert_eq!(begin(&"é".repeat(20)), ["e".repeat(16)]);
        assert_eq!(begin("…"), [""; 0]);
        let word = Term::words(Field::Title, "ёж3").next().expect("a word");
        let all: Vec<String> = word.all_beginnings().map(|term| term.text).collect();
        assert_eq!(all, ["е", "еж", "еж3"]);
    }
}
