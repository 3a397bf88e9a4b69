//! `lapidary boundaries`: counts 4-digit sequences, and chooses a set of them to cut at.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use lapidary_gems::{Boundaries, Recipe, SequenceCounts, choose};
use parking_lot::Mutex;
use rayon::prelude::*;

use super::arguments::{BoundariesArgument, read_argument};
use super::failure::{Failure, Status};
use super::files::{Choice, FileWalk, Reading, Usually};
use super::jobs::bar;
use super::terminal::{out, tell};

/// Count 4-digit sequences in folded texts and choose boundaries from the counts.
#[derive(Args)]
pub(super) struct BoundariesArgs {
    #[command(subcommand)]
    command: BoundariesCommand,
}

#[derive(Subcommand)]
enum BoundariesCommand {
    /// Count how often each sequence occurs in folded texts, by language
    ///
    /// Prints a tab-separated table with one sequence per line, the most frequent first.
    Stats(BoundaryStatsArgs),
    /// Choose boundaries that give chunks of about equal length in every language
    ///
    /// Prints a file for --boundaries, with the measured chunk lengths as comments.
    Choose(Choose),
    /// Measure the chunks that boundaries give, by language
    ///
    /// Prints a tab-separated table: language; the average number of characters of a chunk that is long enough for a gem; such
    /// chunks per 1,000 characters; bytes of gems per byte of text, at 4 bytes a gem; and the same with gems in decimal digits,
    /// each followed by a comma.
    Lengths(Lengths),
}

#[derive(Args)]
struct BoundaryStatsArgs {
    #[command(flatten)]
    texts: Texts,
}

#[derive(Args)]
struct Choose {
    /// The target average length, in characters of text, of a chunk that is long enough for a gem
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(10..))]
    target_chars: u32,
    /// The least number of digits in a chunk that has a gem. Fewer give more gems, where detail matters
    #[arg(long, value_name = "N", default_value_t = Boundaries::standard().shortest(), value_parser = shortest)]
    shortest: usize,
    /// Use no sequence in this file, to get a set that cuts elsewhere
    #[arg(long, value_name = "FILE")]
    avoid: Option<PathBuf>,
    /// Use no sequence of the standard set
    #[arg(long, conflicts_with = "avoid")]
    avoid_standard: bool,
    #[command(flatten)]
    texts: Texts,
}

#[derive(Args)]
struct Lengths {
    #[command(flatten)]
    boundaries: BoundariesArgument,
    #[command(flatten)]
    texts: Texts,
}

fn shortest(digits: &str) -> Result<usize, String> {
    let digits = digits
        .parse()
        .ok()
        .filter(|digits| (1..=1_000_000).contains(digits));
    digits.ok_or_else(|| "give a number from 1 to 1000000".to_owned())
}

#[derive(Args)]
struct Texts {
    /// The recipe to fold texts with
    #[arg(long, value_name = "RECIPE", default_value = "documented")]
    recipe: Recipe,
    #[command(flatten)]
    reading: Reading,
    /// Files, or folders to read recursively. The first folder level below a PATH is the language
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// The chunks of a language that are long enough for a gem.
struct Chunks {
    language: String,
    /// Their average length.
    characters: f64,
    /// Chunks per 1,000 characters.
    density: f64,
}

impl BoundariesArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.command {
            BoundariesCommand::Stats(task) => task.run(),
            BoundariesCommand::Choose(task) => task.run(),
            BoundariesCommand::Lengths(task) => task.run(),
        }
    }
}

impl BoundaryStatsArgs {
    fn run(self) -> Result<Status, Failure> {
        let by_language = self.texts.count()?;
        let mut all = SequenceCounts::default();
        for counts in by_language.values() {
            all.add(counts);
        }
        let mut out = out(false);
        let names: Vec<&str> = by_language.keys().map(String::as_str).collect();
        writeln!(out, "sequence\tall\t{}", names.join("\t"))?;
        for (sequence, count) in all.sorted() {
            write!(out, "{sequence}\t{count}")?;
            for counts in by_language.values() {
                write!(out, "\t{}", counts.of(&sequence))?;
            }
            writeln!(out)?;
        }
        Ok(Status::Done)
    }
}

