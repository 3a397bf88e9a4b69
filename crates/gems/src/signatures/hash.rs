//! Strings to numbers.

use std::fmt;
use std::str::FromStr;

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// The algorithm of the 64-bit gems of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Md5,
    Sha1,
    Sha256,
}

impl Algorithm {
    /// The first 8 bytes of a string's digest, big-endian.
    pub(crate) fn hash(self, string: &str) -> u64 {
        fn first(digest: &[u8]) -> u64 {
            digest
                .first_chunk()
                .map_or(0, |first| u64::from_be_bytes(*first))
        }
        match self {
            Self::Md5 => first(&Md5::digest(string)),
            Self::Sha1 => first(&Sha1::digest(string)),
            Self::Sha256 => first(&Sha256::digest(string)),
        }
    }
}

/// The encoding of strings for CRC32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charset {
    Utf8,
    Windows1251,
}

/// The upper half of windows-1251, as Python and iconv map it: 0x98 is undefined.
const UPPER_HALF: &str = "ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—\0™љ›њќћџ\u{a0}ЎўЈ¤Ґ¦§Ё©Є«¬\u{ad}®Ї°±Ііґµ¶·ё№є»јЅѕї\
    АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмнопрстуфхцчшщъыьэюя";

impl Charset {
    /// The CRC32 (IEEE) of a string in this encoding, with `?` for characters that it lacks.
    pub(super) fn crc32(self, string: &str) -> u32 {
        match self {
            Self::Utf8 => crc32fast::hash(string.as_bytes()),
            Self::Windows1251 => {
                crc32fast::hash(&string.chars().map(windows_1251).collect::<Vec<u8>>())
            }
        }
    }
}

fn windows_1251(c: char) -> u8 {
    match c {
        c if c.is_ascii() => c as u8,
        'а'..='я' => (c as u32 - 'а' as u32) as u8 + 0xE0,
        c => UPPER_HALF
            .chars()
            .position(|upper| upper == c)
            .map_or(b'?', |place| place as u8 + 0x80),
    }
}

impl fmt::Display for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf8 => "utf-8",
            Self::Windows1251 => "windows-1251",
        })
    }
}

impl FromStr for Charset {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        [Self::Utf8, Self::Windows1251]
            .into_iter()
            .find(|charset| charset.to_string() == name)
            .ok_or(())
    }
}

/// The prime that [`fingerprint`] is a remainder of.
pub(super) const PRIME: u64 = u64::MAX - 58;

/// The remainder of a number by [`PRIME`]: 2⁶⁴ leaves 59.
pub(super) fn remainder(number: u128) -> u64 {
    let once = (number >> 64) * 59 + u128::from(number as u64);
    let twice = (once >> 64) * 59 + u128::from(once as u64);
    (twice % u128::from(PRIME)) as u64
}

/// The string's bytes as one big-endian number, modulo [`PRIME`] (Karp and Rabin 1987).
pub(super) fn fingerprint(string: &str) -> u64 {
    let (first, rest) = string.as_bytes().split_at(string.len() % 8);
    let first = first
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte));
    let (eights, _) = rest.as_chunks::<8>();
    eights.iter().fold(first, |number, eight| {
        remainder(u128::from(number) * 59 + u128::from(u64::from_be_bytes(*eight)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32_of_both_encodings() {
        assert_eq!(Charset::Utf8.crc32("123456789"), 0xCBF4_3926);
        // Bytes E0 A8 3F 41.
        assert_eq!(
            Charset::Windows1251.crc32("аЁ\u{4e00}A"),
            crc32fast::hash(&[0xE0, 0xA8, b'?', b'A'])
        );
        assert_eq!(UPPER_HALF.chars().count(), 128);
    }

    #[test]
    fn fingerprints_are_remainders() {
        for string in [
            "",
            "a",
            "1234567",
            "12345678",
            "123456789",
            "много слов в одной строке",
        ] {
            let one_by_one =
                |number: u128, byte: u8| (number * 256 + u128::from(byte)) % u128::from(PRIME);
            assert_eq!(
                u128::from(fingerprint(string)),
                string.bytes().fold(0, one_by_one),
                "{string}"
            );
        }
        assert_eq!(
            u128::from(remainder(u128::MAX)),
            u128::MAX % u128::from(PRIME)
        );
        assert_eq!(remainder(PRIME.into()), 0);
    }
}
