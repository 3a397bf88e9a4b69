//! Lexicons: in how many documents of a collection each word is, and how often.

use std::fmt;
use std::str::FromStr;

use hashbrown::HashMap;
use sha2::{Digest as _, Sha256};

use super::Signature;
use super::words::{Filter, Stem, StopList, TextWords};

/// The first line of a lexicon.
const FIRST: &str = "lapidary-lexicon 1";
/// The largest numbers accepted: products of a few of them stay exact.
const MOST_DOCUMENTS: u64 = u32::MAX as u64;
const MOST_WORDS: u64 = 1 << 48;
/// The longest word accepted as `min_len`.
const MOST_CHARACTERS: usize = 1_000;

/// What a collection says about the words of a language: the file that `lapidary lexicon count` writes. Some signatures
/// weigh words by it.
///
/// ```
/// use lapidary_gems::{LexiconCount, LexiconWords, Lexicon};
///
/// let words = LexiconWords::default();
/// let mut count = LexiconCount::new(words);
/// count.add(words.of("The treasure lay in a box."));
/// count.add(words.of("A box of treasure!"));
/// let lexicon: Lexicon = count.finish().parse()?;
/// assert_eq!(lexicon.name().len(), 16);
/// # Ok::<(), lapidary_gems::LexiconError>(())
/// ```
#[derive(Clone)]
pub struct Lexicon {
    written: String,
    name: String,
    documents: u64,
    words: u64,
    filter: LexiconWords,
    /// Where the line of each word starts.
    lines: Vec<usize>,
}

/// A word's documents and occurrences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frequency {
    /// Documents.
    pub(super) df: u64,
    /// Occurrences in all of them.
    pub(super) cf: u64,
}

/// Why a file is not a lexicon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a lexicon, as `lapidary lexicon count` writes it: line {line}: {what}")]
pub struct LexiconError {
    line: usize,
    what: &'static str,
}

impl fmt::Debug for Lexicon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lexicon")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl FromStr for Lexicon {
    type Err = LexiconError;

    fn from_str(written: &str) -> Result<Self, LexiconError> {
        let (head, rest) = LexiconHead::read(written)?;
        let lines = head.lines(written, rest)?;
        Ok(Self {
            written: written.to_owned(),
            name: hex::encode(&Sha256::digest(written)[..8]),
            documents: head.documents,
            words: head.words,
            filter: head.filter,
            lines,
        })
    }
}

fn wrong(line: usize, what: &'static str) -> LexiconError {
    LexiconError {
        line: line + 1,
        what,
    }
}

/// What the first six lines say.
struct LexiconHead {
    documents: u64,
    words: u64,
    filter: LexiconWords,
}

impl LexiconHead {
    /// The head of a lexicon, and the lines that follow it.
    fn read(written: &str) -> Result<(Self, &str), LexiconError> {
        let mut lines = written.splitn(7, '\n');
        if lines.next() != Some(FIRST) {
            return Err(wrong(0, "it must be `lapidary-lexicon 1`"));
        }
        let documents = number(1, field(1, lines.next(), "documents")?, MOST_DOCUMENTS)?;
        let words = number(2, field(2, lines.next(), "words")?, MOST_WORDS)?;
        let stem = field(3, lines.next(), "stem")?
            .parse()
            .map_err(|()| wrong(3, "there is no such stemmer"))?;
        let stop = field(4, lines.next(), "stop")?
            .parse()
            .map_err(|()| wrong(4, "there is no such stop list"))?;
        let min_len = field(5, lines.next(), "min_len")?;
        let min_len = number(5, min_len, MOST_CHARACTERS as u64)? as usize;
        if documents == 0 {
            return Err(wrong(1, "it counts no document"));
        }
        let filter = LexiconWords(Filter {
            stop,
            stem,
            min_len,
        });
        let head = Self {
            documents,
            words,
            filter,
        };
        match lines.next() {
            Some(rest) if rest.is_empty() || rest.ends_with('\n') => Ok((head, rest)),
            _ => Err(wrong(
                written.matches('\n').count(),
                "the file ends within it",
            )),
        }
    }

