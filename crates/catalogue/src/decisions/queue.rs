//! Where filed checks stand, and those that wait for a decision.
//!
//! They are in [`Table::Decisions`] too, with these keys:
//!
//! ```text
//! s id         → the state of a filed check, and the id of the entry that it is from
//! q state id   → nothing: the filed checks in a state, newest first; all bits of their ids are flipped
//! ```

use std::ops::Deref;

use jiff::{Timestamp, ToSpan as _};
use uuid::Uuid;

use super::{
    Catalogue, CatalogueError, Decisions, MOST_READ, StoredDecision, after, id_of, key, parsed,
};
use crate::api::{CheckState, Decision, DecisionPage, Ruling};
use lapidary_checking::Reason;
use lapidary_store::{Actor, Rights, RowChange, Table};

/// The letter of a state in keys and rows.
fn letter(state: CheckState) -> u8 {
    match state {
        CheckState::Open => b'o',
        CheckState::Appealed => b'a',
        CheckState::Decided => b'd',
        CheckState::Watched => b'w',
        CheckState::Clear => b'c',
    }
}

/// The state of a check after an entry about it.
pub(super) fn state_after(entry: &StoredDecision, is_watched: bool) -> CheckState {
    match entry.ruling {
        Ruling::Checked if entry.needs_decision() => CheckState::Open,
        Ruling::Checked if is_watched => CheckState::Watched,
        Ruling::Checked => CheckState::Clear,
        Ruling::Matched => CheckState::Open,
        Ruling::Accepted | Ruling::Refused => CheckState::Decided,
        Ruling::Appealed => CheckState::Appealed,
    }
}

impl StoredDecision {
    /// Whether a person has to decide about its check: something in the catalogue matches, and does not permit the text.
    fn needs_decision(&self) -> bool {
        // Entries of older versions have no reason.
        let reason = self.verdict_reason.unwrap_or(Reason::Match);
        let matches = [Reason::Match, Reason::NoneDecides].contains(&reason);
        self.verdict.forbids() || self.verdict == Rights::Unknown && matches
    }
}

/// What puts a check into a state, by this entry about it.
fn changes_of_state(check: Uuid, state: CheckState, entry: Uuid) -> Vec<RowChange> {
    let row = [&[letter(state)][..], entry.as_bytes()].concat();
    let others = CheckState::ALL.into_iter().filter(|other| *other != state);
    let mut changes: Vec<RowChange> = others
        .map(|other| RowChange::delete(Table::Decisions, queue_key(other, check)))
        .collect();
    changes.extend([
        RowChange::put(Table::Decisions, queue_key(state, check), ""),
        RowChange::put(Table::Decisions, key(b"s", check), row),
    ]);
    changes
}

fn queue_key(state: CheckState, check: Uuid) -> Vec<u8> {
    let newest_first = Uuid::from_u128(!check.as_u128());
    key(&[b'q', letter(state)], newest_first)
}

/// The state in a row, and the entry that it is from.
fn state_of(row: &[u8]) -> Option<(CheckState, Uuid)> {
    let (first, entry) = row.split_first()?;
    let mut states = CheckState::ALL.into_iter();
    let state = states.find(|state| letter(*state) == *first)?;
    Some((state, Uuid::from_slice(entry).ok()?))
}

impl<C: Deref<Target = Catalogue>> Decisions<C> {
    /// What an entry changes in where its check stands, which may be watched.
    pub(super) fn state_changes(
        &self,
        id: Uuid,
        entry: &StoredDecision,
        is_watched: bool,
    ) -> Result<Vec<RowChange>, CatalogueError> {
        let check = parsed(&entry.check)?;
        if let Some((state, last)) = self.standing(check)? {
            // A later entry may be known if this one is imported.
            let is_older = last > id;
            if is_older || entry.ruling == Ruling::Matched && !self.is_let_through(state, last)? {
                return Ok(Vec::new());
            }
        }
        Ok(changes_of_state(check, state_after(entry, is_watched), id))
    }

    /// Whether the text of a check is let through, or may soon be, so that a book that matches it later puts it into the queue.
    fn is_let_through(&self, state: CheckState, last: Uuid) -> Result<bool, CatalogueError> {
        match state {
            CheckState::Open | CheckState::Watched | CheckState::Clear => Ok(true),
            CheckState::Appealed => Ok(false),
            CheckState::Decided => {
                let last = self.entry(last)?;
                Ok(last.is_some_and(|last| last.ruling == Ruling::Accepted))
            }
        }
    }

    /// What changes in where a check stands when it is no longer watched.
    pub(crate) fn changes_of_watch_end(
        &self,
        check: Uuid,
    ) -> Result<Vec<RowChange>, CatalogueError> {
        Ok(match self.standing(check)? {
            Some((CheckState::Watched, last)) => changes_of_state(check, CheckState::Clear, last),
            _ => Vec::new(),
        })
    }

    /// Where a check stands, and the last entry that changed it.
    fn standing(&self, check: Uuid) -> Result<Option<(CheckState, Uuid)>, CatalogueError> {
        let row = self.0.row(Table::Decisions, &key(b"s", check))?;
        Ok(row.and_then(|row| state_of(&row)))
    }

    /// Whether a decision of this actor changes where a check stands. Of who only filed the check, only an appeal does: nobody
    /// takes their own check out of the queue of those who decide.
    pub(super) fn is_up_to(
        &self,
        ruling: Ruling,
        check: Uuid,
        by: Option<&Actor>,
    ) -> Result<bool, CatalogueError> {
        match by {
            Some(by) if ruling != Ruling::Appealed => self.matches_library_of(check, by),
            _ => Ok(true),
        }
    }

