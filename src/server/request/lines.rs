//! Streams of lines. An NDJSON body is read only as fast as the client reads the responses, so that memory stays
//! bounded for any length. Responses are sent in the order of the lines.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, rt};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use parking_lot::Mutex;
use serde::Serialize;
use utoipa::PartialSchema;
use utoipa::openapi::{Object, RefOr, Schema};

use crate::server::access::{Guest, Meter};
use crate::server::body::{self, PATIENCE, Pace};
use crate::server::memory::Room;
use crate::server::outgoing::{PIECE, Taken};
use crate::server::problem::Problem;
use crate::server::requests::Caller;
use crate::server::turns::{Lane, Patience};
use crate::server::{ServerState, requests};
use lapidary_catalogue::{Catalogue, Editor};
use lapidary_common::error::ErrorCode;

/// The maximum number of lines processed at once.
const AT_ONCE: usize = 64;
/// How long lines that are processed at once may take, so that others have their turn: after more time, half as many follow,
/// and after half the time, twice as many.
const TURN: Duration = Duration::from_millis(100);
/// The maximum number of bytes processed at once, unless a single line is larger.
const BYTES_AT_ONCE: usize = 4 << 20;
/// How long a stream waits before it asks for memory again.
const RETRY: Duration = Duration::from_millis(50);
/// The content type of the responses.
pub(crate) const NDJSON: &str = "application/x-ndjson";

/// The schema of `T` with an additional field. The schema allows no unnamed fields, so it cannot be combined with
/// another one.
pub(crate) fn with_field<T: PartialSchema>(
    description: &str,
    name: &str,
    field: impl Into<Schema>,
) -> Object {
    let RefOr::T(Schema::Object(mut object)) = T::schema() else {
        unreachable!("what is written as an object is described as one");
    };
    object
        .properties
        .insert(name.to_owned(), RefOr::T(field.into()));
    object.description = Some(description.to_owned());
    object
}

/// A line of a body.
pub(crate) struct StreamLine {
    /// Its number, starting at 1; blank lines count.
    pub(crate) number: u64,
    /// Its content, or why it was not read.
    pub(crate) content: Result<Bytes, Problem>,
}

/// Processes some lines and returns one result for each. Memory is reserved for the results.
pub(crate) trait Work<A>:
    Fn(&Editor<'_>, Vec<StreamLine>, &Mutex<Room>) -> Vec<A> + Clone + Send + 'static
{
}

impl<A, F> Work<A> for F where
    F: Fn(&Editor<'_>, Vec<StreamLine>, &Mutex<Room>) -> Vec<A> + Clone + Send + 'static
{
}

/// Responds to a body of lines. `work` processes several lines at a time.
pub(crate) fn answer<A: Serialize + 'static>(
    request: &HttpRequest,
    payload: Payload,
    state: &Data<ServerState>,
    work: impl Work<A>,
) -> Result<HttpResponse, Problem> {
    body::refuse_other_than_lines(request)?;
    let lines = Lines::new(Some(payload), state.max_body, state.memory.room());
    Ok(stream_of_answers(request, state, Lane::Heavy, lines, work))
}

/// Like [`answer`], one file of a form at a time. `room` is the memory reserved for the files.
pub(crate) fn answer_files<A: Serialize + 'static>(
    request: &HttpRequest,
    state: &Data<ServerState>,
    files: impl Iterator<Item = Bytes>,
    room: Room,
    work: impl Work<A>,
) -> HttpResponse {
    stream_of_answers(request, state, Lane::Files, Lines::of(files, room), work)
}

fn stream_of_answers<A: Serialize + 'static>(
    request: &HttpRequest,
    state: &Data<ServerState>,
    lane: Lane,
    lines: Lines,
    work: impl Work<A>,
) -> HttpResponse {
    let meter = Meter::of(request);
    let answering = LineAnswers {
        lines,
        lane,
        written: WrittenLines::default(),
        taken: Taken::new(),
        by: requests::caller(),
        guest: Guest::of(request),
        meter,
        began: false,
        state: state.clone(),
        work,
    };
    let answers = stream::unfold(answering, |mut answering| async {
        Some((answering.next().await?, answering))
    });
    HttpResponse::Ok()
        .content_type(NDJSON)
        .streaming(Box::pin(answers))
}

/// A stream of lines in progress.
struct LineAnswers<F> {
    lines: Lines,
    lane: Lane,
    written: WrittenLines,
    taken: Taken,
    by: Caller,
    guest: Guest,
    meter: Option<Arc<Meter>>,
    began: bool,
    state: Data<ServerState>,
    work: F,
}

fn refuse(lines: &mut [StreamLine], problem: &Problem) {
    for line in lines {
        line.content = Err(problem.clone());
    }
}

/// Processes lines, and gives back the memory that their answers do not need.
fn process<A: Serialize>(
    work: &impl Work<A>,
    catalogue: &Editor<'_>,
    lines: Vec<StreamLine>,
    room: Room,
) -> WrittenLines {
    let room = Mutex::new(room);
    let answers = work(catalogue, lines, &room);
    let mut room = room.into_inner();
    let bytes = written(&answers);
    drop(answers);
    room.shrink_to(bytes.len());
    WrittenLines {
        bytes,
        _room: Some(room),
    }
}

