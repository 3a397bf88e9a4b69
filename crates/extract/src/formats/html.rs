//! HTML and XHTML: uses the standard's tokenizer, which accepts any input, and builds no tree, unless a style may hide text.

use std::convert::Infallible;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use dom_query::Document;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use quick_xml::events::BytesStart;

use super::{BookFile, FormatReader, FormatSign, FormatSpec, plain};
use crate::encoding::Encoding;
use crate::hidden::{HiddenWords, Hiding};
use crate::limits::{Budget, Limit};
use crate::prose::{Prose, phrase};
use crate::sniff::Markup;
use crate::style::{
    ABOUT, ATTRIBUTES, REPLACED, Sheets, Suspicion, TreeBuilder, applies, read_seen, remove_hidden,
    usual_factor,
};
use crate::xml::{self, Visitor};
use crate::{ExtractError, Extracted, Format};
use lapidary_common::description::Description;

/// Elements that are not part of the text.
const SKIPPED: &[&str] = &[
    "script", "style", "nav", "template", "iframe", "noscript", "noembed", "noframes", "datalist",
];
/// Those in which styles do not count.
const INERT: &[&str] = &["template", "iframe", "noscript", "noembed", "noframes"];
/// Elements that begin and end a line, but not a paragraph.
const LINES: &[&str] = &["br", "td", "th", "dt"];
/// Inline elements; all others begin and end a paragraph.
const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "ins", "kbd", "label", "mark", "q", "rb", "rt", "ruby", "s", "samp", "small",
    "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "img",
];

/// Elements without content.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
];
/// Elements that others of their kind close.
const IMPLIED: &[&str] = &[
    "p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "option",
];
/// How many times deeper than the limit a page may look, because elements are not closed.
const UNCLOSED: u64 = 10;

const HEADINGS: [&str; 4] = ["h1", "h2", "h3", "h4"];

/// Reads the text of a page, tag by tag.
#[derive(Default)]
pub(crate) struct PageReader {
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
    styles: PageStyles,
}

/// A style sheet of a page.
#[derive(Debug)]
struct StyleSource {
    sheet: Written,
    /// Whether only the readers of books apply it, in which there are no scripts.
    in_books: bool,
}

/// Where a style sheet is written.
#[derive(Debug)]
enum Written {
    Inline(String),
    /// Elsewhere, at this address.
    Linked(String),
}

/// The styles of a page.
#[derive(Default)]
struct PageStyles {
    sources: Vec<StyleSource>,
    /// What styles there are outside of sheets.
    suspicion: Suspicion,
    /// How deep elements are nested, now and at most; of those that are closed, and of all.
    depth: usize,
    deepest: usize,
    depth_of_all: usize,
    deepest_of_all: usize,
    /// The element being read.
    name: String,
    /// The element around it whose styles do not count, and its nesting depth.
    inert: Option<(String, usize)>,
    /// The `link` or `style` being read.
    link: Option<Link>,
    /// The title of the first sheet that has one: others with a title are not applied.
    title: String,
    last_style: String,
    has_picture: bool,
    /// Whether lengths need no unit, as in old pages.
    is_quirky: bool,
}

/// A `link` or `style` element.
#[derive(Default)]
struct Link {
    is_style: bool,
    is_sheet: bool,
    is_disabled: bool,
    address: String,
    media: String,
    kind: String,
    title: String,
    sheet: String,
}

impl PageStyles {
    fn open(&mut self, name: &str) {
        if !VOID.contains(&name) {
            self.depth_of_all += 1;
            self.deepest_of_all = self.deepest_of_all.max(self.depth_of_all);
            if !IMPLIED.contains(&name) {
                self.depth += 1;
                self.deepest = self.deepest.max(self.depth);
            }
        }
        name.clone_into(&mut self.name);
        match &mut self.inert {
            Some((inert, depth)) => *depth += usize::from(inert == name),
            None if INERT.contains(&name) => self.inert = Some((name.to_owned(), 1)),
            None => {}
        }
        match name {
            "link" => self.link = Some(Link::default()),
            "style" => {
                self.link = Some(Link {
                    is_style: true,
                    is_sheet: true,
                    ..Link::default()
                });
            }
            "img" | "image" => self.has_picture = true,
            "dialog" => self.suspicion.confirm(),
            name if REPLACED.contains(&name) || ABOUT.contains(&name) => self.suspicion.confirm(),
            name => self.suspicion.shrink(usual_factor(name)),
        }
    }

