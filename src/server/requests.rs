//! What every request gets: an id, a span for its log lines, one access log line when it is over, and its metrics.
//! Only the sizes of the data sent are logged: no path, no query, no body.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use actix_web::Error;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use actix_web::http::{ConnectionType, Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::Data;
use bytes::Bytes;
use jiff::Timestamp;
use tracing::{Instrument, Span};

use super::coding::Coding;
use super::problem::{Problem, REQUEST_ID};
use super::turns::{Client, Lane};
use super::work::ProblemCode;
use super::{ServerState, proxies};
use lapidary_catalogue::id::new_id;
use lapidary_catalogue::metrics::METRICS;
use lapidary_store::Actor;

/// The longest client-supplied id that is accepted.
const ID_BYTES: usize = 128;
/// The place of a request in a trace of its client.
const TRACEPARENT: &str = "traceparent";
/// The log target of the access log.
const ACCESS: &str = "lapidary::access";
/// The route label of an unknown path.
const NO_ROUTE: &str = "none";

/// Handles a request with `next`, and logs and counts it.
pub(super) async fn observe(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let client = client_of(&request);
    // From here on, the peer is the client, whatever is between it and this server.
    request.head_mut().peer_addr = client;
    let id = request_id(request.headers());
    let asks_for_upgrade = request.head().upgrade();
    let mut line = AccessLine::begin(&request, &id);
    // HEAD works wherever GET does; the body is left out when the response is written.
    if request.method() == Method::HEAD {
        request.head_mut().method = Method::GET;
    }
    let anonymous = RefCell::new(Caller {
        client: of_address(request.peer_addr()),
        lane: Lane::Reads,
        accepts: Coding::accepted(request.headers()),
    });
    let call = async { (next.call(request).await, caller()) };
    let (answered, by) = CALLER
        .scope(anonymous, call)
        .instrument(line.span.clone())
        .await;
    line.key = if let Client::Key(name) = by.client {
        Some(name)
    } else {
        None
    };
    let response = match answered {
        Ok(response) => response.map_into_boxed_body(),
        Err(error) => {
            let problem = error.as_error::<Problem>();
            line.answered(
                error.as_response_error().status_code(),
                problem.map(Problem::code),
            );
            return Err(problem
                .map(|problem| problem.of_request(&id).into())
                .unwrap_or(error));
        }
    };
    let mut response = identified(response, &id, &mut line);
    if asks_for_upgrade {
        // There is no other protocol, and the connection ends. Without a word of it, the client would send its next request here.
        let head = response.response_mut().head_mut();
        head.set_connection_type(ConnectionType::Close);
    }
    Ok(response.map_body(|_, body| BoxBody::new(Observed::new(body, line))))
}

/// Who makes a request, and what kind of work it is.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) client: Client,
    pub(super) lane: Lane,
    /// How it takes a compressed answer, if it does.
    pub(super) accepts: Option<Coding>,
}

/// The client at an address, as far as is known without a key.
pub(crate) fn of_address(peer: Option<SocketAddr>) -> Client {
    Client::Address(network(
        peer.map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.ip()),
    ))
}

impl Caller {
    /// The actor recorded for the changes of this request.
    pub(super) fn actor(&self) -> Actor {
        match &self.client {
            Client::Key(name) => Actor::Key(name.clone()),
            Client::Local => Actor::Local,
            Client::Address(_) => Actor::Anonymous,
        }
    }
}

tokio::task_local! {
    static CALLER: RefCell<Caller>;
}

/// Sets who makes the current request. Until then, only the address is known.
pub(super) fn made_by(client: Client) {
    let _ = CALLER.try_with(|caller| caller.borrow_mut().client = client);
}

/// Sets the lane of the current request.
pub(super) fn is_work_of(lane: Lane) {
    let _ = CALLER.try_with(|caller| caller.borrow_mut().lane = lane);
}

