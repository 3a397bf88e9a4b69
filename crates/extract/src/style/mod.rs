//! What of a page its readers see, by its style sheets, its `style` attributes and the attributes of old HTML.
//!
//! ```text
//! sheets ──sheet──▶ rules ──cascade──▶ the settings of an element ──look──▶ how it hides its text, if it does
//! ```
//!
//! A page is laid out only as far as text is hidden: what needs the sizes of boxes, pictures or scripts is not detected.
//! `docs/reference/formats.md` lists what is.

mod cascade;
mod condition;
mod declaration;
mod look;
mod paint;
mod property;
mod selector;
mod setting;
mod shape;
mod sheet;
mod tree;
mod value;
mod walk;

pub(super) use self::condition::applies;
pub(super) use self::look::usual_factor;
pub(super) use self::sheet::{Sheets, Suspicion};
pub(super) use self::tree::{ATTRIBUTES, TreeBuilder};
pub(super) use self::walk::{ABOUT, REPLACED, read_seen, remove_hidden};

/// What has less opacity is not seen.
const FAINTEST: f32 = 0.1;
/// Letters that are smaller, in pixels, are not seen.
const SMALLEST_LETTERS: f32 = 2.0;
/// A box that is smaller, in pixels, shows no text.
const SMALLEST_BOX: f32 = 2.0;
