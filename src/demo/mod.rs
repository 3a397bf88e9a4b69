//! A small shelf of made-up books and a disguised copy of one of them, to see Lapidary work.

mod disguise;
mod shelf;
mod story;

pub use self::disguise::Forgery;
pub use self::shelf::{SHELF, STRANGER, StoryLanguage, StorySetting, VICTIM};

/// The library of the shelf.
pub const LIBRARY: &str = "demo";
/// The line width of the books.
const COLUMNS: usize = 72;

impl StorySetting {
    /// The whole book as plain text, the same every time.
    #[must_use]
    pub fn text(&self) -> String {
        self.story().text(COLUMNS)
    }

    /// A disguised copy of the book, the same every time.
    #[must_use]
    pub fn disguised(&self) -> Forgery {
        disguise::disguise(self, &self.story())
    }
}
