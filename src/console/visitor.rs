//! Who asks for a page: admitted or sent to sign in, before anything else of the request is read. Calls of the API are made in
//! their name.

use std::future::ready;
use std::rc::Rc;
use std::sync::Arc;

use actix_http::BoxedPayloadStream;
use actix_web::body::to_bytes;
use actix_web::dev::Payload;
use actix_web::http::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE, COOKIE, HOST,
    HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, ORIGIN,
};
use actix_web::http::{Method, StatusCode, Uri};
use actix_web::web::{Bytes, Data};
use actix_web::{FromRequest, HttpRequest};
use futures_util::future::LocalBoxFuture;
use futures_util::stream;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;

use super::failure::{PageFailure, problem};
use super::sessions::{Sessions, WebSession, same, token_of_forms};
use super::{Console, sign_in, tokens};
use crate::server::inside::{Inside, InsideCall, Insider, is_from_own_page};
use crate::server::language::preferred;
use lapidary_catalogue::api::{self, Key};
use lapidary_catalogue::permission::Permission;
use lapidary_catalogue::{Catalogue, CatalogueError};
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_operations::{Answer as _, ListPage, Operation, PageQuery, Request, filled};
use lapidary_store::Actor;

/// The header by which htmx makes itself known.
pub(super) const HTMX: HeaderName = HeaderName::from_static("hx-request");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Characters that stay as they are in a segment of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Who asks for a page.
#[derive(Clone)]
pub(super) struct Visitor(Rc<Inner>);

struct Inner {
    request: HttpRequest,
    console: Data<Console>,
    inside: Rc<Inside>,
    language: Language,
    who: Who,
    /// What the forms of its pages send.
    token: String,
}

/// As whom the visitor acts.
pub(super) enum Who {
    /// As anyone, because the server asks for no key.
    Anyone,
    /// As whoever started the server.
    Local(WebSession),
    /// As the holder of a key.
    Key(Arc<Key>, WebSession),
}

impl Visitor {
    /// The visitor of a request.
    ///
    /// # Errors
    /// If nobody is signed in, or another site may have sent it.
    pub(super) async fn of(request: &HttpRequest) -> Result<Self, PageFailure> {
        let (console, inside) = shared(request);
        let failed = |problem: Box<api::Problem>| PageFailure::problem_of(request, problem);
        let who = if inside.is_open_to(request).map_err(failed)? {
            inside.approve(request.headers()).map_err(failed)?;
            Who::Anyone
        } else {
            signed_in(request, &console, &inside).await?
        };
        let token = match &who {
            Who::Anyone => {
                let shared = inside.ask(|catalogue| Ok(token_of_forms(catalogue))).await;
                shared
                    .map_err(failed)?
                    .unwrap_or_else(|| console.token.clone())
            }
            Who::Local(session) | Who::Key(_, session) => session.token.clone(),
        };
        let visitor = Self(Rc::new(Inner {
            request: request.clone(),
            console,
            inside,
            language: preferred(request),
            who,
            token,
        }));
        if !visitor.is_reading() {
            visitor.has_sent_it()?;
        }
        Ok(visitor)
    }

    /// Whether the request changes nothing.
    fn is_reading(&self) -> bool {
        [Method::GET, Method::HEAD].contains(self.0.request.method())
    }

    /// Makes sure that a form comes from a page of this session.
    fn has_sent_it(&self) -> Result<(), PageFailure> {
        let is_right = tokens::of(&self.0.request).is_some_and(|token| match &self.0.who {
            Who::Anyone => same(&self.0.token, &token),
            Who::Local(session) | Who::Key(_, session) => session.has_sent(&token),
        });
        if is_right && is_from_own_page(self.0.request.headers()) {
            return Ok(());
        }
        Err(self.problem(ErrorCode::CrossSite, StatusCode::FORBIDDEN, ""))
    }

    /// Whether a script of a page sent the request, and takes a part of the answer.
    pub(super) fn is_by_script(&self) -> bool {
        self.0.request.headers().contains_key(HTMX)
    }

    pub(super) fn language(&self) -> Language {
        self.0.language
    }

