//! `lapidary audit`: who changed what, and when.

use std::io::{self, Write as _};

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use lapidary_catalogue::api::AuditEntry;
use lapidary_common::count::count;
use lapidary_operations::audit::{AuditQuery, ShowAudit};
use lapidary_report::clean;
use lapidary_store::{Action, Amended, AuditedBook};

use super::arguments::Target;
use super::failure::{Failure, Status};
use super::terminal::{json_line, out};

/// How many entries to read at a time.
const PAGE: usize = 1_000;

/// Show the audit log: who changed what, and when, oldest first.
#[derive(Args)]
pub(super) struct AuditArgs {
    #[command(flatten)]
    target: Target,
    /// Show only changes since this time: 2030-01-31T08:00:00Z, or how long ago, such as 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

impl AuditArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let catalogue = self.target.open()?;
        let mut out = io::BufWriter::new(out(self.json));
        let mut query = AuditQuery {
            since: self.since,
            limit: Some(PAGE),
            ..AuditQuery::default()
        };
        loop {
            let page = catalogue.call::<ShowAudit>((), query.clone())?;
            for entry in &page.entries {
                if self.json {
                    json_line(&mut out, entry)?;
                } else {
                    let AuditEntry {
                        number,
                        created_at: at,
                        actor,
                        action,
                    } = entry;
                    writeln!(
                        out,
                        "{number}\t{at}\t{}\t{}",
                        clean(actor),
                        clean(&sentence(action))
                    )?;
                }
            }
            if page.next_cursor.is_none() {
                break;
            }
            (query.cursor, query.since) = (page.next_cursor, None);
        }
        out.flush()?;
        Ok(Status::Done)
    }
}

fn sentence(action: &Action) -> String {
    match action {
        Action::Added(book) => about_book("added", book),
        Action::Replaced(book) => about_book("replaced", book),
        Action::Removed(book) => about_book("removed", book),
        Action::Amended(book) => about_book(&amendments(book), book),
        Action::Setting {
            kind,
            name,
            removed,
        } => {
            let verb = if *removed { "removed" } else { "set" };
            format!("{verb} {kind} {name}")
        }
        Action::KeyMade { name, id } => format!("created key {name} (id {id})"),
        Action::KeyRevoked { name } => format!("revoked key {name}"),
        Action::QuotaReached { .. } => "used up its daily quota".to_owned(),
        Action::SignedIn { groups, .. } => format!("signed in, of {}", groups.join(", ")),
        Action::LibraryTrust { library, trusted } => {
            let verb = if *trusted { "trusted" } else { "distrusted" };
            format!("{verb} library {library}")
        }
        Action::Built { books } => format!("built with {}", count(*books, "book", "books")),
        Action::RecipeAdded { recipe } => format!("added recipe {recipe}"),
        Action::RecipeDefault { recipe } => format!("made recipe {recipe} the default"),
        Action::RecipeDropped { recipe } => format!("dropped recipe {recipe}"),
        Action::FoldsKept { kept: true } => "started keeping folds".to_owned(),
        Action::FoldsKept { kept: false } => "stopped keeping folds".to_owned(),
        Action::JobStarted { job, kind } => format!("started job {job} ({kind})"),
        Action::Decided {
            decision,
            ruling,
            check,
            ..
        } => format!("recorded {ruling} about check {check} ({decision})"),
        Action::EvidenceRead { check, link: None } => format!("read the text of check {check}"),
        Action::EvidenceRead {
            check,
            link: Some(link),
        } => format!("read the text of check {check} by link {link}"),
        Action::EvidenceExpired { check } => format!("deleted the expired text of check {check}"),
        Action::EvidenceDeleted { check } => format!("deleted the text of check {check}"),
        Action::WatchExpired { check } => format!("no longer watches check {check}"),
        Action::JobCancelled { job } => format!("cancelled job {job}"),
        Action::JobEnded { job, kind, state } => format!("ended job {job} ({kind}): {state}"),
        Action::SourceRun {
            source, run, error, ..
        } => match error {
            Some(error) => format!("paused run {run} of source {source}: {error}"),
            None => format!("ended run {run} of source {source}"),
        },
    }
}

fn about_book(verb: &str, book: &AuditedBook) -> String {
    format!("{verb} {}/{} ({})", book.library, book.id, book.rights)
}

fn amendments(book: &AuditedBook) -> String {
    if book.changes.is_empty() {
        return "updated metadata of".to_owned();
    }
    let changes: Vec<&str> = book.changes.iter().copied().map(amended).collect();
    changes.join(", ")
}

fn amended(change: Amended) -> &'static str {
    match change {
        Amended::Disabled => "disabled",
        Amended::Enabled => "enabled",
        Amended::Removed => "removed",
        Amended::Restored => "restored",
        Amended::Noted => "added a note to",
        Amended::NoteForgotten => "removed the note of",
        Amended::Rights => "changed the rights of",
        Amended::Validity => "changed the validity period of",
        Amended::Confirmed => "confirmed",
        Amended::Described => "changed the description of",
    }
}

pub(super) fn time(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let days = text
        .strip_suffix('d')
        .and_then(|days| days.parse().ok())
        .and_then(|days: i64| days.checked_mul(24));
    let ago = match days {
        Some(hours) => SignedDuration::try_from_hours(hours),
        None => text.parse().ok(),
    };
    let time = ago.and_then(|ago: SignedDuration| Timestamp::now().checked_sub(ago).ok());
    time.ok_or_else(|| {
        "give a time such as 2030-01-31T08:00:00Z, or how long ago, such as 12h or 7d".to_owned()
    })
}
