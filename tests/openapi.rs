//! The API's description is that of the program, and stands in `docs/openapi.json`.

use std::fs;

use lapidary::server::openapi;
use serde_json::Value;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/openapi.json");

#[test]
fn the_description_is_up_to_date() {
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        fs::write(FILE, openapi()).expect("a file");
    }
    let written = fs::read_to_string(FILE).expect("docs/openapi.json");
    let same = written == openapi();
    assert!(same, "docs/openapi.json is of other calls: UPDATE_OPENAPI=1 cargo test --test openapi writes it anew");
}

#[test]
fn it_is_openapi_and_every_reference_leads_somewhere() {
    let text = openapi();
    let api: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(api["openapi"], "3.1.0");
    for reference in text.split("\"$ref\": \"#").skip(1) {
        let pointer = reference.split('"').next().expect("an end");
        assert!(api.pointer(pointer).is_some(), "{pointer}");
    }
}

/// Parts of a whole that allow no other fields allow nothing together: no client could send what is described so.
#[test]
fn nothing_is_composed_of_what_allows_no_other_fields() {
    let api: Value = serde_json::from_str(&openapi()).expect("JSON");
    for (name, schema) in api["components"]["schemas"].as_object().expect("schemas") {
        for part in schema["allOf"].as_array().into_iter().flatten() {
            let part = part["$ref"].as_str().map_or(Some(part), |to| api.pointer(to.trim_start_matches('#')));
            assert_ne!(part.expect("it leads somewhere")["additionalProperties"], false, "{name}");
        }
    }
}
