//! How much is done at once: jobs that run, jobs that wait, and the memory that bodies take. What is beyond is refused with
//! 503 at once, so that those inside are answered, and memory has an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_web::http::StatusCode;
use actix_web::http::header::RETRY_AFTER;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;

/// When to try again, in seconds.
const RETRY_SECONDS: &str = "1";
/// What bodies' memory is counted in, since permits are counted in 32 bits.
const UNIT: usize = 1 << 10;

/// What is going on.
pub(super) struct Load {
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    most_waiting: usize,
    bodies: Arc<Semaphore>,
}

/// Memory that a body has.
#[derive(Default)]
pub(super) struct Room(Option<OwnedSemaphorePermit>);

impl Load {
    /// So many jobs at once, so many more that wait, and so many bytes of bodies.
    pub(super) fn new(concurrent: usize, queue: usize, bodies: usize) -> Self {
        let limit = |permits: usize| Arc::new(Semaphore::new(permits.clamp(1, Semaphore::MAX_PERMITS)));
        Self {
            running: limit(concurrent),
            waiting: AtomicUsize::new(0),
            most_waiting: queue,
            bodies: limit(bodies / UNIT),
        }
    }

    /// Waits for a turn to work.
    ///
    /// # Errors
    /// When too many wait already.
    pub(super) async fn turn(&self) -> Result<OwnedSemaphorePermit, Problem> {
        if let Ok(free) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(free);
        }
        let _place = Place::take(&self.waiting, self.most_waiting)?;
        let turn = Arc::clone(&self.running).acquire_owned().await;
        turn.map_err(|closed| Problem::failed("internal", &closed))
    }

    /// As [`Load::turn`], for a stream that is under way: it waits as long as it must, and its client with it.
    pub(super) async fn turn_of_stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.running).acquire_owned().await.ok()
    }

    /// Gives a body room for so many more bytes.
    ///
    /// # Errors
    /// When other bodies have it.
    pub(super) fn give(&self, room: &mut Room, bytes: usize) -> Result<(), Problem> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let detail = "the bodies of other requests take all the memory that is set aside for them; try again";
        let given = Arc::clone(&self.bodies).try_acquire_many_owned(units).map_err(|_| overloaded(detail))?;
        match &mut room.0 {
            Some(permit) => permit.merge(given),
            none => *none = Some(given),
        }
        Ok(())
    }
}

/// A place in the queue.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize, most: usize) -> Result<Self, Problem> {
        let place = Self(waiting);
        if waiting.fetch_add(1, Ordering::Relaxed) < most {
            return Ok(place);
        }
        Err(overloaded("more requests wait than the server lets wait; try again"))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) fn overloaded(detail: &str) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail).with(RETRY_AFTER, RETRY_SECONDS)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::{Load, Room};

    #[actix_web::test]
    async fn what_is_too_much_is_refused_and_the_rest_has_its_turn() {
        let load = Load::new(1, 1, 10 << 10);
        let first = load.turn().await.ok();
        let mut second = Box::pin(load.turn());
        assert!((&mut second).now_or_never().is_none());
        assert!(load.turn().await.is_err());
        drop(first);
        assert!(second.await.is_ok());
        // A place in the queue is given back.
        let first = load.turn().await.ok();
        assert!(load.turn().now_or_never().is_none());
        drop(first);

        let (mut a, mut b) = (Room::default(), Room::default());
        load.give(&mut a, 6 << 10).unwrap();
        load.give(&mut a, 1).unwrap();
        assert!(load.give(&mut b, 4 << 10).is_err());
        drop(a);
        load.give(&mut b, 10 << 10).unwrap();
    }
}
