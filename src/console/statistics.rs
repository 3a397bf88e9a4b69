//! Figures over time, the state of the store, and what is wrong.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use actix_web::HttpResponse;
use actix_web::web::{self, Query, ServiceConfig};
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};
use maud::{Markup, html};
use serde::Deserialize;

use super::failure::PageFailure;
use super::layout::{Here, HtmlPage, size, table, terms};
use super::plot::{Bar, PlotLine, bars, plot};
use super::visitor::Visitor;
use lapidary_catalogue::api::{
    CheckStatistics, ClusterStats, Finding, FindingCode, Findings, History, Sample, Stats,
};
use lapidary_catalogue::today;
use lapidary_language::Language;
use lapidary_operations::status::{Diagnose, ShowCheckStatistics, ShowHistory, ShowStats};
use lapidary_report::clean;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/statistics", web::get().to(page));
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatisticsPeriod {
    of: String,
    since: String,
    until: String,
    /// What a check costs, in any currency.
    price: String,
}

async fn page(
    visitor: Visitor,
    wanted: Query<StatisticsPeriod>,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let of = if wanted.of == "week" { "week" } else { "hour" };
    let days = [("since", wanted.since.as_str()), ("until", &wanted.until)];
    let given: Vec<_> = days
        .into_iter()
        .filter(|(_, day)| !day.is_empty())
        .collect();
    let checks = visitor.list::<ShowCheckStatistics>(&[], &given).await?;
    let history = visitor.list::<ShowHistory>(&[], &[("period", of)]).await?;
    let stats = visitor.call::<ShowStats>(&[], ()).await?;
    let Findings { findings } = visitor.call::<Diagnose>(&[], ()).await?;
    Ok(HtmlPage::new(Here::Statistics, language.c_statistics(), language.c_statistics_lead()).show(
        &visitor,
        &html! {
            (doctor(language, &findings))
            (checks_by_day(language, &checks, &wanted.price))
            section id="plots" hx-get=(format!("/console/statistics?of={of}")) hx-trigger="every 30s" hx-select="#plots"
                hx-swap="outerHTML" {
                h2 { (language.c_over_time()) }
                @if stats.cluster.is_some() && of == "hour" { p class="quiet" { (language.c_of_this_server()) } }
                (periods(language, of))
                @if history.samples.is_empty() { p class="quiet" { (language.c_no_figures()) } }
                @else { div class="plots" { (plots(language, &history)) } }
            }
            (store(language, &stats))
            @if let Some(cluster) = &stats.cluster { (nodes(language, cluster)) }
            (terms_of_statistics(language))
        },
    ))
}

/// The checks of some days, which survive restarts, and what they cost if each has this price.
fn checks_by_day(language: Language, checks: &CheckStatistics, price: &str) -> Markup {
    let price = price.parse().ok();
    let price = price.filter(|price: &f64| price.is_finite() && *price > 0.0);
    html! {
        section id="checks" {
            h2 { (language.c_checks_by_day()) }
            (period_form(language, checks, price))
            @if checks.days.is_empty() {
                p class="quiet" { (language.c_no_checks()) }
            } @else {
                div class="two" {
                    (facts(language, checks, price))
                    (bars(&language.c_checks_by_day(), &bars_of(language, checks), |most| language.number(most)))
                }
                (counted(language, &language.c_who(), price, checks.actors.iter().map(|of| (&of.actor, &of.checks, of.characters))))
                // A check of two libraries is counted for both, and paid for once.
                (counted(language, &language.c_library(), None, checks.libraries.iter().map(|of| (&of.library, &of.checks, of.characters))))
            }
        }
    }
}

