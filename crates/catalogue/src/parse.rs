//! Parses untrusted JSON, query strings and TOML. Errors say in plain words which field is wrong and what is expected,
//! instead of describing the parser's state.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// What the message about an unknown field starts with.
const UNKNOWN: &str = "there is no field ";

/// Parses JSON.
///
/// # Errors
/// What is wrong, and where.
pub fn json<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        match error.classify() {
            Category::Data => {
                // Parsed again, because tracking the path makes parsing slower.
                let tracked = serde_path_to_error::deserialize::<_, T>(
                    &mut serde_json::Deserializer::from_slice(json),
                );
                let path = tracked
                    .err()
                    .map(|error| error.path().to_string())
                    .unwrap_or_default();
                let message = error.to_string();
                let place = format!(" at line {line} column {column}");
                at(
                    &path,
                    &plain(message.strip_suffix(&place).unwrap_or(&message)),
                )
            }
            Category::Eof => "it is incomplete JSON: it ends too early".to_owned(),
            _ if json.trim_ascii().contains(&b'\n') => {
                format!("it is not valid JSON (line {line}, column {column})")
            }
            Category::Syntax | Category::Io => format!("it is not valid JSON (column {column})"),
        }
    })
}

/// Parses a query string, or a form.
///
/// # Errors
/// What is wrong, and where.
pub fn query<T: DeserializeOwned>(query: &str) -> Result<T, String> {
    let pairs = || serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
    T::deserialize(pairs()).map_err(|error| {
        let tracked = serde_path_to_error::deserialize::<_, T>(pairs());
        let path = tracked
            .err()
            .map(|error| error.path().to_string())
            .unwrap_or_default();
        at(&path, &plain(&error.to_string()))
    })
}

/// Parses TOML.
///
/// # Errors
/// What is wrong, and in which line.
pub fn toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let line = |error: &toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        1 + text
            .as_bytes()
            .iter()
            .take(start)
            .filter(|byte| **byte == b'\n')
            .count()
    };
    if let Err(error) = text.parse::<toml::Table>() {
        return Err(format!("line {}: this is not valid TOML", line(&error)));
    }
    toml::from_str(text).map_err(|error| {
        let tracked = toml::Deserializer::parse(text)
            .ok()
            .and_then(|toml| serde_path_to_error::deserialize::<_, T>(toml).err());
        let path = tracked
            .map(|error| error.path().to_string())
            .unwrap_or_default();
        format!(
            "line {}: {}",
            line(&error),
            at(&path, &plain(error.message()))
        )
    })
}

/// Says where in a document something is wrong. Paths are empty, or `.`, for the whole document.
fn at(path: &str, what: &str) -> String {
    // An unknown field is named already.
    let path = if what.starts_with(UNKNOWN) {
        path.rsplit_once('.').map_or("", |(parent, _)| parent)
    } else {
        path
    };
    if path.is_empty() || path == "." {
        what.to_owned()
    } else {
        format!("'{path}': {what}")
    }
}

/// Translates a message that serde or a standard parser makes. Messages of types of this project stay as they are.
fn plain(message: &str) -> String {
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("the field {} is missing", quoted(field));
    }
    if let Some(field) = message.strip_prefix("duplicate field ") {
        return format!("the field {} is given twice", quoted(field));
    }
    if let Some((field, known)) = message
        .strip_prefix("unknown field ")
        .and_then(|rest| rest.split_once(", "))
    {
        let known = known.strip_prefix("expected ").unwrap_or("nothing");
        return format!("{UNKNOWN}{}; known: {}", quoted(field), quoted(list(known)));
    }
    if let Some((value, known)) = message
        .strip_prefix("unknown variant ")
        .and_then(|rest| rest.split_once(", expected "))
    {
        return format!("{} is not one of: {}", quoted(value), quoted(list(known)));
    }
    for prefix in ["invalid type: ", "invalid value: ", "invalid length "] {
        if let Some((found, expected)) = message
            .strip_prefix(prefix)
            .and_then(|rest| rest.split_once(", expected "))
        {
            return format!("expected {}, not {}", wanted(expected), given(found));
        }
    }
    let standard = match message {
        "invalid digit found in string"
        | "cannot parse integer from empty string"
        | "number too large to fit in target type"
        | "number too small to fit in target type" => {
            "expected a whole number that is not too large"
        }
        "provided string was not `true` or `false`" => "expected true or false",
        _ if message.starts_with("data did not match any variant") => {
            "it has none of the possible forms"
        }
        // Only dates and times have such messages: they quote the grammar.
        _ if ["failed to ", "parsed ", "expected "]
            .iter()
            .any(|start| message.starts_with(start)) =>
        {
            "expected a date such as 2026-01-31, or where a time is expected, one such as 2026-01-31T12:00:00Z"
        }
        ours => ours,
    };
    standard.to_owned()
}

/// What serde says about an expected type, in words.
fn wanted(expected: &str) -> &str {
    match expected {
        "i8" | "i16" | "i32" | "i64" | "isize" | "u8" | "u16" | "u32" | "u64" | "usize" => {
            "a whole number in range"
        }
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        "a date string" => "a date such as 2026-01-31",
        "a timestamp string" => "a time such as 2026-01-31T12:00:00Z",
        _ if expected.starts_with("struct ") || expected.starts_with("internally tagged enum ") => {
            "an object"
        }
        _ if expected.contains("enum ") => "one of the known words",
        other => other,
    }
}

