//! Sorted tables, written one after another and ingested into the store together.

use std::path::{Path, PathBuf};

use rayon::slice::ParallelSliceMut;
use rocksdb::{Cache, IngestExternalFileOptions, Options, SstFileWriter};

use crate::StoreError;
use crate::rocks::schema::Family;
use crate::rocks::{RocksStore, options};

/// Size at which a table is finished.
const TABLE_BYTES: u64 = 64 << 20;

/// Where tables are written, and with which options.
pub(super) struct Workplace<'a> {
    pub(super) store: &'a RocksStore,
    /// The folder of the tables until they are ingested.
    pub(super) place: &'a Path,
    options: Vec<(Family, Options)>,
}

impl<'a> Workplace<'a> {
    pub(super) fn new(store: &'a RocksStore, place: &'a Path) -> Self {
        let cache = Cache::new_lru_cache(0);
        let options = { Family::ALL.into_iter() }
            .map(|family| (family, options::of_family(family, &cache)))
            .collect();
        Self {
            store,
            place,
            options,
        }
    }

    fn options(&self, family: Family) -> &Options {
        let mut options = self.options.iter();
        let of_family = options.find(|(of, _)| *of == family);
        &of_family.expect("there are options of all families").1
    }
}

/// The tables of a column family.
pub(super) struct Tables<'a> {
    workplace: &'a Workplace<'a>,
    family: Family,
    /// Distinguishes the files from those of other tables of the family.
    number: usize,
    writer: Option<SstFileWriter<'a>>,
    files: Vec<PathBuf>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(workplace: &'a Workplace<'a>, family: Family, number: usize) -> Self {
        Self {
            workplace,
            family,
            number,
            writer: None,
            files: Vec::new(),
        }
    }

    /// Adds an entry. Keys must be ascending from one [`Tables::finish`] to the next.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let size = self.writer.as_ref().map_or(0, SstFileWriter::file_size);
        if size >= TABLE_BYTES {
            self.finish()?;
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.begin()?,
        };
        let written = writer.put(key, value);
        written.map_err(|e| self.workplace.store.failed(&e))
    }

    /// Begins the next table.
    fn begin(&mut self) -> Result<&mut SstFileWriter<'a>, StoreError> {
        let (family, count) = (self.family.name(), self.files.len());
        let name = format!("{family}-{}-{count}.sst", self.number);
        let file = self.workplace.place.join(name);
        let writer = SstFileWriter::create(self.workplace.options(self.family));
        let opened = writer.open(&file);
        opened.map_err(|e| self.workplace.store.failed(&e))?;
        self.files.push(file);
        Ok(self.writer.insert(writer))
    }

    /// Ends the table that is being written.
    fn finish(&mut self) -> Result<(), StoreError> {
        match self.writer.take() {
            Some(mut writer) => writer.finish().map_err(|e| self.workplace.store.failed(&e)),
            None => Ok(()),
        }
    }

    /// Ingests the tables into the store.
    pub(super) fn ingest(mut self) -> Result<(), StoreError> {
        self.finish()?;
        if self.files.is_empty() {
            return Ok(());
        }
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        let store = self.workplace.store;
        let family = store.family(self.family);
        let ingested = { &store.db }.ingest_external_file_cf_opts(family, &options, self.files);
        ingested.map_err(|e| store.failed(&e))
    }
}

/// Tables of keys that arrive in no order. They have no values.
pub(super) struct KeyTables<'a, K> {
    tables: Tables<'a>,
    keys: Vec<K>,
    /// Number of keys that are sorted together.
    most: usize,
}

impl<'a, K: AsRef<[u8]> + Ord + Send> KeyTables<'a, K> {
    pub(super) fn new(tables: Tables<'a>, most: usize) -> Self {
        Self {
            tables,
            keys: Vec::new(),
            most,
        }
    }

    pub(super) fn put(&mut self, keys: impl IntoIterator<Item = K>) -> Result<(), StoreError> {
        for key in keys {
            if self.keys.len() == self.most {
                self.write()?;
            }
            self.keys.push(key);
        }
        Ok(())
    }

    /// Writes the keys in memory to tables of their own. The store takes tables whose keys overlap, too.
    fn write(&mut self) -> Result<(), StoreError> {
        self.keys.par_sort_unstable();
        self.keys.dedup();
        for key in self.keys.drain(..) {
            self.tables.put(key.as_ref(), &[])?;
        }
        self.tables.finish()
    }

    /// Makes the tables part of the store.
    pub(super) fn ingest(mut self) -> Result<(), StoreError> {
        self.write()?;
        self.tables.ingest()
    }
}

#[cfg(test)]
mod tests {
    use rocksdb::IteratorMode;

    use super::*;

    fn stored(keys: &[[u8; 16]]) -> Vec<Vec<u8>> {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(&dir.path().join("store")).unwrap();
        let workplace = Workplace::new(&store, dir.path());
        let mut tables = KeyTables::new(Tables::new(&workplace, Family::Terms, 0), 10);
        for some in keys.chunks(7) {
            tables.put(some.iter().copied()).unwrap();
        }
        tables.ingest().unwrap();
        let entries = { &store.db }.iterator_cf(store.family(Family::Terms), IteratorMode::Start);
        entries.map(|entry| entry.unwrap().0.into()).collect()
    }

    /// Each table has keys from the whole range, and some keys are in two tables.
    #[test]
    fn keys_in_no_order_are_stored_in_order() {
        let keys: Vec<[u8; 16]> = (0..100_u32)
            .map(|i| u128::from(i * 37 % 90).to_be_bytes())
            .collect();
        let expected: Vec<Vec<u8>> = (0..90_u128).map(|key| key.to_be_bytes().to_vec()).collect();
        assert_eq!(stored(&keys), expected);
    }

    #[test]
    fn no_keys_are_no_table() {
        assert_eq!(stored(&[]), Vec::<Vec<u8>>::new());
    }
}