/// The days and the price that are shown, to change.
fn period_form(language: Language, checks: &CheckStatistics, price: Option<f64>) -> Markup {
    html! {
        form method="get" class="card search" {
            @for (name, label, day) in [
                ("since", language.c_first_day(), checks.since),
                ("until", language.c_last_day(), checks.until),
            ] {
                div { label for=(name) { (label) } input type="date" id=(name) name=(name) value=(day); }
            }
            div {
                label for="price" { (language.c_price()) }
                input type="number" id="price" name="price" min="0" step="any" value=[price];
            }
            button type="submit" class="main" { (language.c_show()) }
        }
        div class="buttons" {
            @for (name, since, until) in months(language, today()) {
                a href=(address(since, until, price)) class="button"
                    aria-current=[((since, until) == (checks.since, checks.until)).then_some("true")] { (name) }
            }
        }
    }
}

/// The totals of all days.
fn facts(language: Language, checks: &CheckStatistics, price: Option<f64>) -> Markup {
    let days: Vec<&Counts> = checks.days.iter().map(|day| &day.checks).collect();
    let all: u64 = days.iter().flat_map(|counts| counts.values()).sum();
    let characters = checks.days.iter().map(|day| day.characters).sum();
    html! {
        dl class="facts" {
            @for (label, count) in totals(language, &days) { dt { (label) } dd { (language.number(count)) } }
            dt { (language.c_characters()) } dd { (language.number(characters)) }
            @if let Some(price) = price { dt { (language.c_cost()) } dd { (cost(language, all, price)) } }
        }
    }
}

/// Where these days are shown.
fn address(since: Date, until: Date, price: Option<f64>) -> String {
    let price = price.map_or_else(String::new, |price| format!("&price={price}"));
    format!("/console/statistics?since={since}&until={until}{price}")
}

fn cost(language: Language, checks: u64, price: f64) -> String {
    language.decimal(checks as f64 * price, 2)
}

/// This month until today, and the last one: the name, the first day and the last.
fn months(language: Language, today: Date) -> [(String, Date, Date); 2] {
    let first = today.first_of_month();
    let before = first.saturating_sub(1.day());
    [
        (language.c_this_month(), first, today),
        (language.c_last_month(), before.first_of_month(), before),
    ]
}

/// Numbers of checks, by verdict.
type Counts = BTreeMap<String, u64>;

/// The verdicts that are counted together, with their name.
fn groups(language: Language) -> [(String, &'static [&'static str]); 3] {
    [
        (language.c_forbidding(), &["forbidden", "protected"]),
        (language.outcome_free(), &["free", "public_domain"]),
        (language.c_other_checks(), &["unknown", "not_checked"]),
    ]
}

fn number(counts: &Counts, verdicts: &[&str]) -> u64 {
    verdicts.iter().filter_map(|name| counts.get(*name)).sum()
}

/// The number of all checks and of each group.
fn totals(language: Language, days: &[&Counts]) -> Vec<(String, u64)> {
    let all = days.iter().flat_map(|counts| counts.values()).sum();
    let of_groups = groups(language).into_iter().map(|(name, verdicts)| {
        let count = days.iter().map(|counts| number(counts, verdicts)).sum();
        (name, count)
    });
    [(language.c_checks(), all)]
        .into_iter()
        .chain(of_groups)
        .collect()
}

/// A bar for each day between the first and the last one that was asked for.
fn bars_of(language: Language, checks: &CheckStatistics) -> Vec<Bar> {
    let of_day = |day: Date| checks.days.iter().find(|of| of.day == day);
    let days = checks
        .since
        .series(1.day())
        .take_while(|day| *day <= checks.until);
    days.map(|day| {
        let none = Counts::new();
        let counts = of_day(day).map_or(&none, |of| &of.checks);
        let totals = totals(language, &[counts]).into_iter();
        let words = totals.map(|(name, count)| format!("{name} {}", language.number(count)));
        Bar {
            day,
            whole: counts.values().sum(),
            part: number(counts, &["forbidden", "protected"]),
            words: format!("{day}: {}", words.collect::<Vec<_>>().join(", ")),
        }
    })
    .collect()
}

