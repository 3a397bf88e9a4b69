//! The server: the real program in its own process.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::Outcome;

/// A running server.
pub struct Server {
    pub url: String,
    child: Child,
}

impl Server {
    pub fn start(data: &Path) -> Outcome<Self> {
        // Choose a free port, so that it is known before the server is ready.
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lapidary"));
        command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--data"]).arg(data);
        let mut child = command.env("RUST_LOG", "warn").stderr(Stdio::piped()).spawn()?;
        let log = BufReader::new(child.stderr.take().ok_or("the server has no standard error")?);
        thread::spawn(move || -> io::Result<()> {
            for line in log.lines() {
                eprintln!("server: {}", line?);
            }
            Ok(())
        });
        let server = Self { url: format!("http://127.0.0.1:{port}"), child };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// Waits until the server reports that it is ready.
    pub fn wait_until_ready(&self) -> Outcome<()> {
        for _ in 0..60_000 {
            if ureq::get(format!("{}/readyz", self.url)).call().is_ok() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Err("the server is not ready after a minute".into())
    }

    /// The memory of the server.
    pub fn memory(&self) -> Outcome<Memory> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let anonymous = number(&status, "RssAnon:").ok_or("/proc tells no RssAnon")? / 1024.0;
        let metrics = ureq::get(format!("{}/metrics", self.url)).call()?.body_mut().read_to_string()?;
        let store = ["lapidary_store_cache_used_bytes ", "lapidary_store_memtable_bytes "];
        let bytes: f64 = store.iter().filter_map(|name| number(&metrics, name)).sum();
        Ok(Memory { anonymous, store: bytes / f64::from(1 << 20) })
    }

    pub fn kill(&mut self) -> Outcome<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Stops the server with SIGTERM, as an administrator would.
    pub fn stop(mut self) -> Outcome<()> {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        let ended = self.child.wait()?;
        if told.success() && ended.success() {
            Ok(())
        } else {
            Err(format!("the server stopped badly: {ended}").into())
        }
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

impl Drop for Server {
    fn drop(&mut self) {
        // It may have stopped already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
