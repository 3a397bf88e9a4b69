//! ONIX for Books 3.0 and 3.1: reads the metadata of a publisher's books from a feed, one product at a time.
//!
//! Both forms are supported: reference names and short tags. A feed is streamed: only the current product is in
//! memory. DTDs are ignored, so that only XML's five predefined entities and numeric character references are
//! resolved. For the meaning of the codes, see `docs/reference/onix.md`.

mod product;
mod release;
mod tags;
mod territory;

pub use product::Product;
pub use territory::{BadTerritory, Territory};

use std::io::{self, BufRead, Read};

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// The maximum nesting depth; ONIX has ten levels.
const DEEPEST: usize = 32;
/// The maximum size of a product, in bytes of text.
const LARGEST: usize = 8 << 20;

/// Why the rest of a feed cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct OnixError {
    line: u64,
    what: String,
}

/// An iterator over the products of a feed, in order; ends after an error.
pub struct Products<R: BufRead> {
    reader: Reader<Counting<R>>,
    /// Whether the message's own tag was seen: `Some(false)` once it is closed.
    inside: Option<bool>,
    ended: bool,
}

/// An element: its reference name, its text, and its children.
#[derive(Debug, Default)]
struct OnixElement {
    name: String,
    text: String,
    children: Vec<OnixElement>,
}

impl OnixElement {
    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a OnixElement> {
        self.children.iter().filter(move |child| child.name == name)
    }

    fn first(&self, name: &str) -> Option<&OnixElement> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The trimmed text of the first child with this name; `None` if it is empty.
    fn text(&self, name: &str) -> Option<&str> {
        self.first(name)
            .map(|child| child.text.trim())
            .filter(|text| !text.is_empty())
    }
}

impl<R: BufRead> Products<R> {
    /// Iterates over the products of a feed.
    pub fn new(feed: R) -> Self {
        let mut reader = Reader::from_reader(Counting { feed, line: 1 });
        reader.config_mut().expand_empty_elements = true;
        Self {
            reader,
            inside: None,
            ended: false,
        }
    }

    fn wrong(&self, what: impl Into<String>) -> OnixError {
        OnixError {
            line: self.reader.get_ref().line,
            what: what.into(),
        }
    }

    /// Opens an element, if it may be there.
    fn open(
        &mut self,
        start: &BytesStart<'_>,
        open: &mut Vec<OnixElement>,
    ) -> Result<(), OnixError> {
        let name = tags::reference(start.local_name().into_inner());
        match (self.inside, open.is_empty()) {
            (None, _) if name == "ONIXMessage" => {
                release::check(start).map_err(|what| self.wrong(what))?;
                self.inside = Some(true);
                Ok(())
            }
            (None, _) => Err(self.wrong(format!(
                "<{name}> instead of <ONIXMessage>: not an ONIX feed"
            ))),
            (_, true) if name != "Product" && name != "Header" => {
                Err(self.wrong(format!("<{name}> instead of <Product>")))
            }
            _ if open.len() == DEEPEST => Err(self.wrong("elements are nested too deeply")),
            _ => {
                open.push(OnixElement {
                    name: name.to_owned(),
                    ..OnixElement::default()
                });
                Ok(())
            }
        }
    }

    /// What a reference to a character or an entity stands for.
    fn resolved(&self, reference: &BytesRef<'_>) -> Result<String, OnixError> {
        let character = reference
            .resolve_char_ref()
            .map_err(|_| self.wrong("a character reference is invalid"))?;
        if let Some(character) = character {
            return Ok(character.to_string());
        }
        let name: &str = reference;
        resolve_xml_entity(name).map(str::to_owned).ok_or_else(|| {
            self.wrong(format!(
                "the entity &{name}; is unknown; write the character itself"
            ))
        })
    }

    fn next_product(&mut self) -> Result<Option<Product>, OnixError> {
        let mut open: Vec<OnixElement> = Vec::new();
        let (mut bytes, mut size) = (Vec::new(), 0);
        loop {
            bytes.clear();
            let event = self.reader.read_event_into(&mut bytes);
            match event.map_err(|_| self.wrong("the XML is not well-formed"))? {
                Event::Start(start) => self.open(&start, &mut open)?,
                Event::End(_) => match (open.pop(), open.last_mut()) {
                    (None, _) => self.inside = Some(false),
                    (Some(element), Some(parent)) => parent.children.push(element),
                    (Some(element), None) if element.name == "Product" => {
                        return Product::read(&element)
                            .map(Some)
                            .map_err(|what| self.wrong(what));
                    }
                    (Some(_), None) => size = 0,
                },
                Event::Text(text) => size += add(&mut open, &text),
                Event::CData(text) => size += add(&mut open, &text),
                Event::GeneralRef(reference) => {
                    size += add(&mut open, &self.resolved(&reference)?);
                }
                Event::Eof if self.inside == Some(false) && open.is_empty() => return Ok(None),
                Event::Eof => return Err(self.wrong("the feed is truncated")),
                _ => {}
            }
            if size > LARGEST {
                return Err(self.wrong(format!("a product has more than {LARGEST} bytes of text")));
            }
        }
    }
}

/// Adds text to the innermost element; returns its length.
fn add(open: &mut [OnixElement], text: &str) -> usize {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
    text.len()
}

impl<R: BufRead> Iterator for Products<R> {
    type Item = Result<Product, OnixError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_product().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Counts the lines read so far.
struct Counting<R> {
    feed: R,
    line: u64,
}

impl<R: BufRead> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.feed.read(buffer)?;
        self.line += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counting<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.feed.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if let Ok(buffer) = self.feed.fill_buf() {
            self.line += memchr::memchr_iter(b'\n', &buffer[..amount]).count() as u64;
        }
        self.feed.consume(amount);
    }
}

#[cfg(test)]
mod tests;
