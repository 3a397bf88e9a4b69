//! Finds what is unhealthy about a catalogue, from what it already knows: nothing is read that grows with the number of
//! books.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use lapidary_gems::{Recipe, RecipeName, Rule};

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
use lapidary_common::count::count;
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

impl Finding {
    /// A finding: what is wrong, why that matters, and what to do.
    pub fn new(
        concern: FindingCode,
        what: impl Into<String>,
        why: &str,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            code: concern,
            detail: what.into(),
            reason: why.to_owned(),
            fix: fix.into(),
        }
    }
}

/// Finds what is unhealthy. A disk with less than `min_free` free bytes is nearly full.
pub fn diagnose(catalogue: &Catalogue, min_free: u64) -> Result<Vec<Finding>, CatalogueError> {
    let now = Timestamp::now();
    let cluster = catalogue.cluster();
    if let Some(lost) = cluster.as_ref().and_then(super::nodes::of_losses) {
        // Nothing else can be found out.
        return Ok(vec![lost]);
    }
    let snapshot = catalogue.store.snapshot();
    let (mut findings, books) = of_all_recipes(catalogue, &*snapshot)?;
    let jobs = catalogue.jobs().all()?;
    findings.extend(of_jobs(&jobs));
    if catalogue.store.folder().is_some() && books > 0 {
        findings.extend(of_backups(&jobs, &catalogue.backups, now));
    }
    of_tenants(catalogue, &*snapshot, now, &mut findings)?;
    findings.extend(
        catalogue
            .versions
            .of_many(now)
            .iter()
            .map(|key| of_versions(key)),
    );
    let webhooks = catalogue.webhooks();
    findings.extend(webhooks.of_libraries()?.iter().filter_map(of_webhook));
    findings.extend(webhooks.of_keys()?.iter().filter_map(of_key_webhook));
    let texts = catalogue.evidence().stats()?;
    findings.extend(of_evidence(catalogue.evidence, texts));
    let watched = catalogue.watches().stats()?;
    findings.extend(of_watches(catalogue.watching, watched));
    let vitals = catalogue.vitals()?;
    findings.extend(vitals.iter().flat_map(|vitals| of_store(vitals, min_free)));
    if let Some(cluster) = cluster {
        let is_untouched = catalogue.copying().is_untouched()?;
        findings.extend(super::nodes::of_cluster(&cluster, is_untouched));
    }
    if let Err(error) = catalogue.writable() {
        findings.push(of_writes(&error));
    }
    Ok(findings)
}

/// The findings about recipes, and the number of books.
fn of_all_recipes(
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
    let mut findings = of_recipes(&known, snapshot.coverage_of_any(&names)?);
    findings.extend(
        known
            .iter()
            .filter_map(|(recipe, coverage)| of_lexicon(recipe, coverage.total)),
    );
    if let Some(recipe) = recipes.first() {
        findings.extend(of_rule(catalogue.rule.on(recipe.rule()), recipe.rule()));
    }
    findings.extend(
        catalogue
            .client_recipe
            .as_ref()
            .and_then(|name| of_client_recipe(name, &recipes)),
    );
    Ok((
        findings,
        known.first().map_or(0, |(_, coverage)| coverage.total),
    ))
}

/// What concerns keys and the libraries that they feed.
fn of_tenants(
    catalogue: &Catalogue,
    snapshot: &dyn Snapshot,
    now: Timestamp,
    findings: &mut Vec<Finding>,
) -> Result<(), CatalogueError> {
    let (keys, trust) = (
        catalogue.keys().list()?,
        catalogue.libraries().statements()?,
    );
    findings.extend(keys.iter().filter_map(|key| of_key(key, &trust, now)));
    findings.extend(of_trust(&keys, &trust));
    findings.extend(of_bans(snapshot, &keys, &trust)?);
    let listed = catalogue.libraries().list()?;
    findings.extend(listed.iter().filter_map(of_quarantine));
    findings.extend(of_counts(&snapshot.libraries()?));
    Ok(())
}

