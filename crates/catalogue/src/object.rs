//! Parses a struct from a JSON object only. Serde also accepts a list of the values of its fields, which the API does
//! not document and which is most likely a mistake.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Parses an optional field that holds an object or `null`: `#[serde(default, deserialize_with = "object::optional")]`.
pub fn optional<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_any(Object(PhantomData))
}

struct Object<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Pair {
        a: Option<u8>,
        b: Option<u8>,
    }

    #[derive(Debug, Deserialize)]
    struct Holder {
        #[serde(default, deserialize_with = "super::optional")]
        pair: Option<Pair>,
    }

    #[test]
    fn a_list_is_not_an_object() {
        let read = |json: &str| {
            serde_json::from_str::<Holder>(json)
                .map(|holder| holder.pair)
                .ok()
        };
        assert_eq!(read("{}"), Some(None));
        assert_eq!(read(r#"{"pair": null}"#), Some(None));
        assert_eq!(
            read(r#"{"pair": {"b": 2}}"#),
            Some(Some(Pair {
                a: None,
                b: Some(2)
            }))
        );
        for wrong in ["[1, 2]", "[null, null]", "[]", "1", "\"a\"", r#"{"c": 1}"#] {
            assert_eq!(read(&format!(r#"{{"pair": {wrong}}}"#)), None, "{wrong}");
        }
    }
}
