//! How many of a text's gems each book has.

use lapidary_gems::Gem;

use super::{BookNo, Library};

/// What [`Snapshot::tally`](super::Snapshot::tally) leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits<'a> {
    /// A gem in more books of a library than this is common there.
    pub cap: u32,
    /// Books with fewer of the gems are left out.
    pub fewest: u32,
    /// Count only the books of this library.
    pub library: Option<&'a Library>,
}

/// The result of [`Snapshot::tally`](super::Snapshot::tally): the libraries that have a common gem, or a book with enough of the gems.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The libraries, in order of creation.
    pub libraries: Vec<LibraryTally>,
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
}

impl LibraryTally {
    /// An empty tally.
    #[must_use]
    pub fn empty(library: Library) -> Self {
        Self { library, books: Vec::new(), common: Vec::new(), holders: Vec::new() }
    }
}
