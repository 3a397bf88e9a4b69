//! Clients of `clamd`: its protocol from outside, what they are told of a file, and what bounds them.
#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Folder, Server, key, prose, run};
use crate::makers;

const CLEAN: &str = "stream: OK";
const PROTECTED: &str = "stream: Lapidary.Protected FOUND";
/// Longer than any client may be silent.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server that answers at a socket.
struct Clamd {
    server: Server,
    socket: PathBuf,
}

impl Clamd {
    fn start(folder: &Folder, options: &str) -> Self {
        let socket = folder.path("clamd.sock");
        let options = format!("--clamd {{}} {options}");
        let server = Server::start_with(&options, &[&socket], &folder.data());
        Self { server, socket }
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        stream
    }

    /// All that is answered to what is sent.
    fn ask(&self, sent: &[u8]) -> String {
        let mut stream = self.connect();
        // The server may refuse before everything was sent.
        let _ = stream.write_all(sent);
        rest(&mut stream)
    }

    /// What is said of a file.
    fn check(&self, file: &[u8]) -> String {
        let said = self.ask(&instream(file));
        said.strip_suffix('\0').expect("an end").to_owned()
    }
}

/// What a server still says before it closes the connection.
fn rest(stream: &mut UnixStream) -> String {
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("an answer");
    said
}

/// What is said up to this byte.
fn line(stream: &mut UnixStream, end: u8) -> String {
    let (mut said, mut byte) = (Vec::new(), [0]);
    loop {
        stream.read_exact(&mut byte).expect("an answer");
        if byte[0] == end {
            return String::from_utf8(said).expect("UTF-8");
        }
        said.push(byte[0]);
    }
}

/// The command that sends a file, in chunks of different lengths.
fn instream(file: &[u8]) -> Vec<u8> {
    let mut sent = b"zINSTREAM\0".to_vec();
    let (first, others) = file.split_at(file.len().min(3));
    for chunk in [first].into_iter().chain(others.chunks(100_000)) {
        if !chunk.is_empty() {
            sent.extend(u32::try_from(chunk.len()).expect("a length").to_be_bytes());
            sent.extend(chunk);
        }
    }
    sent.extend([0; 4]);
    sent
}

/// Adds books with these rights, and returns their texts.
fn books(folder: &Folder) -> [String; 3] {
    let mut seed = 0;
    ["protected", "forbidden", "free"].map(|rights| {
        seed += 1;
        let text = prose(seed, 3_000);
        let file = folder.file(&format!("{rights}.txt"), &text);
        let line = format!("ingest --data {{}} --library {rights} --rights {rights} {{}}");
        run(&line, &[folder.data(), file]).expect(0);
        text
    })
}

#[test]
fn copies_are_found_and_what_is_no_text_is_clean() {
    let folder = Folder::new();
    let [protected, forbidden, free] = books(&folder);
    let clamd = Clamd::start(&folder, "");
    let paragraphs = [protected.clone()];
    let epub = makers::epub(&paragraphs);
    let book = protected.as_bytes();
    let program = b"\x7fELF\x02\x01\x01\0\0\0\0";
    let files: [(&str, Vec<u8>, &str); 16] = [
        ("a text", book.to_vec(), PROTECTED),
        ("an EPUB", epub.clone(), PROTECTED),
        ("a PDF", makers::pdf(&paragraphs), PROTECTED),
        ("a ZIP", makers::zip(&[("a.txt", book)]), PROTECTED),
        ("a part of a book", book[5_000..12_000].to_vec(), PROTECTED),
        (
            "a banned text",
            forbidden.into_bytes(),
            "stream: Lapidary.Forbidden FOUND",
        ),
        ("a free text", free.into_bytes(), CLEAN),
        ("another text", prose(9, 3_000).into_bytes(), CLEAN),
        ("nothing", Vec::new(), CLEAN),
        ("a picture", b"\xff\xd8\xff\xe0\0\x10JFIF\0".to_vec(), CLEAN),
        ("noise", vec![0; 10_000], CLEAN),
        ("a program", makers::zip(&[("a", program)]), CLEAN),
        (
            "a damaged EPUB",
            epub[..epub.len() / 2].to_vec(),
            "stream: damaged ERROR",
        ),
        (
            "a RAR archive",
            b"Rar!\x1a\x07\x01\0".to_vec(),
            "stream: not_readable ERROR",
        ),
        (
            "a book beside a program",
            makers::zip(&[("a.txt", book), ("b", program)]),
            "stream: not_readable ERROR",
        ),
        (
            "JSON that would be a query",
            br#"{"gems":[1]}"#.to_vec(),
            CLEAN,
        ),
    ];
    for (what, file, said) in files {
        assert_eq!(clamd.check(&file), said, "{what}");
    }
}

