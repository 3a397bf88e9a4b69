//! HTML and XHTML: uses the standard's tokenizer, which accepts any input, and builds no tree.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use quick_xml::events::BytesStart;

use super::encoding::Encoding;
use super::headings::Heading;
use super::limits::Budget;
use super::prose::{Prose, phrase};
use super::xml::{self, Visitor};
use super::{ExtractError, Extracted, Format, MainText, plain};
use crate::description::Description;

/// Elements that are not part of the text.
const SKIPPED: &[&str] =
    &["script", "style", "nav", "template", "iframe", "noscript", "noembed", "noframes", "datalist"];
/// Elements that begin and end a line, but not a paragraph.
const LINES: &[&str] = &["br", "td", "th", "dt"];
/// Inline elements; all others begin and end a paragraph.
const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "q", "rb", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
    "time", "tt", "u", "var", "wbr", "img",
];

const HEADINGS: [&str; 4] = ["h1", "h2", "h3", "h4"];

#[derive(Default)]
struct Reader {
    prose: Prose,
    metadata: Description,
    /// The element being skipped, and its nesting depth.
    skipped: Option<(String, usize)>,
    title: Option<String>,
    language_next: bool,
    meta: Meta,
    /// Whether a tag with a trailing slash is an empty element.
    is_xhtml: bool,
    /// The name of the tag being read, in XHTML.
    tag: String,
}

/// A `meta` element.
#[derive(Default)]
struct Meta {
    attribute: String,
    name: String,
    content: String,
}

/// Reads a page.
pub(super) fn read(
    bytes: Vec<u8>,
    encoding: Option<Encoding>,
    main: Option<&MainText>,
    budget: &Budget,
) -> Result<Extracted, ExtractError> {
    let declared = || declared(&bytes).filter(|declared| !xml::is_utf8(&bytes, *declared));
    let given = encoding.or_else(|| if Encoding::of_mark(&bytes).is_some() { None } else { declared() });
    let (document, encoding) = match given {
        // The declared encoding is often wrong; then it is detected.
        Some(given) if encoding.is_none() => match given.decode(bytes.clone()) {
            Ok(text) => (text, given),
            Err(_) => plain::read(bytes.into(), None).map(|read| (read.text, read.encoding))?,
        },
        given => plain::read(bytes.into(), given).map(|read| (read.text, read.encoding))?,
    };
    let Page { mut text, mut headings, metadata } = page(&document, budget)?;
    if let Some(main) = main {
        // What the page says of itself is elsewhere.
        Page { text, headings, .. } = page(&main.of(&document)?, budget)?;
        if !text.contains(char::is_alphanumeric) {
            return Err(main.missing());
        }
    }
    Ok(Extracted { format: Format::Html, text, headings, metadata, encoding: Some(encoding) })
}

/// What a page contains.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) headings: Vec<Heading>,
    pub(super) metadata: Description,
}

/// Reads a page.
pub(super) fn page(document: &str, budget: &Budget) -> Result<Page, ExtractError> {
    let start = document.trim_start();
    let is_xhtml =
        start.starts_with("<?xml") || start.get(..1_000).unwrap_or(start).contains("http://www.w3.org/1999/xhtml");
    let mut reader = Reader::default();
    if is_xhtml {
        match xml::walk(document, budget, &mut reader) {
            Ok(()) => return Ok(reader.finish()),
            Err(error @ ExtractError::OverLimit(_)) => return Err(error),
            // Like many pages, it is not what it claims to be.
            Err(_) => reader = Reader { is_xhtml, ..Reader::default() },
        }
    }
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
        reader.event(&event);
        None
    });
    // In XHTML any element may be empty.
    emitter.naively_switch_states(!is_xhtml);
    Tokenizer::new_with_emitter(document, emitter).for_each(drop);
    Ok(reader.finish())
}

