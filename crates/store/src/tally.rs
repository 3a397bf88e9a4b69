//! How many of a text's gems each book has.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use lapidary_gems::Gem;

use super::{BookNo, Library};

/// What [`Snapshot::tally`](super::Snapshot::tally) leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits<'a> {
    /// A gem in more books of a library than this is common there; see also [`Limits::cap_of`].
    pub cap: u32,
    /// Books with fewer of the gems are left out.
    pub fewest: u32,
    /// Count only the books of this library.
    pub library: Option<&'a Library>,
    /// Libraries whose books are only information. If there are too many books, theirs leave no others out.
    pub informing: &'a BTreeSet<Library>,
}

impl Limits<'_> {
    /// A gem in more books of this library than this is common there.
    #[must_use]
    pub fn cap_of(&self, library: &Library) -> u32 {
        if self.informing.contains(library) {
            self.cap.min(INFORMING_CAP)
        } else {
            self.cap
        }
    }

    /// Leaves out nothing.
    pub const NONE: Self = Self {
        cap: u32::MAX,
        fewest: 0,
        library: None,
        informing: &BTreeSet::new(),
    };
}

/// The largest cap of a library whose books are only information: about as many of them are compared. So nobody makes the
/// checks of others slower by adding the same gems again and again.
const INFORMING_CAP: u32 = 50;
/// Maximum number of books in the tally of a check, of all libraries together.
pub const MOST_CANDIDATES: usize = 10_000;
/// Maximum number besides these, of all libraries whose books are only information.
const MOST_INFORMING: usize = 300;
/// As many books a library may have in any case, if its books decide, and if they are only information.
const CANDIDATES_OF_ONE: usize = 100;
const INFORMING_OF_ONE: usize = 1;

/// The result of [`Snapshot::tally`](super::Snapshot::tally): the libraries that have a common gem, or a book with enough of the gems.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The libraries, in order of creation.
    pub libraries: Vec<LibraryTally>,
}

impl Tally {
    /// Leaves out books, if there are too many.
    #[must_use]
    pub fn within_bounds(mut self, informing: &BTreeSet<Library>) -> Self {
        let informs: Vec<bool> = self
            .libraries
            .iter()
            .map(|of| informing.contains(&of.library))
            .collect();
        let mut books: Vec<_> = self
            .libraries
            .iter_mut()
            .map(|of| std::mem::take(&mut of.books))
            .collect();
        let left_out = keep_most(&mut books, &informs);
        for (of, (books, left_out)) in self
            .libraries
            .iter_mut()
            .zip(books.into_iter().zip(left_out))
        {
            (of.books, of.left_out) = (books, left_out);
        }
        self
    }
}

/// The tally of one library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryTally {
    /// The library.
    pub library: Library,
    /// Books with the number of gems each has, sorted by book number.
    pub books: Vec<(BookNo, u32)>,
    /// The gems in more books than the cap, in query order.
    pub common: Vec<Gem>,
    /// Number of books with a posting for each counted gem, sorted by gem. Gems without a posting are absent.
    pub holders: Vec<(Gem, u32)>,
    /// Number of books with enough of the gems that are left out because there are too many (`MOST_CANDIDATES`): those with the
    /// fewest gems. How many others have never matters to a library that has fewer than its part. Those that are only
    /// information are not counted.
    pub left_out: usize,
}

impl LibraryTally {
    /// An empty tally.
    #[must_use]
    pub fn empty(library: Library) -> Self {
        Self {
            library,
            books: Vec::new(),
            common: Vec::new(),
            holders: Vec::new(),
            left_out: 0,
        }
    }
}

/// Shares `most` among those that need so many: nobody gets less because another needs more than its part, and each gets
/// `of_one` in any case.
#[must_use]
pub fn fair_shares(needs: &[usize], most: usize, of_one: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_unstable_by_key(|at| needs[*at]);
    let (mut left, mut shares) = (most, vec![0; needs.len()]);
    for (done, at) in order.into_iter().enumerate() {
        let part = left / (needs.len() - done);
        shares[at] = needs[at].min(part.max(of_one));
        left = left.saturating_sub(shares[at]);
    }
    shares
}

