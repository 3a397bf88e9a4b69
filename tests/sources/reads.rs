//! How often a run reads the store: the links of a page are looked up together.

use std::sync::atomic::{AtomicUsize, Ordering};

use lapidary_catalogue::Catalogue;
use lapidary_catalogue::api::SourceDefinition;
use lapidary_extract::Limits;
use lapidary_store::{Actor, RocksStore, Store, Table};
use lapidary_store_redis::ClusterStore;

use super::*;
use crate::common::cluster::Nodes;
use crate::common::watched::{Call, Watched};

/// How often a store was read.
#[derive(Default)]
struct Reads {
    /// What is known of sources.
    harvests: AtomicUsize,
    /// All sources.
    all_sources: AtomicUsize,
}

impl Reads {
    fn count(&self, call: Call) {
        let counter = match call {
            Call::Rows(Table::Harvests)
            | Call::Page {
                table: Table::Harvests,
                ..
            } => &self.harvests,
            Call::Page {
                table: Table::Sources,
                is_whole: true,
            } => &self.all_sources,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// A catalogue whose reads are counted.
fn counted(store: impl Store + 'static) -> (Catalogue, Arc<Reads>) {
    let reads = Arc::new(Reads::default());
    let counting = Arc::clone(&reads);
    let store = Watched(Box::new(store), move |call| {
        counting.count(call);
        Ok(())
    });
    (Catalogue::with_store(Box::new(store)), reads)
}

/// Runs a source with a catalogue in this store, and returns how often that was read.
fn reads(store: impl Store + 'static, site: &Site) -> usize {
    let (catalogue, reads) = counted(store);
    let name = "it".parse().expect("a name");
    let address = format!("{}/list.txt", site.url);
    let library = "lib".parse().expect("a name");
    let definition = SourceDefinition {
        allow_private: true,
        ..SourceDefinition::new(
            lapidary_harvest::SourceKind::Sitemap,
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
    let before = reads.harvests.load(Ordering::Relaxed);
    let mut watch = |_: &lapidary_harvest::Watched<'_>| {};
    let run = lapidary_harvest::Harvest::new(&editor, &name, Limits::default(), &mut watch)
        .and_then(lapidary_harvest::Harvest::run);
    assert_eq!(run.expect("a run").refused, LINKS);
    reads.harvests.load(Ordering::Relaxed) - before
}

const LINKS: u64 = 960;

/// All sources are read to count those of a library when it gets one more, and once in a while to find those of a key.
#[test]
fn one_source_is_changed_without_reading_all() {
    const MANY: u64 = 5_000;
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
    let (catalogue, reads) = counted(store);
    let (name, library) = (
        "it".parse().expect("a name"),
        "lib".parse().expect("a name"),
    );
    let address = format!("{}/list.txt", site.url);
    let definition = SourceDefinition {
        allow_private: true,
        ..SourceDefinition::new(
            lapidary_harvest::SourceKind::Sitemap,
            &address,
            library,
            lapidary_store::Rights::Unknown,
        )
    };
    let mut source: lapidary_harvest::Source = definition.try_into().expect("a source");
    source.by = Some("a key".to_owned());
    let editor = catalogue.by(Actor::Local);
    let all = || reads.all_sources.swap(0, Ordering::Relaxed);
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
    let site = Site::new();
    site.set("/list.txt", site.list(0..LINKS));
    let folder = Folder::new();
    let store = RocksStore::open_or_create(&folder.data()).expect("a store");
    // A batch of the queue is read, and what is known of its addresses: 15 times two reads, and some for the run.
    let in_folder = reads(store, &site);
    assert!(in_folder <= 45, "{in_folder} reads for {LINKS} links");
    let Some(nodes) = Nodes::start(3, 0) else {
        return;
    };
    let address = format!("redis://{}/reads", nodes.addresses)
        .parse()
        .expect("an address");
    let store = ClusterStore::open(&address).expect("a store");
    let in_cluster = reads(store, &site);
    assert!(in_cluster <= 45, "{in_cluster} reads for {LINKS} links");
    println!("{LINKS} links: {in_folder} reads of a folder, {in_cluster} of a cluster");
}
