//! Shared by the end-to-end tests: generated texts, and running the binary.
#![allow(dead_code, reason = "each test uses a part")]

pub mod client;
pub mod cluster;
pub mod hook;
pub mod moto;
pub mod network;
pub mod provider;
pub mod watched;
mod words;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lapidary_catalogue::Catalogue;
use lapidary_gems::Recipe;
use lapidary_store::Actor;
use rocksdb::{DB, Options};
use serde_json::Value;

/// The program under test.
pub const LAPIDARY: &str = env!("CARGO_BIN_EXE_lapidary");

/// Waits until something holds. On a busy machine a run of a source may fail, and goes on after 30 s, and then after 60.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_mins(3), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A small random number generator (splitmix64), so that a test sees the same texts in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

/// Generates a text of this many words, with about one gem per hundred words.
pub fn prose(seed: u64, words: usize) -> String {
    let mut random = Random(seed);
    words::text_of_words(|end| random.below(end), words)
}

/// Half of the words with others between them that `rewriting` does not read, so that `hardened` has nothing in common.
pub fn reworded(text: &str, seed: u64) -> String {
    let (mut random, mut reworded) = (Random(seed), String::new());
    for word in text.split(' ') {
        if random.below(2) == 0 {
            continue;
        }
        let other = ["xk", "qv", "wz", "jp", "lb", "tm", "rn", "gf"][random.below(8) as usize];
        reworded.extend([word, " ", other, " "]);
    }
    reworded
}

/// A temporary folder with room for a catalogue, deleted on drop.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and creates its parent folders.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
        fs::write(&path, content).expect("a file");
        path
    }

    pub fn data(&self) -> PathBuf {
        self.path("catalogue")
    }
}

/// The folder of a catalogue as a plain database with all its column families, for what the program itself never does.
pub fn database(data: &Path) -> DB {
    DB::open_cf(&Options::default(), data, families(data)).expect("a database")
}

/// The column families in the folder of a catalogue.
pub fn families(data: &Path) -> Vec<String> {
    DB::list_cf(&Options::default(), data).expect("column families")
}

/// The result of running the program.
#[derive(Debug)]
pub struct Run {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    /// Parses each line of standard output as JSON.
    pub fn json(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect()
    }

    pub fn expect(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{}{}", self.out, self.err);
        self
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self {
            status: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

/// Runs a command line of words separated by spaces. Each `{}` is replaced by the next of `paths`.
pub fn run<P: AsRef<Path>>(line: &str, paths: &[P]) -> Run {
    command(line, paths)
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
        .into()
}

/// Like [`run`], with standard input.
pub fn run_with_input(line: &str, input: impl AsRef<[u8]>) -> Run {
    let mut command = command(line, &[] as &[&Path]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_ref())
        .expect("the program reads");
    child.wait_with_output().expect("the program ends").into()
}

/// Makes a catalogue without a secret.
pub fn without_secret(data: &Path) {
    let catalogue = Catalogue::open_or_create(data).expect("a catalogue");
    let recipes = [Recipe::hardened(), Recipe::released()];
    let editor = catalogue.by(Actor::Local);
    editor.recipes().ensure(&recipes).expect("recipes");
}

/// A port that nobody listens on. Programs that choose one themselves are better.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port")
        .port()
}

/// Creates a key and returns its secret.
pub fn key(data: &Path, arguments: &str) -> String {
    let made = run(&format!("keys add --data {{}} {arguments}"), &[data]).expect(0);
    made.out
        .lines()
        .last()
        .expect("the secret comes last")
        .to_owned()
}

pub fn command<P: AsRef<Path>>(line: &str, paths: &[P]) -> Command {
    let mut command = Command::new(LAPIDARY);
    let mut paths = paths.iter();
    for word in line.split_whitespace() {
        if word == "{}" {
            command.arg(paths.next().expect("a path for every {}").as_ref());
        } else {
            command.arg(word);
        }
    }
    assert!(paths.next().is_none(), "a {{}} for every path");
    command
}

/// A server for a catalogue, stopped on drop.
pub struct Server {
    pub url: String,
    child: Child,
}

impl Server {
    pub fn start(data: &Path) -> Self {
        Self::start_with("", &[], data)
    }

    /// Starts a server with further options.
    pub fn start_with(options: &str, paths: &[&Path], data: &Path) -> Self {
        let paths: Vec<&Path> = paths.iter().copied().chain([data]).collect();
        Self::of(command(
            &format!("serve --listen 127.0.0.1:0 {options} --data {{}}"),
            &paths,
        ))
    }

    /// Starts a server for the catalogue of a cluster.
    pub fn start_on(store: &str) -> Self {
        Self::start_on_with("", store)
    }

    /// Starts a server for the catalogue of a cluster with further options.
    pub fn start_on_with(options: &str, store: &str) -> Self {
        Self::of(command(
            &format!("serve --listen 127.0.0.1:0 {options} --store {store}"),
            &[] as &[&Path],
        ))
    }

    /// Starts a server from a shell script, in which `$SERVE` is the command that starts it.
    pub fn start_by_shell(script: &str, data: &Path) -> Self {
        let mut shell = Command::new("sh");
        let serve = "\"$0\" serve --listen 127.0.0.1:0 --data \"$1\"";
        shell
            .args(["-c", &script.replace("$SERVE", serve), LAPIDARY])
            .arg(data);
        Self::of(shell)
    }

    /// Starts a server with a command.
    pub fn of(mut command: Command) -> Self {
        let mut child = command
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(child.stderr.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("a line");
        let url = line
            .trim()
            .rsplit(' ')
            .next()
            .expect("an address")
            .to_owned();
        assert!(url.starts_with("http://"), "{line}");
        Self { url, child }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM, waits, and returns the exit status.
    pub fn stop(mut self) -> Option<i32> {
        let stopped = Command::new("kill")
            .args(["-TERM", &self.pid().to_string()])
            .status()
            .expect("kill runs");
        assert!(stopped.success());
        self.child.wait().expect("the server ends").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
