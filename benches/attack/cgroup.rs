//! A control group that bounds the memory of a process and of all that it starts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

/// A control group of this run, removed at its end.
pub struct Cgroup {
    folder: PathBuf,
    /// Whether it is of version 2.
    unified: bool,
}

impl Cgroup {
    /// One with so many bytes.
    pub fn new(memory: u64) -> io::Result<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let unified = root.join("cgroup.controllers").exists();
        let above = if unified { root.to_owned() } else { root.join("memory") };
        let cgroup = Self { folder: above.join(format!("lapidary-attack-{}", process::id())), unified };
        fs::create_dir(&cgroup.folder)?;
        let limit = if unified { "memory.max" } else { "memory.limit_in_bytes" };
        fs::write(cgroup.folder.join(limit), memory.to_string())?;
        Ok(cgroup)
    }

    /// The file that takes the numbers of processes.
    pub fn processes(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    /// The most memory that its processes had at a time.
    pub fn peak(&self) -> Option<u64> {
        let name = if self.unified { "memory.peak" } else { "memory.max_usage_in_bytes" };
        fs::read_to_string(self.folder.join(name)).ok()?.trim().parse().ok()
    }

    /// How many of its processes were killed for want of memory.
    pub fn killed(&self) -> Option<u64> {
        let name = if self.unified { "memory.events" } else { "memory.oom_control" };
        let events = fs::read_to_string(self.folder.join(name)).ok()?;
        events.lines().find_map(|line| line.strip_prefix("oom_kill "))?.parse().ok()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // It stays where a process of it still runs.
        let _ = fs::remove_dir(&self.folder);
    }
}
