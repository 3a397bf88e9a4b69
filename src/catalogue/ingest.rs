//! Adding many books: read and fingerprinted side by side, written together.

use std::collections::VecDeque;
use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use hashbrown::HashSet;
use lapidary_gems::Recipe;
use rayon::prelude::*;

use super::{Added, Catalogue, CatalogueError, NewEntry, Prepared};
use crate::index::Actor;

/// The most books in one write. A write waits for the disk once, so that many books share the wait; and the postings of many
/// lie close together, which makes each cheaper.
const BATCH: usize = 256;
/// The most bytes of text that these were made of: where folds are kept, they are in memory until they are written.
const BATCH_TEXT: u64 = 256 << 20;
/// How long a book waits for others to be written with.
const GATHERING: Duration = Duration::from_millis(200);
/// How long the writer sleeps when no book waits for it. To be woken by each would take a core from the fold as often.
const PAUSE: Duration = Duration::from_millis(5);
/// How many fingerprinted books may wait for the writer.
const WAITING: usize = 128;

impl Catalogue {
    /// Adds books, and says of each what became of it, in their order. They are written together; when that fails, one by
    /// one, so that one book's failure is no other's.
    pub fn add_some(&self, entries: Vec<NewEntry>) -> Vec<Result<Added, CatalogueError>> {
        if self.ensure_recipes(&[]).is_err() {
            // Each says why.
            return entries.into_iter().map(|entry| self.add(entry)).collect();
        }
        let _feed = self.feed();
        let recipes = self.store.recipes();
        let mut added = Vec::with_capacity(entries.len());
        let mut rest = VecDeque::from(entries);
        while !rest.is_empty() {
            let mut keys = HashSet::new();
            // A book that comes again is compared with what it was before.
            let distinct = rest.iter().take_while(|entry| keys.insert(entry.key.clone())).count();
            let prepared: Vec<_> = rest
                .drain(..distinct)
                .collect::<Vec<_>>()
                .into_par_iter()
                .map(|entry| self.prepare(entry, &recipes))
                .collect();
            let together = prepared.iter().flatten().cloned().collect();
            let written = self.commit(together).is_ok();
            added.extend(prepared.into_iter().map(|prepared| {
                let prepared = prepared?;
                let landed = Added { outcome: prepared.outcome(), book: prepared.record().clone() };
                if !written {
                    self.commit(vec![prepared])?;
                }
                Ok(landed)
            }));
        }
        added
    }

    /// Adds the books of every job: `load` reads them, on all cores at once, each under a name, since an archive has many;
    /// `landed` hears of each once it is on disk, or why it is not. A job without a book stops no other.
    ///
    /// # Errors
    /// When the store fails. Every book that `landed` heard of is in the catalogue all the same.
    pub fn add_all<J: Send, N: Send>(
        &self,
        jobs: Vec<J>,
        recipes: &[Recipe],
        load: impl Fn(J) -> Vec<(N, Result<NewEntry, String>)> + Sync,
        landed: impl FnMut(N, Result<Added, String>) + Send,
    ) -> Result<(), CatalogueError> {
        let _feed = self.feed();
        let (sender, receiver) = sync_channel(WAITING);
        let failed = AtomicBool::new(false);
        let actor = Actor::current();
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let written = actor.act(|| self.write_all(&receiver, landed));
                failed.store(written.is_err(), Ordering::Relaxed);
                // Whoever waits for a place in the queue is let go.
                drop(receiver);
                written
            });
            // Each job can go to an idle core, so that none is left at the end to one core alone.
            let jobs = jobs.into_par_iter().with_max_len(1);
            let loaded = jobs.try_for_each_with(sender, |sender, job| {
                if failed.load(Ordering::Relaxed) {
                    return Ok(());
                }
                for (name, loaded) in load(job) {
                    let prepared = match loaded {
                        Ok(entry) => match self.prepare(entry, recipes) {
                            Err(CatalogueError::Store(error)) => return Err(CatalogueError::Store(error)),
                            prepared => prepared.map_err(|e| e.to_string()),
                        },
                        Err(why) => Err(why),
                    };
                    // The writer hears no more only when it failed, and then it says so itself.
                    let _ = sender.send((name, prepared));
                }
                Ok(())
            });
            let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            written.and(loaded)
        })
    }

    fn write_all<J>(
        &self,
        receiver: &Receiver<(J, Result<Prepared, String>)>,
        mut landed: impl FnMut(J, Result<Added, String>),
    ) -> Result<(), CatalogueError> {
        while let Ok(first) = receiver.recv() {
            let mut books = Vec::new();
            let mut jobs = Vec::new();
            let mut text = 0;
            let until = Instant::now() + GATHERING;
            let others = iter::from_fn(|| {
                loop {
                    match receiver.try_recv() {
                        Ok(next) => return Some(next),
                        Err(TryRecvError::Empty) if Instant::now() < until => thread::sleep(PAUSE),
                        Err(TryRecvError::Empty | TryRecvError::Disconnected) => return None,
                    }
                }
            });
            for (job, prepared) in iter::once(first).chain(others) {
                text += prepared.as_ref().map_or(0, |prepared| prepared.record().bytes);
                jobs.push((
                    job,
                    prepared.map(|prepared| {
                        let added = Added { outcome: prepared.outcome(), book: prepared.record().clone() };
                        books.push(prepared);
                        added
                    }),
                ));
                if jobs.len() == BATCH || text >= BATCH_TEXT {
                    break;
                }
            }
            self.commit(books)?;
            for (job, added) in jobs {
                landed(job, added);
            }
        }
        Ok(())
    }
}
