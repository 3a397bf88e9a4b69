//! Where filed checks stand, and those that wait for a decision.
//!
//! They are in [`Table::Decisions`] too, with these keys:
//!
//! ```text
//! s id         → the state of a filed check, the id of the entry that it is from, and that of the last entry about it
//! q state id   → nothing: the filed checks in a state, newest first; all bits of their ids are flipped
//! a id         → the id of the last entry that assigned a filed check
//! ```

use std::ops::Deref;

use jiff::{Timestamp, ToSpan as _};
use uuid::Uuid;

use super::{Catalogue, CatalogueError, MOST_READ, StoredDecision, after, id_of, key, parsed};
use crate::api::{CheckState, Decision, DecisionPage, Ruling};
use lapidary_checking::Reason;
use lapidary_store::{Actor, Field, Library, Rights, RowChange, Table, Term};

/// In place of an assignee: what is assigned to nobody.
const NOBODY: &str = "nobody";

/// Which filed checks to list. All conditions hold together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SoughtChecks {
    /// In this state; in any if absent.
    pub state: Option<CheckState>,
    /// That matched a book of this library, which counts for whoever checked.
    pub library: Option<Library>,
    /// With this verdict.
    pub verdict: Option<Rights>,
    /// Filed by this actor.
    pub actor: Option<String>,
    /// Assigned to this actor, or to `nobody`.
    pub assignee: Option<String>,
    /// With at least this share of the text in protected or forbidden books, from 0 to 1.
    pub min_covered: Option<f64>,
    /// Words that those of the name, the case and the title of the best match begin with.
    pub words: Option<String>,
    /// Of this batch.
    pub batch: Option<String>,
}

impl SoughtChecks {
    /// Whether the conditions hold of an entry that it answers itself.
    fn is_met_by(&self, entry: &StoredDecision) -> bool {
        let is = |sought: &Option<String>, found: Option<&String>| {
            sought.is_none() || sought.as_ref() == found
        };
        is(&self.actor, Some(&entry.actor))
            && is(&self.batch, entry.batch.as_ref())
            && self.verdict.is_none_or(|verdict| verdict == entry.verdict)
            && self
                .min_covered
                .is_none_or(|least| entry.covered.is_some_and(|covered| covered >= least))
            && self.words.as_deref().is_none_or(|words| entry.has(words))
    }
}

/// Where a filed check stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CheckStanding {
    state: CheckState,
    /// The entry that holds.
    entry: Uuid,
    /// The last entry, which may have taken back one that held.
    last: Uuid,
}

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
        Ruling::Accepted | Ruling::Refused => CheckState::Decided,
        Ruling::Appealed => CheckState::Appealed,
        // The last two say nothing about that themselves.
        Ruling::Matched | Ruling::Withdrawn | Ruling::Assigned => CheckState::Open,
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

    /// Whether for each of these words, its name, its case or the title of its best match has one that begins with it.
    fn has(&self, words: &str) -> bool {
        let title = self
            .best_match
            .as_ref()
            .and_then(|best| best.title.as_ref());
        let own = [self.name.as_ref(), self.case.as_ref(), title].into_iter();
        let own: Vec<Term> = own
            .flatten()
            .flat_map(|text| Term::words(Field::Title, text))
            .collect();
        Term::words(Field::Title, words)
            .all(|sought| own.iter().any(|own| own.text().starts_with(sought.text())))
    }
}

