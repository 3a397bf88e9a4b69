//! The audit log: who changed what.

use std::ops::Deref;

use super::{Catalogue, CatalogueError};
use crate::api::AuditPage;
use lapidary_store::{AuditEntry, AuditFrom};

/// How much of the audit log is read for those entries of it that are about some books.
const AUDIT_PAGES: usize = 50;
const AUDIT_PAGE: usize = 1_000;

/// The audit log of a catalogue ([`Catalogue::audit`]).
#[derive(Debug, Clone)]
pub struct Audit<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> Audit<C> {
    /// Returns a page of the audit log: up to `limit` entries.
    pub fn page(&self, from: AuditFrom, limit: usize) -> Result<AuditPage, CatalogueError> {
        let (entries, last) = self.entries(from, limit)?;
        Ok(page_of(entries, last))
    }

    /// Up to `limit` entries, and the number of the last if others follow.
    fn entries(
        &self,
        from: AuditFrom,
        limit: usize,
    ) -> Result<(Vec<AuditEntry>, Option<u64>), CatalogueError> {
        let mut entries = self.0.store.audit(from, limit.saturating_add(1))?;
        let more = entries.len() > limit;
        entries.truncate(limit);
        let last = entries.last().filter(|_| more).map(|entry| entry.number);
        Ok((entries, last))
    }

    /// Returns a page of the entries of the audit log about the books of a library, or about one book of it: up to `limit`
    /// entries, of the next 50,000 of the log.
    pub fn page_about(
        &self,
        mut from: AuditFrom,
        library: &str,
        book: Option<&str>,
        limit: usize,
    ) -> Result<AuditPage, CatalogueError> {
        let mut found: Vec<AuditEntry> = Vec::new();
        let mut last = None;
        for _ in 0..AUDIT_PAGES {
            let entries;
            (entries, last) = self.entries(from, AUDIT_PAGE)?;
            for entry in entries
                .into_iter()
                .filter(|entry| is_about(entry, library, book))
            {
                let number = entry.number;
                found.push(entry);
                if found.len() == limit {
                    return Ok(page_of(found, Some(number)));
                }
            }
            let Some(last) = last else { break };
            from = AuditFrom::Behind(last);
        }
        Ok(page_of(found, last))
    }
}

fn page_of(entries: Vec<AuditEntry>, last: Option<u64>) -> AuditPage {
    AuditPage {
        entries: entries.into_iter().map(Into::into).collect(),
        next_cursor: last.map(|last| last.to_string()),
    }
}

/// Whether an entry is about a book of a library, or about this one.
fn is_about(entry: &AuditEntry, library: &str, book: Option<&str>) -> bool {
    entry
        .action
        .book()
        .is_some_and(|about| about.library == library && book.is_none_or(|book| about.id == book))
}
