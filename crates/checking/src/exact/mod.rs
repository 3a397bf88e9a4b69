//! The exact comparison of two texts: passages word by word.
//!
//! ```text
//! spans ──▶ passages ──▶ words of both ──anchors──▶ gaps ──shortest edit──▶ what is identical
//! ```
//!
//! A span is as long as its gems tell. A passage goes on as far as the texts agree (as the hits of BLAST do; Altschul et
//! al. 1990). Sequences of words that occur once in both passages are anchors, and only what lies between two anchors is
//! searched for the shortest edit (Myers 1986), so time is nearly proportional to length. The work is bounded: beyond the
//! bound, words count as different, and the result says that it is a lower bound.

mod align;
mod widened;
mod words;

use std::cmp::Reverse;

use lapidary_gems::Place;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::align::{Aligner, WordRun};
use self::widened::{Pair, widened};
use self::words::{Word, Words, each_word};
use super::Span;
use lapidary_extract::position::PositionRange;

/// How many words beyond a span are compared to find where the passage begins and ends.
const BEYOND: usize = 400;
/// Passages with at most this many words between them are one.
const JOINED: usize = 40;
/// A passage is a phrase if fewer letters are alike that no other passage shows. Beside passages that show so many times as
/// many letters as all phrases, these say nothing more.
const PHRASE: u64 = 100;
const BESIDE: u64 = 4;

/// A piece gets no more words once it has this many bytes, so that a passage can be shown in rows.
const PIECE: u64 = 100;

/// Two texts compared word by word.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Exact {
    /// The passages, in the order of the query.
    pub passages: Vec<Passage>,
    /// All passages together. No word counts twice.
    pub total: Identity,
}

/// A passage of the query, the passage of the book that it matches, and how much of the two is identical.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Passage {
    /// The passage of the query.
    pub query: Place,
    /// The passage of the book.
    pub book: Place,
    /// Where readers find it in the query.
    #[serde(alias = "query_at", default, skip_serializing_if = "Option::is_none")]
    pub query_position: Option<PositionRange>,
    /// Where readers find it in the book.
    #[serde(alias = "book_at", default, skip_serializing_if = "Option::is_none")]
    pub book_position: Option<PositionRange>,
    /// How much of it is identical.
    #[serde(flatten)]
    pub identity: Identity,
    /// The pieces of both passages in order. What lies between two pieces is not a word.
    #[serde(skip)]
    pub pieces: Vec<Piece>,
}

impl Passage {
    /// Its size in memory, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.pieces.capacity() * size_of::<Piece>()
    }
}

/// How much of a passage is identical, in letters and digits.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Identity {
    /// Letters and digits of the query's passage.
    pub characters: u64,
    /// Those of them in words that the book has in the same order.
    pub identical: u64,
    /// Those in words that differ from the book's only in case, accents, hyphens or blanks, invisible characters, or
    /// letters that look alike; in a scrambled text, also in the order of their inner letters.
    pub respelled: u64,
    /// Whether more may be identical: a stretch without anything in common was too long to be searched completely.
    #[serde(
        alias = "at_least",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub lower_bound: bool,
}

impl Identity {
    /// The share of characters that are identical, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.of_all(self.identical)
    }

    /// The share of characters that are identical or only respelled, from 0 to 1.
    #[must_use]
    pub fn share_as_read(&self) -> f64 {
        self.of_all(self.alike())
    }

    fn alike(&self) -> u64 {
        self.identical + self.respelled
    }

    fn of_all(&self, part: u64) -> f64 {
        if self.characters == 0 {
            0.0
        } else {
            part as f64 / self.characters as f64
        }
    }

    fn add(&mut self, likeness: Likeness, letters: u32) {
        let letters = u64::from(letters);
        self.characters += letters;
        match likeness {
            Likeness::Identical => self.identical += letters,
            Likeness::Respelled => self.respelled += letters,
            Likeness::Different => {}
        }
    }
}

/// Consecutive words of both passages that are equally alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// How alike they are.
    pub likeness: Likeness,
    /// Where they are in the query. Empty if only the book has them.
    pub query: Place,
    /// Where they are in the book. Empty if only the query has them.
    pub book: Place,
}

