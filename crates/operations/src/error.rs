//! Why an operation failed.

use lapidary_catalogue::CatalogueError;
use lapidary_common::error::{Classified, ErrorCode};
use lapidary_harvest::HarvestError;
use lapidary_store::{BadName, StoreError};

/// How many characters of a client's input an error repeats.
const EXCERPT: usize = 200;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    /// The catalogue refused it, or failed.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// Concerning a source.
    #[error(transparent)]
    Harvest(#[from] HarvestError),
    /// What was sent cannot be meant.
    #[error("{detail}")]
    Refused {
        /// The code for programs.
        code: ErrorCode,
        /// A sentence that says what to do.
        detail: String,
    },
}

impl OperationError {
    /// A refusal. `detail` is a sentence that says what to do, and repeats only an [`excerpt`] of the request.
    #[must_use]
    pub fn refused(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self::Refused {
            code,
            detail: detail.into(),
        }
    }

    /// The key of the caller is not for the library in question.
    #[must_use]
    pub fn not_your_library() -> Self {
        Self::refused(
            ErrorCode::NotYourLibrary,
            "this key is not for this library",
        )
    }
}

impl From<StoreError> for OperationError {
    fn from(error: StoreError) -> Self {
        Self::Catalogue(error.into())
    }
}

impl From<BadName> for OperationError {
    fn from(error: BadName) -> Self {
        Self::Catalogue(error.into())
    }
}

impl Classified for OperationError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Catalogue(error) => error.code(),
            Self::Harvest(error) => error.code(),
            Self::Refused { code, .. } => *code,
        }
    }
}

/// The beginning of a client's input, short enough to repeat in an answer.
#[must_use]
pub fn excerpt(sent: &str) -> String {
    match sent.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &sent[..end]),
        None => sent.to_owned(),
    }
}
