//! Work that one process does at a time, among all that share a store: leases, and the runner.
//!
//! A [`Lease`] is the right to do something, and has a token that grows with every holder. Whatever is written under it is
//! refused once another has it, so a process that was stopped for a while and goes on changes nothing that others did since.
//!
//! The [`Runner`] of a process does what is due, of every kind ([`WorkKind`]), each piece under its lease
//! ([`LeasedWork`]). Work can be paused ([`Runner::end`]) and cancelled ([`Runner::revoke`]); after a crash, a kind finds in
//! the store what was begun, and it is resumed here or by another process.
//!
//! ```
//! # use std::sync::Arc;
//! use lapidary_store::{RocksStore, RowChange, Store, Table};
//! use lapidary_work::Runner;
//!
//! # let folder = tempfile::tempdir()?;
//! let store: Arc<dyn Store> = Arc::new(RocksStore::open_or_create(folder.path())?);
//! let runner = Runner::new(Arc::clone(&store));
//! let work = runner.begin("tidying")?.expect("nobody else does it");
//! assert!(runner.begin("tidying")?.is_none());
//! let change = [RowChange::put(Table::Folds, "", "")];
//! assert!(work.apply(&change)?);
//! runner.revoke("tidying")?;
//! assert!(!work.apply(&change)?, "it is no longer ours");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod lease;
mod queue;
mod runner;
mod stop;

pub use lease::Lease;
pub use queue::{Bottleneck, DueWork, Slot, WorkKind};
pub use runner::{LeasedWork, Runner};
pub use stop::StopSignal;
