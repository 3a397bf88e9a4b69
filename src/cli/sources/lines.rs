//! Sources, their runs and errors, a line each.

use lapidary_catalogue::api::{Source, SourceError, SourceRun, SourceState};
use lapidary_common::count::count;
use lapidary_harvest::{Reason, Tally};
use lapidary_report::clean;

/// A source in a line.
pub(super) fn summary(source: &Source) -> String {
    let Source {
        name,
        definition,
        queued,
        run,
        next_run_at: next_run,
        urls_per_second: per_second,
        ..
    } = source;
    let mut state = match (source.state, run) {
        (SourceState::Paused, _) => "paused".to_owned(),
        (SourceState::Running, _) => format!("running, {queued} in the queue"),
        (SourceState::Waiting, _) => format!("waiting, {queued} in the queue"),
        (SourceState::Idle, None) => "never run".to_owned(),
        (
            SourceState::Idle,
            Some(SourceRun {
                finished_at: Some(ended),
                ..
            }),
        ) => format!("last run {ended:.0}"),
        (SourceState::Idle, Some(_)) => format!("{queued} in the queue"),
    };
    if let Some(seconds) = source.remaining_seconds {
        let left = count(seconds.div_ceil(60), "minute", "minutes");
        state = format!("{state}, {per_second:.1} per second, about {left} left");
    }
    if let Some(next) = next_run {
        state = format!("{state}, next {next:.0}");
    }
    let books = run
        .as_ref()
        .map(|run| words(&tally(run)))
        .unwrap_or_default();
    format!(
        "{name}\t{}\t{}\t{state}\t{books}",
        definition.library,
        clean(&definition.url)
    )
}

pub(super) fn tally(run: &SourceRun) -> Tally {
    let SourceRun {
        fetched,
        added,
        unchanged,
        refused,
        pages_unchanged,
        missing: gone,
        skipped,
        ..
    } = *run;
    Tally {
        fetched,
        added,
        unchanged,
        refused,
        pages_unchanged,
        gone,
        skipped,
    }
}

pub(super) fn words(tally: &Tally) -> String {
    let mut words = Vec::new();
    for (count, what, always) in [
        (tally.fetched, "fetched", true),
        (tally.added, "added", true),
        (tally.unchanged, "unchanged", true),
        (tally.refused, "refused", true),
        (tally.skipped, "skipped", false),
        (tally.gone, "gone", false),
        (tally.pages_unchanged, "pages unchanged", false),
    ] {
        if always || count > 0 {
            words.push(format!("{count} {what}"));
        }
    }
    words.join(", ")
}

/// What a run skipped and left out, a line for each reason.
pub(super) fn not_taken(run: &SourceRun) -> Vec<String> {
    let skipped = run.skipped_by.iter().map(|(reason, count)| {
        let what = match reason {
            Reason::Format => "in no format that can be read",
            Reason::NoFile => "without a file that can be fetched",
            Reason::Own => "that come from this catalogue",
            _ => "links, and what is no file",
        };
        format!("skipped {count} {what}: `lapidary sources errors` lists them")
    });
    let left_out = run
        .left_out
        .iter()
        .map(|(limit, count)| format!("left out {count} beyond {}", limit.words()));
    skipped.chain(left_out).collect()
}

pub(super) fn run_line(run: &SourceRun) -> String {
    let ended = run
        .finished_at
        .map_or_else(|| "not ended".to_owned(), |ended| format!("to {ended:.0}"));
    let reasons: Vec<String> = run
        .refused_by
        .iter()
        .map(|(why, count)| format!("{count} {}", why.as_str()))
        .collect();
    let reasons = if reasons.is_empty() {
        String::new()
    } else {
        format!(" ({})", reasons.join(", "))
    };
    let what = words(&tally(run));
    format!(
        "run {} from {:.0} {ended}: {what}{reasons}",
        run.number, run.started_at
    )
}

pub(super) fn failed(error: &SourceError) -> String {
    let never = if error.reason.is_skipped() {
        "skipped"
    } else {
        "refused"
    };
    let what = error
        .retry_at
        .map_or_else(|| never.to_owned(), |at| format!("tried again {at:.0}"));
    format!("{what}\t{}\t{}", clean(&error.url), clean(&error.detail))
}
