//! Figures over time, the state of the store, and what is wrong.

use actix_web::HttpResponse;
use actix_web::web::{self, Query, ServiceConfig};
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use super::failure::PageFailure;
use super::layout::{Here, HtmlPage, size, table, terms};
use super::plot::{PlotLine, plot};
use super::visitor::Visitor;
use lapidary_catalogue::api::{
    ClusterStats, Finding, FindingCode, Findings, History, Sample, Stats,
};
use lapidary_language::Language;
use lapidary_operations::status::{Diagnose, ShowHistory, ShowStats};
use lapidary_report::clean;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/statistics", web::get().to(page));
}

#[derive(Deserialize)]
struct StatisticsPeriod {
    #[serde(default)]
    of: String,
}

async fn page(
    visitor: Visitor,
    wanted: Query<StatisticsPeriod>,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let of = if wanted.of == "week" { "week" } else { "hour" };
    let history = visitor.list::<ShowHistory>(&[], &[("period", of)]).await?;
    let stats = visitor.call::<ShowStats>(&[], ()).await?;
    let Findings { findings } = visitor.call::<Diagnose>(&[], ()).await?;
    Ok(HtmlPage::new(Here::Statistics, language.c_statistics(), language.c_statistics_lead()).show(
        &visitor,
        &html! {
            (doctor(language, &findings))
            section id="plots" hx-get=(format!("/console/statistics?of={of}")) hx-trigger="every 30s" hx-select="#plots"
                hx-swap="outerHTML" {
                h2 { (language.c_over_time()) }
                @if stats.cluster.is_some() { p class="quiet" { (language.c_of_this_server()) } }
                (periods(language, of))
                div class="plots" { (plots(language, &history)) }
            }
            (store(language, &stats))
            @if let Some(cluster) = &stats.cluster { (nodes(language, cluster)) }
            (terms_of_statistics(language))
        },
    ))
}

fn terms_of_statistics(language: Language) -> Markup {
    terms(
        language,
        [
            (language.c_latency(), language.c_term_latency_is()),
            (
                language.recipe("", 1).trim().to_owned(),
                language.c_term_recipe_is(),
            ),
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
                    // Numbers and names are in the words of the API, which are English.
                    p lang="en" { (clean(&finding.detail)) ": " (clean(&finding.reason)) }
                    p { (language.c_fix()) ": " code { (clean(&finding.fix)) } }
                }
            }
        }
    }
}

/// How many checks of a sample had one of these verdicts.
fn verdicts(sample: &Sample, names: &[&str]) -> f64 {
    let counts = names.iter().filter_map(|name| sample.checks.get(*name));
    counts.sum::<u64>() as f64
}

fn line(
    samples: &[Sample],
    name: String,
    class: &'static str,
    of: impl Fn(&Sample) -> Option<f64>,
) -> PlotLine {
    PlotLine {
        name,
        class,
        values: samples.iter().map(of).collect(),
    }
}

/// Draws a single number of each sample.
fn plot_total(
    title: &str,
    samples: &[Sample],
    times: &[Timestamp],
    of: impl Fn(&Sample) -> u64,
    words: impl Fn(u64) -> String,
) -> Markup {
    let total = line(samples, String::new(), "hue-main", |sample| {
        Some(of(sample) as f64)
    });
    plot(title, times, &[total], |value| words(value as u64))
}

/// How many checks a minute had which verdict.
fn checks(language: Language, history: &History) -> [PlotLine; 3] {
    let minutes = f64::from(history.interval_seconds) / 60.0;
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
        line(&history.samples, name, class, |sample| {
            Some(verdicts(sample, of) / minutes)
        })
    })
}

fn milliseconds(seconds: f64) -> f64 {
    seconds * 1e3
}

fn plots(language: Language, history: &History) -> Markup {
    let samples = &history.samples;
    let times: Vec<Timestamp> = samples.iter().map(|sample| sample.timestamp).collect();
    let latency = [
        line(samples, language.c_median(), "hue-main", |sample| {
            sample.median_seconds.map(milliseconds)
        }),
        line(samples, language.c_slowest(), "hue-bad", |sample| {
            sample.p99_seconds.map(milliseconds)
        }),
    ];
    let short = |value: f64| language.decimal(value, usize::from(value < 10.0));
    let bytes = |bytes| size(language, bytes);
    html! {
        (plot(&language.c_checks(), &times, &checks(language, history), |value| language.c_in_minute(&short(value))))
        (plot(&language.c_latency(), &times, &latency, |value| language.c_milliseconds(&short(value))))
        (plot_total(&language.c_books(), samples, &times, |sample| sample.books, |books| language.number(books)))
        (plot_total(&language.c_disk(), samples, &times, |sample| sample.disk_bytes, bytes))
        (plot_total(&language.c_memory(), samples, &times, |sample| sample.memory_bytes, bytes))
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
