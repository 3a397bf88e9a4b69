//! What is unhealthy about a catalogue or a server.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// The default recipe finds fewer edited copies than `hardened-compact@secret`.
    WeakDefault,
    /// Some books have no gems of the default recipe.
    MissedBooks,
    /// Some books have no gems of another recipe.
    IncompleteRecipe,
    /// The catalogue has far more books than the lexicon of a recipe counts.
    OldLexicon,
    /// A setting makes checks find less than their recipe would.
    WeakRule,
    /// The recipe set for existing clients is not in the catalogue.
    MissingClientRecipe,
    /// The last job of a kind failed.
    FailedJob,
    /// A re-index waits for texts.
    WaitingJob,
    /// Books of a library wait in quarantine.
    Quarantine,
    /// The last verification found inconsistencies.
    Inconsistent,
    /// There is no backup, or none that the catalogue knows of.
    NoBackup,
    /// The last backup is old.
    OldBackup,
    /// A key has expired.
    ExpiredKey,
    /// A key expires soon.
    ExpiringKey,
    /// A key checks many texts that one book matches, as whoever looks for edits that hide a copy.
    ProbingKey,
    /// Nobody said whether the libraries of some ingest keys are trusted.
    UnstatedTrust,
    /// A library has forbidden books that its key may not change.
    KeyMayNotForbid,
    /// A webhook cannot be delivered.
    FailingWebhook,
    /// The disk is nearly full.
    DiskNearlyFull,
    /// Few texts of filed checks can still be kept.
    EvidenceFull,
    /// Few filed checks can still be watched.
    WatchesFull,
    /// There is too little space to reserve some for when the disk is full.
    NoReserve,
    /// The catalogue cannot be changed.
    NotWritable,
    /// The store failed to write in the background.
    StoreErrors,
    /// A node of the cluster has lost data.
    LostData,
    /// A node of the cluster may drop keys.
    EvictingNode,
    /// A node of the cluster has no replica.
    MissingReplica,
    /// A node of the cluster does not keep its data on disk, or cannot.
    NotPersistent,
    /// A node of the cluster has little memory left.
    NodeNearlyFull,
    /// There is nothing in the cluster under this prefix.
    MissingCatalogue,
    /// The TLS certificate has expired, or does soon.
    ExpiringCertificate,
    /// The identity provider cannot be used.
    UnreachableProvider,
}

/// Something unhealthy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// What it is about.
    pub code: FindingCode,
    /// What was found.
    pub detail: String,
    /// Why it matters.
    pub reason: String,
    /// What fixes it. In a command, `TARGET` stands for `--data DIR` or `--server URL`.
    pub fix: String,
}

/// All that is unhealthy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Findings {
    /// Empty if nothing is.
    pub findings: Vec<Finding>,
}
