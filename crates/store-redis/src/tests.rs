//! What happens when servers end, stop or come too late between two steps, on real nodes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use lapidary_gems::{Gem, PlacedGem};

use self::nodes::Nodes;
use super::buckets::Posts;
use super::change::{Committed, Plan};
use super::keys::{Place, slot};
use super::meta::{FORMAT_VERSION, WrongTotal, WrongTotals};
use super::*;
use lapidary_common::description::Description;
use lapidary_store::{
    Administration as _, AuditFrom, BookNo, Condition, Field, LeaseEnd, Limits, Rights, Search,
    Sharing as _, Standing, Term, UNWATCHED,
};

#[path = "../../../tests/common/cluster.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod nodes;

/// The cluster that the tests share, unless they stop its nodes.
fn shared_nodes() -> Option<&'static Nodes> {
    static NODES: OnceLock<Option<Nodes>> = OnceLock::new();
    NODES.get_or_init(|| Nodes::start(3, 1)).as_ref()
}

/// Some servers of a new catalogue with one recipe.
fn servers<const N: usize>() -> Option<[ClusterStore; N]> {
    static CATALOGUES: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("inner{}", CATALOGUES.fetch_add(1, Ordering::Relaxed));
    let address: ClusterAddress = format!("redis://{}/{prefix}", shared_nodes()?.addresses)
        .parse()
        .unwrap();
    let servers = [(); N].map(|()| ClusterStore::open(&address).unwrap());
    servers[0]
        .add_recipe(&Actor::Local, &Recipe::documented())
        .unwrap();
    Some(servers)
}

/// The same catalogue, for a server that has read nothing of it yet.
fn unaware(store: &ClusterStore) -> Arc<Shared> {
    Arc::new(Shared::connect(store.shared.address(), Belief::Whole).unwrap())
}

fn name() -> RecipeName {
    Recipe::documented().name().clone()
}

fn key(id: &str) -> BookKey {
    BookKey {
        library: "lib".parse().unwrap(),
        id: id.parse().unwrap(),
    }
}

/// One gem of each bucket in turn.
fn gem(i: u64) -> Gem {
    Gem((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - Recipe::documented().gem_bits()))
}

fn book(id: &str, gems: impl IntoIterator<Item = u64>) -> NewBook {
    let gems: Vec<PlacedGem> = gems
        .into_iter()
        .map(|i| PlacedGem {
            gem: gem(i),
            place: None,
        })
        .collect();
    let digest = format!(
        "{:0>32}{:0>32}",
        gems.first().map_or(0, |first| first.gem.0),
        gems.len()
    );
    let record = Record {
        key: key(id),
        rights: Rights::Protected,
        description: Description {
            title: Some(format!("from {}", gems.len())),
            ..Description::default()
        },
        digest,
        clean_digest: None,
        bytes: 1000,
        clean: None,
        text_kept: false,
        gems: [(name(), gems.len() as u32)].into(),
        changed_at: jiff::Timestamp::UNIX_EPOCH,
        fetched_at: None,
        standing: Standing::default(),
    };
    let gems = [(name(), gems)].into();
    NewBook {
        gems,
        ..NewBook::without_gems(record, true)
    }
}

const ALL: Limits<'_> = Limits {
    cap: 99,
    fewest: 1,
    ..Limits::NONE
};

/// How many of these gems each book has, by id, and how many books each gem has.
fn tally(
    store: &ClusterStore,
    gems: impl IntoIterator<Item = u64>,
) -> (BTreeMap<String, u32>, u32) {
    let snapshot = store.snapshot();
    let gems: Vec<Gem> = gems.into_iter().map(gem).collect();
    let Some(tally) = snapshot.tally(&name(), &gems, ALL).unwrap().libraries.pop() else {
        return Default::default();
    };
    let numbers: Vec<BookNo> = tally.books.iter().map(|(book, _)| *book).collect();
    let records = snapshot.fetch(&numbers).unwrap();
    let ids = records
        .into_iter()
        .map(|record| record.unwrap().key.id.to_string());
    (
        ids.zip(tally.books.iter().map(|(_, count)| *count))
            .collect(),
        tally.holders.iter().map(|(_, count)| count).sum(),
    )
}

/// A change of a book that is made step by step.
struct Change<'a> {
    shared: &'a Shared,
    recipes: Arc<RecipesThen>,
    plans: Vec<Plan>,
    committed: Committed,
}

/// The steps after the first, which locks the book.
const STEPS: [&str; 6] = ["begin", "stage", "add", "commit", "tell", "doubt"];
const COMMIT: usize = 3;

impl<'a> Change<'a> {
    /// Begins to put a book, or to remove it.
    fn begin(store: &'a ClusterStore, id: &str, new: Option<NewBook>) -> Self {
        let shared: &Shared = &store.shared;
        let recipes = shared.meta().recipes().unwrap();
        let book = shared
            .intents()
            .lock(&recipes, &[key(id)], new.is_some())
            .unwrap()
            .pop()
            .unwrap();
        let (writing, by) = (shared.writing(&[]), &Actor::Local);
        let change = match new {
            Some(new) => writing.plan_put(by, &recipes, new, &book).unwrap(),
            None => writing.plan_removal(by, &recipes, &book).unwrap().unwrap(),
        };
        Self {
            shared,
            recipes,
            plans: vec![Plan { book, change }],
            committed: Committed::default(),
        }
    }

    /// Makes a step.
    fn step(&mut self, step: &str) -> Result<(), StoreError> {
        match step {
            "begin" => Ok(()),
            "stage" => self.shared.changes().stage(&self.plans),
            "add" => self.shared.changes().add(&self.plans).map(drop),
            "commit" => {
                self.committed = self.shared.changes().commit(
                    &self.recipes,
                    &[],
                    std::mem::take(&mut self.plans),
                )?;
                Ok(())
            }
            "tell" => self
                .shared
                .changes()
                .tell(std::mem::take(&mut self.committed.outgoing)),
            _ => self.shared.changes().doubt(&self.committed.done),
        }
    }
}

/// Makes all intents so old that they are taken over, and takes them over.
fn expire(store: &ClusterStore) {
    let shared = &store.shared;
    for shard in 0..keys::SHARDS {
        let intents = shared.keys.shard(shard, "intents");
        let all = shared.read_one(Command::bare("HGETALL", &intents)).unwrap();
        for (field, intent) in answer::<HashMap<Vec<u8>, String>>(shared.address(), all).unwrap() {
            let mut words: Vec<&str> = intent.split(' ').collect();
            if words.len() > 1 {
                words[1] = "1";
                let old = words.join(" ");
                shared
                    .write_one(Command::new("HSET", &intents, (field, old)))
                    .unwrap();
            }
        }
    }
    shared.changes().sweep().unwrap();
}

/// Makes all doubts so old that a merge settles them, and merges.
fn settle(store: &ClusterStore) {
    let shared = &store.shared;
    for bucket in shared.writing(&[]).bucket_keys(0).unwrap() {
        let all = shared.read_one(Command::bare("HGETALL", &bucket)).unwrap();
        for (field, value) in answer::<HashMap<Vec<u8>, Vec<u8>>>(shared.address(), all).unwrap() {
            if field.len() == 12 && value[0] == b'-' {
                let old = format!(
                    "{} 1",
                    str::from_utf8(&value).unwrap().split(' ').next().unwrap()
                );
                shared
                    .write_one(Command::new("HSET", &bucket, (field, old)))
                    .unwrap();
            }
        }
    }
    store.compact(UNWATCHED).unwrap();
}

