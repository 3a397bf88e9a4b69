//! `lapidary decisions list|show|record|delete-text|share|links|unshare`.

use std::io::{self, Write as _};

use clap::{Args, Subcommand};
use jiff::Timestamp;
use jiff::civil::Date;
use lapidary_catalogue::api::{
    CheckState, Decision, NewDecision, NewReportLink, ReportLink, Ruling,
};
use lapidary_operations::PageQuery;
use lapidary_operations::decisions::{
    Decide, DecisionsQuery, DeleteEvidence, ListDecisions, ShowDecision,
};
use lapidary_operations::links::{DeleteReportLink, ListReportLinks, MakeReportLink};
use lapidary_report::clean;
use lapidary_store::{BookId, Library};

use super::arguments::Target;
use super::failure::{Failure, Status};
use super::keys::instant;
use super::terminal::{lines, out};

/// How many entries to read at a time.
const PAGE: usize = 1_000;

/// Manage decisions about checks that were filed with `check --record`.
#[derive(Args)]
pub(super) struct DecisionsArgs {
    #[command(subcommand)]
    command: DecisionsCommand,
}

#[derive(Subcommand)]
enum DecisionsCommand {
    /// List filed checks and decisions, oldest first
    List {
        #[command(flatten)]
        target: Target,
        /// Only about the text with this digest, as printed by `b3sum`
        #[arg(long)]
        digest: Option<String>,
        /// Only about checks that matched this book
        #[arg(long, value_name = "ID", requires = "library")]
        book: Option<BookId>,
        /// The library of the book
        #[arg(long, requires = "book")]
        library: Option<Library>,
        /// Only of this day, in UTC
        #[arg(long, value_name = "YYYY-MM-DD")]
        day: Option<Date>,
        /// Only filed checks in this state, newest first: open (they wait for a decision), appealed, decided, watched (they
        /// need none unless a later book matches), or clear (they need none)
        #[arg(long, value_parser = state, conflicts_with_all = ["digest", "book", "day"])]
        state: Option<CheckState>,
        /// Print JSON Lines
        #[arg(long)]
        json: bool,
    },
    /// Print a filed check with its report, or a decision, as JSON
    Show {
        #[command(flatten)]
        target: Target,
        /// Its id
        id: String,
    },
    /// Record what was decided about a filed check, and why
    Record {
        #[command(flatten)]
        target: Target,
        /// What was decided: accepted, refused or appealed; or withdrawn, which takes back your last decision; or assigned
        #[arg(long, value_parser = ruling)]
        ruling: Ruling,
        /// Why; only withdrawn and assigned need no reason
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// With assigned: who is to decide, such as key:anna; nobody in particular if it is missing
        #[arg(long, value_name = "ACTOR")]
        assignee: Option<String>,
        /// The id of the filed check
        id: String,
    },
    /// Delete the text that a server keeps with a filed check, and watch it no longer. Its report stays
    DeleteText {
        #[command(flatten)]
        target: Target,
        /// The id of the filed check
        id: String,
    },
    /// Make a link that shows a filed check on the server to somebody without a key
    Share {
        #[command(flatten)]
        target: Target,
        /// When it expires, at most 366 days from now: a day (2027-01-31), a time (2027-01-31T12:00:00Z), or a time from now
        /// (90d). By default in 30 days
        #[arg(long, value_name = "WHEN", value_parser = instant)]
        expires: Option<Timestamp>,
        /// Show passages of the kept texts of books, too
        #[arg(long)]
        book_texts: bool,
        /// The id of the filed check
        id: String,
    },
    /// List the links to a filed check, without their secrets
    Links {
        #[command(flatten)]
        target: Target,
        /// Print JSON Lines
        #[arg(long)]
        json: bool,
        /// The id of the filed check
        id: String,
    },
    /// Delete a link to a filed check
    Unshare {
        #[command(flatten)]
        target: Target,
        /// The id of the filed check
        id: String,
        /// The id of the link
        link: String,
    },
}

