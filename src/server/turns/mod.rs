//! Scheduling. Everything that takes CPU or touches the store runs here, on separate threads from those that serve
//! connections.
//!
//! The threads are divided into [lanes](Lane), so that short work never waits behind long work. Within each lane,
//! clients take turns ([`fair`]). When too many jobs wait in a lane, more are refused with 503 at once. On Linux, the
//! threads for heavy work, and the processes that they start to read files, run at lower priority than all others.

mod fair;

use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;

use self::fair::Fair;
use super::problem::{Problem, overloaded};
use lapidary_catalogue::metrics::METRICS;
use lapidary_common::error::ErrorCode;
use lapidary_extract::readers;

/// Threads for administration: some for each administrator, because some calls read a lot or wait for the disk.
const ADMINISTRATION_THREADS: usize = 4;
/// The nice value of heavy work: at 10, it yields down to a tenth of a contended processor.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// A client that takes turns with others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    /// A key, by its name.
    Key(String),
    /// Whoever started the server.
    Local,
    /// The origin of requests without a key.
    Address(IpAddr),
}

/// The kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Administrator calls.
    Administration,
    /// Small reads, including small checks.
    Reads,
    /// Small changes: they wait for the disk.
    Changes,
    /// Small books that pass the gate: they wait for one another.
    Gates,
    /// Anything that may take long: large bodies, streams.
    Heavy,
    /// Files, each read in a separate process.
    Files,
}

impl Lane {
    /// The name of its threads.
    fn name(self) -> &'static str {
        match self {
            Self::Administration => "lapidary-admin",
            Self::Reads => "lapidary-read",
            Self::Changes => "lapidary-change",
            Self::Gates => "lapidary-gate",
            Self::Heavy => "lapidary-heavy",
            Self::Files => "lapidary-file",
        }
    }
}

/// Whether a job can be refused when too many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// The client is told to try again.
    Refusable,
    /// The job is part of a running stream: it waits as long as needed, and so does its client.
    Stream,
}

type Job = Box<dyn FnOnce() + Send>;

/// The threads and their queues.
pub(super) struct Turns([Arc<Queue>; 6]);

struct Queue {
    waiting: Mutex<JobQueue>,
    /// Signals a new job, or the end.
    changed: Condvar,
}

struct JobQueue {
    fair: Fair<Client, Job>,
    closed: bool,
}

impl Turns {
    /// Starts `concurrent` threads for each kind of small work, half as many for heavy work, and one for each file
    /// reader. Each lane holds at most `queue` waiting jobs.
    ///
    /// # Errors
    /// If the system grants no more threads.
    pub(super) fn new(concurrent: usize, queue: usize) -> io::Result<Self> {
        let heavy = (concurrent / 2).max(2);
        METRICS.work_threads(ADMINISTRATION_THREADS + 3 * concurrent + heavy + readers());
        Ok(Self([
            Queue::start(Lane::Administration, ADMINISTRATION_THREADS, queue)?,
            Queue::start(Lane::Reads, concurrent, queue)?,
            Queue::start(Lane::Changes, concurrent, queue)?,
            Queue::start(Lane::Gates, concurrent, queue)?,
            Queue::start(Lane::Heavy, heavy, queue)?,
            Queue::start(Lane::Files, readers(), queue)?,
        ]))
    }

    /// Runs `job` when its turn comes. A job that nobody waits for any more is not started. If it panics, only this
    /// job fails.
    ///
    /// # Errors
    /// If too many jobs wait.
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
        let _place = QueuePlace::take(&self.0[lane as usize], client, patience, job);
        match answered.await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(_)) => Err(Problem::failed(
                ErrorCode::Internal,
                &"a request's work panicked",
            )),
            Err(_) => Err(overloaded("too many requests are waiting; try again")),
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
    /// A queue of at most `longest` jobs, with threads that do them.
    fn start(lane: Lane, threads: usize, longest: usize) -> io::Result<Arc<Self>> {
        // A quarter is always left for others.
        let of_one = (threads - threads.div_ceil(4)).max(1);
        let queue = Arc::new(Self {
            waiting: Mutex::new(JobQueue {
                fair: Fair::new(longest, of_one),
                closed: false,
            }),
            changed: Condvar::new(),
        });
        for _ in 0..threads {
            let queue = Arc::clone(&queue);
            thread::Builder::new()
                .name(lane.name().to_owned())
                .spawn(move || {
                    if matches!(lane, Lane::Heavy | Lane::Files) {
                        give_way();
                    }
                    queue.work();
                })?;
        }
        Ok(queue)
    }

    fn jobs(&self) -> MutexGuard<'_, JobQueue> {
        self.waiting.lock()
    }

    /// The loop of a thread.
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
            self.changed.wait(&mut jobs);
        }
    }
}

/// A job's place in the queue, which is given up when nobody waits for the job any more.
struct QueuePlace<'q> {
    queue: &'q Queue,
    client: Client,
    number: u64,
}

impl<'q> QueuePlace<'q> {
    fn take(queue: &'q Queue, client: Client, patience: Patience, job: Job) -> Self {
        let (number, refused) =
            queue
                .jobs()
                .fair
                .push(&client, job, patience == Patience::Refusable);
        queue.changed.notify_one();
        // Dropping it tells whoever waits for it.
        drop(refused);
        Self {
            queue,
            client,
            number,
        }
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        let withdrawn = self.queue.jobs().fair.withdraw(&self.client, self.number);
        drop(withdrawn);
    }
}

/// Lets every other thread go first, if the system supports that for a single thread.
pub(super) fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICENESS) {
        tracing::debug!("cannot lower the priority of heavy work: {error}");
    }
}

/// A job that has no thread yet.
struct Waiting(Instant);

impl Waiting {
    fn begin() -> Self {
        METRICS.work_waiting.inc();
        Self(Instant::now())
    }

    /// The job got a thread.
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

/// A running job.
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

    /// A job that starts, and runs until the sender is dropped.
    fn blocked(
        turns: &Turns,
        lane: Lane,
    ) -> (mpsc::Sender<()>, impl Future<Output = Result<(), Problem>>) {
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
        // One of the two threads for heavy work is always left for others.
        let mut second = Box::pin(turns.take(Lane::Heavy, client("a"), Patience::Refusable, || 3));
        assert!((&mut second).now_or_never().is_none());
        for lane in [
            Lane::Heavy,
            Lane::Files,
            Lane::Reads,
            Lane::Changes,
            Lane::Gates,
            Lane::Administration,
        ] {
            let address = Client::Address(Ipv4Addr::LOCALHOST.into());
            assert_eq!(
                turns
                    .take(lane, address, Patience::Refusable, || 7)
                    .await
                    .unwrap(),
                7
            );
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
        // Dropping the wait gives up its place in the queue.
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
        let panics = turns.take(Lane::Reads, client("a"), Patience::Refusable, || {
            panic!("on purpose")
        });
        assert!(panics.await.is_err());
        assert_eq!(
            turns
                .take(Lane::Reads, client("a"), Patience::Refusable, || 1)
                .await
                .unwrap(),
            1
        );
    }
}
