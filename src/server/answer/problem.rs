//! Errors as problem details (RFC 9457): a status, a stable code for programs, and a sentence that tells people what to do.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, HeaderName, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse, ResponseError};

use lapidary_catalogue::CatalogueError;
use lapidary_catalogue::api::{self, Report};
use lapidary_common::error::{Classified, ErrorCode, ErrorKind};
pub(crate) use lapidary_operations::excerpt;

/// The request id, in both directions.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The retry delay, in seconds.
const RETRY_SECONDS: &str = "1";

/// Why a request failed.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    code: ErrorCode,
    detail: String,
    header: Option<Box<(HeaderName, String)>>,
    /// The id of the request, to find it in the log.
    request: Option<String>,
    /// The report that explains it.
    report: Option<Box<Report>>,
}

impl Problem {
    /// A problem. `detail` is a sentence that says what to do, and repeats only an [`excerpt`] of the request.
    pub(crate) fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            header: None,
            request: None,
            report: None,
        }
    }

    /// A server failure that the client cannot fix: the reason goes to the log.
    pub(crate) fn failed(code: ErrorCode, reason: &dyn fmt::Display) -> Self {
        tracing::error!("{reason}");
        Self::new(
            code,
            "the server failed; the reason is in its log: ask its administrator",
        )
    }

    /// Why a book was not added. If others match it, the problem has the report.
    pub(crate) fn of_book(error: CatalogueError) -> Self {
        match error {
            CatalogueError::Matches(report) => {
                let detail = CatalogueError::Matches(report.clone()).to_string();
                Self {
                    report: Some(report),
                    ..Self::new(ErrorCode::Matches, detail)
                }
            }
            error => error.into(),
        }
    }

    /// The size of its report, in bytes of JSON.
    pub(crate) fn report_length(&self) -> usize {
        self.report
            .as_deref()
            .map_or(0, lapidary_catalogue::json::length)
    }

    /// The same problem, without its report.
    pub(crate) fn without_report(self) -> Self {
        Self {
            report: None,
            ..self
        }
    }

    /// The details sent to the client.
    pub(crate) fn details(&self) -> api::Problem {
        api::Problem {
            about: "about:blank".to_owned(),
            title: self
                .status()
                .canonical_reason()
                .unwrap_or_default()
                .to_owned(),
            status: self.status().as_u16(),
            detail: self.detail.clone(),
            code: self.code.as_str().to_owned(),
            request_id: self.request.clone(),
            report: self.report.clone(),
        }
    }

    /// Adds a header.
    pub(crate) fn with(self, name: HeaderName, value: impl Into<String>) -> Self {
        Self {
            header: Some(Box::new((name, value.into()))),
            ..self
        }
    }

    /// Sets the request id.
    pub(crate) fn of_request(&self, id: &str) -> Self {
        Self {
            request: Some(id.to_owned()),
            ..self.clone()
        }
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        status_of(self.code.kind())
    }

    /// Whether the server is overloaded.
    pub(crate) fn is_overload(&self) -> bool {
        self.code.kind() == ErrorKind::Busy
    }

    /// The code for programs.
    pub(crate) fn code(&self) -> &'static str {
        self.code.as_str()
    }

    /// The problem as JSON.
    pub(crate) fn body(&self) -> String {
        // Text and a number always serialize.
        serde_json::to_string(&self.details()).unwrap_or_default()
    }
}

/// The HTTP status of a kind of error.
pub(crate) fn status_of(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Malformed => StatusCode::BAD_REQUEST,
        ErrorKind::Input => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::Missing => StatusCode::NOT_FOUND,
        ErrorKind::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        ErrorKind::TooSlow => StatusCode::REQUEST_TIMEOUT,
        ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::Condition => StatusCode::PRECONDITION_FAILED,
        ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::UnsupportedType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ErrorKind::WrongHost => StatusCode::MISDIRECTED_REQUEST,
        ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
        // The server's own folder: its clients cannot fix that.
        ErrorKind::Folder | ErrorKind::InUse | ErrorKind::Internal => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

/// What a client can do about an error, where the error itself does not say.
fn advice(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::RecipeIncomplete => Some("to check anyway, set 'allow_incomplete'"),
        ErrorCode::WouldBeEmpty => Some("to do it anyway, set 'allow_empty'"),
        _ => None,
    }
}

