//! External sorting of postings.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::Path;

use lapidary_gems::Gem;
use rayon::slice::ParallelSliceMut;

use super::recipes::KnownRecipe;
use super::rocks::from_io;
use super::{BookNo, StoreError};

/// Number of postings of the runs in memory: 256 MiB.
const RUN: usize = 1 << 24;
/// Number of bytes read of a run at a time.
const BUFFER: usize = 256 << 10;

/// A gem, and a book that has it.
pub type Posting = (Gem, BookNo);

/// Sorted runs of the postings of a recipe, and the beginning of the next.
pub struct Runs<'a> {
    /// The store, for messages.
    dir: &'a Path,
    recipe: &'a KnownRecipe,
    place: &'a Path,
    next: Vec<Posting>,
    /// Number of postings in a run.
    length: usize,
    done: Vec<Run>,
}

impl<'a> Runs<'a> {
    /// Creates the runs of a recipe, with files in `place`. The memory is shared with this many others.
    #[must_use]
    pub fn new(dir: &'a Path, recipe: &'a KnownRecipe, place: &'a Path, sharing: usize) -> Self {
        Self {
            dir,
            recipe,
            place,
            next: Vec::new(),
            length: RUN / sharing.max(1),
            done: Vec::new(),
        }
    }

    /// Adds a posting.
    pub fn push(&mut self, gem: Gem, book: BookNo) -> Result<(), StoreError> {
        if self.next.len() == self.length {
            self.end_run()?;
        }
        self.next.push((gem, book));
        Ok(())
    }

    fn end_run(&mut self) -> Result<(), StoreError> {
        self.next.par_sort_unstable();
        let run = Run::write(self.place, self.recipe.gem_bytes(), &self.next);
        self.done.push(run.map_err(|e| from_io(self.dir, &e))?);
        self.next.clear();
        Ok(())
    }

    /// Calls back for each bucket with its postings, in ascending order.
    pub fn merge<B: PartialEq>(
        mut self,
        bucket_of: impl Fn(Gem) -> B,
        mut each: impl FnMut(B, &[Posting]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.end_run()?;
        self.next = Vec::new();
        let Self {
            dir,
            done: mut runs,
            ..
        } = self;
        let mut postings = Vec::new();
        while let Some(gem) = runs
            .iter()
            .filter_map(|run| run.next)
            .map(|(gem, _)| gem)
            .min()
        {
            let bucket = bucket_of(gem);
            postings.clear();
            for run in &mut runs {
                while let Some(posting) = run.next.filter(|(gem, _)| bucket_of(*gem) == bucket) {
                    postings.push(posting);
                    run.advance().map_err(|e| from_io(dir, &e))?;
                }
            }
            postings.sort_unstable();
            each(bucket, &postings)?;
        }
        Ok(())
    }
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
        let mut run = Self {
            next: None,
            file: BufReader::with_capacity(BUFFER, file),
            gem_bytes,
        };
        run.advance()?;
        Ok(run)
    }

    fn advance(&mut self) -> io::Result<()> {
        let (mut gem, mut book) = ([0; 8], [0; 4]);
        self.next = match self.file.read_exact(&mut gem[..self.gem_bytes]) {
            Ok(()) => {
                self.file.read_exact(&mut book)?;
                Some((
                    Gem(u64::from_le_bytes(gem)),
                    BookNo(u32::from_le_bytes(book)),
                ))
            }
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => None,
            Err(e) => return Err(e),
        };
        Ok(())
    }
}
