//! Attempts to bring the server down or to bypass its rules. Each must be refused or cut off while other clients are
//! served.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Folder, Server};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const IDLE: usize = 10_000;

fn connect(server: &Server) -> TcpStream {
    let stream =
        TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
    stream
        .set_read_timeout(Some(Duration::from_secs(90)))
        .expect("a time-out");
    stream
}

/// Returns everything the server sends in response to these bytes before it closes the connection.
fn answered(server: &Server, request: &[u8]) -> String {
    let mut stream = connect(server);
    // The server may already have closed the connection.
    let _ = stream.write_all(request);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn lives(server: &Server) {
    let answer = answered(
        server,
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Request smuggling: bytes that a proxy and a server may split differently get at most one response, and the hidden
/// request never gets one.
#[test]
fn no_request_is_smuggled() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let hidden = "GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let long = hidden.len();
    let forms = [
        format!("Content-Length: {long}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Content-Length: 0\r\nContent-Length: {long}\r\n\r\n{hidden}"),
        format!("Content-Length: {long}\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("Content-Length: 0, {long}\r\n\r\n{hidden}"),
        format!("Content-Length: +0\r\n\r\n{hidden}"),
        format!("Content-Length: -1\r\n\r\n{hidden}"),
        format!("Content-Length : 0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\n\r\n-1\r\n{hidden}"),
        format!("X-Folded: a\r\n Content-Length: {long}\r\n\r\n{hidden}"),
    ];
    for form in forms {
        let request = format!(
            "POST /v1/checks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{form}"
        );
        let answer = answered(&server, request.as_bytes());
        assert!(
            !answer.contains("disk_bytes"),
            "{form:?} lets a second request through: {answer}"
        );
        assert!(!answer.starts_with("HTTP/1.1 2"), "{form:?}: {answer}");
        lives(&server);
    }
}

#[test]
fn bombs_in_the_head_and_in_the_body() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let line = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";
    let heads = [
        format!("{line}{}\r\n", "X-A: b\r\n".repeat(10_000)),
        format!("{line}X-Long: {}\r\n\r\n", "a".repeat(8 << 20)),
        format!(
            "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "a".repeat(1 << 20)
        ),
        format!(
            "{} / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "A".repeat(1 << 20)
        ),
        "GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n".to_owned(),
        "\0\0\0\0\r\n\r\n".to_owned(),
    ];
    for head in heads {
        let answer = answered(&server, head.as_bytes());
        assert!(!answer.starts_with("HTTP/1.1 2"), "{head:.60}: {answer}");
        lives(&server);
    }
    let deep = [
        "[".repeat(1_000),
        format!("{{\"gems\":{}1{}}}", "[".repeat(1_000), "]".repeat(1_000)),
        "{\"a\":".repeat(1_000),
    ];
    for body in deep {
        let head = format!(
            "POST /v1/checks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let answer = answered(&server, format!("{head}{body}").as_bytes());
        assert!(
            answer.starts_with("HTTP/1.1 400") && answer.contains("bad_json"),
            "{answer}"
        );
        lives(&server);
    }
    let part = "--x\r\nContent-Disposition: form-data; name=\"file\"\r\n";
    let forms = [
        (format!("{part}\r\n\r\n").repeat(100_000), "HTTP/1.1 413"),
        (
            format!("{part}X-A: {}\r\n\r\n\r\n--x--", "b".repeat(4 << 20)),
            "HTTP/1.1 400",
        ),
        (
            format!("{part}{}\r\n\r\n--x--", "X-A: b\r\n".repeat(400_000)),
            "HTTP/1.1 400",
        ),
        (
            format!("{part}\r\n{}", "\r\n--".repeat(1 << 20)),
            "HTTP/1.1 400",
        ),
        (
            format!("{part}\r\n{}--x--", "--x\r\r\n".repeat(90)),
            "HTTP/1.1 400",
        ),
        ("--x".repeat(1 << 20), "HTTP/1.1 4"),
    ];
    for (form, status) in forms {
        let head = format!(
            "POST /v1/checks:batch HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {}\r\n\r\n",
            form.len()
        );
        let answer = answered(&server, format!("{head}{form}").as_bytes());
        assert!(answer.starts_with(status), "{form:.90}: {answer}");
        lives(&server);
    }
}

#[test]
fn who_sends_slowly_is_cut_off() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let mut head = connect(&server);
    head.write_all(b"GET /healthz HTTP/1.1\r\nHo")
        .expect("sent");
    let mut body = connect(&server);
    body.write_all(
        b"POST /v1/checks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n",
    )
    .expect("sent");
    let mut form = connect(&server);
    form.write_all(
        b"POST /v1/checks HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n\
          Content-Length: 100000\r\n\r\n",
    )
    .expect("sent");
    // All that was sent is read, so the answer of this one is not lost with its connection.
    let mut silent = connect(&server);
    silent
        .write_all(b"POST /v1/checks HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\n")
        .expect("sent");
    // Trickling bytes does not keep the connection open.
    let begun = Instant::now();
    let mut trickle = || body.write_all(b" ").is_ok() | form.write_all(b"-").is_ok();
    while begun.elapsed() < Duration::from_mins(1) && trickle() {
        sleep(Duration::from_millis(500));
    }
    assert!(
        begun.elapsed() < Duration::from_mins(1),
        "a body of two bytes a second is read for ever"
    );
    for mut stream in [head, body, form] {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
            "{answer}"
        );
    }
    let mut answer = String::new();
    silent.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains("body_stalled"), "{answer}");
    lives(&server);
}

#[test]
fn ten_thousand_idle_connections_stop_nobody() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
    let room = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) as usize;
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    // Open fewer connections if the system allows fewer files.
    let idle: Vec<TcpStream> = (0..IDLE.min(room.saturating_sub(200)))
        .map(|_| connect(&server))
        .collect();
    for _ in 0..10 {
        lives(&server);
    }
    println!("{} idle connections", idle.len());
    drop(idle);
    assert_eq!(server.stop(), Some(0));
}
