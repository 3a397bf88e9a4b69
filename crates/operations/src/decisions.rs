//! Filed checks, and the decisions about them.

use jiff::civil::Date;
use lapidary_catalogue::api::{CheckState, Decision, DecisionPage, NewDecision};
use lapidary_catalogue::{SoughtChecks, SoughtDecisions};
use lapidary_common::error::ErrorCode;
use lapidary_store::{BookKey, Rights};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::IntoParams;

use crate::{
    Done, Endpoint, Input, Needs, Operation, OperationError, SentAs, Session, filled, page_limit,
};

/// Maximum length of the words that are sought, in bytes.
const MOST_SOUGHT: usize = 500;

/// Lists filed checks and decisions.
pub struct ListDecisions;

/// Which filed checks and decisions.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct DecisionsQuery {
    /// Only about the text with this digest (BLAKE3 in hexadecimal)
    pub digest: Option<String>,
    /// Only about checks that matched this book; requires `book`. For filed checks: that matched any book of the library
    pub library: Option<String>,
    /// The book's id in the library
    pub book: Option<String>,
    /// Only entries of this day, in UTC
    pub day: Option<Date>,
    /// Only filed checks in this state, newest first; this and the following are without `digest`, `book` and `day`
    #[param(inline)]
    pub state: Option<CheckState>,
    /// Only filed checks with this verdict, in any state if none is given, newest first
    #[param(inline)]
    pub verdict: Option<Rights>,
    /// Only checks filed by this actor
    pub actor: Option<String>,
    /// Only filed checks assigned to this actor, or to `nobody`
    pub assignee: Option<String>,
    /// Only filed checks with at least this share of the text in protected or forbidden books
    #[param(minimum = 0, maximum = 1)]
    pub min_covered: Option<f64>,
    /// Only filed checks with these words in the name, the case or the title of the best match; their beginnings will do
    #[param(max_length = 500)]
    pub q: Option<String>,
    /// Only filed checks of this batch
    pub batch: Option<String>,
    /// The `next_cursor` of the previous page
    pub cursor: Option<String>,
    /// The maximum number of entries
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<usize>,
}

impl Input for DecisionsQuery {
    fn sent_as() -> SentAs {
        SentAs::query::<Self>(
            "digest, library and book (together), day (such as 2026-01-31), state ('open', 'appealed', 'decided', 'watched' or \
             'clear'), library, verdict, actor, assignee, min_covered, q and batch (without digest, book and day), cursor (the 'next_cursor' of the previous page) and limit (a number)",
        )
    }
}

impl DecisionsQuery {
    fn book(&self) -> Result<Option<BookKey>, OperationError> {
        match (&self.library, &self.book) {
            (Some(library), Some(id)) => Ok(Some(BookKey {
                library: library.parse()?,
                id: id.parse()?,
            })),
            (None, None) => Ok(None),
            _ => Err(bad_query("give both of 'library' and 'book', or none")),
        }
    }

    /// The filed checks that are sought, if they are rather than entries.
    fn checks(&self) -> Result<Option<SoughtChecks>, OperationError> {
        let others = [&self.actor, &self.assignee, &self.q, &self.batch];
        let narrows = self.verdict.is_some()
            || self.min_covered.is_some()
            || others.iter().any(|other| other.is_some());
        let is_of_entries = self.day.is_some() || self.digest.is_some() || self.book.is_some();
        if self.state.is_none() && !narrows {
            return Ok(None);
        }
        if is_of_entries {
            return Err(bad_query(
                "give 'state', 'verdict', 'actor', 'assignee', 'min_covered', 'q' and 'batch' without 'digest', 'book' and 'day'",
            ));
        }
        if self
            .min_covered
            .is_some_and(|share| !(0.0..=1.0).contains(&share))
        {
            return Err(bad_query(
                "'min_covered' is a share: give a number from 0 to 1",
            ));
        }
        if self
            .q
            .as_ref()
            .is_some_and(|words| words.len() > MOST_SOUGHT)
        {
            return Err(bad_query("'q' is too long: it has at most 500 bytes"));
        }
        let library = self.library.as_ref().map(|library| library.parse());
        Ok(Some(SoughtChecks {
            library: library.transpose()?,
            verdict: self.verdict,
            actor: self.actor.clone(),
            assignee: self.assignee.clone(),
            min_covered: self.min_covered,
            words: self.q.clone(),
            batch: self.batch.clone(),
            state: self.state,
        }))
    }
}

