//! The documents are right: the API's description is that of the program and stands in `docs/openapi.json`, and the tests that
//! `docs/reference/security.md` names exist.

use std::fs;
use std::path::Path;

use lapidary::server::openapi;
use serde_json::Value;
use walkdir::WalkDir;

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

/// The tests that `docs/reference/security.md` names, each with its file.
#[test]
fn every_test_that_is_named_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources: Vec<String> = ["src", "tests"]
        .into_iter()
        .flat_map(|folder| WalkDir::new(root.join(folder)))
        .filter_map(|entry| fs::read_to_string(entry.ok().filter(|entry| entry.file_type().is_file())?.path()).ok())
        .collect();
    let page = fs::read_to_string(root.join("docs/reference/security.md")).expect("a page");
    let mut named = 0;
    for row in page.lines().filter(|line| line.starts_with('|')) {
        let shown_by = row.trim_end_matches(['|', ' ']).rsplit('|').next().expect("a column");
        for name in shown_by.split('`').skip(1).step_by(2).filter(|name| name.matches('_').count() > 1) {
            // The end of a long one may be left out.
            let start = format!("fn {}", name.trim_end_matches('…'));
            let end = if name.ends_with('…') { "" } else { "(" };
            assert!(sources.iter().any(|source| source.contains(&(start.clone() + end))), "{name}");
            named += 1;
        }
    }
    assert!(named > 20, "{named}");
}