fn of_writes(error: &CatalogueError) -> Finding {
    let what = format!("the catalogue cannot be changed: {error}");
    let why = "books, keys and notes cannot be changed";
    let fix = if error.code() == ErrorCode::DiskFull {
        FREE_SPACE
    } else {
        MAKE_WRITABLE
    };
    Finding::new(NotWritable, what, why, fix)
}
const FREE_SPACE: &str = "free some space on the catalogue's disk";
const MAKE_WRITABLE: &str = "make the folder of the catalogue writable: see its owner, its permissions and how its disk is mounted";

fn of_quarantine(listing: &LibraryListing) -> Option<Finding> {
    let LibraryListing {
        library,
        quarantined,
        ..
    } = listing;
    let what = format!(
        "{} of library {library} in quarantine",
        count(*quarantined, "book waits", "books wait")
    );
    let why = "they share passages with several unrelated works of other libraries, and decide nothing for others";
    let library = quoted(library.as_str());
    let fix = format!(
        "look at them with `lapidary books list --library {library} --quarantined`; confirm those that are no collages with \
         `lapidary books confirm --library {library} ID`, and disable or remove the others"
    );
    (*quarantined > 0).then(|| Finding::new(Quarantine, what, why, fix))
}

/// The books of libraries in a cluster that a version has written which did not count them by recipe.
fn of_counts(libraries: &[Arc<LibrarySummary>]) -> Option<Finding> {
    let uncounted: BTreeSet<&Library> = libraries
        .iter()
        .filter(|of| !of.counts_recipes())
        .map(|of| &of.library)
        .collect();
    let what = format!(
        "the books of libraries are not counted by recipe: {}",
        some_of(&uncounted)
    );
    let why = "checks and the gate count books as not reached that they do reach";
    (!uncounted.is_empty())
        .then(|| Finding::new(Inconsistent, what, why, "lapidary verify TARGET --fix"))
}

/// `any`: how many books have gems of any of them.
fn of_recipes(known: &[(&Recipe, Coverage)], any: Coverage) -> Vec<Finding> {
    let Some((default, _)) = known.first() else {
        return Vec::new();
    };
    let mut findings: Vec<Finding> = weak_default(default, known).into_iter().collect();
    for (at, (recipe, coverage)) in known
        .iter()
        .enumerate()
        .filter(|(_, (_, coverage))| coverage.lacking() > 0)
    {
        let (name, lacking) = (
            recipe.name(),
            count(coverage.lacking(), "book has", "books have"),
        );
        findings.push(if at == 0 {
            let what = format!("{lacking} no gems of the default recipe '{name}', of {}", coverage.total);
            let (why, fix) = if any.lacking() == 0 {
                let fix = format!("{}; books that are known only by gems stay as they are", reindex(recipe, false));
                ("checks of texts use the other recipes too and take longer, and checks of gems miss them", fix)
            } else {
                ("checks find them only with the other recipes, or not at all", reindex(recipe, false))
            };
            Finding::new(MissedBooks, what, why, fix)
        } else {
            let what = format!("{lacking} no gems of the recipe '{name}', of {}", coverage.total);
            let why = "checks with that recipe do not find them";
            let fix = format!(
                "{} to complete it and make it the default, or lapidary drop-recipe TARGET {name}",
                reindex(recipe, false)
            );
            Finding::new(IncompleteRecipe, what, why, fix)
        });
    }
    findings
}

/// The lexicon of a recipe in a catalogue of so many books.
fn of_lexicon(recipe: &Recipe, books: u64) -> Option<Finding> {
    let (lexicon, name) = (recipe.lexicon()?, recipe.name());
    let documents = lexicon.documents();
    (books >= GROWN.saturating_mul(documents)).then(|| {
        let of = count(documents, "document", "documents");
        let what = format!("the lexicon of recipe '{name}' counts {of}, but the catalogue has {books} books");
        let why = "the weights of its words may no longer be those of the library";
        let fix = "see how many signatures would change with lapidary lexicon drift FILE PATH, and if many would, count a new \
                   lexicon and re-index";
        Finding::new(OldLexicon, what, why, fix)
    })
}