/// Serialized results, with the memory reserved for them.
#[derive(Default)]
struct WrittenLines {
    bytes: Bytes,
    _room: Option<Room>,
}

impl<F> LineAnswers<F> {
    /// The next piece of the response; `None` at the end.
    async fn next<A: Serialize + 'static>(&mut self) -> Option<Result<Bytes, Problem>>
    where
        F: Work<A>,
    {
        if self.written.bytes.is_empty() {
            self.written = WrittenLines::default();
            self.taken.rest();
            match self.answered().await? {
                Ok(written) => self.written = written,
                // A panic truncates the response, so that the client notices.
                Err(problem) => return Some(Err(problem)),
            }
        }
        let piece = self
            .written
            .bytes
            .split_to(self.written.bytes.len().min(PIECE));
        Some(self.taken.next(piece.len()).map(|()| piece))
    }

    async fn answered<A: Serialize + 'static>(&mut self) -> Option<Result<WrittenLines, Problem>>
    where
        F: Work<A>,
    {
        if let Some(meter) = self.meter.as_ref().filter(|_| !self.began) {
            self.began = true;
            meter.count_by_lines().await;
        }
        let mut some = self.lines.some().await;
        if some.is_empty() {
            return None;
        }
        self.admit(&mut some).await;
        let mut room = self.lines.room.another();
        if let Err(problem) = room_for(&some, &mut room, &self.state.catalogue).await {
            refuse(&mut some, &problem);
        }
        let (actor, catalogue) = (self.by.actor(), Arc::clone(&self.state.catalogue));
        let work = self.work.clone();
        let client = self.by.client.clone();
        let turns = &self.state.turns;
        let turn = turns.take(self.lane, client, Patience::Stream, move || {
            let begun = Instant::now();
            let written = process(&work, &catalogue.by(actor), some, room);
            (written, begun.elapsed())
        });
        let answered = turn.await.map(|(written, took)| {
            self.lines.took(took);
            written
        });
        Some(answered)
    }

    /// Refuses all lines of a key that may send no more, or those beyond its quota.
    async fn admit(&mut self, lines: &mut [StreamLine]) {
        if let Err(problem) = self.guest.is_still_let_in(&self.state.catalogue) {
            self.lines.end();
            refuse(lines, &problem);
        } else if let Some(meter) = &self.meter {
            let (counted, refused) = meter.count_lines(lines.len()).await;
            if let Some(problem) = refused {
                refuse(&mut lines[counted..], &problem);
            }
            meter.pace(counted).await;
        }
    }
}

/// Reserves the memory for processing lines. A stream waits a while for it, because it has already been admitted.
async fn room_for(
    lines: &[StreamLine],
    room: &mut Room,
    catalogue: &Catalogue,
) -> Result<(), Problem> {
    let mut bytes = 0;
    for line in lines.iter().filter_map(|line| line.content.as_ref().ok()) {
        bytes += 2 * line.len() + catalogue.books().memory_to_add(line)?;
    }
    let begun = Instant::now();
    loop {
        match room.grow(bytes) {
            Err(problem) if begun.elapsed() > PATIENCE || !problem.is_overload() => {
                return Err(problem);
            }
            Err(_) => rt::time::sleep(RETRY).await,
            Ok(()) => return Ok(()),
        }
    }
}

fn written(answers: &[impl Serialize]) -> Bytes {
    let mut bytes = Vec::new();
    for answer in answers {
        // The results have text keys and memory accepts every write, so this does not fail.
        if serde_json::to_writer(&mut bytes, answer).is_ok() {
            bytes.push(b'\n');
        }
    }
    bytes.into()
}

/// The lines of a body.
struct Lines {
    payload: Option<Payload>,
    buffer: BytesMut,
    /// How much of the buffer is known to contain no line end.
    searched: usize,
    number: u64,
    /// The maximum size of a line.
    limit: usize,
    /// Why the current line is discarded, if it is.
    refused: Option<Problem>,
    /// Complete lines, and their total size in bytes.
    ready: VecDeque<StreamLine>,
    ready_bytes: usize,
    /// The memory reserved for the buffer.
    room: Room,
    /// The speed at which the current line arrives.
    pace: Pace,
    /// How many are processed at once, and at most.
    at_once: usize,
    most_at_once: usize,
}

impl Lines {
    fn new(payload: Option<Payload>, limit: usize, room: Room) -> Self {
        Self {
            payload,
            buffer: BytesMut::new(),
            searched: 0,
            number: 0,
            limit,
            refused: None,
            ready: VecDeque::new(),
            ready_bytes: 0,
            room,
            pace: Pace::new(),
            at_once: 1,
            most_at_once: AT_ONCE,
        }
    }