    /// Where the line of each word starts.
    fn lines(&self, written: &str, rest: &str) -> Result<Vec<usize>, LexiconError> {
        let mut lines = Vec::new();
        let mut start = written.len() - rest.len();
        let mut before = "";
        for (line, at) in rest.split_terminator('\n').zip(6..) {
            let (word, Frequency { df, cf }) =
                entry(line).ok_or_else(|| wrong(at, "a word has two numbers"))?;
            if word <= before {
                return Err(wrong(at, "words must be in alphabetical order"));
            }
            if !(1..=self.documents).contains(&df) || !(df..=self.words).contains(&cf) {
                return Err(wrong(at, "a word cannot have such numbers"));
            }
            lines.push(start);
            (start, before) = (start + line.len() + 1, word);
        }
        Ok(lines)
    }
}

/// The value of a line of the head.
fn field<'a>(at: usize, line: Option<&'a str>, key: &str) -> Result<&'a str, LexiconError> {
    line.and_then(|line| line.strip_prefix(key))
        .and_then(|rest| rest.strip_prefix(' '))
        .ok_or_else(|| {
            wrong(
                at,
                "it must be one of documents, words, stem, stop and min_len, in this order",
            )
        })
}

fn number(at: usize, value: &str, most: u64) -> Result<u64, LexiconError> {
    decimal(value)
        .filter(|number| *number <= most)
        .ok_or_else(|| wrong(at, "it has no such number"))
}

/// A number in its shortest form.
fn decimal(written: &str) -> Option<u64> {
    let is_shortest = written == "0" || !written.starts_with(['0', '+']);
    written.parse().ok().filter(|_| is_shortest)
}

fn entry(line: &str) -> Option<(&str, Frequency)> {
    let (word, numbers) = line.split_once('\t')?;
    let (df, cf) = numbers.split_once('\t')?;
    let (df, cf) = (decimal(df)?, decimal(cf)?);
    (!word.is_empty()).then_some((word, Frequency { df, cf }))
}

impl Lexicon {
    /// Its name: the first 16 hexadecimal digits of the file's SHA-256.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The number of documents that it counts.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The number of all counted words.
    pub(super) fn words(&self) -> u64 {
        self.words
    }

    /// Which words it counts.
    #[must_use]
    pub fn counted(&self) -> LexiconWords {
        self.filter
    }

    pub(super) fn filter(&self) -> Filter {
        self.filter.0
    }

    /// The number of different words in it.
    #[must_use]
    pub fn different(&self) -> usize {
        self.lines.len()
    }

    /// A word by its place in alphabetical order.
    pub(super) fn entry(&self, place: usize) -> (&str, Frequency) {
        let line = self.written[self.lines[place]..]
            .split('\n')
            .next()
            .unwrap_or_default();
        entry(line).unwrap_or(("", Frequency { df: 1, cf: 1 }))
    }

    /// A word's place.
    pub(super) fn find(&self, word: &str) -> Option<usize> {
        self.lines
            .binary_search_by_key(&word, |line| {
                let mut columns = self.written[*line..].split('\t');
                columns.next().unwrap_or_default()
            })
            .ok()
    }

    /// A word's frequency. One that is not in the lexicon is only in the text that has it `here` times.
    pub(super) fn frequency(&self, word: &str, here: u64) -> Frequency {
        self.find(word)
            .map_or(Frequency { df: 1, cf: here }, |place| self.entry(place).1)
    }

    /// The inverse document frequency: ln(N/df) (Spärck Jones 1972).
    pub(super) fn idf(&self, of: Frequency) -> f64 {
        (self.documents as f64 / of.df as f64).ln()
    }

    /// The residual inverse document frequency: what IDF has over the one that a word scattered at random would have
    /// (Church and Gale 1995).
    pub(super) fn ridf(&self, of: Frequency) -> f64 {
        self.idf(of) + (-(-(of.cf as f64) / self.documents as f64).exp_m1()).ln()
    }
}

/// Which words a lexicon counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LexiconWords(Filter);

