//! Why a page is not shown, and what is shown in its place.

use std::fmt;

use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, ResponseError};

use super::layout;
use super::visitor::{HTMX, Visitor, with};
use crate::server::language::preferred;
use lapidary_catalogue::api;
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;

/// A problem that the console finds itself.
pub(super) fn problem(code: ErrorCode, status: StatusCode, detail: String) -> api::Problem {
    api::Problem {
        about: "about:blank".to_owned(),
        title: status.canonical_reason().unwrap_or_default().to_owned(),
        status: status.as_u16(),
        detail,
        code: code.as_str().to_owned(),
        request_id: None,
        report: None,
    }
}

/// Why there is no page.
pub(super) struct PageFailure {
    language: Language,
    kind: FailureKind,
}

enum FailureKind {
    /// Somebody has to sign in first.
    SignIn {
        next: String,
        by_script: bool,
        has_ended: bool,
    },
    Problem(Option<Visitor>, Box<api::Problem>),
}

impl PageFailure {
    pub(super) fn sign_in(request: &HttpRequest, has_ended: bool) -> Self {
        let is_page = request.method() == Method::GET && !request.headers().contains_key(HTMX);
        let here = request
            .uri()
            .path_and_query()
            .map_or("/", |here| here.as_str());
        let next = if is_page {
            here.to_owned()
        } else {
            "/".to_owned()
        };
        let by_script = request.headers().contains_key(HTMX);
        Self {
            language: preferred(request),
            kind: FailureKind::SignIn {
                next,
                by_script,
                has_ended,
            },
        }
    }

    /// A problem of somebody who is signed in.
    pub(super) fn problem_for(visitor: &Visitor, problem: impl Into<Box<api::Problem>>) -> Self {
        Self {
            language: visitor.language(),
            kind: FailureKind::Problem(Some(visitor.clone()), problem.into()),
        }
    }

    /// A problem of whoever sent a request.
    pub(super) fn problem_of(request: &HttpRequest, problem: impl Into<Box<api::Problem>>) -> Self {
        Self {
            language: preferred(request),
            kind: FailureKind::Problem(None, problem.into()),
        }
    }

    /// What is to be told, for a part of a page.
    pub(super) fn detail(&self) -> Option<&api::Problem> {
        match &self.kind {
            FailureKind::Problem(_, problem) => Some(problem),
            FailureKind::SignIn { .. } => None,
        }
    }
}

impl ResponseError for PageFailure {
    fn error_response(&self) -> HttpResponse {
        match &self.kind {
            FailureKind::SignIn {
                next,
                by_script,
                has_ended,
            } => {
                let ended = if *has_ended { "true" } else { "" };
                let place = with("/console/sign-in", &[("next", next), ("ended", ended)]);
                if *by_script {
                    return HttpResponse::Unauthorized()
                        .insert_header(("hx-redirect", place))
                        .finish();
                }
                layout::see_other(&place)
            }
            FailureKind::Problem(visitor, problem) => {
                layout::problem(self.language, visitor.as_ref(), problem)
            }
        }
    }
}

impl fmt::Debug for PageFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for PageFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FailureKind::SignIn { .. } => f.write_str("nobody is signed in"),
            FailureKind::Problem(_, problem) => f.write_str(&problem.detail),
        }
    }
}
