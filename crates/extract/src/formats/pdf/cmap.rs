//! `CMap`s: the lengths of a font's codes, and the characters they stand for. Parsing is lenient, and output is in
//! the one form that `adobe-cmap-parser` reads: it panics on much that is common, such as odd numbers of digits.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The maximum number of characters in a map: more codes than fonts have glyphs.
const MOST: usize = 1 << 17;

/// A range of codes with the same length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Codes {
    pub(super) width: usize,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// The content of a `CMap`.
#[derive(Debug, Default)]
pub(super) struct CMap {
    pub(super) codes: Vec<Codes>,
    pub(super) characters: BTreeMap<u32, String>,
}

#[derive(Debug, PartialEq)]
enum Token<'a> {
    Hex(Vec<u8>),
    Open,
    Close,
    Word(&'a [u8]),
}

/// Splits a `CMap` into tokens, skipping comments, strings in parentheses and the brackets of dictionaries.
struct Tokens<'a>(&'a [u8]);

impl<'a> Tokens<'a> {
    /// Takes bytes while they match `such`.
    fn take(&mut self, such: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self
            .0
            .iter()
            .position(|&byte| !such(byte))
            .unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let (&byte, rest) = self.0.split_first()?;
            match byte {
                b'%' => _ = self.take(|byte| byte != b'\r' && byte != b'\n'),
                b'(' => _ = self.take(|byte| byte != b')'),
                b'<' if rest.first() != Some(&b'<') => {
                    self.0 = rest;
                    let mut digits: Vec<u8> = self
                        .take(|byte| byte != b'>')
                        .iter()
                        .copied()
                        .filter(u8::is_ascii_hexdigit)
                        .collect();
                    if !digits.len().is_multiple_of(2) {
                        digits.push(b'0');
                    }
                    return Some(Token::Hex(hex::decode(digits).unwrap_or_default()));
                }
                b'[' => {
                    self.0 = rest;
                    return Some(Token::Open);
                }
                b']' => {
                    self.0 = rest;
                    return Some(Token::Close);
                }
                b'<' => self.0 = &rest[1..],
                b'>' | b')' | b'{' | b'}' | 0 | b' ' | b'\t'..=b'\r' => self.0 = rest,
                _ => {
                    // The first may be a slash.
                    let whole = self.0;
                    self.0 = rest;
                    let length = 1 + self
                        .take(|byte| !b"%()<>[]{}/\0 \t\n\x0B\x0C\r".contains(&byte))
                        .len();
                    return Some(Token::Word(&whole[..length]));
                }
            }
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |number, &byte| number << 8 | u32::from(byte))
}

/// UTF-16 without invalid characters. A single byte is a character, too.
fn units(bytes: &[u8]) -> Vec<u16> {
    let odd = bytes.len() % 2;
    let first = bytes[..odd].iter().map(|&byte| u16::from(byte));
    first
        .chain(
            bytes[odd..]
                .chunks_exact(2)
                .map(|unit| u16::from_be_bytes([unit[0], unit[1]])),
        )
        .collect()
}

fn text(units: &[u16]) -> String {
    char::decode_utf16(units.iter().copied())
        .filter_map(Result::ok)
        .collect()
}