/// A table of checks by what is in its first column, if there are any, and of what they cost.
fn counted<'a>(
    language: Language,
    head: &str,
    price: Option<f64>,
    all: impl Iterator<Item = (&'a String, &'a Counts, u64)>,
) -> Markup {
    let mut all: Vec<_> = all.collect();
    if all.is_empty() {
        return html! {};
    }
    all.sort_by_key(|(_, counts, _)| Reverse(counts.values().sum::<u64>()));
    let heads = [head.to_owned(), language.c_checks()];
    let heads: Vec<String> = heads
        .into_iter()
        .chain(groups(language).map(|(name, _)| name))
        .chain([language.c_characters()])
        .chain(price.map(|_| language.c_cost()))
        .collect();
    let rows = html! {
        @for (name, counts, characters) in all {
            tr {
                td { (clean(name)) }
                @for (_, count) in totals(language, &[counts]) { td { (language.number(count)) } }
                td { (language.number(characters)) }
                @if let Some(price) = price { td { (cost(language, counts.values().sum(), price)) } }
            }
        }
    };
    table(head, &heads, &rows)
}

fn terms_of_statistics(language: Language) -> Markup {
    terms(
        language,
        [
            (language.c_latency(), language.c_term_latency_is()),
            (language.c_recipe(), language.c_term_recipe_is()),
            (language.c_term_gem(), language.c_term_gem_is()),
            (language.c_postings(), language.c_term_postings_is()),
        ],
    )
}

/// The links to both periods, of which one is current.
fn periods(language: Language, current: &str) -> Markup {
    html! {
        div class="buttons" {
            @for (name, label) in [("hour", language.c_hour()), ("week", language.c_week())] {
                a href=(format!("/console/statistics?of={name}")) class="button"
                    aria-current=[(name == current).then_some("true")] { (label) }
            }
        }
    }
}

/// What a finding is about.
fn concern(language: Language, concern: FindingCode) -> String {
    match concern {
        FindingCode::ProbingKey => language.c_concern_probing_key(),
        FindingCode::WeakDefault => language.c_concern_weak_default(),
        FindingCode::MissedBooks => language.c_concern_missed_books(),
        FindingCode::IncompleteRecipe => language.c_concern_incomplete_recipe(),
        FindingCode::OldLexicon => language.c_concern_old_lexicon(),
        FindingCode::Quarantine => language.c_concern_quarantine(),
        FindingCode::WeakRule => language.c_concern_weak_rule(),
        FindingCode::MissingClientRecipe => language.c_concern_missing_client_recipe(),
        FindingCode::FailedJob => language.c_concern_failed_job(),
        FindingCode::WaitingJob => language.c_concern_waiting_job(),
        FindingCode::Inconsistent => language.c_concern_inconsistent(),
        FindingCode::NoBackup => language.c_concern_no_backup(),
        FindingCode::OldBackup => language.c_concern_old_backup(),
        FindingCode::ExpiredKey => language.c_concern_expired_key(),
        FindingCode::ExpiringKey => language.c_concern_expiring_key(),
        FindingCode::UnstatedTrust => language.c_concern_unstated_trust(),
        FindingCode::KeyMayNotForbid => language.c_concern_key_may_not_forbid(),
        FindingCode::FailingWebhook => language.c_concern_failing_webhook(),
        FindingCode::DiskNearlyFull => language.c_concern_disk_nearly_full(),
        FindingCode::EvidenceFull => language.c_concern_evidence_full(),
        FindingCode::WatchesFull => language.c_concern_watches_full(),
        FindingCode::NoReserve => language.c_concern_no_reserve(),
        FindingCode::NotWritable => language.c_concern_not_writable(),
        FindingCode::StoreErrors => language.c_concern_store_errors(),
        FindingCode::LostData => language.c_concern_lost_data(),
        FindingCode::EvictingNode => language.c_concern_evicting_node(),
        FindingCode::MissingReplica => language.c_concern_missing_replica(),
        FindingCode::NotPersistent => language.c_concern_not_persistent(),
        FindingCode::NodeNearlyFull => language.c_concern_node_nearly_full(),
        FindingCode::MissingCatalogue => language.c_concern_missing_catalogue(),
        FindingCode::ExpiringCertificate => language.c_concern_expiring_certificate(),
        FindingCode::UnreachableProvider => language.c_concern_unreachable_provider(),
    }
}