#[test]
fn commands_are_answered_as_clamd_does() {
    let folder = Folder::new();
    let clamd = Clamd::start(&folder, "");
    let version = format!("Lapidary {}", env!("CARGO_PKG_VERSION"));
    let commands =
        format!("{version}| COMMANDS: PING VERSION VERSIONCOMMANDS INSTREAM IDSESSION END\0");
    let refused =
        |path: &str| format!("{path}: Only files sent with INSTREAM are checked. ERROR\n");
    let long = [b"nSCAN /".as_slice(), &vec![b'a'; 100_000], b"\n"].concat();
    let table: [(&[u8], &str); 17] = [
        (b"PING\n", "PONG\n"),
        (b"nPING\n", "PONG\n"),
        (b"zPING\0", "PONG\0"),
        (b"VERSION\n", &format!("{version}\n")),
        (b"zVERSION\0", &format!("{version}\0")),
        (b"zVERSIONCOMMANDS\0", &commands),
        // Without a session, there is one command.
        (b"nPING\nnPING\n", "PONG\n"),
        (b"SCAN /etc/passwd\n", &refused("/etc/passwd")),
        (b"nCONTSCAN /a b\n", &refused("/a b")),
        (b"nMULTISCAN /\n", &refused("/")),
        (b"nFILDES\n", &refused("stream")),
        (b"STREAM\n", &refused("stream")),
        (b"INSTREAM\n", "UNKNOWN COMMAND\n"),
        (b"nEND\n", "UNKNOWN COMMAND\n"),
        (b"nSHUTDOWN\n", "UNKNOWN COMMAND\n"),
        (
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\nPING\n",
            "UNKNOWN COMMAND\n",
        ),
        (b"\xff\xfe\0\n", "UNKNOWN COMMAND\n"),
    ];
    for (sent, said) in table {
        let sent_as = String::from_utf8_lossy(&sent[..sent.len().min(50)]);
        assert_eq!(clamd.ask(sent), said, "{sent_as:?}");
    }
    let said = clamd.ask(&long);
    assert!(
        said.len() < 5_000 && said.ends_with(&refused("aaa")),
        "{said}"
    );
    assert_eq!(clamd.ask(b"nINSTREAM\n\0\0\0\x01a\0\0\0\0"), "stream: OK\n");
}

#[test]
fn the_answers_of_a_session_are_numbered() {
    let folder = Folder::new();
    let [book, ..] = books(&folder);
    let clamd = Clamd::start(&folder, "");
    let all = [
        b"zIDSESSION\0".as_slice(),
        b"zPING\0",
        &instream(book.as_bytes()),
        &instream(b"A few words."),
        b"nVERSION\n",
        b"zEND\0",
        b"zPING\0",
    ]
    .concat();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        clamd.ask(&all),
        format!("1: PONG\x002: {PROTECTED}\x003: {CLEAN}\x004: Lapidary {version}\n"),
    );
    assert_eq!(
        clamd.ask(b"zIDSESSION\0zIDSESSION\0zPING\0"),
        "1: UNKNOWN COMMAND\0"
    );
    assert_eq!(
        clamd.ask(b"nIDSESSION\nPING\nnPING\n"),
        "1: PONG\n2: PONG\n"
    );
}

#[test]
fn a_file_is_no_larger_than_a_body() {
    let folder = Folder::new();
    let clamd = Clamd::start(&folder, "--max-body 1000000");
    let text = prose(1, 1_000_000);
    let limit = "INSTREAM size limit exceeded. ERROR";
    assert_eq!(clamd.check(&text.as_bytes()[..900_000]), CLEAN);
    // The answer is there even for a client that first sends everything.
    assert_eq!(clamd.check(text.as_bytes()), limit);
    let mut stream = clamd.connect();
    stream
        .write_all(b"nINSTREAM\n\xff\xff\xff\xff")
        .expect("sent");
    let piece = vec![b'a'; 1 << 20];
    let _ = stream
        .write_all(&piece)
        .and_then(|()| stream.write_all(&piece));
    assert_eq!(line(&mut stream, b'\n'), limit);
    // What ends in the middle harms nobody.
    for sent in [
        &b"zINSTR"[..],
        b"zINSTREAM\0",
        b"zINSTREAM\0\0\0",
        b"zINSTREAM\0\0\0\0\x0aabc",
    ] {
        let mut stream = clamd.connect();
        stream.write_all(sent).expect("sent");
        stream.shutdown(Shutdown::Write).expect("an end");
        let said = rest(&mut stream);
        assert!(
            ["UNKNOWN COMMAND\0", "stream: broken_body ERROR\0"].contains(&said.as_str()),
            "{said}"
        );
    }
    assert_eq!(clamd.ask(b"zPING\0"), "PONG\0");
}

