//! Numbers packed without regard to bytes, the lowest bits first.

/// Numbers of equal width.
#[derive(Debug, Clone, Copy)]
pub struct Numbers<'a> {
    bytes: &'a [u8],
    /// In bits; at most 57.
    width: usize,
}

impl<'a> Numbers<'a> {
    /// Takes `count` numbers from the front of `bytes`.
    pub fn take(bytes: &mut &'a [u8], count: usize, width: usize) -> Option<Self> {
        let bytes = bytes.split_off(..count.checked_mul(width)?.div_ceil(8))?;
        Some(Self { bytes, width })
    }

    pub fn width(self) -> usize {
        self.width
    }

    #[inline]
    pub fn get(self, i: usize) -> u64 {
        let bit = i * self.width;
        word(self.bytes, bit / 8) >> (bit % 8) & ((1 << self.width) - 1)
    }
}

/// Reads eight bytes as little-endian. Bytes past the end are 0.
#[inline]
pub fn word(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.first_chunk().map_or_else(
        || {
            rest.iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(*byte))
        },
        |eight| u64::from_le_bytes(*eight),
    )
}

/// Appends numbers of `width` bits each, at most 57.
pub fn pack(bytes: &mut Vec<u8>, numbers: impl Iterator<Item = u64>, width: u32) {
    let (mut word, mut bits) = (0_u64, 0);
    for number in numbers {
        word |= number << bits;
        bits += width;
        while bits >= 8 {
            bytes.push(word as u8);
            word >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        bytes.push(word as u8);
    }
}