/// What the doctor found.
fn doctor(language: Language, findings: &[Finding]) -> Markup {
    html! {
        section id="doctor" {
            h2 { (language.c_doctor()) }
            @if findings.is_empty() { p class="good" { (language.c_healthy()) } }
            @for finding in findings {
                article class="card warn" {
                    h3 { (concern(language, finding.code)) }
                    p { (clean(&finding.detail)) ": " (clean(&finding.reason)) }
                    p { (language.c_fix()) ": " code { (clean(&finding.fix)) } }
                }
            }
        }
    }
}

/// The most missing intervals that are drawn as one gap.
const MOST_MISSING: i64 = 1_000;

/// A time, and the figures of the interval that ended then.
type Moment<'h> = (Timestamp, Option<&'h Sample>);

/// All intervals from the first one to the last, those that are missing included.
fn moments(history: &History) -> Vec<Moment<'_>> {
    let interval = i64::from(history.interval_seconds.max(1));
    let mut all: Vec<Moment<'_>> = Vec::new();
    for sample in &history.samples {
        if let Some((last, _)) = all.last().copied() {
            let passed = sample.timestamp.duration_since(last).as_secs() / interval;
            let missing = (1..passed.min(MOST_MISSING)).map(|number| (number * interval).seconds());
            all.extend(missing.filter_map(|after| Some((last.checked_add(after).ok()?, None))));
        }
        all.push((sample.timestamp, Some(sample)));
    }
    all
}

/// How many checks of a sample had one of these verdicts.
fn verdicts(sample: &Sample, names: &[&str]) -> f64 {
    let counts = names.iter().filter_map(|name| sample.checks.get(*name));
    counts.sum::<u64>() as f64
}

