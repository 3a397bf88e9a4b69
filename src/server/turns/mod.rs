//! Who works when. Whatever takes CPU or touches the store is done here, on threads of its own and not on those that connections are
//! served by.
//!
//! The threads are parted into [lanes](Lane), so that what is short never waits behind what is long, and in each lane clients
//! take turns ([`fair`]). Too much waiting in a lane is refused with 503 at once. On Linux the threads for heavy work give way to
//! all others, and so do the processes that they start to read files.

mod fair;

use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use tokio::sync::oneshot;

use self::fair::Fair;
use super::problem::{Problem, overloaded};
use crate::extract::readers;
use crate::metrics::METRICS;

/// Threads for administration: some for each administrator, since some calls read much or wait for the disk.
const ADMINISTRATION_THREADS: usize = 4;
/// How much heavy work gives way: at 10, to a tenth of a processor that others want too.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Who takes turns with others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Client {
    /// A key, by its name.
    Key(String),
    /// Where requests without one come from.
    Address(IpAddr),
}

/// What kind of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// What only administrators do.
    Administration,
    /// Small reads, among them small checks.
    Reads,
    /// Small changes: they wait for the disk.
    Changes,
    /// Whatever may take long: large bodies, streams.
    Heavy,
    /// Files, each of which is read in a process of its own.
    Files,
}

impl Lane {
    /// What its threads are called.
    fn name(self) -> &'static str {
        match self {
            Self::Administration => "lapidary-admin",
            Self::Reads => "lapidary-read",
            Self::Changes => "lapidary-change",
            Self::Heavy => "lapidary-heavy",
            Self::Files => "lapidary-file",
        }
    }
}

/// Whether a job may be refused when too many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Its client is told to come again.
    Refusable,
    /// It is a part of a stream under way: it waits as long as it must, and its client with it.
    Stream,
}

type Job = Box<dyn FnOnce() + Send>;

/// The threads, and what waits for them.
pub(super) struct Turns([Arc<Queue>; 5]);

struct Queue {
    waiting: Mutex<Jobs>,
    /// A job came, or there will be none.
    changed: Condvar,
}

struct Jobs {
    fair: Fair<Client, Job>,
    closed: bool,
}

impl Turns {
    /// So many threads for each kind of small work, half as many for heavy work, and one for each reader of files; and so many jobs that wait in each lane.
    ///
    /// # Errors
    /// When the system grants no more threads.
    pub(super) fn new(concurrent: usize, queue: usize) -> io::Result<Self> {
        let heavy = (concurrent / 2).max(2);
        let lane = |lane: Lane, threads: usize| {
            // A quarter is always for others.
            let of_one = (threads - threads.div_ceil(4)).max(1);
            let jobs = Jobs { fair: Fair::new(queue, of_one), closed: false };
            let queue = Arc::new(Queue { waiting: Mutex::new(jobs), changed: Condvar::new() });
            for _ in 0..threads {
                let queue = Arc::clone(&queue);
                thread::Builder::new().name(lane.name().to_owned()).spawn(move || {
                    if matches!(lane, Lane::Heavy | Lane::Files) {
                        give_way();
                    }
                    queue.work();
                })?;
            }
            Ok::<_, io::Error>(queue)
        };
        METRICS.work_threads(ADMINISTRATION_THREADS + 2 * concurrent + heavy + readers());
        Ok(Self([
            lane(Lane::Administration, ADMINISTRATION_THREADS)?,
            lane(Lane::Reads, concurrent)?,
            lane(Lane::Changes, concurrent)?,
            lane(Lane::Heavy, heavy)?,
            lane(Lane::Files, readers())?,
        ]))
    }

    /// Does `job` when it is its turn. A job that nobody waits for any more is not begun. Should it panic, it fails alone.
    ///
    /// # Errors
    /// When too many wait.
    pub(super) async fn take<T: Send + 'static>(
        &self,
        lane: Lane,
        client: Client,
        patience: Patience,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting::begin();
        let job = Box::new(move || {
            let running = waiting.end();
            let done = catch_unwind(AssertUnwindSafe(job));
            drop(running);
            let _ = answer.send(done);
        });
        let _place = Place::take(&self.0[lane as usize], client, patience, job);
        match answered.await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(_)) => Err(Problem::failed("internal", &"a request's work panicked")),
            Err(_) => Err(overloaded("more requests wait than the server lets wait; try again")),
        }
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        for queue in &self.0 {
            queue.jobs().closed = true;
            queue.changed.notify_all();
        }
    }
}

