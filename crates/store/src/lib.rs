//! The index: a store of books, their gems and the posting lists, behind one interface.
//!
//! [`Store`] changes books, recipes and the small records next to them. [`Snapshot`] is what a check reads.
//! [`Administration`] maintains it, and [`Sharing`] is what processes agree on that share one. None of these traits deals with texts, scores
//! or verdicts; the catalogue combines those.
//!
//! ```
//! use lapidary_gems::Recipe;
//! use lapidary_store::{Actor, RocksStore, Store as _};
//!
//! # let folder = tempfile::tempdir()?;
//! let store = RocksStore::open_or_create(folder.path())?;
//! store.add_recipe(&Actor::Local, &Recipe::hardened())?;
//! let snapshot = store.snapshot();
//! assert_eq!(snapshot.recipes(), [Recipe::hardened()]);
//! assert!(snapshot.libraries()?.is_empty());
//! # drop(snapshot);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod administration;
pub mod audit;
mod bits;
mod bounds;
pub mod change;
mod condition;
mod error;
pub mod faults;
pub mod gem_list;
mod key;
mod moderation;
pub mod postings;
pub mod recipes;
pub mod record;
mod rights;
mod rocks;
pub mod runs;
mod search;
mod sharing;
mod snapshot;
mod store;
pub mod summary;
mod table;
pub mod tally;
mod term;
mod vitals;
mod watch;

pub use administration::{Administration, Backup};
pub use audit::{Action, Actor, Amended, AuditEntry, AuditFrom, AuditedBook};
pub use bounds::TEXT_BYTES;
pub use condition::{Condition, Keeps, Versions, tag_of};
pub use error::StoreError;
pub use key::{BadName, BookId, BookKey, BookNo, Library, NAME_BYTES};
pub use moderation::bans;
pub use moderation::{BookState, NOTE_BYTES, Note, Quarantine, SetBy, Standing, Validity};
pub use record::{
    BookParts, Enough, LateGems, NewBook, Outline, Record, RecordChange, WantedParts,
};
pub use rights::Rights;
pub use rocks::{CACHE_BYTES, RocksStore, Staged};
pub use search::{Cursor, Found, Search};
pub use sharing::{LeaseEnd, LeaseGrant, Sharing, Spending, Spent};
pub use snapshot::{Each, Snapshot};
pub use store::{Engine, Store};
pub use summary::{Coverage, LibrarySummary, SizeClass, Sizes};
pub use table::{Row, RowChange, Table};
pub use tally::{LibraryTally, Limits, Tally};
pub use term::{Field, MOST_TERMS, Term};
pub use vitals::{Background, CacheUse, ClusterVitals, Disk, NodeVitals, PostingCounts, Vitals};
pub use watch::{UNWATCHED, Watch};
