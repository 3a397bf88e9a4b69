//! `lapidary lexicon`: counts words, for signatures that weigh them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Cursor, Seek as _, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use lapidary_gems::{DocumentWords, LexiconCount, LexiconWords};
use parking_lot::Mutex;
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use super::drift::DriftArgs;
use super::failure::{Failure, Status};
use super::files::{Choice, FileWalk, Reading, Usually};
use super::jobs::bar;
use super::terminal::{out, tell};

/// How many different words are held in memory: about 300 MB.
const MOST_WORDS: usize = 2_000_000;

/// Count the words of a collection, for signatures that weigh words.
#[derive(Args)]
pub(super) struct LexiconArgs {
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
    Count(CountArgs),
    /// Say how many signatures would change if the words were counted anew
    ///
    /// As a library grows, the weights of words change, but a lexicon does not. This counts the words of these files as they are
    /// now, computes the signatures of each with LEXICON and with the new counts, and prints how many differ, by method. If they
    /// are too many, count a new lexicon and re-index with it. Nothing is changed.
    ///
    /// Exit status: 0 all files were compared; 2 some could not be read.
    Drift(DriftArgs),
}

#[derive(Args)]
struct CountArgs {
    /// The words to leave out: closed (articles, pronouns and the like in 14 languages) or none
    #[arg(long, value_name = "LIST", default_value = "closed")]
    stop: String,
    /// What of a word counts: none (all of it), prefix:N (its first N characters), snowball:LANGUAGE (its stem), such as
    /// snowball:en, or snowball (its stem in the language of its text, which is detected)
    #[arg(long, value_name = "STEM", default_value = "none")]
    stem: String,
    /// The least length of a word, in characters
    #[arg(long, value_name = "N", default_value_t = 3)]
    min_len: usize,
    #[command(flatten)]
    collection: Collection,
}

/// Files with the books of a collection.
#[derive(Args)]
pub(super) struct Collection {
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    choice: Choice,
    /// Files, or folders to read recursively
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

impl LexiconArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.command {
            LexiconCommand::Count(task) => task.run(),
            LexiconCommand::Drift(task) => task.run(),
        }
    }
}

impl CountArgs {
    fn run(self) -> Result<Status, Failure> {
        let words = LexiconWords::new(&self.stop, &self.stem, self.min_len).ok_or_else(|| {
            let sentence =
                "give --stop none or closed; --stem none, prefix:N, snowball:LANGUAGE or snowball; --min-len 1 to 1000";
            Failure::Input(sentence.to_owned())
        })?;
        let mut digest = Digested {
            out: out(false),
            digest: Sha256::new(),
        };
        let unread = counted(&self.collection, words, &mut digest)?;
        digest.flush()?;
        tell(format_args!(
            "lexicon {}",
            hex::encode(&digest.digest.finalize()[..8])
        ));
        Ok(Status::of_input(unread > 0))
    }
}

/// Writes the lexicon of a collection. Returns how many of its books could not be read, which are named.
pub(super) fn counted(
    collection: &Collection,
    words: LexiconWords,
    out: &mut impl Write,
) -> Result<u64, Failure> {
    let tally = Mutex::new(WordTally::new(words, MOST_WORDS));
    let ((), unread) = collection.each(
        "counting",
        || (),
        |text: &str| {
            let document = words.of(text);
            Ok(tally.lock().add(document)?)
        },
        |(), ()| (),
        |path: &Path, why: &str| tell(format_args!("refused {}: {why}", path.display())),
    )?;
    tally.into_inner().write(out)?;
    Ok(unread)
}

impl Collection {
    /// Reads every book on all processors, and adds up what `of` makes of the texts. Also returns how many books could not be
    /// read, with which `refuse` is called.
    pub(super) fn each<T: Send>(
        &self,
        what: &str,
        none: impl Fn() -> T + Sync,
        of: impl Fn(&str) -> Result<T, Failure> + Sync,
        add: impl Fn(T, T) -> T + Sync,
        refuse: impl Fn(&Path, &str) + Sync,
    ) -> Result<(T, u64), Failure> {
        let files = FileWalk::of(&self.paths, &self.choice, Usually::Books)
            .all()
            .map_err(Failure::Input)?;
        let bar = bar(what);
        bar.set_length(files.len() as u64);
        let sums = files.into_par_iter().map(|file| {
            let (mut sum, mut unread) = (none(), 0);
            for text in self.reading.texts(&file.path) {
                match text {
                    Ok(text) => sum = add(sum, of(&text)?),
                    Err(why) => {
                        bar.suspend(|| refuse(&file.path, &why));
                        unread += 1;
                    }
                }
            }
            bar.inc(1);
            Ok((sum, unread))
        });
        let sum = sums.try_reduce(|| (none(), 0), |(a, m), (b, n)| Ok((add(a, b), m + n)));
        bar.finish_and_clear();
        sum
    }
}

/// Counts more words than fit into memory.
struct WordTally {
    count: LexiconCount,
    most: usize,
    /// Words with their numbers, each file in alphabetical order.
    spilled: Vec<File>,
}

impl WordTally {
    fn new(words: LexiconWords, most: usize) -> Self {
        Self {
            count: LexiconCount::new(words),
            most,
            spilled: Vec::new(),
        }
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
        runs.push(Box::new(Cursor::new(
            rest.into_iter().map(lexicon_line).collect::<String>(),
        )));
        merge(runs, |word, documents, occurrences| {
            out.write_all(LexiconCount::line(word, documents, occurrences).as_bytes())
        })
    }
}

fn lexicon_line((word, documents, occurrences): (String, u64, u64)) -> String {
    format!("{word}\t{documents}\t{occurrences}\n")
}

/// Passes on every word with its sums over all runs, in alphabetical order.
fn merge(
    mut runs: Vec<Box<dyn BufRead>>,
    mut take: impl FnMut(&str, u64, u64) -> io::Result<()>,
) -> io::Result<()> {
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
                before.map_or(Ok(()), |(word, documents, occurrences)| {
                    take(&word, documents, occurrences)
                })?;
                Some((word, documents, occurrences))
            }
        };
    }
    sum.map_or(Ok(()), |(word, documents, occurrences)| {
        take(&word, documents, occurrences)
    })
}

/// The next line of a run.
fn entry(run: &mut dyn BufRead) -> io::Result<Option<(String, u64, u64)>> {
    let mut line = String::new();
    if run.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut parts = line.trim_end_matches('\n').split('\t');
    let word = parts.next().unwrap_or_default().to_owned();
    Ok(Some((word, number(parts.next())?, number(parts.next())?)))
}

fn number(part: Option<&str>) -> io::Result<u64> {
    let number = part.and_then(|part| part.parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
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

    use super::WordTally;

    #[test]
    fn words_that_do_not_fit_are_counted_as_if_they_did() {
        let texts = (0..60_u32).map(|i| {
            format!(
                "word{} word{} word{} once{i} every every",
                i % 7,
                i % 11,
                i % 13
            )
        });
        let words = LexiconWords::default();
        let (mut small, mut all) = (WordTally::new(words, 10), LexiconCount::new(words));
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
