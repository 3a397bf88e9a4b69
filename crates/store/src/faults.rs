//! What a verification finds, in every engine.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::StoreError;

/// Maximum number of faults reported. Nobody reads more, and a broken index could have one for each posting.
const MOST: usize = 1000;

/// The faults found, one sentence each.
pub struct Faults {
    sentences: Vec<String>,
    most: usize,
}

impl Default for Faults {
    fn default() -> Self {
        Self::up_to(MOST)
    }
}

impl Faults {
    /// None yet, and no more than `most` later.
    #[must_use]
    pub fn up_to(most: usize) -> Self {
        Self {
            sentences: Vec::new(),
            most,
        }
    }

    /// Adds a fault.
    pub fn add(&mut self, sentence: impl Into<String>) {
        if self.sentences.len() <= self.most {
            self.sentences.push(sentence.into());
        }
    }

    /// Whether no more are counted.
    #[must_use]
    pub fn are_many(&self) -> bool {
        self.sentences.len() > self.most
    }

    /// Reports damage as a fault. Errors that prevent reading stay errors.
    pub fn or_fault<T>(&mut self, result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(StoreError::Damaged { detail, .. }) => {
                self.add(detail);
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// All of them.
    #[must_use]
    pub fn finish(mut self) -> Vec<String> {
        if self.are_many() {
            self.sentences.truncate(self.most);
            self.sentences
                .push(format!("there are more faults than these {}", self.most));
        }
        self.sentences
    }
}

/// A checksum of a set of postings or of terms: its size and the sum of their hashes. It does not depend on their order.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sum {
    count: u64,
    hashes: u64,
}

impl Sum {
    /// Adds one.
    pub fn add(&mut self, posting: impl Hash) {
        self.count = self.count.wrapping_add(1);
        self.hashes = self.hashes.wrapping_add(Self::hash(posting));
    }

    /// Takes one away.
    pub fn take(&mut self, posting: impl Hash) {
        self.count = self.count.wrapping_sub(1);
        self.hashes = self.hashes.wrapping_sub(Self::hash(posting));
    }

    fn hash(posting: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        posting.hash(&mut hasher);
        hasher.finish()
    }
}
