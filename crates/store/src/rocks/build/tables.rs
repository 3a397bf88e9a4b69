//! Sorted tables, written one after another and ingested into the store together.

use std::io;
use std::mem::take;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rocksdb::{Cache, IngestExternalFileOptions, Options, SstFileWriter};

use crate::StoreError;
use crate::rocks::schema::Family;
use crate::rocks::{RocksStore, error, options};

/// Size at which a table is finished.
const TABLE_BYTES: u64 = 64 << 20;
/// Size of the entries that are passed to a table's thread at a time.
const BATCH_BYTES: usize = 1 << 20;
/// How many batches can wait for a table's thread. One may be as large as a text.
const WAITING: usize = 1;

/// Where tables are written, and with which options.
pub(super) struct Workplace<'a> {
    pub(super) store: &'a RocksStore,
    /// The folder of the tables until they are ingested.
    pub(super) place: &'a Path,
}

/// The tables of a column family. They are compressed and written by a thread of their own.
pub(super) struct Tables<'a> {
    workplace: &'a Workplace<'a>,
    family: Family,
    /// Distinguishes the files from those of other tables of the family.
    number: usize,
    batch: Batch,
    /// Once there are entries.
    thread: Option<TableThread>,
}

/// Entries of one table, in order.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// The lengths of the key and the value of each.
    lengths: Vec<(u32, u32)>,
    /// Whether the table ends with them.
    is_last: bool,
}

/// A thread that writes tables, and returns their files.
struct TableThread {
    batches: SyncSender<Batch>,
    files: JoinHandle<Result<Vec<PathBuf>, rocksdb::Error>>,
}

impl Batch {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.lengths.push((key.len() as u32, value.len() as u32));
    }

    fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = self.bytes.as_slice();
        self.lengths.iter().map(move |&(key, value)| {
            let (entry, behind) = rest.split_at(key as usize + value as usize);
            rest = behind;
            entry.split_at(key as usize)
        })
    }
}

impl<'a> Tables<'a> {
    pub(super) fn new(workplace: &'a Workplace<'a>, family: Family, number: usize) -> Self {
        Self {
            workplace,
            family,
            number,
            batch: Batch::default(),
            thread: None,
        }
    }

    /// Adds an entry. Keys must be ascending from one [`Tables::finish`] to the next.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.batch.put(key, value);
        if self.batch.bytes.len() >= BATCH_BYTES {
            self.pass()?;
        }
        Ok(())
    }

    /// Ends the table that is being written.
    fn finish(&mut self) -> Result<(), StoreError> {
        self.batch.is_last = true;
        self.pass()
    }

    /// Passes the batch to the thread.
    fn pass(&mut self) -> Result<(), StoreError> {
        let batch = take(&mut self.batch);
        let thread = match self.thread.take() {
            Some(thread) => thread,
            None if batch.lengths.is_empty() => return Ok(()),
            None => self.begin()?,
        };
        if thread.batches.send(batch).is_err() {
            return self.ended(thread).map(drop);
        }
        self.thread = Some(thread);
        Ok(())
    }

    fn begin(&self) -> Result<TableThread, StoreError> {
        let (batches, received) = sync_channel(WAITING);
        let (family, number) = (self.family, self.number);
        let place = self.workplace.place.to_owned();
        let named = thread::Builder::new().name("lapidary-tables".to_owned());
        let files = named.spawn(move || write(family, number, &place, &received));
        let files = files.map_err(|e| error::from_io(&self.workplace.store.dir, &e))?;
        Ok(TableThread { batches, files })
    }

    /// Waits until a thread has written all that it was passed.
    fn ended(
        &self,
        TableThread { batches, files }: TableThread,
    ) -> Result<Vec<PathBuf>, StoreError> {
        drop(batches);
        let store = self.workplace.store;
        let Ok(written) = files.join() else {
            let panicked = io::Error::other("writing a table panicked");
            return Err(error::from_io(&store.dir, &panicked));
        };
        written.map_err(|e| store.failed(&e))
    }

    /// Ingests the tables into the store.
    pub(super) fn ingest(mut self) -> Result<(), StoreError> {
        self.finish()?;
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        let files = self.ended(thread)?;
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        let store = self.workplace.store;
        let family = store.family(self.family);
        let ingested = { &store.db }.ingest_external_file_cf_opts(family, &options, files);
        ingested.map_err(|e| store.failed(&e))
    }
}

/// After an error, no thread may write into a folder that is removed.
impl Drop for Tables<'_> {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = self.ended(thread);
        }
    }
}

/// Writes batches to tables until there are no more. Returns the files.
fn write(
    family: Family,
    number: usize,
    place: &Path,
    batches: &Receiver<Batch>,
) -> Result<Vec<PathBuf>, rocksdb::Error> {
    let options = options::of_family(family, &Cache::new_lru_cache(0));
    let (mut files, mut table) = (Vec::new(), None);
    for batch in batches {
        for (key, value) in batch.entries() {
            let writer = if let Some(writer) = &mut table {
                writer
            } else {
                let name = format!("{}-{number}-{}.sst", family.name(), files.len());
                files.push(place.join(name));
                table.insert(open(&options, &files[files.len() - 1])?)
            };
            writer.put(key, value)?;
            if writer.file_size() >= TABLE_BYTES {
                finish(&mut table)?;
            }
        }
        if batch.is_last {
            finish(&mut table)?;
        }
    }
    Ok(files)
}

fn open<'o>(options: &'o Options, file: &Path) -> Result<SstFileWriter<'o>, rocksdb::Error> {
    let writer = SstFileWriter::create(options);
    writer.open(file)?;
    Ok(writer)
}

fn finish(table: &mut Option<SstFileWriter<'_>>) -> Result<(), rocksdb::Error> {
    table.take().map_or(Ok(()), |mut writer| writer.finish())
}