/// The caller of the current request.
pub(super) fn caller() -> Caller {
    let known = CALLER.try_with(|caller| caller.borrow().clone());
    known.unwrap_or_else(|_| Caller {
        client: of_address(None),
        lane: Lane::Reads,
        accepts: None,
    })
}

/// The network of one client: an IPv4 address, or the prefix that a customer with IPv6 is assigned.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) if address.to_ipv4_mapped().is_none() => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address => address,
    }
}

/// The same response, with the problem's body serialized again.
/// The address that a request comes from, behind any proxies that are trusted.
fn client_of(request: &ServiceRequest) -> Option<SocketAddr> {
    let trusted = request
        .app_data::<Data<ServerState>>()
        .map_or(&[][..], |state| &state.trusted_proxies);
    proxies::client(trusted, request.peer_addr()?, request.headers())
}

/// Notes what was answered, and puts the id of the request into it.
fn identified(response: ServiceResponse, id: &str, line: &mut AccessLine) -> ServiceResponse {
    let problem = response
        .response()
        .error()
        .and_then(|error| error.as_error::<Problem>());
    let code = response
        .response()
        .extensions()
        .get::<ProblemCode>()
        .map(|code| code.0);
    line.answered(response.status(), problem.map(Problem::code).or(code));
    let mut response = match problem.map(|problem| problem.of_request(id)) {
        Some(problem) => with_body_of(response, &problem),
        None => response,
    };
    if let Ok(id) = HeaderValue::from_str(id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

fn with_body_of(response: ServiceResponse, problem: &Problem) -> ServiceResponse {
    let body = problem.body();
    response.map_body(|_, _| BoxBody::new(body))
}

/// The request's own id if it is safe in a log and a header, or else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    if let Some(id) = given.filter(|id| {
        (1..=ID_BYTES).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._~:/+=@".contains(&byte))
    }) {
        return id.to_owned();
    }
    new_id(Timestamp::now()).to_string()
}

/// The id of the trace that the request is a part of, if its client says so (W3C Trace Context).
fn trace_id(headers: &HeaderMap) -> Option<&str> {
    let parent = headers.get(TRACEPARENT)?.to_str().ok()?;
    let mut parts = parent.splitn(4, '-');
    let mut part = |length: usize| {
        let part = parts.next()?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (part.len() == length && part.bytes().all(is_hex)).then_some(part)
    };
    let (version, trace, span) = (part(2)?, part(32)?, part(16)?);
    let is_valid = version != "ff"
        && [trace, span]
            .iter()
            .all(|id| id.bytes().any(|byte| byte != b'0'));
    is_valid.then_some(trace)
}

/// Logs and counts a request when dropped: once, whatever its outcome.
struct AccessLine {
    span: Span,
    begun: Instant,
    slow: Duration,
    method: &'static str,
    route: String,
    received: Option<u64>,
    status: Option<StatusCode>,
    code: Option<&'static str>,
    key: Option<String>,
    sent: u64,
    disconnected: bool,
}

impl AccessLine {
    fn begin(request: &ServiceRequest, id: &str) -> Self {
        METRICS.requests_running.inc();
        let length = request.headers().get(CONTENT_LENGTH);
        Self {
            // At the highest level, so that a warning shows its request even if the log is limited to warnings.
            span: tracing::error_span!("request", id, trace_id = trace_id(request.headers())),
            begun: Instant::now(),
            slow: request
                .app_data::<Data<ServerState>>()
                .map_or(Duration::MAX, |state| state.slow),
            method: known(request.method()),
            // The tail of a path is shown as a name, without its pattern.
            route: request
                .match_pattern()
                .map_or_else(|| NO_ROUTE.to_owned(), |route| route.replace(":.*", "")),
            received: length.and_then(|length| length.to_str().ok()?.parse().ok()),
            status: None,
            code: None,
            key: None,
            sent: 0,
            disconnected: true,
        }
    }

