//! Output. Terminal control characters from untrusted input are removed, except in JSON, which is written unchanged.

use std::fmt::Display;
use std::io::{self, StdoutLock, Write};

use lapidary::report::harmless;

/// Standard output.
pub(super) struct Out {
    stdout: StdoutLock<'static>,
    exact: bool,
}

/// Standard output, sanitized for a terminal, or unchanged for JSON.
pub(super) fn out(json: bool) -> Out {
    Out { stdout: io::stdout().lock(), exact: json }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.exact {
            return self.stdout.write(bytes);
        }
        self.stdout.write_all(harmless(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}

/// Prints a line to standard error, ignoring write errors.
pub(super) fn tell(what: impl Display) {
    let _ = writeln!(io::stderr(), "{}", harmless(&what.to_string()));
}
