//! Where links of the repository lead on the site.

use super::sources::SOURCES;

/// Where files are that the site has not.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");

/// The path on the site of a file of the repository.
pub(super) fn page_of(source: &str) -> String {
    let path = source.strip_prefix("docs/").unwrap_or(source);
    match path.strip_suffix(".md") {
        _ if source == "README.md" => "index.html".to_owned(),
        _ if source == super::CONTENTS => "contents.html".to_owned(),
        None => path.to_owned(),
        Some(stem) => match stem.strip_suffix("README") {
            Some(folder) => format!("{folder}index.html"),
            None => format!("{stem}.html"),
        },
    }
}

/// A link of a page, as it is on the page at a path of the site. `source`: the file that has it.
pub(super) fn on_page(source: &str, at: &str, link: &str) -> String {
    if link.starts_with('#') || link.contains("://") || link.starts_with("mailto:") {
        return link.to_owned();
    }
    let (path, fragment) = match link.split_once('#') {
        Some((path, fragment)) => (path, format!("#{fragment}")),
        None => (link, String::new()),
    };
    let target = resolved(source, path);
    let leads = if SOURCES.iter().any(|(source, _)| *source == target) {
        relative(at, &page_of(&target))
    } else {
        format!("{REPOSITORY}{target}")
    };
    leads + &fragment
}

/// A path of the site as seen from a page.
pub(super) fn relative(from: &str, to: &str) -> String {
    "../".repeat(from.matches('/').count()) + to
}

/// A relative path from a file of the repository, from the repository's root.
fn resolved(source: &str, path: &str) -> String {
    let mut parts: Vec<&str> = source.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_or_to_the_repository() {
        let guide = "docs/guides/partner.md";
        let on_guide = |link| on_page(guide, &page_of(guide), link);
        assert_eq!(
            on_guide("../reference/api.md#errors"),
            "../reference/api.html#errors"
        );
        assert_eq!(on_guide("../../README.md"), "../index.html");
        assert_eq!(on_guide("../case/README.md"), "../case/index.html");
        assert_eq!(on_guide("#start"), "#start");
        assert_eq!(
            on_guide("https://example.org/a.md"),
            "https://example.org/a.md"
        );
        assert_eq!(on_guide("../../Makefile"), format!("{REPOSITORY}Makefile"));
    }
}
