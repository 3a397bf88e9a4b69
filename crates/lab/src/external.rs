//! Another program as a detector.
//!
//! It is started once, by the shell. It reads JSON Lines from standard input and answers each `check` with a line on standard
//! output. Its standard error is passed through. The protocol:
//!
//! ```text
//! → {"add": 17, "text": "…"}      a book to index, with its number; no answer
//! → {"check": "…"}                a text to check, after the last book
//! ← [17, 4]                       the numbers of the matching books
//! ```
//!
//! It must exit at the end of its input.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, sleep};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;

use super::EvaluateError;
use super::detector::Detector;
use lapidary_catalogue::Text;

/// How long a program may take to exit after the end of its input, in hundredths of a second.
const PATIENCE: usize = 200;

/// A running program.
pub(super) struct External {
    command: String,
    /// The number of books it was given.
    books: usize,
    talk: Mutex<Talk>,
}

struct Talk {
    child: Child,
    /// Its standard input; `None` once closed.
    to: Option<ChildStdin>,
    /// The lines of its standard output, read by a separate thread. Without it, a program that writes before it is asked could
    /// block until its output is read, while this thread blocks until the program reads its input.
    from: Receiver<io::Result<String>>,
}

impl External {
    /// Starts a program and sends it the books. `text` reads the text of a book, if there is one.
    pub(super) fn start(
        command: &str,
        books: usize,
        text: impl Fn(usize) -> Result<Option<String>, EvaluateError>,
    ) -> Result<Self, EvaluateError> {
        let mut shell = Command::new("sh");
        let spawned = shell
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child =
            spawned.map_err(|e| detector_failed(command, format!("cannot start it: {e}")))?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let from =
            from.ok_or_else(|| detector_failed(command, "it has no standard output".to_owned()))?;
        let (lines, heard) = channel();
        thread::spawn(move || {
            BufReader::new(from)
                .lines()
                .try_for_each(|line| lines.send(line))
        });
        let mut talk = Talk {
            child,
            to,
            from: heard,
        };
        for book in 0..books {
            if let Some(text) = text(book)? {
                let said = talk
                    .say(&json!({"add": book, "text": text}))
                    .and_then(|()| talk.unasked());
                said.map_err(|e| detector_failed(command, talk.failure(&e)))?;
            }
        }
        Ok(Self {
            command: command.to_owned(),
            books,
            talk: Mutex::new(talk),
        })
    }
}

impl Talk {
    fn say(&mut self, line: &serde_json::Value) -> Result<(), String> {
        let Some(to) = &mut self.to else {
            return Err("it has already exited".to_owned());
        };
        writeln!(to, "{line}")
            .and_then(|()| to.flush())
            .map_err(|e| format!("it stopped reading its input: {e}"))
    }

    fn answer(&mut self) -> Result<Vec<usize>, String> {
        let line = self
            .from
            .recv()
            .map_err(|_| "it exited without an answer".to_owned())?;
        let line = line.map_err(|e| format!("cannot read its answer: {e}"))?;
        serde_json::from_str(&line)
            .map_err(|_| format!("not a list of book numbers: '{}'", beginning(&line)))
    }

    /// Fails if it has written a line before it was asked.
    fn unasked(&self) -> Result<(), String> {
        match self.from.try_recv() {
            Ok(Ok(line)) => Err(format!(
                "it answered before it was asked: '{}'",
                beginning(&line)
            )),
            _ => Ok(()),
        }
    }

    /// Closes the program's input and waits for it to exit. Kills it if it takes too long.
    fn end(&mut self) -> Option<ExitStatus> {
        self.to = None;
        for _ in 0..PATIENCE {
            match self.child.try_wait() {
                Ok(None) => sleep(Duration::from_millis(10)),
                ended => return ended.ok().flatten(),
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }

    /// Ends the program, and adds its exit status to the error message.
    fn failure(&mut self, why: &str) -> String {
        let status = self.end().map_or_else(
            || "it had to be killed".to_owned(),
            |status| status.to_string(),
        );
        format!("{why} ({status})")
    }
}

fn detector_failed(command: &str, why: String) -> EvaluateError {
    EvaluateError::Detector {
        command: command.to_owned(),
        why,
    }
}

fn beginning(line: &str) -> String {
    line.trim().chars().take(80).collect()
}

impl Detector for External {
    fn name(&self) -> &str {
        &self.command
    }

    fn check(&self, text: &Text<'_>) -> Result<Vec<usize>, EvaluateError> {
        let mut talk = self.talk.lock();
        let asked = talk.say(&json!({"check": text.original()}));
        let found = asked
            .and_then(|()| talk.answer())
            .map_err(|e| detector_failed(&self.command, talk.failure(&e)))?;
        match found.iter().find(|book| **book >= self.books) {
            Some(book) => Err(detector_failed(
                &self.command,
                format!("it reports book {book}, which it was not given"),
            )),
            None => Ok(found),
        }
    }
}

impl Drop for External {
    fn drop(&mut self) {
        let talk = self.talk.get_mut();
        talk.end();
    }
}
