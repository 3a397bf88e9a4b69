//! Whether a book is a collage: put together from parts of other people's books, so that these match it.
//!
//! Rights claimed for a collage would be claimed for the books that it was cut from. Anthologies and collected works are put
//! together, too, but from whole works, or from parts of one author's volumes.
//!
//! `cargo test --release --test program -- --nocapture collages` measures it on real books.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use lapidary_gems::Place;

use lapidary_store::{Field, Term};

/// A work is there as a whole if a book shares at least this part of its gems, and else in part.
const WHOLE: f64 = 0.5;
/// Number of unrelated works of which a collage has parts. Of books whose text is not known, two are enough: such a list
/// of gems can be put together from anything.
const PARTS: usize = 3;
const PARTS_OF_GEMS: usize = 2;
/// Parts of more works than this are a collage, even of works of one author.
const MOST_PARTS: usize = 12;
/// Whole works by more unrelated authors than this are a collage, too.
const MOST_WHOLE: usize = 24;
/// Shorter words of names are initials and particles.
const SHORTEST_NAME: usize = 3;

/// A work that shares passages with a new book.
#[derive(Debug, Clone)]
pub struct SharedWork {
    /// The words of each of its authors' names; empty if they are not known.
    pub authors: Vec<BTreeSet<Term>>,
    /// The largest share of its gems that the new book has, over all editions.
    pub share: f64,
    /// Where in the new book the gems are that both have.
    pub gems: Vec<Place>,
    /// With so many gems, or all that it shares if these are fewer, it is there beside another work.
    pub passage: usize,
}

impl SharedWork {
    /// Whether it shares a passage that is nowhere among these parts of the new book, which do not overlap and are in order. What
    /// the works of an editor begin with, a licence or a preface, is a part of all of them; and passages of several works can
    /// alternate.
    fn is_beside(&self, parts: &[Place]) -> bool {
        let beside = self.gems.iter().filter(|gem| {
            let part = parts.binary_search_by(|part| match () {
                () if part.end <= gem.start => Ordering::Less,
                () if gem.end <= part.start => Ordering::Greater,
                () => Ordering::Equal,
            });
            part.is_err()
        });
        let beside = beside.count();
        beside > 0 && beside >= self.passage.min(self.gems.len())
    }

    /// Whether an author of it may be one of another work. Names are written in many ways: with initials, in another order, with
    /// titles. Most words of the shorter one must be the same.
    fn has_author_of(&self, other: &Self) -> bool {
        self.authors
            .iter()
            .any(|author| other.authors.iter().any(|theirs| is_same(author, theirs)))
    }
}

fn is_same(a: &BTreeSet<Term>, b: &BTreeSet<Term>) -> bool {
    2 * a.intersection(b).count() > a.len().min(b.len())
}

/// The words of each name that tell it apart.
#[must_use]
pub fn name_words(authors: &[String]) -> Vec<BTreeSet<Term>> {
    authors
        .iter()
        .map(|author| {
            Term::words(Field::Author, author)
                .filter(|word| word.text().chars().count() >= SHORTEST_NAME)
                .collect()
        })
        .collect()
}

/// Whether a book that shares passages with these works is a collage of them. `has_text`: whether its text is known.
#[must_use]
pub fn is_collage(works: &[SharedWork], has_text: bool) -> bool {
    let (whole, parts): (Vec<&SharedWork>, Vec<&SharedWork>) =
        works.iter().partition(|work| work.share >= WHOLE);
    // A story that is there as a whole is also a part of its author's collected works.
    let of_whole = joined(whole.iter().flat_map(|work| &work.gems));
    let parts: Vec<&SharedWork> = parts
        .into_iter()
        .filter(|part| part.is_beside(&of_whole))
        .collect();
    let most = if has_text { PARTS } else { PARTS_OF_GEMS };
    let ([parts, unrelated_parts], [_, unrelated_whole]) = (numbers(&parts), numbers(&whole));
    parts > MOST_PARTS || unrelated_parts >= most || unrelated_whole > MOST_WHOLE
}

