//! Wire types: the bodies of requests and responses, one file for each resource.
//!
//! The server and the command line in `--server` mode both read and write these types, and the API description is
//! generated from them. They are never stored: the code that stores data declares its own types. Plain values, such as
//! [`Rights`](lapidary_store::Rights), are used as they are.

mod allow;
mod audit;
mod batches;
mod books;
mod checks;
mod decisions;
mod doctor;
mod export;
mod jobs;
mod keys;
mod links;
mod me;
mod objects;
mod problem;
mod server;
mod sources;
mod webhooks;

pub use crate::permission::Unless;
pub use allow::{AllowList, AllowLists, NewAllowList};
pub use audit::{AuditEntry, AuditPage};
pub use batches::{Batch, BatchFile, Batches, NewBatch};
pub use books::{
    AddOutcome, Added, Amendment, ClusterStats, FeedAnswer, FeedOutcome, FieldChange, FoundBooks,
    ImportAnswer, LexiconStats, Libraries, LibraryListing, LibraryTrust, NewBook, NodeStats, Page,
    RecipeList, RecipeStats, Record, Restriction, RowOutcome, Stats,
};
pub use checks::{
    BookRef, Check, CheckAnswer, CheckParameters, Disguise, DisguisedWord, GemsForm, HiddenText,
    Match, Report,
};
pub use decisions::{
    BestMatch, CheckState, Decision, DecisionPage, EvidenceStats, Filed, KeptText, LaterMatch,
    NewDecision, Ruling, WatchStats,
};
pub use doctor::{Finding, FindingCode, Findings};
pub use export::{ExportBook, ExportDecision, ExportEnd, ExportGem, ExportHeader, ExportLine};
pub use jobs::{
    BackedUp, Compacted, Dropped, DuplicateGroup, DuplicateGroups, DuplicateOverlap,
    DuplicateOverlaps, DuplicatePair, DuplicateResolution, Grouped, Job, JobResult, JobState, Jobs,
    RecipeChoice, RecutResult, ReindexInput, Reindexed, ResolvedDuplicates, Task, Verified,
};
pub use keys::{Key, Keys, MadeKey, NewKey, PERSON, Rotation};
pub use links::{MadeReportLink, NewReportLink, ReportLink, ReportLinks};
pub use me::{Feature, Me, RequestLimits, UsableRecipe};
pub use objects::{
    EventBucket, EventObject, EventSubject, ObjectAnswer, ObjectAnswers, ObjectEvent, ObjectEvents,
};
pub use problem::Problem;
pub use server::{
    ActorChecks, CheckStatistics, DayChecks, Health, History, Imported, Index, LibraryChecks,
    Period, Sample,
};
pub use sources::{
    Source, SourceChange, SourceDefinition, SourceError, SourceErrors, SourceItem, SourceRun,
    SourceRuns, SourceState, SourceTest, Sources,
};
pub use webhooks::{
    BookEvent, DecisionEvent, DeliveryFailure, EventType, JobEvent, KeyWebhook, KeyWebhooks,
    LibraryEvent, MadeKeyWebhook, MadeWebhook, MatchEvent, NewWebhook, QuotaEvent, Replay,
    SourceEvent, TestEvent, Webhook, WebhookEvent, WebhookTest, Webhooks,
};