/// How alike the words of a piece are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// They differ, or only one of the texts has them.
    #[default]
    Different,
    /// They differ only in case, accents, hyphens or blanks, invisible characters, or letters that look alike; in a scrambled text, also
    /// in the order of their inner letters.
    Respelled,
    /// They are the same.
    Identical,
}

/// Compares two texts word by word where spans match. Spans without bytes are left out, and spans with hardly anything
/// between them become one passage.
#[must_use]
pub fn exact(query: &str, book: &str, spans: &[Span]) -> Exact {
    let words = Words::of(query, book);
    let pairs = pairs(&words, spans);
    compared(words, &pairs)
}

/// Like [`exact`], for texts that say the same in other words: passages go on as far as both have words in common, in any
/// order.
#[must_use]
pub fn exact_in_other_words(query: &str, book: &str, spans: &[Span]) -> Exact {
    let words = Words::of(query, book);
    let pairs = widened(&words, &pairs(&words, spans));
    compared(words, &pairs)
}

/// The words of spans, in the order of the query.
fn pairs(words: &Words, spans: &[Span]) -> Vec<Pair> {
    let mut places: Vec<(Place, Place)> = spans
        .iter()
        .filter_map(|span| span.query.bytes.zip(span.book.bytes))
        .collect();
    places.sort_unstable_by_key(|(query, _)| (query.start, query.end));
    places
        .into_iter()
        .map(|(query, book)| (within(&words.query, query), within(&words.book, book)))
        .filter(|(query, book)| !query.is_empty() && !book.is_empty())
        .collect()
}

fn compared(words: Words, pairs: &[Pair]) -> Exact {
    let mut comparing = Comparing {
        words,
        aligner: Aligner::default(),
        found: Vec::new(),
    };
    for (i, (query, book)) in pairs.iter().enumerate() {
        let next = pairs.get(i + 1).map(|(next, _)| next.start);
        comparing.add(query.clone(), book.clone(), next);
    }
    comparing.finish()
}

/// Estimates the most memory, in bytes, that [`exact`] takes to compare these texts.
#[must_use]
pub fn memory_to_compare(query: &str, book: &str) -> usize {
    /// Bytes per word: where it is, its numbers, what is in maps if it is in the text once, its part of runs and pieces.
    const WORD: usize = 128;
    let mut words = 0;
    for text in [query, book] {
        each_word(text, |_, _| words += 1);
    }
    WORD * words
}

struct Comparing {
    words: Words,
    aligner: Aligner,
    found: Vec<WordPassage>,
}

/// A stretch of words: `start..end`.
type Stretch = std::ops::Range<usize>;

/// A passage, as words.
struct WordPassage {
    query: Stretch,
    book: Stretch,
    runs: Vec<WordRun>,
    complete: bool,
}

impl Comparing {
    /// Adds the passage around a span. The next span begins at the word `next` of the query.
    fn add(&mut self, query: Stretch, book: Stretch, next: Option<usize>) {
        // Not into the passage before it, nor into the next span.
        let floor = self
            .found
            .last()
            .map_or(0, |last| last.query.end)
            .min(query.start);
        let ceiling = next.unwrap_or(self.words.query.len()).max(query.end);
        let mut runs = self.before(floor..query.start, book.start);
        let (of_span, complete) = self.aligned(query.clone(), book.clone());
        runs.extend(of_span);
        runs.extend(self.behind(query.end..ceiling, book.end));
        let reach = |first: fn(&WordRun) -> usize, stretch: Stretch| {
            let start = runs
                .first()
                .map_or(stretch.start, |run| first(run).min(stretch.start));
            start
                ..runs
                    .last()
                    .map_or(stretch.end, |run| (first(run) + run.len).max(stretch.end))
        };
        let (query, book) = (reach(|run| run.query, query), reach(|run| run.book, book));
        match self.found.last_mut() {
            Some(last)
                if is_near(last.query.end, query.start) && is_near(last.book.end, book.start) =>
            {
                (last.query.end, last.book.end) = (query.end, book.end);
                last.runs.extend(runs);
                last.complete &= complete;
            }
            _ => self.found.push(WordPassage {
                query,
                book,
                runs,
                complete,
            }),
        }
    }

