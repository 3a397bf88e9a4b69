//! What seems wrong, and whether it is.

use std::collections::{BTreeMap, HashMap};
use std::thread::sleep;
use std::time::Duration;

use lapidary_gems::Gem;

use super::super::buckets::{PackedBucket, gem_in, posting};
use super::super::command::Command;
use super::super::keys::{BookState, KeyName, split};
use super::{ClusterVerification, ReadBook, Reference, being_changed, is_there, lookup};
use lapidary_store::recipes::KnownRecipe;
use lapidary_store::{BookNo, StoreError};

/// How often, and after how long, to look again at a book that is being changed. A change that was given up is taken
/// back after 13 seconds.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(500);

/// Something that seems wrong.
pub(super) enum Suspicion {
    /// A book is listed, and not there.
    Lost(BookNo),
    /// A book is there, and not listed.
    Unlisted(BookNo),
    /// The state before or after a change of this book was left.
    LeftOver(BookNo, Vec<u8>),
    /// Either a book needs it and it is missing, or the other way round.
    Reference { book: BookNo, reference: Reference },
}

/// A fault: a sentence, and what is to be added, or removed.
type Wrong = (String, (Reference, bool));

impl Suspicion {
    fn book(&self) -> BookNo {
        match self {
            Self::Lost(book)
            | Self::Unlisted(book)
            | Self::LeftOver(book, _)
            | Self::Reference { book, .. } => *book,
        }
    }
}

/// A second look at what seems wrong.
pub(super) struct SecondLook<'h, 'a>(pub(super) &'h mut ClusterVerification<'a>);

impl SecondLook<'_, '_> {
    /// Looks again at everything that seems wrong, book by book.
    pub(super) fn settle_doubts(&mut self) -> Result<(), StoreError> {
        let mut by_book: BTreeMap<BookNo, Vec<Suspicion>> = BTreeMap::new();
        for doubt in std::mem::take(&mut self.0.doubts) {
            by_book.entry(doubt.book()).or_default().push(doubt);
        }
        for (book, doubts) in by_book {
            if self.0.faults.are_many() {
                break;
            }
            self.settle(book, &doubts)?;
        }
        Ok(())
    }

    fn settle(&mut self, number: BookNo, doubts: &[Suspicion]) -> Result<(), StoreError> {
        for _ in 0..TRIES {
            // Both before and behind what is read: a removal that ends meanwhile leaves the generation as it is, and a change that
            // begins meanwhile changes nothing before it is an intent.
            let (was_changed, before) = (self.is_being_changed(number)?, self.generation(number)?);
            // What is wrong with the book itself was reported.
            let faults = std::mem::take(&mut self.0.faults);
            let book = self.0.books(&[number]);
            self.0.faults = faults;
            let book = book?.pop().flatten();
            let is_readable = match &book {
                Some(book) => self.0.is_whole(book),
                None => !self.0.exists(number)?,
            };
            if !is_readable {
                // That was reported. What refers to it stays, so that a check fails and does not miss it.
                return Ok(());
            }
            let judged: Result<Vec<_>, StoreError> = doubts
                .iter()
                .map(|doubt| self.judge(number, book.as_ref(), doubt))
                .collect();
            let judged = judged?;
            let is_changed = was_changed || self.is_being_changed(number)?;
            if !is_changed && self.generation(number)? == before {
                for (sentence, wrong) in judged.into_iter().flatten() {
                    self.0.faults.add(sentence);
                    self.0.wrong.entry(number).or_default().push(wrong);
                }
                return Ok(());
            }
            sleep(PAUSE);
        }
        tracing::warn!(
            "book {} was not verified, because it is changed all the time",
            number.0
        );
        Ok(())
    }

    /// Nobody changes a book while nodes are not believed.
    fn is_being_changed(&self, book: BookNo) -> Result<bool, StoreError> {
        let (shard, _) = split(book);
        let is_believed = self.0.losses.are_none();
        Ok(is_believed && being_changed(self.0.shared, shard)?.contains(&book))
    }

    fn generation(&self, book: BookNo) -> Result<Option<i64>, StoreError> {
        let key = self.0.shared.keys.book(BookState::Present, book);
        self.0.shared.ask(Command::new("HGET", &key, "g"))
    }