    fn attribute(&mut self, name: &str, value: &str) {
        match (name, &mut self.link) {
            ("hidden" | "popover", _) => self.suspicion.confirm(),
            ("style", _) if value != self.last_style => {
                self.suspicion.add_style(value);
                value.clone_into(&mut self.last_style);
            }
            ("color" | "text" | "link" | "bgcolor" | "background" | "size", _) => {
                self.suspicion.add_attribute(&self.name, name, value);
            }
            ("media", Some(link)) => value.clone_into(&mut link.media),
            ("href", Some(link)) => value.clone_into(&mut link.address),
            ("type", Some(link)) => value.trim().clone_into(&mut link.kind),
            ("title", Some(link)) => value.clone_into(&mut link.title),
            ("disabled", Some(link)) => link.is_disabled = !link.is_style,
            ("rel", Some(link)) if !link.is_style => {
                let words: Vec<String> = value
                    .split_ascii_whitespace()
                    .map(str::to_ascii_lowercase)
                    .collect();
                link.is_sheet = words.iter().any(|word| word == "stylesheet")
                    && !words.iter().any(|word| word == "alternate");
            }
            _ => {}
        }
    }

    /// The end of a start tag.
    fn opened(&mut self) {
        if let Some(mut link) = self.link.take_if(|link| !link.is_style) {
            let address = std::mem::take(&mut link.address);
            self.add(&link, Written::Linked(address));
        }
    }

    fn close(&mut self, name: &str) {
        if !VOID.contains(&name) {
            self.depth_of_all = self.depth_of_all.saturating_sub(1);
            if !IMPLIED.contains(&name) {
                self.depth = self.depth.saturating_sub(1);
            }
        }
        if let Some((inert, depth)) = &mut self.inert
            && inert == name
        {
            *depth -= 1;
            if *depth == 0 {
                self.inert = None;
            }
        }
        if name == "style"
            && let Some(mut link) = self.link.take()
        {
            let sheet = std::mem::take(&mut link.sheet);
            self.add(&link, Written::Inline(sheet));
        }
    }