    /// When a decision about a check is made: after all that is known about it, even if the clock was set back.
    pub(super) fn time_after(
        &self,
        check: Uuid,
        filed_at: Timestamp,
    ) -> Result<Timestamp, CatalogueError> {
        let last = self.standing(check)?;
        let last = last.map(|(_, last)| self.entry(last)).transpose()?;
        let last = last.flatten();
        let last = last.map_or(filed_at, |last| last.at.max(filed_at));
        let next = last.saturating_add(1.millisecond()).unwrap_or(last);
        Ok(Timestamp::now().max(next))
    }

    /// A page of the filed checks in a state, newest first. `by`: only those that this actor sees.
    ///
    /// # Errors
    /// [`CatalogueError::BadCursor`].
    pub fn page_in(
        &self,
        state: CheckState,
        by: Option<&Actor>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<DecisionPage, CatalogueError> {
        let after = after(None, cursor)?.map(|after| queue_key(state, after));
        let prefix = [b'q', letter(state)];
        let store = &self.0.store;
        let rows = store.page(Table::Decisions, &prefix, after.as_deref(), MOST_READ)?;
        let read = rows.len();
        let (mut decisions, mut last, mut is_full) = (Vec::new(), None, false);
        for (row, _) in rows {
            is_full = decisions.len() == limit;
            if is_full {
                break;
            }
            let Some(flipped) = id_of(&row) else { continue };
            let id = Uuid::from_u128(!flipped.as_u128());
            last = Some(id);
            let Some(entry) = self.entry(id)? else {
                continue;
            };
            if self.is_seen(&entry, by)? {
                decisions.push(entry.shown(id, None));
            }
        }
        self.add_states(&mut decisions)?;
        let is_more = is_full || read == MOST_READ;
        Ok(DecisionPage {
            decisions,
            next_cursor: last.filter(|_| is_more).map(|id| id.to_string()),
        })
    }

    /// Adds to filed checks where they stand, and which book made those that are open again.
    pub(super) fn add_states(&self, decisions: &mut [Decision]) -> Result<(), CatalogueError> {
        let mut checks: Vec<&mut Decision> = decisions
            .iter_mut()
            .filter(|entry| entry.ruling == Ruling::Checked)
            .collect();
        let keys = checks
            .iter()
            .map(|entry| Ok(key(b"s", parsed(&entry.id)?)))
            .collect::<Result<Vec<_>, CatalogueError>>()?;
        let rows = self.0.rows_of(Table::Decisions, &keys)?;
        for (entry, row) in checks.iter_mut().zip(rows) {
            let Some((state, last)) = row.and_then(|row| state_of(&row)) else {
                continue;
            };
            entry.state = Some(state);
            if last.to_string() == entry.id {
                continue;
            }
            if state == CheckState::Open {
                let last = self.entry(last)?;
                entry.matched_later = last.and_then(|last| last.matched_later);
            } else {
                entry.decision_id = Some(last.to_string());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::NewDecision;
    use crate::{Case, CheckOptions, Content, NewEntry, Query};
    use lapidary_store::{Actor, BookKey, Library};

    const TEXT: &str = "A text that is the same as that of the only book here.";

    fn catalogue(folder: &tempfile::TempDir) -> Catalogue {
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
        let library: Library = "house".parse().expect("a library");
        let id = "1".parse().expect("an id");
        let book = BookKey { library, id };
        let book = NewEntry::new(book, Rights::Protected, Content::text(TEXT.to_owned()));
        let editor = catalogue.by(Actor::Local);
        editor.books().add(book).expect("it is added");
        catalogue
    }

    fn decide(catalogue: &Catalogue, check: &str, ruling: Ruling) -> Decision {
        let decision = NewDecision {
            check: check.to_owned(),
            ruling,
            reason: "why".to_owned(),
        };
        let decisions = catalogue.by(Actor::Local).decisions();
        decisions.decide(&decision, None).expect("it is recorded")
    }

    /// The ids of the checks in a state.
    fn listed(catalogue: &Catalogue, state: CheckState) -> Vec<String> {
        let page = catalogue.decisions().page_in(state, None, None, 10);
        let decisions = page.expect("a page").decisions;
        decisions.into_iter().map(|entry| entry.id).collect()
    }

    /// A check is in one state: that of the last entry about it, in whatever order entries are imported.
    #[test]
    fn the_last_entry_decides_where_a_check_stands() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [first, second] = [0, 1].map(|at| catalogue(&folders[at]));
        let options = CheckOptions {
            record: Some(Case::default()),
            ..CheckOptions::default()
        };
        let report =
            first
                .by(Actor::Local)
                .decisions()
                .check(&Query::text(TEXT.to_owned()), &[], &options);
        let check = report.expect("a report").filed.expect("an id");
        assert_eq!(
            listed(&first, CheckState::Open),
            std::slice::from_ref(&check)
        );
        let filed = first.decisions().get(&check, None).expect("it is there");
        assert_eq!(filed.state, Some(CheckState::Open));
        let entries = [filed, decide(&first, &check, Ruling::Refused)];
        let appeal = decide(&first, &check, Ruling::Appealed);
        for catalogue in [&first, &second] {
            let editor = catalogue.by(Actor::Local);
            let [filed, refused] = entries.clone();
            for entry in [appeal.clone(), filed, refused] {
                assert!(editor.decisions().import(entry).expect("it is imported"));
            }
            for state in CheckState::ALL {
                let expected = if state == CheckState::Appealed {
                    vec![check.clone()]
                } else {
                    Vec::new()
                };
                assert_eq!(listed(catalogue, state), expected, "{state:?}");
            }
        }
    }
}
