//! The audit log.

use jiff::Timestamp;
use lapidary_catalogue::api::AuditPage;
use lapidary_common::error::ErrorCode;
use lapidary_store::AuditFrom;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::{
    Endpoint, Input, Needs, Operation, OperationError, SentAs, Session, page_limit, place_of,
};

/// Shows a page of the audit log.
pub struct ShowAudit;

/// Which entries of the audit log.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    /// The `next_cursor` of the previous page
    pub cursor: Option<String>,
    /// Only entries from this time on; use instead of `cursor`
    pub since: Option<Timestamp>,
    /// Only entries about books of this library
    pub library: Option<String>,
    /// With `library`: only entries about this book, by its id
    pub book: Option<String>,
    /// The maximum number of entries
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<usize>,
}

impl Input for AuditQuery {
    fn sent_as() -> SentAs {
        SentAs::query::<Self>(
            "cursor (the 'next_cursor' of the previous page) or since (a time such as 2030-01-31T08:00:00Z), library and book \
             (to see entries about it), and limit (a number)",
        )
    }
}

impl Operation for ShowAudit {
    type Path = ();
    type Input = AuditQuery;
    type Answer = AuditPage;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/audit", Needs::Admin)
        .named("audit", "Show the audit log: who changed what, and when")
        .about(
            "With `library`, a page may have fewer entries than the limit, or none, although more follow: a call reads no \
             more than 50,000 entries.",
        )
        .answers(&[(200, "A page of entries")]);

    fn run(session: &Session<'_>, (): (), query: AuditQuery) -> Result<AuditPage, OperationError> {
        let last = place_of(query.cursor.as_deref())?;
        let from = match (last, query.since) {
            (last, None) => AuditFrom::Behind(last.unwrap_or(0)),
            (None, Some(time)) => AuditFrom::Time(time),
            (Some(_), Some(_)) => return Err(bad_query("give one of 'cursor' and 'since'")),
        };
        let limit = page_limit(query.limit)?;
        match (query.library, query.book) {
            (None, None) => Ok(session.audit().page(from, limit)?),
            (None, Some(_)) => Err(bad_query("'book' needs the 'library' that it is in")),
            (Some(library), book) => {
                Ok(session
                    .audit()
                    .page_about(from, &library, book.as_deref(), limit)?)
            }
        }
    }
}

fn bad_query(detail: &str) -> OperationError {
    OperationError::refused(ErrorCode::BadQuery, detail)
}