/// All fields of all buckets that are not lists.
fn changes_left(store: &ClusterStore) -> usize {
    let shared = &store.shared;
    let buckets = shared.writing(&[]).bucket_keys(0).unwrap();
    let reads: Vec<Command> = buckets
        .iter()
        .map(|bucket| Command::bare("HKEYS", bucket))
        .collect();
    let fields = shared.client.read(&reads).unwrap().into_iter();
    fields
        .flat_map(|fields| answer::<Vec<Vec<u8>>>(shared.address(), fields).unwrap())
        .filter(|f| f.len() == 12)
        .count()
}

/// How many intents there are.
fn intents(store: &ClusterStore) -> usize {
    let count = |shard| {
        let fields = store.shared.read_one(Command::bare(
            "HLEN",
            &store.shared.keys.shard(shard, "intents"),
        ));
        answer::<usize>(store.shared.address(), fields.unwrap()).unwrap()
    };
    (0..keys::SHARDS).map(count).sum()
}

/// The keys that hold the state of changes.
fn states(store: &ClusterStore) -> Vec<String> {
    let address = store.shared.address();
    let keys = store
        .shared
        .client
        .on_each_primary(redis::cmd("KEYS").arg(format!("{}*}}[nf]:*", address.prefix)));
    keys.unwrap()
        .into_iter()
        .flat_map(|(_, keys)| answer::<Vec<String>>(address, keys).unwrap())
        .collect()
}

/// A node that comes back empty after a new book was looked for, and before it is written, is not believed that it has none.
#[test]
fn no_book_is_put_into_a_shard_without_its_data() {
    let Some([store, _]) = servers() else { return };
    let shared = &*store.shared;
    let recipes = shared.meta().recipes().unwrap();
    let new = book("new", 0..10);
    let locked = shared
        .intents()
        .lock(&recipes, &[key("new")], true)
        .unwrap()
        .pop()
        .unwrap();
    let of_book = locked.shard();
    let writing = shared.writing(&[]);
    let change = writing.plan_put(&Actor::Local, &recipes, new, &locked);
    let plan = Plan {
        change: change.unwrap(),
        book: locked,
    };
    // As if it had been empty since before the lock.
    let stamp = shared.keys.shard(of_book, "recipes");
    shared.write_one(Command::bare("DEL", &stamp)).unwrap();
    let refused = shared
        .changes()
        .make(&recipes, &[], vec![plan])
        .unwrap_err();
    assert!(matches!(refused, StoreError::Emptied { .. }), "{refused:?}");
    shared
        .write_one(Command::new("SET", &stamp, recipes.version))
        .unwrap();
    assert_eq!(tally(&store, 0..10), (BTreeMap::new(), 0));
    assert_eq!(
        (states(&store), intents(&store)),
        (Vec::new(), 1),
        "all of it is taken back"
    );
    store.put(&Actor::Local, vec![book("new", 0..10)]).unwrap();
    assert_eq!(tally(&store, 0..10).0["new"], 10);
}

/// The same of what belongs to the catalogue as a whole.
#[test]
fn no_row_is_read_or_written_without_the_recipes() {
    let Some([store, _]) = servers() else { return };
    let shared = &*store.shared;
    let row = |key: &str| RowChange {
        table: Table::Sources,
        key: key.into(),
        value: Some(b"{}".to_vec()),
    };
    store.apply(&Actor::Local, &[row("one")], &[]).unwrap();
    let keys = [b"one".to_vec(), b"two".to_vec()];
    assert_eq!(
        store.rows(Table::Sources, &keys).unwrap(),
        [Some(b"{}".to_vec()), None]
    );
    shared
        .write_one(Command::bare("DEL", &shared.keys.meta("recipes")))
        .unwrap();
    let refused = [
        store.rows(Table::Sources, &keys).map(drop),
        store.page(Table::Sources, b"", None, 9).map(drop),
        store.apply(&Actor::Local, &[row("two")], &[]),
        store
            .under("lease", 1)
            .apply(&Actor::Local, &[row("two")], &[]),
    ];
    assert!(
        refused
            .iter()
            .all(|of| matches!(of, Err(StoreError::Emptied { .. }))),
        "{refused:?}"
    );
}

/// The same of what is known of a source, in its shard.
#[test]
fn no_row_of_a_source_is_read_or_written_without_its_shard() {
    let Some([store, _]) = servers() else { return };
    let shared = &*store.shared;
    let row = RowChange::put(Table::Harvests, "s\0s", "{}");
    let write = || store.apply(&Actor::Local, std::slice::from_ref(&row), &[]);
    write().unwrap();
    let place = keys::place_of_row(Table::Harvests, &row.key);
    let stamp = Command::bare("DEL", &shared.keys.at(place, "recipes"));
    shared.write_one(stamp).unwrap();
    let refused = [
        store
            .rows(Table::Harvests, std::slice::from_ref(&row.key))
            .map(drop),
        store.page(Table::Harvests, b"s\0", None, 9).map(drop),
        store.page(Table::Harvests, b"", None, 9).map(drop),
        write(),
    ];
    assert!(
        refused
            .iter()
            .all(|of| matches!(of, Err(StoreError::Emptied { .. }))),
        "{refused:?}"
    );
}

/// What is known of sources is spread over the shards, and read as if it were in one place.
#[test]
fn what_is_known_of_sources_is_in_shards() {
    let Some([store, other]) = servers() else {
        return;
    };
    let shared = &*store.shared;
    let keys: Vec<Vec<u8>> = ["\0wb", "\0wa"]
        .into_iter()
        .map(|plan| plan.as_bytes().to_vec())
        .chain((0..99).map(|i| format!("s{}\0k{i}", i % 33).into_bytes()))
        .collect();
    let put = |key: &Vec<u8>| RowChange::put(Table::Harvests, key, key.as_slice());
    let changes: Vec<RowChange> = keys.iter().map(put).collect();
    store.apply(&Actor::Local, &changes, &[]).unwrap();
    let mut sorted: Vec<Row> = keys.iter().map(|key| (key.clone(), key.clone())).collect();
    sorted.sort_unstable();
    let page = |prefix: &[u8], after: Option<&[u8]>, limit| {
        other.page(Table::Harvests, prefix, after, limit).unwrap()
    };
    assert_eq!(page(b"", None, usize::MAX), sorted);
    assert_eq!(page(b"s", None, 99), sorted[2..]);
    for limit in [1, 7] {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let some = page(b"", after.as_deref(), limit);
            let Some((last, _)) = some.last() else { break };
            after = Some(last.clone());
            all.extend(some);
        }
        assert_eq!(all, sorted, "{limit} at a time");
    }
    let of_one = page(b"s7\0", Some(b"s7\0k7"), 9);
    assert_eq!(of_one, [(b"s7\0k73".to_vec(), b"s7\0k73".to_vec())]);
    let wanted = [&keys[5], &b"s5\0none".to_vec(), &keys[0], &keys[50]].map(Clone::clone);
    let found = other.rows(Table::Harvests, &wanted).unwrap();
    let [first, second, third] = [5, 0, 50].map(|at| Some(keys[at].clone()));
    assert_eq!(found, [first, None, second, third]);
    let in_meta = Command::bare("HLEN", &shared.keys.meta("rows:harvest"));
    assert_eq!(shared.ask::<usize>(in_meta).unwrap(), 2, "only the plans");
    let changes: Vec<RowChange> = keys
        .iter()
        .map(|key| RowChange::delete(Table::Harvests, key))
        .collect();
    store.apply(&Actor::Local, &changes, &[]).unwrap();
    assert_eq!(page(b"", None, 9), []);
}

