//! The store on a Redis Cluster, or what speaks its protocol.
//!
//! Any number of servers share one store, and keep nothing themselves but what never changes. A book, with everything it is
//! made of, is in one slot and changes in one script. It is the source of truth: postings are only where to look, and a
//! check counts one only if the book has the gem. An answer that would need a node that cannot be read is an error.
//!
//! A change is acknowledged once it is on a replica, if the cluster has any. The totals and the end of the audit log are in one
//! slot, too. A change is in them before it is acknowledged, exactly once, because it leaves an entry in an outbox of its shard.
//!
//! ```no_run
//! use lapidary_gems::Recipe;
//! use lapidary_store::{Actor, Store as _};
//! use lapidary_store_redis::{ClusterAddress, ClusterStore};
//!
//! let address: ClusterAddress = "redis://10.0.0.1:6379,10.0.0.2:6379/books".parse()?;
//! let store = ClusterStore::open(&address)?;
//! store.add_recipe(&Actor::Local, &Recipe::hardened())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | content |
//! |---|---|
//! | `address` | `redis://HOST:PORT,…/PREFIX` |
//! | `login` | user, password, and TLS |
//! | `members` | whether the nodes of an address are of one cluster |
//! | `client/`, `pool`, `topology`, `command` | pipelines to the nodes; connections; which node serves a slot; commands and answers |
//! | `keys` | all keys, and where they are |
//! | `scripts`, `lua/` | the scripts, each of which is atomic |
//! | `owners` | libraries, and which of them a number belongs to |
//! | `record` | how the record of a book is stored |
//! | `meta`, `audit` | recipes and totals; the audit log |
//! | `rows`, `large` | tables of small records; those of their values that are not small |
//! | `buckets`, `merge`, `build` | posting lists; merging what changed in them; building all of them at once |
//! | `sharing` | leases, and what of their former holders is refused |
//! | `intent`, `change`, `write` | the steps of a change; making it, and what others have left; what each change needs |
//! | `administration`, `verify`, `vitals` | merging all buckets; checking everything, and repairs; monitoring |
//! | `snapshot`, `library_ids`, `tally`, `search` | reading; the ids of a library; counting a check's gems; finding books by their terms |
//! | `confirmation` | what a check takes for granted, and how that is confirmed |
//! | `clock` | how far each node has come, by which one that has lost data is known |
//! | `stamp` | the versions of the recipes that shards were told, and the error of one that has none |

mod address;
mod administration;
mod audit;
mod buckets;
mod build;
mod change;
mod client;
mod clock;
mod command;
mod confirmation;
mod error;
mod intent;
mod keys;
mod large;
mod library_ids;
mod login;
mod members;
mod merge;
mod meta;
mod owners;
mod pool;
mod record;
mod rows;
mod scripts;
mod search;
mod sharing;
mod snapshot;
mod stamp;
mod tally;
#[cfg(test)]
mod tests;
mod topology;
mod totals;
mod verify;
mod vitals;
mod write;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lapidary_gems::{Recipe, RecipeName};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use redis::{FromRedisValue, Value};

pub use self::address::{BadAddress, ClusterAddress};
use self::audit::AuditLog;
use self::buckets::Buckets;
use self::build::BulkBuild;
use self::change::Changes;
use self::client::{Belief, Client};
use self::command::Command;
use self::error::{answer, damaged};
use self::intent::Intents;
use self::keys::KeySpace;
use self::large::LargeValues;
use self::merge::Merging;
use self::meta::{Meta, RecipesThen};
use self::owners::{LibraryNumbers, Numbering};
use self::rows::Rows;
use self::sharing::Fence;
use self::snapshot::ClusterSnapshot;
use self::stamp::Stamps;
use self::totals::Totals;
use self::write::Writing;
use lapidary_store::recipes::RecipeState;
use lapidary_store::{
    Actor, AuditEntry, AuditFrom, BookKey, Condition, Engine, LateGems, NewBook, Record,
    RecordChange, Row, RowChange, Snapshot, Store, StoreError, Table, Watch,
};

/// What was found of a catalogue some of whose nodes have lost data.
#[derive(Debug)]
pub struct Recovery {
    /// What was wrong, one sentence each.
    pub found: Vec<String>,
    /// The books that could not be brought back, one sentence each.
    pub lost: Vec<String>,
}

