//! A queue in which clients take turns.
//!
//! The next client is the one with the fewest running jobs, and among those the one that has used the least time.
//! This is start-time fair queueing (Goyal, Vin and Cheng, 1996): each client's clock advances by the time that its
//! jobs took, and a client that returns after a pause starts at the present time. So nobody saves up time, and nobody
//! pays for having been alone. When the queue is full, the last job of the client with the most waiting jobs is
//! dropped, so that one client fills only its own part of the queue.

use std::collections::VecDeque;
use std::hash::Hash;
use std::time::Duration;

use hashbrown::HashMap;

/// When the queue knows more clients than this, it forgets those that have nothing in it.
const MANY_CLIENTS: usize = 1_000;

/// Jobs of clients.
pub(super) struct Fair<C, J> {
    clients: HashMap<C, OfClient<J>>,
    /// The clock of the client that was served last.
    now: Duration,
    /// How many refusable jobs are waiting.
    waiting: usize,
    most_waiting: usize,
    most_running_of_one: usize,
    last_number: u64,
}

struct OfClient<J> {
    jobs: VecDeque<WaitingJob<J>>,
    running: usize,
    clock: Duration,
}

struct WaitingJob<J> {
    number: u64,
    may_be_refused: bool,
    job: J,
}

impl<J> OfClient<J> {
    fn is_idle(&self) -> bool {
        self.running == 0 && self.jobs.is_empty()
    }

    fn refusable(&self) -> usize {
        self.jobs
            .iter()
            .filter(|waiting| waiting.may_be_refused)
            .count()
    }
}

impl<C: Clone + Eq + Hash, J> Fair<C, J> {
    /// A queue of at most `most_waiting` refusable jobs, which runs at most `most_running_of_one` jobs of one client.
    pub(super) fn new(most_waiting: usize, most_running_of_one: usize) -> Self {
        let (clients, now) = (HashMap::new(), Duration::ZERO);
        Self {
            clients,
            now,
            waiting: 0,
            most_waiting,
            most_running_of_one,
            last_number: 0,
        }
    }

    /// Adds a job. Returns its number, and the job that is refused to make room, which may be this one.
    pub(super) fn push(&mut self, client: &C, job: J, may_be_refused: bool) -> (u64, Option<J>) {
        if self.clients.len() > MANY_CLIENTS {
            self.clients.retain(|_, of_client| !of_client.is_idle());
        }
        let now = self.now;
        let of_client = self
            .clients
            .entry(client.clone())
            .or_insert_with(|| OfClient {
                jobs: VecDeque::new(),
                running: 0,
                clock: now,
            });
        if of_client.is_idle() {
            of_client.clock = of_client.clock.max(now);
        }
        self.last_number += 1;
        let number = self.last_number;
        of_client.jobs.push_back(WaitingJob {
            number,
            may_be_refused,
            job,
        });
        self.waiting += usize::from(may_be_refused);
        let refused = if self.waiting > self.most_waiting {
            self.refuse(client)
        } else {
            None
        };
        (number, refused)
    }

    /// Removes the last job of the client with the most waiting jobs. If several clients tie, `newest` is chosen.
    fn refuse(&mut self, newest: &C) -> Option<J> {
        let most = self
            .clients
            .iter_mut()
            .max_by_key(|(client, of_client)| (of_client.refusable(), *client == newest));
        let (_, of_client) = most?;
        let last = of_client
            .jobs
            .iter()
            .rposition(|waiting| waiting.may_be_refused)?;
        self.waiting -= 1;
        of_client.jobs.remove(last).map(|waiting| waiting.job)
    }

    /// The job to start now. [`Fair::finished`] must follow.
    pub(super) fn next(&mut self) -> Option<(C, J)> {
        let most = self.most_running_of_one;
        let ready = self
            .clients
            .iter_mut()
            .filter(|(_, of)| !of.jobs.is_empty() && of.running < most);
        let (client, of_client) = ready.min_by_key(|(_, of)| (of.running, of.clock))?;
        let WaitingJob {
            may_be_refused,
            job,
            ..
        } = of_client.jobs.pop_front()?;
        of_client.running += 1;
        self.waiting -= usize::from(may_be_refused);
        self.now = self.now.max(of_client.clock);
        Some((client.clone(), job))
    }