impl Default for LexiconWords {
    /// Words of at least three characters that are not in the stop list `closed`.
    fn default() -> Self {
        Self(Signature::CONTENT)
    }
}

impl LexiconWords {
    /// Words not in the stop list `stop` (`closed` or `none`), as stemmed by `stem` (`none`, `prefix:4`, `snowball:en`, `snowball`),
    /// of at least `min_len` characters; `None` if there is no such list or stemmer.
    #[must_use]
    pub fn new(stop: &str, stem: &str, min_len: usize) -> Option<Self> {
        let (stop, stem): (StopList, Stem) = (stop.parse().ok()?, stem.parse().ok()?);
        (1..=MOST_CHARACTERS)
            .contains(&min_len)
            .then_some(Self(Filter {
                stop,
                stem,
                min_len,
            }))
    }

    /// Counts the words of a document.
    #[must_use]
    pub fn of(&self, text: &str) -> DocumentWords {
        let all = TextWords::of(text);
        let words = all.kept(all.whole(), self.0);
        let counts = counts(words.iter())
            .into_iter()
            .map(|(word, count)| (word.to_owned(), count));
        DocumentWords {
            all: words.len() as u64,
            counts: counts.collect(),
        }
    }
}

/// How often each word is in a document.
#[derive(Debug, Clone)]
pub struct DocumentWords {
    all: u64,
    counts: Vec<(String, u64)>,
}

/// The words of documents, counted one document after the other.
#[derive(Debug)]
pub struct LexiconCount {
    filter: LexiconWords,
    documents: u64,
    words: u64,
    /// Documents and occurrences of each word.
    of_words: HashMap<String, (u64, u64)>,
}

impl LexiconCount {
    /// No document yet.
    #[must_use]
    pub fn new(words: LexiconWords) -> Self {
        Self {
            filter: words,
            documents: 0,
            words: 0,
            of_words: HashMap::new(),
        }
    }

    /// Adds a document.
    pub fn add(&mut self, document: DocumentWords) {
        self.documents += 1;
        self.words += document.all;
        for (word, count) in document.counts {
            let (df, cf) = self.of_words.entry(word).or_insert((0, 0));
            (*df, *cf) = (*df + 1, *cf + count);
        }
    }

    /// The first lines of the lexicon of the documents so far. The lines of its words follow.
    #[must_use]
    pub fn head(&self) -> String {
        let Filter {
            stop,
            stem,
            min_len,
        } = self.filter.0;
        let stop = stop.digest();
        let Self {
            documents, words, ..
        } = self;
        format!(
            "{FIRST}\ndocuments {documents}\nwords {words}\nstem {stem}\nstop {stop}\nmin_len {min_len}\n"
        )
    }

    /// The number of different words since the last [`LexiconCount::take`].
    #[must_use]
    pub fn different(&self) -> usize {
        self.of_words.len()
    }

    /// The words counted since the last call: each with its documents and its occurrences, in alphabetical order. The
    /// memory that they took is free again, so that a caller can count more words than fit.
    pub fn take(&mut self) -> Vec<(String, u64, u64)> {
        let of_words = std::mem::take(&mut self.of_words);
        let mut words: Vec<_> = of_words
            .into_iter()
            .map(|(word, (df, cf))| (word, df, cf))
            .collect();
        words.sort_unstable();
        words
    }

    /// The line of a word in a lexicon; empty if only one document has it, as a lexicon has no such words.
    #[must_use]
    pub fn line(word: &str, documents: u64, occurrences: u64) -> String {
        if documents < 2 {
            String::new()
        } else {
            format!("{word}\t{documents}\t{occurrences}\n")
        }
    }

    /// The lexicon, if all words fitted into memory.
    #[must_use]
    pub fn finish(mut self) -> String {
        let mut lexicon = self.head();
        for (word, df, cf) in self.take() {
            lexicon.push_str(&Self::line(&word, df, cf));
        }
        lexicon
    }
}

/// How often each word is there.
pub(super) fn counts<'a>(words: impl Iterator<Item = &'a str>) -> HashMap<&'a str, u64> {
    let mut counts = HashMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    counts
}
