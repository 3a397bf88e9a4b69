//! What goes over the wire: the bodies that calls take and answer with, one file for each resource.
//!
//! The server reads and writes these types, and so does the command line in `--server` mode; the API description is
//! made of them. None is ever stored: what is on disk has types of its own, where it is stored. Values that mean the same
//! everywhere, such as [`Rights`](crate::index::Rights), are used as they are.

mod allow;
mod audit;
mod books;
mod checks;
mod jobs;
mod keys;
mod problem;
mod server;
mod webhooks;

pub use allow::{AllowList, AllowLists, ToAllow};
pub use audit::{AuditEntry, AuditPage};
pub use books::{Added, Amendment, FeedAnswer, FeedOutcome, Libraries, NewBook, Outcome, Page, RecipeStats, Stats};
pub use checks::{BookRef, Check, CheckAnswer, CheckParameters, GemsForm, Match, Report};
pub use jobs::{
    BackedUp, Checkpoint, Compacted, CutFrom, Dropped, Job, JobResult, JobState, Jobs, RecipeChoice, Recut, Reindexed,
    Task, Verified,
};
pub use keys::{Key, Keys, MadeKey, NewKey, Rate, RateError, Role, Rotation, Unit};
pub use problem::Problem;
pub use server::{Health, Imported};
pub use webhooks::{Failing, MadeWebhook, Matched, NewWebhook, Webhook, WebhookEvent, Webhooks};
