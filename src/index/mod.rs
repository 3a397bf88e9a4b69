//! The index: a store of books, their gems and the posting lists, behind one interface.
//!
//! [`Store`] changes books, recipes and the small records next to them. [`Snapshot`] is what a check reads.
//! [`Administration`] looks after the files of engines that have some. None of them knows texts, scores or verdicts;
//! the catalogue combines those.

mod administration;
mod audit;
mod bounds;
mod error;
mod record;
mod rocks;
mod snapshot;
mod standing;
mod store;
mod summary;
mod table;
mod tally;
mod vitals;

pub use administration::{Administration, Backup};
pub use audit::{Action, Actor, Amended, AuditEntry, AuditFrom, AuditedBook};
pub use bounds::{
    AUTHOR_BYTES, DESCRIPTION_BYTES, IDENTIFIER_BYTES, LANGUAGE_BYTES, MOST_LISTED, TEXT_BYTES, TITLE_BYTES, TooLong,
    described,
};
pub use error::StoreError;
pub use record::{BadName, BookId, BookKey, LateGems, Library, NAME_BYTES, NewBook, Outline, Record, Rights};
pub use rocks::{CACHE_BYTES, RocksStore};
pub use snapshot::Snapshot;
pub use standing::{NOTE_BYTES, Note, Standing, Validity};
pub use store::{Store, UNWATCHED, Watch};
pub use summary::{Coverage, LibrarySummary, SizeClass, Sizes};
pub use table::{Row, RowChange, Table};
pub use tally::{LibraryTally, Limits, Tally};
pub use vitals::{Background, CacheUse, Disk, PostingCounts, Vitals};

/// A book's internal number. Users see its [`BookKey`] instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BookNo(pub u32);
