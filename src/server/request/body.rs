//! Request bodies: finds their type from the content type, and reads them within the limit.

use std::time::{Duration, Instant};

use actix_web::error::PayloadError;
use actix_web::http::header::CONTENT_LENGTH;
use actix_web::web::Payload;
use actix_web::{HttpMessage, HttpRequest, rt};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::de::DeserializeOwned;

use crate::server::ServerState;
use crate::server::coding::{self, Coding};
use crate::server::forms::{self, FORM_DATA, Form, FormPart};
use crate::server::memory::Room;
use crate::server::problem::{Problem, excerpt};
use crate::server::requests::{caller, is_work_of};
use crate::server::turns::{Lane, Patience};
use lapidary_catalogue::json::{self, Excess};
use lapidary_catalogue::metrics::METRICS;
use lapidary_catalogue::parse;
use lapidary_common::error::ErrorCode;
use lapidary_extract::{Book, Encoding, ExtractError, Extracted, File, Heading, Limits, Whole};

/// How long a client may pause in the middle of a body.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The minimum average speed of a body in bytes per second, after the patience has run out.
const SLOWEST: usize = 8 << 10;
/// The largest body, in bytes, that is not heavy work: whatever it contains, it takes a few milliseconds at most.
const SMALL: usize = 64 << 10;
/// Content types of bodies that other calls take. All others may be files: their content says of what format.
const NO_FILES: [&str; 2] = [
    "application/x-www-form-urlencoded",
    "application/merge-patch+json",
];
/// Content types of a stream of JSON objects.
const LINES: [&str; 4] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/json-lines",
];
const MIB: f64 = (1 << 20) as f64;
/// The largest body of a short JSON call, such as one that creates a key.
pub(crate) const WORDS: usize = 256 << 10;
/// The largest form: the gems of the largest query, each at its maximum length.
pub(crate) const FORM: usize = 2 << 20;

/// The received bytes, with the memory reserved for them.
pub(crate) struct Sent {
    pub(crate) bytes: Vec<u8>,
    pub(crate) room: Room,
}

impl Sent {
    /// Parses a JSON object. Afterwards it keeps as much memory as its strings may take.
    pub(crate) fn json<T: DeserializeOwned>(mut self) -> Result<(T, Room), Problem> {
        self.room.grow(self.bytes.len())?;
        let parsed = json(&self.bytes)?;
        self.room.shrink_to(self.bytes.len());
        Ok((parsed, self.room))
    }
}

/// A complete request body.
pub(crate) enum RequestBody {
    /// JSON.
    Json(Sent),
    /// A text or a file.
    Raw(Raw),
}

impl RequestBody {
    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Json(sent) | Self::Raw(Raw { sent, .. }) => &sent.bytes,
        }
    }

    /// The name of the file that it is, if it has one.
    pub(crate) fn file_name(&self) -> Option<&str> {
        match self {
            Self::Json(_) => None,
            Self::Raw(raw) => raw.name(),
        }
    }
}

/// What a client says of a file. It counts only where the content does not tell.
#[derive(Debug, Clone)]
pub(crate) struct Declared {
    /// The encoding of its text, or why that is unknown.
    pub(crate) encoding: Result<Option<Encoding>, Problem>,
    /// Whether markup without a root is HTML.
    is_html: bool,
}

impl Declared {
    /// By its content type, and the charset in that.
    pub(crate) fn new(kind: &str, charset: Option<&str>) -> Self {
        let is_html = ["text/html", "application/xhtml+xml"].contains(&kind);
        Self {
            encoding: charset.map(encoding).transpose(),
            is_html,
        }
    }

    /// The name by which to decide what the content does not tell.
    fn name_instead_of(&self, name: Option<String>) -> Option<String> {
        name.or_else(|| self.is_html.then(|| "page.html".to_owned()))
    }
}

/// A text or a file.
pub(crate) struct Raw {
    sent: Sent,
    name: Option<String>,
    declared: Declared,
    limits: Limits,
}

impl Raw {
    /// A file that comes alone: its size and content decide what kind of work it is.
    pub(crate) fn new(sent: Sent, declared: Declared, limits: Limits) -> Self {
        if sent.bytes.len() > SMALL {
            is_work_of(Lane::Heavy);
        }
        if lapidary_extract::reads_apart(&sent.bytes, declared.name_instead_of(None).as_deref()) {
            is_work_of(Lane::Files);
        }
        Self {
            sent,
            name: None,
            declared,
            limits,
        }
    }