    fn finish(self) -> Exact {
        let compared = self.found.iter().map(|found| found.compared(&self.words));
        let mut passages: Vec<Passage> = compared.collect();
        let words = &self.words.query;
        leave_phrases_out(&mut passages, words);
        let mut all: Vec<Option<Likeness>> = vec![None; words.len()];
        for piece in passages.iter().flat_map(|passage| &passage.pieces) {
            for best in &mut all[within(words, piece.query)] {
                *best = (*best).max(Some(piece.likeness));
            }
        }
        let mut total = Identity {
            lower_bound: passages.iter().any(|passage| passage.identity.lower_bound),
            ..Identity::default()
        };
        for (word, likeness) in words.iter().zip(all) {
            if let Some(likeness) = likeness {
                total.add(likeness, word.letters);
            }
        }
        Exact { passages, total }
    }

    fn aligned(&mut self, query: Stretch, book: Stretch) -> (Vec<WordRun>, bool) {
        let (from_query, from_book) = (query.start, book.start);
        let (mut runs, complete) = self
            .aligner
            .align(&self.words.query_keys[query], &self.words.book_keys[book]);
        for run in &mut runs {
            run.query += from_query;
            run.book += from_book;
        }
        (runs, complete)
    }

    /// The runs before a span that belong to its passage.
    fn before(&mut self, query: Stretch, book: usize) -> Vec<WordRun> {
        let (a, b) = (&self.words.query_keys_back, &self.words.book_keys_back);
        let a = &a[a.len() - query.end..a.len() - query.start];
        let runs = beyond(&mut self.aligner, a, &b[b.len() - book..]);
        runs.into_iter()
            .rev()
            .map(|run| WordRun {
                query: query.end - run.query - run.len,
                book: book - run.book - run.len,
                ..run
            })
            .collect()
    }

    /// The runs behind a span that belong to its passage.
    fn behind(&mut self, query: Stretch, book: usize) -> Vec<WordRun> {
        let (a, b) = (
            &self.words.query_keys[query.clone()],
            &self.words.book_keys[book..],
        );
        let runs = beyond(&mut self.aligner, a, b);
        runs.into_iter()
            .map(|run| WordRun {
                query: query.start + run.query,
                book: book + run.book,
                ..run
            })
            .collect()
    }
}

/// Leaves out the passages that say nothing beside the others: phrases, and what others show already.
fn leave_phrases_out(passages: &mut Vec<Passage>, words: &[Word]) {
    let mut by_likeness: Vec<usize> = (0..passages.len()).collect();
    by_likeness.sort_by_key(|at| Reverse(passages[*at].identity.alike()));
    let mut shown = vec![false; words.len()];
    let mut is_phrase = vec![false; passages.len()];
    let (mut of_phrases, mut of_passages) = (0, 0);
    for at in by_likeness {
        let new = not_shown(&passages[at], words, &shown);
        let letters: u64 = new.iter().map(|word| u64::from(words[*word].letters)).sum();
        if letters < PHRASE {
            is_phrase[at] = true;
            of_phrases += letters;
        } else {
            new.into_iter().for_each(|word| shown[word] = true);
            of_passages += letters;
        }
    }
    if of_passages > 0 && BESIDE * of_phrases <= of_passages {
        let mut is_phrase = is_phrase.into_iter();
        passages.retain(|_| !is_phrase.next().unwrap_or_default());
    }
}

/// The words of a passage that are alike and not shown yet.
fn not_shown(passage: &Passage, words: &[Word], shown: &[bool]) -> Vec<usize> {
    let pieces = passage.pieces.iter();
    pieces
        .filter(|piece| piece.likeness != Likeness::Different)
        .flat_map(|piece| within(words, piece.query))
        .filter(|word| !shown[*word])
        .collect()
}

fn is_near(end: usize, start: usize) -> bool {
    end <= start && start - end <= JOINED
}

impl WordPassage {
    fn compared(&self, words: &Words) -> Passage {
        let identity = Identity {
            lower_bound: !self.complete,
            ..Identity::default()
        };
        let mut pieces = PassagePieces {
            words,
            done: Vec::new(),
            identity,
        };
        let (mut q, mut b) = (self.query.start, self.book.start);
        for run in &self.runs {
            pieces.gap(q..run.query, b..run.book);
            for i in 0..run.len {
                pieces.pair(run.query + i, run.book + i);
            }
            (q, b) = (run.query + run.len, run.book + run.len);
        }
        pieces.gap(q..self.query.end, b..self.book.end);
        Passage {
            query: place(&words.query, &self.query),
            book: place(&words.book, &self.book),
            query_position: None,
            book_position: None,
            identity: pieces.identity,
            pieces: pieces.done,
        }
    }
}

