//! Exports the whole catalogue as one response, or one book.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, rt};
use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use utoipa::openapi::path::HttpMethod::Get;

use super::ServerState;
use super::access::Needs::{Admin, Follow};
use super::access::{Guest, Visible};
use super::body::{PATIENCE, Pace};
use super::calls::{Call, json, lines};
use super::outgoing::PIECE;
use super::parameters;
use super::problem::{Problem, overloaded};
use super::work::{Answer, work};
use lapidary_catalogue::Catalogue;
use lapidary_catalogue::api::{ExportBook, ExportLine};
use lapidary_operations::books::no_such_book;
use lapidary_store::UNWATCHED;

/// How many pieces can wait for a slow client.
const WAITING: usize = 4;
/// The memory for a gem of a book: read, prepared and written.
const BYTES_PER_GEM: usize = 160;
/// How many copies of a book's text exist while it is exported: read and written, and its folds twice.
const COPIES: usize = 4;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/export", Admin, export)
            .named("export", "Export the whole catalogue")
            .about(
                "At most two exports and imports run at a time. An export is aborted if the client reads nothing for \
                 30 seconds, or reads slower than 8 KiB per second.",
            )
            .answers(200, "NDJSON in the format of docs/reference/export.md", [lines::<ExportLine>()]),
        Call::new(Get, "/v1/libraries/{library}/exports/{id:.*}", Follow, export_book)
            .named("export_book", "Export a book")
            .about(
                "Gems of recipes with a secret are left out. Its kept text and folds are there only for keys that also have \
                 `read_texts`.",
            )
            .answers(200, "The book, as in an export", [json::<ExportBook>()]),
    ]
}

async fn export_book(
    request: HttpRequest,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    let with_text = Visible::to(&request).is_none_or(|readable| readable.contains(&key.library));
    let mut room = state.memory.room();
    work(&state, move |catalogue| {
        let record = catalogue
            .books()
            .get(&key)?
            .ok_or_else(|| no_such_book(&key))?;
        let gems: usize = record.gems.values().map(|&count| count as usize).sum();
        room.grow(gems.saturating_mul(BYTES_PER_GEM))?;
        room.grow(COPIES.saturating_mul(record.bytes as usize))?;
        let book = catalogue.transfer().book(&key, with_text)?;
        Answer::ok(&book.ok_or_else(|| no_such_book(&key))?)
    })
    .await
}

async fn export(request: HttpRequest, state: Data<ServerState>) -> Result<HttpResponse, Problem> {
    let transfer = Arc::clone(&state.transfers).try_acquire_owned();
    let transfer = transfer
        .map_err(|_| overloaded("too many exports and imports are running; try again later"))?;
    let (sender, receiver) = channel(WAITING);
    let is_whole = Arc::new(AtomicBool::new(false));
    let (catalogue, guest, client) = (
        Arc::clone(&state.catalogue),
        Guest::of(&request),
        Handle::current(),
    );
    let done = Arc::clone(&is_whole);
    rt::task::spawn_blocking(move || {
        let _transfer = transfer;
        let pieces = ExportPieces {
            sender,
            client,
            pace: Pace::new(),
            guest,
            catalogue: Arc::clone(&catalogue),
        };
        let mut out = io::BufWriter::with_capacity(PIECE, pieces);
        match catalogue.transfer().export(&mut out, UNWATCHED) {
            Ok(_) => done.store(true, Ordering::Relaxed),
            Err(error) => tracing::warn!("an export was aborted: {error}"),
        }
        // After a failure, what is left in the buffer is not sent.
        let _ = out.into_parts();
    });
    let pieces = pieces(receiver, is_whole);
    Ok(HttpResponse::Ok()
        .content_type("application/x-ndjson")
        .streaming(Box::pin(pieces)))
}

/// Sends what is written to it, as long as the client reads it and is still authorized.
struct ExportPieces {
    sender: Sender<Bytes>,
    client: Handle,
    pace: Pace,
    guest: Guest,
    catalogue: Arc<Catalogue>,
}

impl ExportPieces {
    fn send(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.guest.is_still_let_in(&self.catalogue)?;
        let begun = Instant::now();
        let place = self
            .client
            .block_on(async { rt::time::timeout(PATIENCE, self.sender.reserve()).await });
        let place = place.map_err(|_| overloaded("the client does not read it"))?;
        let place = place.map_err(|_| overloaded("the client disconnected"))?;
        place.send(Bytes::copy_from_slice(bytes));
        self.pace.took(begun.elapsed(), bytes.len())
    }
}

impl Write for ExportPieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let some = &bytes[..bytes.len().min(PIECE)];
        self.send(some)
            .map_err(|problem| io::Error::other(problem.to_string()))?;
        Ok(some.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The pieces of an export. One that is not whole ends with an error.
fn pieces(
    receiver: Receiver<Bytes>,
    is_whole: Arc<AtomicBool>,
) -> impl Stream<Item = io::Result<Bytes>> {
    unfold(Some(receiver), move |receiver| {
        let is_whole = Arc::clone(&is_whole);
        async move {
            let mut receiver = receiver?;
            match receiver.recv().await {
                Some(piece) => Some((Ok(piece), Some(receiver))),
                None if is_whole.load(Ordering::Relaxed) => None,
                // The client sees a truncated response, without an end.
                None => Some((Err(io::Error::other("the export was aborted")), None)),
            }
        }
    })
}
