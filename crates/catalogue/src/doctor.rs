//! Finds what is unhealthy about a catalogue, from what it already knows: nothing is read that grows with the number of
//! books.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use lapidary_gems::{Recipe, RecipeName, Rule};
use lapidary_language::Language;

use super::libraries::Statements;
use super::versions::MANY;
use super::{Backups, Catalogue, CatalogueError, EvidenceLimits, WatchLimits};
use crate::api::FindingCode::{
    DiskNearlyFull, EvidenceFull, ExpiredKey, ExpiringKey, FailedJob, FailingWebhook,
    IncompleteRecipe, Inconsistent, KeyMayNotForbid, MissedBooks, MissingClientRecipe, NoBackup,
    NoReserve, NotWritable, OldBackup, OldLexicon, ProbingKey, Quarantine, StoreErrors,
    UnstatedTrust, WaitingJob, WatchesFull, WeakDefault, WeakRule,
};
use crate::api::{
    DeliveryFailure, EvidenceStats, Finding, FindingCode, Job, JobResult, JobState, Key,
    KeyWebhook, LibraryListing, ReindexInput, Task, WatchStats, Webhook,
};
use crate::permission::{Permission, Unless};
use lapidary_common::error::{Classified as _, ErrorCode};
use lapidary_common::shell::quoted;
use lapidary_store::{Coverage, Library, LibrarySummary, Snapshot, StoreError, Vitals};

/// How long before its end a key or a certificate expires soon.
pub const SOON: SignedDuration = SignedDuration::from_hours(14 * 24);
/// A backup older than this is old.
const OLD: SignedDuration = SignedDuration::from_hours(7 * 24);
/// A lexicon is old if the catalogue has this many times the books that it counts.
const GROWN: u64 = 2;
/// How many books of a library are read to see whether any is forbidden.
const MOST_READ: usize = 1_000;
/// How many libraries a finding names.
const NAMED: usize = 5;
const MIB: u64 = 1 << 20;
/// The command that repairs what `verify` found.
const REPAIR: &str = "lapidary verify TARGET --fix";

impl Finding {
    /// A finding: what is wrong, why that matters, and what to do.
    #[must_use]
    pub fn new(code: FindingCode, detail: String, reason: String, fix: String) -> Self {
        Self {
            code,
            detail,
            reason,
            fix,
        }
    }
}

/// Finds what is unhealthy, and says it in this language. A disk with less than `min_free` free bytes is nearly full.
pub fn diagnose(
    language: Language,
    catalogue: &Catalogue,
    min_free: u64,
) -> Result<Vec<Finding>, CatalogueError> {
    let now = Timestamp::now();
    let cluster = catalogue.cluster();
    let lost = cluster
        .as_ref()
        .and_then(|cluster| super::nodes::of_losses(language, cluster));
    if let Some(lost) = lost {
        // Nothing else can be found out.
        return Ok(vec![lost]);
    }
    let snapshot = catalogue.store.snapshot();
    let (mut findings, books) = of_all_recipes(language, catalogue, &*snapshot)?;
    let jobs = catalogue.jobs().all()?;
    findings.extend(of_jobs(language, &jobs));
    if catalogue.store.folder().is_some() && books > 0 {
        findings.extend(of_backups(language, &jobs, &catalogue.backups, now));
    }
    of_tenants(language, catalogue, &*snapshot, now, &mut findings)?;
    findings.extend(
        catalogue
            .versions
            .of_many(now)
            .iter()
            .map(|key| of_versions(language, key)),
    );
    findings.extend(of_webhooks(language, catalogue)?);
    findings.extend(of_filed_checks(language, catalogue)?);
    let vitals = catalogue.vitals()?;
    findings.extend(
        vitals
            .iter()
            .flat_map(|vitals| of_store(language, vitals, min_free)),
    );
    if let Some(cluster) = cluster {
        let is_untouched = catalogue.copying().is_untouched()?;
        findings.extend(super::nodes::of_cluster(language, &cluster, is_untouched));
    }
    if let Err(error) = catalogue.writable() {
        findings.push(of_writes(language, &error));
    }
    Ok(findings)
}

