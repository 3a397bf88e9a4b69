//! Ids of requests and records: unique, and in the order in which they were made (UUID version 7).

use std::sync::Mutex;

use jiff::Timestamp;
use uuid::{ContextV7, Uuid};

/// Keeps ids in order within a millisecond, and when the clock is set back.
static CONTEXT: Mutex<ContextV7> = Mutex::new(ContextV7::new());

/// A new id, greater than all before it in this process.
#[must_use]
pub fn new_id(now: Timestamp) -> Uuid {
    // `Uuid::now_v7` panics if the clock is set to before 1970.
    let (seconds, nanoseconds) = (
        now.as_second().try_into(),
        now.subsec_nanosecond().try_into(),
    );
    Uuid::new_v7(uuid::Timestamp::from_unix(
        &CONTEXT,
        seconds.unwrap_or(0),
        nanoseconds.unwrap_or(0),
    ))
}

/// The first id that can be made at a time.
#[must_use]
pub fn first_id(at: Timestamp) -> Uuid {
    let milliseconds = u64::try_from(at.as_millisecond()).unwrap_or(0);
    Uuid::from_u128(u128::from(milliseconds) << 80)
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, ToSpan as _};

    use super::{first_id, new_id};

    #[test]
    fn ids_are_in_the_order_in_which_they_were_made() {
        let now = Timestamp::now();
        let back = now.checked_sub(1.hour()).unwrap();
        let mut ids: Vec<_> = (0..1_000)
            .map(|i| new_id(if i % 10 == 9 { back } else { now }))
            .collect();
        assert!(ids.is_sorted());
        ids.dedup();
        assert_eq!(ids.len(), 1_000);
        assert!(first_id(now) <= ids[0]);
    }
}
