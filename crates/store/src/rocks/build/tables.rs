//! Sorted tables, written one after another and ingested into the store together.

use std::path::{Path, PathBuf};

use rocksdb::{IngestExternalFileOptions, Options, SstFileWriter};

use crate::StoreError;
use crate::rocks::RocksStore;
use crate::rocks::schema::Family;

/// Size at which a table is finished.
const TABLE_BYTES: u64 = 64 << 20;

/// The tables of a column family.
pub(super) struct Tables<'a> {
    store: &'a RocksStore,
    family: Family,
    /// Distinguishes the files from those of other tables of the family.
    number: usize,
    options: &'a Options,
    place: &'a Path,
    writer: Option<SstFileWriter<'a>>,
    files: Vec<PathBuf>,
}

impl<'a> Tables<'a> {
    /// Creates tables with the options of the family. They stay in `place` until they are ingested.
    pub(super) fn new(
        store: &'a RocksStore,
        family: Family,
        options: &'a Options,
        place: &'a Path,
    ) -> Self {
        Self::numbered(store, family, 0, options, place)
    }

    /// Like [`Tables::new`], for one of several parts of a family.
    pub(super) fn numbered(
        store: &'a RocksStore,
        family: Family,
        number: usize,
        options: &'a Options,
        place: &'a Path,
    ) -> Self {
        Self {
            store,
            family,
            number,
            options,
            place,
            writer: None,
            files: Vec::new(),
        }
    }

    /// Adds an entry. Keys must be ascending over all calls.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        if self
            .writer
            .as_ref()
            .is_some_and(|writer| writer.file_size() >= TABLE_BYTES)
        {
            self.finish()?;
        }
        let written = match &mut self.writer {
            Some(writer) => writer.put(key, value),
            none => {
                let file = self.place.join(format!(
                    "{}-{}-{}.sst",
                    self.family.name(),
                    self.number,
                    self.files.len()
                ));
                let writer = SstFileWriter::create(self.options);
                let opened = writer.open(&file);
                self.files.push(file);
                let writer = none.insert(writer);
                opened.and_then(|()| writer.put(key, value))
            }
        };
        written.map_err(|e| self.store.failed(&e))
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        let finished = self
            .writer
            .take()
            .map_or(Ok(()), |mut writer| writer.finish());
        finished.map_err(|e| self.store.failed(&e))
    }

    /// Ingests the tables into the store.
    pub(super) fn ingest(mut self) -> Result<(), StoreError> {
        self.finish()?;
        if self.files.is_empty() {
            return Ok(());
        }
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        let ingested = self.store.db.ingest_external_file_cf_opts(
            self.store.family(self.family),
            &options,
            self.files,
        );
        ingested.map_err(|e| self.store.failed(&e))
    }
}