fn of_webhooks(language: Language, catalogue: &Catalogue) -> Result<Vec<Finding>, CatalogueError> {
    let webhooks = catalogue.webhooks();
    let (of_libraries, of_keys) = (webhooks.of_libraries()?, webhooks.of_keys()?);
    let of_libraries = of_libraries
        .iter()
        .filter_map(|webhook| of_webhook(language, webhook));
    let of_keys = of_keys
        .iter()
        .filter_map(|webhook| of_key_webhook(language, webhook));
    Ok(of_libraries.chain(of_keys).collect())
}

/// The findings about what is kept of filed checks.
fn of_filed_checks(
    language: Language,
    catalogue: &Catalogue,
) -> Result<Vec<Finding>, CatalogueError> {
    let (texts, watched) = (catalogue.evidence().stats()?, catalogue.watches().stats()?);
    Ok([
        of_evidence(language, catalogue.evidence, texts),
        of_watches(language, catalogue.watching, watched),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// The findings about recipes, and the number of books.
fn of_all_recipes(
    language: Language,
    catalogue: &Catalogue,
    snapshot: &dyn Snapshot,
) -> Result<(Vec<Finding>, u64), CatalogueError> {
    let recipes = catalogue.recipes().all();
    let coverages = recipes
        .iter()
        .map(|recipe| snapshot.coverage(recipe.name()))
        .collect::<Result<Vec<_>, _>>()?;
    let known: Vec<(&Recipe, Coverage)> = recipes.iter().zip(coverages).collect();
    let names: Vec<_> = recipes.iter().map(|recipe| recipe.name().clone()).collect();
    let mut findings = of_recipes(language, &known, snapshot.coverage_of_any(&names)?);
    findings.extend(
        known
            .iter()
            .filter_map(|(recipe, coverage)| of_lexicon(language, recipe, coverage.total)),
    );
    if let Some(recipe) = recipes.first() {
        findings.extend(of_rule(
            language,
            catalogue.rule.on(recipe.rule()),
            recipe.rule(),
        ));
    }
    findings.extend(
        catalogue
            .client_recipe
            .as_ref()
            .and_then(|name| of_client_recipe(language, name, &recipes)),
    );
    Ok((
        findings,
        known.first().map_or(0, |(_, coverage)| coverage.total),
    ))
}

/// What concerns keys and the libraries that they feed.
fn of_tenants(
    language: Language,
    catalogue: &Catalogue,
    snapshot: &dyn Snapshot,
    now: Timestamp,
    findings: &mut Vec<Finding>,
) -> Result<(), CatalogueError> {
    let (keys, trust) = (
        catalogue.keys().list()?,
        catalogue.libraries().statements()?,
    );
    findings.extend(
        keys.iter()
            .filter_map(|key| of_key(language, key, &trust, now)),
    );
    findings.extend(of_trust(language, &keys, &trust));
    findings.extend(of_bans(language, snapshot, &keys, &trust)?);
    let listed = catalogue.libraries().list()?;
    findings.extend(
        listed
            .iter()
            .filter_map(|listing| of_quarantine(language, listing)),
    );
    findings.extend(of_counts(language, &snapshot.libraries()?));
    Ok(())
}

fn of_writes(language: Language, error: &CatalogueError) -> Finding {
    let code = error.code();
    let fix = if code == ErrorCode::DiskFull {
        language.d_free_space_fix()
    } else {
        language.d_not_writable_fix()
    };
    let error = language.failure(Some(code.as_str()), &error.to_string());
    let what = language.d_not_writable(&error);
    Finding::new(NotWritable, what, language.d_not_writable_why(), fix)
}

fn of_quarantine(language: Language, listing: &LibraryListing) -> Option<Finding> {
    let (library, waiting) = (&listing.library, listing.quarantined);
    (waiting > 0).then(|| {
        Finding::new(
            Quarantine,
            language.d_quarantine(waiting, library.as_str()),
            language.d_quarantine_why(),
            language.d_quarantine_fix(&quoted(library.as_str())),
        )
    })
}

/// The books of libraries in a cluster that a version has written which did not count them by recipe.
fn of_counts(language: Language, libraries: &[Arc<LibrarySummary>]) -> Option<Finding> {
    let uncounted: BTreeSet<&Library> = libraries
        .iter()
        .filter(|of| !of.counts_recipes())
        .map(|of| &of.library)
        .collect();
    (!uncounted.is_empty()).then(|| {
        Finding::new(
            Inconsistent,
            language.d_uncounted(&some_of(language, &uncounted)),
            language.d_uncounted_why(),
            REPAIR.to_owned(),
        )
    })
}

/// `any`: how many books have gems of any of them.
fn of_recipes(language: Language, known: &[(&Recipe, Coverage)], any: Coverage) -> Vec<Finding> {
    let Some((&(default, of_default), others)) = known.split_first() else {
        return Vec::new();
    };
    let mut findings: Vec<Finding> = weak_default(language, default, known).into_iter().collect();
    if of_default.lacking() > 0 {
        findings.push(missed_books(language, default, of_default, any));
    }
    let incomplete = others.iter().filter(|(_, coverage)| coverage.lacking() > 0);
    findings.extend(
        incomplete.map(|(recipe, coverage)| incomplete_recipe(language, recipe, *coverage)),
    );
    findings
}

fn missed_books(
    language: Language,
    default: &Recipe,
    coverage: Coverage,
    any: Coverage,
) -> Finding {
    let what = language.d_missed_books(coverage.lacking(), default.name().as_str(), coverage.total);
    let command = reindex(default, false);
    let (why, fix) = if any.lacking() == 0 {
        (
            language.d_missed_books_of_others_why(),
            language.d_missed_books_of_others_fix(&command),
        )
    } else {
        (language.d_missed_books_why(), command)
    };
    Finding::new(MissedBooks, what, why, fix)
}

fn incomplete_recipe(language: Language, recipe: &Recipe, coverage: Coverage) -> Finding {
    let name = recipe.name().as_str();
    Finding::new(
        IncompleteRecipe,
        language.d_incomplete_recipe(coverage.lacking(), name, coverage.total),
        language.d_incomplete_recipe_why(),
        language.d_incomplete_recipe_fix(&reindex(recipe, false), name),
    )
}

/// The lexicon of a recipe in a catalogue of so many books.
fn of_lexicon(language: Language, recipe: &Recipe, books: u64) -> Option<Finding> {
    let documents = recipe.lexicon()?.documents();
    (books >= GROWN.saturating_mul(documents)).then(|| {
        Finding::new(
            OldLexicon,
            language.d_old_lexicon(recipe.name().as_str(), documents, books),
            language.d_old_lexicon_why(),
            language.d_old_lexicon_fix(),
        )
    })
}

fn weak_default(
    language: Language,
    default: &Recipe,
    known: &[(&Recipe, Coverage)],
) -> Option<Finding> {
    let why = match default {
        default if default.is_signature() => return None,
        default if default.boundaries().is_some() => language.d_weak_default_boundaries(),
        default if default.secret().is_none() => language.d_weak_default_public(),
        default if default.public_name() == Recipe::hardened().name().as_str() => {
            language.d_weak_default_sparse()
        }
        _ => return None,
    };
    let better = Recipe::hardened_compact();
    let better = better.name().as_str();
    let is_there = known.iter().any(|(recipe, coverage)| {
        recipe.secret().is_some() && recipe.public_name() == better && coverage.lacking() == 0
    });
    Some(Finding::new(
        WeakDefault,
        language.d_weak_default(default.name().as_str()),
        why,
        format!(
            "lapidary reindex TARGET --recipe {better}@secret{}",
            sources(is_there)
        ),
    ))
}

/// Of a key that checks many texts that one book matches.
fn of_versions(language: Language, key: &str) -> Finding {
    let key = quoted(key);
    Finding::new(
        ProbingKey,
        language.d_probing_key(&key, MANY as u64),
        language.d_probing_key_why(),
        language.d_probing_key_fix(&key),
    )
}

/// Where a re-index takes texts from, unless every book has gems of the recipe already.
fn sources(is_there: bool) -> &'static str {
    if is_there { "" } else { " --from sources PATH" }
}

/// The command that makes a recipe the default. `is_there`: every book has gems of it.
fn reindex(recipe: &Recipe, is_there: bool) -> String {
    let is_named = recipe.name().as_str().parse::<Recipe>().is_ok();
    let recipe = match recipe.name() {
        name if is_named => format!("--recipe {}", quoted(name.as_str())),
        name if recipe.secret().is_some() => format!("--recipe {name}"),
        name if recipe.is_signature() => {
            format!("--recipe {} --lexicon FILE", quoted(name.as_str()))
        }
        _ => "--boundaries FILE".to_owned(),
    };
    format!("lapidary reindex TARGET {recipe}{}", sources(is_there))
}

/// The settings that make `rule` stricter than `usual`.
fn of_rule(language: Language, rule: Rule, usual: Rule) -> Option<Finding> {
    let table = [
        ("--min-common", rule.min_common > usual.min_common),
        ("--min-share", rule.min_share > usual.min_share),
        ("--common-cap", rule.common_cap < usual.common_cap),
        ("--min-evidence", rule.min_evidence > usual.min_evidence),
        ("--min-support", rule.min_support > usual.min_support),
    ];
    let stricter: Vec<&str> = table
        .into_iter()
        .filter(|(_, stricter)| *stricter)
        .map(|(name, _)| name)
        .collect();
    (!stricter.is_empty()).then(|| {
        let stricter: Vec<String> = stricter.into_iter().map(str::to_owned).collect();
        let flags = language.list(&stricter);
        Finding::new(
            WeakRule,
            language.d_weak_rule(&flags),
            language.d_weak_rule_why(),
            language.d_weak_rule_fix(&flags),
        )
    })
}

fn of_client_recipe(language: Language, name: &RecipeName, recipes: &[Recipe]) -> Option<Finding> {
    let is_missing = !recipes.is_empty() && recipes.iter().all(|recipe| recipe.name() != name);
    is_missing.then(|| {
        Finding::new(
            MissingClientRecipe,
            language.d_missing_client_recipe(name.as_str()),
            language.d_missing_client_recipe_why(),
            language.d_missing_client_recipe_fix(name.as_str()),
        )
    })
}

/// The newest job of each kind. `jobs` has the newest first.
fn of_jobs(language: Language, jobs: &[Job]) -> Vec<Finding> {
    let mut kinds = BTreeSet::new();
    let newest = jobs.iter().filter(|job| kinds.insert(job.task.kind()));
    newest.filter_map(|job| of_job(language, job)).collect()
}

/// The command that starts a job like this one.
fn command_of(task: &Task) -> String {
    let command = match task {
        Task::Backup { .. } => "lapidary backup TARGET --to DIR",
        Task::Verify { .. } => "lapidary verify TARGET",
        Task::Compact {} => "lapidary compact TARGET",
        Task::Duplicates { .. } => "lapidary duplicates TARGET",
        Task::DropRecipe { recipe } => return format!("lapidary drop-recipe TARGET {recipe}"),
        Task::Reindex { recipe, .. } => match recipe.recipe() {
            Ok(recipe) => return reindex(&recipe, false),
            Err(_) => "lapidary reindex TARGET",
        },
    };
    command.to_owned()
}

fn waits_for_texts(task: &Task) -> bool {
    matches!(
        task,
        Task::Reindex {
            from: ReindexInput::Sources,
            ..
        }
    )
}

fn of_job(language: Language, job: &Job) -> Option<Finding> {
    let id = job.id.to_string();
    match (&job.state, &job.task, &job.result) {
        (JobState::Failed, task, _) => {
            let error = job.error.as_deref().map_or_else(
                || language.d_failed_job_unknown(),
                |error| language.failure(job.error_code.as_deref(), error),
            );
            Some(Finding::new(
                FailedJob,
                language.d_failed_job(&id, task.kind(), &error),
                language.d_failed_job_why(),
                language.d_failed_job_fix(&command_of(task)),
            ))
        }
        (JobState::Running, task, _) if waits_for_texts(task) => {
            let left = job.total.saturating_sub(job.done);
            Some(Finding::new(
                WaitingJob,
                language.d_waiting_job(&id, left),
                language.d_waiting_job_why(),
                language.d_waiting_job_fix(&command_of(task), &id),
            ))
        }
        (_, _, Some(JobResult::Verified(verified))) if !verified.faults.is_empty() => {
            Some(Finding::new(
                Inconsistent,
                language.d_inconsistent(&id, verified.faults.len() as u64),
                language.d_inconsistent_why(),
                REPAIR.to_owned(),
            ))
        }
        _ => None,
    }
}

fn of_backups(
    language: Language,
    jobs: &[Job],
    backups: &Backups,
    now: Timestamp,
) -> Option<Finding> {
    let last = jobs
        .iter()
        .filter(|job| matches!(job.task, Task::Backup { .. }) && job.state == JobState::Done)
        .filter_map(|job| job.finished_at)
        .max();
    let (code, what) = match last {
        None => (NoBackup, language.d_no_backup()),
        Some(last) if now.duration_since(last) > OLD => {
            (OldBackup, language.d_old_backup(&day(last)))
        }
        Some(_) => return None,
    };
    let fix = match backups {
        Backups::Nowhere => language.d_backup_nowhere_fix(),
        Backups::Below(_) => "lapidary backup TARGET".to_owned(),
        Backups::Anywhere => "lapidary backup TARGET --to DIR".to_owned(),
    };
    Some(Finding::new(code, what, language.d_backup_why(), fix))
}

fn of_key(language: Language, key: &Key, trust: &Statements, now: Timestamp) -> Option<Finding> {
    let (name, end) = (&key.name, key.expires_at?);
    if key.is_of_person() {
        return None;
    }
    if end <= now {
        return Some(Finding::new(
            ExpiredKey,
            language.d_expired_key(name, &day(end)),
            language.d_expired_key_why(),
            format!("lapidary keys revoke TARGET {}", quoted(name)),
        ));
    }
    (end.duration_since(now) < SOON).then(|| {
        Finding::new(
            ExpiringKey,
            language.d_expiring_key(name, &day(end)),
            language.d_expiring_key_why(),
            language.d_expiring_key_fix(&made_like(key, trust, &[])),
        )
    })
}

/// Whether a key ingests, and is no administrator's.
fn is_of_tenant(key: &Key) -> bool {
    key.permits(Permission::Ingest) && !key.permits(Permission::Administer)
}

/// The command that makes a key like this one with more permissions, but for its name.
fn made_like(key: &Key, trust: &Statements, and: &[Permission]) -> String {
    let mut command = "lapidary keys add TARGET".to_owned();
    if let Some(role) = key.role {
        command.extend([" --role ", role.as_str()]);
    }
    for permission in key.permissions.iter().chain(and) {
        command.extend([" --permission ", permission.as_str()]);
    }
    if is_of_tenant(key) {
        let trusted = key
            .libraries
            .iter()
            .all(|library| trust.is_trusted(library));
        command += if trusted {
            " --trusted"
        } else {
            " --untrusted"
        };
    }
    for library in &key.libraries {
        command += " --library ";
        command += &quoted(library.as_str());
    }
    if let Some(Unless::Protected) = key.must_gate {
        command += " --must-gate protected";
    }
    command
}

/// The libraries that have keys, and about which no administrator has said anything.
fn of_trust(language: Language, keys: &[Key], trust: &Statements) -> Option<Finding> {
    let ingest = keys.iter().filter(|key| is_of_tenant(key));
    let silent: BTreeSet<&Library> = ingest
        .flat_map(|key| &key.libraries)
        .filter(|library| trust.trusted(library).is_none())
        .collect();
    let first = silent.first()?;
    Some(Finding::new(
        UnstatedTrust,
        language.d_unstated_trust(&some_of(language, &silent)),
        language.d_unstated_trust_why(),
        language.d_unstated_trust_fix(&quoted(first.as_str())),
    ))
}

/// The names of the first of these libraries.
fn some_of(language: Language, libraries: &BTreeSet<&Library>) -> String {
    let named: Vec<String> = libraries
        .iter()
        .take(NAMED)
        .map(|library| language.quoted(library.as_str()))
        .collect();
    let more = if libraries.len() > NAMED { ", …" } else { "" };
    named.join(", ") + more
}

/// Keys that may not change the forbidden books that their libraries have.
fn of_bans(
    language: Language,
    snapshot: &dyn Snapshot,
    keys: &[Key],
    trust: &Statements,
) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    for key in keys
        .iter()
        .filter(|key| is_of_tenant(key) && !key.permits(Permission::Ban) && !key.has_expired())
    {
        let Some(library) = first_with_bans(snapshot, &key.libraries)? else {
            continue;
        };
        let revoke = format!("lapidary keys revoke TARGET {}", quoted(&key.name));
        let add = made_like(key, trust, &[Permission::Ban]) + " " + &quoted(&key.name);
        findings.push(Finding::new(
            KeyMayNotForbid,
            language.d_key_may_not_forbid(library.as_str(), &key.name),
            language.d_key_may_not_forbid_why(),
            language.d_key_may_not_forbid_fix(&revoke, &add),
        ));
    }
    Ok(findings)
}

/// The first of these libraries that has forbidden books among its first ones.
fn first_with_bans<'l>(
    snapshot: &dyn Snapshot,
    libraries: &'l BTreeSet<Library>,
) -> Result<Option<&'l Library>, StoreError> {
    for library in libraries {
        let books = snapshot.walk(library, None, MOST_READ)?;
        if books.iter().any(|(_, record)| record.is_banned()) {
            return Ok(Some(library));
        }
    }
    Ok(None)
}

