//! External sorting of postings.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::Path;

use lapidary_gems::Gem;
use rayon::slice::ParallelSliceMut;

use super::super::long_list::long_list;
use crate::index::postings::{LONG, Writer};
use crate::index::recipes::KnownRecipe;
use crate::index::rocks::owners::Owners;
use crate::index::rocks::schema::{self, Bucket};
use crate::index::rocks::{RocksStore, error};
use crate::index::{BookNo, StoreError};

/// Number of postings of the runs in memory: 256 MiB.
const RUN: usize = 1 << 24;
/// Number of bytes read of a run at a time.
const BUFFER: usize = 256 << 10;

pub(in crate::index::rocks) type Posting = (Gem, BookNo);

/// Sorted runs of the postings of a recipe, and the beginning of the next.
pub(in crate::index::rocks) struct Runs<'a> {
    store: &'a RocksStore,
    recipe: &'a KnownRecipe,
    place: &'a Path,
    next: Vec<Posting>,
    /// Number of postings in a run.
    length: usize,
    done: Vec<Run>,
}

impl<'a> Runs<'a> {
    /// Creates the runs of a recipe. The memory is shared with this many others.
    pub(in crate::index::rocks) fn new(
        store: &'a RocksStore,
        recipe: &'a KnownRecipe,
        place: &'a Path,
        sharing: usize,
    ) -> Self {
        Self { store, recipe, place, next: Vec::new(), length: RUN / sharing.max(1), done: Vec::new() }
    }

    pub(in crate::index::rocks) fn push(&mut self, gem: Gem, book: BookNo) -> Result<(), StoreError> {
        if self.next.len() == self.length {
            self.end_run()?;
        }
        self.next.push((gem, book));
        Ok(())
    }

    fn end_run(&mut self) -> Result<(), StoreError> {
        self.next.par_sort_unstable();
        let run = Run::write(self.place, self.recipe.gem_bytes(), &self.next);
        self.done.push(run.map_err(|e| failed(self.store, &e))?);
        self.next.clear();
        Ok(())
    }

    /// Calls back for each bucket with its postings, in ascending order.
    pub(in crate::index::rocks) fn merge(
        mut self,
        mut each: impl FnMut(Bucket, &[Posting]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.end_run()?;
        self.next = Vec::new();
        let Self { store, recipe, done: mut runs, .. } = self;
        let mut postings = Vec::new();
        while let Some(gem) = runs.iter().filter_map(|run| run.next).map(|(gem, _)| gem).min() {
            let bucket = Bucket::of(recipe, gem);
            postings.clear();
            for run in &mut runs {
                while let Some(posting) = run.next.filter(|(gem, _)| Bucket::of(recipe, *gem) == bucket) {
                    postings.push(posting);
                    run.advance().map_err(|e| failed(store, &e))?;
                }
            }
            postings.sort_unstable();
            each(bucket, &postings)?;
        }
        Ok(())
    }
}

/// A bucket in stored form.
pub(in crate::index::rocks) struct Merged {
    pub(in crate::index::rocks) key: Vec<u8>,
    pub(in crate::index::rocks) value: Option<Vec<u8>>,
    /// Keys and values of the long lists.
    pub(in crate::index::rocks) lists: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Merged {
    /// Builds the bucket from all of its postings, in ascending order.
    pub(in crate::index::rocks) fn new(
        recipe: &KnownRecipe,
        bucket: Bucket,
        postings: &[Posting],
        owners: &Owners,
    ) -> Self {
        let mut writer = Writer::new(schema::rest_bits(recipe));
        let mut lists = Vec::new();
        for list in postings.chunk_by(|a, b| a.0 == b.0) {
            let gem = list[0].0;
            let rest = schema::rest_of(recipe, gem);
            let books = list.iter().map(|(_, book)| *book);
            if list.len() > LONG as usize {
                let books: Vec<BookNo> = books.collect();
                lists.extend(long_list(recipe, gem, &books, owners));
                writer.long(rest, books.len() as u32);
            } else {
                writer.short(rest, books);
            }
        }
        Self { key: bucket.key(recipe).to_vec(), value: writer.finish(), lists }
    }
}

fn failed(store: &RocksStore, error: &io::Error) -> StoreError {
    error::from_io(&store.dir, error)
}

/// Postings in ascending order, in a file.
struct Run {
    next: Option<Posting>,
    file: BufReader<File>,
    gem_bytes: usize,
}

impl Run {
    fn write(place: &Path, gem_bytes: usize, postings: &[Posting]) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(BUFFER, tempfile::tempfile_in(place)?);
        for (gem, book) in postings {
            file.write_all(&gem.0.to_le_bytes()[..gem_bytes])?;
            file.write_all(&book.0.to_le_bytes())?;
        }
        let mut file = file.into_inner()?;
        file.rewind()?;
        let mut run = Self { next: None, file: BufReader::with_capacity(BUFFER, file), gem_bytes };
        run.advance()?;
        Ok(run)
    }

    fn advance(&mut self) -> io::Result<()> {
        let (mut gem, mut book) = ([0; 8], [0; 4]);
        self.next = match self.file.read_exact(&mut gem[..self.gem_bytes]) {
            Ok(()) => {
                self.file.read_exact(&mut book)?;
                Some((Gem(u64::from_le_bytes(gem)), BookNo(u32::from_le_bytes(book))))
            }
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => None,
            Err(e) => return Err(e),
        };
        Ok(())
    }
}
