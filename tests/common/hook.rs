//! A receiver of webhooks.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// A received request.
pub struct Came {
    pub head: String,
    pub body: String,
}

impl Came {
    pub fn header(&self, name: &str) -> &str {
        let line = self
            .head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("{name} in {}", self.head))
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

/// A receiver that answers its requests with these status lines in order, repeating the last one.
pub struct Hook {
    pub url: String,
    pub came: Receiver<Came>,
}

impl Hook {
    pub fn new(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        let url = format!(
            "http://{}/hook?a=b",
            listener.local_addr().expect("an address")
        );
        let answers: Vec<String> = answers.iter().map(|&answer| answer.to_owned()).collect();
        let (sender, came) = mpsc::channel();
        thread::spawn(move || {
            for (i, stream) in listener.incoming().enumerate() {
                let mut stream = stream.expect("a connection");
                if sender.send(read(&mut stream)).is_err() {
                    break;
                }
                let answer = &answers[i.min(answers.len() - 1)];
                let _ = write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
            }
        });
        Self { url, came }
    }

    pub fn next(&self) -> Came {
        self.came
            .recv_timeout(Duration::from_mins(1))
            .expect("an event")
    }

    pub fn is_left_alone(&self) {
        let came = self.came.recv_timeout(Duration::from_secs(3));
        assert!(
            matches!(came, Err(RecvTimeoutError::Timeout)),
            "an event too many: {}",
            came.expect("came").body
        );
    }
}

fn read(stream: &mut TcpStream) -> Came {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).expect("a line") > 0, "{head}");
    }
    let head = head.replace("\r\n", "\n");
    let mut came = Came {
        head,
        body: String::new(),
    };
    let length = came.header("content-length").parse().expect("a length");
    reader
        .take(length)
        .read_to_string(&mut came.body)
        .expect("a body");
    came
}