/// The encoding declared by a `meta` element near the start.
fn declared(bytes: &[u8]) -> Option<Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(2_048)]).to_ascii_lowercase();
    let value = start.split("charset").nth(1).or_else(|| start.strip_prefix("<?xml")?.split("encoding").nth(1))?;
    let value = value.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let name = value.split(['"', '\'', '>', ';', ' ', '/', '?']).next()?;
    name.parse::<Encoding>().ok().filter(|encoding| !encoding.is_wide())
}

impl Reader {
    fn finish(self) -> Page {
        let (text, headings) = self.prose.finish();
        Page { text, headings, metadata: self.metadata }
    }

    fn event(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.meta = Meta::default();
                let name = String::from_utf8_lossy(name);
                self.open(&name);
                if self.is_xhtml {
                    self.tag = name.into_owned();
                }
            }
            CallbackEvent::AttributeName { name } => self.meta.attribute = String::from_utf8_lossy(name).into_owned(),
            CallbackEvent::AttributeValue { value } => {
                let name = std::mem::take(&mut self.meta.attribute);
                self.attribute(&name, &String::from_utf8_lossy(value));
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                self.meta();
                if *self_closing && self.is_xhtml {
                    let name = std::mem::take(&mut self.tag);
                    self.close(&name);
                }
            }
            CallbackEvent::EndTag { name } => self.close(&String::from_utf8_lossy(name)),
            CallbackEvent::String { value } => self.characters(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
    }

    fn open(&mut self, name: &str) {
        match &mut self.skipped {
            Some((skipped, depth)) => *depth += usize::from(skipped == name),
            None if SKIPPED.contains(&name) => self.skipped = Some((name.to_owned(), 1)),
            None if name == "title" => self.title = Some(String::new()),
            None => {
                self.border(name);
                if HEADINGS.contains(&name) {
                    self.prose.begin_heading();
                }
            }
        }
        self.language_next = name == "html";
    }

    fn close(&mut self, name: &str) {
        match &mut self.skipped {
            Some((skipped, depth)) => {
                *depth -= usize::from(skipped == name);
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            None if name == "title" => {
                let title = self.title.take().and_then(|title| phrase(&title));
                self.metadata.title = self.metadata.title.take().or(title);
            }
            None => {
                if HEADINGS.contains(&name) {
                    self.prose.end_heading();
                }
                self.border(name);
            }
        }
    }

    /// Handles the start or end of an element.
    fn border(&mut self, name: &str) {
        if LINES.contains(&name) {
            self.prose.line();
        } else if !INLINE.contains(&name) {
            self.prose.paragraph();
        }
    }

    fn attribute(&mut self, name: &str, value: &str) {
        match name {
            "lang" if self.language_next => self.metadata.language = phrase(value),
            "name" => self.meta.name = value.to_ascii_lowercase(),
            "content" => value.clone_into(&mut self.meta.content),
            _ => {}
        }
    }

    fn meta(&mut self) {
        let Meta { name, content, .. } = std::mem::take(&mut self.meta);
        let Some(content) = phrase(&content) else { return };
        match name.as_str() {
            "author" | "dc.creator" => self.metadata.authors.push(content),
            "dc.language" => self.metadata.language = Some(content),
            "dc.title" => self.metadata.title = Some(content),
            _ => {}
        }
    }

    fn characters(&mut self, text: &str) {
        match (&self.skipped, &mut self.title) {
            (Some(_), _) => {}
            (None, Some(title)) => title.push_str(text),
            (None, None) => self.prose.text(text),
        }
    }
}

impl Visitor for Reader {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.meta = Meta::default();
        self.open(name);
        if matches!(name, "html" | "meta") {
            for attribute in tag.attributes().with_checks(false).flatten() {
                self.attribute(attribute.key.local_name().into_inner(), &xml::unescaped(&attribute.value));
            }
            self.meta();
        }
    }

    fn end(&mut self, name: &str) {
        self.close(name);
    }

    fn text(&mut self, text: &str) {
        self.characters(text);
    }
}