fn weak_default(default: &Recipe, known: &[(&Recipe, Coverage)]) -> Option<Finding> {
    let why = match default {
        default if default.is_signature() => return None,
        default if default.boundaries().is_some() => {
            "it misses most disguised copies, which 'hardened-compact' finds"
        }
        default if default.secret().is_none() => {
            "whoever reads how it works can edit a copy until nothing is found; a recipe with a secret finds it still"
        }
        default if default.public_name() == Recipe::hardened().name().as_str() => {
            "it misses paragraphs and short edited pieces, which 'hardened-compact' finds"
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
        format!("checks use the recipe '{}' by default", default.name()),
        why,
        format!(
            "lapidary reindex TARGET --recipe {better}@secret{}",
            sources(is_there)
        ),
    ))
}

/// Of a key that checks many texts that one book matches.
fn of_versions(key: &str) -> Finding {
    Finding::new(
        ProbingKey,
        format!(
            "the key {} has checked {MANY} texts within a day that one book matches",
            quoted(key)
        ),
        "whoever looks for edits after which a copy is not found any more does that",
        format!(
            "ask its owner; to stop it: lapidary keys revoke TARGET {}",
            quoted(key)
        ),
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
fn of_rule(rule: Rule, usual: Rule) -> Option<Finding> {
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
        let flags = stricter.join(" and ");
        let what =
            format!("the server's settings make the rule for a match stricter than the default recipe's ({flags})");
        Finding::new(
            WeakRule,
            what,
            "checks miss copies that they would find",
            format!("run lapidary serve without {flags}"),
        )
    })
}

fn of_client_recipe(name: &RecipeName, recipes: &[Recipe]) -> Option<Finding> {
    let is_missing = !recipes.is_empty() && recipes.iter().all(|recipe| recipe.name() != name);
    is_missing.then(|| {
        let what = format!("the setting client-recipe names '{name}', which is not a recipe of this catalogue");
        let fix = format!(
            "run lapidary serve without --client-recipe, or lapidary reindex TARGET --recipe {name} --from sources PATH"
        );
        Finding::new(MissingClientRecipe, what, "checks of existing clients are refused", fix)
    })
}

