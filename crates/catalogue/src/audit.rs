//! The audit log: who changed what.

use std::ops::Deref;

use super::{Catalogue, CatalogueError};
use crate::api::AuditPage;
use lapidary_store::AuditFrom;

/// How much of the audit log is read for those entries of it that are about some books.
const AUDIT_PAGES: usize = 50;
const AUDIT_PAGE: usize = 1_000;

/// The audit log of a catalogue ([`Catalogue::audit`]).
#[derive(Debug, Clone)]
pub struct Audit<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> Audit<C> {
    /// Returns a page of the audit log: up to `limit` entries.
    pub fn page(&self, from: AuditFrom, limit: usize) -> Result<AuditPage, CatalogueError> {
        let mut entries = self.0.store.audit(from, limit.saturating_add(1))?;
        let more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().filter(|_| more).map(|entry| entry.number);
        Ok(AuditPage {
            entries: entries.into_iter().map(Into::into).collect(),
            next,
        })
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
        let mut found = Vec::new();
        let mut next = None;
        for _ in 0..AUDIT_PAGES {
            let page = self.page(from, AUDIT_PAGE)?;
            next = page.next;
            for entry in page.entries.into_iter().filter(|entry| {
                let about = entry.action.book();
                about.is_some_and(|about| {
                    about.library == library && book.is_none_or(|book| about.id == book)
                })
            }) {
                found.push(entry);
                if found.len() == limit {
                    next = found.last().map(|entry| entry.number);
                    return Ok(AuditPage {
                        entries: found,
                        next,
                    });
                }
            }
            let Some(last) = next else { break };
            from = AuditFrom::Behind(last);
        }
        Ok(AuditPage {
            entries: found,
            next,
        })
    }
}
