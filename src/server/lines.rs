//! Streams of lines: a body of NDJSON is read as far as its answers are read, so that memory stays bounded however long it
//! is. The answers come in the order of the lines.

use std::collections::VecDeque;
use std::sync::Arc;

use actix_web::web::{Bytes, BytesMut, Data, Payload};
use actix_web::{HttpRequest, HttpResponse, rt};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use utoipa::PartialSchema;
use utoipa::openapi::{Object, RefOr, Schema};

use super::access::Meter;
use super::body::{self, PATIENCE};
use super::problem::Problem;
use super::turns::{Lane, Patience};
use super::{State, requests};
use crate::catalogue::Catalogue;

/// The most lines that are worked on at once.
const AT_ONCE: usize = 64;
/// And the most bytes, unless one line has more.
const BYTES_AT_ONCE: usize = 4 << 20;
/// The content type of the answers.
pub(super) const NDJSON: &str = "application/x-ndjson";

/// What `T` is like with a field more. It allows no field that it does not name, so that it cannot be one part of two.
pub(super) fn with_field<T: PartialSchema>(description: &str, name: &str, field: impl Into<Schema>) -> Object {
    let RefOr::T(Schema::Object(mut object)) = T::schema() else {
        unreachable!("what is written as an object is described as one");
    };
    object.properties.insert(name.to_owned(), RefOr::T(field.into()));
    object.description = Some(description.to_owned());
    object
}

/// A line of a body.
pub(super) struct Line {
    /// Its number, from 1 on; blank lines count.
    pub(super) number: u64,
    /// What stands in it, or why that is not read.
    pub(super) content: Result<Bytes, Problem>,
}

/// Answers a body of lines by what `work` makes of some of them at a time: for each an answer.
pub(super) fn answer<A, F>(
    request: &HttpRequest,
    payload: Payload,
    state: &Data<State>,
    work: F,
) -> Result<HttpResponse, Problem>
where
    A: Serialize + 'static,
    F: Fn(&Catalogue, Vec<Line>) -> Vec<A> + Clone + Send + 'static,
{
    body::refuse_other_than_lines(request)?;
    let lines = Lines::new(payload, state.max_body);
    let (by, meter) = (requests::caller(), Meter::of(request));
    if let Some(meter) = &meter {
        meter.count_by_lines();
    }
    let state = state.clone();
    let answers = stream::unfold(lines, move |mut lines| {
        let (state, work, by, meter) = (state.clone(), work.clone(), by.clone(), meter.clone());
        async move {
            let mut some = lines.some().await;
            if some.is_empty() {
                return None;
            }
            if let Some(meter) = meter {
                let (counted, refused) = meter.count_lines(some.len());
                if let Some(refused) = refused {
                    some[counted..].iter_mut().for_each(|line| line.content = Err(refused.clone()));
                }
                meter.pace(counted).await;
            }
            let (actor, catalogue) = (by.actor(), Arc::clone(&state.catalogue));
            let work = move || actor.act(|| written(&work(&catalogue, some)));
            // A panic ends the answer in the middle, so that the client knows of it.
            let written = state.turns.take(Lane::Heavy, by.client, Patience::Stream, work).await;
            Some((written, lines))
        }
    });
    Ok(HttpResponse::Ok().content_type(NDJSON).streaming(Box::pin(answers)))
}

fn written(answers: &[impl Serialize]) -> Bytes {
    let mut bytes = Vec::new();
    for answer in answers {
        // Answers have text for keys, and memory takes all.
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
    /// How much of the buffer is known to have no end of a line.
    searched: usize,
    number: u64,
    /// The largest line.
    limit: usize,
    /// Whether the line under way is too long and is thrown away.
    skipping: bool,
    ready: VecDeque<Line>,
}

impl Lines {
    fn new(payload: Payload, limit: usize) -> Self {
        let (buffer, ready) = (BytesMut::new(), VecDeque::new());
        Self { payload: Some(payload), buffer, searched: 0, number: 0, limit, skipping: false, ready }
    }

    /// The next lines that are here already, at least one; none at the end.
    async fn some(&mut self) -> Vec<Line> {
        while self.ready.is_empty() && self.payload.is_some() {
            self.read().await;
        }
        let (mut some, mut bytes) = (Vec::new(), 0);
        while some.len() < AT_ONCE
            && bytes < BYTES_AT_ONCE
            && let Some(line) = self.ready.pop_front()
        {
            bytes += line.content.as_ref().map_or(0, Bytes::len);
            some.push(line);
        }
        some
    }

    async fn read(&mut self) {
        let Some(payload) = &mut self.payload else { return };
        match rt::time::timeout(PATIENCE, payload.next()).await {
            Ok(Some(Ok(chunk))) => {
                self.buffer.extend_from_slice(&chunk);
                self.split();
            }
            Ok(None) => {
                self.payload = None;
                let rest = self.buffer.split().freeze();
                if self.skipping || !rest.is_empty() {
                    self.end_line(rest);
                }
            }
            Ok(Some(Err(error))) => {
                let detail = format!("the body broke off in this line: {error}; send it and what follows again");
                self.stop(Problem::bad("broken_body", detail));
            }
            Err(_) => self.stop(body::stalled()),
        }
    }

    fn stop(&mut self, problem: Problem) {
        self.payload = None;
        self.number += 1;
        self.ready.push_back(Line { number: self.number, content: Err(problem) });
    }

    /// Takes whole lines out of the buffer.
    fn split(&mut self) {
        while let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            let line = self.buffer.split_to(self.searched + end + 1).freeze();
            self.searched = 0;
            self.end_line(line);
        }
        if self.buffer.len() > self.limit {
            self.skipping = true;
            self.buffer.clear();
        }
        self.searched = self.buffer.len();
    }

    fn end_line(&mut self, line: Bytes) {
        self.number += 1;
        let too_long = std::mem::take(&mut self.skipping) || line.len() > self.limit;
        if too_long || !line.trim_ascii().is_empty() {
            let content = if too_long { Err(body::too_large(self.limit)) } else { Ok(line) };
            self.ready.push_back(Line { number: self.number, content });
        }
    }
}
