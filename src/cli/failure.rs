//! Exit statuses and errors of commands.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use lapidary_catalogue::CatalogueError;
use lapidary_catalogue::api::Report;
use lapidary_common::error::{Classified as _, ErrorCode, ErrorKind};
use lapidary_operations::OperationError;

use super::demo::DemoError;

/// The exit status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    Done = 0,
    Found = 1,
    WrongInput = 2,
    Failed = 3,
}

impl Status {
    /// The status of a command that went on after wrong input, if there was any.
    pub(super) fn of_input(is_wrong: bool) -> Self {
        if is_wrong {
            Self::WrongInput
        } else {
            Self::Done
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        ExitCode::from(status as u8)
    }
}

/// Why a command failed, as a message for the user.
#[derive(Debug)]
pub(super) enum Failure {
    /// Wrong usage or input.
    Input(String),
    /// What the command is about does not exist.
    Missing(String),
    /// The input was right, but something failed.
    Failed(String),
    /// A book was refused because others match it.
    Matches {
        message: String,
        report: Box<Report>,
    },
    /// The reader of the output closed the pipe, as `| head` does.
    ReaderGone,
}

impl Failure {
    pub(super) fn status(&self) -> Status {
        match self {
            Self::Input(_) | Self::Missing(_) => Status::WrongInput,
            Self::Failed(_) => Status::Failed,
            Self::Matches { .. } => Status::Found,
            Self::ReaderGone => Status::Done,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(sentence)
            | Self::Missing(sentence)
            | Self::Failed(sentence)
            | Self::Matches {
                message: sentence, ..
            } => f.write_str(sentence),
            Self::ReaderGone => f.write_str("the output was closed"),
        }
    }
}

impl Failure {
    /// The report of the check that refused a book.
    pub(super) fn report(&self) -> Option<&Report> {
        match self {
            Self::Matches { report, .. } => Some(report),
            _ => None,
        }
    }

    pub(super) fn unwritable(path: &Path, error: &io::Error) -> Self {
        Self::Failed(format!("cannot write {}: {error}", path.display()))
    }

    /// A failure with this code. What the user can do on the command line is added to the message.
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if let Some(advice) = advice(code) {
            message = format!("{message}; {advice}");
        }
        match code.kind() {
            ErrorKind::Missing => Self::Missing(message),
            kind if kind.is_input() => Self::Input(message),
            _ => Self::Failed(message),
        }
    }
}

/// What the user of a command can do about an error.
fn advice(code: ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::InUse => "use --server URL to work through it if it is a server, or stop it",
        ErrorCode::NoBackup => "`lapidary backup` makes one",
        ErrorCode::NoCatalogue => "`lapidary ingest --data DIR …` creates one",
        ErrorCode::NoSuchKey => "`lapidary keys list` shows all keys",
        ErrorCode::NoSuchLibrary => "`lapidary stats` shows all libraries",
        ErrorCode::NoSuchSource => "`lapidary sources list` shows all sources",
        ErrorCode::RecipeIncomplete => {
            "pass --allow-incomplete to check anyway; `lapidary doctor` shows how to reindex it"
        }
        ErrorCode::SourcePaused => "`lapidary sources resume` lets it go on",
        ErrorCode::UnknownRecipe => {
            "`lapidary stats` shows the recipes of a catalogue, and `lapidary reindex` adds one"
        }
        ErrorCode::WouldBeEmpty => "pass --allow-empty to replace it anyway",
        _ => return None,
    })
}

impl From<CatalogueError> for Failure {
    fn from(error: CatalogueError) -> Self {
        match error {
            CatalogueError::Output(error) => error.into(),
            CatalogueError::Matches(report) => {
                let message = CatalogueError::Matches(report.clone()).to_string();
                Self::Matches { message, report }
            }
            error => Self::new(error.code(), error.to_string()),
        }
    }
}

impl From<OperationError> for Failure {
    fn from(error: OperationError) -> Self {
        match error {
            OperationError::Catalogue(error) => error.into(),
            error => Self::new(error.code(), error.to_string()),
        }
    }
}

/// What was found, or `None` if it does not exist.
pub(super) fn if_there<T>(found: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match found {
        Err(Failure::Missing(_)) => Ok(None),
        found => found.map(Some),
    }
}

impl From<DemoError> for Failure {
    fn from(error: DemoError) -> Self {
        match error {
            DemoError::Catalogue(error) => error.into(),
            DemoError::Output(error) => error.into(),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// Writing a table to standard output failed.
impl From<csv::Error> for Failure {
    fn from(error: csv::Error) -> Self {
        match error.kind() {
            csv::ErrorKind::Io(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
                Self::ReaderGone
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Writing to standard output failed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Failed(format!("cannot write the output: {error}")),
        }
    }
}
