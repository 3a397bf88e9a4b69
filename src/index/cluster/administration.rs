//! Maintenance of a cluster's catalogue. Files, and backups of them, are left to the cluster.

use std::collections::HashMap;
use std::path::Path;

use super::ClusterStore;
use super::change::recipe_of;
use super::error::answer;
use crate::index::{Administration, Backup, StoreError, Vitals, Watch};

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
            let keys = self.shared.bucket_keys(recipe.number)?;
            let buckets: Vec<_> =
                keys.into_iter().filter_map(|key| recipe_of(&recipes, &key).map(|recipe| (key, recipe))).collect();
            let mut done = 0;
            for some in buckets.chunks(MERGED_AT_ONCE) {
                watch(done, buckets.len() as u64)?;
                self.shared.merge(some)?;
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
        let mut bytes = 0;
        for (_, info) in self.shared.client.on_each_primary(redis::cmd("INFO").arg("memory"))? {
            let info: String = answer(self.shared.address(), info)?;
            let fields: HashMap<&str, &str> = info.lines().filter_map(|line| line.split_once(':')).collect();
            bytes += fields.get("used_memory").and_then(|used| used.trim().parse::<u64>().ok()).unwrap_or(0);
        }
        Ok(bytes)
    }

    fn vitals(&self) -> Result<Vitals, StoreError> {
        Err(StoreError::NotOffered(FILES))
    }

    fn hold_reserve(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn wants_reopening(&self) -> bool {
        false
    }
}
