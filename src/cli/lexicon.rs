//! `lapidary lexicon`: counts words, for signatures that weigh them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Cursor, Seek as _, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clap::{Args, Subcommand};
use lapidary_gems::{DocumentWords, LexiconCount, LexiconWords};
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use super::failure::{Failure, Status};
use super::files::{Choice, Reading, Usually, Walk};
use super::jobs::bar;
use super::terminal::{out, tell};

/// How many different words are held in memory: about 300 MB.
const MOST_WORDS: usize = 2_000_000;

/// Count the words of a collection, for signatures that weigh words.
#[derive(Args)]
pub(super) struct LexiconTool {
    #[command(subcommand)]
    command: LexiconCommand,
}

#[derive(Subcommand)]
enum LexiconCommand {
    /// Count in how many books each word is, and how often
    ///
    /// Prints a file for --lexicon, and its name to standard error: recipes end with it, such as tf-idf@0123456789abcdef. Memory
    /// does not grow with the collection; what does not fit is written to temporary files.
    ///
    /// Exit status: 0 all files were counted; 2 some could not be read.
    Count(Count),
}

#[derive(Args)]
struct Count {
    /// The words to leave out: closed (articles, pronouns and the like in 14 languages) or none
    #[arg(long, value_name = "LIST", default_value = "closed")]
    stop: String,
    /// What of a word counts: none (all of it), prefix:N (its first N characters), or snowball:LANGUAGE (its stem), such as
    /// snowball:en
    #[arg(long, value_name = "STEM", default_value = "none")]
    stem: String,
    /// The least length of a word, in characters
    #[arg(long, value_name = "N", default_value_t = 3)]
    min_len: usize,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    choice: Choice,
    /// Files, or folders to read recursively
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

impl LexiconTool {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.command {
            LexiconCommand::Count(task) => task.run(),
        }
    }
}

impl Count {
    fn run(self) -> Result<Status, Failure> {
        let words = LexiconWords::new(&self.stop, &self.stem, self.min_len).ok_or_else(|| {
            let sentence =
                "give --stop none or closed; --stem none, prefix:N or snowball:LANGUAGE; --min-len 1 to 1000";
            Failure::Input(sentence.to_owned())
        })?;
        let Walk { found: files, refused, .. } = Walk::of(&self.paths, &self.choice, Usually::Books);
        if let Some((path, why)) = refused.into_iter().next() {
            return Err(Failure::Input(format!("{}: {why}", path.display())));
        }
        let bar = bar("counting");
        bar.set_length(files.len() as u64);
        let tally = Mutex::new(Tally::new(words, MOST_WORDS));
        let refuse =
            |path: &PathBuf, why: &str| bar.suspend(|| tell(format_args!("refused {}: {why}", path.display())));
        let unread = files.into_par_iter().map(|file| -> Result<u64, Failure> {
            let mut unread = 0;
            let books = self.reading.books(&file.path).unwrap_or_else(|why| {
                refuse(&file.path, &why);
                unread += 1;
                Vec::new()
            });
            for book in books {
                match book.read {
                    Ok(read) => {
                        let document = words.of(&read.text);
                        tally.lock().unwrap_or_else(PoisonError::into_inner).add(document)?;
                    }
                    Err(why) => {
                        refuse(&file.path, &why.to_string());
                        unread += 1;
                    }
                }
            }
            bar.inc(1);
            Ok(unread)
        });
        let unread: u64 = unread.try_reduce(|| 0, |a, b| Ok(a + b))?;
        bar.finish_and_clear();
        let mut digest = Digested { out: out(false), digest: Sha256::new() };
        tally.into_inner().unwrap_or_else(PoisonError::into_inner).write(&mut digest)?;
        digest.flush()?;
        tell(format_args!("lexicon {}", hex::encode(&digest.digest.finalize()[..8])));
        Ok(if unread > 0 { Status::WrongInput } else { Status::Done })
    }
}