    fn add(&mut self, link: &Link, sheet: Written) {
        let is_css = link.kind.is_empty() || link.kind.to_ascii_lowercase().starts_with("text/css");
        let in_books = self.inert.is_some();
        // Without scripts, `noscript` is like any other element.
        let is_inert = self
            .inert
            .as_ref()
            .is_some_and(|(name, _)| name != "noscript");
        if link.is_disabled || !link.is_sheet || !is_css || is_inert || !applies(&link.media) {
            return;
        }
        if self.title.is_empty() {
            self.title.clone_from(&link.title);
        }
        if link.title.is_empty() || link.title == self.title {
            self.sources.push(StyleSource { sheet, in_books });
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(link) = &mut self.link {
            link.sheet.push_str(text);
        }
    }

    /// An instruction of XML, before the page.
    fn instruction(&mut self, content: &str) {
        if self.depth_of_all > 0 || !content.starts_with("xml-stylesheet") {
            return;
        }
        let mut link = Link {
            is_sheet: true,
            ..Link::default()
        };
        let tag = BytesStart::from_content(content, "xml-stylesheet".len());
        for attribute in tag.attributes().with_checks(false).flatten() {
            let value = xml::unescaped(&attribute.value).into_owned();
            match attribute.key.local_name().into_inner() {
                "href" => link.address = value,
                "media" => link.media = value,
                "type" => link.kind = value,
                "title" => link.title = value,
                "alternate" => link.is_sheet = value != "yes",
                _ => {}
            }
        }
        let (address, before) = (std::mem::take(&mut link.address), self.sources.len());
        self.add(&link, Written::Linked(address));
        self.sources
            .iter_mut()
            .skip(before)
            .for_each(|source| source.in_books = true);
    }
}

/// A `meta` element.
#[derive(Default)]
struct Meta {
    attribute: String,
    name: String,
    content: String,
}

/// What there is to know of it.
pub(super) const FORMAT: FormatSpec = FormatSpec {
    name: "html",
    title: "an HTML page",
    extensions: &["html", "htm", "xhtml"],
    media_types: &["application/xhtml", "text/html", "application/html"],
    loss: 3,
    reader: FormatReader::File(&[FormatSign::Markup(is_page)], read),
};

/// Whether it is a page, also by its name if it has no root.
fn is_page(markup: &Markup<'_>) -> bool {
    markup.is_html
        || ["html", "head", "body"]
            .iter()
            .any(|name| markup.root.eq_ignore_ascii_case(name))
        || !markup.is_xml
            && markup.file_name.is_some_and(|name| {
                let (_, extension) = name.rsplit_once('.').unwrap_or_default();
                let extension = extension.to_ascii_lowercase();
                FORMAT.extensions.contains(&extension.as_str())
            })
}

/// Reads a page.
pub(crate) fn read(file: BookFile<'_>, budget: &mut Budget) -> Result<Extracted, ExtractError> {
    let BookFile {
        bytes,
        encoding,
        main,
    } = file;
    let bytes = bytes.into_vec();
    let given = encoding.or_else(|| {
        if Encoding::of_mark(&bytes).is_some() {
            return None;
        }
        declared(&bytes).filter(|declared| !xml::is_utf8(&bytes, *declared))
    });
    let (document, encoding) = match given {
        // The declared encoding is often wrong; then it is detected.
        Some(given) if encoding.is_none() => match given.decode(bytes.clone()) {
            Ok(text) => (text, given),
            Err(_) => plain::read(bytes.into(), None).map(|read| (read.text, read.encoding))?,
        },
        given => plain::read(bytes.into(), given).map(|read| (read.text, read.encoding))?,
    };
    let mut linked = Linked::nowhere();
    let mut read = page(&document, &mut linked, budget)?;
    if let Some(main) = main {
        let (seen, hidden) = seen(document, &mut linked, budget)?;
        // What the page says of itself is elsewhere.
        let metadata = std::mem::take(&mut read.metadata);
        let main_part = format!("<!DOCTYPE html>{}", main.of(&seen)?);
        read = Extracted {
            hidden,
            metadata,
            ..page(&main_part, &mut linked, budget)?
        };
        if !read.text.contains(char::is_alphanumeric) {
            return Err(main.missing());
        }
    }
    Ok(Extracted {
        encoding: Some(encoding),
        ..read
    })
}

/// Where the style sheets of a page are that are not in the page itself.
pub(super) struct Linked<'a> {
    /// Finds the sheet with this address, which is relative to the page, or to the sheet that imports it.
    find: FindSheet<'a>,
    /// Whether the pages are those of a book, in XHTML or nearly.
    is_book: bool,
    /// The last sheets, which are often those of the next page too.
    last: Option<(Vec<Rc<str>>, Rc<Sheets>)>,
}

/// Finds the style sheet with an address, which another sheet may import.
pub(super) type FindSheet<'a> =
    Box<dyn FnMut(&str, Option<&str>, &mut Budget) -> Result<Option<Rc<str>>, ExtractError> + 'a>;

/// A style sheet, and its address, if it has one.
type SheetText<'s> = (Rc<str>, Option<&'s str>);

impl<'a> Linked<'a> {
    /// Sheets of a book are where `find` finds them.
    pub(super) fn new(find: FindSheet<'a>) -> Self {
        Self {
            find,
            is_book: true,
            last: None,
        }
    }

