//! Imports an export into the catalogue.

use std::cell::RefCell;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, rt};
use bytes::Bytes;
use serde_json::json;
use tokio::sync::mpsc::{Receiver, channel};
use utoipa::openapi::path::HttpMethod::Post;

use super::access::Guest;
use super::access::Needs::Admin;
use super::body::{self, Pace};
use super::calls::{Call, json, lines};
use super::memory::Room;
use super::problem::{Problem, overloaded};
use super::{ServerState, requests};
use lapidary_catalogue::Editor;
use lapidary_catalogue::api::{ExportLine, Imported};
use lapidary_common::error::ErrorCode;
use lapidary_store::UNWATCHED;

/// How many pieces of the body can wait for the disk.
const WAITING: usize = 16;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Post, "/v1/import", Admin, import)
            .named("import", "Import the books of an export")
            .about(
                "Any number of lines in the format of docs/reference/export.md. Each book is added, or replaces the \
                 book with the same id. If a line is invalid, the books before it have already been imported.",
            )
            .takes([lines::<ExportLine>().example(format!(
                "{}\n{}\n",
                json!({ "lapidary_export": 1, "recipes": [], "keeps_folds": false, "books": 0 }),
                json!({ "end": 0 })
            ))])
            .answers(200, "All books were imported", [json::<Imported>()]),
    ]
}

async fn import(
    request: HttpRequest,
    mut payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    body::refuse_other_than_lines(&request)?;
    let transfer = Arc::clone(&state.transfers).try_acquire_owned();
    let transfer = transfer
        .map_err(|_| overloaded("too many exports and imports are running; try again later"))?;
    let (sender, receiver) = channel(WAITING);
    let (catalogue, actor) = (Arc::clone(&state.catalogue), requests::caller().actor());
    let (longest, room) = (state.max_body as u64, state.memory.room());
    let import = rt::task::spawn_blocking(move || {
        let _transfer = transfer;
        let pieces = ImportPieces {
            receiver,
            rest: Bytes::new(),
        };
        add_books(&catalogue.by(actor), pieces, longest, room)
    });
    let (guest, mut pace) = (Guest::of(&request), Pace::new());
    let ended = loop {
        match pace.next(&mut payload).await {
            Ok(Some(Ok(piece))) => {
                if let Err(problem) = guest.is_still_let_in(&state.catalogue) {
                    break Err(problem);
                }
                // After a failure, the rest of the body is still read, so that the client can read the error.
                let _ = sender.send(piece).await;
            }
            Err(stalled) => break Err(stalled),
            // A truncated body lacks the line that ends an export; the client is told about that.
            Ok(None | Some(Err(_))) => break Ok(()),
        }
    };
    drop(sender);
    let imported = import
        .await
        .map_err(|_| Problem::failed(ErrorCode::Internal, &"an import panicked"))?;
    ended?;
    Ok(HttpResponse::Ok().json(imported?))
}

/// Adds the books of an export, each in memory that is reserved for it.
fn add_books(
    catalogue: &Editor<'_>,
    pieces: ImportPieces,
    longest: u64,
    room: Room,
) -> Result<Imported, Problem> {
    let (room, refused) = (RefCell::new(room), RefCell::new(None));
    let mut input = BufReader::new(pieces);
    let transfer = catalogue.transfer();
    let imported = transfer.import_into(&mut input, longest, UNWATCHED, &|bytes| {
        let mut room = room.borrow_mut();
        room.shrink_to(bytes);
        room.grow_to(bytes)
            .map_err(|problem| refused.replace(Some(problem)))
            .is_ok()
    });
    imported.map_err(|error| refused.take().unwrap_or_else(|| error.into()))
}

/// The received pieces, as a reader.
struct ImportPieces {
    receiver: Receiver<Bytes>,
    rest: Bytes,
}

impl Read for ImportPieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.rest = piece,
                None => return Ok(0),
            }
        }
        let some = self.rest.split_to(buffer.len().min(self.rest.len()));
        buffer[..some.len()].copy_from_slice(&some);
        Ok(some.len())
    }
}