/// How often a set is chosen again, corrected by the chunk lengths that the previous one gave: sequences are not distributed
/// as evenly as by chance.
const CORRECTIONS: usize = 6;

impl Choose {
    fn run(self) -> Result<Status, Failure> {
        let avoid = self.avoided()?;
        let by_language = self.texts.count()?;
        let shortest = self.shortest;
        let wanted = f64::from(self.target_chars);
        let mut aims: BTreeMap<&str, f64> = by_language
            .keys()
            .map(|language| (language.as_str(), wanted))
            .collect();
        let mut best: Option<(f64, Boundaries, Vec<Chunks>)> = None;
        for _ in 0..CORRECTIONS {
            let Some(sequences) = choose(
                &by_language,
                |language| aims.get(language).copied().unwrap_or(wanted),
                shortest,
                avoid.as_ref(),
            ) else {
                break;
            };
            let set = Boundaries::new(&sequences, shortest)
                .map_err(|e| Failure::Failed(e.to_string()))?;
            let chunks = self.chunks(&set, &by_language)?;
            for found in chunks.iter().filter(|found| found.characters > 0.0) {
                if let Some(aim) = aims.get_mut(found.language.as_str()) {
                    *aim *= wanted / found.characters;
                }
            }
            let off = deviation(&chunks, wanted);
            if best.as_ref().is_none_or(|(least, ..)| off < *least) {
                best = Some((off, set, chunks));
            }
        }
        let Some((_, set, chunks)) = best else {
            return Err(Failure::Input(format!(
                "no set gives chunks of {wanted} characters with at least {shortest} digits; give more texts, or request \
                 longer chunks"
            )));
        };
        self.print(&set, chunks)
    }

    fn print(&self, set: &Boundaries, chunks: Vec<Chunks>) -> Result<Status, Failure> {
        let (wanted, shortest) = (f64::from(self.target_chars), self.shortest);
        let mut out = out(false);
        writeln!(
            out,
            "# Chosen for chunks of {wanted} characters. By language: the average number of characters of a chunk that is"
        )?;
        writeln!(
            out,
            "# long enough for a gem, and the number of such chunks per 1,000 characters."
        )?;
        for Chunks {
            language,
            characters,
            density,
        } in chunks
        {
            writeln!(out, "#   {language}: {characters:.0}, {density:.2}")?;
        }
        writeln!(out, "[chosen]\nshortest = {shortest}")?;
        for line in set.sequences().collect::<Vec<_>>().chunks(12) {
            writeln!(out, "{}", line.join(" "))?;
        }
        Ok(Status::Done)
    }

    /// Measures the chunks that a set gives, by language. A cut that overlaps another one does not count.
    fn chunks(
        &self,
        set: &Boundaries,
        by_language: &BTreeMap<String, SequenceCounts>,
    ) -> Result<Vec<Chunks>, Failure> {
        let found = self.texts.by_language(
            |fold, _| set.chunks(fold),
            |sum: &mut (u64, u64), more: (u64, u64)| *sum = (sum.0 + more.0, sum.1 + more.1),
        )?;
        let chunks = by_language.iter().map(|(language, counts)| {
            let (chunks, digits) = found.get(language).copied().unwrap_or_default();
            let characters = digits as f64 * counts.characters_per_digit() / chunks.max(1) as f64;
            let density = 1e3 * chunks as f64 / counts.characters.max(1) as f64;
            Chunks {
                language: language.clone(),
                characters,
                density,
            }
        });
        Ok(chunks.collect())
    }

    fn avoided(&self) -> Result<Option<Boundaries>, Failure> {
        let Some(path) = &self.avoid else {
            return Ok(self.avoid_standard.then(|| Boundaries::standard().clone()));
        };
        read_argument("--avoid", path, Boundaries::parse).map(Some)
    }
}

/// By which part of the wanted length the chunks of any language are too long or too short.
fn deviation(chunks: &[Chunks], wanted: f64) -> f64 {
    let each = chunks.iter().map(|of| (of.characters / wanted - 1.0).abs());
    each.fold(0.0, f64::max)
}

