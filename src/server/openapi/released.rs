//! What was released stays: `tests/v1.json` is the description of the last release, and that of now must be compatible with it, as
//! `docs/reference/versioning.md` says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::slice::from_ref;

use serde_json::Value;

use super::openapi;
use super::tests::{fields, items, text};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/v1.json");

const ME: &str = "/paths/~1v1~1me/get";
const CHECK: &str = "/paths/~1v1~1checks/post";

/// Bounds of what a request may send, and whether they are upper ones.
const BOUNDS: [(&str, bool); 6] = [
    ("maximum", true),
    ("maxItems", true),
    ("maxLength", true),
    ("minimum", false),
    ("minItems", false),
    ("minLength", false),
];

#[test]
fn what_was_released_stays() {
    let released = fs::read_to_string(FILE).expect("tests/v1.json");
    let changes = changes(
        &serde_json::from_str(&released).expect("JSON"),
        &described(),
    );
    assert!(
        changes.is_empty(),
        "clients of the release fail: {changes:#?}"
    );
}

/// Changes of a description: the place, the field, its new value as JSON or nothing to remove it, and what is said of it.
const INCOMPATIBLE: [(&str, &str, &str, &str); 27] = [
    ("/paths", "/v1/me", "", "get /v1/me is missing"),
    (
        ME,
        "operationId",
        r#""who""#,
        "get /v1/me has another operationId",
    ),
    (
        ME,
        "security",
        r#"[{"bearer": ["administer"]}]"#,
        "get /v1/me security has changed",
    ),
    (
        ME,
        "parameters",
        r#"[{"in": "query", "name": "x", "required": true}]"#,
        "get /v1/me: query x is required",
    ),
    (
        ME,
        "requestBody",
        r#"{"required": true}"#,
        "get /v1/me a body is required",
    ),
    (
        CHECK,
        "parameters",
        "[]",
        "post /v1/checks: query limit is missing",
    ),
    (
        "/paths/~1v1~1checks/post/requestBody/content",
        "text/plain",
        "",
        "post /v1/checks text/plain is missing",
    ),
    (
        "/paths/~1v1~1jobs/post/responses",
        "202",
        "",
        "post /v1/jobs: 202 is missing",
    ),
    (
        "/paths/~1v1~1jobs/post/responses/202/headers",
        "Location",
        "",
        "post /v1/jobs: 202 Location is missing",
    ),
    (
        "/paths/~1v1~1me/get/responses/200/content",
        "application/json",
        "",
        "get /v1/me: 200 application/json is missing",
    ),
    (
        "/components/schemas/Me/properties",
        "version",
        "",
        "version is missing",
    ),
    (
        "/components/schemas/Me",
        "required",
        "[]",
        "version may be missing",
    ),
    (
        "/components/schemas/Me/properties/version",
        "type",
        r#"["string", "null"]"#,
        "version has another type",
    ),
    (
        "/components/schemas/Check/properties",
        "limit",
        "",
        "limit is missing",
    ),
    (
        "/components/schemas/Check/properties/limit",
        "type",
        r#""string""#,
        "limit has another type",
    ),
    (
        "/components/schemas/Check/properties/limit",
        "maximum",
        "9",
        "limit has another maximum",
    ),
    (
        "/components/schemas/Check/properties/limit",
        "minimum",
        "1",
        "limit has another minimum",
    ),
    (
        "/components/schemas/Check/properties",
        "limit",
        r#"{"oneOf": [{"type": "string"}, {"type": "null"}]}"#,
        "limit has fewer alternatives",
    ),
    (
        "/components/schemas/Check/properties",
        "limit",
        r#"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#,
        "limit has fewer alternatives",
    ),
    (
        "/components/schemas/GemsForm",
        "additionalProperties",
        "false",
        "takes no other fields",
    ),
    (
        "/paths/~1v1~1jobs/get/parameters/1/schema",
        "default",
        "50",
        "query limit has another default",
    ),
    (
        "/components/schemas/Check/properties/limit",
        "enum",
        "[1]",
        "limit has only some values",
    ),
    (
        "/components/schemas/Check/properties/name",
        "pattern",
        r#""^a$""#,
        "name has another pattern",
    ),
    (
        "/components/schemas/NewKey",
        "required",
        r#"["name", "role", "trusted"]"#,
        "trusted is required",
    ),
    (
        "/components/schemas/Ruling",
        "enum",
        r#"["checked", "accepted", "refused"]"#,
        r#"ruling has no "appealed""#,
    ),
    (
        "/components/schemas/Task",
        "oneOf",
        "[]",
        "has fewer alternatives",
    ),
    (
        "/webhooks",
        "book.matched",
        "",
        "post book.matched is missing",
    ),
];