/// What puts a check into a state.
fn changes_of_state(check: Uuid, standing: CheckStanding) -> Vec<RowChange> {
    let CheckStanding { state, entry, last } = standing;
    let row = [&[letter(state)][..], entry.as_bytes(), last.as_bytes()].concat();
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

/// What a row says. Those of older versions name one entry.
fn standing_of(row: &[u8]) -> Option<CheckStanding> {
    let (first, ids) = row.split_first()?;
    let mut states = CheckState::ALL.into_iter();
    Some(CheckStanding {
        state: states.find(|state| letter(*state) == *first)?,
        entry: Uuid::from_bytes(*ids.first_chunk()?),
        last: id_of(ids)?,
    })
}

/// Where the filed checks of a catalogue stand ([`Catalogue::check_queue`]).
#[derive(Debug, Clone)]
pub struct CheckQueue<C>(pub(crate) C);

impl<C: Deref<Target = Catalogue>> CheckQueue<C> {
    /// What an entry changes in where its check stands, which may be watched.
    pub(super) fn state_changes(
        &self,
        id: Uuid,
        entry: &StoredDecision,
        is_watched: bool,
    ) -> Result<Vec<RowChange>, CatalogueError> {
        let check = parsed(&entry.check)?;
        if entry.ruling == Ruling::Assigned {
            return self.changes_of_assignment(check, id);
        }
        if let Some(standing) = self.standing(check)? {
            // A later entry may be known if this one is imported.
            let is_older = standing.last > id;
            if is_older || entry.ruling == Ruling::Matched && !self.is_let_through(standing)? {
                return Ok(Vec::new());
            }
        }
        let standing = match (entry.ruling, &entry.previous_id) {
            (Ruling::Withdrawn, Some(previous)) => self.standing_again(check, id, previous)?,
            _ => CheckStanding {
                state: state_after(entry, is_watched),
                entry: id,
                last: id,
            },
        };
        Ok(changes_of_state(check, standing))
    }

    /// Where a check stands after an entry that makes the previous one hold again.
    fn standing_again(
        &self,
        check: Uuid,
        last: Uuid,
        previous: &str,
    ) -> Result<CheckStanding, CatalogueError> {
        let entry = parsed(previous)?;
        let is_watched = self.0.watches().until(check)?.is_some();
        let state = match self.0.decisions().entry(entry)? {
            Some(previous) => state_after(&previous, is_watched),
            None => CheckState::Open,
        };
        let standing = CheckStanding { state, entry, last };
        // A book that was found meanwhile still waits for a decision.
        match self.last_match(check)?.filter(|found| *found > entry) {
            Some(found) if self.is_let_through(standing)? => Ok(CheckStanding {
                state: CheckState::Open,
                entry: found,
                last,
            }),
            _ => Ok(standing),
        }
    }

    /// The last entry that a book which was added later matches a check, of the first ones that a search reads.
    fn last_match(&self, check: Uuid) -> Result<Option<Uuid>, CatalogueError> {
        let causes = self
            .0
            .page_of(Table::Decisions, &key(b"m", check), None, MOST_READ)?;
        let found = causes
            .iter()
            .filter_map(|(_, entry)| Uuid::from_slice(entry).ok());
        Ok(found.max())
    }

    /// What an entry changes that assigns a check.
    fn changes_of_assignment(
        &self,
        check: Uuid,
        id: Uuid,
    ) -> Result<Vec<RowChange>, CatalogueError> {
        let row = key(b"a", check);
        let known = self.0.row(Table::Decisions, &row)?;
        if known.is_some_and(|known| known.as_slice() > id.as_bytes().as_slice()) {
            return Ok(Vec::new());
        }
        let change = RowChange::put(Table::Decisions, row, id.as_bytes().as_slice());
        Ok(vec![change])
    }

    /// The id of the entry that says where a check stands.
    pub(super) fn last_of(&self, check: Uuid) -> Result<Option<String>, CatalogueError> {
        let standing = self.standing(check)?;
        Ok(standing.map(|standing| standing.entry.to_string()))
    }

    /// Whether the text of a check is let through, or may soon be, so that a book that matches it later puts it into the queue.
    fn is_let_through(&self, standing: CheckStanding) -> Result<bool, CatalogueError> {
        match standing.state {
            CheckState::Open | CheckState::Watched | CheckState::Clear => Ok(true),
            CheckState::Appealed => Ok(false),
            CheckState::Decided => {
                let holds = self.0.decisions().entry(standing.entry)?;
                Ok(holds.is_some_and(|holds| holds.ruling == Ruling::Accepted))
            }
        }
    }

    /// What changes in where a check stands when it is no longer watched.
    pub(crate) fn changes_of_watch_end(
        &self,
        check: Uuid,
    ) -> Result<Vec<RowChange>, CatalogueError> {
        Ok(match self.standing(check)? {
            Some(standing) if standing.state == CheckState::Watched => changes_of_state(
                check,
                CheckStanding {
                    state: CheckState::Clear,
                    ..standing
                },
            ),
            _ => Vec::new(),
        })
    }

    /// Where a check stands.
    fn standing(&self, check: Uuid) -> Result<Option<CheckStanding>, CatalogueError> {
        let row = self.0.row(Table::Decisions, &key(b"s", check))?;
        Ok(row.and_then(|row| standing_of(&row)))
    }

    /// The id of the entry that holds again when an actor takes back their own decision about a check.
    pub(super) fn holds_again(
        &self,
        check: Uuid,
        actor: &Actor,
        by: Option<&Actor>,
    ) -> Result<String, CatalogueError> {
        let standing = self.standing(check)?;
        let holds = standing.map(|standing| self.0.decisions().entry(standing.entry));
        let holds = holds.transpose()?.flatten();
        match holds {
            Some(StoredDecision {
                previous_id: Some(previous),
                ruling,
                actor: own,
                ..
            }) if own == actor.to_string() && self.is_up_to(ruling, check, by)? => Ok(previous),
            _ => Err(CatalogueError::NothingToWithdraw),
        }
    }

    /// Whether a check may be assigned like this: by reviewers to themselves or to nobody, and by administrators to whoever sees it.
    pub(super) fn may_assign(
        &self,
        assignee: Option<&str>,
        (check, entry): (Uuid, &StoredDecision),
        actor: &Actor,
        by: Option<&Actor>,
    ) -> Result<(), CatalogueError> {
        let is_reviewer = self.is_up_to(Ruling::Assigned, check, by)?;
        let is_known = match assignee.filter(|assignee| *assignee != actor.to_string()) {
            None => true,
            Some(assignee) => by.is_none() && self.is_seen_by_name(assignee, entry)?,
        };
        if is_reviewer && is_known {
            Ok(())
        } else {
            Err(CatalogueError::BadAssignee)
        }
    }

    /// Whether the key that is written like this sees an entry.
    fn is_seen_by_name(
        &self,
        written: &str,
        entry: &StoredDecision,
    ) -> Result<bool, CatalogueError> {
        let Some(Actor::Key(name)) = Actor::written(written) else {
            return Ok(false);
        };
        let key = self.0.keys().named(&name)?;
        match key.filter(|key| !key.has_expired() && key.may_see_checks()) {
            Some(key) => self.0.decisions().is_seen(entry, key.viewer().as_ref()),
            None => Ok(false),
        }
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
            Some(by) if ruling != Ruling::Appealed => {
                self.0.decisions().matches_library_of(check, by)
            }
            _ => Ok(true),
        }
    }

    /// When a decision about a check is made: after all that is known about it, even if the clock was set back.
    pub(super) fn time_after(
        &self,
        check: Uuid,
        filed_at: Timestamp,
    ) -> Result<Timestamp, CatalogueError> {
        let assigned = self.0.row(Table::Decisions, &key(b"a", check))?;
        let assigned = assigned.as_deref().and_then(id_of);
        let standing = self.standing(check)?.map(|standing| standing.last);
        let mut last = filed_at;
        for id in [assigned, standing].into_iter().flatten() {
            last = self
                .0
                .decisions()
                .entry(id)?
                .map_or(last, |entry| last.max(entry.at));
        }
        let next = last.saturating_add(1.millisecond()).unwrap_or(last);
        Ok(Timestamp::now().max(next))
    }

    /// A page of filed checks, newest first. `by`: only those that this actor sees. The work of a call is bounded.
    ///
    /// # Errors
    /// [`CatalogueError::BadCursor`].
    pub fn page(
        &self,
        sought: &SoughtChecks,
        by: Option<&Actor>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<DecisionPage, CatalogueError> {
        let queued = self.queued(sought.state, after(None, cursor)?)?;
        let read = queued.len();
        let (mut decisions, mut last, mut is_full) = (Vec::new(), None, false);
        for id in queued {
            is_full = decisions.len() == limit;
            if is_full {
                break;
            }
            last = Some(id);
            let Some(entry) = self.0.decisions().entry(id)? else {
                continue;
            };
            if sought.is_met_by(&entry)
                && self.is_found(sought, id)?
                && self.0.decisions().is_seen(&entry, by)?
            {
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

    /// The checks in a state, or in any, behind one of them, newest first: at most [`MOST_READ`].
    fn queued(
        &self,
        state: Option<CheckState>,
        after: Option<Uuid>,
    ) -> Result<Vec<Uuid>, CatalogueError> {
        let states = CheckState::ALL.into_iter();
        let mut flipped = Vec::new();
        for state in states.filter(|one| state.is_none_or(|state| state == *one)) {
            let (prefix, after) = (
                [b'q', letter(state)],
                after.map(|after| queue_key(state, after)),
            );
            let store = &self.0.store;
            let rows = store.page(Table::Decisions, &prefix, after.as_deref(), MOST_READ)?;
            flipped.extend(rows.iter().filter_map(|(row, _)| id_of(row)));
        }
        flipped.sort_unstable();
        flipped.truncate(MOST_READ);
        let ids = flipped.into_iter();
        Ok(ids.map(|id| Uuid::from_u128(!id.as_u128())).collect())
    }

    /// Whether the conditions hold of a check that other rows answer.
    fn is_found(&self, sought: &SoughtChecks, check: Uuid) -> Result<bool, CatalogueError> {
        if let Some(library) = &sought.library
            && !self.0.decisions().matches_any_of(check, [library])?
        {
            return Ok(false);
        }
        let Some(assignee) = &sought.assignee else {
            return Ok(true);
        };
        let row = self.0.row(Table::Decisions, &key(b"a", check))?;
        let decider = self.assignee_in(row.as_deref())?;
        Ok(decider.as_deref().unwrap_or(NOBODY) == assignee)
    }

    /// Who is to decide, after the entry that a row names.
    fn assignee_in(&self, row: Option<&[u8]>) -> Result<Option<String>, CatalogueError> {
        let entry = row
            .and_then(id_of)
            .map(|id| self.0.decisions().entry(id))
            .transpose()?;
        Ok(entry.flatten().and_then(|entry| entry.assignee))
    }

    /// Adds to filed checks where they stand, which book made those that are open again, and who is to decide.
    pub(super) fn add_states<'d>(
        &self,
        decisions: impl IntoIterator<Item = &'d mut Decision>,
    ) -> Result<(), CatalogueError> {
        let mut checks: Vec<&mut Decision> = decisions
            .into_iter()
            .filter(|entry| entry.ruling == Ruling::Checked)
            .collect();
        let ids = checks.iter().map(|entry| parsed(&entry.id));
        let ids = ids.collect::<Result<Vec<Uuid>, CatalogueError>>()?;
        let [states, assigned] = [b"s", b"a"].map(|kind| {
            let keys: Vec<Vec<u8>> = ids.iter().map(|id| key(kind, *id)).collect();
            self.0.rows_of(Table::Decisions, &keys)
        });
        let rows = states?.into_iter().zip(assigned?);
        for (entry, (state, assigned)) in checks.iter_mut().zip(rows) {
            entry.assignee = self.assignee_in(assigned.as_deref())?;
            if let Some(standing) = state.and_then(|row| standing_of(&row)) {
                self.add_state(entry, standing)?;
            }
        }
        Ok(())
    }

    fn add_state(
        &self,
        check: &mut Decision,
        standing: CheckStanding,
    ) -> Result<(), CatalogueError> {
        check.state = Some(standing.state);
        if standing.entry.to_string() == check.id {
            return Ok(());
        }
        if standing.state == CheckState::Open {
            let holds = self.0.decisions().entry(standing.entry)?;
            check.matched_later = holds.and_then(|holds| holds.matched_later);
        } else {
            check.decision_id = Some(standing.entry.to_string());
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
            assignee: None,
        };
        let decisions = catalogue.by(Actor::Local).decisions();
        decisions.decide(&decision, None).expect("it is recorded")
    }

    /// The ids of the checks in a state.
    fn listed(catalogue: &Catalogue, state: CheckState) -> Vec<String> {
        let sought = SoughtChecks {
            state: Some(state),
            ..SoughtChecks::default()
        };
        let page = catalogue.check_queue().page(&sought, None, None, 10);
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
        let holds = |catalogue: &Catalogue, expected: CheckState| {
            for state in CheckState::ALL {
                let found = listed(catalogue, state);
                let is_there = found == std::slice::from_ref(&check);
                assert_eq!(is_there, state == expected, "{state:?}: {found:?}");
            }
        };
        for catalogue in [&first, &second] {
            let editor = catalogue.by(Actor::Local);
            let [filed, refused] = entries.clone();
            for entry in [appeal.clone(), filed, refused] {
                assert!(editor.decisions().import(entry).expect("it is imported"));
            }
            holds(catalogue, CheckState::Appealed);
        }
        // What was taken back holds no more, even if it is imported again.
        let back = decide(&first, &check, Ruling::Withdrawn);
        let [filed, refused] = entries;
        let third = tempfile::tempdir().expect("a folder");
        let third = self::catalogue(&third);
        for entry in [filed, refused.clone(), back.clone(), appeal] {
            let editor = third.by(Actor::Local);
            assert!(editor.decisions().import(entry).expect("it is imported"));
        }
        for catalogue in [&first, &third] {
            holds(catalogue, CheckState::Decided);
            let shown = catalogue
                .decisions()
                .get(&check, None)
                .expect("it is there");
            assert_eq!(shown.decision_id.as_deref(), Some(refused.id.as_str()));
        }
        assert_eq!(back.previous_id, Some(refused.id));
        decide(&first, &check, Ruling::Withdrawn);
        holds(&first, CheckState::Open);
    }
}
