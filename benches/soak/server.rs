//! The server: the real program in its own process.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::Outcome;
use crate::process::Process;

/// A running server. It is killed on drop.
pub struct Server {
    pub url: String,
    process: Process,
}

impl Server {
    pub fn start(data: &Path) -> Outcome<Self> {
        // Choose a free port, so that it is known before the server is ready.
        let port = std::net::TcpListener::bind("127.0.0.1:0")?
            .local_addr()?
            .port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lapidary"));
        command
            .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--data"])
            .arg(data);
        let mut child = command
            .env("RUST_LOG", "warn")
            .stderr(Stdio::piped())
            .spawn()?;
        let log = BufReader::new(
            child
                .stderr
                .take()
                .ok_or("the server has no standard error")?,
        );
        thread::spawn(move || -> io::Result<()> {
            for line in log.lines() {
                eprintln!("server: {}", line?);
            }
            Ok(())
        });
        let url = format!("http://127.0.0.1:{port}");
        Ok(Self {
            process: Process::ready(child, &url)?,
            url,
        })
    }

    /// The memory of the server.
    pub fn memory(&self) -> Outcome<Memory> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.0.id()))?;
        let anonymous = number(&status, "RssAnon:").ok_or("/proc tells no RssAnon")? / 1024.0;
        let metrics = ureq::get(format!("{}/metrics", self.url))
            .call()?
            .body_mut()
            .read_to_string()?;
        let store = [
            "lapidary_store_cache_used_bytes ",
            "lapidary_store_memtable_bytes ",
        ];
        let bytes: f64 = store.iter().filter_map(|name| number(&metrics, name)).sum();
        Ok(Memory {
            anonymous,
            store: bytes / f64::from(1 << 20),
        })
    }

    pub fn stop(self) -> Outcome<()> {
        self.process.stop()
    }
}

/// The number after a name at the start of a line.
fn number(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The memory of a process in MiB.
#[derive(Clone, Copy)]
pub struct Memory {
    /// Anonymous memory, which excludes file mappings.
    pub anonymous: f64,
    /// The part used by the store for its cache and memtables. Both grow up to their configured size.
    pub store: f64,
}