/// How often to look for what servers that are gone have left.
const SWEEP: Duration = Duration::from_secs(5);
/// How often to look which nodes there are.
const LOOK: Duration = Duration::from_secs(1);

/// A [`Store`] on a Redis Cluster, which any number of processes can open at once.
#[derive(Clone)]
pub struct ClusterStore {
    shared: Arc<Shared>,
    /// The leases under which it is changed.
    fences: Vec<Fence>,
    _sweeper: Arc<Sweeper>,
}

/// The thread that does what others have left, until this is dropped.
#[derive(Default)]
struct Sweeper {
    /// Dropped to stop it.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the threads of a store share.
struct Shared {
    client: Client,
    keys: KeySpace,
    owners: RwLock<LibraryNumbers>,
    /// The recipes when they were last read.
    last_recipes: RwLock<Arc<RecipesThen>>,
    /// The totals when they were last read.
    last_totals: RwLock<Arc<Totals>>,
    /// Buckets to merge, and when.
    later: Mutex<HashMap<Vec<u8>, Instant>>,
    /// The number of the recipe, and of its bucket, from which on buckets are looked at next.
    next_bucket: Mutex<(u16, u64)>,
}

impl Shared {
    fn connect(address: &ClusterAddress, belief: Belief) -> Result<Self, StoreError> {
        Ok(Self {
            client: Client::connect(address, scripts::all(), belief)?,
            keys: KeySpace::new(&address.prefix),
            owners: RwLock::default(),
            last_recipes: RwLock::default(),
            last_totals: RwLock::default(),
            later: Mutex::default(),
            next_bucket: Mutex::default(),
        })
    }

    fn numbering(&self) -> Numbering<'_> {
        Numbering(self)
    }

