//! Bodies: what they are, by their content type, and reading them within the limit.

use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH};
use actix_web::web::{Data, Payload};
use actix_web::{HttpMessage, HttpRequest, rt};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType};
use utoipa::{PartialSchema, ToSchema};

use super::State;
use super::load::Room;
use super::problem::{Problem, excerpt};
use super::requests::is_work_of;
use super::turns::Lane;
use crate::extract::{self, Encoding, ExtractError, Extracted, File, Limits};
use crate::metrics::METRICS;

/// How long a client may send nothing in the middle of a body.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How many bytes a second a body must come with on average, once that patience is over.
const SLOWEST: usize = 8 << 10;
/// What takes at most some milliseconds, whatever it is: the largest body that is no heavy work, in bytes.
const SMALL: usize = 64 << 10;
/// Content types of files. Which format it is tells the content.
const FILES: [&str; 24] = [
    "",
    "application/octet-stream",
    "text/plain",
    "text/html",
    "application/xhtml+xml",
    "text/xml",
    "application/xml",
    "application/tei+xml",
    "application/x-fictionbook+xml",
    "application/x-fictionbook",
    "application/fb3",
    "application/epub+zip",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/msword",
    "application/vnd.oasis.opendocument.text",
    "application/rtf",
    "text/rtf",
    "application/pdf",
    "application/x-mobipocket-ebook",
    "application/vnd.amazon.ebook",
    "application/vnd.amazon.mobi8-ebook",
    "application/zip",
    "application/x-zip-compressed",
    "application/gzip",
];
/// A text or a file, as the API's description has it.
pub(super) struct AnyBytes;

impl PartialSchema for AnyBytes {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some("The bytes as they are")).into()
    }
}

impl ToSchema for AnyBytes {}

const MIB: f64 = (1 << 20) as f64;

/// A body that was read.
pub(super) enum Body {
    /// JSON.
    Json(Vec<u8>),
    /// A text or a file.
    Raw(Raw),
}

/// A text or a file.
pub(super) struct Raw {
    bytes: Vec<u8>,
    encoding: Option<Encoding>,
    limits: Limits,
}

impl Raw {
    /// Its text; of an archive that of all books in it.
    pub(super) fn text(self) -> Result<String, Problem> {
        self.read_by(extract::read_whole)
    }

    /// The book that it is.
    pub(super) fn book(self) -> Result<Extracted, Problem> {
        self.read_by(extract::read_one)
    }

    fn read_by<T>(self, reader: fn(File, Limits) -> Result<T, ExtractError>) -> Result<T, Problem> {
        let size = self.bytes.len();
        let file = File { bytes: self.bytes, name: None, encoding: self.encoding };
        let read = reader(file, self.limits).map_err(Problem::from);
        METRICS.text(size, read.as_ref().err().map(Problem::code));
        read
    }
}

/// Reads a body of JSON, or of a text or a file.
pub(super) async fn json_or_raw(request: &HttpRequest, payload: Payload, state: &State) -> Result<Body, Problem> {
    let (kind, charset) = content_type(request)?;
    match kind.as_str() {
        "application/json" => Ok(Body::Json(read(request, payload, state.max_body).await?)),
        kind if FILES.contains(&kind) => {
            let encoding = charset.as_deref().map(encoding).transpose()?;
            let bytes = read(request, payload, state.max_body).await?;
            if extract::reads_apart(&bytes) {
                is_work_of(Lane::Files);
            }
            Ok(Body::Raw(Raw { bytes, encoding, limits: state.limits }))
        }
        _ => Err(unknown(
            &kind,
            "application/json, application/octet-stream for any file, and those of texts and e-books",
        )),
    }
}

/// Reads a body that must be JSON.
pub(super) async fn only_json<T: DeserializeOwned>(
    request: &HttpRequest,
    payload: Payload,
    limit: usize,
) -> Result<T, Problem> {
    json(&json_only(request, payload, limit).await?)
}

/// Reads a body of JSON.
pub(super) async fn json_only(request: &HttpRequest, payload: Payload, limit: usize) -> Result<Vec<u8>, Problem> {
    match content_type(request)?.0.as_str() {
        "application/json" | "application/merge-patch+json" => read(request, payload, limit).await,
        kind => Err(unknown(kind, "application/json")),
    }
}

/// Reads the body of a form.
pub(super) async fn form(request: &HttpRequest, payload: Payload, limit: usize) -> Result<Vec<u8>, Problem> {
    match content_type(request)?.0.as_str() {
        "application/x-www-form-urlencoded" | "" => read(request, payload, limit).await,
        kind => Err(unknown(kind, "application/x-www-form-urlencoded")),
    }
}

