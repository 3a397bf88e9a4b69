//! Maintenance of a cluster's catalogue. Files, and backups of them, are left to the cluster.

use std::path::Path;

use super::ClusterStore;
use lapidary_store::{Administration, Backup, ClusterVitals, StoreError, Vitals, Watch};

/// Number of buckets merged at a time.
const MERGED_AT_ONCE: usize = 500;
/// What there is none of, as named in an error.
const FILES: &str = "files of its own";

impl Administration for ClusterStore {
    fn keeps_files(&self) -> bool {
        false
    }

    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Merges all changes of postings into the packed lists.
    fn compact(&self, watch: Watch<'_>) -> Result<(), StoreError> {
        let recipes = self.shared.recipes()?;
        for recipe in &recipes.0 {
            let buckets = self.shared.bucket_keys(recipe.number)?;
            let mut done = 0;
            for some in buckets.chunks(MERGED_AT_ONCE) {
                watch(done, buckets.len() as u64)?;
                self.shared.merge(&recipes, some)?;
                done += some.len() as u64;
            }
        }
        Ok(())
    }

    fn stop(&self) {}

    fn verify(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
        self.shared.verify(watch)
    }

    fn repair(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
        self.shared.repair(watch)
    }

    fn backup(&self, _: &Path, _: u32, _: Watch<'_>) -> Result<Backup, StoreError> {
        Err(StoreError::NotOffered(FILES))
    }

    fn bytes(&self) -> Result<u64, StoreError> {
        Ok(self
            .shared
            .vitals()?
            .nodes
            .iter()
            .filter(|node| node.is_primary)
            .map(|node| node.used)
            .sum())
    }

    fn vitals(&self) -> Result<Vitals, StoreError> {
        Err(StoreError::NotOffered(FILES))
    }

    fn cluster(&self) -> Result<Option<ClusterVitals>, StoreError> {
        self.shared.vitals().map(Some)
    }

    fn hold_reserve(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn wants_reopening(&self) -> bool {
        false
    }
}