/// What serde says about a value that it found, in words.
fn given(found: &str) -> String {
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "an object".to_owned(),
        "unit value" => "nothing".to_owned(),
        _ => {
            let kinds = [
                "string ",
                "integer ",
                "floating point ",
                "boolean ",
                "character ",
            ];
            let value = kinds
                .iter()
                .find_map(|kind| found.strip_prefix(kind))
                .unwrap_or(found);
            value.replace('`', "")
        }
    }
}

/// A list of names without the words around it.
fn list(known: &str) -> &str {
    known.strip_prefix("one of ").unwrap_or(known)
}

fn quoted(names: &str) -> String {
    names.replace('`', "'")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;
    use jiff::civil::Date;

    use super::*;
    use lapidary_store::Library;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only parsed")]
    struct Form {
        name: Option<Library>,
        count: Option<u32>,
        flag: Option<bool>,
        day: Option<Date>,
        time: Option<Timestamp>,
        kind: Option<Kind>,
        lists: Option<BTreeMap<String, Vec<f64>>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        One,
        OtherOne,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only parsed")]
    struct Holder {
        form: Form,
    }

    fn of_json(text: &str) -> String {
        json::<Holder>(text.as_bytes()).unwrap_err()
    }

    #[test]
    fn json_that_is_wrong() {
        let whole = [
            ("", "it is incomplete JSON: it ends too early"),
            ("{\"form\": ", "it is incomplete JSON: it ends too early"),
            ("{\"form\": nul}", "it is not valid JSON (column 13)"),
            ("{\n'form': 1}", "it is not valid JSON (line 2, column 1)"),
            ("{}", "the field 'form' is missing"),
            ("7", "expected an object, not 7"),
            (
                r#"{"form": {}, "form": {}}"#,
                "the field 'form' is given twice",
            ),
        ];
        for (json, words) in whole {
            assert_eq!(of_json(json), words, "{json}");
        }
        let fields = [
            (
                r#""count": "5""#,
                "'form.count': expected a whole number in range, not \"5\"",
            ),
            (
                r#""count": -5"#,
                "'form.count': expected a whole number in range, not -5",
            ),
            (
                r#""count": 1.5"#,
                "'form.count': expected a whole number in range, not 1.5",
            ),
            (
                r#""flag": []"#,
                "'form.flag': expected true or false, not a list",
            ),
            (
                r#""kind": "two""#,
                "'form.kind': 'two' is not one of: 'one' or 'other_one'",
            ),
            (
                r#""day": 5"#,
                "'form.day': expected a date such as 2026-01-31, not 5",
            ),
            (
                r#""lists": {"a": [1, "b"]}"#,
                "'form.lists.a[1]': expected a number, not \"b\"",
            ),
            (
                r#""name": """#,
                "'form.name': a library's name must have 1 to 512 bytes and no control characters, not \"\"",
            ),
        ];
        for (field, words) in fields {
            assert_eq!(
                of_json(&format!("{{\"form\": {{{field}}}}}")),
                words,
                "{field}"
            );
        }
        let unknown = of_json(r#"{"form": {"colour": 1}}"#);
        assert!(
            unknown.starts_with("'form': there is no field 'colour'; known: 'name', 'count',"),
            "{unknown}"
        );
        let times = [
            "",
            "now",
            "31.1.2026",
            "2026",
            "2026-13-01",
            "2026-02-31",
            "99999-01-01",
            "-1",
            "2026-01-31T25:00:00Z",
        ];
        for (field, time) in times
            .iter()
            .flat_map(|time| [("day", time), ("time", time)])
        {
            let words = of_json(&format!("{{\"form\": {{\"{field}\": \"{time}\"}}}}"));
            assert!(
                words.ends_with("one such as 2026-01-31T12:00:00Z"),
                "{time}: {words}"
            );
        }
    }

    #[test]
    fn queries_that_are_wrong() {
        let table = [
            (
                "count=many",
                "'count': expected a whole number that is not too large",
            ),
            (
                "count=99999999999",
                "'count': expected a whole number that is not too large",
            ),
            (
                "count=",
                "'count': expected a whole number that is not too large",
            ),
            ("flag=yes", "'flag': expected true or false"),
            ("count=1&count=2", "the field 'count' is given twice"),
            (
                "kind=two",
                "'kind': 'two' is not one of: 'one' or 'other_one'",
            ),
        ];
        for (text, words) in table {
            assert_eq!(query::<Form>(text).unwrap_err(), words, "{text}");
        }
    }

    #[test]
    fn toml_that_is_wrong() {
        let table = [
            (
                "count = 1\nflag = 2",
                "line 2: 'flag': expected true or false, not 2",
            ),
            ("count = 1\n\nflag", "line 3: this is not valid TOML"),
            ("count = \"x", "line 1: this is not valid TOML"),
        ];
        for (text, words) in table {
            assert_eq!(toml::<Form>(text).unwrap_err(), words, "{text}");
        }
        let unknown = toml::<Form>("flag = true\ncolour = 1").unwrap_err();
        assert!(
            unknown.starts_with("line 2: there is no field 'colour'; known: 'name',"),
            "{unknown}"
        );
    }
}
