//! Maintenance of a cluster's catalogue. Files, and backups of them, are left to the cluster.

use super::ClusterStore;
use super::verify::{repair, verify};
use lapidary_store::{Administration, StoreError, Watch};

/// Number of buckets merged at a time.
const MERGED_AT_ONCE: usize = 500;

impl Administration for ClusterStore {
    /// Merges all changes of postings into the packed lists.
    fn compact(&self, watch: Watch<'_>) -> Result<(), StoreError> {
        let recipes = self.shared.meta().recipes()?;
        for recipe in &recipes.0 {
            let buckets = self.shared.writing(&[]).bucket_keys(recipe.number)?;
            let mut done = 0;
            for some in buckets.chunks(MERGED_AT_ONCE) {
                watch(done, buckets.len() as u64)?;
                self.shared.merging().merge(&recipes, some)?;
                done += some.len() as u64;
            }
        }
        Ok(())
    }

    fn verify(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
        verify(&self.shared, watch)
    }

    fn repair(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
        repair(&self.shared, watch)
    }
}
