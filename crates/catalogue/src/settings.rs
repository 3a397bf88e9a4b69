//! The store's tables of small records, with values in JSON.

use std::collections::BTreeMap;
use std::str::FromStr;

use parking_lot::MutexGuard;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Catalogue, CatalogueError};
use lapidary_store::{Row, RowChange, Table};

/// Writes a row.
///
/// # Panics
/// Never: what is stored has text keys only.
pub fn put(table: Table, key: impl AsRef<[u8]>, value: &impl Serialize) -> RowChange {
    let value =
        serde_json::to_vec(value).expect("these have text keys only and are written to memory");
    RowChange::put(table, key, value)
}

impl Catalogue {
    /// Reads a table whose keys are text.
    ///
    /// # Errors
    /// [`CatalogueError::BadSetting`] for a row that cannot be read.
    pub fn rows<K: FromStr + Ord, V: DeserializeOwned>(
        &self,
        table: Table,
    ) -> Result<BTreeMap<K, V>, CatalogueError> {
        self.store
            .table(table)?
            .into_iter()
            .map(|(key, value)| {
                let name = String::from_utf8_lossy(&key);
                let row = name.parse().ok().zip(serde_json::from_slice(&value).ok());
                row.ok_or_else(|| CatalogueError::BadSetting {
                    kind: table.as_str(),
                    name: name.into_owned(),
                })
            })
            .collect()
    }

    /// Reads up to `limit` rows of a table whose keys start with `prefix`, after the key `after`.
    pub fn page_of(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, CatalogueError> {
        Ok(self.store.page(table, prefix, after, limit)?)
    }

    /// Reads the row with a key.
    pub fn row(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, CatalogueError> {
        Ok(self.rows_of(table, &[key.to_vec()])?.pop().flatten())
    }

    /// Reads the rows with these keys at once, in their order.
    pub fn rows_of(
        &self,
        table: Table,
        keys: &[Vec<u8>],
    ) -> Result<Vec<Option<Vec<u8>>>, CatalogueError> {
        Ok(self.store.rows(table, keys)?)
    }

    /// Held from reading settings until a change that depends on them is written.
    pub(super) fn changing_settings(&self) -> MutexGuard<'_, ()> {
        self.changing_settings.lock()
    }

    /// Whether folds of added books are kept.
    pub(super) fn keeps_folds(&self) -> Result<bool, CatalogueError> {
        Ok(!self.store.table(Table::Folds)?.is_empty())
    }
}
