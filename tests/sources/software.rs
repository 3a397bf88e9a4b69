//! Sources that are other people's programs: each test is skipped, with a line that says so, where its program is not installed.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::Harvest;
use super::common::{Folder, prose, run};

/// A program that runs until dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Says that a test is skipped; where none may be (`LAPIDARY_REQUIRE`), it fails.
fn skipped(why: &str) {
    assert!(!is_required(), "{why}");
    // Written directly, because the test harness hides the output of tests that pass.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

fn is_required() -> bool {
    std::env::var_os("LAPIDARY_REQUIRE").is_some()
}

/// A port that nobody listens on. Programs that choose one themselves are better.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

fn answers(port: u16) {
    for _ in 0..600 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return;
        }
        sleep(Duration::from_millis(100));
    }
    panic!("nothing listens on port {port}");
}

/// Text files, and those of `../shared/formats` that calibre can serve.
fn books(folder: &Folder) -> Vec<PathBuf> {
    let mut books: Vec<PathBuf> =
        (0..3).map(|number| folder.file(&format!("book{number}.txt"), prose(number, 3_000))).collect();
    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/formats");
    for entry in fs::read_dir(formats).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("standardebooks") || name == "idpf-epub3__childrens-literature.epub" {
            books.push(entry.path());
        }
    }
    books
}

#[test]
fn calibre_serves_its_library() {
    if Command::new("calibredb").arg("--version").output().is_err() {
        return skipped("there is no calibre to harvest");
    }
    let folder = Folder::new();
    let library = folder.path("library");
    let books = books(&folder);
    let calibre = |program: &str| {
        let mut command = Command::new(program);
        // It keeps its settings there, and needs no screen.
        command
            .env("HOME", folder.path("home"))
            .env("QT_QPA_PLATFORM", "offscreen")
            .env("CALIBRE_CONFIG_DIRECTORY", folder.path("home"));
        command
    };
    let mut add = calibre("calibredb");
    let added = add.arg("add").arg("--library-path").arg(&library).args(&books).output().expect("calibredb runs");
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let port = free_port();
    let listen = ["--listen-on", "127.0.0.1", "--disable-use-bonjour", "--port"];
    let _server = Program(
        calibre("calibre-server")
            .args(listen)
            .arg(port.to_string())
            .arg(&library)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs"),
    );
    answers(port);

    // It allows no robots at all.
    let address = format!("http://127.0.0.1:{port}/opds");
    assert_eq!(Harvest::new("opds", &address, "--allow-private").run(), (0, 0, 0, 1));
    let harvest = Harvest::new("opds", &address, "--allow-private --ignore-robots");
    let count = books.len() as u64;
    assert_eq!(harvest.run(), (count, count, 0, 0), "{}", harvest.summary());
    let records = run("books list --json --data {} --library lib", &[harvest.folder.data()]).expect(0).json();
    assert!(records.iter().all(|book| book["title"].is_string()), "{records:?}");
    assert_eq!(harvest.run(), (0, 0, count, 0));
}

#[test]
fn a_repository_of_5000_records() {
    let installed = || {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/repository");
        let printed = is_required().then(|| Command::new(script).output().expect("it runs").stdout);
        String::from_utf8(printed.unwrap_or_else(|| b"python3".to_vec())).expect("a path").trim().to_owned()
    };
    let python = std::env::var("LAPIDARY_OAI_PYTHON").unwrap_or_else(|_| installed());
    let has = Command::new(&python).args(["-c", "import oai_repo"]).output();
    if !has.is_ok_and(|has| has.status.success()) {
        return skipped("there is no Python with oai_repo: export LAPIDARY_OAI_PYTHON=$(scripts/repository)");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/software/repository.py");
    let mut server =
        Command::new(python).arg(script).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    let mut address = String::new();
    BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut address).expect("an address");
    let _server = Program(server);
    let address = format!("{}/oai", address.trim());

    // The list has to be begun again on the way, because ten records are deleted and tokens expire.
    let harvest = Harvest::new("oai", &address, "--allow-private --disable-gone --set books");
    let (fetched, added, unchanged, refused) = harvest.run();
    assert_eq!(refused, 0, "{}", harvest.summary());
    assert!((4_990..=5_000).contains(&added) && fetched == added && unchanged < 5_000, "{fetched} {added} {unchanged}");
    assert_eq!(harvest.run(), (0, 0, 0, 0), "the deletions are listed again, and known");

    let marc = Harvest::new("oai", &format!("{address}?metadataPrefix=marc21"), "--allow-private --most 10");
    assert_eq!(marc.run().1, 9, "and a page");
    let books = run("books list --json --data {} --library lib", &[marc.folder.data()]).expect(0).json();
    let known = |book: &serde_json::Value| {
        book["title"].as_str().is_some_and(|title| title.starts_with("Book ") && !title.contains('/'))
            && book["authors"][0] == "Author, A."
    };
    assert!(books.iter().all(known), "{books:?}");
}
