//! A control group that limits the memory of a process and its children.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

/// The control group of this run, removed on drop.
pub struct Cgroup {
    folder: PathBuf,
    /// Whether this is cgroup version 2.
    unified: bool,
}

impl Cgroup {
    /// Creates a group limited to this many bytes.
    pub fn new(memory: u64) -> io::Result<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let unified = root.join("cgroup.controllers").exists();
        let above = if unified {
            root.to_owned()
        } else {
            root.join("memory")
        };
        let cgroup = Self {
            folder: above.join(format!("lapidary-attack-{}", process::id())),
            unified,
        };
        fs::create_dir(&cgroup.folder)?;
        let limit = if unified {
            "memory.max"
        } else {
            "memory.limit_in_bytes"
        };
        fs::write(cgroup.folder.join(limit), memory.to_string())?;
        Ok(cgroup)
    }

    /// The file to write process ids to.
    pub fn processes(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    /// The peak memory of its processes.
    pub fn peak(&self) -> Option<u64> {
        let name = if self.unified {
            "memory.peak"
        } else {
            "memory.max_usage_in_bytes"
        };
        fs::read_to_string(self.folder.join(name))
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    /// How many of its processes were killed by the out-of-memory killer.
    pub fn killed(&self) -> Option<u64> {
        let name = if self.unified {
            "memory.events"
        } else {
            "memory.oom_control"
        };
        let events = fs::read_to_string(self.folder.join(name)).ok()?;
        events
            .lines()
            .find_map(|line| line.strip_prefix("oom_kill "))?
            .parse()
            .ok()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // This fails if one of its processes is still running.
        let _ = fs::remove_dir(&self.folder);
    }
}
