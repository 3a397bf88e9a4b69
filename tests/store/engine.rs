//! The engines that the tests of the store interface run on.
//!
//! Where there is no `redis-server`, the tests of the cluster say so and pass.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use lapidary_store::{Actor, Administration as _, RocksStore, Store, UNWATCHED};
use lapidary_store_redis::{ClusterAddress, ClusterStore};
use tempfile::{TempDir, tempdir};

use crate::common::cluster::Nodes;
use crate::store::support::{RECIPES, recipe};

/// A new store.
pub trait Engine: Sync {
    /// Creates a store without recipes.
    fn empty() -> Self;

    fn store(&self) -> &dyn Store;

    /// Closes the store and opens it again.
    fn reopened(self) -> Self;

    /// Merges all changes of postings.
    fn compact(&self);

    /// What the engine finds wrong with itself.
    fn faults(&self) -> Vec<String>;

    /// Creates a store with the usual recipes.
    fn create() -> Self
    where
        Self: Sized,
    {
        let engine = Self::empty();
        for name in RECIPES {
            engine
                .store()
                .add_recipe(&Actor::Local, &recipe(name))
                .unwrap();
        }
        engine
    }
}

/// Declares tests that run on every engine, each a function of the engine.
macro_rules! on_every_engine {
    ($($test:ident)*) => {
        mod rocks {
            $(#[test] fn $test() { super::$test::<crate::store::engine::Rocks>(); })*
        }
        mod cluster {
            $(#[test] fn $test() { if crate::store::engine::has_cluster() { super::$test::<crate::store::engine::Cluster>(); } })*
        }
    };
}
pub(crate) use on_every_engine;

/// A folder.
pub struct Rocks {
    store: RocksStore,
    dir: TempDir,
}

impl Rocks {
    /// Closes the store and returns its folder.
    pub fn close(self) -> TempDir {
        self.dir
    }
}

impl Engine for Rocks {
    fn empty() -> Self {
        let dir = tempdir().unwrap();
        Self {
            store: RocksStore::open_or_create(dir.path()).unwrap(),
            dir,
        }
    }

    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn reopened(self) -> Self {
        let Self { store, dir } = self;
        drop(store);
        Self {
            store: RocksStore::open(dir.path()).unwrap(),
            dir,
        }
    }

    fn compact(&self) {
        self.store.compact(UNWATCHED).unwrap();
    }

    fn faults(&self) -> Vec<String> {
        self.store.verify(UNWATCHED).unwrap()
    }
}

/// A catalogue of its own in a cluster of 3 primaries with a replica each, which all tests of this process share.
pub struct Cluster {
    store: ClusterStore,
    address: ClusterAddress,
}

impl Cluster {
    /// For another server.
    pub fn address(&self) -> &ClusterAddress {
        &self.address
    }
}

impl Engine for Cluster {
    fn empty() -> Self {
        static CATALOGUES: AtomicU32 = AtomicU32::new(0);
        let nodes = &nodes().expect("tests run only with a cluster").addresses;
        let address = format!(
            "redis://{nodes}/test{}",
            CATALOGUES.fetch_add(1, Ordering::Relaxed)
        )
        .parse()
        .unwrap();
        Self {
            store: ClusterStore::open(&address).unwrap(),
            address,
        }
    }

    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn reopened(self) -> Self {
        let Self { store, address } = self;
        drop(store);
        Self {
            store: ClusterStore::open(&address).unwrap(),
            address,
        }
    }

    fn compact(&self) {
        self.store.compact(UNWATCHED).unwrap();
    }

    fn faults(&self) -> Vec<String> {
        self.store.verify(UNWATCHED).unwrap()
    }
}

/// Whether there is a cluster; says so if there is none.
pub fn has_cluster() -> bool {
    nodes().is_some()
}

fn nodes() -> Option<&'static Nodes> {
    static NODES: OnceLock<Option<Nodes>> = OnceLock::new();
    NODES.get_or_init(|| Nodes::start(3, 1)).as_ref()
}