/// The newest job of each kind. `jobs` has the newest first.
fn of_jobs(jobs: &[Job]) -> Vec<Finding> {
    let mut kinds = BTreeSet::new();
    let newest = jobs.iter().filter(|job| kinds.insert(job.task.kind()));
    newest.filter_map(of_job).collect()
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

fn of_job(job: &Job) -> Option<Finding> {
    let (id, kind) = (job.id, job.task.kind());
    match (&job.state, &job.task, &job.result) {
        (JobState::Failed, task, _) => {
            let error = job.error.as_deref().unwrap_or("for an unknown reason");
            let again = command_of(task);
            let what = format!("job {id} ({kind}) failed: {error}");
            Some(Finding::new(
                FailedJob,
                what,
                "what it was to do is not done",
                format!("fix the cause, then {again}"),
            ))
        }
        (JobState::Running, task, _) if waits_for_texts(task) => {
            let left = count(job.total.saturating_sub(job.done), "text", "texts");
            let again = command_of(task);
            let fix = format!("{again}, or lapidary jobs cancel TARGET {id}");
            let why = "checks use the old recipe until then";
            Some(Finding::new(
                WaitingJob,
                format!("job {id} (reindex) waits for {left}"),
                why,
                fix,
            ))
        }
        (_, _, Some(JobResult::Verified(verified))) if !verified.faults.is_empty() => {
            let faults = count(
                verified.faults.len() as u64,
                "inconsistency",
                "inconsistencies",
            );
            let what = format!("the last verification (job {id}) found {faults}");
            Some(Finding::new(
                Inconsistent,
                what,
                "checks may miss books",
                "lapidary verify TARGET --fix",
            ))
        }
        _ => None,
    }
}

fn of_backups(jobs: &[Job], backups: &Backups, now: Timestamp) -> Option<Finding> {
    let fix = match backups {
        Backups::Nowhere => "run lapidary serve with --backups DIR, then lapidary backup TARGET",
        Backups::Below(_) => "lapidary backup TARGET",
        Backups::Anywhere => "lapidary backup TARGET --to DIR",
    };
    let why = "what is lost with the disk cannot be restored";
    match jobs
        .iter()
        .filter(|job| matches!(job.task, Task::Backup { .. }) && job.state == JobState::Done)
        .filter_map(|job| job.finished_at)
        .max()
    {
        None => Some(Finding::new(
            NoBackup,
            "no backup was made with lapidary backup",
            why,
            fix,
        )),
        Some(last) if now.duration_since(last) > OLD => {
            let what = format!("the last backup was made on {}", day(last));
            Some(Finding::new(OldBackup, what, why, fix))
        }
        Some(_) => None,
    }
}

fn of_key(key: &Key, trust: &Statements, now: Timestamp) -> Option<Finding> {
    let (name, end) = (&key.name, key.expires_at?);
    if key.is_of_person() {
        return None;
    }
    if end <= now {
        let what = format!("the key '{name}' expired on {}", day(end));
        return Some(Finding::new(
            ExpiredKey,
            what,
            "requests with it are refused",
            format!("lapidary keys revoke TARGET {}", quoted(name)),
        ));
    }
    (end.duration_since(now) < SOON).then(|| {
        let fix = format!(
            "{} NEW-NAME, and give the new key to its user",
            made_like(key, trust, &[])
        );
        Finding::new(
            ExpiringKey,
            format!("the key '{name}' expires on {}", day(end)),
            "requests with it will be refused",
            fix,
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
fn of_trust(keys: &[Key], trust: &Statements) -> Option<Finding> {
    let ingest = keys.iter().filter(|key| is_of_tenant(key));
    let silent: BTreeSet<&Library> = ingest
        .flat_map(|key| &key.libraries)
        .filter(|library| trust.trusted(library).is_none())
        .collect();
    let first = silent.first()?;
    let what = format!(
        "nobody said whether the libraries of ingest keys are trusted: {}",
        some_of(&silent)
    );
    let why = "their books decide what everybody is told, whoever holds the keys";
    let library = quoted(first.as_str());
    let fix = format!(
        "lapidary libraries trust TARGET {library}, or lapidary libraries distrust TARGET {library}, for each"
    );
    Some(Finding::new(UnstatedTrust, what, why, fix))
}

/// The names of the first of these libraries.
fn some_of(libraries: &BTreeSet<&Library>) -> String {
    let named: Vec<String> = libraries
        .iter()
        .take(NAMED)
        .map(|library| format!("'{library}'"))
        .collect();
    let more = if libraries.len() > NAMED { ", …" } else { "" };
    named.join(", ") + more
}

/// Keys that may not change the forbidden books that their libraries have.
fn of_bans(
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
        let what = format!(
            "library '{library}' has forbidden books, and the key '{}' cannot ban",
            key.name
        );
        let why =
            "it can neither change nor remove them, and feeds that have them are refused in part";
        let name = quoted(&key.name);
        let fix = format!(
            "if they are its own: lapidary keys revoke TARGET {name}, then {} {name}; if not, leave it so",
            made_like(key, trust, &[Permission::Ban])
        );
        findings.push(Finding::new(KeyMayNotForbid, what, why, fix));
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

fn of_webhook(webhook: &Webhook) -> Option<Finding> {
    let library = &webhook.library;
    let option = format!("--library {}", quoted(library.as_str()));
    let of_library = format!("library '{library}'");
    let failing = webhook.failure.as_ref()?;
    Some(of_failure(&of_library, &option, &webhook.url, failing))
}

fn of_key_webhook(webhook: &KeyWebhook) -> Option<Finding> {
    let key = &webhook.key;
    let option = format!("--key {}", quoted(key));
    let failing = webhook.failure.as_ref()?;
    Some(of_failure(
        &format!("key '{key}'"),
        &option,
        &webhook.url,
        failing,
    ))
}

fn of_failure(owner: &str, option: &str, url: &str, failing: &DeliveryFailure) -> Finding {
    let attempts = count(failing.attempts.into(), "attempt", "attempts");
    Finding::new(
        FailingWebhook,
        format!(
            "the webhook of {owner} fails ({attempts}): {}",
            failing.error
        ),
        "its owner is not told of what it waits for",
        format!("repair the receiver at {url}, or lapidary webhooks remove TARGET {option}"),
    )
}

fn of_evidence(limits: EvidenceLimits, texts: EvidenceStats) -> Option<Finding> {
    let what = format!(
        "the texts of filed checks take {} MiB of {} MiB",
        texts.bytes / MIB,
        limits.bytes / MIB
    );
    let why = "a key that files many checks files them without their texts, and in the end all do";
    let fix = "raise max-evidence, or keep texts for fewer days (keep-evidence-days)";
    limits
        .are_nearly_reached(texts)
        .then(|| Finding::new(EvidenceFull, what, why, fix))
}

fn of_watches(limits: WatchLimits, watched: WatchStats) -> Option<Finding> {
    let what = format!(
        "the gems of watched checks take {} MiB of {} MiB",
        watched.bytes / MIB,
        limits.bytes / MIB
    );
    let why =
        "those of a key that files many checks are not watched any more, and in the end none is";
    let fix = "raise max-watched, or watch checks for fewer days (watch-days)";
    limits
        .are_nearly_reached(watched)
        .then(|| Finding::new(WatchesFull, what, why, fix))
}

fn of_store(vitals: &Vitals, min_free: u64) -> Vec<Finding> {
    let mut findings = Vec::new();
    if vitals.disk.free < min_free {
        let what = format!(
            "{} MiB of the disk are free, less than {} MiB",
            vitals.disk.free / MIB,
            min_free / MIB
        );
        let why = "a server is not ready, and changes fail when the disk is full";
        findings.push(Finding::new(DiskNearlyFull, what, why, FREE_SPACE));
    }
    if vitals.disk.lacks_reserve {
        let what = "there is too little free space for a reserve, which a server keeps for when the disk is full";
        let why = "a key that is then revoked is refused only until the server ends, if it cannot be written before";
        findings.push(Finding::new(
            NoReserve,
            what,
            why,
            "free 128 MiB on the catalogue's disk",
        ));
    }
    if vitals.background.errors > 0 || vitals.background.write_stopped {
        let errors = count(
            vitals.background.errors,
            "background write of the store",
            "background writes of the store",
        );
        let what = format!("{errors} failed since the program started");
        findings.push(Finding::new(
            StoreErrors,
            what,
            "the disk may be failing",
            "see the log, then lapidary verify TARGET",
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
        }
    }

    fn concerns(findings: impl IntoIterator<Item = Finding>) -> Vec<FindingCode> {
        findings.into_iter().map(|finding| finding.code).collect()
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
        let found = of_jobs(&jobs);
        assert_eq!(
            found[0].detail,
            "the last verification (job 4) found 2 inconsistencies"
        );
        assert_eq!((found.len(), found[0].code), (1, Inconsistent));
        assert_eq!(concerns(of_jobs(&jobs[2..])), [FailedJob]);
        assert_eq!(concerns(of_jobs(&jobs[3..])), []);
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
        let found =
            |jobs: &[Job], hours| concerns(of_backups(jobs, &Backups::Anywhere, after(hours)));
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
            concerns(of_store(&reserved(10, true, 0, false), 10)),
            [NoReserve]
        );
        assert_eq!(concerns(of_store(&vitals(10, 0, false), 10)), []);
        assert_eq!(
            concerns(of_store(&vitals(9, 0, false), 10)),
            [DiskNearlyFull]
        );
        assert_eq!(concerns(of_store(&vitals(10, 1, false), 10)), [StoreErrors]);
        assert_eq!(concerns(of_store(&vitals(10, 0, true), 10)), [StoreErrors]);
    }

    #[test]
    fn only_stricter_rules_find_less() {
        let usual = Recipe::hardened().rule();
        assert_eq!(concerns(of_rule(usual, usual)), []);
        let looser = Rule {
            min_common: 1,
            common_cap: u32::MAX,
            min_share: 0.0,
            min_support: 0.0,
            ..usual
        };
        assert_eq!(concerns(of_rule(looser, usual)), []);
        let stricter = of_rule(
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
