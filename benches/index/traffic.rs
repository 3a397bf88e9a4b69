//! Concurrent clients that send checks, with a connection and a thread each, and verify every response.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::http::Connection;
use crate::latency::Latencies;
use crate::query::Query;

/// When a client sends its next check.
#[derive(Clone, Copy)]
pub enum Pace {
    /// As soon as the previous response has arrived (a closed loop): as many checks as the server can handle.
    Closed,
    /// At a fixed rate per second, whether or not the previous response has arrived (an open loop). The time of a
    /// delayed check starts when it was due.
    Open { rate: f64 },
}

/// Checks that all clients take turns to send.
pub struct Traffic<'a> {
    address: SocketAddr,
    queries: &'a [Query],
    next: AtomicUsize,
}

impl<'a> Traffic<'a> {
    pub fn new(address: SocketAddr, queries: &'a [Query]) -> Self {
        Self {
            address,
            queries,
            next: AtomicUsize::new(0),
        }
    }

    /// Sends checks until this many were answered or the time is up.
    pub fn warm_up(&self, checks: u64, at_most: Duration) -> Outcome<()> {
        let end = Instant::now() + at_most;
        let mut connection = Connection::open(self.address)?;
        for _ in 0..checks {
            self.check(&mut connection)?;
            if Instant::now() >= end {
                break;
            }
        }
        Ok(())
    }

    /// Measures checks from this many clients.
    pub fn measure(&self, clients: u32, pace: Pace, duration: Duration) -> Outcome<Latencies> {
        let begun = Instant::now();
        let times = thread::scope(|scope| {
            let clients: Vec<_> = (0..clients)
                .map(|client| {
                    // Distribute the clients evenly over one interval.
                    let turn = f64::from(client) / f64::from(clients);
                    scope.spawn(move || match pace {
                        Pace::Closed => self.closed_loop(begun + duration),
                        Pace::Open { rate } => self.open_loop(
                            rate,
                            begun + Duration::from_secs_f64(turn / rate),
                            begun + duration,
                        ),
                    })
                })
                .collect();
            clients
                .into_iter()
                .map(|client| client.join().map_err(|_| "a client panicked")?)
                .collect::<Outcome<Vec<_>>>()
        })?;
        Latencies::new(times.concat(), begun.elapsed())
    }

    fn closed_loop(&self, end: Instant) -> Outcome<Vec<Duration>> {
        let mut connection = Connection::open(self.address)?;
        let mut times = Vec::new();
        while Instant::now() < end {
            let sent = Instant::now();
            times.push(self.check(&mut connection)? - sent);
        }
        Ok(times)
    }

    fn open_loop(&self, rate: f64, mut due: Instant, end: Instant) -> Outcome<Vec<Duration>> {
        let mut connection = Connection::open(self.address)?;
        let mut times = Vec::new();
        while due < end {
            let early = due.saturating_duration_since(Instant::now());
            thread::sleep(early);
            // A late wake-up of this thread is not attributed to the server.
            let waiting_since = if early.is_zero() { due } else { Instant::now() };
            times.push(self.check(&mut connection)? - waiting_since);
            due += Duration::from_secs_f64(1.0 / rate);
        }
        Ok(times)
    }

    /// Sends the next check and returns when its response arrived.
    fn check(&self, connection: &mut Connection) -> Outcome<Instant> {
        let query = &self.queries[self.next.fetch_add(1, Ordering::Relaxed) % self.queries.len()];
        let (status, body) = connection.exchange(&query.request)?;
        let answered = Instant::now();
        query.right.verify(status, body)?;
        Ok(answered)
    }
}
