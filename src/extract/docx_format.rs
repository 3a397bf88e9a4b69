//! How the formatting of a DOCX file hides text: of runs, paragraphs, cells, drawings and styles.

use hashbrown::HashMap;
use quick_xml::events::BytesStart;

use super::colour::Colour;
use super::hidden::Hiding;
use super::office::Formatting;
use super::xml::{Visitor, attribute};

/// Letters of at most this size, in half points, are not seen.
const SMALLEST: u32 = 3;
/// Without any style.
const USUAL: u32 = 20;
/// How many styles are based on one another.
const CHAIN: usize = 32;
/// What lies farther from where it belongs is off the page, in twips and in the units of drawings.
const FAR_TWIPS: i64 = 15_000;
const FAR_UNITS: i64 = 15_000_000;

/// A colour that is set, if any: the outer `None` if nothing is said of it, the inner one for `auto`.
type Set = Option<Option<Colour>>;

/// What a style or a run says of its letters.
#[derive(Debug, Clone, Copy, Default)]
struct RunFormat {
    vanish: Option<bool>,
    letters: Set,
    size: Option<u32>,
    highlight: Set,
    shade: Set,
}

impl RunFormat {
    /// The same, with what `other` says where this says nothing.
    fn or(self, other: Self) -> Self {
        Self {
            vanish: self.vanish.or(other.vanish),
            letters: self.letters.or(other.letters),
            size: self.size.or(other.size),
            highlight: self.highlight.or(other.highlight),
            shade: self.shade.or(other.shade),
        }
    }

    fn read(&mut self, name: &str, tag: &BytesStart<'_>) {
        match name {
            "vanish" | "specVanish" => self.vanish = Some(is_on(tag)),
            "color" => self.letters = Some(letters(tag)),
            "sz" => self.size = attribute(tag, "val").and_then(|size| size.parse().ok()),
            "highlight" => self.highlight = attribute(tag, "val").map(|name| highlight(&name)),
            "shd" => self.shade = Some(shade(tag)),
            _ => {}
        }
    }
}

fn is_on(tag: &BytesStart<'_>) -> bool {
    attribute(tag, "val").is_none_or(|value| !matches!(value.as_str(), "0" | "false" | "off"))
}

fn letters(tag: &BytesStart<'_>) -> Option<Colour> {
    let is_changed = attribute(tag, "themeShade").is_some() || attribute(tag, "themeTint").is_some();
    match attribute(tag, "themeColor").as_deref() {
        Some("background1" | "light1") if !is_changed => Some(Colour::WHITE),
        _ => attribute(tag, "val").and_then(|value| Colour::of_hex(&value)),
    }
}

fn shade(tag: &BytesStart<'_>) -> Option<Colour> {
    let of = |name| attribute(tag, name).and_then(|value| Colour::of_hex(&value));
    if attribute(tag, "val").as_deref() == Some("solid") { of("color") } else { of("fill") }
}

fn highlight(name: &str) -> Option<Colour> {
    let hex = match name {
        "black" => "000000",
        "white" => "ffffff",
        "blue" => "0000ff",
        "cyan" => "00ffff",
        "green" => "00ff00",
        "magenta" => "ff00ff",
        "red" => "ff0000",
        "yellow" => "ffff00",
        "darkBlue" => "000080",
        "darkCyan" => "008080",
        "darkGreen" => "008000",
        "darkMagenta" => "800080",
        "darkRed" => "800000",
        "darkYellow" => "808000",
        "darkGray" => "808080",
        "lightGray" => "c0c0c0",
        _ => return None,
    };
    Colour::of_hex(hex)
}

/// A style, as it says itself.
#[derive(Debug, Clone, Default)]
struct Style {
    based_on: Option<String>,
    run: RunFormat,
    paragraph_shade: Set,
}

/// The styles of a document.
#[derive(Debug, Default)]
pub(super) struct Styles {
    defaults: RunFormat,
    by_id: HashMap<String, Style>,
    /// The style of paragraphs that name none.
    usual: Option<String>,
    /// The style being read, whether it is the usual one of paragraphs, and the elements in it.
    current: Option<(String, Style)>,
    path: Vec<String>,
}

