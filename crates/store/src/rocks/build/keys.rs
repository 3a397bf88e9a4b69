//! The tables of keys that arrive in no order and have no values.
//!
//! Keys are sorted in runs that fit into memory. The runs go to disk and are merged into one: tables that overlap each other
//! would be compacted at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::mem::take;
use std::path::Path;

use rayon::slice::ParallelSliceMut;

use super::tables::{Tables, Workplace};
use crate::StoreError;
use crate::rocks::error;
use crate::rocks::schema::Family;

/// Number of bytes read of a run at a time.
const BUFFER: usize = 256 << 10;

/// The tables of keys of `N` bytes.
pub(super) struct KeyTables<'a, const N: usize> {
    workplace: &'a Workplace<'a>,
    tables: Tables<'a>,
    next: Vec<[u8; N]>,
    /// Number of keys in a run.
    length: usize,
    done: Vec<KeyRun<N>>,
}

impl<'a, const N: usize> KeyTables<'a, N> {
    pub(super) fn new(workplace: &'a Workplace<'a>, family: Family, length: usize) -> Self {
        Self {
            workplace,
            tables: Tables::new(workplace, family, 0),
            next: Vec::new(),
            length,
            done: Vec::new(),
        }
    }

    pub(super) fn put(
        &mut self,
        keys: impl IntoIterator<Item = [u8; N]>,
    ) -> Result<(), StoreError> {
        for key in keys {
            if self.next.len() == self.length {
                self.end_run()?;
            }
            self.next.push(key);
        }
        Ok(())
    }

    fn sort(&mut self) {
        self.next.par_sort_unstable();
        self.next.dedup();
    }

    fn end_run(&mut self) -> Result<(), StoreError> {
        self.sort();
        let run = KeyRun::write(self.workplace.place, &self.next);
        self.done.push(run.map_err(|e| self.failed(&e))?);
        self.next.clear();
        Ok(())
    }

    fn failed(&self, e: &io::Error) -> StoreError {
        error::from_io(&self.workplace.store.dir, e)
    }

    /// Makes the tables part of the store.
    pub(super) fn ingest(mut self) -> Result<(), StoreError> {
        if self.done.is_empty() {
            self.sort();
            for key in &self.next {
                self.tables.put(key, &[])?;
            }
        } else {
            self.end_run()?;
            self.next = Vec::new();
            self.merge()?;
        }
        self.tables.ingest()
    }

    fn merge(&mut self) -> Result<(), StoreError> {
        let mut runs = take(&mut self.done);
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for (number, run) in runs.iter_mut().enumerate() {
            let first = run.next().map_err(|e| self.failed(&e))?;
            heads.extend(first.map(|key| Reverse((key, number))));
        }
        let mut last = None;
        while let Some(Reverse((key, number))) = heads.pop() {
            if last.replace(key) != Some(key) {
                self.tables.put(&key, &[])?;
            }
            let next = runs[number].next().map_err(|e| self.failed(&e))?;
            heads.extend(next.map(|key| Reverse((key, number))));
        }
        Ok(())
    }
}

/// Keys in ascending order, in a file.
struct KeyRun<const N: usize>(BufReader<File>);

impl<const N: usize> KeyRun<N> {
    fn write(place: &Path, keys: &[[u8; N]]) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(BUFFER, tempfile::tempfile_in(place)?);
        file.write_all(keys.as_flattened())?;
        let mut file = file.into_inner()?;
        file.rewind()?;
        Ok(Self(BufReader::with_capacity(BUFFER, file)))
    }

    fn next(&mut self) -> io::Result<Option<[u8; N]>> {
        let mut key = [0; N];
        match self.0.read_exact(&mut key) {
            Ok(()) => Ok(Some(key)),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(e) => Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use rocksdb::IteratorMode;

    use super::*;
    use crate::rocks::RocksStore;

    fn stored(keys: &[[u8; 16]]) -> Vec<Vec<u8>> {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(&dir.path().join("store")).unwrap();
        let workplace = Workplace {
            store: &store,
            place: dir.path(),
        };
        let mut tables = KeyTables::new(&workplace, Family::Terms, 10);
        for some in keys.chunks(7) {
            tables.put(some.iter().copied()).unwrap();
        }
        tables.ingest().unwrap();
        let entries = { &store.db }.iterator_cf(store.family(Family::Terms), IteratorMode::Start);
        entries.map(|entry| entry.unwrap().0.into()).collect()
    }

    /// Each run has keys from the whole range, and some keys are in two runs.
    #[test]
    fn keys_in_no_order_are_stored_in_order() {
        let keys: Vec<[u8; 16]> = (0..100_u32)
            .map(|i| u128::from(i * 37 % 90).to_be_bytes())
            .collect();
        for some in [&keys[..], &keys[..7], &keys[..10], &keys[..11]] {
            let mut expected: Vec<Vec<u8>> = some.iter().map(|key| key.to_vec()).collect();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(stored(some), expected);
        }
    }

    #[test]
    fn no_keys_are_no_table() {
        assert_eq!(stored(&[]), Vec::<Vec<u8>>::new());
    }
}
