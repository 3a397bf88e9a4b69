//! Length limits of records, whatever their source. Those of the metadata are limits of [`Description`]. Names have
//! their own limit ([`NAME_BYTES`](super::NAME_BYTES)), and so do notes ([`NOTE_BYTES`]).
//!
//! [`Description`]: lapidary_common::description::Description

use super::{NOTE_BYTES, Record};
use lapidary_common::description::TooLong;

/// Maximum text length that a record may claim, in bytes. It keeps the sum over all books from overflowing.
pub const TEXT_BYTES: u32 = u32::MAX;

impl Record {
    /// Checks the description, the note and the claimed length of the text.
    pub fn within_bounds(&self) -> Result<(), TooLong> {
        self.description.within_bounds()?;
        if self.bytes > u64::from(TEXT_BYTES) {
            return Err(TooLong::bytes("the text", TEXT_BYTES as usize));
        }
        match &self.standing.note {
            Some(note) if note.text.len() > NOTE_BYTES => {
                Err(TooLong::bytes("the note", NOTE_BYTES))
            }
            _ => Ok(()),
        }
    }
}