impl Visitor for Styles {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.path.push(name.to_owned());
        if name == "style" {
            let id = attribute(tag, "styleId").unwrap_or_default();
            let is_usual = attribute(tag, "default").is_some_and(|value| value == "1" || value == "true");
            if is_usual && attribute(tag, "type").as_deref() == Some("paragraph") {
                self.usual = Some(id.clone());
            }
            self.current = Some((id, Style::default()));
            return;
        }
        let [.., inner, _] = self.path.as_slice() else { return };
        let within = self.path.iter().rev().nth(2).map(String::as_str);
        match (&mut self.current, inner.as_str(), within) {
            (Some((_, style)), "style", _) if name == "basedOn" => style.based_on = attribute(tag, "val"),
            (Some((_, style)), "rPr", Some("style")) => style.run.read(name, tag),
            (Some((_, style)), "pPr", Some("style")) if name == "shd" => style.paragraph_shade = Some(shade(tag)),
            (None, "rPr", Some("rPrDefault")) => self.defaults.read(name, tag),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if name == "style"
            && let Some((id, style)) = self.current.take()
        {
            self.by_id.insert(id, style);
        }
        self.path.pop();
    }

    fn text(&mut self, _: &str) {}
}

impl Styles {
    /// What a style says, with those that it is based on.
    fn resolve(&self, id: Option<&str>) -> (RunFormat, Set) {
        let (mut run, mut paragraph_shade, mut next) = (RunFormat::default(), None, id);
        for _ in 0..CHAIN {
            let Some(style) = next.and_then(|id| self.by_id.get(id)) else { break };
            run = run.or(style.run);
            paragraph_shade = paragraph_shade.or(style.paragraph_shade);
            next = style.based_on.as_deref();
        }
        (run, paragraph_shade)
    }
}

/// A paragraph that is being read.
#[derive(Debug, Default)]
struct Paragraph {
    run: RunFormat,
    style_shade: Set,
    shade: Set,
    is_off_page: bool,
}

/// How the text being read is formatted.
pub(super) struct DocxFormat {
    styles: Styles,
    page: Option<Colour>,
    paragraphs: Vec<Paragraph>,
    /// The shades of the cells around.
    cells: Vec<Set>,
    /// How many tables around have a style, whose shades are not known, and how many boxes.
    styled_tables: Vec<bool>,
    boxes: usize,
    /// How the drawings around are hidden.
    drawings: Vec<Option<Hiding>>,
    hidden_rows: Vec<bool>,
    run: RunFormat,
    style_of_run: RunFormat,
    is_in_run: bool,
    is_in_properties: bool,
    is_offset: bool,
    deleted: usize,
}

impl DocxFormat {
    pub(super) fn new(styles: Styles) -> Self {
        Self {
            styles,
            page: Some(Colour::WHITE),
            paragraphs: Vec::new(),
            cells: Vec::new(),
            styled_tables: Vec::new(),
            boxes: 0,
            drawings: Vec::new(),
            hidden_rows: Vec::new(),
            run: RunFormat::default(),
            style_of_run: RunFormat::default(),
            is_in_run: false,
            is_in_properties: false,
            is_offset: false,
            deleted: 0,
        }
    }

    /// What is behind the letters; `None` if that is not known.
    fn background(&self, run: &RunFormat) -> Option<Colour> {
        let paragraph = self.paragraphs.last();
        let of_paragraph = paragraph.and_then(|paragraph| paragraph.shade.or(paragraph.style_shade)).flatten();
        let known = run.highlight.flatten().or(run.shade.flatten()).or(of_paragraph);
        if known.is_some() || self.boxes > 0 {
            return known;
        }
        match self.cells.last() {
            Some(Some(Some(cell))) => Some(*cell),
            _ if self.styled_tables.last() == Some(&true) => None,
            _ => self.page,
        }
    }

    fn in_run(&mut self, name: &str, tag: &BytesStart<'_>) {
        if name == "rStyle" {
            self.style_of_run = self.styles.resolve(attribute(tag, "val").as_deref()).0;
        } else {
            self.run.read(name, tag);
        }
    }

    fn in_paragraph(&mut self, name: &str, tag: &BytesStart<'_>) {
        let number = |name: &str| attribute(tag, name).and_then(|value| value.parse::<i64>().ok()).unwrap_or(0);
        let style = (name == "pStyle").then(|| self.styles.resolve(attribute(tag, "val").as_deref()));
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        match name {
            "pStyle" => (paragraph.run, paragraph.style_shade) = style.unwrap_or_default(),
            "shd" => paragraph.shade = Some(shade(tag)),
            "framePr" => paragraph.is_off_page |= number("x").abs().max(number("y").abs()) > FAR_TWIPS,
            "ind" => {
                let left = number("left") + number("start") + number("firstLine") - number("hanging");
                paragraph.is_off_page |= left.abs() > FAR_TWIPS;
            }
            _ => {}
        }
    }
}

