//! Requests that take effect once, however often they are sent: the header `Idempotency-Key`.

use actix_web::HttpRequest;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use lapidary_catalogue::{Catalogue, OnceRequest};
use lapidary_common::error::ErrorCode;
use lapidary_store::Actor;

use crate::server::access;
use crate::server::forms::FORM_DATA;
use crate::server::problem::Problem;

/// The name that a client gives to a request.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// How long it is. What can be guessed protects no answer.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=255;

/// A request that takes effect once, before its body is known.
pub(crate) struct NamedRequest {
    key: String,
    /// That of the client's access key; empty if it sent none.
    secret: String,
    /// Of all but the body.
    hasher: Box<blake3::Hasher>,
}

/// The request, if its client has named it.
pub(crate) fn of(request: &HttpRequest) -> Result<Option<NamedRequest>, Problem> {
    let Some(key) = request.headers().get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    let key = key.to_str().ok().filter(|key| LENGTHS.contains(&key.len()));
    let key = key.ok_or_else(|| {
        let detail = "'Idempotency-Key' must have 16 to 255 characters of ASCII; send a new UUID with each new request";
        Problem::new(ErrorCode::BadIdempotencyKey, detail)
    })?;
    let mut hasher = Box::new(blake3::Hasher::new());
    let uri = request.uri().to_string();
    for part in [request.method().as_str(), &uri, kind(request.headers())] {
        hasher.update(part.as_bytes()).update(b"\n");
    }
    Ok(Some(NamedRequest {
        key: key.to_owned(),
        secret: access::presented(request.headers())
            .unwrap_or_default()
            .to_owned(),
        hasher,
    }))
}

/// The content type of a request. The boundary of a form is another one each time, and is left out.
fn kind(headers: &HeaderMap) -> &str {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::to_str);
    let kind = kind.and_then(Result::ok).unwrap_or_default();
    match kind.split_once(';') {
        Some((form, _)) if form.trim().eq_ignore_ascii_case(FORM_DATA) => form,
        _ => kind,
    }
}

impl NamedRequest {
    /// With this body, and the name of the file that it is, if it has one.
    pub(crate) fn with(mut self, body: &[u8], file: Option<&str>) -> Self {
        let file = file.unwrap_or_default();
        self.hasher.update(&(file.len() as u64).to_le_bytes());
        self.hasher.update(file.as_bytes()).update(body);
        self
    }

    /// Begins the request.
    pub(crate) fn begin(self, catalogue: &Catalogue, by: &Actor) -> Result<OnceRequest, Problem> {
        let digest = self.hasher.finalize().to_string();
        Ok(OnceRequest::begin(
            catalogue,
            by,
            &self.key,
            &self.secret,
            &digest,
        )?)
    }
}
