//! A look at the first books of a source, without changing anything.

use super::kind::ReadsPages as _;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::books::file;
use super::fetch::fetch;
use super::kind::Page;
use super::pages::entries;
use super::run::PAGE_BYTES;
use super::web::{Download, Fetched, Validators, Web};
use super::{Entry, HarvestError, Source};
use lapidary_extract::{Limits, Readers};
use lapidary_work::StopSignal;

/// How long it may take, but for the last request.
const TEST: Duration = Duration::from_secs(20);
/// How many characters of a text are shown.
const SHOWN: usize = 300;

pub(super) struct Trial<'s> {
    source: &'s Source,
    web: Web,
    readers: Readers,
    begun: Instant,
}

impl<'s> Trial<'s> {
    pub(super) fn new(source: &'s Source) -> Result<Self, HarvestError> {
        let web = Web::new(source, Arc::<StopSignal>::default(), Some(TEST))?;
        Ok(Self {
            source,
            web,
            readers: Readers::default(),
            begun: Instant::now(),
        })
    }

    fn fetch(&self, entry: &Entry) -> Result<Download, HarvestError> {
        match fetch(
            &self.web,
            self.source,
            entry,
            &Validators::default(),
            PAGE_BYTES,
        ) {
            Fetched::Found(found) => Ok(found),
            Fetched::Refused(_, why) | Fetched::Failed(why, _) => Err(wrong(&entry.address, why)),
            Fetched::Missing | Fetched::Unmodified | Fetched::Stopped => {
                Err(wrong(&entry.address, "there is nothing"))
            }
        }
    }

    /// The first books that the source lists. Those that cannot be used are counted.
    pub(super) fn books(
        &self,
        count: usize,
        skipped: &mut u64,
    ) -> Result<Vec<Entry>, HarvestError> {
        let mut pages = vec![
            self.source
                .kind
                .begin(self.source, None)
                .map_err(HarvestError::Input)?
                .address,
        ];
        let (mut seen, mut books) = (HashSet::new(), Vec::new());
        while let Some(address) = pages
            .pop()
            .filter(|_| books.len() < count && seen.len() < count && self.begun.elapsed() < TEST)
        {
            if !seen.insert(address.clone()) {
                continue;
            }
            let found = match self.fetch(&Entry::page(&address)) {
                Ok(found) => found,
                Err(error) if seen.len() == 1 => return Err(error),
                // A page that others link to may be gone.
                Err(_) => continue,
            };
            let page = Page {
                source: self.source,
                address: &found.address,
                bytes: &found.bytes,
                since: None,
            };
            let (_, entries) = entries(&self.readers, &page, Limits::default())
                .map_err(|why| wrong(&address, why))?;
            for entry in entries {
                let entry = entry.map_err(|why| wrong(&address, why))?;
                if entry.page {
                    pages.insert(0, entry.address.clone());
                }
                if entry.unusable.is_some() {
                    *skipped += 1;
                } else if entry.book && entry.mark.is_none() && books.len() < count {
                    books.push(entry);
                }
            }
        }
        Ok(books)
    }

    /// How the main text of a book begins, if the source says where it is.
    pub(super) fn beginning(&self, book: &Entry) -> Result<Option<String>, HarvestError> {
        let Some(main) = &self.source.text else {
            return Ok(None);
        };
        let mut found = self.fetch(book)?;
        let read = self
            .readers
            .read(file(&mut found), Some(main), Limits::default());
        let text = read
            .and_then(lapidary_extract::whole)
            .map_err(|why| wrong(&book.address, why.to_string()))?
            .text;
        Ok(Some(text.chars().take(SHOWN).collect()))
    }
}

fn wrong(address: &str, why: impl Into<String>) -> HarvestError {
    HarvestError::Input(format!("{address}: {}", why.into()))
}
