//! What all pages have: head, search, navigation.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pulldown_cmark::{Event, Tag, TagEnd};

use super::links::{on_page, relative};
use super::markdown::{Rendered, parser};
use super::sources::SOURCES;
use super::{CONTENTS, Host};

/// The start page in Russian.
const RUSSIAN: &str = "ru.html";

/// A group of the navigation.
#[derive(Debug, Default)]
pub(super) struct Group {
    name: String,
    /// Names, and links as the contents have them.
    links: Vec<(String, String)>,
}

/// The navigation: of the contents, each group's name is bold, and has a list of links.
pub(super) fn groups() -> Vec<Group> {
    let contents = SOURCES.iter().find(|(path, _)| *path == CONTENTS);
    let markdown = contents.map_or("", |(_, text)| std::str::from_utf8(text).unwrap_or(""));
    let (mut groups, mut text) = (Vec::<Group>::new(), String::new());
    for event in parser(markdown) {
        match event {
            Event::Start(Tag::Strong | Tag::Link { .. }) => {
                text.clear();
                if let (Event::Start(Tag::Link { dest_url, .. }), Some(group)) =
                    (&event, groups.last_mut())
                {
                    group.links.push((String::new(), dest_url.to_string()));
                }
            }
            Event::Text(some) | Event::Code(some) => text.push_str(&some),
            Event::End(TagEnd::Strong) => groups.push(Group {
                name: text.trim_end_matches(':').to_owned(),
                links: Vec::new(),
            }),
            Event::End(TagEnd::Link) => {
                if let Some((name, _)) = groups.last_mut().and_then(|group| group.links.last_mut())
                {
                    *name = capitalised(&text);
                }
            }
            _ => {}
        }
    }
    groups
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// A page at a path of the site.
pub(super) fn page(host: Host, groups: &[Group], at: &str, rendered: &Rendered) -> Markup {
    let to = |path: &str| relative(at, path);
    let is_russian = at == RUSSIAN;
    html! {
        (DOCTYPE)
        html lang=(if is_russian { "ru" } else { "en" }) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (rendered.title) @if at != "index.html" { " · Lapidary" } }
                link rel="stylesheet" href=(to("site.css"));
                script defer src=(to("site.js")) data-root=(to("")) {}
            }
            body {
                a.skip href="#content" { (if is_russian { "К тексту" } else { "Skip to the text" }) }
                header {
                    a.name href=(to("index.html")) { "Lapidary" }
                    (search(is_russian))
                    nav aria-label=(if is_russian { "Язык" } else { "Language" }) {
                        @if is_russian {
                            a href=(to("index.html")) lang="en" { "English" }
                        } @else {
                            a href=(to(RUSSIAN)) lang="ru" { "Русский" }
                        }
                    }
                }
                (navigation(host, groups, at))
                main #content { (PreEscaped(&rendered.html)) }
            }
        }
    }
}

fn search(is_russian: bool) -> Markup {
    let name = if is_russian { "Поиск" } else { "Search" };
    html! {
        div.search role="search" {
            input #search type="search" placeholder=(name) aria-label=(name) autocomplete="off"
                aria-controls="found";
            ol #found aria-live="polite" hidden {}
        }
    }
}

fn navigation(host: Host, groups: &[Group], at: &str) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            @for group in groups {
                details open {
                    summary { (group.name) }
                    ul {
                        @for (name, link) in &group.links {
                            @let link = on_page(CONTENTS, at, link);
                            li {
                                a href=(link) aria-current=[is_here(&link, at).then_some("page")] { (name) }
                            }
                        }
                        @if host == Host::Server && group.name == "Reference" {
                            li { a href=(relative(at, "api/")) { "Try the API" } }
                        }
                    }
                }
            }
        }
    }
}

fn is_here(link: &str, at: &str) -> bool {
    link == relative(at, at)
}
