//! `docs/reference/http.md`: every call, type and error of the API, from its description.

use std::fmt::{Result, Write as _};

use lapidary_common::error::{ErrorCode, ErrorKind};
use lapidary_language::Language;
use serde_json::{Map, Value};

use super::openapi;
use crate::generated::assert_is_up_to_date;
use crate::server::problem::status_of;

const INTRODUCTION: &str = "\
# HTTP reference

Generated from [openapi.json](../openapi.json), which a server also serves at `/openapi.json`, with a page to try the calls at
`/docs/api/`. [The API](api.md) says how keys, errors, streams and conditions work. A call takes a key with the permission that is named, or
of one that may do more; without keys, a server takes every call of its own machine. A `?` marks what may be left out.
";

#[test]
fn the_reference_of_calls_is_up_to_date() {
    let api: Value = serde_json::from_str(&openapi()).expect("JSON");
    let reference = Reference {
        api,
        text: INTRODUCTION.to_owned(),
    }
    .write()
    .expect("a text");
    assert_is_up_to_date("docs/reference/http.md", &reference);
}

/// The page as far as it is written.
struct Reference {
    api: Value,
    text: String,
}

impl Reference {
    fn write(mut self) -> std::result::Result<String, std::fmt::Error> {
        let api = self.api.take();
        for tag in items(&api["tags"]) {
            let (name, about) = (text(&tag["name"]), line(&tag["description"]));
            write!(self.text, "\n## Calls: {name}\n\n{about}\n")?;
            for (path, methods) in fields(&api["paths"]) {
                for (method, call) in fields(methods) {
                    if call["tags"][0] == tag["name"] {
                        self.call(&method.to_uppercase(), path, call)?;
                    }
                }
            }
        }
        self.text.push_str("\n## Types\n");
        for (name, schema) in fields(&api["components"]["schemas"]) {
            self.schema(name, schema)?;
        }
        self.errors()?;
        Ok(self.text)
    }

    fn call(&mut self, method: &str, path: &str, call: &Value) -> Result {
        write!(
            self.text,
            "\n### `{method} {path}`\n\n{}",
            sentence(&call["summary"])
        )?;
        writeln!(self.text, " {}", permission(&call["security"]))?;
        if let Some(about) = call.get("description") {
            write!(self.text, "\n{}\n", line(about))?;
        }
        self.parameters(items(&call["parameters"]))?;
        let body = &call["requestBody"];
        if !body.is_null() {
            write!(self.text, "\nBody: {}.", contents(body))?;
            self.text
                .push_str(&prefixed(" ", &sentence(&body["description"])));
            self.text.push('\n');
        }
        self.text.push('\n');
        for (status, answer) in fields(&call["responses"]) {
            if status != "default" {
                self.answer(status, answer)?;
            }
        }
        Ok(())
    }

    fn parameters(&mut self, parameters: &[Value]) -> Result {
        if parameters.is_empty() {
            return Ok(());
        }
        self.text
            .push_str("\n| parameter | in | type | |\n|---|---|---|---|\n");
        for parameter in parameters {
            let is_required = parameter["required"] == true;
            let (name, place) = (text(&parameter["name"]), text(&parameter["in"]));
            let mark = if is_required { "" } else { "?" };
            let kind = cell(type_of(&parameter["schema"]).trim_end_matches(" or null"));
            let about = cell(&line(&parameter["description"]));
            writeln!(self.text, "| `{name}`{mark} | {place} | {kind} | {about} |")?;
        }
        Ok(())
    }

    fn answer(&mut self, status: &str, answer: &Value) -> Result {
        write!(self.text, "- {status}: {}", line(&answer["description"]))?;
        self.text.push_str(&prefixed(": ", &contents(answer)));
        for (name, header) in fields(&answer["headers"]) {
            write!(
                self.text,
                "; header `{name}`: {}",
                line(&header["description"])
            )?;
        }
        self.text.push('\n');
        Ok(())
    }

    fn schema(&mut self, name: &str, schema: &Value) -> Result {
        write!(self.text, "\n### {name}\n\n")?;
        self.text.push_str(&sentence(&schema["description"]));
        let choices = items(&schema["oneOf"]);
        let is_object =
            !choices.is_empty() || schema["allOf"].is_array() || !schema["properties"].is_null();
        if !is_object {
            let kind = type_of(schema);
            writeln!(self.text, " A value: {kind}.")?;
            return Ok(());
        }
        if choices.is_empty() {
            self.text.push('\n');
            return self.properties(schema);
        }
        self.text.push_str("\n\nOne of:\n");
        for choice in choices {
            write!(self.text, "\n- {}", type_of(choice))?;
            self.text
                .push_str(&prefixed(": ", &line(&choice["description"])));
            self.text.push('\n');
            if !choice["properties"].is_null() {
                self.properties(choice)?;
            }
        }
        Ok(())
    }

    fn properties(&mut self, schema: &Value) -> Result {
        self.text.push_str("\n| field | type | |\n|---|---|---|\n");
        self.property_rows(schema)
    }

