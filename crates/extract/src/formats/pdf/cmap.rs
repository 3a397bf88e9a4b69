//! `CMap`s from codes to characters. Much that is common is not quite valid, so they are read leniently: the parser of
//! `hayro-font` gives up on a whole map.

use std::collections::BTreeMap;

/// The maximum number of characters in a map: more codes than fonts have glyphs.
const MOST: usize = 1 << 17;

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

/// The characters that codes stand for.
#[derive(Default)]
struct CodeMap(BTreeMap<u32, String>);

/// Reads the characters that the codes of a `CMap` stand for.
pub(super) fn characters(map: &[u8]) -> BTreeMap<u32, String> {
    let mut characters = CodeMap::default();
    let mut tokens = Tokens(map);
    while let Some(token) = tokens.next() {
        match token {
            Token::Word(b"beginbfchar") => characters.read(&mut tokens),
            Token::Word(b"beginbfrange") => characters.read_ranges(&mut tokens),
            _ => {}
        }
    }
    characters.0
}

impl CodeMap {
    fn read(&mut self, tokens: &mut Tokens<'_>) {
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
        if !text.is_empty() && self.0.len() < MOST {
            self.0.insert(code, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_map_is_read() {
        let map = characters(
            b"/CIDInit /ProcSet findresource begin << /Registry (Adobe>) >> def % <00> comment\n\
              2 begincodespacerange <00> <7f><8140> <FEFE> endcodespacerange\n\
              3 beginbfchar <01> <0041> <02> <42><0003> <D835DC00> <04> /name <5> <00660069> endbfchar\n\
              3 beginbfrange\n<0010><0012><0061>\n<20> <21> [<0430> <0431>] <30> <31> <D83DDE00> endbfrange",
        );
        let read: Vec<(u32, &str)> = map
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
            assert!(characters(bytes).len() <= MOST);
        }
    }
}
