//! Variable-length integers: seven bits per byte, lowest bits first (LEB128). Packed folds consist of them.

/// A 64-bit varint has at most 10 bytes of 7 bits.
const SHIFTS: std::ops::RangeInclusive<u32> = 0..=63;

/// Appends a number to `out`, in at most 10 bytes.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number from the front of `bytes`; `None` if there is no valid one.
#[inline]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    if let [byte @ 0..0x80, rest @ ..] = *bytes {
        *bytes = rest;
        return Some(u64::from(*byte));
    }
    let mut value = 0;
    for shift in SHIFTS.step_by(7) {
        let byte = *bytes.split_off_first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Maps differences around 0, positive or negative, to small numbers.
#[must_use]
pub fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ (0_u64.wrapping_sub(difference >> 63))
}

/// The inverse of [`zigzag`].
#[must_use]
pub fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (0_u64.wrapping_sub(value & 1))
}
