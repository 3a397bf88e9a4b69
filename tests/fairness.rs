//! One client's heavy work does not starve others: small checks and administration continue.

#[path = "../benches/attack/bucket.rs"]
mod bucket;
#[path = "../benches/attack/hostile.rs"]
mod hostile;

use crate::makers;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Folder, Server, key, prose, run};
use crate::makers::loops;
use hostile::{KIND_COUNT, Target, attack};

/// Sends a request and returns the status and body of the response.
fn call(server: &Server, secret: &str, what: &str, kind: &str, body: &[u8]) -> (u16, Value) {
    let mut stream =
        TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
    stream
        .set_read_timeout(Some(Duration::from_mins(5)))
        .expect("a time-out");
    let length = body.len();
    let head = format!(
        "{what} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {secret}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("sent");
    // The server may refuse before the whole body is sent.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or_default();
    (status, serde_json::from_str(body).unwrap_or_default())
}

/// Long texts that occupy all threads for heavy work: small books pass the gate long before they are checked.
#[test]
fn long_texts_hold_up_no_gate() {
    const TEXTS: usize = 8;
    const BOOKS: u64 = 12;
    let folder = Folder::new();
    let data = folder.data();
    let long =
        ["--role check long-1", "--role check long-2"].map(|arguments| key(&data, arguments));
    let good = key(&data, "--role ingest --library good --trusted good");
    let server = Server::start_with("--concurrent 1", &[], &data);
    let (answered, text) = (AtomicUsize::new(0), prose(1, 1_000_000));
    thread::scope(|scope| {
        for at in 0..TEXTS {
            let secret = &long[at % long.len()];
            let (server, answered, text) = (&server, &answered, text.as_bytes());
            scope.spawn(move || {
                let (status, answer) = call(server, secret, "POST /v1/checks", "text/plain", text);
                assert_eq!(status, 200, "{answer}");
                answered.fetch_add(1, Ordering::Relaxed);
            });
        }
        while answered.load(Ordering::Relaxed) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        // If each waited for a thread for heavy work, that would have checked a text meanwhile.
        for book in 0..BOOKS {
            let what =
                format!("PUT /v1/libraries/good/books/{book}?rights=protected&unless=protected");
            let text = prose(2 + book, 300);
            let (status, answer) = call(&server, &good, &what, "text/plain", text.as_bytes());
            assert_eq!(status, 201, "{answer}");
        }
        assert!(
            answered.load(Ordering::Relaxed) < TEXTS,
            "all long texts were checked before"
        );
    });
}

/// Slow files that occupy more than all readers: other requests are answered long before they finish, and the key that
/// sent them can be revoked.
#[test]
fn slow_files_of_one_key_hold_up_nobody_else() {
    let folder = Folder::new();
    let data = folder.data();
    let [slow, good, admin] = [
        "--role check slow",
        "--role check good",
        "--role admin boss",
    ]
    .map(|arguments| key(&data, arguments));
    let server = Server::start_with("--limit-time 2", &[], &data);
    let pdf = loops();
    let send = || call(&server, &slow, "POST /v1/checks", "application/pdf", &pdf);
    assert_nobody_waits_for(&server, &good, &admin, || {
        let (status, answer) = send();
        assert!([422, 503].contains(&status), "{status} {answer}");
    });
    assert_eq!(send().0, 401);
}

/// The same files by the protocol of `clamd`.
#[cfg(unix)]
#[test]
fn slow_files_for_clamav_hold_up_nobody_else() {
    let folder = Folder::new();
    let data = folder.data();
    key(&data, "--role check slow");
    let [good, admin] =
        ["--role check good", "--role admin boss"].map(|arguments| key(&data, arguments));
    let socket = folder.path("clamd.sock");
    let options = "--limit-time 2 --clamd {} --clamd-key slow";
    let server = Server::start_with(options, &[&socket], &data);
    let pdf = loops();
    let length = u32::try_from(pdf.len()).expect("a length").to_be_bytes();
    let instream = [b"zINSTREAM\0".as_slice(), &length, &pdf, &[0; 4]].concat();
    let send = || {
        let mut stream = UnixStream::connect(&socket).expect("a connection");
        stream.write_all(&instream).expect("sent");
        let mut said = String::new();
        stream.read_to_string(&mut said).expect("an answer");
        said
    };
    assert_nobody_waits_for(&server, &good, &admin, || {
        let said = send();
        let expected = ["stream: over_limit ERROR\0", "stream: overloaded ERROR\0"];
        assert!(expected.contains(&said.as_str()), "{said}");
    });
    assert_eq!(send(), "stream: no_such_key ERROR\0");
}

/// Sends slow files of the key `slow`, and meanwhile what others send, which is answered before them.
fn assert_nobody_waits_for(server: &Server, good: &str, admin: &str, send: impl Fn() + Sync) {
    const FILES: usize = 6;
    let answered = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..FILES {
            scope.spawn(|| {
                send();
                answered.fetch_add(1, Ordering::Relaxed);
            });
        }
        // Give the readers time to start.
        thread::sleep(Duration::from_secs(1));
        let check = |kind, body: &[u8]| call(server, good, "POST /v1/checks", kind, body).0;
        for _ in 0..20 {
            assert_eq!(check("application/json", b"{\"gems\":[1]}"), 200);
        }
        // A file of another client gets its turn.
        let book = makers::epub(&[prose(1, 3_000)]);
        assert_eq!(check("application/epub+zip", &book), 200);
        assert_eq!(call(server, admin, "GET /v1/keys", "", b"").0, 200);
        assert_eq!(call(server, admin, "DELETE /v1/keys/slow", "", b"").0, 204);
        assert_eq!(call(server, admin, "GET /readyz", "", b"").0, 200);
        assert!(
            answered.load(Ordering::Relaxed) < FILES,
            "the slow files were read before all that came after them"
        );
    });
}