/// Counts more words than fit into memory.
struct Tally {
    count: LexiconCount,
    most: usize,
    /// Words with their numbers, each file in alphabetical order.
    spilled: Vec<File>,
}

impl Tally {
    fn new(words: LexiconWords, most: usize) -> Self {
        Self { count: LexiconCount::new(words), most, spilled: Vec::new() }
    }

    fn add(&mut self, document: DocumentWords) -> io::Result<()> {
        self.count.add(document);
        if self.count.different() > self.most {
            let mut file = BufWriter::new(tempfile::tempfile()?);
            for (word, documents, occurrences) in self.count.take() {
                writeln!(file, "{word}\t{documents}\t{occurrences}")?;
            }
            self.spilled.push(file.into_inner()?);
        }
        Ok(())
    }

    fn write(mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(self.count.head().as_bytes())?;
        let mut runs: Vec<Box<dyn BufRead>> = Vec::new();
        for mut file in self.spilled.drain(..) {
            file.rewind()?;
            runs.push(Box::new(BufReader::new(file)));
        }
        let rest = self.count.take();
        let line = |(word, documents, occurrences): (String, u64, u64)| format!("{word}\t{documents}\t{occurrences}\n");
        runs.push(Box::new(Cursor::new(rest.into_iter().map(line).collect::<String>())));
        merge(runs, |word, documents, occurrences| {
            out.write_all(LexiconCount::line(word, documents, occurrences).as_bytes())
        })
    }
}

/// Passes on every word with its sums over all runs, in alphabetical order.
fn merge(mut runs: Vec<Box<dyn BufRead>>, mut take: impl FnMut(&str, u64, u64) -> io::Result<()>) -> io::Result<()> {
    let mut next = BinaryHeap::new();
    for (number, run) in runs.iter_mut().enumerate() {
        next.extend(entry(run)?.map(|entry| Reverse((entry, number))));
    }
    let mut sum: Option<(String, u64, u64)> = None;
    while let Some(Reverse(((word, documents, occurrences), number))) = next.pop() {
        next.extend(entry(&mut runs[number])?.map(|entry| Reverse((entry, number))));
        sum = match sum {
            Some((of, d, o)) if of == word => Some((of, d + documents, o + occurrences)),
            before => {
                before.map_or(Ok(()), |(word, documents, occurrences)| take(&word, documents, occurrences))?;
                Some((word, documents, occurrences))
            }
        };
    }
    sum.map_or(Ok(()), |(word, documents, occurrences)| take(&word, documents, occurrences))
}

/// The next line of a run.
fn entry(run: &mut dyn BufRead) -> io::Result<Option<(String, u64, u64)>> {
    let mut line = String::new();
    if run.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut parts = line.trim_end_matches('\n').split('\t');
    let word = parts.next().unwrap_or_default().to_owned();
    let mut number = || parts.next().and_then(|number| number.parse().ok()).ok_or(io::ErrorKind::InvalidData);
    Ok(Some((word, number()?, number()?)))
}

/// Computes the digest of what is written.
struct Digested<W> {
    out: W,
    digest: Sha256,
}

impl<W: Write> Write for Digested<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use lapidary_gems::{LexiconCount, LexiconWords};

    use super::Tally;

    #[test]
    fn words_that_do_not_fit_are_counted_as_if_they_did() {
        let texts = (0..60_u32).map(|i| format!("word{} word{} word{} once{i} every every", i % 7, i % 11, i % 13));
        let words = LexiconWords::default();
        let (mut small, mut all) = (Tally::new(words, 10), LexiconCount::new(words));
        for text in texts {
            small.add(words.of(&text)).expect("a temporary file");
            all.add(words.of(&text));
        }
        assert!(small.spilled.len() > 3);
        let mut written = Vec::new();
        small.write(&mut written).expect("memory");
        assert_eq!(String::from_utf8(written).expect("UTF-8"), all.finish());
    }
}
