//! A hypothesis of the authors of `n-blocks`, which they did not test: more blocks find more copies.
//!
//! `cargo run --release --example blocks -- BOOKS PAIRS… OUT.svg` computes the signatures of all books for 1 to 16 blocks and
//! 3 to 10 words of each, and prints how many of the pairs that must match are found, and how many other pairs: if one
//! block is equal, if a quarter is, and if half of them are. It draws the pairs found if a quarter is equal.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use lapidary_gems::{Gem, Recipe, TextWords};
use plotters::prelude::*;
use rayon::prelude::*;
use walkdir::WalkDir;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The relations whose pairs must match.
const MUST: [&str; 4] = [
    "same-work-other-source",
    "revised-edition",
    "contained",
    "partial-overlap",
];
const BLOCKS: std::ops::RangeInclusive<usize> = 1..=16;
const WORDS: std::ops::RangeInclusive<usize> = 3..=10;
/// The parts of the blocks that must be equal, in quarters: any block, a quarter, half of them.
const QUARTERS: [usize; 3] = [0, 1, 2];

fn main() -> Outcome<()> {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [books, pairs @ .., picture] = arguments.as_slice() else {
        return Err("usage: blocks BOOKS PAIRS… OUT.svg".into());
    };
    let (names, gems) = signatures(books)?;
    let related = related(pairs, &names)?;
    println!("n\tk\tfound_any\tfalse_any\tfound_quarter\tfalse_quarter\tfound_half\tfalse_half");
    let mut found: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
    for (recipe, (n, k)) in recipes().enumerate() {
        let common = common(gems.iter().map(|of_book| of_book[recipe].as_slice()));
        let mut row = format!("{n}\t{k}");
        for quarters in QUARTERS {
            let is_match = |common: usize| 4 * common >= quarters * n;
            let matches = || {
                common
                    .iter()
                    .filter(|(_, common)| is_match(**common))
                    .map(|(pair, _)| pair)
            };
            let right = matches()
                .filter(|pair| related.get(pair).is_some_and(|must| *must))
                .count();
            write!(row, "\t{right}\t{}", matches().count() - right)?;
            if quarters == 1 {
                found.entry(k).or_default().push((n as f64, right as f64));
            }
        }
        println!("{row}");
    }
    draw(
        picture,
        &found,
        related.values().filter(|must| **must).count(),
    )
}

/// The numbers of blocks and of words.
fn recipes() -> impl Iterator<Item = (usize, usize)> {
    BLOCKS.flat_map(|n| WORDS.map(move |k| (n, k)))
}

/// The gems of a book, by recipe.
type OfBook = Vec<Vec<Gem>>;

/// The names of the books, and the gems of each.
fn signatures(books: &Path) -> Outcome<(Vec<String>, Vec<OfBook>)> {
    let all: Result<Vec<Recipe>, _> = recipes()
        .map(|(n, k)| Recipe::signature(&format!("n-blocks;n={n};k={k}"), None))
        .collect();
    let all = all?;
    let mut names = BTreeSet::new();
    for entry in WalkDir::new(books) {
        let entry = entry?;
        if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "txt")
        {
            names.insert(entry.path().strip_prefix(books)?.display().to_string());
        }
    }
    let names: Vec<String> = names.into_iter().collect();
    let of_book = |name: &String| -> Outcome<OfBook> {
        let words = TextWords::of(&fs::read_to_string(books.join(name))?);
        let gems = |recipe: &Recipe| recipe.gems_of_words(&words).unwrap_or_default();
        Ok(all
            .iter()
            .map(|recipe| gems(recipe).into_iter().map(|placed| placed.gem).collect())
            .collect())
    };
    let gems = names.par_iter().map(of_book).collect::<Outcome<_>>()?;
    Ok((names, gems))
}

/// The pairs of the lists, and whether each must match.
fn related(lists: &[PathBuf], names: &[String]) -> Outcome<HashMap<(usize, usize), bool>> {
    let mut related = HashMap::new();
    for list in lists {
        for line in fs::read_to_string(list)?.lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let number = |column: usize| {
                names
                    .iter()
                    .position(|name| columns.get(column) == Some(&name.as_str()))
            };
            if let (Some(a), Some(b), Some(relation)) = (number(0), number(1), columns.get(2)) {
                related.insert((a.min(b), a.max(b)), MUST.contains(relation));
            }
        }
    }
    Ok(related)
}

/// How many gems each pair of books has in common.
fn common<'a>(gems: impl Iterator<Item = &'a [Gem]>) -> HashMap<(usize, usize), usize> {
    let mut holders: HashMap<Gem, Vec<usize>> = HashMap::new();
    for (book, gems) in gems.enumerate() {
        for gem in gems {
            holders.entry(*gem).or_default().push(book);
        }
    }
    let mut common = HashMap::new();
    for books in holders.into_values() {
        for (i, a) in books.iter().enumerate() {
            for b in &books[i + 1..] {
                *common.entry((*a, *b)).or_default() += 1;
            }
        }
    }
    common
}

/// A line for each number of words.
fn draw(path: &Path, found: &BTreeMap<usize, Vec<(f64, f64)>>, most: usize) -> Outcome<()> {
    let picture = SVGBackend::new(path, (640, 400)).into_drawing_area();
    picture.fill(&WHITE)?;
    let mut builder = ChartBuilder::on(&picture);
    let title = format!("n-blocks: pairs found of {most}, if a quarter of the blocks is equal");
    builder
        .caption(title, ("sans-serif", 15))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(36);
    let mut plane = builder.build_cartesian_2d(1.0..18.0, 0.0..most as f64)?;
    plane
        .configure_mesh()
        .x_desc("blocks (n)")
        .x_labels(16)
        .light_line_style(WHITE)
        .draw()?;
    for ((k, line), number) in found.iter().zip(0..) {
        let colour = HSLColor(f64::from(number) / 9.0, 0.7, 0.42);
        let end = line.last().copied().unwrap_or_default();
        plane.draw_series(
            LineSeries::new(line.iter().copied(), colour.stroke_width(2)).point_size(2),
        )?;
        let style = ("sans-serif", 12).into_font().color(&colour);
        plane.draw_series([Text::new(format!("k = {k}"), (16.2, end.1 + 0.4), style)])?;
    }
    Ok(picture.present()?)
}