/// Keeps the books with the most gems, if the libraries have too many candidates. Returns how many of each are left out.
/// `informs`: whose books are only information. Theirs are not counted, and take nothing from the others.
pub fn keep_most(libraries: &mut [Vec<(BookNo, u32)>], informs: &[bool]) -> Vec<usize> {
    let needs = libraries.iter().zip(informs).map(|(books, informs)| {
        if *informs {
            (0, books.len())
        } else {
            (books.len(), 0)
        }
    });
    let (needed, informing): (Vec<_>, Vec<_>) = needs.unzip();
    let shares = fair_shares(&needed, MOST_CANDIDATES, CANDIDATES_OF_ONE);
    let left_out = needed
        .iter()
        .zip(&shares)
        .map(|(need, share)| need - share)
        .collect();
    let aside = fair_shares(&informing, MOST_INFORMING, INFORMING_OF_ONE);
    for (books, (share, aside)) in libraries.iter_mut().zip(shares.into_iter().zip(aside)) {
        let share = share + aside;
        if books.len() > share {
            books.sort_unstable_by_key(|(book, count)| (Reverse(*count), *book));
            books.truncate(share);
            books.sort_unstable();
        }
    }
    left_out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_others_need_takes_nothing_from_a_fair_part(
            needs in prop::collection::vec(0..500_usize, 0..9),
            most in 0..1_000_usize,
            flood in 0..100_000_usize,
        ) {
            let shares = fair_shares(&needs, most, 10);
            prop_assert!(shares.iter().zip(&needs).all(|(share, need)| share <= need && *share >= (*need).min(10)));
            prop_assert!(shares.iter().sum::<usize>() <= most.max(10 * needs.len()) + 10 * needs.len());
            if needs.iter().sum::<usize>() <= most {
                prop_assert_eq!(&shares, &needs, "all is enough");
            }
            let part = most / (needs.len() + 1);
            let flooded = fair_shares(&[&needs[..], &[flood]].concat(), most, 10);
            prop_assert!(flooded.iter().zip(&needs).all(|(share, need)| *share >= (*need).min(part)));
        }
    }

    #[test]
    fn a_flood_of_one_library_displaces_no_book_of_another() {
        let flood: Vec<(BookNo, u32)> = (0..20_000)
            .map(|book| (BookNo(book), 50 + book % 2))
            .collect();
        let few = vec![(BookNo(30_000), 1), (BookNo(30_001), 2)];
        let mut libraries = [flood, few.clone()];
        assert_eq!(
            keep_most(&mut libraries, &[false; 2]),
            [20_000 - (MOST_CANDIDATES - 2), 0]
        );
        assert_eq!(libraries[1], few);
        assert!(
            libraries[0].iter().all(|(_, count)| *count == 51),
            "those with the most gems"
        );
        assert!(libraries[0].is_sorted());
    }

    #[test]
    fn what_only_informs_takes_nothing_from_what_decides() {
        let books = |first: u32, count: u32| {
            (first..first + count)
                .map(|book| (BookNo(book), 50))
                .collect::<Vec<_>>()
        };
        let deciding = [books(0, 12_000), books(12_000, 10)];
        let mut alone = deciding.clone();
        let left_out = keep_most(&mut alone, &[false; 2]);
        let mut flooded = [
            books(20_000, 30_000),
            deciding[0].clone(),
            deciding[1].clone(),
            books(60_000, 7),
        ];
        assert_eq!(
            keep_most(&mut flooded, &[true, false, false, true])[1..3],
            left_out
        );
        assert_eq!(flooded[1..3], alone);
        assert_eq!(
            [flooded[0].len(), flooded[3].len()],
            [MOST_INFORMING - 7, 7]
        );
        let left_out = keep_most(&mut [books(0, 30_000)], &[true]);
        assert_eq!(left_out, [0], "nothing is missed");
    }

    /// However many libraries only inform, each has a book, and all together few.
    #[test]
    fn many_libraries_that_only_inform_have_few_books() {
        for libraries in [40, 1_000] {
            let mut books: Vec<Vec<(BookNo, u32)>> = (0..libraries)
                .map(|library| {
                    (0..200)
                        .map(|book| (BookNo(200 * library + book), 50))
                        .collect()
                })
                .collect();
            keep_most(&mut books, &vec![true; libraries as usize]);
            let kept: usize = books.iter().map(Vec::len).sum();
            assert!(books.iter().all(|books| !books.is_empty()));
            assert!(kept <= MOST_INFORMING.max(libraries as usize), "{kept}");
        }
    }
}
