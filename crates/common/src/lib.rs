//! What every floor of Lapidary may use: the classification of errors, and plain values.
//!
//! Nothing here knows of texts, gems, stores or requests. What only one other crate needs belongs there, not here.
//!
//! ```
//! use lapidary_common::count::count;
//! use lapidary_common::isbn::Isbn;
//!
//! assert_eq!(count(1_234, "book", "books"), "1,234 books");
//! assert!(Isbn::parse("978-0-306-40615-7").is_some());
//! ```

pub mod count;
pub mod description;
pub mod error;
pub mod isbn;
pub mod random;
pub mod shell;
pub mod words;
