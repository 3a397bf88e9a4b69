//! The server as a process of its own, for the benches that measure the real program.

use std::error::Error;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take to become ready.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running server. It is killed on drop.
pub struct Process(pub Child);

impl Process {
    /// The server that `child` runs at this URL, once it reports that it is ready.
    pub fn ready(child: Child, url: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let (server, begun) = (Self(child), Instant::now());
        while ureq::get(format!("{url}/readyz")).call().is_err() {
            if begun.elapsed() > PATIENCE {
                return Err("the server is not ready after a minute".into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(server)
    }

    /// Stops the server with SIGTERM, as an administrator would.
    pub fn stop(mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let told = Command::new("kill")
            .args(["-TERM", &self.0.id().to_string()])
            .status()?;
        let ended = self.0.wait()?;
        if told.success() && ended.success() {
            Ok(())
        } else {
            Err(format!("the server stopped badly: {ended}").into())
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have stopped already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