impl Queue {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread does.
    fn work(&self) {
        while let Some((client, job)) = self.next() {
            let begun = Instant::now();
            job();
            self.jobs().fair.finished(&client, begun.elapsed());
        }
    }

    fn next(&self) -> Option<(Client, Job)> {
        let mut jobs = self.jobs();
        loop {
            if let Some(next) = jobs.fair.next() {
                return Some(next);
            }
            if jobs.closed {
                return None;
            }
            jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A job's place in a queue, which it leaves when nobody waits for it any more.
struct Place<'q> {
    queue: &'q Queue,
    client: Client,
    number: u64,
}

impl<'q> Place<'q> {
    fn take(queue: &'q Queue, client: Client, patience: Patience, job: Job) -> Self {
        let (number, refused) = queue.jobs().fair.push(&client, job, patience == Patience::Refusable);
        queue.changed.notify_one();
        // Whoever waits for it is told so by this.
        drop(refused);
        Self { queue, client, number }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let withdrawn = self.queue.jobs().fair.withdraw(&self.client, self.number);
        drop(withdrawn);
    }
}

/// Lets every other thread go first, where the system can do that for one thread.
pub(super) fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICENESS) {
        tracing::debug!("heavy work does not give way: {error}");
    }
}

/// A job that has no thread yet.
struct Waiting(Instant);

impl Waiting {
    fn begin() -> Self {
        METRICS.work_waiting.inc();
        Self(Instant::now())
    }

    /// It has one now.
    fn end(self) -> Running {
        METRICS.work_wait.observe(self.0.elapsed().as_secs_f64());
        METRICS.work_running.inc();
        Running
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        METRICS.work_waiting.dec();
    }
}

/// A job that runs.
struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        METRICS.work_running.dec();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::mpsc;

    use futures_util::FutureExt as _;

    use super::*;

    fn client(name: &str) -> Client {
        Client::Key(name.to_owned())
    }

    /// A job that has begun, and lasts until the sender is dropped.
    fn blocked(turns: &Turns, lane: Lane) -> (mpsc::Sender<()>, impl Future<Output = Result<(), Problem>>) {
        let (hold, until) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel::<()>();
        let job = move || {
            begun.send(()).unwrap();
            let _ = until.recv();
        };
        let mut blocked = Box::pin(turns.take(lane, client("a"), Patience::Refusable, job));
        assert!((&mut blocked).now_or_never().is_none());
        has_begun.recv().unwrap();
        (hold, blocked)
    }

    #[actix_web::test]
    async fn heavy_work_holds_up_neither_small_work_nor_administration() {
        let turns = Turns::new(1, 10).unwrap();
        let (hold, blocked) = blocked(&turns, Lane::Heavy);
        // Of the two threads for heavy work one is always for others.
        let mut second = Box::pin(turns.take(Lane::Heavy, client("a"), Patience::Refusable, || 3));
        assert!((&mut second).now_or_never().is_none());
        for lane in [Lane::Heavy, Lane::Files, Lane::Reads, Lane::Changes, Lane::Administration] {
            let address = Client::Address(Ipv4Addr::LOCALHOST.into());
            assert_eq!(turns.take(lane, address, Patience::Refusable, || 7).await.unwrap(), 7);
        }
        assert!((&mut second).now_or_never().is_none());
        drop(hold);
        blocked.await.unwrap();
        assert_eq!(second.await.unwrap(), 3);
    }

    #[actix_web::test]
    async fn what_is_too_much_is_refused_and_streams_wait() {
        let turns = Turns::new(1, 1).unwrap();
        let (hold, blocked) = blocked(&turns, Lane::Reads);
        let later = |patience| Box::pin(turns.take(Lane::Reads, client("a"), patience, || ()));
        let mut waits = later(Patience::Refusable);
        assert!((&mut waits).now_or_never().is_none());
        assert!(later(Patience::Refusable).await.is_err());
        let mut stream = later(Patience::Stream);
        assert!((&mut stream).now_or_never().is_none());
        // A place in the queue is given back by who goes away.
        drop(waits);
        let mut again = later(Patience::Refusable);
        assert!((&mut again).now_or_never().is_none());
        drop(hold);
        blocked.await.unwrap();
        stream.await.unwrap();
        again.await.unwrap();
    }

    #[actix_web::test]
    async fn a_panic_fails_one_job() {
        let turns = Turns::new(1, 1).unwrap();
        let panics = turns.take(Lane::Reads, client("a"), Patience::Refusable, || panic!("on purpose"));
        assert!(panics.await.is_err());
        assert_eq!(turns.take(Lane::Reads, client("a"), Patience::Refusable, || 1).await.unwrap(), 1);
    }
}