    /// Records how long a job of this client took.
    pub(super) fn finished(&mut self, client: &C, took: Duration) {
        if let Some(of_client) = self.clients.get_mut(client) {
            of_client.running -= 1;
            of_client.clock += took;
        }
    }

    /// Removes a job that nobody waits for any more, if it has not started.
    pub(super) fn withdraw(&mut self, client: &C, number: u64) -> Option<J> {
        let of_client = self.clients.get_mut(client)?;
        let at = of_client
            .jobs
            .iter()
            .position(|waiting| waiting.number == number)?;
        let withdrawn = of_client.jobs.remove(at)?;
        self.waiting -= usize::from(withdrawn.may_be_refused);
        Some(withdrawn.job)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Starts and finishes one job.
    fn serve(queue: &mut Fair<char, u32>, took: Duration) -> Option<char> {
        let (client, _) = queue.next()?;
        queue.finished(&client, took);
        Some(client)
    }

    #[test]
    fn who_comes_later_with_little_waits_for_one_job_at_most() {
        let mut queue = Fair::new(1_000, 1);
        for job in 0..300 {
            queue.push(&'a', job, true);
        }
        assert_eq!(serve(&mut queue, 20 * SECOND), Some('a'));
        queue.push(&'b', 0, true);
        assert_eq!(serve(&mut queue, SECOND), Some('b'));
        assert_eq!(serve(&mut queue, SECOND), Some('a'));
    }

    #[test]
    fn the_fullest_queue_loses_its_last_job() {
        let mut queue = Fair::new(3, 1);
        for job in 0..3 {
            assert_eq!(queue.push(&'a', job, true).1, None);
        }
        // A client's own job is refused if nobody has more.
        assert_eq!(queue.push(&'a', 3, true).1, Some(3));
        assert_eq!(queue.push(&'b', 4, true).1, Some(2));
        assert_eq!(queue.push(&'b', 5, true).1, Some(5));
        // A job that must not be refused is kept, and does not count as waiting.
        assert_eq!(queue.push(&'c', 6, false).1, None);
        let (number, refused) = queue.push(&'c', 7, true);
        assert_eq!(refused, Some(1));
        assert_eq!(queue.withdraw(&'c', number), Some(7));
        assert_eq!(queue.withdraw(&'c', number), None);
        assert_eq!(queue.push(&'d', 8, true).1, None);
    }

    #[test]
    fn one_client_leaves_turns_to_others() {
        let mut queue = Fair::new(10, 2);
        for job in 0..3 {
            queue.push(&'a', job, true);
        }
        assert!(queue.next().is_some() && queue.next().is_some() && queue.next().is_none());
        queue.push(&'b', 3, true);
        assert_eq!(queue.next(), Some(('b', 3)));
        queue.finished(&'a', SECOND);
        assert_eq!(queue.next(), Some(('a', 2)));
    }

    proptest! {
        /// Clients that always have a job waiting get equal time, whatever their jobs take, to within the longest job.
        #[test]
        fn busy_clients_share_time_equally(costs in prop::collection::vec(1_u64..100, 2..6), rounds in 100_usize..1_000) {
            let mut queue = Fair::new(usize::MAX, 1);
            let mut used: BTreeMap<usize, u64> = (0..costs.len()).map(|client| (client, 0)).collect();
            for client in used.keys() {
                queue.push(client, (), true);
            }
            for _ in 0..rounds {
                let (client, ()) = queue.next().expect("all have one waiting");
                queue.push(&client, (), true);
                queue.finished(&client, Duration::from_millis(costs[client]));
                *used.get_mut(&client).expect("known") += costs[client];
            }
            let (least, most) = (used.values().min().expect("some"), used.values().max().expect("some"));
            prop_assert!(most - least <= *costs.iter().max().expect("some"), "{used:?}");
        }
    }
}
