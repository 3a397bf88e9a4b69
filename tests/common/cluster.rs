//! Redis Clusters on loopback.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::tempdir;

/// The program that starts and stops them, which crates above share.
fn program() -> PathBuf {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders
        .map(|folder| folder.join("scripts/cluster"))
        .find(|script| script.exists())
        .expect("the script of clusters")
}

/// The servers of a cluster. They end with this process, however that ends.
pub struct Nodes {
    /// `HOST:PORT,HOST:PORT…`, the primaries first.
    pub addresses: String,
    dir: PathBuf,
    /// The variables of the script.
    variables: Vec<(String, PathBuf)>,
    /// Stops the servers when its input ends.
    _guard: Option<Child>,
}

/// Says that a test is skipped; where none may be (`LAPIDARY_REQUIRE`), it fails.
fn skip(why: &str) {
    assert!(std::env::var_os("LAPIDARY_REQUIRE").is_none(), "{why}");
    // Written directly, because the test harness hides the output of tests that pass.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

impl Nodes {
    /// Starts so many primaries, each with so many replicas. Where there is no `redis-server`, says so and returns `None`.
    pub fn start(primaries: u32, replicas: u32) -> Option<Self> {
        Self::start_with(primaries, replicas, &[])
    }

    /// Starts them with variables of the script.
    pub fn start_with(primaries: u32, replicas: u32, variables: &[(&str, &Path)]) -> Option<Self> {
        if Command::new("redis-server")
            .arg("--version")
            .output()
            .is_err()
        {
            skip("there is no redis-server to test a cluster with");
            return None;
        }
        let dir = tempdir().unwrap().keep();
        let mut script = Command::new(program());
        script
            .arg(&dir)
            .args([primaries, replicas].map(|count| count.to_string()));
        script.envs(variables.iter().copied());
        let started = script.stderr(Stdio::inherit()).output().unwrap();
        assert!(started.status.success(), "scripts/cluster failed");
        let mut guard = Command::new("sh");
        guard
            .args(["-c", "cat; \"$1\" \"$2\" stop; rm -r \"$2\"", "sh"])
            .arg(program())
            .arg(&dir);
        let guard = guard
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let addresses = String::from_utf8(started.stdout)
            .unwrap()
            .trim()
            .replace('\n', ",");
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.to_path_buf()))
            .collect();
        Some(Self {
            addresses,
            dir,
            variables,
            _guard: Some(guard),
        })
    }

    /// A server that can say that a change is on disk, which Valkey and Redis from 7.2 on can. Where there is none, says so
    /// and returns `None`.
    pub fn program_with_logs() -> Option<PathBuf> {
        let version = |program: &PathBuf| {
            let said =
                String::from_utf8(Command::new(program).arg("--version").output().ok()?.stdout)
                    .ok()?;
            let mut numbers = said
                .split(" v=")
                .nth(1)?
                .split('.')
                .map(|number| number.parse::<u32>().ok());
            Some((numbers.next()??, numbers.next()??))
        };
        let named = std::env::var_os("REDIS_SERVER").map(PathBuf::from);
        let programs = named
            .into_iter()
            .chain(["valkey-server", "redis-server"].map(PathBuf::from));
        let found =
            { programs }.find(|program| version(program).is_some_and(|version| version >= (7, 2)));
        if found.is_none() {
            skip("there is neither valkey-server nor a redis-server from 7.2 on");
        }
        found
    }

    /// Servers that were started otherwise, and cannot be signalled.
    pub fn at(addresses: String) -> Self {
        Self {
            addresses,
            dir: PathBuf::new(),
            variables: Vec::new(),
            _guard: None,
        }
    }

    /// The number of servers.
    pub fn count(&self) -> usize {
        self.addresses.split(',').count()
    }

    fn port(&self, node: usize) -> &str {
        self.addresses
            .split(',')
            .nth(node)
            .and_then(|address| address.rsplit(':').next())
            .unwrap()
    }

    /// What a server answers to a command; nothing if it does not.
    pub fn ask(&self, node: usize, command: &[&str]) -> String {
        // One that is stopped does not answer.
        let mut cli = Command::new("timeout");
        let (host, port) = self
            .addresses
            .split(',')
            .nth(node)
            .and_then(|address| address.split_once(':'))
            .unwrap();
        cli.args(["2", "redis-cli", "-h", host, "-p", port])
            .args(command);
        let answer = cli.stderr(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&answer.stdout).trim().to_owned()
    }

    /// Starts a server again that has ended.
    pub fn restart(&self, node: usize) {
        let mut script = Command::new(program());
        script
            .arg(&self.dir)
            .args(["start", self.port(node)])
            .stdout(Stdio::null());
        script.envs(self.variables.iter().map(|(name, value)| (name, value)));
        assert!(script.status().unwrap().success());
    }

    /// The folder of a server.
    pub fn folder(&self, node: usize) -> PathBuf {
        self.dir.join(self.port(node))
    }

    /// Removes what a server that has ended kept on disk.
    pub fn lose_data(&self, node: usize) {
        fs::remove_dir_all(self.folder(node).join("appendonlydir")).unwrap();
    }

    /// Sends a signal to a server, counted from 0, the primaries first.
    pub fn signal(&self, node: usize, signal: &str) {
        let pid = fs::read_to_string(self.folder(node).join("pid")).unwrap();
        assert!(
            Command::new("kill")
                .args([signal, pid.trim()])
                .status()
                .unwrap()
                .success()
        );
    }
}
