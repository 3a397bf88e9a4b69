//! The log, on standard error.

use std::backtrace::Backtrace;
use std::io::{self, IsTerminal as _};
use std::panic;

use lapidary::server::settings::LogFormat;
use tracing_subscriber::EnvFilter;

/// Starts logging at `level`, unless `RUST_LOG` sets another.
pub(super) fn begin(format: LogFormat, level: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    // A log that cannot be written cannot be reported either, and is no reason to stop.
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .log_internal_errors(false);
    match format {
        LogFormat::Text => log.with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => log.json().flatten_event(true).with_span_list(false).init(),
    }
}

/// Logs panics. Messages formatted at run time are left out, because they may contain parts of the text being processed.
pub(super) fn take_panics() {
    panic::set_hook(Box::new(|panicked| {
        let place = panicked.location().map(ToString::to_string);
        let message = panicked.payload().downcast_ref::<&str>();
        let backtrace = Backtrace::capture();
        tracing::error!(place, message, %backtrace, "panicked: this is a bug in lapidary, please report it");
    }));
}