/// The pieces of a passage as they come.
struct PassagePieces<'a> {
    words: &'a Words,
    done: Vec<Piece>,
    identity: Identity,
}

impl PassagePieces<'_> {
    /// Adds a word that both texts have.
    fn pair(&mut self, query: usize, book: usize) {
        let (a, b) = (&self.words.query[query], &self.words.book[book]);
        let likeness = if a.written == b.written {
            Likeness::Identical
        } else {
            Likeness::Respelled
        };
        self.identity.add(likeness, a.letters);
        let piece = Piece {
            likeness,
            query: a.place(),
            book: b.place(),
        };
        match self
            .done
            .last_mut()
            .filter(|last| last.likeness == likeness && last.query.end - last.query.start < PIECE)
        {
            Some(last) => (last.query.end, last.book.end) = (piece.query.end, piece.book.end),
            None => self.done.push(piece),
        }
    }

    /// Adds the words between two runs.
    fn gap(&mut self, query: Stretch, book: Stretch) {
        if query.is_empty() && book.is_empty() {
            return;
        }
        // The same letters in other words: blanks or hyphens were put in or left out.
        let is_respelled = self.words.read_alike(&query, &book);
        let likeness = if is_respelled {
            Likeness::Respelled
        } else {
            Likeness::Different
        };
        for word in &self.words.query[query.clone()] {
            self.identity.add(likeness, word.letters);
        }
        let piece = Piece {
            likeness,
            query: place(&self.words.query, &query),
            book: place(&self.words.book, &book),
        };
        self.done.push(piece);
    }
}

/// The words that lie in a place at least in part.
fn within(words: &[Word], place: Place) -> Stretch {
    let start = words.partition_point(|word| word.end as u64 <= place.start);
    let end = words.partition_point(|word| (word.start as u64) < place.end);
    start..end.max(start)
}

/// The place of some words, or the empty one behind the word before.
fn place(words: &[Word], stretch: &Stretch) -> Place {
    match words.get(stretch.clone()) {
        Some([first, .., last]) => Place {
            start: first.start as u64,
            end: last.end as u64,
        },
        Some([only]) => only.place(),
        _ => {
            let at = stretch
                .start
                .checked_sub(1)
                .map_or(0, |before| words[before].end as u64);
            Place { start: at, end: at }
        }
    }
}

/// The leading runs of two sequences, as far as they agree.
fn beyond(aligner: &mut Aligner, query: &[u32], book: &[u32]) -> Vec<WordRun> {
    let (mut all, mut q, mut b) = (Vec::new(), 0, 0);
    loop {
        let ends = (query.len().min(q + BEYOND), book.len().min(b + BEYOND));
        let runs = belonging(aligner.align(&query[q..ends.0], &book[b..ends.1]).0);
        all.extend(runs.into_iter().map(|run| WordRun {
            query: q + run.query,
            book: b + run.book,
            ..run
        }));
        let reached = all
            .last()
            .map_or((0, 0), |run| (run.query + run.len, run.book + run.len));
        // Up to the end of what was compared: they may agree further.
        let goes_on = reached > (q, b) && (reached.0 == ends.0 || reached.1 == ends.1);
        (q, b) = reached;
        if !goes_on {
            return all;
        }
    }
}

/// The leading runs up to where the texts have most in common: each common word counts one, and each other word takes one
/// away. Words that unrelated texts have in common are far between.
fn belonging(mut runs: Vec<WordRun>) -> Vec<WordRun> {
    let (mut score, mut best, mut kept, mut q, mut b) = (0.0, 0.0, 0, 0, 0);
    for (i, run) in runs.iter().enumerate() {
        score += run.len as f64 - (run.query - q) as f64 - (run.book - b) as f64;
        (q, b) = (run.query + run.len, run.book + run.len);
        if score > best {
            (best, kept) = (score, i + 1);
        }
    }
    runs.truncate(kept);
    runs
}

#[cfg(test)]
mod tests;
