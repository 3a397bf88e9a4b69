//! Checks that the posting lists match the books.

use super::{RecipePosting, Verification};
use crate::StoreError;
use crate::faults::Sum;
use crate::postings::{LONG, Reader};
use crate::recipes::KnownRecipe;
use crate::rocks::schema::{self, Bucket, Family, Postings, Sign};

impl Verification<'_> {
    pub(super) fn postings(&mut self) -> Result<(), StoreError> {
        let known = self.snapshot.known();
        let is_leaving = |recipe| known.numbered(recipe).is_some_and(|recipe| recipe.leaving);
        let mut counted = Postings::default();
        let mut there = Sum::default();
        self.pass(Family::Postings, |check, key, value| {
            check.bucket(key, value, |_, posting| {
                counted.main += 1;
                if !is_leaving(posting.0) {
                    there.add(posting);
                }
                Ok(())
            })
        })?;
        self.pass(Family::Lists, Self::list)?;
        self.pass(Family::Delta, |check, key, _| {
            if let Some((posting, sign)) = check.change(key)? {
                counted.delta += 1;
                match sign {
                    _ if is_leaving(posting.0) => {}
                    Sign::Added => there.add(posting),
                    Sign::Removed => there.take(posting),
                }
            }
            Ok(())
        })?;
        if let Some(kept) = self.or_fault(self.snapshot.postings())?
            && kept != counted
        {
            self.fault(format!(
                "there are {counted}, but the stored count is {kept}"
            ));
        }
        if there != self.needed {
            self.pass(Family::Gems, Self::missing_postings)?;
            self.pass(Family::Postings, |check, key, value| {
                check.bucket(key, value, Self::posting)
            })?;
            self.pass(Family::Delta, |check, key, _| check.change_of_list(key))?;
        }
        Ok(())
    }

    /// Checks that a change is one of the list that there is.
    fn change_of_list(&mut self, key: &[u8]) -> Result<(), StoreError> {
        // Unreadable keys were reported in the first pass.
        let Ok((recipe, gem, sign, book)) = self.snapshot.read_delta(key) else {
            return Ok(());
        };
        let (changed, there) = match sign {
            Sign::Added => ("added to", "is already in it"),
            Sign::Removed => ("removed from", "is not in it"),
        };
        let main = self.snapshot.main_list(recipe, gem);
        if let Some(main) = self.or_fault(main)?
            && main.contains(&book) == (sign == Sign::Added)
        {
            let (book, gem, name) = (book.0, recipe.shown(gem), recipe.name());
            self.fault(format!(
                "book {book} is {changed} the list of gem {gem} ({name}), but {there}"
            ));
        }
        match sign {
            Sign::Added => self.posting((recipe.number, gem, book)),
            Sign::Removed => Ok(()),
        }
    }

    /// Calls `each` for every posting of a bucket.
    fn bucket(
        &mut self,
        key: &[u8],
        value: &[u8],
        mut each: impl FnMut(&mut Self, RecipePosting) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let snapshot = self.snapshot;
        let bucket = schema::read_bucket_key(key);
        let Some((recipe, bucket)) =
            bucket.and_then(|(number, bucket)| Some((snapshot.known().numbered(number)?, bucket)))
        else {
            self.fault(format!("the bucket {key:?} belongs to an unknown recipe"));
            return Ok(());
        };
        let Ok(lists) = Reader::new(value, schema::rest_bits(recipe)) else {
            return self.unreadable(recipe, bucket);
        };
        for list in lists {
            let Some((gem, list)) = list
                .ok()
                .and_then(|(rest, list)| Some((bucket.gem(recipe, rest)?, list)))
            else {
                return self.unreadable(recipe, bucket);
            };
            if let Some(books) = self.or_fault(snapshot.books_of(recipe, gem, Some(list)))? {
                if !books.is_sorted_by(|a, b| a < b) {
                    self.fault(format!(
                        "the list of gem {} ({}) is not sorted",
                        recipe.shown(gem),
                        recipe.name()
                    ));
                }
                for book in books {
                    each(self, (recipe.number, gem, book))?;
                }
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, recipe: &KnownRecipe, bucket: Bucket) -> Result<(), StoreError> {
        self.or_fault(Err(self.snapshot.unreadable(recipe, bucket)))
            .map(|_: Option<()>| ())
    }

    /// Looks for a list that no bucket refers to.
    fn list(&mut self, key: &[u8], _: &[u8]) -> Result<(), StoreError> {
        let snapshot = self.snapshot;
        let Some((recipe, gem, library)) = snapshot.known().read_list(key) else {
            self.fault(format!("the list {key:?} belongs to an unknown recipe"));
            return Ok(());
        };
        // A list that a bucket refers to was read with the bucket.
        match snapshot.main_list(recipe, gem) {
            Ok(books) if books.len() > LONG as usize => {
                let Some(library) = library else {
                    return Ok(());
                };
                let part = self.or_fault(snapshot.list_part(recipe, gem, library))?;
                let owners = snapshot.owners();
                if part.is_some_and(|part| {
                    part.is_empty() || part.iter().any(|book| owners.of(*book) != library)
                }) {
                    let (gem, name) = (recipe.shown(gem), recipe.name());
                    self.fault(format!(
                        "the part of library {} in the list of gem {gem} ({name}) is empty or has books of other libraries",
                        library.0
                    ));
                }
            }
            Ok(_) => {
                let (gem, name) = (recipe.shown(gem), recipe.name());
                self.fault(format!(
                    "there is a list of gem {gem} ({name}) that no bucket refers to"
                ));
            }
            Err(StoreError::Damaged { .. }) => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// Parses a change of the delta.
    fn change(&mut self, key: &[u8]) -> Result<Option<(RecipePosting, Sign)>, StoreError> {
        let change = self.or_fault(self.snapshot.read_delta(key))?;
        Ok(change.map(|(recipe, gem, sign, book)| ((recipe.number, gem, book), sign)))
    }

    /// Reports a book's gems that have no posting.
    fn missing_postings(&mut self, key: &[u8], _: &[u8]) -> Result<(), StoreError> {
        let snapshot = self.snapshot;
        // Unreadable entries were reported with the gem lists and the records.
        let Some((number, book)) = schema::read_gems_key(key) else {
            return Ok(());
        };
        let Some(recipe) = snapshot
            .known()
            .numbered(number)
            .filter(|recipe| !recipe.leaving)
        else {
            return Ok(());
        };
        let list = match snapshot.gem_list(recipe, book) {
            Ok(list) => list.unwrap_or_default(),
            Err(StoreError::Damaged { .. }) => return Ok(()),
            Err(e) => return Err(e),
        };
        for gem in recipe.posted(&list) {
            let posting = snapshot.has_posting(recipe, gem, book);
            if self.or_fault(posting)? == Some(false) {
                let (book, gem, name) = (book.0, recipe.shown(gem), recipe.name());
                self.fault(format!(
                    "book {book} has gem {gem} of recipe {name}, but no posting"
                ));
            }
        }
        Ok(())
    }

    /// Reports a posting that no book needs.
    fn posting(&mut self, (number, gem, book): RecipePosting) -> Result<(), StoreError> {
        let snapshot = self.snapshot;
        let Some(recipe) = snapshot.known().numbered(number) else {
            return Ok(());
        };
        // An unreadable list was reported with the records, or belongs to none.
        match snapshot.gem_list(recipe, book) {
            Ok(Some(list)) if recipe.posted(&list).any(|posted| posted == gem) => {}
            Ok(_) if snapshot.has_posting(recipe, gem, book)? => self.fault(format!(
                "book {} should have no posting of gem {} ({})",
                book.0,
                recipe.shown(gem),
                recipe.name()
            )),
            Ok(_) | Err(StoreError::Damaged { .. }) => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }
}