    fn property_rows(&mut self, schema: &Value) -> Result {
        for part in items(&schema["allOf"]) {
            if let Some(name) = reference(part) {
                let about = cell(&line(&part["description"]));
                writeln!(self.text, "| … | | all fields of {}: {about} |", link(name))?;
            } else {
                self.property_rows(part)?;
            }
        }
        let required = items(&schema["required"]);
        for (name, property) in fields(&schema["properties"]) {
            let is_required = required.iter().any(|field| field == name);
            let mark = if is_required { "" } else { "?" };
            let kind = type_of(property);
            let kind = cell(if is_required {
                &kind
            } else {
                kind.trim_end_matches(" or null")
            });
            let about = cell(&description(property));
            writeln!(self.text, "| `{name}`{mark} | {kind} | {about} |")?;
        }
        Ok(())
    }

    fn errors(&mut self) -> Result {
        self.text.push_str(
            "\n## Errors\n\nEvery error is a [Problem](#problem) with one of these codes.\n",
        );
        self.text.push_str("\n| status | code | |\n|---|---|---|\n");
        let mut codes: Vec<_> = ErrorCode::ALL
            .iter()
            // These concern folders that only commands name.
            .filter(|code| !matches!(code.kind(), ErrorKind::Folder | ErrorKind::InUse))
            .map(|code| (status_of(code.kind()).as_u16(), code.as_str()))
            .collect();
        codes.sort_unstable();
        for (status, code) in codes {
            writeln!(
                self.text,
                "| {status} | `{code}` | {} |",
                cell(&Language::English.problem(code))
            )?;
        }
        Ok(())
    }
}

fn permission(security: &Value) -> String {
    let bearers = items(security).iter().map(|scheme| &scheme["bearer"]);
    let bearers: Vec<&Value> = bearers.filter(|scopes| !scopes.is_null()).collect();
    let permissions = bearers.iter().flat_map(|scopes| items(scopes));
    let permissions: Vec<String> = permissions.map(|one| format!("`{}`", text(one))).collect();
    match (&bearers[..], &permissions[..]) {
        ([], _) => "Needs no key.".to_owned(),
        (_, []) => "Permission: any.".to_owned(),
        (_, permissions) => format!("Permission: {}.", permissions.join(" or ")),
    }
}

/// The types of a body, each with its content type.
fn contents(body: &Value) -> String {
    let types: Vec<String> = fields(&body["content"])
        .map(
            |(kind, content)| match type_of(&content["schema"]).as_str() {
                "string" | "bytes" => format!("`{kind}`"),
                named => format!("{named} as `{kind}`"),
            },
        )
        .collect();
    types.join(", ")
}

fn type_of(schema: &Value) -> String {
    if let Some(name) = reference(schema) {
        return link(name);
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(choices) = schema[key].as_array() {
            return choices.iter().map(type_of).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .map(|value| format!("`{}`", text(value)))
            .collect::<Vec<_>>()
            .join(", ");
    }
    match &schema["type"] {
        Value::Array(kinds) => {
            let kinds = kinds.iter().map(|kind| simple_type(text(kind), schema));
            kinds.collect::<Vec<_>>().join(" or ")
        }
        kind => simple_type(text(kind), schema),
    }
}

fn simple_type(kind: &str, schema: &Value) -> String {
    let most = |key: &str| match schema[key].as_u64() {
        Some(most) => format!(", at most {most}"),
        None => String::new(),
    };
    match (kind, text(&schema["format"])) {
        ("array", _) => format!("list of {}{}", type_of(&schema["items"]), most("maxItems")),
        ("object", _) if schema["additionalProperties"].is_object() => {
            format!("map to {}", type_of(&schema["additionalProperties"]))
        }
        ("object", _) if !schema["properties"].is_null() => object_type(schema),
        ("string", "date") => "date".to_owned(),
        ("string", "date-time") => "time".to_owned(),
        ("string", "binary") => "bytes".to_owned(),
        ("string", _) => format!("string{}", most("maxLength")),
        ("integer", _) => format!("integer{}", most("maximum")),
        ("", _) => "any".to_owned(),
        (kind, _) => kind.to_owned(),
    }
}

/// An object without a name: `{kind: "backup", keep, …}`.
fn object_type(schema: &Value) -> String {
    let field = |(name, property): (&String, &Value)| match property["enum"].as_array() {
        Some(values) if values.len() == 1 => format!("\"{name}\": \"{}\"", text(&values[0])),
        _ => format!("\"{name}\""),
    };
    let names: Vec<String> = fields(&schema["properties"]).map(field).collect();
    format!("`{{{}}}`", names.join(", "))
}

/// What is said of a property, or of the one type that it may have.
fn description(property: &Value) -> String {
    match property["oneOf"].as_array() {
        Some(choices) if property["description"].is_null() => line(&choices[0]["description"]),
        _ => line(&property["description"]),
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn link(name: &str) -> String {
    format!("[{name}](#{})", name.to_lowercase())
}

pub(super) fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn fields(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flat_map(Map::iter)
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn line(value: &Value) -> String {
    text(value).replace('\n', " ")
}

fn sentence(value: &Value) -> String {
    let line = line(value);
    if line.is_empty() || line.ends_with('.') {
        line
    } else {
        line + "."
    }
}

fn prefixed(prefix: &str, text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("{prefix}{text}")
    }
}

/// In a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