fn bad_query(detail: &str) -> OperationError {
    OperationError::refused(ErrorCode::BadQuery, detail)
}

impl Operation for ListDecisions {
    type Path = ();
    type Input = DecisionsQuery;
    type Answer = DecisionPage;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/decisions", Needs::Decisions)
        .named(
            "decisions",
            "List filed checks and the decisions about them",
        )
        .about("Entries are listed without their reports, oldest first; filed checks newest first. A key that is no administrator's sees entries about checks that it filed; with `review`, also about those that matched books of its libraries.")
        .answers(&[(200, "A page of entries")]);

    fn run(
        session: &Session<'_>,
        (): (),
        query: DecisionsQuery,
    ) -> Result<DecisionPage, OperationError> {
        let (by, limit) = (session.viewer(), page_limit(query.limit)?);
        if let Some(sought) = query.checks()? {
            let (queue, cursor) = (session.check_queue(), query.cursor.as_deref());
            return Ok(queue.page(&sought, by, cursor, limit)?);
        }
        let book = query.book()?;
        let sought = SoughtDecisions {
            digest: query.digest,
            book,
            day: query.day,
        };
        let (decisions, cursor) = (session.decisions(), query.cursor.as_deref());
        Ok(decisions.page(&sought, by, cursor, limit)?)
    }
}

/// Records a decision about a filed check.
pub struct Decide;

impl Input for NewDecision {
    fn sent_as() -> SentAs {
        SentAs::json::<Self>(json!({
            "check": "01890a5d-ac96-774b-bcce-b302099a8057", "ruling": "accepted", "reason": "licensed in 2026"
        }))
    }
}

impl Operation for Decide {
    type Path = ();
    type Input = NewDecision;
    type Answer = Decision;
    const CREATES: bool = true;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/decisions", Needs::Decisions)
        .named(
            "decide",
            "Record what was decided about a filed check, and why",
        )
        .about("A check is filed with `record`. Entries are never changed; a new decision is a new entry.")
        .answers(&[(201, "It was recorded")]);

    fn place(decision: &Decision) -> Option<String> {
        Some(filled(ShowDecision::ENDPOINT.path, &[&decision.id]))
    }

    fn run(session: &Session<'_>, (): (), new: NewDecision) -> Result<Decision, OperationError> {
        Ok(session.decisions().decide(&new, session.viewer())?)
    }
}

/// Shows a filed check, or a decision.
pub struct ShowDecision;

impl Operation for ShowDecision {
    type Path = String;
    type Input = ();
    type Answer = Decision;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/decisions/{decision}", Needs::Decisions)
        .named(
            "decision",
            "Show a filed check with its report, or a decision",
        )
        .answers(&[(200, "The entry")]);

    fn run(session: &Session<'_>, id: String, (): ()) -> Result<Decision, OperationError> {
        Ok(session.decisions().get(&id, session.viewer())?)
    }
}

/// Deletes the kept text of a filed check.
pub struct DeleteEvidence;

impl Operation for DeleteEvidence {
    type Path = String;
    type Input = ();
    type Answer = Done;
    const ENDPOINT: Endpoint = Endpoint::delete("/v1/decisions/{decision}/text", Needs::Decisions)
        .named("delete_evidence", "Delete the kept text of a filed check")
        .about(
            "The report stays, and the check is watched no longer. A key that is no administrator's deletes texts that it filed. Earlier backups still have the text.",
        )
        .answers(&[(204, "It was deleted")]);

    fn run(session: &Session<'_>, id: String, (): ()) -> Result<Done, OperationError> {
        session.evidence().delete(&id, session.viewer())?;
        Ok(Done)
    }
}
