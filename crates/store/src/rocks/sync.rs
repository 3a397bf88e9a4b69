//! Writing a batch to disk.

use rocksdb::{WriteBatch, WriteOptions};

use super::RocksStore;
use crate::StoreError;

/// Writes a batch and waits until it is on disk.
pub(super) fn durably(store: &RocksStore, batch: WriteBatch) -> Result<(), StoreError> {
    let mut durable = WriteOptions::default();
    durable.set_sync(true);
    // Does not include what others write meanwhile without waiting for the disk.
    let last = store.db.latest_sequence_number() + batch.len() as u64;
    store
        .db
        .write_opt(batch, &durable)
        .map_err(|e| store.failed(&e))?;
    store.acknowledged.set(last);
    Ok(())
}
