//! What is printed: nothing in it that comes from outside steers a terminal, but JSON goes out as it is.

use std::fmt::Display;
use std::io::{self, StdoutLock, Write};

use crate::report::harmless;

/// Standard output.
pub(super) struct Out {
    stdout: StdoutLock<'static>,
    exact: bool,
}

/// Standard output for people; or, of JSON, exactly what is written.
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

/// Prints a line to standard error. That nobody reads it is no reason to stop.
pub(super) fn tell(what: impl Display) {
    let _ = writeln!(io::stderr(), "{}", harmless(&what.to_string()));
}
