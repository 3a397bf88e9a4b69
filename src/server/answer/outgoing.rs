//! Response bodies: sent in pieces, so that little of a large one is copied at a time, and with the memory reserved
//! for them. A client that reads too slowly does not get the rest.
//!
//! The system detects clients that read nothing at all ([`give_up`]): the connection ends, and with it everything
//! that waits for it.

use std::net::TcpListener;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use actix_web::body::{BodySize, MessageBody};
use bytes::Bytes;

use crate::server::body::{PATIENCE, Pace};
use crate::server::memory::Room;
use crate::server::problem::Problem;

/// The maximum size of a piece.
pub(crate) const PIECE: usize = 64 << 10;

/// Makes the system close connections over which nothing could be sent for [`PATIENCE`].
pub(crate) fn give_up(listener: &TcpListener) {
    // Accepted connections inherit this from the listener.
    #[cfg(target_os = "linux")]
    if let Err(error) = socket2::SockRef::from(listener).set_tcp_user_timeout(Some(PATIENCE)) {
        tracing::warn!("clients that read nothing will not be disconnected: {error}");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = listener;
}

/// How fast the client reads.
pub(crate) struct Taken {
    pace: Pace,
    /// When the last piece was handed over.
    last: Option<Instant>,
}

impl Taken {
    pub(crate) fn new() -> Self {
        Self {
            pace: Pace::new(),
            last: None,
        }
    }

    /// Records that another piece can be sent.
    ///
    /// # Errors
    /// If that took too long.
    pub(crate) fn next(&mut self, bytes: usize) -> Result<(), Problem> {
        let waited = self.last.replace(Instant::now()).map(|last| last.elapsed());
        self.pace.took(waited.unwrap_or_default(), bytes)
    }

    /// Records that nothing is waiting to be sent.
    pub(crate) fn rest(&mut self) {
        self.last = None;
    }
}

/// A response body, with the memory reserved for it.
pub(crate) struct Outgoing {
    bytes: Bytes,
    taken: Taken,
    _room: Room,
}

impl Outgoing {
    pub(crate) fn new(bytes: Vec<u8>, room: Room) -> Self {
        Self {
            bytes: bytes.into(),
            taken: Taken::new(),
            _room: room,
        }
    }
}

impl MessageBody for Outgoing {
    type Error = Problem;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.bytes.len() as u64)
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Problem>>> {
        if self.bytes.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.bytes.len().min(PIECE);
        let piece = self.bytes.split_to(length);
        Poll::Ready(Some(self.taken.next(length).map(|()| piece)))
    }
}