/// Parses a JSON object.
pub(super) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // A list of its values would be taken for an object.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(Problem::bad("bad_json", "the body is a list; this call takes a JSON object"));
    }
    serde_json::from_slice(bytes).map_err(|error| bad_json(&error))
}

/// What is not the JSON that a call takes.
pub(super) fn bad_json(error: &serde_json::Error) -> Problem {
    let error = excerpt(&error.to_string());
    Problem::bad("bad_json", format!("the body is not the JSON that this call takes: {error}"))
}

/// Refuses a body that is not lines of JSON.
pub(super) fn refuse_other_than_lines(request: &HttpRequest) -> Result<(), Problem> {
    refuse_compressed(request)?;
    match content_type(request)?.0.as_str() {
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" | "application/json-lines" => Ok(()),
        kind => Err(unknown(kind, "application/x-ndjson, a JSON object a line")),
    }
}

/// The content type without parameters, empty if there is none, and its charset.
fn content_type(request: &HttpRequest) -> Result<(String, Option<String>), Problem> {
    let mime = request.mime_type().map_err(|_| unknown("one that cannot be read", "such as text/plain"))?;
    let charset = mime.as_ref().and_then(|mime| mime.get_param("charset").map(|name| name.as_str().to_owned()));
    Ok((mime.map(|mime| mime.essence_str().to_owned()).unwrap_or_default(), charset))
}

fn unknown(kind: &str, known: &str) -> Problem {
    let detail = format!("this call does not take the content type '{}'; known are {known}", excerpt(kind));
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unknown_content_type", detail)
}

fn encoding(charset: &str) -> Result<Encoding, Problem> {
    let unknown = |error| Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unknown_charset", format!("{error}"));
    excerpt(charset).parse::<Encoding>().map_err(unknown)
}

/// Reads a whole body, and never keeps more than `limit` bytes of it.
async fn read(request: &HttpRequest, mut payload: Payload, limit: usize) -> Result<Vec<u8>, Problem> {
    refuse_compressed(request)?;
    let declared = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if declared.is_some_and(|length: u64| length > limit as u64) {
        return Err(too_large(limit));
    }
    let mut bytes = Vec::new();
    let mut held = Held::of(request);
    held.grow_to(declared.map_or(0, |length| length as usize))?;
    let begun = Instant::now();
    while let Some(chunk) = rt::time::timeout(PATIENCE, payload.next()).await.map_err(|_| stalled())? {
        let chunk = chunk.map_err(|error| Problem::bad("broken_body", format!("the body broke off: {error}")))?;
        if chunk.len() > limit - bytes.len() {
            return Err(too_large(limit));
        }
        bytes.extend_from_slice(&chunk);
        held.grow_to(bytes.len())?;
        if begun.elapsed() > PATIENCE + Duration::from_secs((bytes.len() / SLOWEST) as u64) {
            return Err(stalled());
        }
    }
    held.until_the_end_of(request);
    if bytes.len() > SMALL {
        is_work_of(Lane::Heavy);
    }
    Ok(bytes)
}

/// The memory that a body has been given.
struct Held {
    state: Option<Data<State>>,
    room: Room,
    bytes: usize,
}

impl Held {
    fn of(request: &HttpRequest) -> Self {
        Self { state: request.app_data::<Data<State>>().cloned(), room: Room::default(), bytes: 0 }
    }

    fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        if let Some(state) = self.state.as_ref().filter(|_| bytes > self.bytes) {
            // Ahead, so that small pieces do not ask each time.
            let more = (bytes - self.bytes).max(self.bytes / 2);
            state.load.give(&mut self.room, more)?;
            self.bytes += more;
        }
        Ok(())
    }

    /// The request has it until it is answered.
    fn until_the_end_of(self, request: &HttpRequest) {
        request.extensions_mut().insert(self.room);
    }
}

fn refuse_compressed(request: &HttpRequest) -> Result<(), Problem> {
    match request.headers().get(CONTENT_ENCODING) {
        Some(coding) if !coding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            let detail = "a body with a Content-Encoding is not read; send it uncompressed";
            let problem = Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unknown_content_encoding", detail);
            Err(problem.with(ACCEPT_ENCODING, "identity"))
        }
        _ => Ok(()),
    }
}

pub(super) fn too_large(limit: usize) -> Problem {
    let mib = limit as f64 / MIB;
    let detail = format!(
        "the body is larger than {limit} bytes ({mib:.1} MiB), the limit here; send less, or have --max-body raised"
    );
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
}

pub(super) fn stalled() -> Problem {
    let seconds = PATIENCE.as_secs();
    let detail = format!("the body came too slowly, or nothing of it for {seconds} seconds; send it again");
    Problem::new(StatusCode::REQUEST_TIMEOUT, "body_stalled", detail)
}
