//! The whole catalogue as one answer.

use std::io::{self, Write};
use std::sync::Arc;

use actix_web::web::{Bytes, Data};
use actix_web::{HttpResponse, rt};
use futures_util::stream::unfold;
use tokio::sync::mpsc::{Sender, channel};

use super::State;
use crate::index::UNWATCHED;

/// What goes out at a time.
const PIECE: usize = 256 << 10;
/// How many pieces may wait for a slow client.
const WAITING: usize = 4;

#[utoipa::path(get, path = "/v1/export", tag = "server", operation_id = "export", summary = "Fetch the whole catalogue", responses((status = 200, description = "NDJSON, as docs/export-format.md has it", body = Object, content_type = "application/x-ndjson")))]
pub(super) async fn export(state: Data<State>) -> HttpResponse {
    let (sender, receiver) = channel(WAITING);
    let catalogue = Arc::clone(&state.catalogue);
    rt::task::spawn_blocking(move || {
        let mut out = io::BufWriter::with_capacity(PIECE, Pieces(sender.clone()));
        if let Err(error) = catalogue.export(&mut out, UNWATCHED) {
            tracing::warn!("an export broke off: {error}");
            // The client sees an answer that was cut short, and no end in it.
            let _ = sender.blocking_send(Err(io::Error::other("the export broke off")));
        }
    });
    let pieces = unfold(receiver, |mut receiver| async move { Some((receiver.recv().await?, receiver)) });
    HttpResponse::Ok().content_type("application/x-ndjson").streaming(pieces)
}

/// Sends what is written to it.
struct Pieces(Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
