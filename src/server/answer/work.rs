//! Work off the event loop: everything that takes CPU or touches the store.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LOCATION, CONTENT_SECURITY_POLICY, ContentType, ETAG,
    HeaderName, HeaderValue, LOCATION, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::mime;
use actix_web::web::Data;
use actix_web::{HttpResponse, HttpResponseBuilder};
use serde::Serialize;
use tracing::Span;

use crate::server::coding::Coding;
use crate::server::memory::Memory;
use crate::server::outgoing::{Outgoing, PIECE};
use crate::server::problem::Problem;
use crate::server::requests;
use crate::server::turns::Patience;
use crate::server::{ServerState, conditions, language};
use lapidary_catalogue::{Catalogue, CatalogueError, Editor};
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_operations::{Answer as _, Operation};
use lapidary_store::{Actor, Condition, tag_of};

/// Tells search engines what to do with an answer.
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// A response, already serialized off the event loop.
pub(crate) struct Answer {
    status: StatusCode,
    /// The content and its type, if any.
    shown: Option<(ContentType, Vec<u8>)>,
    /// How the content is compressed, if it is.
    coding: Option<Coding>,
    /// The language of its sentences, if the client could choose it.
    language: Option<Language>,
    /// The code of the problem that it is, if it is one.
    problem: Option<&'static str>,
    /// The id of the filed check whose report it is.
    filed: Option<String>,
    /// Where it can be shown what was created or begun.
    place: Option<String>,
    /// Whether whoever knows its address may see it.
    address_is_secret: bool,
    /// The version of what it shows, such as [`Record::tag`](lapidary_store::Record::tag).
    version: Option<String>,
}

/// The code of a problem, for the log.
pub(crate) struct ProblemCode(pub(crate) &'static str);

impl Answer {
    fn of(status: StatusCode, shown: Option<(ContentType, Vec<u8>)>) -> Self {
        Self {
            status,
            shown,
            coding: None,
            language: None,
            problem: None,
            filed: None,
            place: None,
            address_is_secret: false,
            version: None,
        }
    }

    /// A JSON response.
    pub(crate) fn json(status: StatusCode, shown: &impl Serialize) -> Result<Self, Problem> {
        let json = serde_json::to_vec(shown)
            .map_err(|error| Problem::failed(ErrorCode::Internal, &error))?;
        Ok(Self::of(status, Some((ContentType::json(), json))))
    }

    /// The answer of a declared operation.
    pub(crate) fn of_operation<O: Operation>(answer: &O::Answer) -> Result<Self, Problem> {
        let usual = O::ENDPOINT.answers.first().map(|(status, _)| *status);
        let status = answer
            .status()
            .or(usual)
            .and_then(|status| StatusCode::from_u16(status).ok());
        let json = answer
            .to_json()
            .map_err(|error| Problem::failed(ErrorCode::Internal, &error))?;
        let shown = json.map(|json| (ContentType::json(), json));
        Ok(Self::of(status.unwrap_or_default(), shown))
    }

    /// A problem that may be long, because it has a report.
    pub(crate) fn problem(problem: &Problem) -> Result<Self, Problem> {
        let kind = "application/problem+json"
            .parse()
            .map_or_else(|_| ContentType::json(), ContentType);
        let Self { shown, .. } = Self::json(problem.status(), &problem.details())?;
        let shown = shown.map(|(_, json)| (kind, json));
        Ok(Self {
            problem: Some(problem.code()),
            ..Self::of(problem.status(), shown)
        })
    }

    /// An HTML response.
    pub(crate) fn page(page: String) -> Self {
        Self::of(
            StatusCode::OK,
            Some((ContentType::html(), page.into_bytes())),
        )
    }

    /// The same, for what is not there.
    pub(crate) fn missing(self) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            ..self
        }
    }

    /// Its address is a secret: no other site hears of it, and no search engine lists it.
    pub(crate) fn of_secret_address(self) -> Self {
        Self {
            address_is_secret: true,
            ..self
        }
    }

    /// A plain text.
    pub(crate) fn text(text: String) -> Self {
        let kind = ContentType(mime::TEXT_PLAIN_UTF_8);
        Self::of(StatusCode::OK, Some((kind, text.into_bytes())))
    }

    /// A table.
    pub(crate) fn csv(table: String) -> Self {
        let kind = ContentType(mime::TEXT_CSV_UTF_8);
        Self::of(StatusCode::OK, Some((kind, table.into_bytes())))
    }

    /// A JSON response with status 200.
    pub(crate) fn ok(shown: &impl Serialize) -> Result<Self, Problem> {
        Self::json(StatusCode::OK, shown)
    }

    /// An empty response with status 204.
    pub(crate) fn done() -> Self {
        Self::of(StatusCode::NO_CONTENT, None)
    }

    /// Says where the check was filed, if it was.
    pub(crate) fn filed(self, filed: Option<String>) -> Self {
        Self { filed, ..self }
    }

    /// The client has this version already.
    pub(crate) fn not_modified() -> Self {
        Self::of(StatusCode::NOT_MODIFIED, None)
    }

    /// Says where it can be shown what was created or begun, if anything was.
    pub(crate) fn at(self, place: String) -> Self {
        let is_new = [StatusCode::CREATED, StatusCode::ACCEPTED].contains(&self.status);
        Self {
            place: is_new.then_some(place),
            ..self
        }
    }

    /// The answer to a request that is for some versions only. The tag names the version and what is shown beside it, such as
    /// progress, because the version alone would say that nothing changed.
    pub(crate) fn if_wanted(self, version: &str, condition: &Condition) -> Result<Self, Problem> {
        let shown = self.shown.as_ref().map(|(_, body)| tag_of(body));
        let tag = format!("{version}.{}", shown.unwrap_or_default());
        let for_change = conditions::of_versions(condition.clone());
        if !for_change.finds_tag(Some(version)) {
            return Err(CatalogueError::OtherVersion { is_there: true }.into());
        }
        if condition.excludes_tag(Some(&tag)) {
            return Ok(Self::not_modified().of_version(tag));
        }
        Ok(self.of_version(tag))
    }

    /// Says which version it shows.
    pub(crate) fn of_version(self, tag: String) -> Self {
        Self {
            version: Some(tag),
            ..self
        }
    }

    /// Compressed, if that is worthwhile. A tag names an answer as it is, so one that has a tag stays so.
    fn compressed(mut self, coding: Coding) -> Self {
        if let (Some((_, body)), None) = (&mut self.shown, &self.version)
            && let Some(encoded) = coding.encoded(body)
        {
            *body = encoded;
            self.coding = Some(coding);
        }
        self
    }

    /// Says in which language its sentences are.
    pub(crate) fn in_language(self, language: Language) -> Self {
        Self {
            language: Some(language),
            ..self
        }
    }
}