/// What clients are told of a cluster, whose addresses are not public.
fn of_cluster(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::StoreUnavailable => {
            Some("a part of the catalogue cannot be reached; try again in some seconds")
        }
        ErrorCode::StoreEmptied => Some(
            "a part of the catalogue has lost data, so answers would miss books; the log of the server says which, and its \
             administrator has to repair it",
        ),
        ErrorCode::NotReplicated => {
            Some("the change is on one machine only, and may be lost or not; send it again")
        }
        ErrorCode::StoreFull => Some(
            "the catalogue is full, and the change may not have been made; send it again when the administrator has made room",
        ),
        _ => None,
    }
}

/// The response to an unknown path. `calls` lists short available paths without parameters.
pub(crate) fn nothing_here(request: &HttpRequest, calls: &str) -> Problem {
    let path = excerpt(request.path());
    let detail = format!(
        "there is nothing at {path}; available paths: {calls}, and others in /openapi.json"
    );
    Problem::new(ErrorCode::NotFound, detail)
}

/// The server is overloaded.
pub(crate) fn overloaded(detail: &str) -> Problem {
    Problem::new(ErrorCode::Overloaded, detail).with(RETRY_AFTER, RETRY_SECONDS)
}

/// The response to a method that a path does not support.
pub(crate) fn wrong_method(allowed: &str) -> Problem {
    let detail = format!("this path takes {allowed} only");
    Problem::new(ErrorCode::MethodNotAllowed, detail).with(ALLOW, allowed)
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.detail)
    }
}

impl std::error::Error for Problem {}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.status()
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status());
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

impl<E: Classified> From<E> for Problem {
    fn from(error: E) -> Self {
        let code = error.code();
        match code.kind() {
            // These name folders of the server, which are not public.
            ErrorKind::Folder | ErrorKind::InUse => Self::failed(ErrorCode::StoreFailed, &error),
            ErrorKind::Internal => Self::failed(code, &error),
            ErrorKind::DiskFull => {
                tracing::error!("{error}");
                let detail = if code == ErrorCode::RevokedInMemory {
                    "the key is refused from now on, but that is not on disk; the server tries again until it is. Until then, other servers \
                     of a cluster may accept the key, and so does this one if it is restarted"
                } else {
                    "the server's disk is full: nothing of this change was kept; try again when its administrator has freed \
                     some space"
                };
                Self::new(code, detail)
            }
            ErrorKind::Busy => {
                let detail = of_cluster(code).map_or_else(
                    || error.to_string(),
                    |detail| {
                        tracing::error!("{error}");
                        detail.to_owned()
                    },
                );
                Self::new(code, detail).with(RETRY_AFTER, RETRY_SECONDS)
            }
            _ => match advice(code) {
                Some(advice) => Self::new(code, format!("{error}; {advice}")),
                None => Self::new(code, error.to_string()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Problem, status_of};
    use lapidary_common::error::{ErrorCode, ErrorKind};

    #[test]
    fn every_code_stands_for_one_error_with_one_status() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::named(code.as_str()), Some(*code));
            let problem = Problem::new(*code, "").details();
            assert_eq!(problem.status, status_of(code.kind()).as_u16());
        }
    }

    #[test]
    fn faults_of_the_server_are_no_fault_of_the_request() {
        for code in ErrorCode::ALL {
            let is_server_error = status_of(code.kind()).is_server_error();
            assert_eq!(
                is_server_error,
                !code.kind().is_input() || code.kind() == ErrorKind::Folder,
                "{code:?}"
            );
        }
    }
}
