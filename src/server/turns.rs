//! How much is worked on at once, and how much may wait. What is beyond is refused with 503 at once, so that those inside are
//! answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::load::overloaded;
use super::problem::Problem;

/// What is going on.
pub(super) struct Turns {
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    most_waiting: usize,
}

impl Turns {
    /// So many jobs at once, and so many more that wait.
    pub(super) fn new(concurrent: usize, queue: usize) -> Self {
        let running = Arc::new(Semaphore::new(concurrent.clamp(1, Semaphore::MAX_PERMITS)));
        Self { running, waiting: AtomicUsize::new(0), most_waiting: queue }
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

    /// As [`Turns::turn`], for a stream that is under way: it waits as long as it must, and its client with it.
    pub(super) async fn turn_of_stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.running).acquire_owned().await.ok()
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::Turns;

    #[actix_web::test]
    async fn what_is_too_much_is_refused_and_the_rest_has_its_turn() {
        let turns = Turns::new(1, 1);
        let first = turns.turn().await.ok();
        let mut second = Box::pin(turns.turn());
        assert!((&mut second).now_or_never().is_none());
        assert!(turns.turn().await.is_err());
        drop(first);
        assert!(second.await.is_ok());
        // A place in the queue is given back.
        let first = turns.turn().await.ok();
        assert!(turns.turn().now_or_never().is_none());
        drop(first);
    }
}
