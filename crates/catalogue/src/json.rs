//! Limits for untrusted JSON, checked before it is parsed.
//!
//! A JSON document can need much more memory than its length: a list of empty objects takes dozens of bytes for each of
//! its own. [`measure`] scans a document without allocating and stops at the first limit it exceeds. A document within
//! the limits needs little more memory than its strings, whatever type it is parsed into.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Write};

use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::MAX_GEMS;

/// Maximum nesting depth of lists and objects.
const DEPTH: usize = 8;
/// Maximum number of list elements and object fields in total: the gems of a book, and some more.
const ELEMENTS: usize = MAX_GEMS + 1_000;
/// Maximum length of a field name, in bytes.
const NAME: usize = 600;
/// Maximum length of a string other than the text, in bytes. All metadata is shorter.
const STRING: usize = 8_000;
/// The top-level field whose length is not limited.
const TEXT: &str = "text";
/// The top-level field that is returned unchanged, and its maximum number of elements and fields.
const MARK: (&str, usize) = ("ref", 500);

/// The limit that a document exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    /// It is nested too deeply.
    #[error("it has more than {DEPTH} levels of lists and objects")]
    Depth,
    /// It has too many elements and fields.
    #[error("it has more than {ELEMENTS} elements and fields")]
    Elements,
    /// A field name is too long.
    #[error("a field name is longer than {NAME} bytes")]
    Name,
    /// A string is too long.
    #[error("a string other than the text is longer than {STRING} bytes")]
    String,
}

/// Checks a document against the limits. Invalid JSON can pass; the parser reports it.
pub fn measure(json: &[u8]) -> Result<(), Excess> {
    let walk = JsonWalk {
        left: Cell::new(ELEMENTS),
        met: Cell::new(None),
    };
    let mut document = serde_json::Deserializer::from_slice(json);
    let walked = JsonPart {
        walk: &walk,
        depth: 0,
        any_length: false,
    }
    .deserialize(&mut document);
    match (walked, walk.met.get()) {
        (Err(_), Some(excess)) => Err(excess),
        _ => Ok(()),
    }
}

/// Returns the length of a value as JSON, in bytes.
pub fn length(value: &impl Serialize) -> usize {
    /// Counts the bytes written to it.
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
    // Fails only for values without a JSON form, and none of these is measured.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

struct JsonWalk {
    /// The remaining number of elements and fields.
    left: Cell<usize>,
    met: Cell<Option<Excess>>,
}

impl JsonWalk {
    fn meet<E: Error>(&self, excess: Excess) -> E {
        self.met.set(Some(excess));
        E::custom("")
    }

    fn count<E: Error>(&self) -> Result<(), E> {
        let left = self
            .left
            .get()
            .checked_sub(1)
            .ok_or_else(|| self.meet(Excess::Elements))?;
        self.left.set(left);
        Ok(())
    }
}

/// A value of a document.
#[derive(Clone, Copy)]
struct JsonPart<'a> {
    walk: &'a JsonWalk,
    depth: usize,
    any_length: bool,
}

impl JsonPart<'_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth + 1;
        if depth > DEPTH {
            Err(self.walk.meet(Excess::Depth))
        } else {
            Ok(Self {
                depth,
                any_length: false,
                ..self
            })
        }
    }
}

impl<'de> DeserializeSeed<'de> for JsonPart<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonPart<'_> {
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
        if self.any_length || string.len() <= STRING {
            Ok(())
        } else {
            Err(self.walk.meet(Excess::String))
        }
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
        while let Some(name) = object.next_key_seed(FieldName(self.walk))? {
            self.walk.count()?;
            let name = name.filter(|_| self.depth == 0);
            let left = self.walk.left.get();
            if name == Some(MARK.0) {
                self.walk.left.set(left.min(MARK.1));
            }
            object.next_value_seed(JsonPart {
                any_length: name == Some(TEXT),
                ..field
            })?;
            if name == Some(MARK.0) {
                self.walk.left.set(left.saturating_sub(MARK.1));
            }
        }
        Ok(())
    }
}

/// Reads a field name. Returns it if it is one of the special fields.
struct FieldName<'a>(&'a JsonWalk);

impl<'de> DeserializeSeed<'de> for FieldName<'_> {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldName<'_> {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        let known = [TEXT, MARK.0].into_iter().find(|known| *known == name);
        if name.len() > NAME {
            Err(self.0.meet(Excess::Name))
        } else {
            Ok(known)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_over_a_limit_are_found() {
        let many =
            |part: &str, times: usize| format!("[{}{part}]", format!("{part},").repeat(times - 1));
        let long = "x".repeat(STRING + 1);
        let table = [
            ("{}".to_owned(), Ok(())),
            ("nonsense".to_owned(), Ok(())),
            (format!(r#"{{"gems": {}}}"#, many("1", MAX_GEMS)), Ok(())),
            (
                format!(r#"{{"gems": {}}}"#, many("1", ELEMENTS)),
                Err(Excess::Elements),
            ),
            (
                format!(r#"{{"x": {}}}"#, many(r#"{"":0}"#, ELEMENTS)),
                Err(Excess::Elements),
            ),
            (format!(r#"{{"text": "{long}"}}"#), Ok(())),
            (format!(r#"{{"text": ["{long}"]}}"#), Err(Excess::String)),
            (
                format!(r#"{{"text": "", "book": {{"text": "{long}"}}}}"#),
                Err(Excess::String),
            ),
            (format!(r#"{{"title": "{long}"}}"#), Err(Excess::String)),
            (format!(r#"{{"{long}": 1}}"#), Err(Excess::Name)),
            (
                format!(
                    r#"{{"ref": {}, "gems": {}}}"#,
                    many("1", 500),
                    many("1", 1_000)
                ),
                Ok(()),
            ),
            (
                format!(r#"{{"ref": {}}}"#, many("[]", 501)),
                Err(Excess::Elements),
            ),
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