/// A text that grows many times over when folded is refused; a text that is merely long is not.
#[test]
fn a_text_takes_no_longer_than_its_length_says() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let check = |text: String| {
        call(
            &server,
            "",
            "POST /v1/checks",
            "text/plain; charset=utf-8",
            text.as_bytes(),
        )
    };
    for bomb in [
        "\u{fdfa}".repeat(2 << 20),
        "\u{301}".repeat(2 << 20),
        "a\u{fdfb} ".repeat(2 << 20),
    ] {
        let (status, answer) = check(bomb);
        assert_eq!(
            (status, &answer["code"]),
            (422, &"over_limit".into()),
            "{answer}"
        );
    }
    for text in [
        "宝物は一つの箱の中にあった。".repeat(20_000),
        "صلى الله عليه ﷺ وسلم ".repeat(20_000),
    ] {
        assert_eq!(check(text).0, 200);
    }
    drop(server);
    let file = folder.file("bomb.txt", "\u{fdfa}".repeat(1 << 20));
    let refused = run("check --data {} {}", &[folder.data(), file]).expect(2);
    assert!(
        refused.err.contains("more characters than bytes"),
        "{}",
        refused.err
    );
}

/// Runs `scripts/attack` for a few seconds.
#[test]
fn hostile_clients_are_outlived() {
    let folder = Folder::new();
    let data = folder.data();
    for book in 0..20 {
        folder.file(&format!("books/{book}.txt"), prose(book, 20_000));
    }
    run(
        "ingest --data {} --library books --rights protected {}",
        &[data.clone(), folder.path("books")],
    )
    .expect(0);
    // The short text that is checked and flooded is the beginning of a book.
    let text: String = prose(0, 2_000);
    folder.file("text.txt", text.clone());
    let gems = run("gems --recipe hardened {}", &[folder.path("text.txt")]).expect(0);
    let gems = format!(
        "[{}]",
        gems.out
            .trim()
            .split(',')
            .map(|gem| format!("\"{gem}\""))
            .collect::<Vec<_>>()
            .join(",")
    );
    let report = run("gems --recipe released {}", &[folder.path("books/0.txt")]).expect(0);
    let gem = report
        .out
        .split_whitespace()
        .next()
        .expect("a gem")
        .to_owned();
    let hostile = (0..KIND_COUNT).map(|client| {
        let check = key(&data, &format!("--role check check-{client}"));
        [
            check,
            key(
                &data,
                &format!("--role ingest --trusted --library hostile-{client} ingest-{client}"),
            ),
        ]
    });
    let hostile = hostile.collect();
    let publisher = "--role ingest --trusted --library good publisher";
    let follower = "--permission follow --library books follower";
    let [careless, good, admin, publisher, follower] = [
        "--role admin careless",
        "--role check good",
        "--role admin boss",
        publisher,
        follower,
    ]
    .map(|arguments| key(&data, arguments));
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let clamd = free.local_addr().expect("an address").to_string();
    drop(free);
    let endpoint = bucket::serve(&text).expect("a port");
    let credentials = folder.file("credentials", "id:secret");
    let options = format!(
        "--limit-time 4 --clamd {clamd} --clamd-key check-0 --s3-buckets {} --s3-endpoint {endpoint} --s3-key check-0 \
         --s3-credentials {{}}",
        bucket::BUCKET
    );
    let server = Server::start_with(&options, &[&credentials], &data);
    let address = server.url.trim_start_matches("http://").to_owned();
    let (large, new_text) = (4 << 20, |seed| prose(seed, 2_000));
    let target = Target {
        address,
        clamd,
        hostile,
        publisher,
        careless,
        good,
        admin,
        follower,
        large,
        gem,
        text,
        gems,
        new_text,
    };
    let outcome = attack(&target, Duration::from_secs(15));
    println!("{:#?}", outcome.answers);
    for (name, calls) in [
        ("gem", &outcome.good),
        ("text", &outcome.checks),
        ("gate", &outcome.gates),
        ("administrator", &outcome.admin),
    ] {
        println!(
            "{name}: {} calls, p99 {:?}",
            calls.took.len(),
            calls.quantile(0.99)
        );
        assert!(calls.failed.is_empty(), "{name}: {:?}", calls.failed);
        assert!(calls.took.len() > 3, "{name}");
    }
    assert_eq!(
        outcome.answers.len(),
        KIND_COUNT,
        "{:?}",
        outcome.answers.keys()
    );
    assert_eq!(server.stop(), Some(0));
}
