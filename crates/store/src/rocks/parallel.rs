//! Spreads the reads of one check over idle processors.

use std::num::NonZero;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Minimum number of keys per processor. With fewer, waking it would take about as much time as it saves.
const LEAST_KEYS: usize = 64;

static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| available_parallelism().map_or(1, NonZero::get));
/// A thread pool of its own, so that no check waits behind the reading of a text. `None` if it could not be started.
static HELPERS: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let named = ThreadPoolBuilder::new().thread_name(|i| format!("lapidary-read-{i}"));
    named.num_threads(*PROCESSORS - 1).build().ok()
});
/// Number of reads in progress.
static READING: AtomicUsize = AtomicUsize::new(0);

struct ReadInProgress;

impl Drop for ReadInProgress {
    fn drop(&mut self) {
        READING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads keys in parts, one on this thread and one on each processor that no other check needs. Returns the values in
/// the order of the keys.
pub(super) fn read<K: Sync, V: Send, E: Send>(
    keys: &[K],
    read: impl Fn(&[K]) -> Result<Vec<V>, E> + Sync,
) -> Result<Vec<V>, E> {
    let others = READING.fetch_add(1, Ordering::Relaxed);
    let _reading = ReadInProgress;
    let parts = PROCESSORS
        .saturating_sub(others)
        .min(keys.len() / LEAST_KEYS);
    let helpers = if parts > 1 { HELPERS.as_ref() } else { None };
    let Some(helpers) = helpers else {
        return read(keys);
    };

    let (here, elsewhere) = keys.split_at(keys.len().div_ceil(parts));
    let elsewhere: Vec<&[K]> = elsewhere.chunks(here.len()).collect();
    let mut values: Vec<Option<Result<Vec<V>, E>>> = elsewhere.iter().map(|_| None).collect();
    let read = &read;
    let first = helpers.in_place_scope(|scope| {
        for (keys, values) in elsewhere.into_iter().zip(&mut values) {
            scope.spawn(move |_| *values = Some(read(keys)));
        }
        read(here)
    });
    let mut all = first?;
    for values in values.into_iter().flatten() {
        all.append(&mut values?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::{LEAST_KEYS, read};

    #[test]
    fn values_come_in_the_order_of_their_keys() {
        let doubled = |keys: &[usize]| Ok::<_, ()>(keys.iter().map(|key| 2 * key).collect());
        let check = || {
            for count in [0, 1, LEAST_KEYS, 2 * LEAST_KEYS, 2 * LEAST_KEYS + 1, 1_000] {
                let keys: Vec<usize> = (0..count).collect();
                assert_eq!(read(&keys, doubled), doubled(&keys));
            }
        };
        thread::scope(|scope| {
            (0..8).for_each(|_| drop(scope.spawn(|| (0..100).for_each(|_| check()))));
        });
        check();
    }

    #[test]
    fn a_part_that_fails_fails_the_whole() {
        let keys: Vec<usize> = (0..1_000).collect();
        for bad in [0, 499, 500, 999] {
            let at = |keys: &[usize]| {
                if keys.contains(&bad) {
                    Err(bad)
                } else {
                    Ok(keys.to_vec())
                }
            };
            assert_eq!(read(&keys, at), Err(bad));
        }
    }
}