    /// Files, processed one at a time.
    fn of(files: impl Iterator<Item = Bytes>, room: Room) -> Self {
        let ready: VecDeque<StreamLine> = (1..)
            .zip(files)
            .map(|(number, file)| StreamLine {
                number,
                content: Ok(file),
            })
            .collect();
        let ready_bytes = ready
            .iter()
            .filter_map(|line| line.content.as_ref().ok())
            .map(Bytes::len)
            .sum();
        Self {
            ready,
            ready_bytes,
            most_at_once: 1,
            ..Self::new(None, 0, room)
        }
    }

    /// Adapts how many are processed at once to how long the last ones took.
    fn took(&mut self, took: Duration) {
        self.at_once = adapted(self.at_once, took).min(self.most_at_once);
    }

    /// The lines that have already arrived, at least one; none at the end.
    async fn some(&mut self) -> Vec<StreamLine> {
        while self.ready.is_empty() && self.payload.is_some() {
            self.read().await;
        }
        let (mut some, mut bytes) = (Vec::new(), 0);
        while some.len() < self.at_once
            && bytes < BYTES_AT_ONCE
            && let Some(line) = self.ready.pop_front()
        {
            bytes += line.content.as_ref().map_or(0, Bytes::len);
            some.push(line);
        }
        self.ready_bytes = self.ready_bytes.saturating_sub(bytes);
        self.room.shrink_to(self.held());
        some
    }

    async fn read(&mut self) {
        let Some(payload) = &mut self.payload else {
            return;
        };
        match self.pace.next(payload).await {
            Ok(Some(Ok(chunk))) => self.take(&chunk),
            Ok(None) => {
                self.payload = None;
                let rest = self.buffer.split().freeze();
                if self.refused.is_some() || !rest.is_empty() {
                    self.end_line(rest);
                }
            }
            Ok(Some(Err(_))) => {
                let detail = "the body ended early in this line; send it and the rest again";
                self.stop(Problem::new(ErrorCode::BrokenBody, detail));
            }
            Err(stalled) => self.stop(stalled),
        }
    }

    /// Handles the end of the body.
    fn end(&mut self) {
        self.payload = None;
        self.ready.clear();
    }

    fn stop(&mut self, problem: Problem) {
        self.payload = None;
        self.number += 1;
        self.ready.push_back(StreamLine {
            number: self.number,
            content: Err(problem),
        });
    }

    /// How much memory the buffered lines take. A growing buffer briefly exists twice; a small one is no more than
    /// any connection uses.
    fn held(&self) -> usize {
        match self.buffer.len() + self.ready_bytes {
            small @ ..=PIECE => small,
            bytes => 2 * bytes,
        }
    }

    /// Appends a piece of the body, and moves complete lines out of the buffer.
    fn take(&mut self, chunk: &[u8]) {
        if let Err(problem) = self.room.grow_to(self.held() + 2 * chunk.len()) {
            self.refused = self.refused.take().or(Some(problem));
            self.buffer.clear();
            self.searched = 0;
        }
        self.buffer.extend_from_slice(chunk);
        while let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            let line = self.buffer.split_to(self.searched + end + 1).freeze();
            self.searched = 0;
            self.end_line(line);
        }
        if self.buffer.len() > self.limit {
            self.refused = self
                .refused
                .take()
                .or_else(|| Some(body::too_large("line", self.limit, true)));
        }
        if self.refused.is_some() {
            self.buffer.clear();
        }
        self.searched = self.buffer.len();
    }

    fn end_line(&mut self, line: Bytes) {
        self.number += 1;
        self.pace = Pace::new();
        let content = match self.refused.take() {
            Some(problem) => Err(problem),
            None if line.len() > self.limit => Err(body::too_large("line", self.limit, true)),
            None if line.trim_ascii().is_empty() => return,
            None => Ok(line),
        };
        self.ready_bytes += content.as_ref().map_or(0, Bytes::len);
        self.ready.push_back(StreamLine {
            number: self.number,
            content,
        });
    }
}

/// How many lines to process at once after so many took so long.
fn adapted(at_once: usize, took: Duration) -> usize {
    if took > TURN {
        (at_once / 2).max(1)
    } else if took < TURN / 2 {
        2 * at_once
    } else {
        at_once
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_short_whatever_lines_take() {
        for line in [1, 7, 30, 90, 5_000].map(Duration::from_millis) {
            let turns = std::iter::successors(Some(1_usize), |&at_once| {
                Some(adapted(at_once, line * at_once as u32).min(AT_ONCE))
            });
            let longest = turns.clone().take(100).max().expect("some");
            assert!(
                longest == 1 || line * longest as u32 <= 2 * TURN,
                "{longest} lines of {line:?}"
            );
            let settled = turns.skip(100).take(10).min().expect("some");
            assert!(
                settled == AT_ONCE || 4 * line * settled as u32 >= TURN,
                "{settled} lines of {line:?}"
            );
        }
        assert_eq!(
            adapted(AT_ONCE, 3 * TURN),
            AT_ONCE / 2,
            "lines that become slow"
        );
    }
}