/// A run of a source ends with an entry of the audit log, even if its server ends after that and before anybody was told.
#[test]
fn what_was_noted_of_a_source_is_in_the_audit_log_once() {
    let Some([store, other]) = servers() else {
        return;
    };
    let told = store.shared.audit_log().last().unwrap();
    let (by, row) = (&Actor::Local, RowChange::put(Table::Harvests, "s\0s", "{}"));
    let action = lapidary_store::Action::JobCancelled { job: 1 };
    let entries = || other.audit(AuditFrom::Behind(told), 9).unwrap().len();
    let changes = [row.clone(), RowChange::delete(Table::Harvests, "\0ws")];
    store
        .apply(by, &changes, std::slice::from_ref(&action))
        .unwrap();
    assert_eq!(entries(), 1);
    let Place::Shard(shard) = keys::place_of_row(Table::Harvests, &row.key) else {
        panic!("it is of a source");
    };
    let rows = store.shared.rows();
    rows.apply_apart(by, &[], shard, &[&row], &[action])
        .unwrap();
    assert_eq!(entries(), 1);
    for _ in 0..2 {
        other.shared.changes().sweep().unwrap();
        assert_eq!(entries(), 2);
    }
}

/// How many large values of rows there are.
fn large_values(store: &ClusterStore) -> usize {
    let address = store.shared.address();
    let pattern = format!("{}{{*}}v:*", address.prefix);
    let keys = store
        .shared
        .client
        .on_each_primary(redis::cmd("KEYS").arg(pattern));
    let keys = keys.unwrap().into_iter();
    keys.map(|(_, keys)| answer::<Vec<String>>(address, keys).unwrap().len())
        .sum()
}

/// Makes all spare values so old that they are removed, and removes them.
fn remove_spare(store: &ClusterStore) {
    let shared = &store.shared;
    let spare = shared.keys.meta("spare");
    let known: HashMap<Vec<u8>, String> = shared.ask(Command::bare("HGETALL", &spare)).unwrap();
    for (id, note) in known {
        let old = format!("{}1", &note[..1]);
        shared
            .write_one(Command::new("HSET", &spare, (id, old)))
            .unwrap();
    }
    shared.large_values().remove_spare().unwrap();
    assert_eq!(shared.ask::<u64>(Command::bare("HLEN", &spare)).unwrap(), 0);
}

/// Large values are in shards, and go with their rows.
#[test]
fn large_values_are_in_shards_and_go_with_their_rows() {
    let Some([store, other]) = servers() else {
        return;
    };
    let (by, shared) = (&Actor::Local, &*store.shared);
    // A value may look like a reference to another.
    let [large, other_large] = [b'x', b'y'].map(|byte| vec![byte; 9_000]);
    let like_reference = [0xFF; 17].to_vec();
    let put = |key: &str, value: &Vec<u8>| RowChange::put(Table::Decisions, key, value.as_slice());
    let changes = [
        put("fa", &large),
        put("fb", &like_reference),
        put("fc", &b"small".to_vec()),
    ];
    let action = [lapidary_store::Action::JobCancelled { job: 1 }];
    store.apply(by, &changes, &action).unwrap();
    let keys = ["fc", "fb", "none", "fa"].map(|key| key.as_bytes().to_vec());
    let expected = [
        Some(b"small".to_vec()),
        Some(like_reference.clone()),
        None,
        Some(large.clone()),
    ];
    assert_eq!(other.rows(Table::Decisions, &keys).unwrap(), expected);
    let page = other.page(Table::Decisions, b"f", None, 2).unwrap();
    assert_eq!(
        page,
        [(b"fa".to_vec(), large), (b"fb".to_vec(), like_reference)]
    );
    assert_eq!(large_values(&store), 2);
    let rows = Command::bare("HVALS", &shared.keys.meta("rows:decision"));
    let in_meta: Vec<Vec<u8>> = shared.ask(rows).unwrap();
    assert!(in_meta.iter().all(|value| value.len() <= 17), "{in_meta:?}");
    // Replaced, removed, and twice in one change.
    let changes = [
        put("fa", &other_large),
        RowChange::delete(Table::Decisions, "fb"),
        put("fd", &other_large),
        put("fd", &b"small".to_vec()),
    ];
    store.apply(by, &changes, &[]).unwrap();
    let found = other.rows(Table::Decisions, &keys[1..]).unwrap();
    assert_eq!(found, [None, None, Some(other_large.clone())]);
    assert_eq!(large_values(&store), 4, "they stay for those who read them");
    remove_spare(&store);
    assert_eq!(large_values(&store), 1);
    // Of a change that was not made, nothing is left.
    let mut abandoned = [other_large];
    let ids = shared.large_values().store(abandoned.iter_mut()).unwrap();
    assert_eq!((ids.len(), large_values(&store)), (1, 2));
    remove_spare(&store);
    assert_eq!(large_values(&store), 1);
    assert_eq!(store.verify(UNWATCHED).unwrap(), [] as [&str; 0]);
}

/// A change that comes after its values were removed is not made.
#[test]
fn no_row_refers_to_a_value_that_is_gone() {
    let Some([store, _]) = servers() else { return };
    let (by, rows) = (&Actor::Local, store.shared.rows());
    let row = RowChange::put(Table::Decisions, "fa", vec![b'x'; 9_000]);
    let late = rows.command(by, &[], &[&row], &[], None).unwrap();
    remove_spare(&store);
    assert_eq!(rows.run(late, true).unwrap(), -2);
    let keys = [row.key.clone()];
    assert_eq!(store.rows(Table::Decisions, &keys).unwrap(), [None]);
    let in_time = rows.command(by, &[], &[&row], &[], None).unwrap();
    assert_eq!(rows.run(in_time.clone(), true).unwrap(), 1);
    assert_eq!(
        rows.run(in_time, true).unwrap(),
        1,
        "sent twice, it is made once"
    );
    assert_eq!(store.rows(Table::Decisions, &keys).unwrap(), [row.value]);
}

