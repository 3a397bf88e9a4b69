//! Output. Terminal control characters from untrusted input are removed, except in JSON, which is written unchanged.

use std::fmt::Display;
use std::fs;
use std::io::{self, StdoutLock, Write};
use std::path::Path;

use lapidary_report::harmless;
use serde::Serialize;

use super::failure::Failure;

/// Standard output.
pub(super) struct Out {
    stdout: StdoutLock<'static>,
    exact: bool,
}

/// Standard output, sanitized for a terminal, or unchanged for JSON.
pub(super) fn out(json: bool) -> Out {
    Out {
        stdout: io::stdout().lock(),
        exact: json,
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.exact {
            return self.stdout.write(bytes);
        }
        self.stdout
            .write_all(harmless(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}

/// Writes a page to a file.
pub(super) fn write_page(path: &Path, page: &str) -> Result<(), Failure> {
    fs::write(path, page).map_err(|error| Failure::unwritable(path, &error))
}

/// Writes a value as a line of JSON.
pub(super) fn json_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

/// Writes each value in a line, as JSON or in words.
pub(super) fn lines<T: Serialize>(
    out: &mut impl Write,
    json: bool,
    values: &[T],
    words: impl Fn(&T) -> String,
) -> io::Result<()> {
    for value in values {
        if json {
            json_line(out, value)?;
        } else {
            writeln!(out, "{}", words(value))?;
        }
    }
    Ok(())
}

/// Prints a line to standard error, ignoring write errors.
pub(super) fn tell(what: impl Display) {
    let _ = writeln!(io::stderr(), "{}", harmless(&what.to_string()));
}
