//! The log, on standard error.

use std::backtrace::Backtrace;
use std::io::{self, IsTerminal as _};
use std::panic;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

/// How a line of the log is written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Format {
    /// For people
    #[default]
    Text,
    /// A JSON object a line
    Json,
}

/// Begins to log, from `level` on unless `RUST_LOG` says otherwise.
pub(super) fn begin(format: Format, level: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    // Nothing can be told of a log that cannot be written, and it is no reason to stop.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).log_internal_errors(false);
    match format {
        Format::Text => log.with_ansi(io::stderr().is_terminal()).init(),
        Format::Json => log.json().flatten_event(true).with_span_list(false).init(),
    }
}

/// Makes a panic a line of the log. Where its message was made up at the time, it is left out: it may repeat a part of the
/// text that was worked on.
pub(super) fn take_panics() {
    panic::set_hook(Box::new(|panicked| {
        let place = panicked.location().map(ToString::to_string);
        let message = panicked.payload().downcast_ref::<&str>();
        let backtrace = Backtrace::capture();
        tracing::error!(place, message, %backtrace, "a panic: a fault of the program, please report it");
    }));
}
