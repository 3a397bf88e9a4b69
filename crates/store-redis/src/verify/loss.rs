//! What nodes have lost, and what the others still tell of it.
//!
//! A node whose clock was set back (`clock`) is refused by everybody else, so nobody changes anything that has to do with it
//! meanwhile. The recipes come back from the copies that shards have, the names of libraries from the books. Numbers that were
//! given go on where the others know them to be. Whatever refers to books is then repaired as ever, and at last the clocks are
//! set to what they said.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::super::Shared;
use super::super::clock::SetBack;
use super::super::command::Command;
use super::super::keys::{BookState, SHARDS, shard_of_key, slot_of_shard};
use super::super::meta::RecipesThen;
use super::super::record;
use super::super::scripts::FENCE;
use lapidary_store::{Action, Actor, Amended, AuditEntry, BookKey, Record, StoreError};

/// The nodes that have lost data.
pub(super) struct Losses {
    set_back: Vec<SetBack>,
}

/// How much earlier than its entry in the audit log a change may say that it was made.
const WRITTEN_AFTER: SignedDuration = SignedDuration::from_secs(1);

/// What the audit log says last of a book.
#[derive(Default)]
struct LastEntry {
    is_there: bool,
    digest: String,
    /// When its metadata were changed, and what of them.
    amended: Option<(Timestamp, Vec<Amended>)>,
}

/// How a book differs from what the audit log says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Difference {
    /// It is not there.
    Missing,
    /// It was removed, and is there again.
    Back,
    /// It is as it was before it was replaced.
    Older,
    /// Its metadata are as they were before these changes.
    NotAmended(Vec<Amended>),
}

/// A book that differs from what the audit log says of it.
pub(super) struct DifferentBook {
    pub(super) key: BookKey,
    pub(super) how: Difference,
}

impl DifferentBook {
    pub(super) fn sentence(&self) -> String {
        let key = &self.key;
        match &self.how {
            Difference::Missing => format!("the book {key} is lost: add it again"),
            Difference::Back => format!("the book {key} was removed, and is there again"),
            Difference::Older => {
                format!("the book {key} is as it was before it was replaced: replace it again")
            }
            Difference::NotAmended(changes) => format!(
                "the last change of the metadata of the book {key} is lost: make it again ({})",
                changes
                    .iter()
                    .map(|change| format!("{change:?}").to_lowercase())
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        }
    }
}

/// The books that the audit log has, of shards that have lost some.
#[derive(Default)]
pub(super) struct AuditedBooks(BTreeMap<BookKey, LastEntry>);

impl AuditedBooks {
    pub(super) fn note(&mut self, entry: &AuditEntry, losses: &Losses, store: &Shared) {
        let (Action::Added(book)
        | Action::Replaced(book)
        | Action::Amended(book)
        | Action::Removed(book)) = &entry.action
        else {
            return;
        };
        let (Ok(library), Ok(id)) = (book.library.parse(), book.id.parse()) else {
            return;
        };
        let key = BookKey { library, id };
        if !losses.has_shard(shard_of_key(&key), store) {
            return;
        }
        let last = self.0.entry(key).or_default();
        last.is_there = !matches!(entry.action, Action::Removed(_));
        last.digest.clone_from(&book.digest);
        last.amended = match entry.action {
            Action::Amended(_) => Some((entry.created_at, book.changes.clone())),
            _ => None,
        };
    }

    /// The books that are not as the log says.
    pub(super) fn different(self, shared: &Shared) -> Result<Vec<DifferentBook>, StoreError> {
        let mut different = Vec::new();
        for (key, last) in self.0 {
            let how = last.compared(record(shared, &key)?);
            different.extend(how.map(|how| DifferentBook { key, how }));
        }
        Ok(different)
    }
}

impl LastEntry {
    fn compared(self, record: Option<Record>) -> Option<Difference> {
        let Some(record) = record else {
            return self.is_there.then_some(Difference::Missing);
        };
        if !self.is_there {
            return Some(Difference::Back);
        }
        if record.digest != self.digest {
            return Some(Difference::Older);
        }
        let (at, changes) = self.amended?;
        let amended = record.standing.amended_at;
        let is_older = amended.is_none_or(|amended| at.duration_since(amended) > WRITTEN_AFTER);
        is_older.then_some(Difference::NotAmended(changes))
    }
}

/// The record of a book, if its id leads to one.
fn record(shared: &Shared, key: &BookKey) -> Result<Option<Record>, StoreError> {
    let Some(library) = shared.numbering().library(&key.library)? else {
        return Ok(None);
    };
    let number = shared.intents().find_all(&[(library, key)])?.pop();
    let Some(number) = number.flatten() else {
        return Ok(None);
    };
    let book = shared.keys.book(BookState::Present, number);
    let record: Option<Vec<u8>> = shared.ask(Command::new("HGET", &book, "r"))?;
    Ok(record.and_then(|record| record::decode(&record)))
}

impl Losses {
    /// Looks for them, with a store that believes all nodes.
    pub(super) fn of(shared: &Shared) -> Result<Self, StoreError> {
        shared.client.witnesses().confirm()?;
        let set_back = shared.client.set_back();
        Ok(Self { set_back })
    }