impl CMap {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut map = Self::default();
        let mut tokens = Tokens(bytes);
        while let Some(token) = tokens.next() {
            match token {
                Token::Word(b"begincodespacerange") => map.read_codes(&mut tokens),
                Token::Word(b"beginbfchar") => map.read_characters(&mut tokens),
                Token::Word(b"beginbfrange") => map.read_ranges(&mut tokens),
                _ => {}
            }
        }
        map
    }

    fn read_codes(&mut self, tokens: &mut Tokens<'_>) {
        while let (Some(Token::Hex(first)), Some(Token::Hex(last))) = (tokens.next(), tokens.next())
        {
            if first.len() == last.len() && (1..=4).contains(&first.len()) {
                self.codes.push(Codes {
                    width: first.len(),
                    first: number(&first),
                    last: number(&last),
                });
            }
        }
    }

    fn read_characters(&mut self, tokens: &mut Tokens<'_>) {
        while let Some(Token::Hex(code)) = tokens.next() {
            match tokens.next() {
                Some(Token::Hex(character)) => self.insert(number(&code), &units(&character)),
                Some(Token::Word(name)) if name.starts_with(b"/") => {}
                _ => break,
            }
        }
    }

    fn read_ranges(&mut self, tokens: &mut Tokens<'_>) {
        while let (Some(Token::Hex(first)), Some(Token::Hex(last))) = (tokens.next(), tokens.next())
        {
            let codes = number(&first)..=number(&last);
            match tokens.next() {
                Some(Token::Hex(character)) => {
                    let mut units = units(&character);
                    for code in codes.take(MOST) {
                        self.insert(code, &units);
                        if let Some(unit) = units.last_mut() {
                            *unit = unit.wrapping_add(1);
                        }
                    }
                }
                Some(Token::Open) => {
                    let mut codes = codes;
                    while let Some(Token::Hex(character)) = tokens.next() {
                        if let Some(code) = codes.next() {
                            self.insert(code, &units(&character));
                        }
                    }
                }
                _ => break,
            }
        }
    }

    fn insert(&mut self, code: u32, units: &[u16]) {
        let text = text(units);
        if !text.is_empty() && self.characters.len() < MOST {
            self.characters.insert(code, text);
        }
    }
}

/// Writes a `CMap` from codes to characters.
pub(super) fn to_unicode<'a>(characters: impl Iterator<Item = (u32, &'a str)>) -> Vec<u8> {
    let (mut lines, mut count) = (String::new(), 0);
    for (code, character) in characters {
        count += 1;
        let _ = write!(lines, "<{code:08x}> <");
        for unit in character.encode_utf16() {
            let _ = write!(lines, "{unit:04x}");
        }
        lines.push_str(">\n");
    }
    format!("{count} beginbfchar\n{lines}endbfchar\n").into_bytes()
}

/// Writes a `CMap` in which codes stand for themselves. The parser assumes that codes are half as long as they are written.
pub(super) fn encoding(codes: &[Codes]) -> Vec<u8> {
    let mut written = format!("{} begincodespacerange\n", codes.len());
    for &Codes { width, first, last } in codes {
        let digits = 4 * width;
        let _ = writeln!(written, "<{first:0digits$x}> <{last:0digits$x}>");
    }
    written.push_str("endcodespacerange\n1 begincidrange\n<00000000> <ffffffff> 0\nendcidrange\n");
    written.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_map_is_read() {
        let map = CMap::read(
            b"/CIDInit /ProcSet findresource begin << /Registry (Adobe>) >> def % <00> comment\n\
              2 begincodespacerange <00> <7f><8140> <FEFE> endcodespacerange\n\
              3 beginbfchar <01> <0041> <02> <42><0003> <D835DC00> <04> /name <5> <00660069> endbfchar\n\
              3 beginbfrange\n<0010><0012><0061>\n<20> <21> [<0430> <0431>] <30> <31> <D83DDE00> endbfrange",
        );
        assert_eq!(
            map.codes,
            [
                Codes {
                    width: 1,
                    first: 0,
                    last: 0x7f
                },
                Codes {
                    width: 2,
                    first: 0x8140,
                    last: 0xfefe
                }
            ]
        );
        let read: Vec<(u32, &str)> = map
            .characters
            .iter()
            .map(|(code, text)| (*code, text.as_str()))
            .collect();
        let expected = [
            (0x01, "A"),
            (0x02, "B"),
            (0x03, "𝐀"),
            (0x10, "a"),
            (0x11, "b"),
            (0x12, "c"),
            (0x20, "а"),
            (0x21, "б"),
            (0x30, "😀"),
            (0x31, "😁"),
            (0x50, "fi"),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn damaged_and_hostile_maps_end() {
        for bytes in [
            &b"beginbfrange <00000000> <ffffffff> <0041> <00000000> <ffffffff> <0041>"[..],
            b"beginbfrange <05> <01> <0041> endbfrange",
            b"beginbfchar <01",
            b"beginbfchar <> <d800>",
            b"begincodespacerange <0011223344> <0011223344>",
            b"(",
            b"<",
            b"<<",
        ] {
            let map = CMap::read(bytes);
            assert!(map.characters.len() <= MOST && map.codes.is_empty());
        }
    }
}
