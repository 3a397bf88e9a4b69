//! How often a run reads the store: the links of a page are looked up together.

use std::sync::atomic::{AtomicUsize, Ordering};

use lapidary_catalogue::Catalogue;
use lapidary_catalogue::api::SourceDefinition;
use lapidary_extract::Limits;
use lapidary_gems::{Recipe, RecipeName};
use lapidary_store::recipes::RecipeState;
use lapidary_store::{
    Action, Actor, Administration, AuditEntry, AuditFrom, BookKey, Condition, Engine, LateGems,
    NewBook, Record, RecordChange, RocksStore, Row, RowChange, Snapshot, Store, StoreError, Table,
    Watch,
};
use lapidary_store_redis::ClusterStore;

use super::*;
use crate::common::cluster::Nodes;

/// How often what is known of sources was read.
static READS: AtomicUsize = AtomicUsize::new(0);

/// How often all sources were read.
static ALL_SOURCES: AtomicUsize = AtomicUsize::new(0);

/// Held by a test that counts.
static COUNTING: Mutex<()> = Mutex::new(());

fn count(table: Table) {
    READS.fetch_add(usize::from(table == Table::Harvests), Ordering::Relaxed);
}

struct Counting(Box<dyn Store>);

impl Administration for Counting {
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

impl Store for Counting {
    fn add_recipe(&self, by: &Actor, recipe: &Recipe) -> Result<(), StoreError> {
        self.0.add_recipe(by, recipe)
    }

    fn put(&self, by: &Actor, books: Vec<NewBook>) -> Result<(), StoreError> {
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

    fn page(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        count(table);
        let is_whole = prefix.is_empty() && after.is_none() && limit == usize::MAX;
        let reads_all = is_whole && table == Table::Sources;
        ALL_SOURCES.fetch_add(usize::from(reads_all), Ordering::Relaxed);
        self.0.page(table, prefix, after, limit)
    }

    fn rows(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        count(table);
        self.0.rows(table, keys)
    }

    fn apply(
        &self,
        by: &Actor,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<(), StoreError> {
        self.0.apply(by, changes, actions)
    }

    fn snapshot(&self) -> Box<dyn Snapshot + '_> {
        self.0.snapshot()
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

    fn audit(&self, from: AuditFrom, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
        self.0.audit(from, limit)
    }

    fn writable(&self) -> Result<(), StoreError> {
        self.0.writable()
    }

    fn engine(&self) -> Engine<'_> {
        self.0.engine()
    }
}

/// Runs a source with this catalogue, and returns how often it read the store.
fn reads(catalogue: &Catalogue, site: &Site) -> usize {
    let name = "it".parse().expect("a name");
    let address = format!("{}/list.txt", site.url);
    let library = "lib".parse().expect("a name");
    let definition = SourceDefinition {
        allow_private: true,
        ..SourceDefinition::new(
            lapidary_harvest::Kind::Sitemap,
            &address,
            library,
            lapidary_store::Rights::Unknown,
        )
    };
    let editor = catalogue.by(Actor::Local);
    lapidary_harvest::set_source(
        &editor,
        &name,
        &definition.try_into().expect("a source"),
        &|_| true,
    )
    .expect("it is added");
    let before = READS.load(Ordering::Relaxed);
    let mut watch = |_: &lapidary_harvest::Watched<'_>| {};
    let run = lapidary_harvest::Harvest::new(&editor, &name, Limits::default(), &mut watch)
        .and_then(lapidary_harvest::Harvest::run);
    assert_eq!(run.expect("a run").refused, LINKS);
    READS.load(Ordering::Relaxed) - before
}

const LINKS: u64 = 960;

/// All sources are read to count those of a library when it gets one more, and once in a while to find those of a key.
#[test]
fn one_source_is_changed_without_reading_all() {
    const MANY: u64 = 5_000;
    let _alone = COUNTING.lock().expect("no panic");
    let site = Site::new();
    site.set(
        "/list.txt",
        found(
            (0..MANY)
                .map(|i| format!("x:{i}"))
                .collect::<Vec<_>>()
                .join("\n"),
        ),
    );
    let folder = Folder::new();
    let store = RocksStore::open_or_create(&folder.data()).expect("a store");
    let catalogue = Catalogue::with_store(Box::new(Counting(Box::new(store))));
    let (name, library) = (
        "it".parse().expect("a name"),
        "lib".parse().expect("a name"),
    );
    let address = format!("{}/list.txt", site.url);
    let definition = SourceDefinition {
        allow_private: true,
        ..SourceDefinition::new(
            lapidary_harvest::Kind::Sitemap,
            &address,
            library,
            lapidary_store::Rights::Unknown,
        )
    };
    let mut source: lapidary_harvest::Source = definition.try_into().expect("a source");
    source.by = Some("a key".to_owned());
    let editor = catalogue.by(Actor::Local);
    let all = || ALL_SOURCES.swap(0, Ordering::Relaxed);
    lapidary_harvest::set_source(&editor, &name, &source, &|_| true).expect("it is added");
    assert!(all() > 0);
    source.rate = Some(0.5);
    lapidary_harvest::set_source(&editor, &name, &source, &|_| true).expect("it is changed");
    assert_eq!(all(), 0);
    let mut watch = |_: &lapidary_harvest::Watched<'_>| {};
    let run = lapidary_harvest::Harvest::new(&editor, &name, Limits::default(), &mut watch)
        .expect("a harvest");
    let run = run
        .within(Arc::new(|_, _| Ok(true)), 100_000)
        .run()
        .expect("a run");
    assert_eq!(run.refused, MANY);
    // When it begins, and for each batch of the queue: the page.
    assert_eq!(all(), 2);
}

#[test]
fn the_links_of_a_page_are_looked_up_together() {
    let _alone = COUNTING.lock().expect("no panic");
    let site = Site::new();
    site.set("/list.txt", site.list(0..LINKS));
    let folder = Folder::new();
    let store = RocksStore::open_or_create(&folder.data()).expect("a store");
    // A batch of the queue is read, and what is known of its addresses: 15 times two reads, and some for the run.
    let in_folder = reads(
        &Catalogue::with_store(Box::new(Counting(Box::new(store)))),
        &site,
    );
    assert!(in_folder <= 45, "{in_folder} reads for {LINKS} links");
    let Some(nodes) = Nodes::start(3, 0) else {
        return;
    };
    let address = format!("redis://{}/reads", nodes.addresses)
        .parse()
        .expect("an address");
    let store = ClusterStore::open(&address).expect("a store");
    let in_cluster = reads(
        &Catalogue::with_store(Box::new(Counting(Box::new(store)))),
        &site,
    );
    assert!(in_cluster <= 45, "{in_cluster} reads for {LINKS} links");
    println!("{LINKS} links: {in_folder} reads of a folder, {in_cluster} of a cluster");
}
