//! Errors as problem details (RFC 9457): a status, a stable code for programs, and a sentence that tells people what to do.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, HeaderName, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use lapidary_gems::RecipeError;

use super::requests::REQUEST_ID;
use crate::api;
use crate::catalogue::CatalogueError;
use crate::extract::ExtractError;
use crate::index::{BadName, StoreError};

/// The retry delay, in seconds.
const RETRY_SECONDS: &str = "1";

/// How many characters of a client's input a response repeats.
const EXCERPT: usize = 200;

/// Why a request failed.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
    header: Option<Box<(HeaderName, String)>>,
    /// The id of the request, to find it in the log.
    request: Option<String>,
}

impl Problem {
    /// A problem. `detail` is a sentence that says what to do, and repeats only an [`excerpt`] of the request.
    pub(super) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), header: None, request: None }
    }

    /// The request is invalid.
    pub(super) fn bad(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// The requested object does not exist.
    pub(super) fn missing(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }

    /// A server failure that the client cannot fix: the reason goes to the log.
    pub(super) fn failed(code: &'static str, reason: &dyn fmt::Display) -> Self {
        tracing::error!("{reason}");
        let detail = "the server failed; its log says why, and its administrator can help";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, code, detail)
    }

    /// The details sent to the client.
    pub(super) fn details(&self) -> api::Problem {
        api::Problem {
            about: "about:blank".to_owned(),
            title: self.status.canonical_reason().unwrap_or_default().to_owned(),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            code: self.code.to_owned(),
            request_id: self.request.clone(),
        }
    }

    /// Adds a header.
    pub(super) fn with(self, name: HeaderName, value: impl Into<String>) -> Self {
        Self { header: Some(Box::new((name, value.into()))), ..self }
    }

    /// Sets the request id.
    pub(super) fn of_request(&self, id: &str) -> Self {
        Self { request: Some(id.to_owned()), ..self.clone() }
    }

    /// Whether the server is overloaded.
    pub(super) fn is_overload(&self) -> bool {
        self.status == StatusCode::SERVICE_UNAVAILABLE
    }

    /// The code for programs.
    pub(super) fn code(&self) -> &'static str {
        self.code
    }

    /// The problem as JSON.
    pub(super) fn body(&self) -> String {
        // Text and a number always serialize.
        serde_json::to_string(&self.details()).unwrap_or_default()
    }
}

/// The beginning of a client's input, short enough to repeat in a response.
pub(super) fn excerpt(sent: &str) -> String {
    match sent.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &sent[..end]),
        None => sent.to_owned(),
    }
}

/// The response to an unknown path. `calls` lists the paths that there are.
pub(super) fn nothing_here(request: &HttpRequest, calls: &str) -> Problem {
    let path = excerpt(request.path());
    let detail = format!("there is nothing at {path}; there are {calls}, and what /openapi.json describes below them");
    Problem::missing("not_found", detail)
}

/// The server is overloaded.
pub(super) fn overloaded(detail: &str) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail).with(RETRY_AFTER, RETRY_SECONDS)
}

/// The response to a method that a path does not support.
pub(super) fn wrong_method(allowed: &str) -> Problem {
    let detail = format!("this path takes {allowed} only");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail).with(ALLOW, allowed)
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

impl std::error::Error for Problem {}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        response.content_type("application/problem+json");
        if let Some((name, value)) = self.header.as_deref() {
            response.insert_header((name, value.as_str()));
        }
        if let Some(id) = &self.request {
            response.insert_header((REQUEST_ID, id.as_str()));
        }
        response.body(self.body())
    }
}