/// A row whose value is lost, and a value that no row has, are found and mended.
#[test]
fn lost_values_of_rows_are_found() {
    let Some([store, _]) = servers() else { return };
    let shared = &*store.shared;
    let put = |key: &str| RowChange::put(Table::Decisions, key, vec![b'x'; 9_000]);
    let none: [&str; 0] = [];
    store
        .apply(&Actor::Local, &[put("fa"), put("fb")], &[])
        .unwrap();
    assert_eq!(store.verify(UNWATCHED).unwrap(), none);
    let row = Command::new("HGET", &shared.keys.meta("rows:decision"), "fa");
    let id = large::referred(&shared.ask::<Vec<u8>>(row).unwrap()).unwrap();
    let (_, value) = shared.large_values().key(id);
    shared.write_one(Command::bare("UNLINK", &value)).unwrap();
    let old = uuid::Uuid::from_u128(0x0000_0000_0001_7000_8000_0000_0000_0007);
    let (_, needless) = shared.large_values().key(old);
    shared
        .write_one(Command::new("SET", &needless, "x"))
        .unwrap();
    let keys = [b"fa".to_vec()];
    let read = store.rows(Table::Decisions, &keys);
    assert!(matches!(read, Err(StoreError::Damaged { .. })), "{read:?}");
    let found = store.verify(UNWATCHED).unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.iter().any(|fault| fault.contains("'fa'")),
        "{found:?}"
    );
    store.repair(UNWATCHED).unwrap();
    assert_eq!(store.verify(UNWATCHED).unwrap(), none);
    assert_eq!(store.rows(Table::Decisions, &keys).unwrap(), [None]);
    assert_eq!(large_values(&store), 1);
}

/// What is changed by and by is merged without being asked for.
#[test]
fn changed_buckets_are_merged_in_the_end() {
    let Some([store, _]) = servers() else { return };
    for id in ["a", "b", "c"] {
        store.put(&Actor::Local, vec![book(id, 0..200)]).unwrap();
    }
    assert!(changes_left(&store) > 0);
    let sweeps = (1 << lapidary_store::recipes::BUCKET_BITS) / 4096;
    for _ in 0..sweeps {
        store.shared.merging().merge_next().unwrap();
    }
    assert_eq!(changes_left(&store), 0);
    assert_eq!(tally(&store, 0..200).0["b"], 200);
}

