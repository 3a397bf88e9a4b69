//! What a request asks of its change besides the change: that it is made to the version which the client knows, and that it is
//! made once.

use std::sync::OnceLock;

use super::{CatalogueError, OnceRequest};
use lapidary_store::Condition;

/// On what terms a change of a small record is made.
#[derive(Default)]
pub struct Terms {
    condition: Condition,
    /// The request, if it takes effect once.
    pub(super) once: Option<OnceRequest>,
    /// The version that was written.
    written: OnceLock<String>,
}

impl Terms {
    /// Only if the present version meets this condition.
    #[must_use]
    pub fn new(condition: Condition) -> Self {
        Self {
            condition,
            ..Self::default()
        }
    }

    /// Only once for all times that this request is made.
    #[must_use]
    pub fn once(self, once: OnceRequest) -> Self {
        Self {
            once: Some(once),
            ..self
        }
    }

    /// Does `task`. If the request takes effect once, nobody else answers it meanwhile.
    pub fn keep_during<T>(&self, task: impl FnOnce() -> T) -> T {
        match &self.once {
            Some(once) => once.keep_during(task),
            None => task(),
        }
    }

    /// The tag of the version that was written, if one was.
    #[must_use]
    pub fn written(&self) -> Option<&str> {
        self.written.get().map(String::as_str)
    }

    /// Makes sure that a change is for the present version, while nobody else makes one.
    ///
    /// # Errors
    /// [`CatalogueError::OtherVersion`].
    pub(super) fn expect(&self, tag: Option<&str>) -> Result<(), CatalogueError> {
        if self.condition.finds_tag(tag) && !self.condition.excludes_tag(tag) {
            return Ok(());
        }
        Err(CatalogueError::OtherVersion {
            is_there: tag.is_some(),
        })
    }

    /// Notes which version was written. Of several records, the first is that of the request.
    pub(super) fn wrote(&self, tag: impl FnOnce() -> String) {
        self.written.get_or_init(tag);
    }
}
