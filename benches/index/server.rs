//! The server under load: the real program in its own process.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::Outcome;
use crate::arguments::Arguments;
use crate::process::Process;

pub const LAPIDARY: &str = env!("CARGO_BIN_EXE_lapidary");

/// A running server. It is killed on drop.
pub struct Server {
    pub address: SocketAddr,
    process: Process,
}

impl Server {
    pub fn start(arguments: &Arguments, folder: &Path) -> Outcome<Self> {
        Self::run(
            arguments,
            Command::new(LAPIDARY).args(["serve", "--data"]).arg(folder),
        )
    }

    pub fn on_cluster(arguments: &Arguments, url: &str) -> Outcome<Self> {
        Self::run(
            arguments,
            Command::new(LAPIDARY).args(["serve", "--store", url]),
        )
    }

    fn run(arguments: &Arguments, command: &mut Command) -> Outcome<Self> {
        command.args([
            "--listen",
            "127.0.0.1:0",
            "--common-cap",
            &arguments.common_cap.to_string(),
        ]);
        if let Some(bytes) = arguments.cache {
            command.args(["--cache", &bytes.to_string()]);
        }
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let mut log = BufReader::new(
            child
                .stderr
                .take()
                .ok_or("the server has no standard error")?,
        );
        let mut line = String::new();
        log.read_line(&mut line)?;
        let address = line
            .trim()
            .rsplit("http://")
            .next()
            .and_then(|address| address.parse().ok());
        let address = address.ok_or_else(|| format!("the server did not start: {line}"))?;
        // The server would block if its log were not read.
        thread::spawn(move || io::copy(&mut log, &mut io::sink()));
        Ok(Self {
            address,
            process: Process(child),
        })
    }

    /// The memory of the server, from `/proc`.
    pub fn memory(&self) -> Outcome<String> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.0.id()))?;
        let mebibytes = |name: &str| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let kibibytes: Option<u64> =
                line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            kibibytes
                .map(|kibibytes| kibibytes >> 10)
                .ok_or_else(|| format!("/proc tells no {name}"))
        };
        Ok(format!(
            "{} resident, of which {} anonymous; {} at most",
            mebibytes("VmRSS")?,
            mebibytes("RssAnon")?,
            mebibytes("VmHWM")?
        ))
    }

    pub fn stop(self) -> Outcome<()> {
        self.process.stop()
    }
}
