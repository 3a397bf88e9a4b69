//! The words of a sentence, and those that count.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::{LazyLock, OnceLock};

use hashbrown::HashMap;
use rust_stemmers::{Algorithm, Stemmer};

use super::characters::{WordCharacter, folded};
use super::sentences::sentences;
use super::text::cleaned;
use crate::gem::Place;

/// Passes on the words of a piece of text, in order, with their places.
pub(crate) fn words(text: &str, mut take: impl FnMut(&str, Place)) {
    let mut word = OpenWord::default();
    // An apostrophe counts only between two letters.
    let (mut is_after_letter, mut is_after_apostrophe) = (false, false);
    for (at, c) in text.char_indices() {
        let folded = folded(c);
        if folded == WordCharacter::Nothing {
            continue;
        }
        if is_after_apostrophe && !matches!(folded, WordCharacter::Letter(_)) {
            word.end(&mut take);
        }
        let is_apostrophe = folded == WordCharacter::Apostrophe && is_after_letter;
        is_after_letter = matches!(folded, WordCharacter::Letter(_));
        is_after_apostrophe = is_apostrophe;
        let place = Place {
            start: at as u64,
            end: (at + c.len_utf8()) as u64,
        };
        match folded {
            WordCharacter::Letter(c) | WordCharacter::Number(c) => word.push(c, place),
            WordCharacter::Mark(c) if !word.text.is_empty() => word.push(c, place),
            WordCharacter::Word(c) => {
                word.end(&mut take);
                word.push(c, place);
                word.end(&mut take);
            }
            WordCharacter::Apostrophe if is_apostrophe => {}
            WordCharacter::Apostrophe | WordCharacter::Blank => word.end(&mut take),
            WordCharacter::Mark(_) | WordCharacter::Nothing => {}
        }
    }
    word.end(&mut take);
}

/// A word that has not ended.
#[derive(Default)]
struct OpenWord {
    text: String,
    place: Place,
}

impl OpenWord {
    fn push(&mut self, c: char, place: Place) {
        if self.text.is_empty() {
            self.place.start = place.start;
        }
        self.place.end = place.end;
        self.text.push(c);
    }

    fn end(&mut self, take: &mut impl FnMut(&str, Place)) {
        if !self.text.is_empty() {
            take(&self.text, self.place);
            self.text.clear();
        }
    }
}

/// Words that are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopList {
    None,
    /// The closed word classes of 14 languages: `data/stopwords.tsv`.
    Closed,
}

impl StopList {
    /// The first 16 hexadecimal digits of the SHA-256 of the list.
    const DIGEST: &str = "5b24f2e4be9a40bb";

    /// The name of the list in a lexicon.
    pub(super) fn digest(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Closed => Self::DIGEST,
        }
    }

    fn has(self, word: &str) -> bool {
        self == Self::Closed && CLOSED.contains_key(word)
    }
}

/// The most languages that the list can have.
pub(crate) const CLOSED_LANGUAGES: usize = u16::BITS as usize;

/// The closed word classes of each language.
fn closed() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("../../data/stopwords.tsv")
        .lines()
        .filter_map(|line| line.split_once('\t'))
}

/// The words of closed classes in all languages.
pub(crate) fn closed_words() -> impl Iterator<Item = &'static str> {
    closed().flat_map(|(_, words)| words.split(' '))
}

/// The place in the list of the language whose closed classes most of these words are of, if any is of one.
pub(crate) fn closed_language_of<'a>(words: impl Iterator<Item = &'a str>) -> Option<usize> {
    let mut counts = [0_u64; CLOSED_LANGUAGES];
    for languages in words.filter_map(|word| CLOSED.get(word)) {
        (0..)
            .zip(&mut counts)
            .for_each(|(bit, count)| *count += u64::from(languages >> bit & 1));
    }
    let most = counts.iter().copied().max().filter(|most| *most > 0)?;
    counts.iter().position(|count| *count == most)
}

/// The name of the language in this place, and its words of closed classes.
pub(crate) fn closed_words_of(
    language: usize,
) -> (&'static str, impl Iterator<Item = &'static str>) {
    let (name, words) = closed().nth(language).unwrap_or_default();
    (name, words.split(' '))
}

/// Each word of a closed class, with the languages that have it: a bit for each, in the order of the list.
static CLOSED: LazyLock<HashMap<&str, u16>> = LazyLock::new(|| {
    let mut found = HashMap::new();
    for (language, (_, words)) in closed().enumerate() {
        words
            .split(' ')
            .for_each(|word| *found.entry(word).or_default() |= 1 << language);
    }
    found
});

/// The language whose closed classes most of the words are of; of several, the first in the list.
fn language_of<'a>(words: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    Some(closed().nth(closed_language_of(words)?)?.0)
}

/// The place in [`LANGUAGES`] of a language, written as in BCP 47 or ISO 639: `Ok(None)` if it has no stemmer, `Err` if this is no
/// language.
fn stemmer_of(tag: &str) -> Result<Option<usize>, ()> {
    let code = tag
        .trim()
        .split(['-', '_'])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let is_code =
        (2..=3).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_code || ["und", "mul", "mis", "zxx"].contains(&code.as_str()) {
        return Err(());
    }
    Ok(LANGUAGES
        .iter()
        .position(|(short, long, _)| *short == code || long.split(' ').any(|long| long == code)))
}

