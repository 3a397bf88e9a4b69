//! Detects UTF-16 and UTF-32 without a byte-order mark.
//!
//! They contain NULs or control characters that no single-byte text has: ASCII characters are padded with NULs, Greek
//! ones with 0x03, Cyrillic ones with 0x04. Each reading is then tried, and accepted only if its characters are
//! typical of texts.

use super::encoding::Encoding;
use super::noise;
use super::utf32;

/// UTF-32 leaves 11 of 32 bits unused, so other data is not valid in it. The last character may be cut.
const MOST_VALID: f64 = 0.99;

/// The share of UTF-16 units that must belong to living scripts. Random bytes reach 0.6.
const MOST_KNOWN: f64 = 0.97;

/// Pairs of ASCII letters are Chinese characters in UTF-16, but seldom form a blank or a full stop. A text in UTF-16
/// has this share of blanks, or …
const SOME_BLANKS: f64 = 0.01;
/// … this share of units in an alphabet's Unicode pages, whose first byte is that of a control character.
const MANY_ALPHABETIC: f64 = 0.8;

/// The encoding, if the bytes are text in UTF-16 or UTF-32. `bytes` may be cut from a text at a multiple of four.
pub(super) fn detect(bytes: &[u8]) -> Option<Encoding> {
    if !bytes.iter().any(|byte| noise::is_control(*byte)) {
        return None;
    }
    let utf32 = [
        (Encoding::UTF_32LE, u32::from_le_bytes as fn([u8; 4]) -> u32),
        (Encoding::UTF_32BE, u32::from_be_bytes as fn([u8; 4]) -> u32),
    ];
    let found = utf32.into_iter().find(|(_, order)| is_utf32(bytes, *order));
    if let Some((encoding, _)) = found {
        return Some(encoding);
    }
    let utf16 = [
        (Encoding::UTF_16LE, known_share(bytes, u16::from_le_bytes)),
        (Encoding::UTF_16BE, known_share(bytes, u16::from_be_bytes)),
    ];
    let (encoding, share) = utf16.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (share >= MOST_KNOWN).then_some(encoding)
}

fn is_utf32(bytes: &[u8], order: fn([u8; 4]) -> u32) -> bool {
    let units = bytes.chunks_exact(4);
    let count = units.len();
    let valid = units
        .filter(|unit| utf32::char(unit, order).is_some_and(|char| char != '\0'))
        .count();
    count > 0 && valid as f64 >= MOST_VALID * count as f64
}

/// The share of UTF-16 units that are typical of texts; 0 if nothing else indicates UTF-16.
fn known_share(bytes: &[u8], order: fn([u8; 2]) -> u16) -> f64 {
    let (pairs, _) = bytes.as_chunks::<2>();
    let mut known = 0;
    let mut blanks = 0;
    let mut alphabetic = 0;
    for pair in pairs {
        let unit = order(*pair);
        known += usize::from(is_known(unit));
        // Blank, line feed, ideographic blank, comma and full stop.
        blanks += usize::from(matches!(unit, 0x20 | 0x0A | 0x3000..=0x3002));
        alphabetic += usize::from(unit < 0x0700);
    }
    let count = pairs.len() as f64;
    let likely = f64::from(blanks as u32) >= SOME_BLANKS * count
        || alphabetic as f64 >= MANY_ALPHABETIC * count;
    if count > 0.0 && likely {
        known as f64 / count
    } else {
        0.0
    }
}

/// Whether this is a unit of a living script, or of a surrogate pair.
fn is_known(unit: u16) -> bool {
    matches!(unit,
        0x09 | 0x0A | 0x0C | 0x0D | 0x20..=0x7E | 0xA0..=0x024F // Latin
        | 0x02B0..=0x036F // modifiers, combining marks
        | 0x0370..=0x06FF // Greek, Cyrillic, Armenian, Hebrew, Arabic
        | 0x0900..=0x0EFF // India to Laos
        | 0x10A0..=0x11FF // Georgian, Hangul letters
        | 0x1E00..=0x206F // Latin and Greek with marks, punctuation
        | 0x20A0..=0x22FF // currencies, signs, arrows, mathematics
        | 0x2500..=0x26FF // box drawing, shapes
        | 0x3000..=0x30FF | 0x4E00..=0x9FFF // Japanese, Chinese
        | 0xAC00..=0xDFFF // Hangul, surrogates
        | 0xFB00..=0xFB06 | 0xFE00..=0xFEFF | 0xFF00..=0xFFEF // forms
    )
}