impl From<CatalogueError> for Problem {
    fn from(error: CatalogueError) -> Self {
        use CatalogueError as E;
        let (status, code) = match error {
            E::Store(error) => return error.into(),
            E::Recipe(error) => return error.into(),
            E::Name(error) => return error.into(),
            E::NoSuchRecipe { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "unknown_recipe"),
            E::RecipeIncomplete { .. } => (StatusCode::CONFLICT, "recipe_incomplete"),
            E::BadGem { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "bad_gem"),
            E::NoSuchLibrary(_) => (StatusCode::NOT_FOUND, "no_such_library"),
            E::NoSuchKey(_) => (StatusCode::NOT_FOUND, "no_such_key"),
            E::KeyExists(_) => (StatusCode::CONFLICT, "key_exists"),
            E::BadKey(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad_key"),
            E::TooLong(_) => (StatusCode::UNPROCESSABLE_ENTITY, "too_long"),
            E::LongNote => (StatusCode::UNPROCESSABLE_ENTITY, "long_note"),
            E::BadValidity { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "bad_validity"),
            E::BadWebhook => (StatusCode::UNPROCESSABLE_ENTITY, "bad_webhook"),
            E::NothingToAllow => (StatusCode::UNPROCESSABLE_ENTITY, "nothing_to_allow"),
            E::BadSetting { .. } => return Self::failed("store_failed", &error),
            E::NoText => (StatusCode::UNPROCESSABLE_ENTITY, "no_text"),
            E::NoSuchJob(_) => (StatusCode::NOT_FOUND, "no_such_job"),
            E::NoSuchBook(_) => (StatusCode::NOT_FOUND, "no_such_book"),
            E::JobRuns { .. } => (StatusCode::CONFLICT, "job_runs"),
            E::JobEnded { .. } => (StatusCode::CONFLICT, "job_ended"),
            E::NotRecut { .. } => (StatusCode::CONFLICT, "not_recut"),
            E::OtherText(_) => (StatusCode::CONFLICT, "other_text"),
            E::Output(_) => return Self::failed("export_failed", &error),
            E::BadExport { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "bad_export"),
            E::BadTask(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad_task"),
            E::Costly(_) => (StatusCode::UNPROCESSABLE_ENTITY, "over_limit"),
            E::TooManyGems { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too_many_gems"),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        use StoreError as E;
        let (status, code) = match &error {
            E::UnknownRecipe { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "unknown_recipe"),
            E::GemTooLarge { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "bad_gem"),
            E::WouldBeEmpty { .. } => (StatusCode::CONFLICT, "would_be_empty"),
            E::RecipeDiffers(_) => (StatusCode::CONFLICT, "recipe_differs"),
            E::NotOffered(_) => (StatusCode::CONFLICT, "not_offered"),
            E::IsDefault(_) => (StatusCode::CONFLICT, "is_default"),
            E::Duplicate(_) | E::Unordered(_) => (StatusCode::CONFLICT, "duplicate"),
            E::DiskFull(_) => {
                tracing::error!("{error}");
                let detail = "no space left on the server's disk: nothing of this change was kept; try again when its \
                              administrator has freed some";
                return Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk_full", detail);
            }
            // These name folders of the server, which are not public.
            E::InUse { .. }
            | E::Version { .. }
            | E::Missing(_)
            | E::Foreign(_)
            | E::Occupied(_)
            | E::Damaged { .. }
            | E::Denied { .. }
            | E::Stopped
            | E::NoBackup(_)
            | E::Io { .. } => return Self::failed("store_failed", &error),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<RecipeError> for Problem {
    fn from(error: RecipeError) -> Self {
        let code = match &error {
            RecipeError::Name(_) | RecipeError::Unknown(_) => "unknown_recipe",
            // All other errors concern the recipe's content.
            _ => "bad_recipe",
        };
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, error.to_string())
    }
}

impl From<BadName> for Problem {
    fn from(error: BadName) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_name", error.to_string())
    }
}

impl From<ExtractError> for Problem {
    fn from(error: ExtractError) -> Self {
        let (status, code) = match &error {
            ExtractError::NotText { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "not_text"),
            ExtractError::Undecodable { .. } => (StatusCode::BAD_REQUEST, "undecodable"),
            ExtractError::Encrypted { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "encrypted"),
            ExtractError::Damaged { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "damaged"),
            ExtractError::OverLimit(_) => (StatusCode::UNPROCESSABLE_ENTITY, "over_limit"),
            ExtractError::Stopped { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "not_readable"),
            ExtractError::NoText(_) => (StatusCode::UNPROCESSABLE_ENTITY, "no_text"),
            ExtractError::Member { why, .. } => {
                let Self { status, code, .. } = (**why).clone().into();
                (status, code)
            }
            ExtractError::Busy { .. } => return overloaded(&error.to_string()),
            ExtractError::Several { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "several_books"),
        };
        Self::new(status, code, error.to_string())
    }
}