impl fmt::Display for StopList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::None {
            "none"
        } else {
            "closed"
        })
    }
}

impl FromStr for StopList {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "none" => Ok(Self::None),
            "closed" | Self::DIGEST => Ok(Self::Closed),
            _ => Err(()),
        }
    }
}

/// The first characters of a word.
fn first(word: &str, characters: u8) -> &str {
    let end = word.char_indices().nth(characters.into());
    &word[..end.map_or(word.len(), |(end, _)| end)]
}

/// What of a word counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stem {
    None,
    /// Its first characters.
    Prefix(u8),
    /// Its stem, by the Snowball stemmer of the language at this place of [`LANGUAGES`].
    Snowball(usize),
    /// Its stem in the text's own language, if there is a stemmer for that.
    Own,
}

/// The languages that `rust-stemmers` has, with their codes in ISO 639-1 and 639-2.
const LANGUAGES: [(&str, &str, Algorithm); 18] = [
    ("ar", "ara", Algorithm::Arabic),
    ("da", "dan", Algorithm::Danish),
    ("de", "deu ger", Algorithm::German),
    ("el", "ell gre", Algorithm::Greek),
    ("en", "eng", Algorithm::English),
    ("es", "spa", Algorithm::Spanish),
    ("fi", "fin", Algorithm::Finnish),
    ("fr", "fra fre", Algorithm::French),
    ("hu", "hun", Algorithm::Hungarian),
    ("it", "ita", Algorithm::Italian),
    ("nl", "nld dut", Algorithm::Dutch),
    ("no", "nor nb nob nn nno", Algorithm::Norwegian),
    ("pt", "por", Algorithm::Portuguese),
    ("ro", "ron rum", Algorithm::Romanian),
    ("ru", "rus", Algorithm::Russian),
    ("sv", "swe", Algorithm::Swedish),
    ("ta", "tam", Algorithm::Tamil),
    ("tr", "tur", Algorithm::Turkish),
];

impl Stem {
    /// What counts of a word; `stemmer` is that of its language.
    fn of<'a>(self, word: &'a str, stemmer: Option<&Stemmer>) -> Cow<'a, str> {
        match (self, stemmer) {
            (Self::Prefix(characters), _) => first(word, characters).into(),
            (_, Some(stemmer)) => stemmer.stem(word),
            _ => word.into(),
        }
    }
}

/// The stems of the words of a text that have a meaning of their own.
pub(crate) struct ContentStems(Option<Stemmer>);

impl ContentStems {
    /// Words of fewer characters have no stem, and no stem has fewer.
    const SHORTEST: u8 = 3;
    /// Without a stemmer, a stem has at most so many characters: `McNamee` and Mayfield (2004) found four or five to work well for
    /// languages with many endings.
    const LONGEST: u8 = 5;
    /// Without a stemmer, a stem ends with none of these, with which the endings of Slavic languages begin.
    const VOWELS: &str = "aeiouyáéíóúýàèìòùäëïöüåěůąęаеиоуыэюяіїєўйьъј";

    /// Those in the language of these words.
    pub(crate) fn in_language_of<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let stemmer = language_of(words).and_then(|language| stemmer_of(language).ok().flatten());
        Self(stemmer.map(|language| Stemmer::create(LANGUAGES[language].2)))
    }

    /// The stem of a word; `None` if it is short or of a closed class.
    pub(crate) fn stem<'a>(&self, word: &'a str) -> Option<Cow<'a, str>> {
        let is_long = word.chars().nth(usize::from(Self::SHORTEST) - 1).is_some();
        let is_content = is_long && !StopList::Closed.has(word);
        is_content.then(|| match &self.0 {
            Some(stemmer) => stemmer.stem(word),
            None => Self::beginning(word).into(),
        })
    }

    /// The stem of a word in a language without a stemmer.
    fn beginning(word: &str) -> &str {
        let stem = first(word, Self::LONGEST).trim_end_matches(|c| Self::VOWELS.contains(c));
        let shortest = first(word, Self::SHORTEST);
        if stem.len() < shortest.len() {
            shortest
        } else {
            stem
        }
    }
}

impl fmt::Display for Stem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Prefix(characters) => write!(f, "prefix:{characters}"),
            Self::Snowball(language) => write!(f, "snowball:{}", LANGUAGES[*language].0),
            Self::Own => f.write_str("snowball"),
        }
    }
}

impl FromStr for Stem {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name.split_once(':') {
            None if name == "none" => Ok(Self::None),
            None if name == "snowball" => Ok(Self::Own),
            Some(("prefix", characters)) => {
                let characters = characters.parse().ok().filter(|characters| *characters > 0);
                characters.map(Self::Prefix).ok_or(())
            }
            Some(("snowball", language)) => LANGUAGES
                .iter()
                .position(|(code, ..)| *code == language)
                .map(Self::Snowball)
                .ok_or(()),
            _ => Err(()),
        }
    }
}