    pub(super) fn who(&self) -> &Who {
        &self.0.who
    }

    /// Does something with the sessions.
    pub(super) async fn sessions<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Sessions, &Catalogue) -> Result<T, CatalogueError> + Send + 'static,
    ) -> Result<T, PageFailure> {
        let console = self.0.console.clone();
        let done = self
            .0
            .inside
            .ask(move |catalogue| act(&console.sessions, catalogue))
            .await;
        done.map_err(|problem| self.failed(problem))
    }

    pub(super) fn token(&self) -> &str {
        &self.0.token
    }

    pub(super) fn inside(&self) -> &Inside {
        &self.0.inside
    }

    pub(super) fn request(&self) -> &HttpRequest {
        &self.0.request
    }

    /// Whether the visitor has a permission.
    pub(super) fn may(&self, permission: Permission) -> bool {
        match &self.0.who {
            Who::Anyone | Who::Local(_) => true,
            Who::Key(key, _) => key.permits(permission),
        }
    }

    pub(super) fn is_admin(&self) -> bool {
        self.may(Permission::Administer)
    }

    /// Whether the visitor decides about checks. Of others, only an appeal counts.
    pub(super) fn decides(&self) -> bool {
        self.is_admin() || self.may(Permission::Review)
    }

    /// Who the audit log says did what the visitor does.
    pub(super) fn actor(&self) -> Actor {
        match &self.0.who {
            Who::Anyone => Actor::Anonymous,
            Who::Local(_) => Actor::Local,
            Who::Key(key, _) => Actor::Key(key.name.clone()),
        }
    }

    /// Whether the visitor did what the audit log says of this actor.
    pub(super) fn is(&self, actor: &str) -> bool {
        self.actor().to_string() == actor
    }

    /// The failure of a call as a page.
    pub(super) fn failed(&self, problem: impl Into<Box<api::Problem>>) -> PageFailure {
        PageFailure::problem_for(self, problem)
    }

    /// Calls an operation. The segments of its path are words of a form or a page: the API says what is wrong with them.
    pub(super) async fn call<O: Operation>(
        &self,
        segments: &[&str],
        input: O::Input,
    ) -> Result<O::Answer, PageFailure> {
        self.answer_to::<O>(Request::of::<O>(segments, &input))
            .await
    }

    /// Calls an operation with these parameters of its query, as far as they are given.
    pub(super) async fn list<O: Operation>(
        &self,
        segments: &[&str],
        parameters: &[(&str, &str)],
    ) -> Result<O::Answer, PageFailure> {
        let endpoint = O::ENDPOINT;
        let request = Request {
            method: endpoint.method_name(),
            target: with(&filled(endpoint.path, segments), parameters),
            body: None,
        };
        self.answer_to::<O>(request).await
    }

    /// All items of a list.
    pub(super) async fn all<O>(
        &self,
        segments: &[&str],
    ) -> Result<Vec<<O::Answer as ListPage>::Item>, PageFailure>
    where
        O: Operation<Input = PageQuery, Answer: ListPage>,
    {
        let (mut all, mut query) = (Vec::new(), PageQuery::largest(None));
        loop {
            let page = self.call::<O>(segments, query).await?.listed();
            all.extend(page.items);
            if page.next_cursor.is_none() {
                return Ok(all);
            }
            query = PageQuery::largest(page.next_cursor);
        }
    }

    async fn answer_to<O: Operation>(&self, request: Request) -> Result<O::Answer, PageFailure> {
        let method = Method::from_bytes(request.method.as_bytes()).unwrap_or_default();
        let call = ApiCall::new(method, &request.target);
        let call = match request.body {
            Some(json) => call.with_json(json),
            None => call,
        };
        let ApiAnswer { status, body, .. } = self.perform(call).await?;
        O::Answer::of_response(status, &body).map_err(|error| self.unreadable(&error))
    }

    /// Makes a call.
    ///
    /// # Errors
    /// The problem that the API answers with, or the way to sign in again if the session has ended.
    pub(super) async fn perform(&self, call: ApiCall<'_>) -> Result<ApiAnswer, PageFailure> {
        let Inner {
            request,
            inside,
            who,
            ..
        } = &*self.0;
        let uri: Uri = call
            .path
            .parse()
            .map_err(|_| self.problem(ErrorCode::BadPath, StatusCode::BAD_REQUEST, call.path))?;
        let by = match who {
            Who::Anyone => Insider::Anyone,
            Who::Local(_) => Insider::Local,
            Who::Key(key, _) => Insider::Key(key.id.clone()),
        };
        let mut headers = headers_of(request, call.as_part, call.kind, call.length);
        if call.if_new {
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        let asked = InsideCall {
            method: call.method,
            uri,
            headers,
            payload: call.payload,
            peer: request.peer_addr(),
            by,
            as_part: call.as_part,
        };
        let (head, body) = inside.call(asked).await.into_parts();
        let body = to_bytes(body)
            .await
            .map_err(|_| self.problem(ErrorCode::Internal, StatusCode::BAD_GATEWAY, ""))?;
        if head.status().is_success() {
            return Ok(ApiAnswer {
                status: head.status().as_u16(),
                body,
                filed: filed(head.headers()),
            });
        }
        let told = serde_json::from_slice::<api::Problem>(&body);
        Err(match told {
            Ok(told) => self.failed(told),
            Err(_) => self.problem(ErrorCode::Internal, head.status(), ""),
        })
    }

    /// The failure of a call that the console finds itself.
    pub(super) fn problem(&self, code: ErrorCode, status: StatusCode, detail: &str) -> PageFailure {
        self.failed(problem(code, status, detail.to_owned()))
    }

    pub(super) fn read<T: DeserializeOwned>(&self, answer: &ApiAnswer) -> Result<T, PageFailure> {
        serde_json::from_slice(&answer.body).map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, error: &serde_json::Error) -> PageFailure {
        tracing::error!("the console cannot read an answer of the API: {error}");
        self.problem(ErrorCode::Internal, StatusCode::INTERNAL_SERVER_ERROR, "")
    }
}

