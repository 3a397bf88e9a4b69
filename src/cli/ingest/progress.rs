//! Counts ingested files, and shows the progress and a summary.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Instant;

use hashbrown::HashMap;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use lapidary_catalogue::api::{AddOutcome, Added, Report, Restriction};
use lapidary_extract::Format;
use lapidary_language::Language;
use lapidary_report::hidden_words;
use parking_lot::Mutex;
use serde::Serialize;

use super::super::failure::{Failure, Status};
use super::super::files::counted;
use super::super::terminal::{json_line, out, tell};
use super::job::BookLabel;

/// The progress of an ingest.
pub(super) struct Progress {
    pub(super) bar: ProgressBar,
    json: bool,
    begun: Instant,
    /// How many files in folders were skipped as not being books, by extension.
    skipped: BTreeMap<String, u64>,
    counts: Mutex<IngestCounts>,
}

#[derive(Default)]
struct IngestCounts {
    added: u64,
    replaced: u64,
    unchanged: u64,
    /// Books read from files, by format.
    formats: BTreeMap<&'static str, u64>,
    /// Books of libraries that are not trusted.
    untrusted: u64,
    quarantined: u64,
    /// Books without gems, which no check can find.
    gemless: Vec<String>,
    /// Books whose files have words that no reader sees, with what is said of it.
    hidden: Vec<String>,
    /// Books that passed the gate and match others, with their names.
    matching: Vec<String>,
    bytes: u64,
    refused: Vec<(String, String)>,
    /// Whether others match a refused book.
    matched: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct FileLine<'a> {
    file: &'a str,
    #[serde(flatten)]
    added: Option<&'a Added>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// The report of the check that refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<&'a Report>,
}

impl IngestCounts {
    fn count(&mut self, file: String, format: Option<Format>, added: &Added) {
        match added.restriction {
            Some(Restriction::UntrustedLibrary) => self.untrusted += 1,
            Some(Restriction::Quarantined) => self.quarantined += 1,
            None => {}
        }
        *match added.outcome {
            AddOutcome::Added => &mut self.added,
            AddOutcome::Replaced => &mut self.replaced,
            AddOutcome::Unchanged => &mut self.unchanged,
        } += 1;
        if let Some(format) = format {
            *self.formats.entry(format.as_str()).or_default() += 1;
        }
        if added.outcome != AddOutcome::Unchanged {
            self.bytes += added.book.bytes;
        }
        if let Some(hidden) = &added.hidden {
            let hidden = hidden_words(Language::English, hidden);
            self.hidden.push(format!("{file}: {hidden}"));
        }
        if !added.matches.is_empty() {
            let books = added.matches.iter();
            let books: Vec<String> = books
                .map(|book| format!("{}/{}", book.library, book.id))
                .collect();
            self.matching.push(format!("{file}: {}", books.join(", ")));
        }
        if added.book.gems.values().all(|&gems| gems == 0) {
            self.gemless.push(file);
        }
    }
}

impl Progress {
    pub(super) fn new(files: usize, json: bool, skipped: BTreeMap<String, u64>) -> Self {
        let bar = ProgressBar::new(files as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos} of {len} files, {eta} left")
        {
            bar.set_style(style);
        }
        Self {
            bar,
            json,
            begun: Instant::now(),
            skipped,
            counts: Mutex::default(),
        }
    }

    pub(super) fn landed(
        &self,
        name: BookLabel,
        added: Result<Added, Failure>,
    ) -> Result<(), Failure> {
        let mut counts = self.counts.lock();
        let BookLabel { name: file, format } = name;
        if self.json {
            let refused = added.as_ref().err();
            let mut out = out(true);
            let line = FileLine {
                file: &file,
                added: added.as_ref().ok(),
                refused: refused.map(ToString::to_string),
                report: refused.and_then(Failure::report),
            };
            json_line(&mut out, &line)?;
            out.flush()?;
        }
        self.bar.inc(1);
        match added {
            Ok(added) => counts.count(file, format, &added),
            Err(why) => {
                counts.matched |= why.report().is_some();
                counts.refused.push((file, why.to_string()));
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Status, Failure> {
        self.bar.finish_and_clear();
        let IngestCounts {
            added,
            replaced,
            unchanged,
            formats,
            untrusted,
            quarantined,
            gemless,
            hidden,
            matching,
            bytes,
            refused,
            matched,
        } = self.counts.into_inner();
        let seconds = self.begun.elapsed().as_secs_f64().max(1e-3);
        let rate = HumanBytes((bytes as f64 / seconds) as u64);
        let (bytes, count) = (HumanBytes(bytes), refused.len());
        let mut lines = vec![format!(
            "{added} added, {replaced} replaced, {unchanged} unchanged, {count} refused; {bytes} of text in {seconds:.1} s, \
             {rate}/s"
        )];
        if !formats.is_empty() {
            let formats: Vec<String> = formats
                .iter()
                .map(|(format, books)| format!("{books} {format}"))
                .collect();
            lines.push(format!("formats: {}", formats.join(", ")));
        }
        if !self.skipped.is_empty() {
            let skipped = counted(&self.skipped);
            lines.push(format!(
                "skipped, not books: {skipped}; to add them, name them or give --include"
            ));
        }
        if untrusted > 0 {
            lines.push(format!(
                "{untrusted} do not count for others, because their library is not trusted; an administrator can change that \
                 with lapidary libraries trust"
            ));
        }
        if quarantined > 0 {
            lines.push(format!(
                "{quarantined} do not count for others, because they share passages with several works of other libraries; an \
                 administrator can change that with lapidary books confirm"
            ));
        }
        lines.extend(listed(
            "are too short for a gem, so no check can find them",
            &gemless,
        ));
        lines.extend(listed("have words that their readers do not see", &hidden));
        lines.extend(listed("match books that are there already", &matching));
        let summary = lines.join("\n");
        if self.json {
            tell(format_args!("{summary}"));
        } else {
            writeln!(out(false), "{summary}")?;
        }
        show_refused(&refused);
        Ok(match refused.as_slice() {
            _ if matched => Status::Found,
            [] => Status::Done,
            _ => Status::WrongInput,
        })
    }
}

/// Says of how many files something is true, and lists them.
fn listed(what: &str, files: &[String]) -> Vec<String> {
    if files.is_empty() {
        return Vec::new();
    }
    let head = format!("{} {what}", files.len());
    let files = files.iter().map(|file| format!("  {file}"));
    std::iter::once(head).chain(files).collect()
}

/// Lists what was refused, grouped by reason.
fn show_refused(refused: &[(String, String)]) {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut place: HashMap<&str, usize> = HashMap::new();
    for (file, why) in refused {
        let place = *place.entry(why).or_insert(by_reason.len());
        match by_reason.get_mut(place) {
            Some((_, files)) => files.push(file),
            None => by_reason.push((why, vec![file])),
        }
    }
    for (why, files) in by_reason {
        match files.as_slice() {
            [file] => tell(format_args!("refused {file}: {why}")),
            files => {
                tell(format_args!("refused {} files: {why}", files.len()));
                for file in files {
                    tell(format_args!("  {file}"));
                }
            }
        }
    }
}
