//! Sources that are other people's programs: each test is skipped, with a line that says so, where its program is not installed.

use crate::makers;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::Harvest;
use crate::common::{Folder, free_port, prose, run};

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
    let mut books: Vec<PathBuf> = (0..3)
        .map(|number| folder.file(&format!("book{number}.txt"), prose(number, 3_000)))
        .collect();
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
    let added = add
        .arg("add")
        .arg("--library-path")
        .arg(&library)
        .args(&books)
        .output()
        .expect("calibredb runs");
    assert!(
        added.status.success(),
        "{}",
        String::from_utf8_lossy(&added.stderr)
    );
    let port = free_port();
    let listen = [
        "--listen-on",
        "127.0.0.1",
        "--disable-use-bonjour",
        "--port",
    ];
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
    assert_eq!(
        Harvest::new("opds", &address, "--allow-private").run(),
        (0, 0, 0, 1)
    );
    let harvest = Harvest::new("opds", &address, "--allow-private --ignore-robots");
    let count = books.len() as u64;
    assert_eq!(harvest.run(), (count, count, 0, 0), "{}", harvest.summary());
    let records = run(
        "books list --json --data {} --library lib",
        &[harvest.folder.data()],
    )
    .expect(0)
    .json();
    assert!(
        records.iter().all(|book| book["title"].is_string()),
        "{records:?}"
    );
    assert_eq!(harvest.run(), (0, 0, count, 0));
}