fn line(
    moments: &[Moment<'_>],
    name: String,
    class: &'static str,
    of: impl Fn(&Sample) -> Option<f64>,
) -> PlotLine {
    PlotLine {
        name,
        class,
        values: moments
            .iter()
            .map(|(_, sample)| sample.and_then(&of))
            .collect(),
    }
}

/// Draws a single number of each sample.
fn plot_total(
    title: &str,
    moments: &[Moment<'_>],
    times: &[Timestamp],
    of: impl Fn(&Sample) -> u64,
    words: impl Fn(u64) -> String,
) -> Markup {
    let total = line(moments, String::new(), "hue-main", |sample| {
        Some(of(sample) as f64)
    });
    plot(title, times, &[total], |value| words(value as u64))
}

/// How many checks a minute had which verdict.
fn checks(language: Language, moments: &[Moment<'_>], minutes: f64) -> [PlotLine; 3] {
    [
        (
            language.outcome_protected(),
            "hue-bad",
            &["forbidden", "protected"][..],
        ),
        (
            language.outcome_free(),
            "hue-main",
            &["free", "public_domain"],
        ),
        (language.c_other_checks(), "hue-quiet", &["unknown"]),
    ]
    .map(|(name, class, of)| {
        line(moments, name, class, |sample| {
            Some(verdicts(sample, of) / minutes)
        })
    })
}

fn milliseconds(seconds: f64) -> f64 {
    seconds * 1e3
}

fn plots(language: Language, history: &History) -> Markup {
    let moments = moments(history);
    let times: Vec<Timestamp> = moments.iter().map(|(time, _)| *time).collect();
    let checks = checks(
        language,
        &moments,
        f64::from(history.interval_seconds) / 60.0,
    );
    let latency = [
        line(&moments, language.c_median(), "hue-main", |sample| {
            sample.median_seconds.map(milliseconds)
        }),
        line(&moments, language.c_slowest(), "hue-bad", |sample| {
            sample.p99_seconds.map(milliseconds)
        }),
    ];
    let short = |value: f64| language.decimal(value, usize::from(value < 10.0));
    let bytes = |bytes| size(language, bytes);
    html! {
        (plot(&language.c_checks(), &times, &checks, |value| language.c_in_minute(&short(value))))
        (plot(&language.c_latency(), &times, &latency, |value| language.c_milliseconds(&short(value))))
        (plot_total(&language.c_books(), &moments, &times, |sample| sample.books, |books| language.number(books)))
        (plot_total(&language.c_disk(), &moments, &times, |sample| sample.disk_bytes, bytes))
        (plot_total(&language.c_memory(), &moments, &times, |sample| sample.memory_bytes, bytes))
    }
}

fn store(language: Language, stats: &Stats) -> Markup {
    let heads = [
        language.c_name(),
        language.c_books(),
        language.head_gems(),
        language.c_state(),
    ];
    let rows = html! {
        @for recipe in &stats.recipes {
            tr {
                td { (recipe.recipe.as_str()) }
                td { (language.number(recipe.books)) }
                td { (language.number(recipe.gems)) }
                td {
                    @if recipe.default { (language.c_default()) " " }
                    @if recipe.ready { (language.c_ready()) } @else { (language.c_incomplete()) }
                }
            }
        }
    };
    html! {
        section {
            h2 { (language.c_store()) }
            dl class="facts" {
                dt { (language.c_books()) } dd { (language.number(stats.books)) }
                dt { (language.c_disabled()) } dd { (language.number(stats.disabled)) }
                dt { (language.c_disk()) } dd { (size(language, stats.disk_bytes)) }
                dt { (language.c_postings()) } dd { (size(language, stats.posting_bytes)) }
                dt { (language.c_evidence()) }
                dd { (language.number(stats.evidence.texts)) " (" (size(language, stats.evidence.bytes)) ")" }
                dt { (language.c_watched()) }
                dd { (language.number(stats.watched.checks)) " (" (size(language, stats.watched.bytes)) ")" }
            }
            (table(&language.c_recipes(), &heads, &rows))
        }
    }
}

fn nodes(language: Language, cluster: &ClusterStats) -> Markup {
    let heads = [
        language.c_node(),
        language.c_state(),
        language.c_memory(),
        language.c_replicas(),
        language.c_lag(),
    ];
    let rows = html! {
        @for node in &cluster.nodes {
            tr {
                td { (clean(&node.address)) }
                td { @if node.primary { (language.c_primary()) } @else { (language.c_replica()) } }
                td {
                    (size(language, node.memory_bytes))
                    @if let Some(most) = node.max_memory_bytes { " / " (size(language, most)) }
                }
                @if node.primary {
                    td { (language.number(node.replicas)) }
                    td { (size(language, node.lag_bytes)) }
                } @else { td {} td {} }
            }
        }
    };
    html! {
        section {
            h2 { (language.c_cluster()) }
            (table(&language.c_cluster(), &heads, &rows))
            dl class="facts" { dt { (language.c_failovers()) } dd { (language.number(cluster.failovers)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_end_with_their_last_day() {
        let of = |day: &str| {
            months(Language::English, day.parse().unwrap())
                .map(|(_, since, until)| format!("{since} {until}"))
        };
        assert_eq!(
            of("2027-01-01"),
            ["2027-01-01 2027-01-01", "2026-12-01 2026-12-31"]
        );
        assert_eq!(
            of("2028-03-31"),
            ["2028-03-01 2028-03-31", "2028-02-01 2028-02-29"]
        );
    }

    #[test]
    fn intervals_that_are_missing_are_gaps() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let sample = |second| Sample {
            timestamp: at(second),
            checks: BTreeMap::new(),
            median_seconds: None,
            p99_seconds: None,
            books: 1,
            disk_bytes: 0,
            memory_bytes: 0,
        };
        // The clock of a server is never exact.
        let history = History {
            interval_seconds: 600,
            samples: [0, 603, 1_205, 3_010].map(sample).into(),
        };
        let moments = moments(&history);
        let times: Vec<_> = moments.iter().map(|(time, _)| *time).collect();
        assert_eq!(times, [0, 603, 1_205, 1_805, 2_405, 3_010].map(at));
        let books = line(&moments, String::new(), "", |of| Some(of.books as f64));
        let one = Some(1.0);
        assert_eq!(books.values, [one, one, one, None, None, one]);
    }
}