    fn intents(&self) -> Intents<'_> {
        Intents(self)
    }

    fn buckets(&self) -> Buckets<'_> {
        Buckets(self)
    }

    fn bulk_build(&self) -> BulkBuild<'_> {
        BulkBuild(self)
    }

    fn merging(&self) -> Merging<'_> {
        Merging(self)
    }

    fn meta(&self) -> Meta<'_> {
        Meta(self)
    }

    fn rows(&self) -> Rows<'_> {
        Rows(self)
    }

    fn large_values(&self) -> LargeValues<'_> {
        LargeValues(self)
    }

    fn audit_log(&self) -> AuditLog<'_> {
        AuditLog(self)
    }

    fn changes(&self) -> Changes<'_> {
        Changes(self)
    }

    fn writing<'s>(&'s self, fences: &'s [Fence]) -> Writing<'s> {
        Writing(self, fences)
    }

    fn stamps(&self) -> Stamps<'_> {
        Stamps(self)
    }

    fn address(&self) -> &ClusterAddress {
        self.client.address()
    }

    /// Acknowledges what was done, once it is certain that its loss would be noticed.
    fn acknowledge<T>(&self, done: T) -> Result<T, StoreError> {
        self.client.witnesses().tell()?;
        Ok(done)
    }

    fn read_now(&self, command: Command) -> Result<Value, StoreError> {
        Ok(self.client.read_now(&[command])?.pop().unwrap_or_default())
    }

    /// Reads one answer.
    fn ask<T: FromRedisValue>(&self, command: Command) -> Result<T, StoreError> {
        self.answer(self.read_one(command)?)
    }

    fn ask_all<T: FromRedisValue>(&self, commands: &[Command]) -> Result<Vec<T>, StoreError> {
        let answers = self.client.read(commands)?.into_iter();
        answers.map(|value| self.answer(value)).collect()
    }

    /// What an answer says.
    fn answer<T: FromRedisValue>(&self, value: Value) -> Result<T, StoreError> {
        answer(self.address(), value)
    }

    fn read_owners(&self) -> RwLockReadGuard<'_, LibraryNumbers> {
        self.owners.read()
    }

    fn damaged(&self, detail: impl Into<String>) -> StoreError {
        damaged(self.address(), detail)
    }

    fn read_one(&self, command: Command) -> Result<Value, StoreError> {
        Ok(self.client.read(&[command])?.pop().unwrap_or_default())
    }

    fn write_one(&self, command: Command) -> Result<Value, StoreError> {
        Ok(self.client.write(&[command])?.pop().unwrap_or_default())
    }

    /// Looks around, does what others have left, and says if a node may drop keys now.
    fn tend(&self, swept: &mut Instant) -> Result<(), StoreError> {
        self.client.look_around()?;
        if swept.elapsed() >= SWEEP {
            *swept = Instant::now();
            // First, so that nothing is done by what a node says that has lost data.
            self.client.witnesses().confirm()?;
            self.client.witnesses().tell_again()?;
            self.changes().sweep()?;
            self.merging().merge_due()?;
            self.refuse_eviction()?;
            self.audit_log().move_old()?;
            self.large_values().remove_spare()?;
            self.merging().merge_next()?;
        }
        Ok(())
    }

    /// # Errors
    /// [`StoreError::Volatile`] if nodes do not keep their data on disk, unless that is allowed.
    fn refuse_volatile(&self) -> Result<(), StoreError> {
        let mut volatile = Vec::new();
        for node in &self.client.topology().nodes {
            // One that does not answer is not known.
            let Ok(said) = self.client.on(node, redis::cmd("INFO").arg("persistence")) else {
                continue;
            };
            let said: String = self.answer(said)?;
            if said.lines().any(|line| line.trim() == "aof_enabled:0") {
                volatile.push(node.clone());
            }
        }
        let nodes = volatile.join(" ");
        match volatile.into_iter().next() {
            Some(node) if !self.address().allows_volatile => {
                Err(StoreError::Volatile { node, nodes })
            }
            Some(_) => {
                tracing::warn!(
                    "these nodes do not keep their data on disk, so it is lost when they stop: {nodes}"
                );
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// # Errors
    /// [`StoreError::Evicts`] if a node may drop keys.
    fn refuse_eviction(&self) -> Result<(), StoreError> {
        let topology = self.client.topology();
        let (mut evicting, mut silent) = (None, None);
        for node in topology.primaries().map(str::to_owned) {
            let memory = match self.client.on(&node, redis::cmd("INFO").arg("memory")) {
                Ok(memory) => self.answer::<String>(memory)?,
                Err(error) => {
                    silent = Some(error);
                    continue;
                }
            };
            let policies: HashMap<&str, &str> = memory
                .lines()
                .filter_map(|line| line.split_once(':'))
                .collect();
            if let Some(policy) = policies
                .get("maxmemory_policy")
                .filter(|policy| policy.trim() != "noeviction")
            {
                evicting = Some(StoreError::Evicts {
                    node,
                    policy: policy.trim().to_owned(),
                });
            }
        }
        evicting.or(silent).map_or(Ok(()), Err)
    }
}

impl ClusterStore {
    /// Opens the catalogue of a cluster, which is empty if it does not exist yet. Completes or takes back changes that
    /// others have left half done.
    ///
    /// # Errors
    /// [`StoreError::Version`] if it is of another version, [`StoreError::Unavailable`], [`StoreError::Volatile`] unless the address
    /// allows such nodes, and [`StoreError::Evicts`] if a node may drop keys when its memory is full.
    pub fn open(address: &ClusterAddress) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared::connect(address, Belief::Whole)?);
        shared.refuse_volatile()?;
        let keeps_keys = shared.refuse_eviction();
        if !shared.meta().recipes()?.is_stamped() {
            shared.stamps().confirm_new()?;
        }
        // All of this is looked at again later. Without a part of the cluster, the other parts can still be read.
        match keeps_keys
            .and_then(|()| shared.numbering().learn_all_owners())
            .and_then(|()| shared.changes().sweep())
        {
            Err(error @ StoreError::Unavailable { .. }) => {
                tracing::warn!("the store needs attention: {error}");
            }
            done => done?,
        }
        let (stop, stopped) = mpsc::channel();
        let sweeping = shared.clone();
        let sweeper = thread::Builder::new().name("sweeper".to_owned());
        let sweeper = sweeper.spawn(move || {
            let mut swept = Instant::now();
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(LOOK) {
                if let Err(error) = sweeping.tend(&mut swept) {
                    tracing::warn!("the store needs attention: {error}");
                }
            }
        });
        let sweeper = sweeper.map_err(|why| StoreError::Io {
            path: address.to_string(),
            detail: why.to_string(),
        })?;
        Ok(Self {
            shared,
            fences: Vec::new(),
            _sweeper: Arc::new(Sweeper {
                stop: Some(stop),
                thread: Some(sweeper),
            }),
        })
    }

    /// Verifies a catalogue some of whose nodes have lost data, which cannot be opened, and repairs it if it is to be `fix`ed.
    /// Returns `None` if no node has.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], and [`StoreError::Emptied`] if nothing is left of the recipes.
    pub fn recover(
        address: &ClusterAddress,
        fix: bool,
        watch: Watch<'_>,
    ) -> Result<Option<Recovery>, StoreError> {
        verify::recover(address, fix, watch)
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in it was reported where it happened.
            let _ = thread.join();
        }
    }
}