/// The number of works of which each has passages beside each other one's, and the number of those that have no author in
/// common, either.
fn numbers(works: &[&SharedWork]) -> [usize; 2] {
    let joined: Vec<Vec<Place>> = works.iter().map(|work| joined(&work.gems)).collect();
    let beside: Vec<Vec<bool>> = works
        .iter()
        .map(|work| joined.iter().map(|parts| work.is_beside(parts)).collect())
        .collect();
    let are_alike = |a: usize, b: usize| !(beside[a][b] && beside[b][a]);
    [
        number(works.len(), are_alike),
        number(works.len(), |a: usize, b: usize| {
            are_alike(a, b) || works[a].has_author_of(works[b])
        }),
    ]
}

/// The size of a set of `of` works of which no two are `alike`. Works that are like few others are chosen first: one that is like
/// many, such as an anthology, must not stand for them.
fn number(of: usize, alike: impl Fn(usize, usize) -> bool) -> usize {
    let mut works: Vec<usize> = (0..of).collect();
    works.sort_by_cached_key(|&work| {
        (0..of)
            .filter(|&other| other != work && alike(work, other))
            .count()
    });
    let mut chosen: Vec<usize> = Vec::new();
    for work in works {
        if chosen.iter().all(|&other| !alike(work, other)) {
            chosen.push(work);
        }
    }
    chosen.len()
}

/// The same places in order, with those joined that overlap.
fn joined<'a>(places: impl IntoIterator<Item = &'a Place>) -> Vec<Place> {
    let mut places: Vec<Place> = places.into_iter().copied().collect();
    places.sort_unstable_by_key(|place| (place.start, place.end));
    places.dedup_by(|next, last| {
        let touches = next.start < last.end;
        last.end = if touches {
            last.end.max(next.end)
        } else {
            last.end
        };
        touches
    });
    places
}

#[cfg(test)]
mod tests {
    use super::{Place, SharedWork, is_collage, name_words};

    /// A place in a book that is `at` tens of gems from its beginning.
    fn places(from: u64, count: u64) -> Vec<Place> {
        (from..from + count)
            .map(|at| Place {
                start: 100 * at,
                end: 100 * at + 30,
            })
            .collect()
    }

    fn work(authors: &[&str], share: f64, gems: Vec<Place>) -> SharedWork {
        let authors: Vec<String> = authors.iter().map(|author| (*author).to_owned()).collect();
        SharedWork {
            authors: name_words(&authors),
            share,
            gems,
            passage: 6,
        }
    }

    /// Works of which each has ten gems of its own.
    fn works(of: &[(&str, f64)]) -> Vec<SharedWork> {
        (0..)
            .zip(of)
            .map(|(at, &(author, share))| work(&[author], share, places(10 * at, 10)))
            .collect()
    }

    #[test]
    fn anthologies_and_collected_works_are_no_collages() {
        let anthology: Vec<(String, f64)> = (0..20).map(|i| (format!("author{i}"), 0.9)).collect();
        let anthology: Vec<(&str, f64)> = anthology
            .iter()
            .map(|(author, share)| (author.as_str(), *share))
            .collect();
        let volumes = [
            ("Anton Chekhov", 0.2),
            ("Chekhov, A. P.", 0.1),
            ("Chekhov", 0.3),
            ("A. Chekhov", 0.2),
        ];
        for of in [anthology.as_slice(), &volumes, &[("", 0.1), ("", 0.2)], &[]] {
            assert!(!is_collage(&works(of), true), "{of:?}");
        }
        // Each story is also a part of collected works, and another anthology has two of them.
        let mut stories = works(&[
            ("Doyle", 1.0),
            ("Poe", 1.0),
            ("Verne", 0.8),
            ("Doyle", 0.1),
            ("Poe", 0.1),
            ("Verne", 0.1),
        ]);
        for at in 3..6 {
            stories[at].gems = stories[at - 3].gems.clone();
        }
        stories.push(work(&["Somebody Else"], 0.1, places(0, 20)));
        assert!(!is_collage(&stories, true));
    }