fn of_webhook(language: Language, webhook: &Webhook) -> Option<Finding> {
    let library = webhook.library.as_str();
    let option = format!("--library {}", quoted(library));
    let failing = webhook.failure.as_ref()?;
    let owner = language.d_of_library(library);
    Some(of_failure(language, &owner, &option, &webhook.url, failing))
}

fn of_key_webhook(language: Language, webhook: &KeyWebhook) -> Option<Finding> {
    let option = format!("--key {}", quoted(&webhook.key));
    let failing = webhook.failure.as_ref()?;
    let owner = language.d_of_key(&webhook.key);
    Some(of_failure(language, &owner, &option, &webhook.url, failing))
}

fn of_failure(
    language: Language,
    owner: &str,
    option: &str,
    url: &str,
    failing: &DeliveryFailure,
) -> Finding {
    Finding::new(
        FailingWebhook,
        language.d_failing_webhook(owner, failing.attempts.into(), &failing.error),
        language.d_failing_webhook_why(),
        language.d_failing_webhook_fix(url, option),
    )
}

fn of_evidence(
    language: Language,
    limits: EvidenceLimits,
    texts: EvidenceStats,
) -> Option<Finding> {
    limits.are_nearly_reached(texts).then(|| {
        Finding::new(
            EvidenceFull,
            language.d_evidence_full(texts.bytes / MIB, limits.bytes / MIB),
            language.d_evidence_full_why(),
            language.d_evidence_full_fix(),
        )
    })
}