impl Store for ClusterStore {
    fn add_recipe(&self, by: &Actor, recipe: &Recipe) -> Result<(), StoreError> {
        self.shared.writing(&self.fences).add_recipe(by, recipe)?;
        self.shared.acknowledge(())
    }

    fn set_recipe(
        &self,
        by: &Actor,
        recipe: &RecipeName,
        state: RecipeState,
    ) -> Result<u64, StoreError> {
        let done = self
            .shared
            .writing(&self.fences)
            .set_recipe(by, recipe, state)?;
        self.shared.acknowledge(done)
    }

    fn drop_recipe(
        &self,
        by: &Actor,
        recipe: &RecipeName,
        watch: Watch<'_>,
    ) -> Result<(), StoreError> {
        self.shared
            .writing(&self.fences)
            .drop_recipe(by, recipe, watch)?;
        self.shared.acknowledge(())
    }

    fn add_gems(
        &self,
        _: &Actor,
        recipe: &RecipeName,
        books: Vec<LateGems>,
    ) -> Result<(), StoreError> {
        self.shared.writing(&self.fences).add_gems(recipe, books)?;
        self.shared.acknowledge(())
    }

    fn page(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        self.shared.rows().page(table, prefix, after, limit)
    }

    fn rows(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.shared.rows().get(table, keys)
    }

    fn apply(
        &self,
        by: &Actor,
        changes: &[RowChange],
        actions: &[lapidary_store::Action],
    ) -> Result<(), StoreError> {
        let rows = self.shared.rows();
        rows.apply(by, &self.fences, changes, actions)?;
        self.shared.acknowledge(())
    }

    fn put(&self, by: &Actor, books: Vec<NewBook>) -> Result<(), StoreError> {
        self.shared.writing(&self.fences).put(by, books)?;
        self.shared.acknowledge(())
    }

    fn finish_filling(&self, watch: Watch<'_>) -> Result<(), StoreError> {
        self.shared.bulk_build().build(watch)?;
        self.shared.acknowledge(())
    }

    fn remove(
        &self,
        by: &Actor,
        keys: &[BookKey],
        condition: &Condition,
    ) -> Result<Vec<bool>, StoreError> {
        let done = self
            .shared
            .writing(&self.fences)
            .remove(by, keys, condition)?;
        self.shared.acknowledge(done)
    }

    fn amend(
        &self,
        by: &Actor,
        key: &BookKey,
        change: RecordChange<'_>,
    ) -> Result<Option<Record>, StoreError> {
        let done = self.shared.writing(&self.fences).amend(by, key, change)?;
        self.shared.acknowledge(done)
    }

    fn snapshot(&self) -> Box<dyn Snapshot + '_> {
        Box::new(ClusterSnapshot::new(&self.shared))
    }

    fn read(&self, read: &mut dyn FnMut(&dyn Snapshot)) -> Result<(), StoreError> {
        let snapshot = ClusterSnapshot::unconfirmed(&self.shared);
        read(&snapshot);
        match snapshot.known() {
            Err(StoreError::Changed(_)) => read(&*self.snapshot()),
            known => drop(known?),
        }
        Ok(())
    }

    fn audit(&self, from: AuditFrom, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
        self.shared.audit_log().read(from, limit)
    }

    fn writable(&self) -> Result<(), StoreError> {
        self.shared.client.witnesses().confirm()?;
        let written = Command::new("SET", &self.shared.keys.meta("written"), "");
        self.shared.write_one(written)?;
        self.shared.acknowledge(())
    }

    fn engine(&self) -> Engine<'_> {
        Engine::Shared(self)
    }
}