#[test]
fn a_repository_of_5000_records() {
    let installed = || {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/repository");
        let printed = is_required().then(|| Command::new(script).output().expect("it runs").stdout);
        String::from_utf8(printed.unwrap_or_else(|| b"python3".to_vec()))
            .expect("a path")
            .trim()
            .to_owned()
    };
    let python = std::env::var("LAPIDARY_OAI_PYTHON").unwrap_or_else(|_| installed());
    let has = Command::new(&python)
        .args(["-c", "import oai_repo"])
        .output();
    if !has.is_ok_and(|has| has.status.success()) {
        return skipped(
            "there is no Python with oai_repo: export LAPIDARY_OAI_PYTHON=$(scripts/repository)",
        );
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/software/repository.py");
    let mut server = Command::new(python)
        .arg(script)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let mut address = String::new();
    BufReader::new(server.stdout.take().expect("a pipe"))
        .read_line(&mut address)
        .expect("an address");
    let _server = Program(server);
    let address = format!("{}/oai", address.trim());

    // The list has to be begun again on the way, because ten records are deleted and tokens expire.
    let harvest = Harvest::new(
        "oai",
        &address,
        "--allow-private --disable-missing --oai-set books",
    );
    let (fetched, added, unchanged, refused) = harvest.run();
    assert_eq!(refused, 0, "{}", harvest.summary());
    assert!(
        (4_990..=5_000).contains(&added) && fetched == added && unchanged < 5_000,
        "{fetched} {added} {unchanged}"
    );
    assert_eq!(
        harvest.run(),
        (0, 0, 0, 0),
        "the deletions are listed again, and known"
    );

    let marc = Harvest::new(
        "oai",
        &format!("{address}?metadataPrefix=marc21"),
        "--allow-private --max-urls 10",
    );
    assert_eq!(marc.run().1, 9, "and a page");
    let books = run(
        "books list --json --data {} --library lib",
        &[marc.folder.data()],
    )
    .expect(0)
    .json();
    let known = |book: &serde_json::Value| {
        book["title"]
            .as_str()
            .is_some_and(|title| title.starts_with("Book ") && !title.contains('/'))
            && book["authors"][0] == "Author, A."
    };
    assert!(books.iter().all(known), "{books:?}");
}

/// A small site of pages, some in folders, and books in other formats, with all their paths.
fn documentation(folder: &Folder) -> BTreeSet<String> {
    let link = |to: &String| format!("<a href='/{to}'>{to}</a>");
    let links = |paths: &[String]| paths.iter().map(link).collect::<Vec<_>>().concat();
    let page = |title: &str, number: u64, inner: &str| {
        format!(
            "<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{}</p>{inner}</body></html>",
            prose(number, 400)
        )
    };
    let pages: Vec<String> = (0..40)
        .map(|number| format!("part{}/chapter{number}.html", number % 4))
        .collect();
    for (number, path) in (0..).zip(&pages) {
        let next = pages.get(number as usize + 1).cloned();
        let inner = links(&Vec::from_iter(next)) + "<a href='/index.html'>start</a>";
        folder.file(
            &format!("site/{path}"),
            page(&format!("Chapter {number}"), number, &inner),
        );
    }
    let paragraphs = |seed: u64| {
        (0..8)
            .map(|part| prose(seed + part, 120))
            .collect::<Vec<_>>()
    };
    let books: [(&str, Vec<u8>); 3] = [
        ("books/1.epub", makers::epub(&paragraphs(1_000))),
        ("books/2.rtf", makers::rtf(&paragraphs(2_000))),
        ("books/3.txt", prose(3_000, 900).into_bytes()),
    ];
    let mut all: Vec<String> = pages[..4].to_vec();
    for (path, bytes) in books {
        folder.file(&format!("site/{path}"), bytes);
        all.push(path.to_owned());
    }
    folder.file("site/index.html", page("Start", 900, &links(&all)));
    all.into_iter()
        .chain(pages)
        .chain(["index.html".to_owned()])
        .collect()
}

#[test]
fn nginx_serves_documentation() {
    // Debian has it where only administrators look.
    let nginx = ["nginx", "/usr/sbin/nginx"]
        .into_iter()
        .find(|nginx| Command::new(nginx).arg("-v").output().is_ok());
    let Some(nginx) = nginx else {
        return skipped("there is no nginx to harvest");
    };
    let (folder, port) = (Folder::new(), free_port());
    let at = folder.path("nginx");
    fs::create_dir(&at).expect("a folder");
    let paths = documentation(&folder);
    let own = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {kind};"))
        .concat();
    let configuration = format!(
        "daemon off; master_process off; pid pid; error_log errors; events {{ worker_connections 64; }}
         http {{ access_log off; {own} types {{ text/html html; }} default_type application/octet-stream;
         server {{ listen 127.0.0.1:{port}; root {}; }} }}",
        folder.path("site").display()
    );
    let configuration = folder.file("nginx/nginx.conf", configuration);
    let mut server = Command::new(nginx);
    server
        .arg("-p")
        .arg(&at)
        .arg("-c")
        .arg(configuration)
        .stderr(Stdio::null());
    let _server = Program(server.spawn().expect("it runs"));
    answers(port);

    let url = |path: &String| format!("http://127.0.0.1:{port}/{path}");
    let all: BTreeSet<String> = paths.iter().map(url).collect();
    let count = all.len() as u64;
    let harvest = Harvest::new("site", &url(&"index.html".to_owned()), "--allow-private");
    assert_eq!(harvest.run(), (count, count, 0, 0), "{}", harvest.summary());
    assert_eq!(harvest.ids(), all);
    // It offers ETags, so nothing is sent again, and all is known.
    assert_eq!(harvest.run(), (0, 0, count, 0), "{}", harvest.summary());

    // What changed is sent, and what only that leads to is found.
    let new = folder.file(
        "site/part9/new.html",
        format!("<html><body><p>{}</p></body></html>", prose(9_000, 400)),
    );
    let changed = folder.path("site/part3/chapter39.html");
    let html = fs::read_to_string(&changed)
        .expect("a page")
        .replace("<h1>", "<a href='/part9/new.html'>new</a><h1>");
    fs::write(&changed, html).expect("it is written");
    let (fetched, added, unchanged, refused) = harvest.run();
    assert_eq!(
        (fetched, unchanged, refused),
        (2, count - 1, 0),
        "{}",
        harvest.summary()
    );
    assert_eq!(added, 2);
    let text = run("text {}", &[&new]).expect(0).out;
    let copy = folder.file("copy.txt", text);
    let report = run(
        "check --json --data {} {}",
        &[&harvest.folder.data(), &copy],
    )
    .json()
    .remove(0);
    assert_eq!(report["matches"][0]["identical"], true);
}