    /// A file of a form.
    pub(crate) fn of_form(part: FormPart, room: Room, limits: Limits) -> Self {
        let FormPart {
            name,
            declared,
            bytes,
        } = part;
        Self {
            sent: Sent {
                bytes: bytes.into(),
                room,
            },
            name,
            declared,
            limits,
        }
    }

    /// Its name, if it has one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What was sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.sent.bytes
    }

    /// Its text, with the memory reserved for it. For an archive, the text of all books in it.
    pub(crate) fn text(self) -> Result<(Whole, Room), Problem> {
        let (whole, mut room) = self.read_by(lapidary_extract::whole)?;
        room.shrink_to(whole.text.len() + whole.headings.iter().map(Heading::size).sum::<usize>());
        Ok((whole, room))
    }

    /// The book in it, with the memory reserved for its text.
    pub(crate) fn book(self) -> Result<(Extracted, Room), Problem> {
        let (book, mut room) = self.read_by(lapidary_extract::one)?;
        room.shrink_to(book.text.len());
        Ok((book, room))
    }

    fn read_by<T>(
        self,
        made_of: fn(Vec<Book>) -> Result<T, ExtractError>,
    ) -> Result<(T, Room), Problem> {
        let Sent {
            bytes,
            room: mut of_file,
        } = self.sent;
        let mut room = of_file.another();
        let size = bytes.len();
        let name = self.declared.name_instead_of(self.name);
        // Whoever names an encoding that nobody knows may have a file that needs none.
        let encoding = match self.declared.encoding {
            Err(_) if !lapidary_extract::takes_encoding(&bytes, name.as_deref()) => None,
            declared => declared?,
        };
        let file = File {
            bytes: bytes.into(),
            name,
            encoding,
        };
        let mut refused = None;
        let books = lapidary_extract::read_charged(file, self.limits, &mut |more| {
            room.grow(usize::try_from(more).unwrap_or(usize::MAX))
                .map_err(|problem| {
                    refused = Some(problem);
                    ExtractError::Busy {
                        why: "there is not enough memory".to_owned(),
                    }
                })
        });
        of_file.shrink_to(0);
        let read = books
            .and_then(made_of)
            .map_err(|error| refused.unwrap_or_else(|| error.into()));
        METRICS.text(size, read.as_ref().err().map(Problem::code));
        Ok((read?, room))
    }
}

/// Reads a body that is JSON, a text or a file, or a form with a file.
pub(crate) async fn json_or_raw(
    request: &HttpRequest,
    payload: Payload,
    state: &ServerState,
) -> Result<RequestBody, Problem> {
    // A type that is malformed says nothing about a file.
    let (kind, charset) = content_type(request).unwrap_or_default();
    match kind.as_str() {
        "application/json" => Ok(RequestBody::Json(
            read(request, payload, state, state.max_body).await?,
        )),
        FORM_DATA => {
            let (file, room) = in_turn(
                form_of_files(request, payload, state).await?,
                state,
                Form::only_file,
            )
            .await?;
            Ok(RequestBody::Raw(Raw::of_form(file, room, state.limits)))
        }
        kind if NO_FILES.contains(&kind)
            || LINES.contains(&kind)
            || kind.starts_with("multipart/") =>
        {
            Err(unknown(
                kind,
                "application/json, multipart/form-data, and any type of a text or file",
            ))
        }
        kind => {
            let declared = Declared::new(kind, charset.as_deref());
            let sent = read(request, payload, state, state.max_body).await?;
            Ok(RequestBody::Raw(Raw::new(sent, declared, state.limits)))
        }
    }
}

/// The request is work of this lane if its body is small, and heavy work otherwise.
pub(crate) fn is_small_work_of(lane: Lane) {
    if [Lane::Changes, Lane::Reads].contains(&caller().lane) {
        is_work_of(lane);
    }
}

/// Reads a form with files.
async fn form_of_files(
    request: &HttpRequest,
    payload: Payload,
    state: &ServerState,
) -> Result<Form, Problem> {
    let boundary = forms::boundary(request)?;
    let sent = read(request, payload, state, state.max_body).await?;
    is_work_of(Lane::Files);
    Ok(Form::new(boundary, sent))
}

/// The files of a form.
pub(crate) async fn files(
    request: &HttpRequest,
    payload: Payload,
    state: &ServerState,
) -> Result<(Vec<FormPart>, Room), Problem> {
    in_turn(
        form_of_files(request, payload, state).await?,
        state,
        Form::files,
    )
    .await
}