    /// Nothing that is linked is read.
    pub(super) fn nowhere() -> Self {
        Self {
            is_book: false,
            ..Self::new(Box::new(|_, _, _| Ok(None)))
        }
    }

    fn find(
        &mut self,
        address: &str,
        by: Option<&str>,
        budget: &mut Budget,
    ) -> Result<Option<Rc<str>>, ExtractError> {
        match address.trim().get(..5) {
            Some(scheme) if scheme.eq_ignore_ascii_case("data:") => {
                Ok(in_address(&address.trim()[5..]).map(Rc::from))
            }
            _ => (self.find)(address, by, budget),
        }
    }

    /// The sheets of a page that apply.
    fn texts_of<'s>(
        &mut self,
        styles: &'s PageStyles,
        budget: &mut Budget,
    ) -> Result<Vec<SheetText<'s>>, ExtractError> {
        let mut found = Vec::new();
        for source in &styles.sources {
            match &source.sheet {
                _ if source.in_books && !self.is_book => {}
                Written::Inline(sheet) => found.push((sheet.as_str().into(), None)),
                Written::Linked(address) => {
                    let sheet = self.find(address, None, budget)?;
                    found.extend(sheet.map(|sheet| (sheet, Some(address.as_str()))));
                }
            }
        }
        Ok(found)
    }

    /// The rules of the sheets of a page.
    fn sheets(
        &mut self,
        styles: &PageStyles,
        budget: &mut Budget,
    ) -> Result<Rc<Sheets>, ExtractError> {
        let found = self.texts_of(styles, budget)?;
        let texts: Vec<Rc<str>> = found.iter().map(|(sheet, _)| sheet.clone()).collect();
        if let Some((last, sheets)) = &self.last
            && *last == texts
        {
            return Ok(sheets.clone());
        }
        let (mut sheets, mut refused) = (Sheets::default(), None);
        sheets.is_quirky = styles.is_quirky && !self.is_book;
        for (sheet, address) in found {
            sheets.add(
                &sheet,
                &mut |imported| match self.find(imported, address, budget) {
                    Ok(sheet) => sheet.map(|sheet| sheet.to_string()),
                    Err(why) => {
                        refused.get_or_insert(why);
                        None
                    }
                },
            );
        }
        if let Some(why) = refused {
            return Err(why);
        }
        let sheets = Rc::new(sheets);
        self.last = Some((texts, sheets.clone()));
        Ok(sheets)
    }
}

