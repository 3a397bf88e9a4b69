//! Exit statuses and errors of commands.

use std::fmt;
use std::io;
use std::process::ExitCode;

use super::demo::DemoError;
use crate::catalogue::CatalogueError;
use crate::index::StoreError;

/// The exit status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    Done = 0,
    ProtectedFound = 1,
    WrongInput = 2,
    Failed = 3,
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
    /// The input was right, but something failed.
    Failed(String),
    /// The reader of the output closed the pipe, as `| head` does.
    ReaderGone,
}

impl Failure {
    pub(super) fn status(&self) -> Status {
        match self {
            Self::Input(_) => Status::WrongInput,
            Self::Failed(_) => Status::Failed,
            Self::ReaderGone => Status::Done,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(sentence) | Self::Failed(sentence) => f.write_str(sentence),
            Self::ReaderGone => f.write_str("the output was closed"),
        }
    }
}

impl From<CatalogueError> for Failure {
    fn from(error: CatalogueError) -> Self {
        if let CatalogueError::Output(error) = error {
            return error.into();
        }
        let input = match &error {
            CatalogueError::Store(store) => matches!(
                store,
                StoreError::Missing(_)
                    | StoreError::Foreign(_)
                    | StoreError::Occupied(_)
                    | StoreError::UnknownRecipe { .. }
                    | StoreError::WouldBeEmpty { .. }
                    | StoreError::NoBackup(_)
                    | StoreError::Unordered(_)
                    | StoreError::Duplicate(_)
                    | StoreError::IsDefault(_)
                    | StoreError::NotOffered(_)
                    | StoreError::RecipeDiffers(_)
            ),
            _ => true,
        };
        if input { Self::Input(error.to_string()) } else { Self::Failed(error.to_string()) }
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

/// Writing to standard output failed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Failed(format!("cannot write the output: {error}")),
        }
    }
}
