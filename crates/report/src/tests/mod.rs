//! Tests of reports, and the reports that they show.

mod languages;
mod pages;
mod terminal;

use std::collections::BTreeSet;

use jiff::Timestamp;
use lapidary_gems::{Place, Rule, Trick};

use super::{CheckedReport, PageTexts, TerminalPage, html_report, report_part};
use lapidary_catalogue::api::{BookRef, Disguise, DisguisedWord, HiddenText, Match, Report};
use lapidary_checking::{Extent, Range, Reason, Relation, Score, Span};
use lapidary_extract::{HiddenCount, Hiding};
use lapidary_language::Language::{self, English};
use lapidary_store::Rights;

fn extent(gems: (u32, u32), bytes: Option<(u64, u64)>) -> Extent {
    let bytes = bytes.map(|(start, end)| Place { start, end });
    Extent {
        gems: Range {
            start: gems.0,
            end: gems.1,
        },
        bytes,
    }
}

fn found(title: Option<&str>, rights: Rights) -> Match {
    Match {
        book: BookRef {
            library: "north".into(),
            id: "17".into(),
            rights,
            validity: None,
            title: title.map(Into::into),
            authors: vec!["A. Author".into(), "B. Author".into()],
            language: None,
            bytes: 100_000,
        },
        recipes: vec!["documented".parse().expect("a name")],
        work: 1,
        score: Score::new(15, 20, 40),
        relation: Some(Relation::PartOfBook),
        identical: false,
        evidence: 14.5,
        e_value: None,
        spans: vec![Span {
            common: 15,
            query: extent((5, 20), Some((12_500, 50_000))),
            book: extent((0, 20), Some((0, 50_000))),
            query_position: None,
            book_position: None,
        }],
        exact: None,
        passages: Vec::new(),
        allowed: false,
        informational: None,
        disputed: false,
    }
}

fn report(mut matches: Vec<Match>) -> Report {
    (1..)
        .zip(&mut matches)
        .for_each(|(work, found)| found.work = work);
    Report {
        verdict: matches
            .iter()
            .map(|found| found.book.rights)
            .min()
            .unwrap_or(Rights::Unknown),
        reason: if matches.is_empty() {
            Reason::NoMatch
        } else {
            Reason::Match
        },
        covered: Some(if matches.is_empty() { 0.0 } else { 0.375 }),
        recipe: "documented".parse().expect("a name"),
        recipes: vec!["documented".parse().expect("a name")],
        coverage: None,
        uncompared: 0,
        gems: 20,
        looked_up: 20,
        common_gems: 0,
        allowed_gems: 0,
        day: jiff::civil::date(2026, 1, 31),
        rule: Rule::default(),
        total: matches.len(),
        informational: 0,
        disabled: 0,
        e_value: None,
        matches,
        disguise: None,
        filed: None,
        text_kept: None,
        libraries: BTreeSet::new(),
        decided_by: None,
        note: None,
    }
}

fn printed(width: usize, name: &str, report: &Report, bytes: Option<u64>) -> String {
    printed_in(English, width, name, report, bytes)
}

fn printed_in(
    language: Language,
    width: usize,
    name: &str,
    report: &Report,
    bytes: Option<u64>,
) -> String {
    let mut out = Vec::new();
    TerminalPage::new(&mut out, false)
        .of_width(width)
        .report(language, name, report, bytes)
        .expect("memory");
    String::from_utf8(out).expect("text")
}

fn page(
    language: Language,
    name: &str,
    report: &Report,
    bytes: Option<u64>,
    texts: &PageTexts<'_>,
) -> String {
    let checked = CheckedReport {
        name,
        report,
        bytes,
        texts,
        when: Timestamp::UNIX_EPOCH,
        standing: None,
        in_console: false,
        of_book: false,
        book_page: &|_| None,
    };
    html_report(language, name, &report_part(language, &checked))
}

fn example(trick: Trick, before: &str, word: &str, after: &str) -> DisguisedWord {
    let bytes = Place {
        start: 1_204,
        end: 1_204 + word.len() as u64,
    };
    DisguisedWord {
        trick,
        bytes,
        position: None,
        before: before.into(),
        word: word.into(),
        after: after.into(),
    }
}

/// Words hidden in every way.
fn hidden_in_all_ways() -> HiddenText {
    let ways = (1_000..)
        .zip(Hiding::ALL)
        .map(|(words, how)| HiddenCount { method: how, words })
        .collect();
    HiddenText {
        words: 12_066,
        share: 0.61,
        methods: ways,
    }
}

fn disguised(examples: Vec<DisguisedWord>) -> Disguise {
    Disguise {
        disguised: true,
        share: 0.38,
        invisible: 0,
        look_alikes: 1_204,
        marks: 0,
        letter_spaced: 0,
        digits: 0,
        hyphens: 0,
        markup: 0,
        misspelled: 0,
        examples,
        hidden: None,
    }
}
