//! Progress of long operations.

use super::StoreError;

/// Progress callback of a long operation: receives the units done and the total. It can stop the operation by
/// returning an error such as [`StoreError::Stopped`].
pub type Watch<'a> = &'a (dyn Fn(u64, u64) -> Result<(), StoreError> + Sync);

/// A [`Watch`] that ignores progress.
pub const UNWATCHED: Watch<'static> = &|_, _| Ok(());
