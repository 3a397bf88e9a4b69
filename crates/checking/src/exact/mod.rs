//! The exact comparison of two texts: passages word by word.
//!
//! ```text
//! spans ──▶ passages ──▶ words of both ──anchors──▶ gaps ──shortest edit──▶ what is identical
//! ```
//!
//! A span is as long as its gems tell. A passage goes on as far as the texts agree (as the hits of BLAST do; Altschul et
//! al. 1990), and is divided where they differ at length. Sequences of words that occur once in both passages are anchors,
//! and only what lies between two anchors is searched for the shortest edit (Myers 1986), so time is nearly proportional to
//! length. The work is bounded: beyond the bound, words count as different, and the result says that it is a lower bound.

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
/// Letters of words that both texts have count one each; those of other words, of either text, take this away.
const OTHER: f64 = 0.25;
/// A part of a passage that counts less is left out, if there is a better one.
const LEAST: f64 = 25.0;
/// A part ends before words that take more away: [`JOINED`] words of five letters in each text.
const MOST_TAKEN: f64 = OTHER * 2.0 * 5.0 * JOINED as f64;
/// A passage is a phrase, short or long, if fewer letters are alike that no other passage shows. Beside passages that show so
/// many times as many letters, all of these say nothing more.
const PHRASES: [u64; 3] = [100, 50, 25];
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
    /// The part that is made of these pieces, of which there is one at least. Its words are not counted yet.
    fn part(&self, pieces: Stretch) -> Self {
        let pieces = &self.pieces[pieces];
        let (first, last) = (pieces[0], pieces[pieces.len() - 1]);
        let from_to = |first: Place, last: Place| Place {
            start: first.start,
            end: last.end,
        };
        Self {
            query: from_to(first.query, last.query),
            book: from_to(first.book, last.book),
            query_position: None,
            book_position: None,
            identity: self.identity,
            pieces: pieces.to_vec(),
        }
    }

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
    compared(words, &pairs, alike_parts)
}

/// Like [`exact`], for texts that say the same in other words: passages go on as far as both have words in common, in any
/// order.
#[must_use]
pub fn exact_in_other_words(query: &str, book: &str, spans: &[Span]) -> Exact {
    let words = Words::of(query, book);
    let pairs = widened(&words, &pairs(&words, spans));
    compared(words, &pairs, |passage, _| vec![passage])
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

fn compared(words: Words, pairs: &[Pair], parts: PartsOf) -> Exact {
    let mut comparing = Comparing {
        words,
        aligner: Aligner::default(),
        found: Vec::new(),
    };
    for (i, (query, book)) in pairs.iter().enumerate() {
        let next = pairs.get(i + 1).map(|(next, _)| next.start);
        comparing.add(query.clone(), book.clone(), next);
    }
    comparing.finish(parts)
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

/// The parts of a passage that are shown.
type PartsOf = fn(Passage, &Words) -> Vec<Passage>;

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

    fn finish(self, parts: PartsOf) -> Exact {
        let words = &self.words.query;
        let found = self.found.iter();
        let parts = found.flat_map(|found| parts(found.compared(&self.words), &self.words));
        let mut passages: Vec<Passage> = parts.collect();
        passages.sort_by_key(|passage| (passage.query.start, passage.query.end));
        for passage in &mut passages {
            for piece in &passage.pieces {
                for word in &words[within(words, piece.query)] {
                    passage.identity.add(piece.likeness, word.letters);
                }
            }
        }
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

/// The parts of a passage that are alike, or the whole if no word is. A gem stands for the text around it, which can be another.
fn alike_parts(passage: Passage, words: &Words) -> Vec<Passage> {
    let (mut parts, mut from) = (Vec::new(), 0);
    while from < passage.pieces.len() {
        let (score, part) = next_part(&passage.pieces, from, words);
        from = part.end;
        if score > 0.0 {
            parts.push((score, part));
        }
    }
    let Some(best) = parts.iter().map(|(score, _)| *score).reduce(f64::max) else {
        return vec![passage];
    };
    parts.retain(|(score, _)| *score >= best.min(LEAST));
    let parts = parts.into_iter().map(|(_, part)| passage.part(part));
    parts.collect()
}

/// The next pieces that are alike, up to where they count most, and how much that is. The search ends as BLAST's extensions do,
/// where too much is taken away.
fn next_part(all: &[Piece], from: usize, words: &Words) -> (f64, Stretch) {
    let (mut score, mut best, mut part) = (0.0, 0.0, from..all.len());
    for (at, piece) in all.iter().enumerate().skip(from) {
        if best <= 0.0 {
            (score, part.start) = (0.0, at);
        }
        let of_query = letters(&words.query, piece.query);
        let of_book = letters(&words.book, piece.book);
        score += match piece.likeness {
            Likeness::Different => -OTHER * (of_query + of_book),
            Likeness::Respelled | Likeness::Identical => of_query,
        };
        if score > best {
            (best, part.end) = (score, at + 1);
        } else if best > 0.0 && score < (best - MOST_TAKEN).max(0.0) {
            break;
        }
    }
    (best, part)
}

fn letters(words: &[Word], place: Place) -> f64 {
    let words = words[within(words, place)].iter();
    words.map(|word| f64::from(word.letters)).sum()
}

/// Leaves out the passages that say nothing beside the others: phrases, and what others show already.
fn leave_phrases_out(passages: &mut Vec<Passage>, words: &[Word]) {
    let mut by_likeness: Vec<usize> = (0..passages.len()).collect();
    by_likeness.sort_by_key(|at| Reverse(passages[*at].identity.alike()));
    let mut shown = vec![false; words.len()];
    let mut letters = vec![0_u64; passages.len()];
    for at in by_likeness {
        for word in not_shown(&passages[at], words, &shown) {
            letters[at] += u64::from(words[word].letters);
            shown[word] = true;
        }
    }
    let all: u64 = letters.iter().sum();
    let most = PHRASES.into_iter().find(|most| {
        let of_phrases: u64 = letters.iter().filter(|of| *of < most).sum();
        of_phrases < all && BESIDE * of_phrases <= all - of_phrases
    });
    if let Some(most) = most {
        let mut letters = letters.into_iter();
        passages.retain(|_| letters.next().is_some_and(|of| of >= most));
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
    /// The passage, whose words are not counted yet.
    fn compared(&self, words: &Words) -> Passage {
        let mut pieces = PassagePieces {
            words,
            done: Vec::new(),
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
            identity: Identity {
                lower_bound: !self.complete,
                ..Identity::default()
            },
            pieces: pieces.done,
        }
    }
}

/// The pieces of a passage as they come.
struct PassagePieces<'a> {
    words: &'a Words,
    done: Vec<Piece>,
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