#[test]
fn who_is_silent_is_cut_off() {
    let folder = Folder::new();
    let clamd = Clamd::start(&folder, "");
    let begun = Instant::now();
    let streams = [
        &b""[..],
        b"zPI",
        b"zIDSESSION\0zPING\0",
        b"zINSTREAM\0\0\0\0\x0aabc",
    ]
    .map(|sent| {
        let mut stream = clamd.connect();
        stream.write_all(sent).expect("sent");
        stream
    });
    let said = streams.map(|mut stream| rest(&mut stream));
    assert_eq!(said, ["", "", "1: PONG\0", "stream: body_stalled ERROR\0"]);
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

#[test]
fn connections_are_limited_and_do_not_delay_the_end() {
    let folder = Folder::new();
    let clamd = Clamd::start(&folder, "");
    let mut open: Vec<UnixStream> = (0..128).map(|_| clamd.connect()).collect();
    for stream in &mut open {
        stream.write_all(b"zIDSESSION\0zPING\0").expect("sent");
        assert_eq!(line(stream, 0), "1: PONG");
    }
    assert_eq!(rest(&mut clamd.connect()), "Too many connections. ERROR\n");
    let ready = ureq::get(format!("{}/readyz", clamd.server.url)).call();
    assert_eq!(ready.expect("an answer").status(), 200);
    drop(open.pop());
    let begun = Instant::now();
    while clamd.ask(b"zPING\0") != "PONG\0" {
        assert!(begun.elapsed() < PATIENCE, "a place is never free again");
        thread::sleep(Duration::from_millis(10));
    }
    let begun = Instant::now();
    clamd.server.stop();
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_key_bounds_what_is_checked() {
    let folder = Folder::new();
    let [book, ..] = books(&folder);
    let data = folder.data();
    let boss = key(&data, "--role admin boss");
    key(&data, "--role check gateway");
    key(&data, "--role check --rate 2/h slow");
    key(&data, "--role ingest --untrusted --library own publisher");
    let said_to = |options: &str| {
        let clamd = Clamd::start(&folder, options);
        assert_eq!(clamd.ask(b"zPING\0"), "PONG\0");
        clamd.check(book.as_bytes())
    };
    assert_eq!(said_to(""), "stream: no_key ERROR");
    assert_eq!(said_to("--clamd-key nobody"), "stream: no_such_key ERROR");
    assert_eq!(
        said_to("--clamd-key publisher"),
        "stream: not_allowed ERROR"
    );

    let clamd = Clamd::start(&folder, "--clamd-key slow");
    let said: Vec<_> = (0..3).map(|_| clamd.check(book.as_bytes())).collect();
    assert_eq!(
        said,
        [PROTECTED, PROTECTED, "stream: too_many_requests ERROR"]
    );
    drop(clamd);

    let clamd = Clamd::start(&folder, "--clamd-key gateway");
    let mut session = clamd.connect();
    session.write_all(b"zIDSESSION\0").expect("sent");
    session.write_all(&instream(book.as_bytes())).expect("sent");
    assert_eq!(line(&mut session, 0), format!("1: {PROTECTED}"));
    let revoked = ureq::delete(format!("{}/v1/keys/gateway", clamd.server.url))
        .header("X-Api-Key", &boss)
        .call();
    assert_eq!(revoked.expect("an answer").status(), 204);
    session.write_all(&instream(book.as_bytes())).expect("sent");
    assert_eq!(line(&mut session, 0), "2: stream: no_such_key ERROR");
}

#[test]
fn it_listens_where_the_settings_say() {
    let folder = Folder::new();
    let data = folder.data();
    let refused = run("serve --clamd-key gateway --data {}", &[&data]).expect(2);
    assert!(
        refused.err.contains("'clamd-key' needs 'clamd'"),
        "{}",
        refused.err
    );
    // A port, as a client on this machine reaches it.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("an address");
    let taken = format!("serve --listen 127.0.0.1:0 --clamd {address} --data {{}}");
    let refused = run(&taken, &[&data]).expect(3);
    assert!(
        refused.err.contains("choose another address with --clamd"),
        "{}",
        refused.err
    );
    drop(free);
    let server = Server::start_with(&format!("--clamd {address}"), &[], &data);
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(&instream(b"A few words.")).expect("sent");
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("an answer");
    assert_eq!(said, "stream: OK\0");
    drop(server);
    // A socket that a killed process left behind is replaced, and one in use is not.
    drop(Clamd::start(&folder, ""));
    let clamd = Clamd::start(&folder, "");
    let other = folder.path("other");
    let line = "serve --listen 127.0.0.1:0 --clamd {} --data {}";
    run(line, &[&clamd.socket, &other]).expect(3);
    assert_eq!(clamd.ask(b"PING\n"), "PONG\n");
    let file = folder.file("no-socket", "kept");
    run(line, &[&file, &other]).expect(3);
    assert_eq!(std::fs::read_to_string(file).expect("a file"), "kept");
}
