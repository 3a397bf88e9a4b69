//! A worker, as the program sees it that started it.

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::{SUBCOMMAND, stopped};
use crate::ExtractError;
use crate::limits::{Limit, Limits};

/// The time limit applies to processor time. On a busy machine a worker may take this many times longer, plus this much.
const PATIENCE: u32 = 3;
const GRACE: Duration = Duration::from_secs(2);
/// How much of a dying worker's error output is read.
const LAST_WORDS: u64 = 4 << 10;
const SIGXCPU: i32 = 24;

/// A running worker. It is killed when dropped.
pub(super) struct Process {
    child: Mutex<Child>,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    last_words: Option<JoinHandle<String>>,
    is_late: bool,
    /// How many orders it has had.
    pub(super) orders: u32,
}

impl Process {
    pub(super) fn start(program: &Path) -> io::Result<Self> {
        let mut child = Command::new(program)
            .arg(SUBCOMMAND)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(io::Error::other("it has no streams"));
        };
        let last_words = Some(thread::spawn(|| last_words(stderr)));
        let (child, stdout) = (Mutex::new(child), BufReader::new(stdout));
        Ok(Self {
            child,
            stdin,
            stdout,
            last_words,
            is_late: false,
            orders: 0,
        })
    }

    /// Talks with the worker, which is killed if that takes too long.
    pub(super) fn talk<T>(
        &mut self,
        limits: Limits,
        talk: impl FnOnce(&mut ChildStdin, &mut BufReader<ChildStdout>) -> T,
    ) -> T {
        let Self {
            child,
            stdin,
            stdout,
            ..
        } = self;
        let child = &*child;
        let (done, finished) = channel::<()>();
        let (said, is_late) = thread::scope(|scope| {
            let watch = scope.spawn(move || {
                let late = finished.recv_timeout(PATIENCE * limits.seconds() + GRACE)
                    == Err(RecvTimeoutError::Timeout);
                if late {
                    let _ = child.lock().kill();
                }
                late
            });
            let said = talk(stdin, stdout);
            drop(done);
            (said, watch.join().unwrap_or_default())
        });
        self.is_late |= is_late;
        said
    }

    /// Ends the worker, and says why it died if it had.
    pub(super) fn obituary(mut self, limits: Limits) -> ExtractError {
        let (status, last_words) = self.end();
        let out_of_time = self.is_late || status.and_then(signal) == Some(SIGXCPU);
        cause(out_of_time, &last_words, status, limits)
    }

    /// Kills the worker; if it has already ended, this has no effect.
    fn end(&mut self) -> (Option<ExitStatus>, String) {
        let mut child = self.child.lock();
        let _ = child.kill();
        let status = child.wait().ok();
        let last_words = self.last_words.take().and_then(|words| words.join().ok());
        (status, last_words.unwrap_or_default())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Why a worker died.
fn cause(
    out_of_time: bool,
    last_words: &str,
    status: Option<ExitStatus>,
    limits: Limits,
) -> ExtractError {
    if out_of_time {
        limits.met(Limit::Time).into()
    } else if last_words.contains("memory allocation") {
        limits.met(Limit::Memory).into()
    } else if last_words.contains("overflowed its stack") {
        stopped("its reader overflowed its stack")
    } else {
        let status = status.map_or_else(
            || "for unknown reasons".to_owned(),
            |status| status.to_string(),
        );
        stopped(&format!("its reader died ({status})"))
    }
}

/// The beginning of a dying worker's error output. The rest is read too, so that the worker does not block on it.
fn last_words(mut stderr: impl Read) -> String {
    let mut words = Vec::new();
    let _ = (&mut stderr).take(LAST_WORDS).read_to_end(&mut words);
    let _ = io::copy(&mut stderr, &mut io::sink());
    String::from_utf8_lossy(&words).into_owned()
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

#[cfg(test)]
mod tests {
    use super::cause;
    use crate::limits::Limits;

    #[test]
    fn the_cause_is_in_the_last_words() {
        let because =
            |out_of_time, words| cause(out_of_time, words, None, Limits::default()).to_string();
        for (out_of_time, words, told) in [
            (true, "memory allocation of 9 bytes failed", "seconds"),
            (
                false,
                "memory allocation of 9 bytes failed",
                "bytes of memory",
            ),
            (
                false,
                "thread 'main' has overflowed its stack",
                "its reader overflowed its stack",
            ),
            (false, "", "its reader died (for unknown reasons)"),
        ] {
            let because = because(out_of_time, words);
            assert!(because.contains(told), "{words}: {because}");
        }
    }
}