/// What is counted of the texts of a language.
#[derive(Default, Clone, Copy)]
struct Counted {
    chunks: u64,
    /// Of the chunks, and of the folds.
    digits: (u64, u64),
    characters: u64,
    bytes: u64,
    gems: u64,
    /// The length of the gems as decimal numbers, each followed by a comma.
    written: u64,
}

impl Counted {
    /// The counts of a text and its fold.
    fn of(recipe: &Recipe, set: &Boundaries, fold: &str, text: &str) -> Self {
        let (chunks, digits) = set.chunks(fold);
        let gems = recipe.gems(text);
        let written = gems
            .iter()
            .map(|placed| recipe.write(placed.gem).to_string().len() as u64 + 1)
            .sum();
        Self {
            chunks,
            digits: (digits, fold.len() as u64),
            characters: text.chars().count() as u64,
            bytes: text.len() as u64,
            gems: gems.len() as u64,
            written,
        }
    }

    /// The share of these bytes in the bytes of the texts.
    fn share(&self, bytes: u64) -> f64 {
        bytes as f64 / self.bytes.max(1) as f64
    }

    fn add(&mut self, more: Self) {
        self.chunks += more.chunks;
        self.digits.0 += more.digits.0;
        self.digits.1 += more.digits.1;
        self.characters += more.characters;
        self.bytes += more.bytes;
        self.gems += more.gems;
        self.written += more.written;
    }
}

impl Lengths {
    fn run(self) -> Result<Status, Failure> {
        let recipe = self.boundaries.apply(self.texts.recipe.clone())?;
        let Some(set) = recipe.boundaries() else {
            return Err(Failure::Input(format!(
                "--recipe: recipe {} does not cut at boundaries",
                recipe.name()
            )));
        };
        let found = self.texts.by_language(
            |fold, text| Counted::of(&recipe, set, fold, text),
            Counted::add,
        )?;
        let mut out = out(false);
        writeln!(
            out,
            "language\tcharacters\tper_1000\tgem_bytes\twritten_bytes"
        )?;
        for (language, counted) in found {
            let Counted {
                chunks,
                digits,
                characters,
                ..
            } = counted;
            let of_digit = characters as f64 / digits.1.max(1) as f64;
            let length = digits.0 as f64 * of_digit / chunks.max(1) as f64;
            let density = 1e3 * chunks as f64 / characters.max(1) as f64;
            let gems = counted.share(counted.gems * u64::from(recipe.gem_bits() / 8));
            let written = counted.share(counted.written);
            writeln!(
                out,
                "{language}\t{length:.0}\t{density:.3}\t{gems:.5}\t{written:.5}"
            )?;
        }
        Ok(Status::Done)
    }
}

impl Texts {
    fn count(&self) -> Result<BTreeMap<String, SequenceCounts>, Failure> {
        self.by_language(
            |fold: &str, text: &str| SequenceCounts::of_fold(fold, text.chars().count() as u64),
            |counts: &mut SequenceCounts, more: SequenceCounts| counts.add(&more),
        )
    }

    /// Applies `of` to every text's fold and the text, and sums the results by language.
    fn by_language<T: Default + Send>(
        &self,
        of: impl Fn(&str, &str) -> T + Sync,
        add: impl Fn(&mut T, T) + Sync,
    ) -> Result<BTreeMap<String, T>, Failure> {
        let files = FileWalk::of(&self.paths, &Choice::default(), Usually::Books)
            .all()
            .map_err(Failure::Input)?;
        let bar = bar("reading");
        bar.set_length(files.len() as u64);
        let sums: Mutex<BTreeMap<String, T>> = Mutex::default();
        files.into_par_iter().for_each(|file| {
            match self.reading.text(&file.path) {
                Ok(text) => {
                    let of_text = of(&self.recipe.fold(&text), &text);
                    let mut sums = sums.lock();
                    add(sums.entry(file.language()).or_default(), of_text);
                }
                Err(why) => {
                    bar.suspend(|| tell(format_args!("refused {}: {why}", file.path.display())));
                }
            }
            bar.inc(1);
        });
        bar.finish_and_clear();
        Ok(sums.into_inner())
    }
}
