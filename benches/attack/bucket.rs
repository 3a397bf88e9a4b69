//! A server with a bucket of S3 that does its worst: its objects come slowly, never end, or hold the text that is flooded.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The bucket.
pub const BUCKET: &str = "uploads";
/// An object that comes byte by byte, one without end, and one that is the flooded text.
pub const SLOW: &str = "slow";
pub const ENDLESS: &str = "endless";
pub const OBJECT: &str = "text";

const PAUSE: Duration = Duration::from_millis(500);
const NO_TAGS: &str = "<Tagging><TagSet></TagSet></Tagging>";

/// Serves the bucket until the process ends. Returns its address.
pub fn serve(text: &str) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    let text: Arc<str> = text.into();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let text = Arc::clone(&text);
            // A client that has enough hangs up.
            thread::spawn(move || answer(stream, &text));
        }
    });
    Ok(address)
}

fn answer(mut stream: TcpStream, text: &str) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
        if request.is_empty() {
            request = line;
        }
    }
    io::copy(&mut reader.take(length), &mut io::sink())?;
    let is_of = |object: &str| request.contains(&format!("/{BUCKET}/{object}"));
    if request.contains("tagging") {
        whole(&mut stream, NO_TAGS)
    } else if is_of(SLOW) {
        head(&mut stream, "Content-Length: 1000000")?;
        loop {
            stream.write_all(b"a")?;
            thread::sleep(PAUSE);
        }
    } else if is_of(ENDLESS) {
        head(&mut stream, "Content-Type: text/plain")?;
        loop {
            stream.write_all(text.as_bytes())?;
        }
    } else {
        whole(&mut stream, text)
    }
}

fn head(stream: &mut TcpStream, header: &str) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nConnection: close\r\n{header}\r\n\r\n"
    )
}

fn whole(stream: &mut TcpStream, body: &str) -> io::Result<()> {
    head(stream, &format!("Content-Length: {}", body.len()))?;
    stream.write_all(body.as_bytes())
}
