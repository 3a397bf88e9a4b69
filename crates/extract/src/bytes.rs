//! The content of a file.

use std::io::{self, ErrorKind, Read};
use std::ops::Deref;

/// How much is read at a time: little enough to stay in the processor's cache until it is copied.
const PART: usize = 1 << 17;

/// The content of a file. A UTF-8 text is validated while it is read, because the standard library would need several
/// times as long to validate it afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes(Content);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Text(String),
    Bytes(Vec<u8>),
}

impl Bytes {
    /// Reads all bytes, of which there are probably `size`.
    ///
    /// # Errors
    /// Those of `source`.
    pub fn read(mut source: impl Read, size: usize) -> io::Result<Self> {
        let mut text = String::with_capacity(size);
        let mut part = vec![0; PART.min(size.saturating_add(1)).max(PART / 16)];
        let mut kept = 0;
        loop {
            let end = match source.read(&mut part[kept..]) {
                Ok(count) => kept + count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let is_last = end == kept;
            let whole = if is_last { end } else { whole(&part[..end]) };
            let Ok(valid) = simdutf8::basic::from_utf8(&part[..whole]) else {
                let mut bytes = text.into_bytes();
                bytes.extend_from_slice(&part[..end]);
                source.read_to_end(&mut bytes)?;
                return Ok(bytes.into());
            };
            text.push_str(valid);
            if is_last {
                return Ok(text.into());
            }
            part.copy_within(whole..end, 0);
            kept = end - whole;
        }
    }

    /// The text, if it is already known to be UTF-8.
    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.0 {
            Content::Text(text) => Some(text),
            Content::Bytes(_) => None,
        }
    }

    /// The text, if it is already known to be UTF-8, or the bytes.
    pub(super) fn into_text(self) -> Result<String, Vec<u8>> {
        match self.0 {
            Content::Text(text) => Ok(text),
            Content::Bytes(bytes) => Err(bytes),
        }
    }

    /// The bytes.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        self.into_text()
            .map_or_else(|bytes| bytes, String::into_bytes)
    }
}

/// The end of the last character that is not cut off.
fn whole(bytes: &[u8]) -> usize {
    bytes.len()
        - (1..=bytes.len().min(3))
            .find(|behind| {
                let length = match bytes[bytes.len() - behind] {
                    0xC0..0xE0 => 2,
                    0xE0..0xF0 => 3,
                    0xF0.. => 4,
                    _ => 1,
                };
                length > *behind
            })
            .unwrap_or(0)
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Content::Bytes(bytes))
    }
}

impl From<String> for Bytes {
    fn from(text: String) -> Self {
        Self(Content::Text(text))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Content::Text(text) => text.as_bytes(),
            Content::Bytes(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use proptest::prelude::*;

    use super::{Bytes, whole};

    /// Passes on a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(to.len()).min(self.0.len());
            let (some, rest) = self.0.split_at(count);
            to[..count].copy_from_slice(some);
            self.0 = rest;
            Ok(count)
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_there_is(
            parts in prop::collection::vec(prop_oneof![
                9 => "[aé中𝓹]{0,9}".prop_map(String::into_bytes),
                1 => prop::collection::vec(any::<u8>(), 0..3),
            ], 0..9),
            step in 1_usize..9,
            size in 0_usize..99,
        ) {
            let all = parts.concat();
            let read = Bytes::read(Slow(&all, step), size).expect("no errors");
            prop_assert_eq!(&*read, &*all);
            prop_assert_eq!(read.as_text(), std::str::from_utf8(&all).ok());
            prop_assert_eq!(read.into_vec(), all);
        }

        #[test]
        fn only_the_last_character_is_cut(text in "[aé中𝓹]{1,9}", end in 0_usize..40) {
            let bytes = &text.as_bytes()[..text.len().min(end)];
            let boundary = (0..=bytes.len()).rev().find(|at| text.is_char_boundary(*at));
            prop_assert_eq!(Some(whole(bytes)), boundary);
        }
    }

    #[test]
    fn a_long_text() {
        let text = "Гранит и самоцветы. ".repeat(20_000);
        assert_eq!(
            Bytes::read(text.as_bytes(), 0)
                .expect("no errors")
                .as_text(),
            Some(&*text)
        );
        let broken = [text.as_bytes(), b"\xff", text.as_bytes()].concat();
        let read = Bytes::read(&*broken, broken.len()).expect("no errors");
        assert_eq!((read.as_text(), &*read), (None, &*broken));
    }
}
