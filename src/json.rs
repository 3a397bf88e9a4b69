//! JSON that others sent, measured before anything is made of it.
//!
//! What a document costs in memory is not its length: a list of empty objects takes dozens of bytes for each of its own.
//! [`measure`] walks through a document without building any of it and stops at the first limit that is met. What has passed
//! costs little more than its strings, whatever type it is then read into.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Write};

use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::catalogue::MAX_GEMS;

/// How deep lists and objects may lie in each other.
const DEPTH: usize = 8;
/// How many elements of lists and fields of objects there may be, together. A few more than gems.
const ELEMENTS: usize = MAX_GEMS + 1_000;
/// The longest name of a field, in bytes.
const NAME: usize = 600;
/// The longest string, in bytes, but for a text: longer than anything that is said of a book.
const STRING: usize = 8_000;
/// The field of the outermost object that may be of any length.
const TEXT: &str = "text";
/// The field of the outermost object that is kept as it is, and how many parts it may have.
const MARK: (&str, usize) = ("ref", 500);

/// Why a document is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Excess {
    /// It is nested too deeply.
    #[error("its lists and objects lie more than {DEPTH} deep in each other")]
    Depth,
    /// It has too many parts.
    #[error("it has more than {ELEMENTS} elements and fields")]
    Elements,
    /// The name of a field is too long.
    #[error("the name of a field is longer than {NAME} bytes")]
    Name,
    /// A string is too long.
    #[error("a string is longer than {STRING} bytes, which only a text may be")]
    String,
}

/// Says whether a document is within the limits. One that is no JSON may be: whoever reads it finds out.
pub(crate) fn measure(json: &[u8]) -> Result<(), Excess> {
    let walk = Walk { left: Cell::new(ELEMENTS), met: Cell::new(None) };
    let mut document = serde_json::Deserializer::from_slice(json);
    let walked = Part { walk: &walk, depth: 0, any_length: false }.deserialize(&mut document);
    match (walked, walk.met.get()) {
        (Err(_), Some(excess)) => Err(excess),
        _ => Ok(()),
    }
}

/// How long something is as JSON.
pub(crate) fn length(value: &impl Serialize) -> usize {
    /// Counts what is written to it.
    struct Counter(usize);

    impl Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut counter = Counter(0);
    // What cannot be written has no length.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

struct Walk {
    /// How many elements and fields there may be yet.
    left: Cell<usize>,
    met: Cell<Option<Excess>>,
}

impl Walk {
    fn meet<E: Error>(&self, excess: Excess) -> E {
        self.met.set(Some(excess));
        E::custom("")
    }

    fn count<E: Error>(&self) -> Result<(), E> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| self.meet(Excess::Elements))?;
        self.left.set(left);
        Ok(())
    }
}

/// A value of a document.
#[derive(Clone, Copy)]
struct Part<'a> {
    walk: &'a Walk,
    depth: usize,
    any_length: bool,
}

impl Part<'_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth + 1;
        if depth > DEPTH { Err(self.walk.meet(Excess::Depth)) } else { Ok(Self { depth, any_length: false, ..self }) }
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, string: &str) -> Result<(), E> {
        if self.any_length || string.len() <= STRING { Ok(()) } else { Err(self.walk.meet(Excess::String)) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let element = self.deeper()?;
        while list.next_element_seed(element)?.is_some() {
            self.walk.count()?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let field = self.deeper()?;
        while let Some(name) = object.next_key_seed(Name(self.walk))? {
            self.walk.count()?;
            let name = name.filter(|_| self.depth == 0);
            let left = self.walk.left.get();
            if name == Some(MARK.0) {
                self.walk.left.set(left.min(MARK.1));
            }
            object.next_value_seed(Part { any_length: name == Some(TEXT), ..field })?;
            if name == Some(MARK.0) {
                self.walk.left.set(left.saturating_sub(MARK.1));
            }
        }
        Ok(())
    }
}

/// The name of a field, if it means something here.
struct Name<'a>(&'a Walk);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        let known = [TEXT, MARK.0].into_iter().find(|known| *known == name);
        if name.len() > NAME { Err(self.0.meet(Excess::Name)) } else { Ok(known) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_measured_and_not_built() {
        let many = |part: &str, times: usize| format!("[{}{part}]", format!("{part},").repeat(times - 1));
        let long = "x".repeat(STRING + 1);
        let table = [
            ("{}".to_owned(), Ok(())),
            ("nonsense".to_owned(), Ok(())),
            (format!(r#"{{"gems": {}}}"#, many("1", MAX_GEMS)), Ok(())),
            (format!(r#"{{"gems": {}}}"#, many("1", ELEMENTS)), Err(Excess::Elements)),
            (format!(r#"{{"x": {}}}"#, many(r#"{"":0}"#, ELEMENTS)), Err(Excess::Elements)),
            (format!(r#"{{"text": "{long}"}}"#), Ok(())),
            (format!(r#"{{"text": ["{long}"]}}"#), Err(Excess::String)),
            (format!(r#"{{"text": "", "book": {{"text": "{long}"}}}}"#), Err(Excess::String)),
            (format!(r#"{{"title": "{long}"}}"#), Err(Excess::String)),
            (format!(r#"{{"{long}": 1}}"#), Err(Excess::Name)),
            (format!(r#"{{"ref": {}, "gems": {}}}"#, many("1", 500), many("1", 1_000)), Ok(())),
            (format!(r#"{{"ref": {}}}"#, many("[]", 501)), Err(Excess::Elements)),
            ("[".repeat(DEPTH), Ok(())),
            ("[".repeat(DEPTH + 1), Err(Excess::Depth)),
            (r#"{"a":"#.repeat(100_000), Err(Excess::Depth)),
            (format!(r#"{{"text": "{}"#, long.repeat(10)), Ok(())),
        ];
        for (json, expected) in table {
            assert_eq!(measure(json.as_bytes()), expected, "{json:.60}");
        }
    }
}
