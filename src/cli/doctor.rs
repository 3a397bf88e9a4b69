//! `lapidary doctor`.

use std::io::Write as _;

use clap::Args;
use lapidary_catalogue::api::{Finding, Findings};

use super::arguments::{LanguageArgument, Target};
use super::failure::{Failure, Status};
use super::terminal::{json_line, out};
use lapidary_operations::status::Diagnose;

/// Report what is unhealthy about a catalogue or a server, why it matters, and the command that fixes it.
///
/// A line for each finding: what it is, why it matters, and what fixes it, in which you replace the words in capitals. A finding
/// has a `code` in JSON:
///
/// - `weak_default`: the default recipe is weaker than `hardened-compact@secret`
///
/// - `missed_books`, `incomplete_recipe`: some books have no gems of the default recipe, or of another one
///
/// - `old_lexicon`: the catalogue has at least twice as many books as the lexicon of a recipe counts
///
/// - `weak_rule`: a setting of the server makes the rule for a match stricter than the default recipe's
///
/// - `missing_client_recipe`: the setting `client-recipe` names a recipe that is not in the catalogue
///
/// - `quarantine`: books that look like collages of other libraries' books wait until an administrator confirms them
///
/// - `failed_job`, `waiting_job`: the last job of a kind failed, or a re-index waits for texts
///
/// - `inconsistent`: the last `verify` found inconsistencies; `doctor` does not read the whole catalogue itself
///
/// - `no_backup`, `old_backup`: among the last 100 jobs is no backup, or none of the last 7 days
///
/// - `expired_key`, `expiring_key`: a key has expired, or does within 14 days
///
/// - `probing_key`: a key has checked 50 texts within a day that one book matches
///
/// - `unstated_trust`: there are `ingest` keys for libraries of which nobody said whether they are trusted
///
/// - `key_may_not_forbid`: a library has `forbidden` books among its first 1,000, and its key may not change them
///
/// - `failing_webhook`: events cannot be delivered; only a running server knows
///
/// - `disk_nearly_full`: less space is free than `min-free`
///
/// - `evidence_full`: the texts of filed checks take more than half of what they may (`max-evidence`)
///
/// - `watches_full`: the gems of watched checks take more than half of what they may (`max-watched`)
///
/// - `no_reserve`: there is too little free space for the 64 MiB that a server reserves for when the disk is full, so that keys can be
///   revoked then; it takes 128 MiB
///
/// - `not_writable`, `store_errors`: the catalogue cannot be changed, or the store failed to write since the program started
///
/// - `lost_data`: a node of the cluster has lost data, so answers that need it are refused
///
/// - `evicting_node`, `missing_replica`, `not_persistent`: a node of the cluster may drop keys, has no replica, or does not keep its
///   data on disk
///
/// - `node_nearly_full`: a node uses 85 % of its `maxmemory` or more
///
/// - `missing_catalogue`: there is nothing in the cluster under this prefix
///
/// - `expiring_certificate`: the server's TLS certificate has expired, or does within 14 days
///
/// - `unreachable_provider`: the identity provider (`oidc`) does not answer as it should, or has no `https://` addresses
///
/// Exit status: 0 nothing is unhealthy; 1 something is; 2 wrong usage; 3 the catalogue cannot be opened, or the server does
/// not answer.
#[derive(Args)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    language: LanguageArgument,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl DoctorArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let (target, language) = (self.target.flags(), self.language.lang);
        let catalogue = self.target.open()?;
        let found = catalogue.call_in::<Diagnose>(language, (), ())?;
        let findings: Vec<Finding> = found
            .findings
            .into_iter()
            .map(|finding| Finding {
                fix: finding.fix.replace("TARGET", &target),
                ..finding
            })
            .collect();
        let mut out = out(self.json);
        let status = if findings.is_empty() {
            Status::Done
        } else {
            Status::Found
        };
        if self.json {
            json_line(&mut out, &Findings { findings })?;
            return Ok(status);
        }
        for Finding {
            detail: what,
            reason: why,
            fix,
            ..
        } in &findings
        {
            writeln!(out, "{}", language.d_finding(what, why, fix))?;
        }
        if findings.is_empty() {
            writeln!(out, "{}", language.d_healthy())?;
        }
        Ok(status)
    }
}