    fn answered(&mut self, status: StatusCode, code: Option<&'static str>) {
        (self.status, self.code, self.disconnected) = (Some(status), code, false);
    }
}

impl Drop for AccessLine {
    fn drop(&mut self) {
        let Self {
            begun,
            slow,
            method,
            route,
            received,
            status,
            code,
            key,
            sent,
            disconnected,
            ..
        } = self;
        let took = begun.elapsed();
        METRICS.requests_running.dec();
        let outcome = status
            .as_ref()
            .filter(|_| !*disconnected)
            .map_or("disconnected", StatusCode::as_str);
        METRICS
            .requests
            .with_label_values(&[method, route.as_str(), outcome])
            .observe(took.as_secs_f64());
        let _entered = self.span.enter();
        let status = status.map(|status| status.as_u16());
        let disconnected = disconnected.then_some(true);
        let duration_ms = (took.as_secs_f64() * 1e6).round() / 1e3;
        if took < *slow {
            tracing::info!(target: ACCESS, method, route, status, code, duration_ms, received, sent, key, disconnected, "request");
        } else {
            tracing::warn!(
                target: ACCESS,
                method, route, status, code, duration_ms, received, sent, key, disconnected,
                "slow request"
            );
        }
    }
}

/// The method, if it is a standard HTTP method: clients can send arbitrary ones.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// The body of a response; the request ends with it.
struct Observed {
    body: BoxBody,
    line: AccessLine,
}

impl Observed {
    fn new(body: BoxBody, mut line: AccessLine) -> Self {
        match body.size() {
            BodySize::Sized(bytes) => line.sent = bytes,
            BodySize::None => {}
            // Until the stream ends.
            BodySize::Stream => line.disconnected = true,
        }
        Self { body, line }
    }
}

impl MessageBody for Observed {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_next(context);
        if self.body.size() == BodySize::Stream {
            match &polled {
                Poll::Ready(Some(Ok(bytes))) => self.line.sent += bytes.len() as u64,
                Poll::Ready(None) => self.line.disconnected = false,
                _ => {}
            }
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderMap, HeaderValue};

    use super::{REQUEST_ID, TRACEPARENT, request_id, trace_id};

    #[test]
    fn a_trace_is_known_by_its_id() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let (zeros, long) = ("0".repeat(32), "0".repeat(16));
        let table = [
            (format!("00-{trace}-{span}-01"), true),
            (format!("cc-{trace}-{span}-01-later"), true),
            (format!("ff-{trace}-{span}-01"), false),
            (format!("00-{zeros}-{span}-01"), false),
            (format!("00-{trace}-{long}-01"), false),
            (format!("00-{}-{span}-01", trace.to_uppercase()), false),
            (format!("00-{trace}"), false),
            (String::new(), false),
        ];
        for (given, is_valid) in table {
            let mut headers = HeaderMap::new();
            let given = HeaderValue::from_str(&given).unwrap();
            headers.insert(TRACEPARENT.parse().unwrap(), given.clone());
            assert_eq!(trace_id(&headers), is_valid.then_some(trace), "{given:?}");
        }
    }

    #[test]
    fn an_id_is_taken_over_if_it_does_no_harm() {
        let long = "x".repeat(129);
        let table = [
            ("7f3a", true),
            ("a-b._~:/+=@Z9", true),
            (&long[..128], true),
            (&long, false),
            ("", false),
            ("a b", false),
            ("a\"b", false),
            ("a\tb", false),
            ("<script>", false),
            ("naïve", false),
        ];
        for (given, taken) in table {
            let mut headers = HeaderMap::new();
            headers.insert(
                REQUEST_ID,
                HeaderValue::from_bytes(given.as_bytes()).unwrap(),
            );
            let id = request_id(&headers);
            assert_eq!(id == given, taken, "{given}");
            assert!(taken || id.len() == 36, "{id}");
        }
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }
}
