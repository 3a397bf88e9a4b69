//! Adding many books: read and fingerprinted in parallel, written in batches.

use std::collections::VecDeque;
use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use hashbrown::HashSet;
use lapidary_gems::Recipe;
use rayon::prelude::*;

use super::{Books, CatalogueError, Editor, NewEntry, Prepared};
use crate::api::Added;
use lapidary_common::error::Classified as _;

/// Most books per write. Each write waits for the disk once, so a batch shares the wait. The postings of many books
/// are also close together, which makes each cheaper to write.
const BATCH: usize = 256;
/// Most bytes of source text per write. If folds are kept, they stay in memory until written.
const BATCH_TEXT: u64 = 256 << 20;
/// How long a book waits for others to be written with.
const GATHERING: Duration = Duration::from_millis(200);
/// How long the writer sleeps if no book is waiting. Waking it for every book would take a core away from folding
/// each time.
const PAUSE: Duration = Duration::from_millis(5);
/// Number of fingerprinted books that may wait for the writer.
const WAITING: usize = 128;

/// Adding many books to a catalogue ([`Editor::ingest`]).
#[derive(Debug, Clone)]
pub struct Ingest<C>(pub(super) C);

impl Ingest<Editor<'_>> {
    /// Adds books and returns the result for each, in order. The books without a gate are written together. If that fails
    /// they are written one by one, so that one failing book does not affect the others.
    #[must_use]
    pub fn add_some(&self, entries: Vec<NewEntry>) -> Vec<Result<Added, CatalogueError>> {
        let books = self.0.books();
        if self.0.recipes().ensure(&[]).is_err() {
            // Each returns its own error.
            return entries.into_iter().map(|entry| books.add(entry)).collect();
        }
        let _feed = self.0.feeding.shared();
        let recipes = self.0.recipes().all();
        let mut added = Vec::with_capacity(entries.len());
        let mut rest = VecDeque::from(entries);
        while !rest.is_empty() {
            let mut keys = HashSet::new();
            // A repeated key starts a new batch, so that it is compared with the stored version.
            let distinct = rest
                .iter()
                .take_while(|entry| keys.insert(entry.key.clone()))
                .count();
            let prepared: Vec<_> = rest
                .drain(..distinct)
                .collect::<Vec<_>>()
                .into_par_iter()
                .map(|entry| books.prepare(entry, &recipes))
                .collect();
            let together = prepared
                .iter()
                .flatten()
                .filter(|prepared| !prepared.is_gated())
                .cloned()
                .collect();
            let written = books.commit(together).is_ok();
            added.extend(prepared.into_iter().map(|prepared| {
                let prepared = prepared?;
                if written && !prepared.is_gated() {
                    Ok(prepared.added())
                } else {
                    books.land(prepared)
                }
            }));
        }
        added
    }

    /// Adds the books of all jobs. `load` reads them in parallel on all cores; it names each book, as an archive
    /// contains many. `landed` is called for each book once it is on disk, or with the reason that it is not. A job
    /// without books does not stop the others.
    ///
    /// # Errors
    /// If the store fails. Every book reported as added to `landed` is in the catalogue even then.
    pub fn add_all<J: Send, N: Send, E: From<CatalogueError> + Send>(
        &self,
        jobs: Vec<J>,
        recipes: &[Recipe],
        load: impl Fn(J) -> Vec<(N, Result<NewEntry, E>)> + Sync,
        landed: impl FnMut(N, Result<Added, E>) + Send,
    ) -> Result<(), CatalogueError> {
        let (_feed, books) = (self.0.feeding.shared(), self.0.books());
        let (sender, receiver) = sync_channel(WAITING);
        let failed = AtomicBool::new(false);
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let written = write_all(&books, &receiver, landed);
                failed.store(written.is_err(), Ordering::Relaxed);
                // Releases threads that wait for a place in the queue.
                drop(receiver);
                written
            });
            // Split down to single jobs, so that at the end no core is left with several while others idle.
            let jobs = jobs.into_par_iter().with_max_len(1);
            let loaded = jobs.try_for_each_with(sender, |sender, job| {
                if failed.load(Ordering::Relaxed) {
                    return Ok(());
                }
                for (name, loaded) in load(job) {
                    let prepared = match loaded {
                        Ok(entry) => match books.prepare(entry, recipes) {
                            Err(error) if !error.code().kind().is_input() => return Err(error),
                            prepared => prepared.map_err(E::from),
                        },
                        Err(why) => Err(why),
                    };
                    // The receiver is gone only if the writer failed, and the writer returns that error.
                    let _ = sender.send((name, prepared));
                }
                Ok(())
            });
            let written = writer
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            written.and(loaded)
        })
    }
}

/// Writes what comes from the other threads.
fn write_all<J, E: From<CatalogueError>>(
    books: &Books<Editor<'_>>,
    receiver: &Receiver<(J, Result<Prepared, E>)>,
    mut landed: impl FnMut(J, Result<Added, E>),
) -> Result<(), CatalogueError> {
    while let Ok(first) = receiver.recv() {
        let (mut free, mut gated) = (Vec::new(), Vec::new());
        let mut jobs: Vec<(J, Result<Added, E>)> = Vec::new();
        let mut text = 0;
        let until = Instant::now() + GATHERING;
        let others = iter::from_fn(|| received(receiver, until));
        for (job, prepared) in iter::once(first).chain(others) {
            text += prepared
                .as_ref()
                .map_or(0, |prepared| prepared.record().bytes);
            let added = prepared.map(|prepared| {
                let added = prepared.added();
                if prepared.is_gated() {
                    gated.push((jobs.len(), prepared));
                } else {
                    free.push(prepared);
                }
                added
            });
            jobs.push((job, added));
            if jobs.len() == BATCH || text >= BATCH_TEXT {
                break;
            }
        }
        books.commit(free)?;
        for (at, prepared) in gated {
            jobs[at].1 = match books.land(prepared) {
                Err(error) if !error.code().kind().is_input() => return Err(error),
                landed => landed.map_err(E::from),
            };
        }
        for (job, added) in jobs {
            landed(job, added);
        }
    }
    Ok(())
}

/// What comes from the other threads until then.
fn received<T>(receiver: &Receiver<T>, until: Instant) -> Option<T> {
    loop {
        match receiver.try_recv() {
            Ok(next) => return Some(next),
            Err(TryRecvError::Empty) if Instant::now() < until => thread::sleep(PAUSE),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return None,
        }
    }
}
