//! Ingest of a folder of real texts, compared with only reading, extracting and fingerprinting them on all cores.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use lapidary_gems::Recipe;
use rayon::prelude::*;
use walkdir::{DirEntry, WalkDir};

use crate::load::Workspace;
use crate::server::LAPIDARY;
use crate::table::Table;
use crate::{Outcome, tell};

/// The unit of CPU times in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;
/// The fields of `/proc/self/stat` after the name that hold the user and system time of terminated children.
const CHILDREN_TIMES: std::ops::Range<usize> = 13..15;
const MIB: f64 = (1 << 20) as f64;

/// The rows of a folder of texts. Creates its catalogues in `scratch`.
pub fn rows(
    corpus: &Path,
    scratch: &Workspace,
    recipe: &Recipe,
    repeats: u32,
    table: &mut Table,
) -> Outcome<()> {
    let files = files(corpus)?;
    tell(format_args!(
        "ingest of {} files, {repeats} times",
        files.len()
    ));
    let (mut best, mut best_bare, mut wall, mut cpu, mut bytes) = (f64::MAX, f64::MAX, 0.0, 0.0, 0);
    for repeat in 0..repeats {
        let catalogue = scratch.join(format!("corpus-{repeat}"));
        let before = children_seconds()?;
        let begun = Instant::now();
        ingest(&catalogue, corpus, recipe)?;
        let took = begun.elapsed().as_secs_f64();
        (best, wall, cpu) = (
            best.min(took),
            wall + took,
            cpu + children_seconds()? - before,
        );
        fs::remove_dir_all(&catalogue)?;

        let begun = Instant::now();
        // Schedule each file separately, so that no core stays idle.
        let each = files.par_iter().with_max_len(1);
        bytes = each
            .map(|file| fingerprint(file, recipe))
            .try_reduce(|| 0, |a, b| Ok(a + b))?;
        best_bare = best_bare.min(begun.elapsed().as_secs_f64());
    }
    let rate = |seconds: f64| bytes as f64 / MIB / seconds;
    table.column(format_args!(
        "{} files, {:.1} MiB of text",
        files.len(),
        rate(1.0)
    ));
    table.set(
        "ingest, best",
        format_args!("{best:.3} s, {:.0} MiB/s", rate(best)),
    );
    table.set(
        "extraction and fold alone, best",
        format_args!("{best_bare:.3} s, {:.0} MiB/s", rate(best_bare)),
    );
    table.set("ratio", format_args!("{:.2}", best / best_bare));
    table.set(
        "cores in use during ingest",
        format_args!("{:.2}", cpu / wall),
    );
    Ok(())
}

/// The files that `lapidary ingest` would read: all but hidden ones.
fn files(corpus: &Path) -> Outcome<Vec<PathBuf>> {
    let visible = |entry: &DirEntry| {
        entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".")
    };
    let mut files = Vec::new();
    for entry in WalkDir::new(corpus)
        .follow_links(true)
        .into_iter()
        .filter_entry(visible)
    {
        let entry = entry?;
        if entry.file_type().is_file() {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

fn ingest(catalogue: &Path, corpus: &Path, recipe: &Recipe) -> Outcome<()> {
    let mut command = Command::new(LAPIDARY);
    command.args([
        "ingest",
        "--library",
        "bench",
        "--rights",
        "protected",
        "--recipe",
        recipe.name().as_str(),
    ]);
    command.arg("--data").arg(catalogue).arg(corpus);
    let ended = command.stdin(Stdio::null()).output()?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(format!("the ingest failed, name a folder of texts only: {said}").into())
}

/// Fingerprints a file and returns the size of its text in bytes.
fn fingerprint(file: &Path, recipe: &Recipe) -> Outcome<usize> {
    let text = lapidary_extract::text(fs::read(file)?, None)?.text;
    std::hint::black_box(recipe.gems(&text));
    Ok(text.len())
}

/// The CPU time of all terminated children.
fn children_seconds() -> Outcome<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let times = fields.skip(CHILDREN_TIMES.start).take(CHILDREN_TIMES.len());
    let ticks = times.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(ticks as f64 / TICKS_PER_SECOND)
}
