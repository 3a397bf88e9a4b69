//! PalmDOC: byte-oriented LZ77.

/// Decompresses a record. References to before the start of the text are ignored.
pub(super) fn unpack(packed: &[u8], text: &mut Vec<u8>) {
    let start = text.len();
    let mut bytes = packed.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            // This many literal bytes.
            1..=8 => text.extend(bytes.by_ref().take(usize::from(byte))),
            0 | 9..=0x7F => text.push(byte),
            // 11 bits of distance, 3 of length.
            0x80..=0xBF => {
                let pair = usize::from(byte) << 8 | usize::from(bytes.next().unwrap_or_default());
                let (distance, length) = (pair >> 3 & 0x7FF, (pair & 7) + 3);
                if distance == 0 || distance > text.len() - start {
                    continue;
                }
                for _ in 0..length {
                    text.push(text[text.len() - distance]);
                }
            }
            // A blank and a letter.
            0xC0.. => text.extend([b' ', byte ^ 0x80]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unpack;

    #[test]
    fn every_kind_of_byte() {
        let mut text = b"before".to_vec();
        unpack(b"gem\xC1\x02\xD0\x81\x80\x21\x80\xFF", &mut text);
        // "gem", " A", two literal bytes, four from four bytes back, and an invalid reference.
        assert_eq!(text, b"beforegem A\xD0\x81 A\xD0\x81");
        unpack(b"\x81", &mut text);
        unpack(b"\x05ab", &mut text);
        assert!(text.ends_with(b"ab"));
    }
}
