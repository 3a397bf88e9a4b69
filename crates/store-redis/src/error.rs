//! Errors of the data in a cluster.

use redis::{FromRedisValue, Value};

use super::address::ClusterAddress;
use super::command::read;
use lapidary_store::StoreError;

pub(super) fn damaged(address: &ClusterAddress, detail: impl Into<String>) -> StoreError {
    StoreError::Damaged {
        path: address.to_string(),
        detail: detail.into(),
    }
}

/// Reads an answer.
pub(super) fn answer<T: FromRedisValue>(
    address: &ClusterAddress,
    value: Value,
) -> Result<T, StoreError> {
    read(value).ok_or_else(|| {
        damaged(
            address,
            format!(
                "an answer is not of the type {}",
                std::any::type_name::<T>()
            ),
        )
    })
}
