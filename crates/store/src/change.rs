//! What a change makes of a book, in every engine.

use hashbrown::HashSet;
use jiff::{SignedDuration, Timestamp};
use lapidary_gems::PlacedGem;

use super::recipes::KnownRecipe;
use super::{AuditedBook, BookKey, NewBook, Record, RecordChange, Standing, StoreError};

/// Keeps the last of the books with the same key.
#[must_use]
pub fn last_of_each_key(mut books: Vec<NewBook>) -> Vec<NewBook> {
    let mut seen = HashSet::new();
    let last: Vec<bool> = books
        .iter()
        .rev()
        .map(|book| seen.insert(book.record.key.clone()))
        .collect();
    let mut last = last.into_iter().rev();
    books.retain(|_| last.next() == Some(true));
    books
}

/// The record after an amendment.
///
/// # Errors
/// Those of the amendment.
pub fn amended(old: &Record, change: RecordChange<'_>) -> Result<Record, StoreError> {
    let mut new = old.clone();
    change(&mut new)?;
    let (key, gems, digest) = (old.key.clone(), old.gems.clone(), old.digest.clone());
    let mut new = Record {
        key,
        gems,
        digest,
        bytes: old.bytes,
        text_kept: old.text_kept,
        ..new
    };
    // Always later than the previous amendment, whatever the clock says.
    let next = old
        .standing
        .amended_at
        .and_then(|before| before.checked_add(SignedDuration::from_nanos(1)).ok());
    new.standing.amended_at = Some(Timestamp::now()).max(next);
    Ok(new)
}

/// Keeps amendments made to a book after the record that replaces it was created. Otherwise the new record decides
/// the rights and their days; a disabled book stays disabled and keeps its note, unless it gets another one. A removed book is
/// restored.
pub fn keep_amendments(record: &mut Record, old: &Record) {
    let is_same = record.has_content_of(old);
    let (standing, before) = (&mut record.standing, &old.standing);
    if before.amended_at > standing.amended_at {
        record.rights = old.rights;
        // Quarantine is about the content.
        let quarantine = if is_same {
            before.quarantine.clone()
        } else {
            standing.quarantine.take()
        };
        *standing = Standing {
            quarantine,
            ..before.clone()
        };
    } else {
        let mut before = before.clone();
        before.restore();
        if standing.disabled_at.is_none() {
            (standing.disabled_at, standing.disabled_by) = (before.disabled_at, before.disabled_by);
        }
        standing.note = standing.note.take().or_else(|| before.note.clone());
    }
}

/// A book as shown in the audit log.
#[must_use]
pub fn audited(record: &Record) -> AuditedBook {
    let Record {
        key,
        rights,
        digest,
        text_kept,
        ..
    } = record;
    let (library, id) = (key.library.to_string(), key.id.to_string());
    AuditedBook {
        library,
        id,
        rights: *rights,
        digest: digest.clone(),
        text_kept: *text_kept,
        changes: Vec::new(),
    }
}

/// Removes duplicate gems and keeps the first occurrence of each.
///
/// # Errors
/// If the recipe cannot produce one of them.
pub fn make_distinct(
    recipe: &KnownRecipe,
    book: &BookKey,
    gems: &mut Vec<PlacedGem>,
) -> Result<(), StoreError> {
    if let Some(PlacedGem { gem, .. }) = gems.iter().find(|gem| !recipe.fits(gem.gem)) {
        return Err(StoreError::GemTooLarge {
            book: book.clone(),
            recipe: recipe.name().clone(),
            gem: recipe.recipe.write(*gem),
            bits: recipe.gem_bits,
        });
    }
    let mut seen = HashSet::with_capacity(gems.len());
    gems.retain(|gem| seen.insert(gem.gem));
    Ok(())
}
