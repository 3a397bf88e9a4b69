//! What commands do with a catalogue, be it a folder or a running server.

use super::failure::Failure;
use crate::catalogue::{Added, Catalogue, CheckOptions, NewEntry, Page, Query, Report, Stats};
use crate::index::{BookId, BookKey, Library, Record};

/// A catalogue that a command works with.
pub(super) trait Access: Sync {
    fn check(&self, query: &Query, options: &CheckOptions) -> Result<Report, Failure>;
    fn add(&self, entry: NewEntry) -> Result<Added, Failure>;
    fn book(&self, key: &BookKey) -> Result<Option<Record>, Failure>;
    /// Whether the book was there.
    fn remove(&self, key: &BookKey) -> Result<bool, Failure>;
    fn books(&self, library: &Library, cursor: Option<&BookId>, limit: usize) -> Result<Page, Failure>;
    fn stats(&self) -> Result<Stats, Failure>;
}

impl Access for Catalogue {
    fn check(&self, query: &Query, options: &CheckOptions) -> Result<Report, Failure> {
        Ok(Catalogue::check(self, query, options)?)
    }

    fn add(&self, entry: NewEntry) -> Result<Added, Failure> {
        Ok(Catalogue::add(self, entry)?)
    }

    fn book(&self, key: &BookKey) -> Result<Option<Record>, Failure> {
        Ok(Catalogue::book(self, key)?)
    }

    fn remove(&self, key: &BookKey) -> Result<bool, Failure> {
        Ok(Catalogue::remove(self, std::slice::from_ref(key))?.contains(&true))
    }

    fn books(&self, library: &Library, cursor: Option<&BookId>, limit: usize) -> Result<Page, Failure> {
        Ok(Catalogue::books(self, library, cursor, limit)?)
    }

    fn stats(&self) -> Result<Stats, Failure> {
        Ok(Catalogue::stats(self)?)
    }
}
