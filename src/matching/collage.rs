//! Whether a book is a collage: put together from parts of other people's books, so that these match it.
//!
//! Rights claimed for a collage would be claimed for the books that it was cut from. Anthologies and collected works are put
//! together, too, but from whole works, or from parts of one author's volumes.
//!
//! `cargo test --release --test corpus collages -- --nocapture` measures it on real books.

use std::collections::BTreeSet;

use super::Claimed;
use crate::index::Term;

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

/// A work that shares passages with a new book.
#[derive(Debug, Clone)]
pub struct SharedWork {
    /// The words of its authors' names; empty if they are not known.
    pub authors: BTreeSet<Term>,
    /// The largest share of its gems that the new book has, over all editions.
    pub share: f64,
    /// The parts of the new book that it has.
    pub passages: Vec<Claimed>,
}

impl SharedWork {
    /// Whether the new book has other passages of it than of another work. Many works have the same licence.
    fn is_apart_from(&self, other: &Self) -> bool {
        !Claimed::any_overlap(&self.passages, &other.passages)
    }

    /// Whether it has no author in common with another work, either. Names are compared by their words, because they are written
    /// in many ways.
    fn is_unrelated_to(&self, other: &Self) -> bool {
        self.authors.is_disjoint(&other.authors) && self.is_apart_from(other)
    }
}

/// Whether a book that shares passages with these works is a collage of them. `has_text`: whether its text is known.
#[must_use]
pub fn is_collage(works: &[SharedWork], has_text: bool) -> bool {
    let (whole, parts): (Vec<&SharedWork>, Vec<&SharedWork>) = works.iter().partition(|work| work.share >= WHOLE);
    // A story that is there as a whole is also a part of its author's collected works.
    let is_of_whole = |part: &SharedWork| whole.iter().any(|work| !work.authors.is_disjoint(&part.authors));
    let parts: Vec<&SharedWork> = parts.into_iter().filter(|part| !is_of_whole(part)).collect();
    let most = if has_text { PARTS } else { PARTS_OF_GEMS };
    number(&parts, SharedWork::is_apart_from) > MOST_PARTS
        || number(&parts, SharedWork::is_unrelated_to) >= most
        || number(&whole, SharedWork::is_unrelated_to) > MOST_WHOLE
}

/// The number of works of which each is `apart` from all others.
fn number(works: &[&SharedWork], apart: impl Fn(&SharedWork, &SharedWork) -> bool) -> usize {
    let mut chosen: Vec<&SharedWork> = Vec::new();
    for work in works {
        if chosen.iter().all(|other| apart(work, other)) {
            chosen.push(work);
        }
    }
    chosen.len()
}

#[cfg(test)]
mod tests {
    use lapidary_gems::{Place, Recipe};

    use super::{Claimed, SharedWork, is_collage};
    use crate::index::{Field, Term};
    use crate::matching::{Extent, Range};

    fn passage(recipe: &Recipe, start: u32, bytes: Option<u64>) -> Claimed {
        let bytes = bytes.map(|start| Place { start, end: start + 9 });
        let extent = Extent { gems: Range { start, end: start + 9 }, bytes };
        Claimed { recipe: recipe.name().clone(), extent }
    }

    fn works(of: &[(&str, f64)]) -> Vec<SharedWork> {
        let work = |(at, &(authors, share)): (u32, &(&str, f64))| SharedWork {
            authors: Term::words(Field::Author, authors).collect(),
            share,
            passages: vec![passage(&Recipe::hardened(), 10 * at, None)],
        };
        (0..).zip(of).map(work).collect()
    }

    #[test]
    fn anthologies_and_collected_works_are_no_collages() {
        let anthology: Vec<(String, f64)> = (0..20).map(|i| (format!("author{i}"), 0.9)).collect();
        let anthology: Vec<(&str, f64)> = anthology.iter().map(|(author, share)| (author.as_str(), *share)).collect();
        let volumes = [("Anton Chekhov", 0.2), ("Chekhov, A. P.", 0.1), ("Chekhov", 0.3), ("A. Chekhov", 0.2)];
        let stories = [("Doyle", 1.0), ("Poe", 1.0), ("Doyle", 0.1), ("Poe", 0.1), ("Verne", 0.1)];
        for of in [anthology.as_slice(), &volumes, &stories, &[("", 0.1), ("", 0.2)], &[]] {
            assert!(!is_collage(&works(of), true), "{of:?}");
        }
    }

    #[test]
    fn a_passage_that_many_works_have_is_no_collage() {
        let mut boilerplate = works(&[("Gogol", 0.4), ("Dickens", 0.4), ("Verne", 0.4)]);
        for work in &mut boilerplate {
            work.passages = vec![passage(&Recipe::hardened(), 3, None)];
        }
        assert!(!is_collage(&boilerplate, true));
    }

    /// Each recipe counts its own gems, so what two of them found is compared by the bytes of the text.
    #[test]
    fn passages_of_two_recipes_are_compared_in_the_text() {
        let (hardened, released) = (Recipe::hardened(), Recipe::released());
        let table = [
            ((&hardened, 10, Some(500)), (&released, 90, Some(505)), true),
            ((&hardened, 10, Some(500)), (&released, 10, Some(900)), false),
            ((&hardened, 10, Some(500)), (&hardened, 10, Some(900)), false),
            ((&hardened, 10, None), (&released, 10, None), false),
            ((&hardened, 10, None), (&hardened, 15, None), true),
            ((&hardened, 10, Some(500)), (&hardened, 15, None), true),
        ];
        for (a, b, expected) in table {
            let [one, other] = [a, b].map(|(recipe, start, bytes)| passage(recipe, start, bytes));
            assert_eq!((one.overlaps(&other), other.overlaps(&one)), (expected, expected), "{one:?} {other:?}");
        }
    }

    #[test]
    fn parts_of_unrelated_works_are_a_collage() {
        let three = [("Gogol", 0.1), ("Dickens", 0.05), ("Verne", 0.3)];
        assert!(is_collage(&works(&three), true) && is_collage(&works(&[("", 0.1), ("", 0.1), ("", 0.1)]), true));
        assert!(!is_collage(&works(&three[..2]), true) && is_collage(&works(&three[..2]), false));
        assert!(!is_collage(&works(&three[..1]), false));
        assert!(
            is_collage(&works(&[("Chekhov", 0.1); 13]), true) && !is_collage(&works(&[("Chekhov", 0.1); 12]), true)
        );
        let many: Vec<(String, f64)> = (0..25).map(|i| (format!("author{i}"), 0.9)).collect();
        let many: Vec<(&str, f64)> = many.iter().map(|(author, share)| (author.as_str(), *share)).collect();
        assert!(is_collage(&works(&many), true));
    }
}
