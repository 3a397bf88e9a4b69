//! What the placeholders of a path stand for.

use lapidary_common::error::ErrorCode;
use lapidary_store::{BookId, BookKey, Library};

use crate::error::{OperationError, excerpt};

/// What the placeholders of a path stand for.
pub trait PathParameters: Sized + Send + 'static {
    /// Of the decoded segments.
    fn of_segments(segments: Vec<String>) -> Result<Self, OperationError>;

    /// The segments, decoded.
    fn segments(&self) -> Vec<String>;
}

impl PathParameters for () {
    fn of_segments(_: Vec<String>) -> Result<Self, OperationError> {
        Ok(())
    }

    fn segments(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The name of a key, or an id that is looked up as it is.
impl PathParameters for String {
    fn of_segments(mut segments: Vec<String>) -> Result<Self, OperationError> {
        Ok(segments.pop().unwrap_or_default())
    }

    fn segments(&self) -> Vec<String> {
        vec![self.clone()]
    }
}

/// A record, and one that belongs to it.
impl PathParameters for (String, String) {
    fn of_segments(mut segments: Vec<String>) -> Result<Self, OperationError> {
        let inner = segments.pop().unwrap_or_default();
        Ok((String::of_segments(segments)?, inner))
    }

    fn segments(&self) -> Vec<String> {
        vec![self.0.clone(), self.1.clone()]
    }
}

impl PathParameters for Library {
    fn of_segments(segments: Vec<String>) -> Result<Self, OperationError> {
        Ok(String::of_segments(segments)?.try_into()?)
    }

    fn segments(&self) -> Vec<String> {
        vec![self.as_str().to_owned()]
    }
}

impl PathParameters for BookId {
    fn of_segments(segments: Vec<String>) -> Result<Self, OperationError> {
        Ok(String::of_segments(segments)?.try_into()?)
    }

    fn segments(&self) -> Vec<String> {
        vec![self.as_str().to_owned()]
    }
}

impl PathParameters for BookKey {
    fn of_segments(mut segments: Vec<String>) -> Result<Self, OperationError> {
        let id = segments.pop().unwrap_or_default();
        let library = Library::of_segments(segments)?;
        Ok(Self {
            library,
            id: id.try_into()?,
        })
    }

    fn segments(&self) -> Vec<String> {
        let Self { library, id } = self;
        vec![library.as_str().to_owned(), id.as_str().to_owned()]
    }
}

/// The number of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobNumber(pub u32);

impl PathParameters for JobNumber {
    fn of_segments(segments: Vec<String>) -> Result<Self, OperationError> {
        let number = String::of_segments(segments)?;
        number.parse().map(Self).map_err(|_| {
            let detail = format!("no such job: {}", excerpt(&number));
            OperationError::refused(ErrorCode::NoSuchJob, detail)
        })
    }

    fn segments(&self) -> Vec<String> {
        vec![self.0.to_string()]
    }
}
