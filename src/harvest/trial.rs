//! A look at the first books of a source.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::fetch::fetch;
use super::kind::Page;
use super::pages::entries;
use super::run::{Harvest, PAGE_BYTES};
use super::web::{Fetched, Validators, Web};
use super::{Entry, HarvestError, Source};
use crate::catalogue::Stop;
use crate::extract::{Limits, Readers};

/// How long it may take, but for the last request.
const TEST: Duration = Duration::from_secs(20);

impl Harvest<'_> {
    /// The first entries that the source lists, without changing anything.
    ///
    /// # Errors
    /// [`HarvestError::Input`] with what is wrong with the source.
    pub fn test(source: &Source, count: usize) -> Result<Vec<Entry>, HarvestError> {
        let (readers, begun) = (Readers::default(), Instant::now());
        let web = Web::new(source, Arc::<Stop>::default(), Some(TEST))?;
        let mut pages = vec![source.kind.begin(source, None).map_err(HarvestError::Input)?.address];
        let (mut seen, mut books) = (HashSet::new(), Vec::new());
        while let Some(address) =
            pages.pop().filter(|_| books.len() < count && seen.len() < count && begun.elapsed() < TEST)
        {
            if !seen.insert(address.clone()) {
                continue;
            }
            let wrong = |why: String| HarvestError::Input(format!("{address}: {why}"));
            let found = match fetch(&web, source, &Entry::page(&address), &Validators::default(), PAGE_BYTES) {
                Fetched::Found(found) => found,
                Fetched::Refused(_, why) | Fetched::Failed(why, _) => return Err(wrong(why)),
                Fetched::Missing | Fetched::Unmodified | Fetched::Stopped => {
                    return Err(wrong("there is nothing".to_owned()));
                }
            };
            let page = Page { source, address: &found.address, bytes: &found.bytes, since: None };
            for entry in entries(&readers, &page, Limits::default()).map_err(wrong)?.1 {
                let entry = entry.map_err(wrong)?;
                if entry.page {
                    pages.insert(0, entry.address.clone());
                }
                if entry.book && entry.mark.is_none() && books.len() < count {
                    books.push(entry);
                }
            }
        }
        Ok(books)
    }
}
