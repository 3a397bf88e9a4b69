use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use walkdir::WalkDir;

use super::sources::SOURCES;
use super::{Files, Host, files, write};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn it_has_every_file_of_the_documentation() {
    let folder = WalkDir::new(Path::new(ROOT).join("docs")).into_iter();
    let mut there: BTreeSet<String> = folder
        .map(|entry| entry.expect("readable"))
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let path = entry.path().strip_prefix(ROOT).expect("below the root");
            path.to_str().expect("UTF-8").to_owned()
        })
        .collect();
    there.insert("README.md".to_owned());
    let listed: BTreeSet<String> = SOURCES.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(listed, there);
}

/// The values of an attribute.
fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let before = format!(" {attribute}=\"");
    let parts = html.split(before.as_str()).skip(1);
    parts
        .filter_map(|part| Some(part.split_once('"')?.0))
        .collect()
}

fn text<'a>(files: &'a Files, path: &str) -> &'a str {
    let content = files.get(path).unwrap_or_else(|| panic!("no {path}"));
    std::str::from_utf8(content).expect("UTF-8")
}

/// The path of the site that a link of a page leads to.
fn target(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop().expect("within the site")),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn every_link_leads_somewhere() {
    let files = files(Host::Files);
    let mut followed = 0;
    for page in files
        .keys()
        .filter(|path| path.rsplit('.').next() == Some("html"))
    {
        let html = text(&files, page);
        for link in [values(html, "href"), values(html, "src")].concat() {
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            if path.contains("://") || path.starts_with("data:") {
                if let Some(file) = path.split_once("/blob/main/").map(|(_, file)| file) {
                    assert!(Path::new(ROOT).join(file).exists(), "{page}: {link}");
                }
                continue;
            }
            let to = if path.is_empty() {
                page.clone()
            } else {
                target(page, path)
            };
            assert!(files.contains_key(&to), "{page}: {link}");
            if !fragment.is_empty() {
                let ids = values(text(&files, &to), "id");
                assert!(ids.contains(&fragment), "{page}: {link}");
            }
            followed += 1;
        }
    }
    assert!(followed > 1_000, "{followed}");
}

#[test]
fn parts_can_be_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = write(folder.path()).expect("it is written");
    assert_eq!(written, files(Host::Files).len());
    let index = fs::read_to_string(folder.path().join("parts.js")).expect("an index");
    let index = index.strip_prefix("globalThis.parts = ").expect("a script");
    let index: Vec<serde_json::Value> =
        serde_json::from_str(index.trim_end_matches(";\n")).expect("JSON");
    let of_gate = index
        .iter()
        .find(|part| part["at"] == "reference/books.html#quarantine");
    assert!(
        of_gate.expect("a part")["text"]
            .as_str()
            .expect("text")
            .len()
            > 100
    );
    let start = fs::read_to_string(folder.path().join("index.html")).expect("a page");
    assert!(start.contains("<h1 id=\"lapidary\">") && !start.contains("api/\">"));
}