/// The headers of a call that is made for a request.
fn headers_of(
    request: &HttpRequest,
    as_part: bool,
    kind: Option<HeaderValue>,
    length: Option<HeaderValue>,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for name in [HOST, ORIGIN, FETCH_SITE, REQUEST_ID, ACCEPT_LANGUAGE] {
        if let Some(value) = request.headers().get(&name) {
            headers.insert(name, value.clone());
        }
    }
    let accepted = if as_part {
        "text/html"
    } else {
        "application/json"
    };
    headers.insert(ACCEPT, HeaderValue::from_static(accepted));
    for (name, value) in [(CONTENT_TYPE, kind), (CONTENT_LENGTH, length)] {
        if let Some(value) = value {
            headers.insert(name, value);
        }
    }
    headers
}

/// The id of the filed check that an answer names.
fn filed(headers: &HeaderMap) -> Option<String> {
    let place = headers.get(CONTENT_LOCATION)?.to_str().ok()?;
    place.rsplit('/').next().map(ToOwned::to_owned)
}

/// Whose session a request belongs to.
async fn signed_in(
    request: &HttpRequest,
    console: &Data<Console>,
    inside: &Inside,
) -> Result<Who, PageFailure> {
    let failed = |problem: Box<api::Problem>| PageFailure::problem_of(request, problem);
    let is_used = request.method() != Method::GET || !request.headers().contains_key(HTMX);
    let Some(cookie) = sign_in::session_cookie(request, inside.has_tls()).map(ToOwned::to_owned)
    else {
        return Err(PageFailure::sign_in(request, false));
    };
    let all = console.clone();
    let found = inside.ask(move |catalogue| {
        all.sessions
            .of(catalogue, &cookie, is_used, Timestamp::now())
    });
    let Some(session) = found.await.map_err(failed)? else {
        return Err(PageFailure::sign_in(request, false));
    };
    let id = match &session.by {
        Insider::Local => return Ok(Who::Local(session)),
        Insider::Anyone => return Err(PageFailure::sign_in(request, false)),
        Insider::Key(id) => id,
    };
    if let Some(key) = inside.key(id).map_err(failed)? {
        return Ok(Who::Key(key, session));
    }
    // Another server may have made or renewed it just now.
    let learned = inside.ask(|catalogue| catalogue.keys().learn());
    learned.await.map_err(failed)?;
    if let Some(key) = inside.key(id).map_err(failed)? {
        return Ok(Who::Key(key, session));
    }
    let (all, by) = (console.clone(), session.by.clone());
    let ended = inside.ask(move |catalogue| all.sessions.end(catalogue, |other| other.by == by));
    ended.await.map_err(failed)?;
    Err(PageFailure::sign_in(request, true))
}