/// Which words count, and what of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) stop: StopList,
    pub(super) stem: Stem,
    /// In characters.
    pub(super) min_len: usize,
}

impl Filter {
    pub(super) const fn new(stop: StopList, min_len: usize) -> Self {
        Self {
            stop,
            stem: Stem::None,
            min_len,
        }
    }
}

/// The words that count of a text, or of a paragraph.
#[derive(Debug, Default)]
pub(super) struct SignatureWords {
    /// Joined by blanks.
    joined: String,
    /// Where each ends.
    ends: Vec<usize>,
    /// The number of words up to the end of each sentence; no sentence is empty.
    sentences: Vec<usize>,
}

/// All words of a text: what several signatures of one text have in common. Computing it takes longer than what a signature
/// does with it.
#[derive(Debug)]
pub struct TextWords {
    words: SignatureWords,
    /// The number of sentences up to the end of each paragraph, and where it is in the text.
    paragraphs: Vec<(usize, Place)>,
    /// The place in [`LANGUAGES`] of its language, if that is known and there.
    language: OnceLock<Option<usize>>,
}

impl TextWords {
    /// The words of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let (text, mut all, mut paragraphs) =
            (cleaned(text), SignatureWords::default(), Vec::new());
        for (paragraph, place) in text.paragraphs() {
            for sentence in sentences(paragraph) {
                words(sentence, |word, _| all.push(word));
                all.end_sentence();
            }
            paragraphs.push((all.sentences.len(), place));
        }
        Self {
            words: all,
            paragraphs,
            language: OnceLock::new(),
        }
    }

    /// The same, in a language that is known: as in BCP 47 or ISO 639. It matters only to signatures with `stem=snowball`;
    /// otherwise they detect it.
    #[must_use]
    pub fn in_language(self, tag: Option<&str>) -> Self {
        match tag.map(stemmer_of) {
            Some(Ok(language)) => Self {
                language: language.into(),
                ..self
            },
            Some(Err(())) | None => self,
        }
    }

    /// The place in [`LANGUAGES`] of its [language](language_of), if that is there.
    fn detected(&self) -> Option<usize> {
        stemmer_of(language_of(self.words.iter())?).ok().flatten()
    }

    /// The sentences of the whole text.
    pub(super) fn whole(&self) -> Range<usize> {
        0..self.words.sentences.len()
    }

    /// The sentences of each paragraph, and where it is in the text.
    pub(super) fn paragraphs(&self) -> impl Iterator<Item = (Range<usize>, Place)> {
        let starts = std::iter::once(0).chain(self.paragraphs.iter().map(|(end, _)| *end));
        starts
            .zip(&self.paragraphs)
            .map(|(start, (end, place))| (start..*end, *place))
    }

    /// The words of these sentences that count.
    pub(super) fn kept(&self, sentences: Range<usize>, filter: Filter) -> SignatureWords {
        let language = match filter.stem {
            Stem::Snowball(language) => Some(language),
            Stem::Own => *self.language.get_or_init(|| self.detected()),
            Stem::None | Stem::Prefix(_) => None,
        };
        let stemmer = language.map(|language| Stemmer::create(LANGUAGES[language].2));
        let mut kept = SignatureWords::default();
        let all = self.words.sentences();
        for (first, count) in all.skip(sentences.start).take(sentences.len()) {
            for word in (first..first + count).map(|word| self.words.run(word, 1)) {
                if filter.stop.has(word) {
                    continue;
                }
                let stem = filter.stem.of(word, stemmer.as_ref());
                if !stem.is_empty() && stem.chars().count() >= filter.min_len {
                    kept.push(&stem);
                }
            }
            kept.end_sentence();
        }
        kept
    }
}

impl SignatureWords {
    /// Ends a sentence, unless it has no word.
    fn end_sentence(&mut self) {
        if self.sentences.last().copied().unwrap_or_default() < self.len() {
            self.sentences.push(self.len());
        }
    }

    fn push(&mut self, word: &str) {
        if !self.ends.is_empty() {
            self.joined.push(' ');
        }
        self.joined.push_str(word);
        self.ends.push(self.joined.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Each word.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|word| self.run(word, 1))
    }

    /// So many words from this one on, joined.
    pub(super) fn run(&self, first: usize, words: usize) -> &str {
        let start = first
            .checked_sub(1)
            .map_or(0, |before| self.ends[before] + 1);
        &self.joined[start..self.ends[first + words - 1]]
    }

    /// Every run of so many words; all words if there are fewer; none if there are none.
    pub(super) fn runs(&self, words: usize) -> impl Iterator<Item = &str> {
        let words = words.min(self.len());
        let runs = if self.is_empty() {
            0
        } else {
            self.len() - words + 1
        };
        (0..runs).map(move |first| self.run(first, words))
    }

    /// The first and the number of words of each sentence.
    pub(super) fn sentences(&self) -> impl Iterator<Item = (usize, usize)> {
        let starts = std::iter::once(0).chain(self.sentences.iter().copied());
        starts
            .zip(&self.sentences)
            .map(|(start, end)| (start, end - start))
    }
}