#[test]
fn incompatible_changes_are_seen() {
    let released = described();
    for (place, field, value, expected) in INCOMPATIBLE {
        let changes = changes(&released, &with(&released, place, field, value));
        let is_seen = changes.iter().any(|change| change.contains(expected));
        assert!(is_seen, "{place}/{field}: {changes:?}");
    }
}

const COMPATIBLE: [(&str, &str, &str); 9] = [
    ("/paths", "/v1/new", r#"{"get": {"responses": {}}}"#),
    (ME, "parameters", r#"[{"in": "query", "name": "x"}]"#),
    (
        "/paths/~1v1~1checks/post/requestBody/content",
        "text/new",
        "{}",
    ),
    (
        "/components/schemas/Me/properties",
        "new",
        r#"{"type": "string"}"#,
    ),
    (
        "/components/schemas/Check/properties",
        "new",
        r#"{"type": "string"}"#,
    ),
    (
        "/components/schemas/Check/properties/limit",
        "maximum",
        "2000",
    ),
    ("/paths/~1v1~1jobs/get/parameters/1/schema", "minimum", "0"),
    (
        "/components/schemas/Feature",
        "enum",
        r#"["backups", "cluster", "console", "new"]"#,
    ),
    ("/components/schemas/Me", "description", r#""Other words.""#),
];

#[test]
fn compatible_changes_are_none() {
    let released = described();
    for (place, field, value) in COMPATIBLE {
        let changes = changes(&released, &with(&released, place, field, value));
        assert!(changes.is_empty(), "{place}/{field}: {changes:?}");
    }
}

fn described() -> Value {
    serde_json::from_str(&openapi()).expect("JSON")
}

/// A description with another value of a field, or without it.
fn with(api: &Value, place: &str, field: &str, value: &str) -> Value {
    let mut api = api.clone();
    let object = api.pointer_mut(place).and_then(Value::as_object_mut);
    let object = object.unwrap_or_else(|| panic!("there is no {place}"));
    if value.is_empty() {
        assert!(object.remove(field).is_some(), "{place}/{field}");
    } else {
        let value = serde_json::from_str(value).expect("JSON");
        object.insert(field.to_owned(), value);
    }
    api
}

/// What no longer works for a client of the first description with a server of the second.
fn changes(released: &Value, now: &Value) -> BTreeSet<String> {
    let mut comparison = DescriptionComparison::new(released, now);
    for section in ["paths", "webhooks"] {
        for (path, methods) in fields(&released[section]) {
            for (method, call) in fields(methods) {
                let name = format!("{method} {path}");
                match &now[section][path][method] {
                    Value::Null => comparison.report(&name, "is missing"),
                    now if section == "paths" => comparison.call(&name, call, now),
                    // The server sends it.
                    now => comparison.contents(
                        &name,
                        Sender::Server,
                        &call["requestBody"],
                        &now["requestBody"],
                    ),
                }
            }
        }
    }
    comparison.found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sender {
    Client,
    Server,
}

struct DescriptionComparison<'a> {
    released: &'a Value,
    now: &'a Value,
    /// The pairs of types that were compared, or are being.
    entered: BTreeSet<(Sender, &'a str, &'a str)>,
    found: BTreeSet<String>,
}

impl<'a> DescriptionComparison<'a> {
    fn new(released: &'a Value, now: &'a Value) -> Self {
        Self {
            released,
            now,
            entered: BTreeSet::new(),
            found: BTreeSet::new(),
        }
    }

    fn report(&mut self, place: &str, what: &str) {
        self.found.insert(format!("{place} {what}"));
    }

    fn call(&mut self, name: &str, released: &'a Value, now: &'a Value) {
        if released["operationId"] != now["operationId"] {
            self.report(name, "has another operationId");
        }
        if released["security"] != now["security"] {
            self.report(name, "security has changed");
        }
        self.parameters(name, released, now);
        let (body, body_now) = (&released["requestBody"], &now["requestBody"]);
        if body_now["required"] == true && body["required"] != true {
            self.report(name, "a body is required");
        }
        self.contents(name, Sender::Client, body, body_now);
        for (status, answer) in fields(&released["responses"]) {
            let name = format!("{name}: {status}");
            let answer_now = &now["responses"][status];
            if answer_now.is_null() {
                self.report(&name, "is missing");
                continue;
            }
            let (answer, answer_now) =
                (target(self.released, answer), target(self.now, answer_now));
            for (header, _) in fields(&answer["headers"]) {
                if answer_now["headers"][header].is_null() {
                    self.report(&format!("{name} {header}"), "is missing");
                }
            }
            self.contents(&name, Sender::Server, answer, answer_now);
        }
    }

    fn parameters(&mut self, call: &str, released: &'a Value, now: &'a Value) {
        let (released, now) = (items(&released["parameters"]), items(&now["parameters"]));
        for parameter in released {
            let name = format!("{call}: {}", named(parameter));
            match now.iter().find(|one| named(one) == named(parameter)) {
                None => self.report(&name, "is missing"),
                Some(one) => {
                    if one["required"] == true && parameter["required"] != true {
                        self.report(&name, "is required");
                    }
                    self.schemas(&name, Sender::Client, &parameter["schema"], &one["schema"]);
                }
            }
        }
        for new in now.iter().filter(|one| one["required"] == true) {
            if !released.iter().any(|one| named(one) == named(new)) {
                self.report(&format!("{call}: {}", named(new)), "is required");
            }
        }
    }

    fn contents(&mut self, name: &str, sender: Sender, released: &'a Value, now: &'a Value) {
        for (kind, content) in fields(&released["content"]) {
            let name = format!("{name} {kind}");
            match &now["content"][kind] {
                Value::Null => self.report(&name, "is missing"),
                now => self.schemas(&name, sender, &content["schema"], &now["schema"]),
            }
        }
    }

    fn schemas(&mut self, name: &str, sender: Sender, released: &'a Value, now: &'a Value) {
        // It can stand next to a reference.
        let default = &released["default"];
        if sender == Sender::Client && !default.is_null() && *default != now["default"] {
            self.report(name, "has another default");
        }
        if let (Some(old), Some(new)) = (released["$ref"].as_str(), now["$ref"].as_str())
            && !self.entered.insert((sender, old, new))
        {
            return;
        }
        let (released, now) = (target(self.released, released), target(self.now, now));
        self.types(name, sender, released, now);
        self.values(name, sender, released, now);
        if sender == Sender::Client {
            self.bounds(name, released, now);
        }
        self.choices(name, sender, released, now);
        self.properties(name, sender, released, now);
        for part in ["items", "additionalProperties"] {
            if released[part].is_object() {
                self.schemas(&format!("{name}[]"), sender, &released[part], &now[part]);
            }
        }
    }

    /// A client may send what it did, and is sent nothing that it did not expect.
    fn types(&mut self, name: &str, sender: Sender, released: &Value, now: &Value) {
        let (old, new) = (types(released), types(now));
        let fits = match sender {
            Sender::Client => new.is_empty() || !old.is_empty() && old.is_subset(&new),
            Sender::Server => old.is_empty() || !new.is_empty() && new.is_subset(&old),
        };
        if !fits || released["format"] != now["format"] {
            self.report(name, "has another type");
        }
    }

    /// Clients expect values that they do not know, so only requests may not be limited to some.
    fn values(&mut self, name: &str, sender: Sender, released: &Value, now: &Value) {
        let values = items(&now["enum"]);
        for value in items(&released["enum"]) {
            if !values.is_empty() && !values.contains(value) {
                self.report(name, &format!("has no {value}"));
            }
        }
        if sender == Sender::Client && released["enum"].is_null() && !values.is_empty() {
            self.report(name, "has only some values");
        }
    }

    fn bounds(&mut self, name: &str, released: &Value, now: &Value) {
        for (bound, is_upper) in BOUNDS {
            let Some(limit) = now[bound].as_f64() else {
                continue;
            };
            let held = released[bound]
                .as_f64()
                .is_some_and(|old| if is_upper { old <= limit } else { limit <= old });
            if !held {
                self.report(name, &format!("has another {bound}"));
            }
        }
        if !now["pattern"].is_null() && released["pattern"] != now["pattern"] {
            self.report(name, "has another pattern");
        }
        if now["additionalProperties"] == false && released["additionalProperties"] != false {
            self.report(name, "takes no other fields");
        }
    }

    /// Each alternative is still one of them. What a client sends without alternatives is one itself.
    fn choices(&mut self, name: &str, sender: Sender, released: &'a Value, now: &'a Value) {
        for key in ["oneOf", "anyOf"] {
            let others = items(&now[key]);
            let choices = match &released[key] {
                Value::Null if sender == Sender::Client && !others.is_empty() => from_ref(released),
                choices => items(choices),
            };
            for choice in choices {
                let still = others.iter().any(|other| {
                    let mut comparison = DescriptionComparison::new(self.released, self.now);
                    comparison.entered.clone_from(&self.entered);
                    comparison.schemas("", sender, choice, other);
                    comparison.found.is_empty()
                });
                if !still {
                    self.report(name, "has fewer alternatives");
                }
            }
        }
    }

    fn properties(&mut self, name: &str, sender: Sender, released: &'a Value, now: &'a Value) {
        let (old, new) = (
            properties(self.released, released),
            properties(self.now, now),
        );
        for (property, (schema, is_required)) in &old {
            let place = format!("{name}.{property}");
            match new.get(property) {
                None => self.report(&place, "is missing"),
                Some((other, now_required)) => {
                    if sender == Sender::Server && *is_required && !now_required {
                        self.report(&place, "may be missing");
                    }
                    self.schemas(&place, sender, schema, other);
                }
            }
        }
        for (property, _) in new.iter().filter(|(_, (_, is_required))| *is_required) {
            let was_required = old
                .get(property)
                .is_some_and(|(_, is_required)| *is_required);
            if sender == Sender::Client && !was_required {
                self.report(&format!("{name}.{property}"), "is required");
            }
        }
    }
}

/// What a reference leads to.
fn target<'a>(api: &'a Value, value: &'a Value) -> &'a Value {
    let reference = value["$ref"].as_str();
    let found = reference.and_then(|to| api.pointer(to.trim_start_matches('#')));
    found.unwrap_or(value)
}

fn named(parameter: &Value) -> String {
    format!("{} {}", text(&parameter["in"]), text(&parameter["name"]))
}

/// None if it may have any.
fn types(schema: &Value) -> BTreeSet<&str> {
    match &schema["type"] {
        Value::Array(types) => types.iter().map(text).collect(),
        Value::String(one) => [one.as_str()].into(),
        _ => BTreeSet::new(),
    }
}

/// The properties of an object, those of what it consists of too, and whether they are required.
fn properties<'a>(api: &'a Value, schema: &'a Value) -> BTreeMap<&'a str, (&'a Value, bool)> {
    let parts = items(&schema["allOf"]).iter();
    let mut all: BTreeMap<_, _> = parts
        .flat_map(|part| properties(api, target(api, part)))
        .collect();
    let required = items(&schema["required"]);
    all.extend(fields(&schema["properties"]).map(|(name, property)| {
        let is_required = required.iter().any(|one| one == name);
        (name.as_str(), (property, is_required))
    }));
    all
}