    /// The fault, if there is one, and what is to be added or removed.
    fn judge(
        &self,
        number: BookNo,
        book: Option<&ReadBook>,
        doubt: &Suspicion,
    ) -> Result<Option<Wrong>, StoreError> {
        let (shard, within) = split(number);
        let list = self.0.shared.keys.shard(shard, "books");
        let listed = (list, within.to_string().into_bytes());
        Ok(Some(match doubt {
            Suspicion::Lost(_) if book.is_none() && self.is_listed(&listed)? => {
                let sentence = format!(
                    "book {} is in the list of all books, but cannot be read",
                    number.0
                );
                (sentence, (listed, false))
            }
            Suspicion::Unlisted(_) if book.is_some() && !self.is_listed(&listed)? => (
                format!("book {} is missing from the list of all books", number.0),
                (listed, true),
            ),
            Suspicion::LeftOver(_, key)
                if is_there(&self.0.shared.read_one(Command::bare("EXISTS", key))?) =>
            {
                let sentence = format!(
                    "a change of book {} has left {}",
                    number.0,
                    String::from_utf8_lossy(key)
                );
                (sentence, ((key.clone(), Vec::new()), false))
            }
            Suspicion::Reference { reference, .. } => {
                let (is_needed, is_there) = (self.0.needs(book, reference)?, self.has(reference)?);
                if is_needed == is_there {
                    return Ok(None);
                }
                (
                    self.said(number, book, reference, is_needed),
                    (reference.clone(), is_needed),
                )
            }
            _ => return Ok(None),
        }))
    }

    /// Whether a book is in the list of all books.
    fn is_listed(&self, (list, number): &Reference) -> Result<bool, StoreError> {
        let lookup = Command::new("ZSCORE", list, number.as_slice());
        Ok(is_there(&self.0.shared.read_one(lookup)?))
    }

    fn has(&self, reference: &Reference) -> Result<bool, StoreError> {
        let (key, field) = reference;
        let Some(KeyName::PackedBucket(recipe, _)) = self.0.shared.keys.read(key) else {
            return Ok(is_there(&self.0.shared.read_one(lookup(reference))?));
        };
        let Some(recipe) = self.0.recipes.numbered(recipe) else {
            return Ok(false);
        };
        let fields: HashMap<Vec<u8>, Vec<u8>> = self.0.shared.ask(Command::bare("HGETALL", key))?;
        let postings = PackedBucket::read(fields).and_then(|bucket| bucket.postings(recipe).ok());
        // One that cannot be read was reported.
        Ok(postings.is_none_or(|postings| {
            postings
                .iter()
                .any(|(rest, book)| posting(*rest, *book) == *field)
        }))
    }

    fn said(
        &self,
        number: BookNo,
        book: Option<&ReadBook>,
        (key, field): &Reference,
        is_needed: bool,
    ) -> String {
        let name = book.map_or_else(
            || format!("book {}, which does not exist", number.0),
            |book| format!("{} (book {})", book.record.key, number.0),
        );
        let say = |what: &str, it: &str| {
            if is_needed {
                format!("{name} is not found by {what}")
            } else {
                format!("there is {it} for {name}, which should have none")
            }
        };
        match self.0.shared.keys.read(key) {
            Some(KeyName::PackedBucket(recipe, bucket)) => {
                let recipe = self.0.recipes.numbered(recipe);
                let gem =
                    recipe.and_then(|recipe| Some(recipe.shown(gem_of(recipe, bucket, field)?)));
                let (gem, recipe) = (
                    gem.unwrap_or_default(),
                    recipe.map(|recipe| recipe.name().to_string()),
                );
                let recipe = recipe.unwrap_or_default();
                if is_needed {
                    format!("{name} has gem {gem} of recipe {recipe}, but no posting")
                } else {
                    format!("{name} should have no posting of gem {gem} ({recipe})")
                }
            }
            Some(KeyName::Digest(_)) => say("the digest of its text", "a digest"),
            Some(KeyName::Shard(_, name)) if name.starts_with("ids:") => say("its id", "an id"),
            _ => say("a word of its title, authors or ids", "a word"),
        }
    }
}

/// The gem of a posting.
fn gem_of(recipe: &KnownRecipe, bucket: u64, field: &[u8]) -> Option<Gem> {
    Some(gem_in(
        recipe,
        bucket,
        u64::from_be_bytes(*field.first_chunk()?),
    ))
}