// A test tells a story from its beginning to its end.
#[allow(clippy::too_many_lines)]
#[test]
fn a_change_that_is_abandoned_between_two_steps_is_completed_or_taken_back() {
    let Some([store, other]) = servers() else {
        return;
    };
    let (old, new) = (0..10, 5..20);
    // A book for each kind of change and each step.
    let kinds = ["added", "replaced", "removed"];
    let id = |kind: &str, step: usize| format!("{kind} {}", STEPS[step]);
    let all: Vec<(&str, usize)> = kinds
        .iter()
        .flat_map(|kind| (0..STEPS.len()).map(move |step| (*kind, step)))
        .collect();
    let there = all.iter().filter(|(kind, _)| *kind != "added");
    store
        .put(
            &Actor::Local,
            there
                .clone()
                .map(|(kind, step)| book(&id(kind, *step), old.clone()))
                .collect(),
        )
        .unwrap();
    let told = store.shared.audit_log().last().unwrap();
    // What is to be seen: how many of the old and of the new gems each book has.
    let has = |kind: &str, committed: bool| match (kind, committed) {
        ("added", false) | ("removed", true) => None,
        ("replaced" | "removed", false) => Some([10, 5]),
        _ => Some([5, 15]),
    };
    let seen = |committed: &dyn Fn(usize) -> bool| {
        for (i, gems) in [old.clone(), new.clone()].into_iter().enumerate() {
            let expected: BTreeMap<String, u32> = all
                .iter()
                .filter_map(|(kind, step)| Some((id(kind, *step), has(kind, committed(*step))?[i])))
                .collect();
            assert_eq!(tally(&other, gems).0, expected);
        }
        let snapshot = other.snapshot();
        for (kind, step) in &all {
            let (id, expected) = (id(kind, *step), has(kind, committed(*step)));
            let number = snapshot.find(&key(&id)).unwrap();
            let record =
                number.and_then(|number| snapshot.fetch(&[number]).unwrap().pop().unwrap());
            let digest = record.map(|record| record.digest);
            let is = expected.map(|[of_old, _]| {
                if of_old == 10 {
                    old.clone()
                } else {
                    new.clone()
                }
            });
            assert_eq!(
                digest,
                is.clone().map(|gems| book(&id, gems).record.digest),
                "{id}"
            );
            if let Some(gems) = is {
                let found = snapshot
                    .with_digest(&book(&id, gems).record.digest, ALL)
                    .unwrap();
                assert!(found.contains(&number.unwrap()), "{id}");
            }
        }
    };
    let mut begun: Vec<(usize, Change<'_>)> = Vec::new();
    for (kind, last) in &all {
        let id = id(kind, *last);
        begun.push((
            *last,
            Change::begin(
                &store,
                &id,
                (*kind != "removed").then(|| book(&id, new.clone())),
            ),
        ));
    }
    for (step, name) in STEPS.iter().enumerate() {
        for (_, change) in begun.iter_mut().filter(|(last, _)| step <= *last) {
            change.step(name).unwrap();
        }
        seen(&|last| step.min(last) >= COMMIT);
    }
    // The server is gone. Another one finds what it has left, but not before its time.
    other.shared.changes().sweep().unwrap();
    seen(&|last| last >= COMMIT);
    assert!(intents(&other) <= all.len() * 2 && intents(&other) > all.len());
    expire(&other);
    seen(&|last| last >= COMMIT);
    // Each change that was made is in the audit log and in the totals, once.
    let entries = other.audit(AuditFrom::Behind(told), 99).unwrap();
    assert_eq!(entries.len(), kinds.len() * (STEPS.len() - COMMIT));
    let summary = other
        .snapshot()
        .library(&"lib".parse().unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(summary.books, (COMMIT + STEPS.len() + COMMIT) as u64);
    // Nothing is left of them, and everything can be changed again.
    settle(&other);
    assert_eq!(changes_left(&other), 0);
    let (counted, holders) = tally(&other, 0..20);
    assert_eq!(counted.values().sum::<u32>(), holders);
    assert_eq!(states(&other), [] as [&str; 0]);
    // Whoever made them comes back too late, and changes nothing.
    for (last, change) in &mut begun {
        for name in &STEPS[*last + 1..] {
            let _ = change.step(name);
        }
    }
    seen(&|last| last >= COMMIT);
    settle(&other);
    seen(&|last| last >= COMMIT);
    assert_eq!(
        other.shared.audit_log().last().unwrap(),
        told + entries.len() as u64
    );
    other
        .put(
            &Actor::Local,
            all.iter()
                .map(|(kind, step)| book(&id(kind, *step), 0..3))
                .collect(),
        )
        .unwrap();
    assert_eq!(
        tally(&other, 0..20).0.values().sum::<u32>(),
        3 * all.len() as u32
    );
}

/// Nobody takes a change over that takes longer than a change may be left alone, and a refused one leaves no lock.
#[test]
fn a_change_that_takes_long_is_left_alone() {
    let Some([store, other]) = servers() else {
        return;
    };
    let by = &Actor::Local;
    store.put(by, vec![book("a", 0..10)]).unwrap();
    let slow = |record: &mut Record| {
        sleep(Duration::from_secs(12));
        other.shared.changes().sweep().unwrap();
        record.description.title = Some("slow".to_owned());
        Ok(())
    };
    let amended = store.amend(by, &key("a"), &mut { slow }).unwrap().unwrap();
    assert_eq!(amended.description.title.as_deref(), Some("slow"));
    let refused = |_: &mut Record| Err(StoreError::NotOffered);
    assert!(store.amend(by, &key("a"), &mut { refused }).is_err());
    // A record that cannot be read is found out with the lock, for a batch.
    let at = store.snapshot().find(&key("a")).unwrap().unwrap();
    let shared = &store.shared;
    let record = shared.keys.book(keys::BookState::Present, at);
    let read = Command::new("HGET", &record, "r");
    let kept: Vec<u8> = shared.ask(read).unwrap();
    let write = |stored: &[u8]| {
        let write = Command::new("HSET", &record, ("r", stored));
        shared.write_one(write).unwrap();
    };
    write(b"?");
    let batch = || vec![book("a", 1..10), book("b", 1..10), book("c", 1..10)];
    let damaged = store.put(by, batch());
    assert!(
        matches!(damaged, Err(StoreError::Damaged { .. })),
        "{damaged:?}"
    );
    write(&kept);
    let since = Instant::now();
    other.put(by, batch()).unwrap();
    assert!(
        since.elapsed() < Duration::from_secs(2),
        "nothing is locked"
    );
}

/// A change under a lease.
type LeasedChange<'a> = (
    &'a str,
    Box<dyn Fn(&dyn Store) -> Result<(), StoreError> + 'a>,
);

/// One change of each kind, in an order in which each can be made.
fn each_change(other: &ClusterStore) -> [LeasedChange<'_>; 10] {
    let by = &Actor::Local;
    let late = move || LateGems {
        book: other.snapshot().find(&key("a")).unwrap().unwrap(),
        digest: book("a", 0..10).record.digest,
        gems: vec![PlacedGem {
            gem: Gem(7),
            place: None,
        }],
        fold: None,
    };
    [
        (
            "row",
            Box::new(|of| of.apply(by, &[RowChange::put(Table::Jobs, "1", "{}")], &[])),
        ),
        (
            "row of a source",
            Box::new(|of| of.apply(by, &[RowChange::put(Table::Harvests, "a\0s", "{}")], &[])),
        ),
        (
            "action",
            Box::new(|of| {
                let cancelled = lapidary_store::Action::JobCancelled { job: 1 };
                of.apply(by, &[], &[cancelled])
            }),
        ),
        (
            "gems",
            Box::new(move |of| of.add_gems(by, Recipe::released().name(), vec![late()])),
        ),
        (
            "note",
            Box::new(|of| {
                let noted = of.amend(by, &key("a"), &mut |record| {
                    record.description.title = Some("n".to_owned());
                    Ok(())
                });
                noted.map(drop)
            }),
        ),
        (
            "replacement",
            Box::new(|of| of.put(by, vec![book("a", 5..10)])),
        ),
        ("book", Box::new(|of| of.put(by, vec![book("b", 0..10)]))),
        (
            "removal",
            Box::new(|of| {
                let removed = of.remove(by, &[key("a")], &Condition::default());
                removed.map(drop)
            }),
        ),
        (
            "state",
            Box::new(|of| {
                let set = of.set_recipe(by, Recipe::released().name(), RecipeState::Ready);
                set.map(drop)
            }),
        ),
        (
            "dropped",
            Box::new(|of| of.drop_recipe(by, Recipe::released().name(), UNWATCHED)),
        ),
    ]
}

/// Whoever was stopped for longer than its lease changes nothing afterwards.
#[test]
fn nothing_is_changed_under_a_lease_that_another_has() {
    let Some([store, other]) = servers() else {
        return;
    };
    let by = &Actor::Local;
    store.put(by, vec![book("a", 0..10)]).unwrap();
    store.add_recipe(by, &Recipe::released()).unwrap();
    let lease = |of: &ClusterStore, holder| of.lease("work", holder, Duration::from_millis(100));
    let [first, second] = [(&store, "one"), (&other, "two")].map(|(of, holder)| {
        sleep(Duration::from_millis(200));
        let token = lease(of, holder).unwrap().unwrap().token;
        of.refuse_before("work", token).unwrap();
        of.under("work", token)
    });
    let state = || {
        let snapshot = other.snapshot();
        let found = snapshot.find(&key("a")).unwrap();
        let record = found.map(|book| snapshot.fetch(&[book]).unwrap());
        let told = other.audit(AuditFrom::Behind(0), 999).unwrap().len();
        let known = other.shared.meta().recipes().unwrap().text().to_owned();
        let [jobs, known_of_sources] = [Table::Jobs, Table::Harvests]
            .map(|table| (&other as &dyn Store).table(table).unwrap());
        (
            record,
            told,
            known,
            (jobs, known_of_sources),
            tally(&other, 0..20),
            states(&other),
        )
    };
    for (what, change) in each_change(&other) {
        let before = state();
        let refused = change(&*first);
        assert!(
            matches!(refused, Err(StoreError::Changed(_))),
            "{what}: {refused:?}"
        );
        assert_eq!(state(), before, "{what}");
        change(&*second).unwrap();
        assert_ne!(state(), before, "{what}");
    }
    other.end_lease("work", "-", LeaseEnd::Revoked).unwrap();
    let before = state();
    let refused = second.put(by, vec![book("c", 0..10)]);
    assert!(
        matches!(refused, Err(StoreError::Changed(_))),
        "{refused:?}"
    );
    assert_eq!(state(), before, "it was revoked");
}

#[test]
fn terms_that_share_a_set_are_told_apart() {
    let Some([store]) = servers() else { return };
    let keys_of = &store.shared.keys;
    let shard = keys::shard_of_key(&key("0"));
    let term = |word: &str| Term::words(Field::Title, word).next().unwrap();
    let set = |word: &str| keys_of.term(shard, &term(word)).0;
    let mut others = (1..).map(|word| format!("word{word}"));
    let other = others.find(|word| set(word) == set("word0"));
    let words = ["word0".to_owned(), other.unwrap()];
    // Of one shard, each with one of the words.
    let ids = (0..).map(|id: u32| id.to_string());
    let ids = ids.filter(|id| keys::shard_of_key(&key(id)) == shard);
    let books = ids.take(8).zip(words.iter().cycle()).map(|(id, word)| {
        let mut book = book(&id, 0..10);
        book.record.description.title = Some(word.clone());
        book
    });
    store.put(&Actor::Local, books.collect()).unwrap();
    for word in &words {
        let terms = BTreeSet::from([term(word)]);
        let (mut found, mut from) = (Vec::new(), None);
        loop {
            let search = Search {
                terms: &terms,
                libraries: None,
                from: from.as_ref(),
                limit: 1,
            };
            let page = store.snapshot().search(&search).unwrap();
            // A page is full, because what is of other terms is not looked at.
            assert_eq!(page.books.len(), 1, "{word}");
            found.extend(page.books);
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        let records = store.snapshot().fetch(&found).unwrap();
        let shown = records
            .into_iter()
            .filter_map(|record| record?.description.title);
        assert_eq!(shown.collect::<Vec<_>>(), vec![word.clone(); 4]);
    }
}

#[test]
fn a_catalogue_of_another_version_is_left_as_it_is() {
    let Some([store, _]) = servers() else { return };
    let shared = &*store.shared;
    let recipes = shared.keys.meta("recipes");
    let text: String = shared.ask(Command::bare("GET", &recipes)).unwrap();
    let current = format!("\"format\":{FORMAT_VERSION},");
    assert!(text.contains(&current), "{text}");
    let newer = format!("\"format\":{},", FORMAT_VERSION + 1);
    for (other, advice) in [("", "export"), (&newer, "update lapidary")] {
        let text = text.replace(&current, other);
        shared
            .write_one(Command::new("SET", &recipes, text))
            .unwrap();
        let opened = ClusterStore::open(shared.address());
        let error = opened.err().expect("an error").to_string();
        assert!(error.contains(advice), "{error}");
    }
}

/// Shards know the tokens of leases that their own node has lost.
#[test]
fn a_lease_that_is_taken_after_all_were_lost_can_be_used() {
    let Some([store, _]) = servers() else { return };
    let put = |lease: &dyn Store| lease.put(&Actor::Local, vec![book("a", 0..10)]);
    let take = || {
        let taken = store.lease("work", "one", Duration::from_secs(9));
        taken.unwrap().unwrap().token
    };
    let first = take();
    store.end_lease("work", "-", LeaseEnd::Revoked).unwrap();
    assert!(put(&*store.under("work", first)).is_err());
    let leases = store.shared.keys.meta("leases");
    let lose = Command::bare("DEL", &leases);
    store.shared.write_one(lose).unwrap();
    put(&*store.under("work", take())).unwrap();
}

#[test]
fn a_segment_of_the_audit_log_is_not_replaced_by_other_entries() {
    let Some([store, _]) = servers() else { return };
    let shared = &*store.shared;
    let stream = shared.keys.meta("audit");
    let begin_again = |entry: &str| {
        shared.write_one(Command::bare("DEL", &stream)).unwrap();
        for (id, entry) in [("1-0", entry), ("9999-0", "last")] {
            let add = Command::new("XADD", &stream, (id, "e", entry));
            shared.write_one(add).unwrap();
        }
        let moved = shared.audit_log().move_old();
        let left: u64 = shared.ask(Command::bare("XLEN", &stream)).unwrap();
        (moved, left)
    };
    let stored = || -> Vec<u8> {
        let segment = shared.keys.shard(0, "audit:0");
        shared.ask(Command::bare("GET", &segment)).unwrap()
    };
    assert_eq!(stored(), b"");
    assert!(matches!(begin_again("first"), (Ok(()), 1)));
    let segment = stored();
    assert!(!segment.is_empty());
    let again = begin_again("first");
    assert!(matches!(again, (Ok(()), 1)), "it was moved before");
    let refused = begin_again("other");
    assert!(
        matches!(refused, (Err(StoreError::Damaged { .. }), 2)),
        "{refused:?}"
    );
    assert_eq!(stored(), segment);
}

#[test]
fn old_entries_of_the_audit_log_are_moved_and_read() {
    const STEPS: u32 = 12;
    const ENTRIES: u32 = 1000;
    let Some([store, other]) = servers() else {
        return;
    };
    let note = |of: &ClusterStore, step: u32| {
        let jobs = step * ENTRIES..(step + 1) * ENTRIES;
        let actions: Vec<_> = jobs
            .map(|job| lapidary_store::Action::JobCancelled { job })
            .collect();
        of.apply(&Actor::Local, &[], &actions).unwrap();
    };
    let length = || {
        let length = Command::bare("XLEN", &store.shared.keys.meta("audit"));
        store.shared.ask::<u64>(length).unwrap()
    };
    (0..STEPS).for_each(|step| note(&store, step));
    let all = other.audit(AuditFrom::Behind(0), usize::MAX).unwrap();
    assert!(all.len() as u64 == length() && all.len() > 12_000);
    // While two servers move them, a third adds some, and all are read.
    scope(|scope| {
        scope.spawn(|| store.shared.audit_log().move_old().unwrap());
        scope.spawn(|| other.shared.audit_log().move_old().unwrap());
        scope.spawn(|| note(&other, STEPS));
        for _ in 0..20 {
            let read = other.audit(AuditFrom::Behind(0), all.len()).unwrap();
            assert!(read == all);
        }
    });
    assert!(length() < 10_500, "{} are left in the stream", length());
    for (from, limit) in [
        (0, 3),
        (1022, 3),
        (1023, 1),
        (2040, 2100),
        (4000, 99_999),
        (12_500, 9),
    ] {
        let read = other.audit(AuditFrom::Behind(from), limit).unwrap();
        let numbers = read.iter().map(|entry| entry.number);
        let end = (from + limit as u64).min(all.len() as u64 + u64::from(ENTRIES));
        assert!(numbers.eq(from + 1..=end), "{limit} from {from}");
    }
    for entry in [&all[0], &all[1500], &all[11_999]] {
        let read = other.audit(AuditFrom::Time(entry.created_at), 1).unwrap();
        assert_eq!(read[0].created_at, entry.created_at);
        assert!(read[0].number <= entry.number);
    }
    assert_eq!(other.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    // What is lost is told once.
    let second = store.shared.keys.shard(1, "audit:1");
    store
        .shared
        .write_one(Command::bare("DEL", &second))
        .unwrap();
    let faults = other.verify(UNWATCHED).unwrap();
    assert!(
        faults[0].contains("missing from the audit log"),
        "{faults:?}"
    );
    other.repair(UNWATCHED).unwrap();
    assert_eq!(other.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    let read = other.audit(AuditFrom::Behind(1020), 9).unwrap();
    let numbers = read.iter().map(|entry| entry.number);
    assert!(numbers.eq([1021, 1022, 1023].into_iter().chain(2048..2054)));
}

/// The gate learns from the audit log what others have added.
#[test]
fn what_was_stored_in_an_abandoned_turn_is_in_the_audit_log() {
    let Some([store, other]) = servers() else {
        return;
    };
    let told = store.shared.audit_log().last().unwrap();
    let mut change = Change::begin(&store, "a", Some(book("a", 0..10)));
    STEPS[..=COMMIT]
        .iter()
        .for_each(|step| change.step(step).unwrap());
    let entries = || other.audit(AuditFrom::Behind(told), 9).unwrap().len();
    assert_eq!(entries(), 0);
    other.refuse_before("gate", 1).unwrap();
    assert_eq!(entries(), 1);
}

#[test]
fn a_check_finds_a_book_that_is_replaced_while_it_reads() {
    let Some([store, other]) = servers() else {
        return;
    };
    let (old, new) = (0..10, 10..20);
    for replacing in [true, false] {
        store
            .put(&Actor::Local, vec![book("1", old.clone())])
            .unwrap();
        store.compact(UNWATCHED).unwrap();
        // It has read the buckets of the new gems when the book is replaced, and then reads those of the old ones.
        let snapshot = ClusterSnapshot::new(&other.shared);
        let recipes = other.shared.meta().recipes().unwrap();
        let recipe = recipes.named(&name()).unwrap();
        let [first, second] = [new.clone(), old.clone()].map(|gems| gems.map(gem).collect());
        let (mut lists, _) = tally::read_lists(&snapshot, recipe, &first).unwrap();
        if replacing {
            store
                .put(&Actor::Local, vec![book("1", new.clone())])
                .unwrap();
            store.compact(UNWATCHED).unwrap();
        }
        lists.extend(tally::read_lists(&snapshot, recipe, &second).unwrap().0);
        lists.sort_by_key(|(gem, _)| *gem);
        let limits = Limits {
            cap: 99,
            ..Limits::NONE
        };
        let counts = tally::count(&snapshot, lists, None, limits).unwrap();
        let gems: Vec<Gem> = (0..20).map(gem).collect();
        let tally = tally::by_library(
            &snapshot,
            recipe,
            &gems,
            counts,
            Limits { fewest: 8, ..ALL },
            true,
        )
        .unwrap();
        let [library] = tally.libraries.as_slice() else {
            panic!("the book is not found: {replacing}")
        };
        assert_eq!(
            library
                .books
                .iter()
                .map(|(_, count)| *count)
                .collect::<Vec<_>>(),
            [10]
        );
        // Doubts that are settled leave nothing behind.
        settle(&store);
        assert_eq!(changes_left(&store), 0);
        assert_eq!(
            store
                .remove(&Actor::Local, &[key("1")], &Condition::default())
                .unwrap(),
            [true]
        );
        settle(&store);
        assert!(store.shared.writing(&[]).bucket_keys(0).unwrap().is_empty());
    }
}

#[test]
fn a_removal_that_arrives_too_late_removes_nothing() {
    let Some([store, other]) = servers() else {
        return;
    };
    let put = |gems| store.put(&Actor::Local, vec![book("1", gems)]).unwrap();
    put(0..10);
    settle(&store);
    let mut change = Change::begin(&other, "1", Some(book("1", 5..15)));
    let (removed, generation): (Posts, i64) = (
        change.plans[0].change.removed.clone(),
        change.plans[0].book.generation,
    );
    for step in STEPS {
        change.step(step).unwrap();
    }
    expire(&store);
    // The gems come back, and are merged.
    put(0..10);
    settle(&store);
    for old in [false, true] {
        // A copy of the removal was on its way for long.
        other
            .shared
            .changes()
            .doubt_posts(std::iter::once((&removed, generation)))
            .unwrap();
        assert_eq!(tally(&store, 0..10), ([("1".to_owned(), 10)].into(), 10));
        if old {
            settle(&store);
        } else {
            store.compact(UNWATCHED).unwrap();
        }
        assert_eq!(tally(&store, 0..10), ([("1".to_owned(), 10)].into(), 10));
    }
    assert_eq!(changes_left(&store), 0);
    // Nor while the change that brings them back is being made, and they are merged already.
    put(5..15);
    settle(&store);
    let mut change = Change::begin(&other, "1", Some(book("1", 0..10)));
    for step in &STEPS[..COMMIT] {
        change.step(step).unwrap();
    }
    store.compact(UNWATCHED).unwrap();
    other
        .shared
        .changes()
        .doubt_posts(std::iter::once((&removed, generation)))
        .unwrap();
    settle(&store);
    for step in &STEPS[COMMIT..] {
        change.step(step).unwrap();
    }
    assert_eq!(tally(&store, 0..10).0, [("1".to_owned(), 10)].into());
}

#[test]
fn a_book_is_not_changed_by_recipes_that_were_changed_meanwhile() {
    let Some([store, other]) = servers() else {
        return;
    };
    let whole = |id: &str| NewBook {
        complete: true,
        ..book(id, 0..10)
    };
    let mut change = Change::begin(&other, "1", Some(whole("1")));
    change.step("stage").unwrap();
    change.step("add").unwrap();
    let released = Recipe::released();
    store.add_recipe(&Actor::Local, &released).unwrap();
    let plans = std::mem::take(&mut change.plans);
    assert!(matches!(
        other.shared.changes().make(&change.recipes, &[], plans),
        Err(StoreError::Changed(_))
    ));
    assert_eq!(tally(&store, 0..10), Default::default());
    // It is taken back at once, so it can be repeated. But its gems were computed without the new recipe.
    assert!(matches!(
        other.put(&Actor::Local, vec![whole("1")]),
        Err(StoreError::Changed(_))
    ));
    other.put(&Actor::Local, vec![book("1", 0..10)]).unwrap();
    assert_eq!(
        store
            .set_recipe(
                &Actor::Local,
                released.name(),
                RecipeState::Default { anyway: false }
            )
            .unwrap(),
        1
    );
    // A recipe that is being dropped gets no more gems, even from a server that did not know.
    let late = |id: &str| {
        let mut new = book(id, 0..3);
        new.gems.insert(
            released.name().clone(),
            vec![PlacedGem {
                gem: Gem(7),
                place: None,
            }],
        );
        new.record.gems = new
            .gems
            .iter()
            .map(|(name, gems)| (name.clone(), gems.len() as u32))
            .collect();
        new
    };
    let mut change = Change::begin(&other, "2", Some(late("2")));
    change.step("stage").unwrap();
    change.step("add").unwrap();
    store
        .drop_recipe(&Actor::Local, released.name(), lapidary_store::UNWATCHED)
        .unwrap();
    let plans = std::mem::take(&mut change.plans);
    assert!(matches!(
        other.shared.changes().make(&change.recipes, &[], plans),
        Err(StoreError::Changed(_))
    ));
    assert_eq!(other.snapshot().find(&key("2")).unwrap(), None);
    assert_eq!(other.snapshot().recipes().len(), 1);
    // One that comes back has no gems.
    store.add_recipe(&Actor::Local, &released).unwrap();
    assert_eq!(
        store
            .snapshot()
            .coverage(released.name())
            .unwrap()
            .lacking(),
        1
    );
}

#[test]
fn a_recipe_that_is_being_dropped_hides_no_book() {
    const BOOKS: usize = 300;
    let Some([store, other]) = servers() else {
        return;
    };
    let released = Recipe::released();
    store.add_recipe(&Actor::Local, &released).unwrap();
    let book = |i: usize| {
        let mut new = book(&i.to_string(), 0..3);
        new.gems.insert(
            released.name().clone(),
            vec![PlacedGem {
                gem: Gem(7),
                place: None,
            }],
        );
        new.record.gems = new
            .gems
            .iter()
            .map(|(name, gems)| (name.clone(), gems.len() as u32))
            .collect();
        new
    };
    store
        .put(&Actor::Local, (0..BOOKS).map(book).collect())
        .unwrap();
    let limits = Limits { cap: 999, ..ALL };
    let found = |snapshot: &dyn Snapshot| {
        let tally = snapshot.tally(released.name(), &[Gem(7)], limits)?;
        Ok::<_, StoreError>(
            tally
                .libraries
                .iter()
                .map(|library| library.books.len())
                .sum::<usize>(),
        )
    };
    let before = [(); 4].map(|()| other.snapshot());
    store
        .shared
        .writing(&[])
        .set_recipe(&Actor::Local, released.name(), RecipeState::Hidden)
        .unwrap();
    assert_eq!(found(&*before[0]).unwrap(), BOOKS);
    // Some books have lost it, then all, then the buckets are gone.
    let stopped = |after: u64| {
        let stop = move |done, _| {
            if done < after {
                Ok(())
            } else {
                Err(StoreError::Changed("stopped".to_owned()))
            }
        };
        store
            .drop_recipe(&Actor::Local, released.name(), &stop)
            .unwrap_err();
    };
    stopped(1);
    assert!(matches!(found(&*before[1]), Err(StoreError::Changed(_))));
    stopped(BOOKS as u64);
    assert!(matches!(found(&*before[2]), Err(StoreError::Changed(_))));
    store
        .drop_recipe(&Actor::Local, released.name(), UNWATCHED)
        .unwrap();
    assert!(matches!(found(&*before[3]), Err(StoreError::Changed(_))));
}

/// A snapshot as a check begins with.
fn unconfirmed(store: &ClusterStore) -> ClusterSnapshot<'_> {
    ClusterSnapshot::unconfirmed(&store.shared)
}

#[test]
fn a_check_does_not_believe_recipes_that_were_changed() {
    let Some([store, other]) = servers() else {
        return;
    };
    store.put(&Actor::Local, vec![book("1", 0..10)]).unwrap();
    let gems: Vec<Gem> = (0..10).map(gem).collect();
    let found = |snapshot: &dyn Snapshot| {
        let tally = snapshot.tally(&name(), &gems, ALL)?;
        Ok::<_, StoreError>(
            tally
                .libraries
                .iter()
                .map(|library| library.books.len())
                .sum::<usize>(),
        )
    };
    // Before this server has seen the recipe, and whenever another one has changed the recipes since.
    let other = ClusterStore {
        shared: unaware(&other),
        fences: Vec::new(),
        _sweeper: Arc::default(),
    };
    assert!(unconfirmed(&other).known_recipes().0.is_empty());
    for change in ["add", "ready", "drop"] {
        let [asked, unasked] = [(); 2].map(|()| unconfirmed(&other));
        match change {
            "add" => store
                .add_recipe(&Actor::Local, &Recipe::released())
                .unwrap(),
            "ready" => store
                .set_recipe(&Actor::Local, Recipe::released().name(), RecipeState::Ready)
                .map(drop)
                .unwrap(),
            _ => store
                .drop_recipe(&Actor::Local, Recipe::released().name(), UNWATCHED)
                .unwrap(),
        }
        assert!(found(&asked).is_err(), "{change}");
        for snapshot in [asked, unasked] {
            assert!(
                matches!(snapshot.known().map(drop), Err(StoreError::Changed(_))),
                "{change}"
            );
            assert!(
                matches!(snapshot.summaries(None), Err(StoreError::Changed(_))),
                "{change}"
            );
        }
        let again = unconfirmed(&other);
        assert_eq!(found(&again).unwrap(), 1, "{change}");
        again.known().unwrap();
    }
}

#[test]
fn a_check_asks_each_primary_and_each_book_once() {
    let Some([store]) = servers() else { return };
    store.put(&Actor::Local, vec![book("1", 0..10)]).unwrap();
    // Without anyone who looks around meanwhile.
    let store = ClusterStore {
        shared: unaware(&store),
        fences: Vec::new(),
        _sweeper: Arc::default(),
    };
    store.shared.meta().recipes().unwrap();
    store.shared.numbering().learn_all_owners().unwrap();
    unconfirmed(&store).sizes(&name()).unwrap();
    let asked = || {
        store
            .shared
            .client
            .counters
            .round_trips
            .load(Ordering::Relaxed)
    };
    for (gems, round_trips) in [(100..200, 3), (0..10, 4)] {
        let (before, snapshot) = (asked(), unconfirmed(&store));
        let gems: Vec<Gem> = gems.map(gem).collect();
        let limits = Limits { fewest: 5, ..ALL };
        let found = snapshot.tally(&name(), &gems, limits).unwrap();
        for (book, _) in found.libraries.iter().flat_map(|of| &of.books) {
            assert!(snapshot.outline(&[*book]).unwrap()[0].is_some());
            let reader: &dyn Snapshot = &snapshot;
            assert_eq!(reader.gems(&name(), *book).unwrap().unwrap().len(), 10);
        }
        snapshot.sizes(&name()).unwrap();
        snapshot.coverage(&name()).unwrap();
        snapshot.known().map(drop).unwrap();
        assert_eq!(asked() - before, round_trips);
    }
}

#[test]
fn totals_that_were_read_count_until_they_change() {
    let Some([store, other]) = servers() else {
        return;
    };
    other.shared.meta().recipes().unwrap();
    let books = |store: &ClusterStore| unconfirmed(store).coverage(&name()).unwrap().total;
    for count in 1..4 {
        let id = count.to_string();
        store.put(&Actor::Local, vec![book(&id, 0..10)]).unwrap();
        assert_eq!([books(&store), books(&other)], [count, count]);
    }
    let totals = other.shared.meta().totals().unwrap();
    let key = totals
        .sums
        .keys()
        .find(|key| key.starts_with("l:") && key.ends_with(":0"));
    let key = key.unwrap().clone();
    let wrong = |by: i64| WrongTotals {
        all: vec![WrongTotal::Sum {
            key: key.clone(),
            by,
        }],
        corrected: totals.corrected(),
    };
    assert!(store.shared.meta().correct_totals(wrong(1)).unwrap());
    assert_eq!([books(&store), books(&other)], [4, 4]);
    // Whoever compared them before that is late.
    assert!(!other.shared.meta().correct_totals(wrong(1)).unwrap());
    assert_eq!([books(&store), books(&other)], [4, 4]);
}

/// A command whose answer was lost is sent again.
#[test]
fn a_correction_that_is_repeated_is_made_once() {
    let Some([store]) = servers() else { return };
    let keys = [store.shared.keys.meta("totals")];
    let entry = r#"{"audit":[],"sums":[["l:9:0","1"]],"most":[]}"#;
    let correct = |before: &str, now: &str| {
        let arguments = [entry, before, now].map(|text| text.as_bytes().to_vec());
        let command = Command::script(&scripts::CORRECT, &keys, arguments.as_slice());
        let answer = store.shared.write_one(command).unwrap();
        let books = store.shared.meta().totals().unwrap().sum("l:9:0");
        (store.shared.answer::<u8>(answer).unwrap(), books)
    };
    assert_eq!(correct("", "a"), (1, 1));
    assert_eq!(correct("", "a"), (1, 1));
    assert_eq!(correct("", "b"), (0, 1));
    assert_eq!(correct("a", "b"), (1, 2));
}

#[test]
fn what_a_primary_says_that_was_replaced_is_not_believed() {
    let Some(nodes) = Nodes::start(3, 1) else {
        return;
    };
    let address: ClusterAddress = format!("redis://{}", nodes.addresses).parse().unwrap();
    // Without anyone who looks around by itself.
    let [writer, reader] =
        [(); 2].map(|()| Client::connect(&address, scripts::all(), Belief::Whole).unwrap());
    let (key, node) = (b"some key".as_slice(), |client: &Client| {
        client.topology().node(slot(b"some key")).map(str::to_owned)
    });
    writer.write(&[Command::new("SET", key, "old")]).unwrap();
    let old = node(&reader);
    assert_eq!(
        reader.read_now(&[Command::bare("GET", key)]).unwrap(),
        [Value::BulkString(b"old".into())]
    );
    let index = nodes
        .addresses
        .split(',')
        .position(|address| Some(address) == old.as_deref())
        .unwrap();
    nodes.signal(index, "-STOP");
    while node(&writer).is_none_or(|node| Some(node) == old) {
        sleep(Duration::from_millis(100));
        let _ = writer.look_around();
    }
    writer
        .write_loosely(&[Command::new("SET", key, "new")])
        .unwrap();
    assert_eq!(node(&reader), old);
    let read = scope(|scope| {
        let read = scope.spawn(|| reader.read_now(&[Command::bare("GET", key)]).unwrap());
        // It gets the question while it is stopped, and answers before it knows.
        sleep(Duration::from_millis(300));
        nodes.signal(index, "-CONT");
        read.join().unwrap()
    });
    assert_eq!(read, [Value::BulkString(b"new".into())]);
    assert_ne!(node(&reader), old);
}
