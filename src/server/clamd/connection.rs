//! A connection: commands, each with its answer, in this order.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;

use actix_http::BoxedPayloadStream;
use actix_http::error::PayloadError;
use actix_web::rt::time::timeout;
use bytes::Bytes;
use futures_util::future::{Either, select};
use futures_util::stream::unfold;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
    ReadHalf, WriteHalf, split,
};
use tokio::sync::Mutex;

use super::Door;
use super::command::{ClamdCommand, ClamdLine, LONGEST, end_of};
use crate::server::body::PATIENCE;
use crate::server::connections::LINGER;

const VERSION: &str = concat!("Lapidary ", env!("CARGO_PKG_VERSION"));
const COMMANDS: &str = "COMMANDS: PING VERSION VERSIONCOMMANDS INSTREAM IDSESSION END";

/// A connection of a client.
pub(super) struct Connection<'d, S> {
    door: &'d Door,
    peer: SocketAddr,
    /// A file that is being checked reads from it, too.
    reader: Rc<Mutex<Incoming<S>>>,
    writer: WriteHalf<S>,
    /// The number of the last command of a session.
    number: Option<u64>,
}

/// Whether another command may follow.
#[derive(PartialEq, Eq)]
enum Next {
    Command,
    Close,
}

impl<'d, S: AsyncRead + AsyncWrite + 'static> Connection<'d, S> {
    pub(super) fn new(stream: S, peer: SocketAddr, door: &'d Door) -> Self {
        let (reader, writer) = split(stream);
        Self {
            door,
            peer,
            reader: Rc::new(Mutex::new(Incoming::new(reader))),
            writer,
            number: None,
        }
    }

    /// Answers commands until one ends the connection, or no more comes.
    ///
    /// # Errors
    /// If the connection breaks.
    pub(super) async fn run(mut self) -> io::Result<()> {
        let Ok(_place) = self.door.places.try_acquire() else {
            self.say("Too many connections. ERROR", b'\n').await?;
            return self.close().await;
        };
        while let Some(line) = self.next().await? {
            if self.answer(line).await? == Next::Close {
                break;
            }
        }
        self.close().await
    }

    /// A client that still sends could not read the last answer if the rest were not read.
    async fn close(mut self) -> io::Result<()> {
        self.writer.shutdown().await?;
        let mut reader = self.reader.lock().await;
        let rest = timeout(LINGER, reader.discard());
        select(pin!(rest), pin!(self.door.stopping.notified())).await;
        Ok(())
    }

    /// The next command; `None` if none comes in time, or the server stops.
    async fn next(&mut self) -> io::Result<Option<ClamdLine>> {
        let mut reader = self.reader.lock().await;
        let line = timeout(PATIENCE, reader.line());
        match select(pin!(line), pin!(self.door.stopping.notified())).await {
            Either::Left((Ok(line), _)) => line,
            _ => Ok(None),
        }
    }

    async fn answer(&mut self, ClamdLine { end, command }: ClamdLine) -> io::Result<Next> {
        if let Some(number) = &mut self.number {
            *number += 1;
        }
        let (said, next) = match command {
            ClamdCommand::IdSession if self.number.is_none() => {
                self.number = Some(0);
                return Ok(Next::Command);
            }
            ClamdCommand::End if self.number.is_some() => return Ok(Next::Close),
            ClamdCommand::Ping => ("PONG".to_owned(), Next::Command),
            ClamdCommand::Version => (VERSION.to_owned(), Next::Command),
            ClamdCommand::VersionCommands => (format!("{VERSION}| {COMMANDS}"), Next::Command),
            ClamdCommand::Instream => self.check().await,
            ClamdCommand::OtherFile(path) => (
                format!("{path}: Only files sent with INSTREAM are checked. ERROR"),
                Next::Close,
            ),
            ClamdCommand::IdSession | ClamdCommand::End | ClamdCommand::Unknown => {
                ("UNKNOWN COMMAND".to_owned(), Next::Close)
            }
        };
        self.say(&said, end).await?;
        Ok(if self.number.is_some() {
            next
        } else {
            Next::Close
        })
    }

    /// Checks the file that follows. If not all of it was read, what comes next is no command.
    async fn check(&mut self) -> (String, Next) {
        self.reader.lock().await.begin_file();
        let file = content(Rc::clone(&self.reader));
        let said = self.door.check(file, self.peer).await;
        let next = if self.reader.lock().await.is_at_end {
            Next::Command
        } else {
            Next::Close
        };
        (said, next)
    }

    async fn say(&mut self, said: &str, end: u8) -> io::Result<()> {
        let number = self.number.map(|number| format!("{number}: "));
        let mut line = number.unwrap_or_default() + said;
        line.push(end.into());
        timeout(PATIENCE, self.writer.write_all(line.as_bytes())).await?
    }
}

/// What a client sends.
struct Incoming<S> {
    bytes: BufReader<ReadHalf<S>>,
    /// How much is left of a chunk of a file.
    left: usize,
    /// Whether the whole file was read.
    is_at_end: bool,
}

impl<S: AsyncRead> Incoming<S> {
    fn new(bytes: ReadHalf<S>) -> Self {
        Self {
            bytes: BufReader::new(bytes),
            left: 0,
            is_at_end: true,
        }
    }

    /// The next line; `None` at the end of the connection.
    async fn line(&mut self) -> io::Result<Option<ClamdLine>> {
        let Some(&first) = self.bytes.fill_buf().await?.first() else {
            return Ok(None);
        };
        let mut line = Vec::new();
        let mut limited = (&mut self.bytes).take(LONGEST);
        limited.read_until(end_of(first), &mut line).await?;
        Ok(Some(ClamdLine::read(&line)))
    }

    fn begin_file(&mut self) {
        (self.left, self.is_at_end) = (0, false);
    }

    /// The next piece of a file: chunks, each after its length, of which the last has none.
    async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.is_at_end {
            return Ok(None);
        }
        if self.left == 0 {
            self.left = self.bytes.read_u32().await? as usize;
            self.is_at_end = self.left == 0;
        }
        if self.is_at_end {
            return Ok(None);
        }
        let buffered = self.bytes.fill_buf().await?;
        if buffered.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let piece = &buffered[..buffered.len().min(self.left)];
        let piece = Bytes::copy_from_slice(piece);
        self.bytes.consume(piece.len());
        self.left -= piece.len();
        Ok(Some(piece))
    }

    /// Reads to the end of the connection.
    async fn discard(&mut self) -> io::Result<()> {
        loop {
            let length = self.bytes.fill_buf().await?.len();
            if length == 0 {
                return Ok(());
            }
            self.bytes.consume(length);
        }
    }
}

/// The content of the file that begins here.
fn content<S: AsyncRead + 'static>(reader: Rc<Mutex<Incoming<S>>>) -> BoxedPayloadStream {
    Box::pin(unfold(reader, |reader| async move {
        let piece = reader.lock().await.piece().await.transpose()?;
        Some((piece.map_err(PayloadError::Io), reader))
    }))
}