impl FromRequest for Visitor {
    type Error = PageFailure;
    type Future = LocalBoxFuture<'static, Result<Self, PageFailure>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move { Self::of(&request).await })
    }
}

/// A call of the API.
pub(super) struct ApiCall<'a> {
    method: Method,
    path: &'a str,
    kind: Option<HeaderValue>,
    length: Option<HeaderValue>,
    payload: Payload,
    as_part: bool,
    if_new: bool,
}

impl<'a> ApiCall<'a> {
    pub(super) fn new(method: Method, path: &'a str) -> Self {
        Self {
            method,
            path,
            kind: None,
            length: None,
            payload: Payload::None,
            as_part: false,
            if_new: false,
        }
    }

    /// With this body.
    pub(super) fn with(self, kind: HeaderValue, body: Bytes) -> Self {
        let payload: BoxedPayloadStream = Box::pin(stream::once(ready(Ok(body))));
        let payload = Payload::Stream { payload };
        Self {
            kind: Some(kind),
            payload,
            ..self
        }
    }

    /// With this JSON.
    pub(super) fn with_json(self, json: Vec<u8>) -> Self {
        self.with(HeaderValue::from_static("application/json"), json.into())
    }

    /// The report is to be part of a page.
    pub(super) fn for_a_page(self) -> Self {
        Self {
            as_part: true,
            ..self
        }
    }

    /// Only if what it makes is not there yet.
    pub(super) fn if_new(self) -> Self {
        Self {
            if_new: true,
            ..self
        }
    }

    /// With the body of a request, as it arrives.
    pub(super) fn passing(self, request: &HttpRequest, payload: Payload) -> Self {
        let headers = request.headers();
        Self {
            kind: headers.get(CONTENT_TYPE).cloned(),
            length: headers.get(CONTENT_LENGTH).cloned(),
            payload,
            ..self
        }
    }
}

/// The answer of a call.
pub(super) struct ApiAnswer {
    status: u16,
    pub(super) body: Bytes,
    /// The id of the filed check.
    pub(super) filed: Option<String>,
}

/// What the console shares between requests.
pub(super) fn shared(request: &HttpRequest) -> (Data<Console>, Rc<Inside>) {
    let (console, inside) = (
        request.app_data::<Data<Console>>(),
        request.app_data::<Rc<Inside>>(),
    );
    let (Some(console), Some(inside)) = (console, inside) else {
        unreachable!("pages are only there together with the console")
    };
    (console.clone(), Rc::clone(inside))
}

/// A path with these segments: `/console/books/mine/1`.
pub(super) fn path<const N: usize>(first: &str, segments: [&str; N]) -> String {
    segments.iter().fold(first.to_owned(), |path, segment| {
        path + "/" + &encoded(segment)
    })
}

/// A path with these parameters, as far as they are given.
pub(super) fn with(path: &str, parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    given.fold(path.to_owned(), |path, (name, value)| {
        let joined = if path.contains('?') { '&' } else { '?' };
        format!("{path}{joined}{name}={}", encoded(value))
    })
}

/// The lines of an answer in JSON Lines.
pub(super) fn lines_of<T: DeserializeOwned>(body: &[u8]) -> Vec<T> {
    let lines = body.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

/// A value of a query or a segment of a path.
pub(super) fn encoded(value: &str) -> String {
    utf8_percent_encode(value, SEGMENT).to_string()
}

/// The value of a cookie.
pub(super) fn cookie_named<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let cookies = request
        .headers()
        .get_all(COOKIE)
        .filter_map(|header| header.to_str().ok());
    let mut pairs = cookies
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value)
}
