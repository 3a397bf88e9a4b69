//! The documentation as a site: the server has it at `/docs/`, and `lapidary docs` writes it to a folder. It is made from the Markdown of
//! the repository, which the program contains.

mod links;
mod markdown;
mod page;
mod sources;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use serde::Serialize;

use self::markdown::{Rendered, render};
use self::sources::SOURCES;
use lapidary_report::TOKENS;

/// The page that the navigation is made from.
const CONTENTS: &str = "docs/README.md";

/// Who has the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// A server, which also has the explorer of its API, at `api/`.
    Server,
    /// A folder of files.
    Files,
}

/// The files of the site by their paths, such as `reference/api.html`.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The site of a server.
pub static OF_SERVER: LazyLock<Files> = LazyLock::new(|| files(Host::Server));

/// A part of a page that can be found.
#[derive(Serialize)]
struct Entry<'a> {
    /// The address of the part.
    at: String,
    page: &'a str,
    heading: &'a str,
    text: &'a str,
}

/// All files of the site.
#[must_use]
pub fn files(host: Host) -> Files {
    let mut files = Files::new();
    let mut pages: Vec<(String, Rendered)> = Vec::new();
    for (path, content) in SOURCES {
        let at = links::page_of(path);
        match (markdown::is_markdown(path), std::str::from_utf8(content)) {
            (true, Ok(text)) => pages.push((at.clone(), render(path, &at, text))),
            _ => {
                files.insert(at, content.to_vec());
            }
        }
    }
    let groups = page::groups();
    for (at, rendered) in &pages {
        let page = page::page(host, &groups, at, rendered);
        files.insert(at.clone(), page.into_string().into_bytes());
    }
    let style = [TOKENS, include_str!("site.css")].concat();
    files.insert("site.css".to_owned(), style.into_bytes());
    files.insert("site.js".to_owned(), include_bytes!("site.js").to_vec());
    files.insert("parts.js".to_owned(), index(&pages));
    files
}

/// What the search on the pages loads.
fn index(pages: &[(String, Rendered)]) -> Vec<u8> {
    let mut entries = Vec::new();
    for (at, rendered) in pages {
        for part in &rendered.parts {
            entries.push(Entry {
                at: format!("{at}#{}", part.id),
                page: &rendered.title,
                heading: &part.heading,
                text: &part.text,
            });
        }
    }
    // Only text is serialized, and to memory.
    let parts = serde_json::to_string(&entries).unwrap_or_default();
    format!("globalThis.parts = {parts};\n").into_bytes()
}

/// Writes the site to a folder, which is created. Returns the number of files.
///
/// # Errors
/// Those of writing.
pub fn write(folder: &Path) -> io::Result<usize> {
    let files = files(Host::Files);
    for (path, content) in &files {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(file, content)?;
    }
    Ok(files.len())
}

#[cfg(test)]
mod tests;
