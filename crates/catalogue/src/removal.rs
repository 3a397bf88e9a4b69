//! Books that were removed. For some days they are only disabled, so that they can be restored; then they are deleted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{Catalogue, CatalogueError, Editor};
use lapidary_store::{
    Actor, BookState, Condition, Found, Record, Search, StoreError, Term, Versions,
};

/// How long a removed book can be restored.
pub const REMOVED_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How often to look for books to delete.
const LOOK: Duration = Duration::from_hours(1);
/// Number of books that are looked at in one step.
const AT_ONCE: usize = 100;

/// Deletes removed books in the background, until [`Jobs::stop`](crate::Jobs::stop). Servers that share a store may all do so.
pub fn delete_removed_books(catalogue: &Arc<Catalogue>) {
    let deleting = Arc::clone(catalogue);
    catalogue.runner.beside(move || {
        loop {
            let editor = deleting.by(Actor::Local);
            if let Err(error) = delete_removed(&editor, Timestamp::now()) {
                tracing::warn!("removed books are not deleted: {error}");
            }
            if !deleting.runner.sleep(LOOK) {
                return;
            }
        }
    });
}

/// Deletes the books whose time to be restored is over at `now`.
fn delete_removed(editor: &Editor<'_>, now: Timestamp) -> Result<(), CatalogueError> {
    let terms = BTreeSet::from([Term::state(BookState::Removed)]);
    let mut from = None;
    loop {
        let snapshot = editor.store.snapshot();
        let Found { books, next } = snapshot.search(&Search {
            terms: &terms,
            libraries: None,
            from: from.as_ref(),
            limit: AT_ONCE,
        })?;
        for record in snapshot.fetch(&books)?.into_iter().flatten() {
            if is_over(&record, now) {
                delete(editor, &record)?;
            }
        }
        from = next;
        if from.is_none() || editor.runner.is_stopping() {
            return Ok(());
        }
    }
}

/// Deletes a book, unless it was changed meanwhile.
fn delete(editor: &Editor<'_>, record: &Record) -> Result<(), CatalogueError> {
    let condition = Condition {
        among: Some(Versions::Tagged(vec![record.tag()])),
        ..Condition::default()
    };
    let removed = (editor.books()).remove_if(std::slice::from_ref(&record.key), &condition);
    match removed {
        Err(CatalogueError::Store(StoreError::OtherVersion { .. })) => Ok(()),
        removed => removed.map(drop),
    }
}

fn is_over(record: &Record, now: Timestamp) -> bool {
    let removed_at = record.standing.removed_at;
    removed_at.is_some_and(|since| now.duration_since(since) >= REMOVED_FOR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Amendment;
    use crate::{Content, NewEntry};
    use lapidary_store::{BookKey, Rights};

    fn removal(removed: bool) -> Amendment {
        Amendment {
            removed: Some(removed),
            ..Amendment::default()
        }
    }

    #[test]
    fn a_removed_book_is_deleted_when_its_time_is_over_unless_it_was_restored() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
        let editor = catalogue.by(Actor::Local);
        let books = editor.books();
        let keys = ["removed", "restored", "added again", "other"].map(|id| BookKey {
            library: "l".parse().expect("a library"),
            id: id.parse().expect("an id"),
        });
        let add = |key: &BookKey| {
            let text = Content::text(format!("The text of the book {key}."));
            let entry = NewEntry::new(key.clone(), Rights::Free, text);
            books.add(entry).expect("it is added")
        };
        for key in &keys {
            add(key);
        }
        for key in &keys[..3] {
            let amended = books.amend(key, &removal(true)).expect("a store");
            let standing = amended.expect("the book").standing;
            assert!(standing.removed_at.is_some() && standing.disabled_at.is_some());
        }
        let restored = books.amend(&keys[1], &removal(false)).expect("a store");
        let standing = restored.expect("the book").standing;
        assert!(standing.removed_at.is_none() && standing.disabled_at.is_none());
        add(&keys[2]);
        let late = |hours| Timestamp::now() + REMOVED_FOR + SignedDuration::from_hours(hours);
        for (now, left) in [(late(-1), 4), (late(1), 3)] {
            delete_removed(&editor, now).expect("a store");
            let found = keys.each_ref().map(|key| books.get(key).expect("a store"));
            let disabled = found.iter().flatten().filter(|book| book.is_disabled());
            assert_eq!(disabled.count(), left - 3);
            assert_eq!(found.iter().flatten().count(), left);
        }
    }

    #[test]
    fn what_was_disabled_before_its_removal_stays_disabled() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
        let editor = catalogue.by(Actor::Local);
        let key = BookKey {
            library: "l".parse().expect("a library"),
            id: "a".parse().expect("an id"),
        };
        let entry = NewEntry::new(
            key.clone(),
            Rights::Free,
            Content::text("A text.".to_owned()),
        );
        editor.books().add(entry).expect("it is added");
        let disabling = Amendment {
            disabled: Some(true),
            ..Amendment::default()
        };
        let enabling = Amendment {
            disabled: Some(false),
            ..Amendment::default()
        };
        // An administrator who disables a removed book keeps it.
        let disabling = || disabling.clone();
        for changes in [
            vec![disabling(), removal(true), removal(false)],
            vec![enabling, removal(true), disabling()],
        ] {
            let mut standing = None;
            for change in &changes {
                let book = editor.books().amend(&key, change).expect("a store");
                standing = book.map(|book| book.standing);
            }
            let standing = standing.expect("the book");
            assert!(standing.disabled_at.is_some() && standing.removed_at.is_none());
        }
    }
}
