//! A minimal HTTP client, because it shares the cores with the server: it keeps one connection open and sends prepared
//! bytes.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use memchr::memmem;

/// The timeout for a response.
const PATIENCE: Duration = Duration::from_mins(1);
const CHUNK_BYTES: usize = 64 << 10;
const BLANK_LINE: &[u8] = b"\r\n\r\n";

/// A request as bytes.
pub fn request(method: &str, path: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

pub struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    chunk: Vec<u8>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            received: Vec::new(),
            chunk: vec![0; CHUNK_BYTES],
        })
    }

    /// Sends a request, waits for the complete response, and returns its status and body.
    pub fn exchange(&mut self, request: &[u8]) -> io::Result<(u16, &[u8])> {
        self.stream.write_all(request)?;
        self.received.clear();
        let head = loop {
            if let Some(end) = memmem::find(&self.received, BLANK_LINE) {
                break end + BLANK_LINE.len();
            }
            self.receive()?;
        };
        let (status, length) = read_head(&self.received[..head]).ok_or_else(|| {
            io::Error::other("the server's answer has no status or no Content-Length")
        })?;
        while self.received.len() < head + length {
            self.receive()?;
        }
        Ok((status, &self.received[head..head + length]))
    }

    fn receive(&mut self) -> io::Result<()> {
        match self.stream.read(&mut self.chunk)? {
            0 => Err(io::Error::other("the server closed the connection")),
            count => {
                self.received.extend_from_slice(&self.chunk[..count]);
                Ok(())
            }
        }
    }
}

/// The status and the length of the body.
fn read_head(head: &[u8]) -> Option<(u16, usize)> {
    let mut lines = str::from_utf8(head).ok()?.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    Some((status, length?.1.trim().parse().ok()?))
}
