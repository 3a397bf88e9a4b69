//! The `lapidary` command, one file per command. All logic is in the catalogue.
//!
//! Human output and JSON go to standard output, progress and errors to standard error. Exit status: 0 success, 1 a check
//! found protected text (whatever else happened) or `doctor` or `health` something unhealthy, 2 wrong usage or input, 3 failure.

mod allow;
mod arguments;
mod audit;
mod backup;
mod books;
mod boundaries;
mod check;
mod client;
mod compare;
mod copy;
mod decisions;
mod demo;
mod docs;
mod doctor;
mod drift;
mod duplicates;
mod evaluate;
mod failure;
mod files;
mod health;
mod history;
mod ingest;
mod jobs;
mod keys;
mod lexicon;
mod libraries;
mod log;
mod manual;
mod reindex;
mod remote;
mod serve;
mod sources;
mod stats;
mod terminal;
mod text;
mod tls;
mod transfer;
mod version;
mod webhooks;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use lapidary::server::settings::LogFormat;
use lapidary_extract::{isolate, worker};
use lapidary_harvest::read_page;

use self::failure::{Failure, Status};

/// How long a server request waits for a free file reader.
const BUSY: Duration = Duration::from_secs(5);

/// A fingerprint index for books: find which books share text with a file, how much, where, and whether it may be published.
#[derive(Parser)]
#[command(name = "lapidary", version = version::VERSION.as_str(), about, max_term_width = 100, after_long_help = manual::VARIABLES)]
pub struct Command {
    #[command(subcommand)]
    command: Commands,
}

/// The commands with arguments.
macro_rules! commands {
    ($($name:ident($arguments:ty),)*) => {
        #[derive(Subcommand)]
        enum Commands {
            $($name($arguments),)*
            /// Run a demo on a small made-up shelf
            Demo,
            /// Read files for another `lapidary` process
            #[command(name = worker::SUBCOMMAND, hide = true)]
            ExtractWorker,
        }

        impl Commands {
            fn run(self) -> Result<Status, Failure> {
                match self {
                    $(Self::$name(arguments) => arguments.run(),)*
                    Self::ExtractWorker => Ok(Status::Done),
                    Self::Demo => {
                        demo::run(&mut std::io::stdout().lock())?;
                        Ok(Status::Done)
                    }
                }
            }
        }
    };
}

// The help of a command is the doc comment of its struct, which a doc comment here would replace. Commands without arguments are
// in the macro.
commands! {
    Serve(serve::ServeArgs),
    Ingest(ingest::IngestArgs),
    Check(check::CheckArgs),
    Text(text::TextArgs),
    Gems(text::GemsArgs),
    Fold(text::FoldArgs),
    Compare(compare::CompareArgs),
    Duplicates(duplicates::DuplicatesArgs),
    Books(books::BooksArgs),
    Keys(keys::KeysArgs),
    Libraries(libraries::LibrariesArgs),
    Decisions(decisions::DecisionsArgs),
    Allow(allow::AllowArgs),
    Webhooks(webhooks::WebhooksArgs),
    Sources(sources::SourcesArgs),
    Stats(stats::StatsArgs),
    Doctor(doctor::DoctorArgs),
    Health(health::HealthArgs),
    Reindex(reindex::ReindexArgs),
    DropRecipe(reindex::DropRecipeArgs),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Export(transfer::ExportArgs),
    Import(transfer::ImportArgs),
    Copy(copy::CopyArgs),
    Jobs(jobs::JobsArgs),
    Verify(stats::VerifyArgs),
    Compact(stats::CompactArgs),
    Audit(audit::AuditArgs),
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
    Docs(docs::DocsArgs),
    Boundaries(boundaries::BoundariesArgs),
    Lexicon(lexicon::LexiconArgs),
    Evaluate(evaluate::EvaluateArgs),
}

impl Command {
    /// Runs the command and returns the exit status.
    #[must_use]
    pub fn run(self) -> ExitCode {
        if matches!(self.command, Commands::ExtractWorker) {
            return if worker::work(read_page).is_ok() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            };
        }
        // A person at a terminal waits. A client of a server is told to retry.
        isolate_readers(if matches!(self.command, Commands::Serve(_)) {
            BUSY
        } else {
            Duration::MAX
        });
        // `serve` sets up its log from its settings.
        if !matches!(self.command, Commands::Serve(_)) {
            log::begin(LogFormat::Text, "warn");
        }
        match self.command.run() {
            Ok(status) => status.into(),
            Err(Failure::ReaderGone) => Status::Done.into(),
            Err(failure) => {
                terminal::tell(format_args!("lapidary: {failure}"));
                failure.status().into()
            }
        }
    }
}

/// Reads files in processes of this same executable, even if another version has since been installed at its path.
/// `patience` is how long a read waits for a free process.
fn isolate_readers(patience: Duration) {
    let program = if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        env::current_exe()
    };
    if let Ok(program) = program {
        isolate(program, patience);
    }
}
