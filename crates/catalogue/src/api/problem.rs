//! Why a call failed.

use lapidary_common::error::{ErrorCode, ErrorKind};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;
use utoipa::openapi::Object;
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::Report;

/// Problem details (RFC 9457).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// `about:blank`: the status says what kind of problem it is.
    #[serde(rename = "type")]
    pub about: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened, and what to do.
    pub detail: String,
    /// A stable code for programs.
    #[schema(schema_with = codes)]
    pub code: String,
    /// The id of the request, to find it in the server's log.
    pub request_id: Option<String>,
    /// For `matches`: the report of the check that refused the book.
    pub report: Option<Box<Report>>,
}

/// The codes, without those of folders that only commands name.
fn codes() -> Object {
    let codes = ErrorCode::ALL.iter().filter(|code| {
        let kind = code.kind();
        !matches!(kind, ErrorKind::Folder | ErrorKind::InUse)
    });
    let mut codes: Vec<&str> = codes.map(|code| code.as_str()).collect();
    codes.sort_unstable();
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("A stable code for programs."))
        .enum_values(Some(codes))
        .build()
}