fn of_watches(language: Language, limits: WatchLimits, watched: WatchStats) -> Option<Finding> {
    limits.are_nearly_reached(watched).then(|| {
        Finding::new(
            WatchesFull,
            language.d_watches_full(watched.bytes / MIB, limits.bytes / MIB),
            language.d_watches_full_why(),
            language.d_watches_full_fix(),
        )
    })
}

fn of_store(language: Language, vitals: &Vitals, min_free: u64) -> Vec<Finding> {
    let mut findings = Vec::new();
    if vitals.disk.free < min_free {
        findings.push(Finding::new(
            DiskNearlyFull,
            language.d_disk_nearly_full(vitals.disk.free / MIB, min_free / MIB),
            language.d_disk_nearly_full_why(),
            language.d_free_space_fix(),
        ));
    }
    if vitals.disk.lacks_reserve {
        findings.push(Finding::new(
            NoReserve,
            language.d_no_reserve(),
            language.d_no_reserve_why(),
            language.d_no_reserve_fix(),
        ));
    }
    if vitals.background.errors > 0 || vitals.background.write_stopped {
        findings.push(Finding::new(
            StoreErrors,
            language.d_store_errors(vitals.background.errors),
            language.d_store_errors_why(),
            language.d_store_errors_fix(),
        ));
    }
    findings
}

