//! Ids of requests and records: unique, and in the order in which they were made (UUID version 7).

use jiff::Timestamp;
use uuid::{NoContext, Uuid};

/// A new id.
pub(crate) fn new_id(now: Timestamp) -> Uuid {
    // `Uuid::now_v7` panics if the clock is set to before 1970.
    let (seconds, nanoseconds) = (now.as_second().try_into(), now.subsec_nanosecond().try_into());
    Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds.unwrap_or(0), nanoseconds.unwrap_or(0)))
}

/// The first id that can be made at a time.
pub(crate) fn first_id(at: Timestamp) -> Uuid {
    let milliseconds = u64::try_from(at.as_millisecond()).unwrap_or(0);
    Uuid::from_u128(u128::from(milliseconds) << 80)
}
