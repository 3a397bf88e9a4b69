//! A store whose calls can be watched and held up.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use lapidary_gems::{Recipe, RecipeName};
use lapidary_store::recipes::RecipeState;
use lapidary_store::{
    Action, Actor, Administration, AuditEntry, AuditFrom, BookKey, Condition, Engine, LateGems,
    NewBook, Record, RecordChange, Row, RowChange, Snapshot, Store, StoreError, Table, Watch,
};

/// Calls that are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Put,
    Apply,
    Snapshot,
    Audit,
    /// A read of rows with these keys.
    Rows(Table),
    /// A read of a page, or of the whole table.
    Page {
        table: Table,
        is_whole: bool,
    },
}

/// A store that tells of calls before it makes them. A call that is to fail is not made; reads cannot.
pub struct Watched<F>(pub Box<dyn Store>, pub F);

impl<F: Fn(Call) -> Result<(), StoreError> + Send + Sync> Administration for Watched<F> {
    fn compact(&self, watch: Watch<'_>) -> Result<(), StoreError> {
        self.0.compact(watch)
    }

    fn verify(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
        self.0.verify(watch)
    }

    fn repair(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
        self.0.repair(watch)
    }
}

impl<F: Fn(Call) -> Result<(), StoreError> + Send + Sync> Store for Watched<F> {
    fn add_recipe(&self, by: &Actor, recipe: &Recipe) -> Result<(), StoreError> {
        self.0.add_recipe(by, recipe)
    }

    fn set_recipe(
        &self,
        by: &Actor,
        recipe: &RecipeName,
        state: RecipeState,
    ) -> Result<u64, StoreError> {
        self.0.set_recipe(by, recipe, state)
    }

    fn drop_recipe(
        &self,
        by: &Actor,
        recipe: &RecipeName,
        watch: Watch<'_>,
    ) -> Result<(), StoreError> {
        self.0.drop_recipe(by, recipe, watch)
    }

    fn add_gems(
        &self,
        by: &Actor,
        recipe: &RecipeName,
        books: Vec<LateGems>,
    ) -> Result<(), StoreError> {
        self.0.add_gems(by, recipe, books)
    }

    fn page(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let is_whole = prefix.is_empty() && after.is_none() && limit == usize::MAX;
        (self.1)(Call::Page { table, is_whole })?;
        self.0.page(table, prefix, after, limit)
    }

    fn rows(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        (self.1)(Call::Rows(table))?;
        self.0.rows(table, keys)
    }

    fn apply(
        &self,
        by: &Actor,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<(), StoreError> {
        (self.1)(Call::Apply)?;
        self.0.apply(by, changes, actions)
    }

    fn put(&self, by: &Actor, books: Vec<NewBook>) -> Result<(), StoreError> {
        (self.1)(Call::Put)?;
        self.0.put(by, books)
    }

    fn remove(
        &self,
        by: &Actor,
        keys: &[BookKey],
        condition: &Condition,
    ) -> Result<Vec<bool>, StoreError> {
        self.0.remove(by, keys, condition)
    }

    fn amend(
        &self,
        by: &Actor,
        key: &BookKey,
        change: RecordChange<'_>,
    ) -> Result<Option<Record>, StoreError> {
        self.0.amend(by, key, change)
    }

    fn snapshot(&self) -> Box<dyn Snapshot + '_> {
        (self.1)(Call::Snapshot).expect("a snapshot does not fail");
        self.0.snapshot()
    }

    fn audit(&self, from: AuditFrom, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
        (self.1)(Call::Audit)?;
        self.0.audit(from, limit)
    }

    fn writable(&self) -> Result<(), StoreError> {
        self.0.writable()
    }

    fn engine(&self) -> Engine<'_> {
        self.0.engine()
    }
}

/// Holds up a call where it is told to, once.
#[derive(Default)]
pub struct Stop {
    at: Mutex<Option<(Call, usize)>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default, PartialEq, Eq, Clone, Copy)]
enum State {
    #[default]
    Running,
    Stopped,
    Released,
}

impl Stop {
    /// Stops at the next call of this kind but for so many.
    pub fn at(&self, call: Call, but: usize) {
        *self.state.lock().unwrap() = State::Running;
        *self.at.lock().unwrap() = Some((call, but));
    }

    /// To be called by a [`Watched`] store.
    pub fn on(&self, call: Call) {
        {
            let mut at = self.at.lock().unwrap();
            match &mut *at {
                Some((awaited, 0)) if *awaited == call => *at = None,
                Some((awaited, but)) if *awaited == call => {
                    *but -= 1;
                    return;
                }
                _ => return,
            }
        }
        self.becomes(State::Stopped);
        self.wait_for(State::Released);
    }

    /// Waits until it is there.
    pub fn reached(&self) {
        self.wait_for(State::Stopped);
    }

    /// Lets it go on.
    pub fn release(&self) {
        self.becomes(State::Released);
    }

    fn becomes(&self, state: State) {
        *self.state.lock().unwrap() = state;
        self.changed.notify_all();
    }

    fn wait_for(&self, wanted: State) {
        let state = self.state.lock().unwrap();
        let long = Duration::from_secs(30);
        let timeout = self
            .changed
            .wait_timeout_while(state, long, |state| *state != wanted)
            .unwrap()
            .1;
        assert!(!timeout.timed_out(), "not reached, or not released");
    }
}
