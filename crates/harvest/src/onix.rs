//! Feeds of ONIX for Books: a feed brings no books, but changes the metadata and rights of those that there are. It is read again
//! when it changed.

use std::mem;

use super::books::{BookChanges, FetchedBook, Refused, RefusedParts};
use super::folder;
use super::kind::{Entries, Page};
use super::{Entry, HarvestError, Reason, Source};
use lapidary_catalogue::CatalogueError;
use lapidary_catalogue::onix::{Product, Products};
use lapidary_catalogue::table::TableRow;
use lapidary_common::error::Classified as _;
use lapidary_store::{BookKey, Rights, RowChange, Validity};

/// A validity that limits nothing.
const ALL_DAYS: Validity = Validity {
    from: None,
    until: None,
    otherwise: Rights::Unknown,
};

/// The feed, or the folder of feeds.
pub(super) fn begin(source: &Source) -> Entry {
    let address = source.address.as_str();
    if source.is_folder(address) {
        Entry::page(address)
    } else {
        Entry::book(address)
    }
}

/// The feeds of a folder, or the records of a feed.
pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    if page.source.is_folder(page.address) {
        return folder::entries(page);
    }
    let products = Products::new(page.bytes);
    Ok(Box::new(products.map(|product| {
        let product = product.map_err(|error| error.to_string())?;
        Ok(Entry {
            id: Some(product.id()),
            description: product.description,
            ..Entry::book(product.reference)
        })
    })))
}

impl BookChanges<'_, '_> {
    /// Changes the books that a feed is about.
    pub(super) fn follow(
        &mut self,
        mut feed: FetchedBook,
        rows: &mut Vec<RowChange>,
    ) -> Result<(), HarvestError> {
        let bytes = mem::take(&mut feed.found.bytes);
        let mut refused = RefusedParts::default();
        for product in Products::new(bytes.as_slice()) {
            if self.0.work.stop().is_stopped() {
                return Err(self.0.stopped());
            }
            match product {
                Ok(product) => {
                    if let Some(why) = self.follow_product(&product)? {
                        refused.add(why);
                    }
                }
                // What comes before it was followed, and is again with the rest once the feed is whole.
                Err(error) => {
                    let (queued, known, why) = (&feed.queued, feed.known, error.to_string());
                    self.0
                        .refuse_entry(queued, known, Reason::BadList, why, rows);
                    return Ok(());
                }
            }
        }
        let known = feed.into_known(Vec::new(), &self.0.source);
        rows.push(self.0.frontier.put_known(&known));
        rows.push(self.0.frontier.drop_fault(&known.address));
        self.refuse_parts(&known, &refused, rows);
        Ok(())
    }

    /// Changes the book of a record, if there is one. Returns why it cannot be changed.
    fn follow_product(&mut self, product: &Product) -> Result<Option<Refused>, HarvestError> {
        let mut row = match TableRow::of_product(product, None) {
            Ok(row) => row,
            Err(why) => return Ok(Some((Reason::BadRecord, why))),
        };
        self.settle_rights(product, &mut row);
        let Some(id) = row.id.clone() else {
            return Ok(None);
        };
        let library = self.0.source.library.clone();
        let editor = self.0.source.editor_of_definer(&self.0.editor);
        let followed = editor.books().follow(&BookKey { library, id }, &row, false);
        match followed {
            Ok(None) => self.0.count_refused(Reason::NoFile),
            Ok(Some(changes)) if changes.is_empty() => self.0.tally().unchanged += 1,
            Ok(Some(_)) => self.0.tally().added += 1,
            Err(error) if error.code().kind().is_input() => {
                return Ok(Some((Reason::BadRecord, of_record(product, &error))));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(None)
    }

    /// Gives a book the rights of the source, and their days, if these are a ban or the record says none. One that says only what
    /// changed leaves them as they are.
    fn settle_rights(&self, product: &Product, row: &mut TableRow) {
        let source = &self.0.source;
        let is_silent = row.rights.is_none() && !product.is_partial;
        if source.rights == Rights::Forbidden || is_silent {
            row.rights = Some(source.rights);
            row.validity = Some(source.validity.clone().unwrap_or(ALL_DAYS));
        }
    }
}

fn of_record(product: &Product, error: &CatalogueError) -> String {
    format!("record {}: {error}", product.reference)
}