fn day(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use crate::api::{BackedUp, Verified};
    use lapidary_store::{Background, CacheUse, Disk, PostingCounts};

    use super::*;
    use lapidary_language::Language::English;

    fn job(id: u32, task: Task, state: JobState) -> Job {
        let started = Timestamp::UNIX_EPOCH;
        Job {
            id,
            task,
            state,
            done: 1,
            total: 3,
            started_at: started,
            finished_at: Some(started),
            result: None,
            error: None,
            error_code: None,
        }
    }

    fn concerns(findings: impl IntoIterator<Item = Finding>) -> Vec<FindingCode> {
        findings.into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn a_failed_job_says_why_in_the_language_of_the_reader() {
        let failed = Job {
            error: Some("cannot write /srv".to_owned()),
            error_code: Some(ErrorCode::StoreFull.as_str().to_owned()),
            ..job(1, Task::Compact {}, JobState::Failed)
        };
        let told = |language| {
            of_jobs(language, std::slice::from_ref(&failed))[0]
                .detail
                .clone()
        };
        assert_eq!(told(English), "job 1 (compact) failed: cannot write /srv");
        let russian = told(Language::Russian);
        assert!(russian.contains("(cannot write /srv)"), "{russian}");
        let problem = Language::Russian.problem("store_full");
        assert!(russian.contains(&problem), "{russian}");
    }

    #[test]
    fn why_nothing_can_be_written_is_told_in_the_language_of_the_reader() {
        let error = CatalogueError::from(StoreError::DiskFull("/srv".to_owned()));
        let told = |language| of_writes(language, &error).detail;
        let (english, russian) = (told(English), told(Language::Russian));
        let problem = Language::Russian.problem("disk_full");
        assert!(english.ends_with(&format!(": {error}")), "{english}");
        assert!(
            russian.ends_with(&format!("{problem} ({error})")),
            "{russian}"
        );
    }

    #[test]
    fn the_last_job_of_a_kind_counts() {
        let verified = |id, faults: &[&str]| {
            let faults = faults.iter().map(|&fault| fault.to_owned()).collect();
            let result = Some(JobResult::Verified(Verified {
                faults,
                found: None,
                lost: None,
            }));
            Job {
                result,
                ..job(id, Task::Verify { fix: false }, JobState::Done)
            }
        };
        let compact = |id, state| job(id, Task::Compact {}, state);
        let jobs = [
            compact(5, JobState::Done),
            verified(4, &["a", "b"]),
            compact(3, JobState::Failed),
            verified(2, &[]),
            job(1, Task::Verify { fix: false }, JobState::Failed),
        ];
        let found = of_jobs(English, &jobs);
        assert_eq!(
            found[0].detail,
            "the last verification (job 4) found 2 inconsistencies"
        );
        assert_eq!((found.len(), found[0].code), (1, Inconsistent));
        assert_eq!(concerns(of_jobs(English, &jobs[2..])), [FailedJob]);
        assert_eq!(concerns(of_jobs(English, &jobs[3..])), []);
    }

    #[test]
    fn backups_grow_old() {
        let result = Some(JobResult::BackedUp(BackedUp {
            backup: 1,
            bytes: 1,
            backups: 1,
        }));
        let backup = |state| {
            let task = Task::Backup {
                to: "b".into(),
                keep: 7,
            };
            [Job {
                result: result.clone(),
                ..job(1, task, state)
            }]
        };
        let after = |hours| Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours);
        let found = |jobs: &[Job], hours| {
            concerns(of_backups(English, jobs, &Backups::Anywhere, after(hours)))
        };
        assert_eq!(found(&backup(JobState::Done), 7 * 24), []);
        assert_eq!(found(&backup(JobState::Done), 7 * 24 + 1), [OldBackup]);
        assert_eq!(found(&backup(JobState::Failed), 1), [NoBackup]);
    }

    #[test]
    fn disks_and_stores() {
        let reserved = |free, lacks_reserve, errors, write_stopped| Vitals {
            tables: Vec::new(),
            memtables: 0,
            postings: PostingCounts { main: 0, delta: 0 },
            merged_postings: 0,
            disk: Disk {
                used: 0,
                postings: 0,
                free,
                size: 100,
                read_only: false,
                lacks_reserve,
            },
            cache: CacheUse {
                capacity: 0,
                used: 0,
                pinned: 0,
                hits: 0,
                misses: 0,
            },
            background: Background {
                compactions: 0,
                flushes: 0,
                pending: 0,
                compaction_read: 0,
                compaction_written: 0,
                flush_written: 0,
                stalled: std::time::Duration::ZERO,
                write_stopped,
                errors,
            },
        };
        let vitals = |free, errors, write_stopped| reserved(free, false, errors, write_stopped);
        assert_eq!(
            concerns(of_store(English, &reserved(10, true, 0, false), 10)),
            [NoReserve]
        );
        assert_eq!(concerns(of_store(English, &vitals(10, 0, false), 10)), []);
        assert_eq!(
            concerns(of_store(English, &vitals(9, 0, false), 10)),
            [DiskNearlyFull]
        );
        assert_eq!(
            concerns(of_store(English, &vitals(10, 1, false), 10)),
            [StoreErrors]
        );
        assert_eq!(
            concerns(of_store(English, &vitals(10, 0, true), 10)),
            [StoreErrors]
        );
    }

    #[test]
    fn only_stricter_rules_find_less() {
        let usual = Recipe::hardened().rule();
        assert_eq!(concerns(of_rule(English, usual, usual)), []);
        let looser = Rule {
            min_common: 1,
            common_cap: u32::MAX,
            min_share: 0.0,
            min_support: 0.0,
            ..usual
        };
        assert_eq!(concerns(of_rule(English, looser, usual)), []);
        let stricter = of_rule(
            English,
            Rule {
                common_cap: 5,
                min_evidence: 3.0,
                ..usual
            },
            usual,
        )
        .expect("a finding");
        assert!(
            stricter
                .fix
                .ends_with("without --common-cap and --min-evidence"),
            "{}",
            stricter.fix
        );
    }
}