    pub(super) fn are_none(&self) -> bool {
        self.set_back.is_empty()
    }

    /// Whether a shard is on a node that has lost data.
    fn has_shard(&self, shard: u32, store: &Shared) -> bool {
        let topology = store.client.topology();
        let node = topology.node(slot_of_shard(shard));
        self.set_back
            .iter()
            .any(|lost| topology.node(slot_of_shard(lost.shard)) == node)
    }

    pub(super) fn sentences(&self, shared: &Shared) -> Vec<String> {
        let lost = self.set_back.iter();
        lost.map(|lost| shared.client.said_of(*lost)).collect()
    }

    /// The recipes, or the latest copy that a shard has of them.
    pub(super) fn recipes(&self, shared: &Shared) -> Result<Arc<RecipesThen>, StoreError> {
        let recipes = shared.meta().recipes()?;
        if self.are_none() {
            return Ok(recipes);
        }
        let copies = (0..SHARDS)
            .map(|shard| Command::bare("GET", &shared.keys.shard(shard, "recipes:copy")))
            .collect::<Vec<_>>();
        let mut latest = recipes;
        for copy in shared.client.read(&copies)? {
            let Some(text) = shared.answer::<Option<String>>(copy)? else {
                continue;
            };
            let copy = RecipesThen::read(shared.address(), text)?;
            if copy.version > latest.version {
                latest = Arc::new(copy);
            }
        }
        if latest.is_stamped() {
            Ok(latest)
        } else {
            Err(shared.stamps().lost_recipes())
        }
    }

    /// Brings back what must be there before anything else can be repaired.
    pub(super) fn prepare(&self, shared: &Shared) -> Result<(), StoreError> {
        let recipes = self.recipes(shared)?;
        if !recipes.is(&*shared.meta().recipes()?) {
            shared.write_one(Command::new(
                "SET",
                &shared.keys.meta("recipes"),
                recipes.text(),
            ))?;
        }
        for shard in 0..SHARDS {
            self.prepare_shard(shared, shard, recipes.version)?;
        }
        Ok(())
    }

    fn prepare_shard(&self, store: &Shared, shard: u32, version: u64) -> Result<(), StoreError> {
        let key = |name| store.keys.shard(shard, name);
        let arguments = [version, 0, 0].map(|number| number.to_string());
        let mut writes = vec![Command::script(&FENCE, &[key("recipes")], &arguments)];
        writes.extend(mark_of_outbox(store, shard)?);
        if self.has_shard(shard, store) {
            // After all generations that its books have had.
            let now = jiff::Timestamp::now().as_millisecond();
            writes.push(Command::new("HSET", &key("intents"), ("#", now)));
        }
        store.client.write(&writes).map(drop)
    }
}

/// Believes the nodes again.
pub(super) fn believe_again(shared: &Shared) -> Result<(), StoreError> {
    // All servers read again whose the numbers are.
    shared
        .meta()
        .change_recipes(&Actor::Local, &[], |_, _| Ok(Some(Vec::new())))?;
    shared.client.witnesses().heal()
}

/// Makes the number of a shard's last entry and the number of the last one that is in the audit log agree with the entries that
/// wait there.
fn mark_of_outbox(store: &Shared, shard: u32) -> Result<Option<Command>, StoreError> {
    let outbox = store.keys.shard(shard, "outbox");
    let moved = store.keys.meta("moved");
    let mut read = store.client.read(&[
        Command::new("HGET", &outbox, "n"),
        Command::new("HGET", &moved, shard),
        Command::bare("HKEYS", &outbox),
    ])?;
    let waiting: Vec<String> = store.answer(read.pop().unwrap_or_default())?;
    let moved_to: Option<u64> = store.answer(read.pop().unwrap_or_default())?;
    let last: Option<u64> = store.answer(read.pop().unwrap_or_default())?;
    let (moved_to, last) = (moved_to.unwrap_or(0), last.unwrap_or(0));
    let first = waiting.iter().filter_map(|name| name.parse::<u64>().ok());
    // The entries from here on are not in the audit log.
    let first = first.min().unwrap_or(last + 1);
    Ok(if moved_to > last {
        Some(Command::new("HSET", &outbox, ("n", moved_to)))
    } else if moved_to + 1 < first {
        Some(Command::new("HSET", &moved, (shard, first - 1)))
    } else {
        None
    })
}