/// The style sheet in a `data:` address, behind its scheme.
fn in_address(address: &str) -> Option<String> {
    let (kind, data) = address.split_once(',')?;
    let kind = kind.to_ascii_lowercase();
    if !kind.trim_start().starts_with("text/css") {
        return None;
    }
    let data: Vec<u8> = percent_encoding::percent_decode_str(data).collect();
    let bytes = if kind.trim_end().ends_with("base64") {
        let data: Vec<u8> = data
            .into_iter()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        STANDARD_NO_PAD
            .decode(
                data.strip_suffix(b"==")
                    .or(data.strip_suffix(b"="))
                    .unwrap_or(&data),
            )
            .ok()?
    } else {
        data
    };
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a page.
pub(super) fn page(
    document: &str,
    linked: &mut Linked<'_>,
    budget: &mut Budget,
) -> Result<Extracted, ExtractError> {
    let reader = first_reading(document, budget)?;
    match hiding_sheets(&reader, linked, budget)? {
        None => Ok(reader.finish()),
        Some(sheets) => {
            let mut seen = PageReader::default();
            read_seen(&tree(document, budget)?, &sheets, budget, &mut seen)?;
            let (has_picture, seen) = (reader.styles.has_picture, seen.finish());
            Ok(if has_picture && is_scan(&seen) {
                reader.finish()
            } else {
                seen
            })
        }
    }
}

/// Whether a page with a picture is one that was scanned: its text lies on the picture, and cannot be seen itself.
fn is_scan(page: &Extracted) -> bool {
    !page.text.contains(char::is_alphanumeric)
        && page.hidden.counts().all(|count| {
            matches!(
                count.method,
                Hiding::InvisibleRendering | Hiding::Transparent
            )
        })
}

/// A page without the text that is not seen, and how much that is.
fn seen(
    document: String,
    linked: &mut Linked<'_>,
    budget: &mut Budget,
) -> Result<(String, HiddenWords), ExtractError> {
    let Some(sheets) = hiding_sheets(&first_reading(&document, budget)?, linked, budget)? else {
        return Ok((document, HiddenWords::default()));
    };
    let tree = tree(&document, budget)?;
    let hidden = remove_hidden(&tree, &sheets, budget)?;
    Ok((tree.html().to_string(), hidden))
}

/// The style sheets of a page, if any style may hide text.
fn hiding_sheets(
    reader: &PageReader,
    linked: &mut Linked<'_>,
    budget: &mut Budget,
) -> Result<Option<Rc<Sheets>>, ExtractError> {
    let PageStyles {
        suspicion,
        deepest,
        deepest_of_all,
        ..
    } = &reader.styles;
    let sheets = linked.sheets(&reader.styles, budget)?;
    if sheets.is_cut {
        return Err(budget.limits.met(Limit::Time).into());
    }
    if !sheets.may_hide(suspicion, *deepest_of_all) {
        return Ok(None);
    }
    // The parser of HTML is slow in very deep trees; unclosed elements make many pages deeper than they look.
    if *deepest as u64 > UNCLOSED * budget.limits.depth {
        return Err(budget.limits.met(Limit::Depth).into());
    }
    Ok(Some(sheets))
}

fn is_xhtml(document: &str) -> bool {
    let start = document.trim_start();
    start.starts_with("<?xml")
        || start
            .get(..1_000)
            .unwrap_or(start)
            .contains("http://www.w3.org/1999/xhtml")
}

/// Reads a page as if all of it were seen.
fn first_reading(document: &str, budget: &Budget) -> Result<PageReader, ExtractError> {
    let mut reader = PageReader::default();
    let is_xhtml = is_xhtml(document);
    if is_xhtml {
        match xml::walk(document, budget, &mut reader) {
            Ok(()) => return Ok(reader),
            Err(error @ ExtractError::OverLimit(_)) => return Err(error),
            // Like many pages, it is not what it claims to be.
            Err(_) => {
                reader = PageReader {
                    is_xhtml,
                    ..PageReader::default()
                }
            }
        }
    }
    reader.styles.is_quirky = !is_xhtml && is_quirky(document);
    tokenize(document, is_xhtml, |event| reader.event(event));
    Ok(reader)
}

/// Whether browsers read a page as old ones did, because its document type is old or missing.
fn is_quirky(document: &str) -> bool {
    let start: String = document
        .chars()
        .take(1_000)
        .collect::<String>()
        .to_ascii_lowercase();
    let Some((_, kind)) = start.split_once("<!doctype html") else {
        return true;
    };
    let kind = kind.split('>').next().unwrap_or_default();
    kind.contains("//dtd html") && !kind.contains("http:") && !kind.contains("strict")
}

fn tokenize(document: &str, is_xhtml: bool, mut told: impl FnMut(&CallbackEvent<'_>)) {
    let mut emitter = CallbackEmitter::new(
        |event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
            told(&event);
            None
        },
    );
    // In XHTML any element may be empty.
    emitter.naively_switch_states(!is_xhtml);
    Tokenizer::new_with_emitter(document, emitter).for_each(drop);
}

/// The tree of a page.
fn tree(document: &str, budget: &Budget) -> Result<Document, ExtractError> {
    if !is_xhtml(document) {
        return Ok(Document::from(document));
    }
    let mut builder = XhtmlTree {
        tree: TreeBuilder::new(),
        name: String::new(),
        attributes: Vec::new(),
        is_cut: false,
    };
    if xml::walk(document, budget, &mut builder).is_ok() {
        return builder.finish(budget);
    }
    (builder.tree, builder.is_cut) = (TreeBuilder::new(), false);
    let mut depth = Ok(());
    tokenize(document, true, |event| {
        builder.event(event);
        if depth.is_ok() {
            depth = budget.depth(builder.tree.depth());
        }
    });
    depth?;
    builder.finish(budget)
}

/// Builds the tree of a page in XHTML, also of one with mistakes.
struct XhtmlTree {
    tree: TreeBuilder,
    /// The tag being read.
    name: String,
    attributes: Vec<(String, String)>,
    /// Whether an element has more attributes than are read.
    is_cut: bool,
}

impl XhtmlTree {
    fn finish(self, budget: &Budget) -> Result<Document, ExtractError> {
        if self.is_cut {
            return Err(budget.limits.met(Limit::Time).into());
        }
        Ok(self.tree.finish())
    }

    fn open(&mut self) {
        self.is_cut |= self.attributes.len() > ATTRIBUTES;
        let attributes = self
            .attributes
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        self.tree.open(&self.name, attributes);
        self.attributes.clear();
    }

    fn event(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => self.name = lossy(name),
            CallbackEvent::AttributeName { name } => {
                self.attributes.push((lossy(name), String::new()));
            }
            CallbackEvent::AttributeValue { value } => {
                if let Some((_, last)) = self.attributes.last_mut() {
                    *last = lossy(value);
                }
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                self.open();
                if *self_closing || VOID.contains(&&*self.name) {
                    self.tree.close(&self.name);
                }
            }
            CallbackEvent::EndTag { name } => self.tree.close(&String::from_utf8_lossy(name)),
            CallbackEvent::String { value } => self.tree.text(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { .. }
            | CallbackEvent::Doctype { .. }
            | CallbackEvent::Error(_) => {}
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Visitor for XhtmlTree {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        name.clone_into(&mut self.name);
        for attribute in tag.attributes().with_checks(false).flatten() {
            let name = attribute.key.into_inner().to_owned();
            self.attributes
                .push((name, xml::unescaped(&attribute.value).into_owned()));
        }
        self.open();
    }

    fn end(&mut self, name: &str) {
        self.tree.close(name);
    }

    fn text(&mut self, text: &str) {
        self.tree.text(text);
    }
}

/// Whether the text of an element is not part of the page's.
pub(crate) fn is_skipped(name: &str) -> bool {
    SKIPPED.contains(&name)
}

/// The encoding declared by a `meta` element near the start.
fn declared(bytes: &[u8]) -> Option<Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(2_048)]).to_ascii_lowercase();
    let value = start
        .split("charset")
        .nth(1)
        .or_else(|| start.strip_prefix("<?xml")?.split("encoding").nth(1))?;
    let value = value
        .trim_start()
        .strip_prefix('=')?
        .trim_start()
        .trim_start_matches(['"', '\'']);
    let name = value.split(['"', '\'', '>', ';', ' ', '/', '?']).next()?;
    name.parse::<Encoding>()
        .ok()
        .filter(|encoding| !encoding.is_wide())
}