/// Takes a form apart on a thread for such work.
async fn in_turn<T: Send + 'static>(
    form: Form,
    state: &ServerState,
    read: fn(Form) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let by = caller();
    state
        .turns
        .take(by.lane, by.client, Patience::Refusable, move || read(form))
        .await?
}

/// Reads a short JSON body.
pub(crate) async fn words<T: DeserializeOwned>(
    request: &HttpRequest,
    payload: Payload,
    state: &ServerState,
) -> Result<T, Problem> {
    json(&body_of(JSON, request, payload, state, WORDS).await?.bytes)
}

/// The content types of a JSON body, of a text and of a form; the first is the one to send.
pub(crate) const JSON: &[&str] = &["application/json", "application/merge-patch+json"];
pub(crate) const PLAIN: &[&str] = &["text/plain", ""];
pub(crate) const URL_ENCODED: &[&str] = &["application/x-www-form-urlencoded", ""];

/// Reads a body of one of these content types.
pub(crate) async fn body_of(
    kinds: &[&str],
    request: &HttpRequest,
    payload: Payload,
    state: &ServerState,
    limit: usize,
) -> Result<Sent, Problem> {
    match content_type(request)?.0.as_str() {
        kind if kinds.contains(&kind) => read(request, payload, state, limit).await,
        kind => Err(unknown(kind, kinds[0])),
    }
}

/// Parses a JSON object, after checking that it costs little more memory than its strings.
pub(crate) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    measure(bytes)?;
    // Serde would accept a list of the values as an object.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(Problem::new(
            ErrorCode::BadJson,
            "the JSON is a list; this call takes an object",
        ));
    }
    parse::json(bytes).map_err(|wrong| {
        Problem::new(
            ErrorCode::BadJson,
            format!("the JSON is refused: {}", excerpt(&wrong)),
        )
    })
}

/// Refuses JSON that costs more than any valid request.
pub(crate) fn measure(bytes: &[u8]) -> Result<(), Problem> {
    json::measure(bytes).map_err(|excess| {
        let code = match excess {
            Excess::Depth | Excess::Name => ErrorCode::BadJson,
            Excess::Elements => ErrorCode::TooManyElements,
            Excess::String => ErrorCode::TooLong,
        };
        Problem::new(code, format!("the JSON is refused: {excess}"))
    })
}

/// Refuses a body that is not JSON lines.
pub(crate) fn refuse_other_than_lines(request: &HttpRequest) -> Result<(), Problem> {
    refuse_compressed(request)?;
    match content_type(request)?.0.as_str() {
        kind if LINES.contains(&kind) => Ok(()),
        kind => Err(unknown(
            kind,
            "application/x-ndjson, one JSON object per line",
        )),
    }
}

/// The content type without parameters (empty if there is none), and its charset.
fn content_type(request: &HttpRequest) -> Result<(String, Option<String>), Problem> {
    let mime = request.mime_type().map_err(|_| {
        Problem::new(
            ErrorCode::UnknownContentType,
            "the content type is malformed; an example is text/plain",
        )
    })?;
    let charset = mime.as_ref().and_then(|mime| {
        mime.get_param("charset")
            .map(|name| name.as_str().to_owned())
    });
    Ok((
        mime.map(|mime| mime.essence_str().to_owned())
            .unwrap_or_default(),
        charset,
    ))
}

fn unknown(kind: &str, known: &str) -> Problem {
    let detail = format!(
        "this call does not take the content type '{}'; it takes {known}",
        excerpt(kind)
    );
    Problem::new(ErrorCode::UnknownContentType, detail)
}

fn encoding(charset: &str) -> Result<Encoding, Problem> {
    excerpt(charset)
        .parse::<Encoding>()
        .map_err(|error| Problem::new(ErrorCode::UnknownCharset, format!("{error}")))
}

/// Reads a whole body, and decompresses it if it is compressed. Never keeps more than `limit` bytes of it.
async fn read(
    request: &HttpRequest,
    payload: Payload,
    state: &ServerState,
    limit: usize,
) -> Result<Sent, Problem> {
    let coding = Coding::of(request.headers())?;
    let limit = limit.min(state.max_body);
    let mut sent = received(request, payload, state, limit).await?;
    if let Some(coding) = coding {
        sent = unpacked(coding, sent, state, limit).await?;
    }
    if sent.bytes.len() > SMALL {
        is_work_of(Lane::Heavy);
    }
    Ok(sent)
}