/// Whether a drawing of older versions is hidden: its style is much like CSS.
fn of_shape(style: &str) -> Option<Hiding> {
    let style: String = style.to_ascii_lowercase().split_whitespace().collect();
    let far = |name: &str| {
        let value = style.split(';').find_map(|part| part.strip_prefix(name)?.strip_prefix(':'));
        value
            .and_then(|value| value.trim_end_matches("pt").parse::<f64>().ok())
            .is_some_and(|points| points.abs() > 2_000.0)
    };
    if style.contains("visibility:hidden") {
        Some(Hiding::InvisibleRendering)
    } else {
        (far("margin-left") || far("margin-top") || far("left")).then_some(Hiding::OffPage)
    }
}

impl Formatting for DocxFormat {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        match name {
            "p" => {
                let (run, style_shade) = self.styles.resolve(self.styles.usual.as_deref());
                self.paragraphs.push(Paragraph { run, style_shade, ..Paragraph::default() });
                (self.is_in_run, self.is_in_properties) = (false, false);
            }
            "pPr" => self.is_in_properties = true,
            "r" => {
                (self.run, self.style_of_run) = (RunFormat::default(), RunFormat::default());
                self.is_in_run = true;
            }
            "tbl" => self.styled_tables.push(false),
            "tblStyle" => {
                if let Some(last) = self.styled_tables.last_mut() {
                    *last = true;
                }
            }
            "tr" => self.hidden_rows.push(false),
            "trPr" => {}
            "hidden" => {
                if let Some(last) = self.hidden_rows.last_mut() {
                    *last = is_on(tag);
                }
            }
            "tc" => self.cells.push(None),
            "background" => self.page = attribute(tag, "color").and_then(|value| Colour::of_hex(&value)).or(self.page),
            "del" | "moveFrom" | "delText" => self.deleted += 1,
            "txbxContent" => self.boxes += 1,
            "anchor" | "inline" => self.drawings.push(None),
            "shape" | "rect" | "roundrect" | "oval" => {
                self.drawings.push(attribute(tag, "style").as_deref().and_then(of_shape));
            }
            "docPr" if attribute(tag, "hidden").is_some_and(|value| value == "1" || value == "true") => {
                if let Some(last) = self.drawings.last_mut() {
                    *last = Some(Hiding::HiddenAttribute);
                }
            }
            "posOffset" => self.is_offset = true,
            _ if self.is_in_properties => self.in_paragraph(name, tag),
            _ if self.is_in_run => self.in_run(name, tag),
            "shd" => {
                if let Some(last) = self.cells.last_mut() {
                    *last = Some(shade(tag));
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "p" => drop(self.paragraphs.pop()),
            "pPr" => self.is_in_properties = false,
            "r" => self.is_in_run = false,
            "tbl" => drop(self.styled_tables.pop()),
            "tr" => drop(self.hidden_rows.pop()),
            "tc" => drop(self.cells.pop()),
            "del" | "moveFrom" | "delText" => self.deleted = self.deleted.saturating_sub(1),
            "txbxContent" => self.boxes = self.boxes.saturating_sub(1),
            "anchor" | "inline" | "shape" | "rect" | "roundrect" | "oval" => drop(self.drawings.pop()),
            "posOffset" => self.is_offset = false,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_offset
            && text.trim().parse::<i64>().is_ok_and(|offset| offset.abs() > FAR_UNITS)
            && let Some(last) = self.drawings.last_mut()
        {
            *last = Some(Hiding::OffPage);
        }
    }

    fn hiding(&self) -> Option<Hiding> {
        if self.deleted > 0 {
            return Some(Hiding::Deleted);
        }
        let paragraph = self.paragraphs.last();
        if let Some(how) = self.drawings.iter().find_map(|drawing| *drawing) {
            return Some(how);
        }
        if paragraph.is_some_and(|paragraph| paragraph.is_off_page) {
            return Some(Hiding::OffPage);
        }
        let of_paragraph = paragraph.map(|paragraph| paragraph.run).unwrap_or_default();
        // Two styles that hide a text show it: each turns it around.
        let of_styles = of_paragraph.vanish.unwrap_or(false) ^ self.style_of_run.vanish.unwrap_or(false);
        let vanishes = self.run.vanish.unwrap_or(of_styles || self.styles.defaults.vanish.unwrap_or(false));
        if vanishes || self.hidden_rows.contains(&true) {
            return Some(Hiding::HiddenAttribute);
        }
        let run = self.run.or(self.style_of_run).or(of_paragraph).or(self.styles.defaults);
        let background = self.background(&run);
        let is_lost = run.letters.flatten().zip(background).is_some_and(|(letters, paper)| letters.is_lost_on(paper));
        let is_tiny = run.size.unwrap_or(USUAL) <= SMALLEST;
        is_lost.then_some(Hiding::SameColour).or(is_tiny.then_some(Hiding::Tiny))
    }
}
