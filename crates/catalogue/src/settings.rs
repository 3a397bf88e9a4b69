//! The store's tables of small records, with values in JSON.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::sharing::SETTINGS;
use super::{Catalogue, CatalogueError, Editor};
use lapidary_store::{Action, Row, RowChange, Table, tag_of};

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
        self.changing_settings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether folds of added books are kept.
    pub(super) fn keeps_folds(&self) -> Result<bool, CatalogueError> {
        Ok(!self.store.table(Table::Folds)?.is_empty())
    }
}

impl Editor<'_> {
    /// Changes or removes a setting. Returns whether it existed. The change in `along` is part of the same atomic
    /// step.
    pub fn change_setting(
        &self,
        setting: RowChange,
        along: Option<RowChange>,
    ) -> Result<bool, CatalogueError> {
        self.change_setting_if(setting, along, |_| Ok(()))
    }

    /// Like [`Self::change_setting`], if `permits` its value before, which nobody changes in between.
    ///
    /// # Errors
    /// Those of `permits`.
    pub fn change_setting_if<E: From<CatalogueError>>(
        &self,
        setting: RowChange,
        along: Option<RowChange>,
        permits: impl FnOnce(Option<&[u8]>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let turn = self.turn(&self.changing_settings, SETTINGS)?;
        let before = self.row(setting.table, &setting.key)?;
        permits(before.as_deref())?;
        self.expects(|| before.as_deref().map(tag_of))?;
        let (was_there, removed) = (before.is_some(), setting.value.is_none());
        if was_there || !removed {
            let name = String::from_utf8_lossy(&setting.key).into_owned();
            let action = Action::Setting {
                kind: setting.table.as_str().to_owned(),
                name,
                removed,
            };
            let changes: Vec<RowChange> = [setting].into_iter().chain(along).collect();
            turn.apply(&self.actor, &changes, &[action])
                .map_err(CatalogueError::from)?;
            if let Some(written) = &changes[0].value {
                self.wrote(|| tag_of(written));
            }
        }
        Ok(was_there)
    }

    /// Writes rows that record the progress of some work, in one step ([`Store::apply`](lapidary_store::Store::apply)).
    pub fn apply_rows(&self, changes: &[RowChange]) -> Result<(), CatalogueError> {
        Ok(self.store.apply(&self.actor, changes, &[])?)
    }

    /// Sets whether folds are kept of books added from now on. With its fold, a book can get gems of another recipe
    /// without its text ([`Task::Reindex`](crate::api::Task::Reindex)).
    pub fn keep_folds(&self, keep: bool) -> Result<(), CatalogueError> {
        let turn = self.turn(&self.changing_settings, SETTINGS)?;
        if keep != self.keeps_folds()? {
            let change = if keep {
                RowChange::put(Table::Folds, "", "")
            } else {
                RowChange::delete(Table::Folds, "")
            };
            turn.apply(&self.actor, &[change], &[Action::FoldsKept { kept: keep }])?;
        }
        Ok(())
    }
}