/// Runs `job` when its turn comes, on a thread that can block, with the catalogue that its caller may change. If it panics,
/// only this request fails.
pub(crate) async fn work<F>(state: &Data<ServerState>, job: F) -> Result<HttpResponse, Problem>
where
    F: FnOnce(&Editor<'_>) -> Result<Answer, Problem> + Send + 'static,
{
    work_shared(state, |catalogue, actor| job(&catalogue.by(actor))).await
}

/// Like [`work`], for jobs that may outlive the request.
pub(crate) async fn work_shared<F>(
    state: &Data<ServerState>,
    job: F,
) -> Result<HttpResponse, Problem>
where
    F: FnOnce(&Arc<Catalogue>, Actor) -> Result<Answer, Problem> + Send + 'static,
{
    let catalogue = Arc::clone(&state.catalogue);
    let (request, by) = (Span::current(), requests::caller());
    let (actor, accepts) = (by.actor(), by.accepts);
    let turns = &state.turns;
    let turn = turns.take(by.lane, by.client, Patience::Refusable, move || {
        let answer = request.in_scope(|| job(&catalogue, actor))?;
        Ok(match accepts {
            Some(coding) => answer.compressed(coding),
            None => answer,
        })
    });
    let answer: Result<Answer, Problem> = turn.await?;
    answer?.response(&state.memory)
}

impl Answer {
    fn response(self, memory: &Arc<Memory>) -> Result<HttpResponse, Problem> {
        let Self {
            status,
            shown,
            coding,
            language,
            problem,
            filed,
            place,
            address_is_secret,
            version,
        } = self;
        let mut response = HttpResponseBuilder::new(status);
        let mut response = match shown {
            Some((kind, body)) => {
                if kind == ContentType::html() {
                    // A page loads nothing from elsewhere and runs no scripts.
                    response.insert_header((
                        CONTENT_SECURITY_POLICY,
                        "default-src 'none'; style-src 'unsafe-inline'",
                    ));
                }
                response
                    .insert_header((VARY, "accept, accept-encoding"))
                    .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"));
                // An answer is for the key that it was given to; no cache on the way shows it to others.
                response
                    .insert_header((CACHE_CONTROL, "no-store"))
                    .insert_header(kind);
                if let Some(coding) = coding {
                    response.insert_header((CONTENT_ENCODING, coding.as_str()));
                }
                if body.len() <= PIECE {
                    response.body(body)
                } else {
                    let mut room = memory.room();
                    room.grow(body.len())?;
                    response.body(Outgoing::new(body, room))
                }
            }
            None => response.finish(),
        };
        if let Some(code) = problem {
            response.extensions_mut().insert(ProblemCode(code));
        }
        let filed = filed.map(|id| format!("/v1/decisions/{id}"));
        let tag = version.map(|tag| format!("\"{tag}\""));
        for (name, value) in [(CONTENT_LOCATION, filed), (LOCATION, place), (ETAG, tag)] {
            if let Some(Ok(value)) = value.map(HeaderValue::try_from) {
                response.headers_mut().insert(name, value);
            }
        }
        if address_is_secret {
            let headers = response.headers_mut();
            headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
            headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
        }
        if let Some(language) = language {
            language::say(language, response.headers_mut());
        }
        Ok(response)
    }
}