    #[test]
    fn a_passage_that_many_works_have_is_no_collage() {
        let mut boilerplate = works(&[("Gogol", 0.4), ("Dickens", 0.4), ("Verne", 0.4)]);
        for work in &mut boilerplate {
            work.gems = places(3, 90);
        }
        assert!(!is_collage(&boilerplate, true));
        // It does not hide what is beside it.
        for (at, work) in (1..).zip(&mut boilerplate) {
            work.gems.extend(places(100 * at, 6));
        }
        assert!(is_collage(&boilerplate, true));
    }

    #[test]
    fn whole_works_hide_no_parts_of_others() {
        let poems = ["John", "William", "Charles", "Mary"].map(|author| (author, 1.0));
        let novels = [
            ("John Keats", 0.1),
            ("William Blake", 0.1),
            ("Charles Dickens", 0.1),
            ("Mary Shelley", 0.1),
        ];
        assert!(is_collage(&works(&[&poems[..], &novels].concat()), true));
    }

    #[test]
    fn an_anthology_stands_for_none_of_its_authors() {
        let novels = [("Keats", 0.1), ("Blake", 0.1), ("Dickens", 0.1)];
        let mut found = works(&novels);
        found.insert(
            0,
            work(&["Keats", "Blake", "Dickens"], 0.1, places(500, 10)),
        );
        assert!(is_collage(&found, true));
        assert!(!is_collage(&found[..3], true));
    }

    #[test]
    fn passages_of_several_works_can_alternate() {
        let every_third = |first: usize| places(0, 60).into_iter().skip(first).step_by(3).collect();
        let found: Vec<SharedWork> = (0..)
            .zip(["Gogol", "Dickens", "Verne"])
            .map(|(at, of)| work(&[of], 0.1, every_third(at)))
            .collect();
        assert!(is_collage(&found, true));
    }

    #[test]
    fn names_are_of_one_author_if_most_of_their_words_are_the_same() {
        let same = [
            ("Doyle, Arthur Conan", "Sir Arthur Conan Doyle"),
            ("A. Conan Doyle", "Doyle"),
            ("Толстой Лев Николаевич", "Лев Толстой"),
            ("Marx, Karl; Engels, Friedrich", "Karl Marx"),
        ];
        let others = [
            ("John Keats", "John Donne"),
            ("Гоголь Николай Васильевич", "Ломоносов Михаил Васильевич"),
            ("", ""),
        ];
        for (a, b) in same {
            assert!(!is_collage(&works(&[(a, 0.1), (b, 0.1)]), false), "{a} {b}");
        }
        for (a, b) in others {
            assert!(is_collage(&works(&[(a, 0.1), (b, 0.1)]), false), "{a} {b}");
        }
    }

    #[test]
    fn parts_of_unrelated_works_are_a_collage() {
        let three = [("Gogol", 0.1), ("Dickens", 0.05), ("Verne", 0.3)];
        assert!(
            is_collage(&works(&three), true)
                && is_collage(&works(&[("", 0.1), ("", 0.1), ("", 0.1)]), true)
        );
        assert!(!is_collage(&works(&three[..2]), true) && is_collage(&works(&three[..2]), false));
        assert!(!is_collage(&works(&three[..1]), false));
        assert!(
            is_collage(&works(&[("Chekhov", 0.1); 13]), true)
                && !is_collage(&works(&[("Chekhov", 0.1); 12]), true)
        );
        let many: Vec<(String, f64)> = (0..25).map(|i| (format!("author{i}"), 0.9)).collect();
        let many: Vec<(&str, f64)> = many
            .iter()
            .map(|(author, share)| (author.as_str(), *share))
            .collect();
        assert!(is_collage(&works(&many), true));
    }
}