impl DecisionsArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.command {
            DecisionsCommand::List {
                target,
                digest,
                book,
                library,
                day,
                state,
                json,
            } => {
                let query = DecisionsQuery {
                    digest,
                    library: library.map(Into::into),
                    book: book.map(Into::into),
                    day,
                    state,
                    limit: Some(PAGE),
                    ..DecisionsQuery::default()
                };
                list(&target, query, json)?;
            }
            DecisionsCommand::Show { target, id } => {
                let decision = target.open()?.call::<ShowDecision>(id, ())?;
                let mut out = out(true);
                serde_json::to_writer_pretty(&mut out, &decision).map_err(io::Error::from)?;
                writeln!(out)?;
            }
            DecisionsCommand::Record {
                target,
                ruling,
                reason,
                assignee,
                id,
            } => {
                let made = target.open()?.call::<Decide>(
                    (),
                    NewDecision {
                        check: id,
                        ruling,
                        reason: reason.unwrap_or_default(),
                        assignee,
                    },
                )?;
                writeln!(out(false), "{}", line(&made))?;
            }
            DecisionsCommand::DeleteText { target, id } => {
                target.open()?.call::<DeleteEvidence>(id, ())?;
            }
            DecisionsCommand::Share {
                target,
                expires: expires_at,
                book_texts,
                id,
            } => {
                let new = NewReportLink {
                    expires_at,
                    book_texts,
                };
                let made = target.open()?.call::<MakeReportLink>(id, new)?;
                writeln!(out(false), "{}\t{}", made.link.id, made.url)?;
            }
            DecisionsCommand::Links { target, json, id } => {
                let page = target
                    .open()?
                    .call::<ListReportLinks>(id, PageQuery::largest(None))?;
                lines(&mut out(json), json, &page.links, link_line)?;
            }
            DecisionsCommand::Unshare { target, id, link } => {
                target.open()?.call::<DeleteReportLink>((id, link), ())?;
            }
        }
        Ok(Status::Done)
    }
}

fn list(target: &Target, mut query: DecisionsQuery, json: bool) -> Result<(), Failure> {
    let catalogue = target.open()?;
    let mut out = io::BufWriter::new(out(json));
    loop {
        let page = catalogue.call::<ListDecisions>((), query.clone())?;
        lines(&mut out, json, &page.decisions, line)?;
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(out.flush()?);
        }
    }
}

fn line(decision: &Decision) -> String {
    let Decision {
        id,
        created_at: at,
        actor,
        ruling,
        check,
        verdict,
        name,
        case,
        reason,
        matched_later,
        state,
        assignee,
        ..
    } = decision;
    let about = match ruling {
        Ruling::Checked if decision.is_about_answer() => verdict.as_str(),
        Ruling::Checked => "not_checked",
        _ => check,
    };
    let later = matched_later
        .as_ref()
        .map(|later| format!("{}/{}", later.library, later.id));
    let state = state.map_or("-", CheckState::as_str);
    let said: Vec<String> = [name, case, reason, &later, assignee]
        .into_iter()
        .flatten()
        .map(|said| clean(said))
        .collect();
    format!(
        "{id}\t{at}\t{}\t{}\t{about}\t{state}\t{}",
        clean(actor),
        ruling.as_str(),
        said.join("\t")
    )
}

fn link_line(link: &ReportLink) -> String {
    let ReportLink {
        id,
        created_at,
        actor,
        expires_at,
        book_texts,
        ..
    } = link;
    let texts = if *book_texts { "book_texts" } else { "-" };
    format!(
        "{id}\t{created_at}\t{}\t{expires_at}\t{texts}",
        clean(actor)
    )
}

fn state(word: &str) -> Result<CheckState, String> {
    CheckState::named(word)
        .ok_or_else(|| "it must be open, appealed, decided, watched or clear".to_owned())
}

fn ruling(word: &str) -> Result<Ruling, String> {
    Ruling::of_a_person(word)
        .ok_or_else(|| "it must be accepted, refused, appealed, withdrawn or assigned".to_owned())
}
