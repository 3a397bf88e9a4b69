//! Passages in other words: they go on as far as the texts have words in common, in any order.

use hashbrown::HashSet;

use super::words::{Word, Words};
use super::{BEYOND, JOINED, Stretch};

/// Shorter words are in any text.
const LETTERS: u32 = 4;
/// What a word takes away that the other passage does not have; each one that it has counts one.
const OTHER: f64 = 0.7;
/// What words may take away until the search for more ends.
const MOST_TAKEN: f64 = 6.0;
/// Words around the other passage that count as its own.
const AROUND: usize = 40;
/// So many pairs are widened, and a pair is compared with so many before it. More would be hidden in a report.
const MOST: usize = 1_000;
const BEFORE: usize = 48;

/// Two stretches that match: of the query and of the book.
pub(super) type Pair = (Stretch, Stretch);

/// Widens each pair as far as words are common, and makes one of those that are then near each other in both texts.
pub(super) fn widened(words: &Words, pairs: &[Pair]) -> Vec<Pair> {
    let query = (&words.query[..], &words.query_keys[..]);
    let book = (&words.book[..], &words.book_keys[..]);
    let mut all: Vec<Pair> = Vec::new();
    for (at, pair) in pairs.iter().enumerate() {
        let mut pair = pair.clone();
        // A wider passage of one text has more words of the other. More rounds find no more.
        for _ in 0..if at < MOST { 2 } else { 0 } {
            pair.0 = wider(query, &pair.0, book.1, &pair.1);
            pair.1 = wider(book, &pair.1, query.1, &pair.0);
        }
        let near = |of: &&mut Pair| is_near(&of.0, &pair.0) && is_near(&of.1, &pair.1);
        match all.iter_mut().rev().take(BEFORE).find(near) {
            Some(known) => *known = (both(&known.0, &pair.0), both(&known.1, &pair.1)),
            None => all.push(pair),
        }
    }
    all.sort_unstable_by_key(|(query, _)| (query.start, query.end));
    all
}

/// A stretch of a text with the words before and behind it that belong to it, by the words near the same end of the other
/// passage.
fn wider(
    (words, keys): (&[Word], &[u32]),
    stretch: &Stretch,
    other_keys: &[u32],
    other: &Stretch,
) -> Stretch {
    let around = other.start.saturating_sub(AROUND)..other_keys.len().min(other.end + AROUND);
    let at_start = around.start..around.end.min(other.start + BEYOND);
    let at_end = around.start.max(other.end.saturating_sub(BEYOND))..around.end;
    let [at_start, at_end] = [at_start, at_end]
        .map(|part| -> HashSet<u32> { other_keys[part].iter().copied().collect() });
    let is_in = |at: usize, other: &HashSet<u32>| {
        (words[at].letters >= LETTERS).then(|| other.contains(&keys[at]))
    };
    let before = (0..stretch.start).rev().map(|at| is_in(at, &at_start));
    let behind = (stretch.end..words.len()).map(|at| is_in(at, &at_end));
    stretch.start - belonging(before)..stretch.end + belonging(behind)
}

/// How many of the words that follow belong to a passage: up to where it has most in common, as `super::belonging`. Each tells
/// whether the other text has it; short words do not.
fn belonging(follow: impl Iterator<Item = Option<bool>>) -> usize {
    let (mut score, mut best, mut belong) = (0.0, 0.0, 0);
    for (at, has) in follow.take(BEYOND).enumerate() {
        score += match has {
            Some(true) => 1.0,
            Some(false) => -OTHER,
            None => 0.0,
        };
        if score > best {
            (best, belong) = (score, at + 1);
        } else if score < best - MOST_TAKEN {
            break;
        }
    }
    belong
}

fn is_near(one: &Stretch, other: &Stretch) -> bool {
    one.start <= other.end + JOINED && other.start <= one.end + JOINED
}

fn both(one: &Stretch, other: &Stretch) -> Stretch {
    one.start.min(other.start)..one.end.max(other.end)
}
