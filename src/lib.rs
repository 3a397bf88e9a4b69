//! Lapidary: a fingerprint index for books. It finds the books that share passages with a text, shows which passages
//! and how much they share, and says whether the text may be published.
//!
//! ```text
//! bytes ──extract──▶ text ──lapidary_gems──▶ gems ──index──▶ matches ──matching──▶ report + verdict
//!        format,            fold, cut,              posting           count, score,
//!        encoding           hash                    lists             align, decide
//! ```
//!
//! [`catalogue`] combines these steps into operations. [`server`] is one front end; the `lapidary` command
//! (`src/cli/`, compiled with the program) is the other.
//!
//! Compute the gems of a text and compare two texts:
//!
//! ```
//! use lapidary::catalogue::{Text, compare};
//! use lapidary_gems::Recipe;
//!
//! let recipe = Recipe::documented();
//! let text: String = (0..9_000_u64).map(|i| format!("{:x}stone ", i * 2_654_435_761 % 999_983)).collect();
//! assert!(recipe.gems(&text).len() > 10);
//! let copy = text.to_uppercase().replace(' ', ",\n");
//! let [copy, text] = [&copy, &text].map(|text| Text::new(text, None));
//! assert!(compare(&recipe, recipe.rule(), &copy, &text).matches);
//! ```
//!
//! Create a catalogue in a folder, add a book, and check a text against it:
//!
//! ```
//! use lapidary::catalogue::{Catalogue, CheckOptions, Content, NewEntry, Query};
//! use lapidary::description::Description;
//! use lapidary::index::{Actor, BookKey, Rights};
//!
//! # let folder = tempfile::tempdir()?;
//! # let text: String = (0..9_000_u64).map(|i| format!("{:x}stone ", i * 2_654_435_761 % 999_983)).collect();
//! let catalogue = Catalogue::open_or_create(folder.path())?;
//! let key = BookKey { library: "mine".parse()?, id: "numbers".parse()? };
//! let book = NewEntry::new(key, Rights::Protected, Content::text(text.clone()));
//! let description = Description { title: Some("Numbers".to_owned()), ..Description::default() };
//! catalogue.by(Actor::Local).add(NewEntry { description, ..book })?;
//! let report = catalogue.check(&Query::text(text), &CheckOptions::default())?;
//! assert_eq!(report.verdict, Rights::Protected);
//! assert_eq!(report.matches[0].book.id, "numbers");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod addresses;
pub mod api;
pub mod catalogue;
mod console;
pub mod demo;
pub mod description;
pub mod duplicates;
pub mod error;
pub mod evaluate;
pub mod extract;
pub mod harvest;
mod id;
pub mod index;
pub mod isbn;
pub mod language;
pub mod matching;
mod metrics;
pub mod onix;
pub mod permission;
pub mod position;
pub mod report;
pub mod server;

// Helpers that the command shares.
pub mod client;
pub mod count;
pub mod json;
pub mod object;
pub mod parse;
pub mod random;
pub mod shell;