impl PageReader {
    fn finish(self) -> Extracted {
        Extracted {
            metadata: self.metadata,
            ..self.prose.finish(Format::Html)
        }
    }

    fn end_tag(&mut self, name: &str) {
        self.styles.close(name);
        self.close(name);
    }

    fn event(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.meta = Meta::default();
                let name = String::from_utf8_lossy(name);
                self.styles.open(&name);
                self.open(&name);
                if self.is_xhtml {
                    self.tag = name.into_owned();
                }
            }
            CallbackEvent::AttributeName { name } => {
                self.meta.attribute = String::from_utf8_lossy(name).into_owned();
                // They need no value.
                if matches!(&*self.meta.attribute, "hidden" | "popover" | "disabled") {
                    self.styles.attribute(&self.meta.attribute, "");
                }
            }
            CallbackEvent::AttributeValue { value } => {
                let name = std::mem::take(&mut self.meta.attribute);
                let value = String::from_utf8_lossy(value);
                self.styles.attribute(&name, &value);
                self.attribute(&name, &value);
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                self.meta();
                self.styles.opened();
                if *self_closing && self.is_xhtml {
                    let name = std::mem::take(&mut self.tag);
                    self.end_tag(&name);
                }
            }
            CallbackEvent::EndTag { name } => self.end_tag(&String::from_utf8_lossy(name)),
            CallbackEvent::String { value } => {
                let text = String::from_utf8_lossy(value);
                self.styles.text(&text);
                self.characters(&text);
            }
            CallbackEvent::Comment { .. }
            | CallbackEvent::Doctype { .. }
            | CallbackEvent::Error(_) => {}
        }
    }

    pub(crate) fn open(&mut self, name: &str) {
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

    pub(crate) fn close(&mut self, name: &str) {
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

    pub(crate) fn attribute(&mut self, name: &str, value: &str) {
        match name {
            "lang" if self.language_next => self.metadata.language = phrase(value),
            "name" => self.meta.name = value.to_ascii_lowercase(),
            "content" => value.clone_into(&mut self.meta.content),
            _ => {}
        }
    }

    /// The end of a start tag.
    pub(crate) fn meta(&mut self) {
        let Meta { name, content, .. } = std::mem::take(&mut self.meta);
        let Some(content) = phrase(&content) else {
            return;
        };
        match name.as_str() {
            "author" | "dc.creator" => self.metadata.authors.push(content),
            "dc.language" => self.metadata.language = Some(content),
            "dc.title" => self.metadata.title = Some(content),
            _ => {}
        }
    }

    /// Characters that no reader sees.
    pub(crate) fn hide(&mut self, how: Hiding, text: &str, leaves_no_gap: bool) {
        let is_read = self.skipped.is_none() && self.title.is_none();
        if !is_read || !leaves_no_gap && text.trim().is_empty() {
            return self.characters(text);
        }
        self.prose.hide(how, text);
        if !leaves_no_gap {
            self.prose.blank();
        }
    }

    pub(crate) fn characters(&mut self, text: &str) {
        match (&self.skipped, &mut self.title) {
            (Some(_), _) => {}
            (None, Some(title)) => title.push_str(text),
            (None, None) => self.prose.text(text),
        }
    }
}

impl Visitor for PageReader {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.meta = Meta::default();
        self.styles.open(name);
        self.open(name);
        let is_meta = matches!(name, "html" | "meta");
        if is_meta || name == "link" || name == "style" || may_have_style(tag) {
            for attribute in tag.attributes().with_checks(false).flatten() {
                let (name, value) = (
                    attribute.key.local_name().into_inner(),
                    xml::unescaped(&attribute.value),
                );
                // One with a prefix means nothing to a browser.
                if attribute.key.prefix().is_none() {
                    self.styles.attribute(name, &value);
                }
                if is_meta {
                    self.attribute(name, &value);
                }
            }
        }
        if is_meta {
            self.meta();
        }
        self.styles.opened();
    }

    fn end(&mut self, name: &str) {
        self.styles.close(name);
        self.close(name);
    }

    fn text(&mut self, text: &str) {
        self.styles.text(text);
        self.characters(text);
    }

    fn instruction(&mut self, content: &str) {
        self.styles.instruction(content);
    }
}

/// Attributes that hide text, or parts of their names.
const STYLING: &[&str] = &[
    "style",
    "hidden",
    "popover",
    "color",
    "text",
    "link",
    "background",
    "size",
];

/// Whether a tag may have an attribute that hides text: most have not.
fn may_have_style(tag: &BytesStart<'_>) -> bool {
    let attributes: &str = tag.attributes_raw();
    !attributes.trim().is_empty() && STYLING.iter().any(|name| attributes.contains(name))
}