/// Receives a whole body as it is sent. Memory is taken as the bytes arrive, whatever length is announced.
async fn received(
    request: &HttpRequest,
    mut payload: Payload,
    state: &ServerState,
    limit: usize,
) -> Result<Sent, Problem> {
    let declared = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse().ok());
    if declared.is_some_and(|length: u64| length > limit as u64) {
        return Err(too_large("body", limit, limit == state.max_body));
    }
    let most = declared.map_or(limit, |length| length as usize);
    let mut sent = Sent {
        bytes: Vec::new(),
        room: state.memory.room(),
    };
    let mut pace = Pace::new();
    while let Some(chunk) = pace.next(&mut payload).await? {
        let chunk = chunk.map_err(|_| {
            Problem::new(ErrorCode::BrokenBody, "the body ended early; send it again")
        })?;
        let length = sent.bytes.len() + chunk.len();
        if length > limit {
            return Err(too_large("body", limit, limit == state.max_body));
        }
        sent.room.grow_to(length)?;
        reserve(&mut sent.bytes, chunk.len(), most);
        sent.bytes.extend_from_slice(&chunk);
    }
    Ok(sent)
}

/// Reserves memory for the next bytes of a body that has at `most` so many. For a large one that is done in one go: the system
/// provides memory as it is filled, and nothing is ever copied.
pub(crate) fn reserve(bytes: &mut Vec<u8>, next: usize, most: usize) {
    let length = bytes.len() + next;
    if length > bytes.capacity() {
        bytes.reserve_exact(if length < SMALL {
            next
        } else {
            most.max(length) - bytes.len()
        });
    }
}

/// Decompresses a body on a thread for such work. However short it is, it may be the beginning of much.
async fn unpacked(
    coding: Coding,
    sent: Sent,
    state: &ServerState,
    limit: usize,
) -> Result<Sent, Problem> {
    let by = caller();
    let lane = if limit > WORDS { Lane::Heavy } else { by.lane };
    let is_max_body = limit == state.max_body;
    let decode = move || coding.decoded(&sent, limit, is_max_body);
    let turn = state
        .turns
        .take(lane, by.client, Patience::Refusable, decode);
    turn.await?
}

/// The transfer speed to or from a client. Only the time spent waiting for the client counts.
pub(crate) struct Pace {
    waited: Duration,
    bytes: usize,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self {
            waited: Duration::ZERO,
            bytes: 0,
        }
    }

    /// Records that `bytes` bytes took `waited` to arrive.
    ///
    /// # Errors
    /// If that is too slow.
    pub(crate) fn took(&mut self, waited: Duration, bytes: usize) -> Result<(), Problem> {
        self.waited += waited;
        self.bytes += bytes;
        let patience = PATIENCE + Duration::from_secs((self.bytes / SLOWEST) as u64);
        if self.waited > patience {
            Err(stalled())
        } else {
            Ok(())
        }
    }

    /// The next piece of a body.
    ///
    /// # Errors
    /// If nothing arrives, or the body arrives too slowly.
    pub(crate) async fn next(
        &mut self,
        payload: &mut Payload,
    ) -> Result<Option<Result<Bytes, PayloadError>>, Problem> {
        let begun = Instant::now();
        let next = rt::time::timeout(PATIENCE, payload.next())
            .await
            .map_err(|_| stalled())?;
        let bytes = next
            .as_ref()
            .and_then(|piece| piece.as_ref().ok())
            .map_or(0, Bytes::len);
        self.took(begun.elapsed(), bytes)?;
        Ok(next)
    }
}

/// Refuses a stream that is compressed: its lines are answered while it is sent.
fn refuse_compressed(request: &HttpRequest) -> Result<(), Problem> {
    if Coding::of(request.headers())?.is_none() {
        return Ok(());
    }
    Err(coding::unknown(
        "a stream is not taken with a Content-Encoding; send it uncompressed",
        "identity",
    ))
}

/// The refusal of a body, or of a line of a stream, that is larger than its limit, which may be the setting `max-body`.
pub(crate) fn too_large(what: &str, limit: usize, is_max_body: bool) -> Problem {
    let raise = if is_max_body {
        ", or ask the administrator to raise max-body"
    } else {
        ""
    };
    let mib = limit as f64 / MIB;
    let detail = format!(
        "the {what} is larger than the limit of {limit} bytes ({mib:.1} MiB); send less{raise}"
    );
    Problem::new(ErrorCode::BodyTooLarge, detail)
}

pub(crate) fn stalled() -> Problem {
    let seconds = PATIENCE.as_secs();
    let detail = format!(
        "the body was sent too slowly, or nothing came for {seconds} seconds; send it again"
    );
    Problem::new(ErrorCode::BodyStalled, detail)
}
