//! Markdown to HTML: with ids of headings as on GitHub, links of the site, and the text of each part for the search.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::links;

/// A page in HTML.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    pub(super) title: String,
    pub(super) html: String,
    /// From each heading to the next.
    pub(super) parts: Vec<Part>,
}

/// A part of a page.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) id: String,
    pub(super) heading: String,
    pub(super) text: String,
}

pub(super) fn is_markdown(path: &str) -> bool {
    Path::new(path).extension() == Some(OsStr::new("md"))
}

/// The parser of all pages.
pub(super) fn parser(markdown: &str) -> Parser<'_> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES)
}

/// Renders a file of the repository for a path of the site.
pub(super) fn render(source: &str, at: &str, markdown: &str) -> Rendered {
    let mut events: Vec<Event<'_>> = parser(markdown).collect();
    let parts = parts_of(&events);
    let mut ids = parts.iter().map(|part| part.id.clone());
    for event in &mut events {
        match event {
            Event::Start(Tag::Heading { id, .. }) => *id = ids.next().map(CowStr::from),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                *dest_url = links::on_page(source, at, dest_url).into();
            }
            _ => {}
        }
    }
    let mut rendered = String::new();
    html::push_html(&mut rendered, events.into_iter());
    // What is too wide can be scrolled by keyboard.
    let rendered = rendered
        .replace("<pre>", "<pre tabindex=\"0\">")
        .replace("<table>", "<div class=\"wide\" tabindex=\"0\"><table>")
        .replace("</table>", "</table></div>");
    let title = parts.first().map(|part| part.heading.clone());
    Rendered {
        title: title.unwrap_or_default(),
        html: rendered,
        parts,
    }
}

/// The parts of a page, one for each heading. What comes before the first is left out.
fn parts_of(events: &[Event<'_>]) -> Vec<Part> {
    let (mut parts, mut ids) = (Vec::<Part>::new(), HashMap::<String, usize>::new());
    let mut in_heading = false;
    for event in events {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                in_heading = true;
                parts.push(Part::default());
            }
            Event::End(TagEnd::Heading(_)) => {
                in_heading = false;
                if let Some(part) = parts.last_mut() {
                    part.id = unique(slug(&part.heading), &mut ids);
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(part) = parts.last_mut() {
                    let to = if in_heading {
                        &mut part.heading
                    } else {
                        &mut part.text
                    };
                    to.push_str(text);
                }
            }
            Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                if let Some(part) = parts.last_mut()
                    && !in_heading
                    && !part.text.ends_with(' ')
                {
                    part.text.push(' ');
                }
            }
            _ => {}
        }
    }
    parts
}

/// The id of a heading as GitHub makes it.
fn slug(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let lower = heading.to_lowercase();
    lower
        .chars()
        .filter(kept)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn unique(id: String, ids: &mut HashMap<String, usize>) -> String {
    let times = ids.entry(id.clone()).or_default();
    *times += 1;
    if *times == 1 {
        id
    } else {
        format!("{id}-{}", *times - 1)
    }
}
