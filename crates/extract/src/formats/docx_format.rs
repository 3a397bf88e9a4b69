//! How the formatting of a DOCX file hides text: of runs, paragraphs, cells, drawings and styles.

use hashbrown::HashMap;
use quick_xml::events::BytesStart;

use super::office::{Formatting, Inherits, inherit};
use crate::colour::Colour;
use crate::hidden::Hiding;
use crate::xml::{Visitor, attribute};

/// Letters of at most this size or width, in half points, are not seen.
const SMALLEST: u32 = 3;
/// Without any style.
const USUAL: u32 = 20;
/// The usual width of letters, in percent.
const WIDTH: u32 = 100;
/// From this transparency on, in thousandths of a percent, letters are not seen.
const TRANSPARENT: u32 = 97_000;
/// What lies farther from where it belongs is off the page, in twips and in the units of drawings.
const FAR_TWIPS: i64 = 15_000;
const FAR_UNITS: i64 = 15_000_000;
/// A drawing of at most this size, one point, shows nothing.
const FLAT: i64 = 12_700;
/// A drawing of at least this size, half a centimetre, can lie behind words.
const LARGE: i64 = 180_000;
/// The most shades of parts of a table that a style has.
const MOST_SHADES: usize = 16;

/// A colour that is set, if any: the outer `None` if nothing is said of it, the inner one for `auto`.
type Set = Option<Option<Colour>>;

/// The colours of a document's theme.
#[derive(Debug, Default)]
pub(super) struct Theme {
    by_name: HashMap<String, Colour>,
    current: Option<String>,
}

impl Theme {
    /// The names that the file of the theme has for its colours.
    const NAMES: [&str; 12] = [
        "dk1", "lt1", "dk2", "lt2", "accent1", "accent2", "accent3", "accent4", "accent5",
        "accent6", "hlink", "folHlink",
    ];

    fn colour(&self, name: &str) -> Option<Colour> {
        let name = match name {
            "dark1" | "text1" | "tx1" => "dk1",
            "light1" | "background1" | "bg1" => "lt1",
            "dark2" | "text2" | "tx2" => "dk2",
            "light2" | "background2" | "bg2" => "lt2",
            "hyperlink" => "hlink",
            "followedHyperlink" => "folHlink",
            name => name,
        };
        let usual = match name {
            "dk1" => Some(Colour::BLACK),
            "lt1" => Some(Colour::WHITE),
            _ => None,
        };
        self.by_name.get(name).copied().or(usual)
    }

    /// The colour in these attributes: of the theme, made lighter or darker, or else the one that is written out.
    fn read(&self, tag: &BytesStart<'_>, [value, theme, shade, tint]: [&str; 4]) -> Option<Colour> {
        let part = |name| {
            let part = attribute(tag, name).and_then(|part| u8::from_str_radix(&part, 16).ok());
            f32::from(part.unwrap_or(u8::MAX)) / f32::from(u8::MAX)
        };
        let of_theme = attribute(tag, theme).and_then(|name| self.colour(&name));
        let changed = of_theme
            .map(|colour| Colour::BLACK.mixed(colour, part(shade)))
            .map(|colour| Colour::WHITE.mixed(colour, part(tint)));
        changed.or_else(|| attribute(tag, value).and_then(|value| Colour::of_hex(&value)))
    }

    fn letters(&self, tag: &BytesStart<'_>) -> Option<Colour> {
        self.read(tag, ["val", "themeColor", "themeShade", "themeTint"])
    }

    /// A shade: paper, with a pattern in another colour.
    fn shade(&self, tag: &BytesStart<'_>) -> Option<Colour> {
        let ink = self.read(tag, ["color", "themeColor", "themeShade", "themeTint"]);
        let paper = self.read(
            tag,
            ["fill", "themeFill", "themeFillShade", "themeFillTint"],
        );
        let pattern = attribute(tag, "val").unwrap_or_default();
        let share = match pattern.as_str() {
            "" | "clear" | "nil" => return paper,
            "solid" => 1.0,
            pattern => {
                pattern
                    .strip_prefix("pct")
                    .and_then(|share| share.parse::<f32>().ok())
                    .unwrap_or(50.0)
                    / 100.0
            }
        };
        Some(
            paper
                .unwrap_or(Colour::WHITE)
                .mixed(ink.unwrap_or(Colour::BLACK), share),
        )
    }
}

impl Visitor for Theme {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        if Self::NAMES.contains(&name) {
            self.current = Some(name.to_owned());
        }
        let value = match name {
            "srgbClr" => attribute(tag, "val"),
            "sysClr" => attribute(tag, "lastClr"),
            _ => None,
        };
        if let Some(colour) = value.and_then(|value| Colour::of_hex(&value))
            && let Some(name) = self.current.take()
        {
            self.by_name.insert(name, colour);
        }
    }

    fn end(&mut self, name: &str) {
        if self.current.as_deref() == Some(name) {
            self.current = None;
        }
    }

    fn text(&mut self, _: &str) {}
}

/// What a style or a run says of its letters.
#[derive(Debug, Clone, Copy, Default)]
struct RunFormat {
    vanish: Option<bool>,
    letters: Set,
    /// What they are filled with goes before their colour: with nothing, if it is not known.
    fill: Set,
    transparency: Option<u32>,
    /// Whether something else than their colour shows them: an outline or a shadow.
    is_drawn: Option<bool>,
    size: Option<u32>,
    width: Option<u32>,
    highlight: Set,
    shade: Set,
}

impl RunFormat {
    /// The same, with what `other` says where this says nothing.
    fn or(self, other: Self) -> Self {
        Self {
            vanish: self.vanish.or(other.vanish),
            letters: self.letters.or(other.letters),
            fill: self.fill.or(other.fill),
            transparency: self.transparency.or(other.transparency),
            is_drawn: self.is_drawn.or(other.is_drawn),
            size: self.size.or(other.size),
            width: self.width.or(other.width),
            highlight: self.highlight.or(other.highlight),
            shade: self.shade.or(other.shade),
        }
    }

    fn read(&mut self, name: &str, tag: &BytesStart<'_>, theme: &Theme) {
        let number =
            || attribute(tag, "val").and_then(|value| value.trim_end_matches('%').parse().ok());
        match name {
            "vanish" | "specVanish" => self.vanish = Some(is_on(tag)),
            "color" => self.letters = Some(theme.letters(tag)),
            "shadow" | "emboss" | "imprint" => self.is_drawn = Some(is_on(tag)),
            "sz" => self.size = number(),
            "w" => self.width = number(),
            "highlight" => self.highlight = attribute(tag, "val").map(|name| highlight(&name)),
            "shd" => self.shade = Some(theme.shade(tag)),
            _ => {}
        }
    }

    /// An element of the effects that newer versions of Word have.
    fn read_effect(&mut self, part: Part, name: &str, tag: &BytesStart<'_>, theme: &Theme) {
        let value = || attribute(tag, "val").unwrap_or_default();
        match (part, name) {
            (Part::Fill, "noFill") => self.transparency = Some(TRANSPARENT),
            (Part::Fill, "srgbClr") => self.fill = Some(Colour::of_hex(&value())),
            (Part::Fill, "schemeClr") => self.fill = Some(theme.colour(&value())),
            (Part::Fill, "gradFill") => self.fill = Some(None),
            (Part::Fill, "alpha") => self.transparency = value().parse().ok(),
            (Part::Outline, "solidFill" | "gradFill") => self.is_drawn = Some(true),
            _ => {}
        }
    }
}

fn is_on(tag: &BytesStart<'_>) -> bool {
    attribute(tag, "val").is_none_or(|value| !matches!(value.as_str(), "0" | "false" | "off"))
}

/// Whether an attribute is set that is not when it is missing.
fn is_set(tag: &BytesStart<'_>, name: &str) -> bool {
    attribute(tag, name).is_some_and(|value| matches!(value.as_str(), "1" | "true" | "on" | "t"))
}

fn number(tag: &BytesStart<'_>, name: &str) -> Option<i64> {
    attribute(tag, name)?.trim().parse().ok()
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

/// What a style or a paragraph says of itself.
#[derive(Debug, Clone, Copy, Default)]
struct ParagraphFormat {
    shade: Set,
    /// How far it is indented, and placed, in twips.
    indent: Option<i64>,
    place: Option<i64>,
}

impl ParagraphFormat {
    fn or(self, other: Self) -> Self {
        Self {
            shade: self.shade.or(other.shade),
            indent: self.indent.or(other.indent),
            place: self.place.or(other.place),
        }
    }

    fn read(&mut self, name: &str, tag: &BytesStart<'_>, theme: &Theme) {
        let number = |name| {
            number(tag, name)
                .unwrap_or_default()
                .clamp(-FAR_UNITS, FAR_UNITS)
        };
        match name {
            "shd" => self.shade = Some(theme.shade(tag)),
            "framePr" => self.place = Some(number("x").abs().max(number("y").abs())),
            "ind" => {
                self.indent = Some(
                    number("left") + number("start") + number("firstLine") - number("hanging"),
                );
            }
            _ => {}
        }
    }

    fn is_off_page(self) -> bool {
        [self.indent, self.place]
            .into_iter()
            .flatten()
            .any(|far| far.abs() > FAR_TWIPS)
    }
}

/// A style.
#[derive(Debug, Clone, Default)]
struct Style {
    based_on: Option<String>,
    run: RunFormat,
    paragraph: ParagraphFormat,
    /// Of a table: the shade of its cells, and those that some of them have instead.
    cells: Set,
    shades: Vec<Colour>,
}

impl Inherits<String> for Style {
    fn parent(&self, _: &String) -> Option<String> {
        self.based_on.clone()
    }

    fn inherit(&mut self, parent: &Self) {
        self.run = self.run.or(parent.run);
        self.paragraph = self.paragraph.or(parent.paragraph);
        self.cells = self.cells.or(parent.cells);
        self.shades.extend(&parent.shades);
        self.shades.truncate(MOST_SHADES);
    }
}

/// What the properties that are open belong to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    /// Text, or properties that do not matter.
    #[default]
    Other,
    /// A run itself.
    Run,
    RunProperties,
    /// The fill and the outline of letters.
    Fill,
    Outline,
    Paragraph,
    Cell,
    Row,
    Table,
    /// Part of a table that a style formats, such as its first row.
    Conditional,
    /// Properties that text had before a change that is tracked, or those of the mark of a paragraph.
    Ignored,
}

impl Part {
    /// The part of an element within another.
    fn of(name: &str, within: Self) -> Self {
        match name {
            _ if within == Self::Ignored || name.ends_with("PrChange") => Self::Ignored,
            "r" => Self::Run,
            "pPr" => Self::Paragraph,
            "rPr" if within == Self::Paragraph => Self::Ignored,
            "rPr" if within == Self::Run => Self::RunProperties,
            "tcPr" => Self::Cell,
            "trPr" => Self::Row,
            "tblPr" => Self::Table,
            "textFill" if within == Self::RunProperties => Self::Fill,
            "textOutline" if within == Self::RunProperties => Self::Outline,
            _ if matches!(within, Self::Fill | Self::Outline) => within,
            _ => Self::Other,
        }
    }
}

/// The styles of a document, and what else its formatting refers to.
#[derive(Debug, Default)]
pub(super) struct Styles {
    pub(super) theme: Theme,
    /// Whether the colour of the page is shown.
    pub(super) shows_page: bool,
    defaults: RunFormat,
    by_id: HashMap<String, Style>,
    /// The style of paragraphs that name none.
    usual: Option<String>,
    /// The style being read, and the parts that the elements in it belong to.
    current: Option<(String, Style)>,
    path: Vec<Part>,
}

impl Visitor for Styles {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        let within = self.path.last().copied().unwrap_or_default();
        let part = match (name, within) {
            // As if a style were a run.
            ("style" | "rPrDefault", _) => Part::Run,
            ("tblStylePr", _) | (_, Part::Conditional) => Part::Conditional,
            _ => Part::of(name, within),
        };
        self.path.push(part);
        let Some((_, style)) = &mut self.current else {
            if name == "style" {
                let id = attribute(tag, "styleId").unwrap_or_default();
                if is_set(tag, "default") && attribute(tag, "type").as_deref() == Some("paragraph")
                {
                    self.usual = Some(id.clone());
                }
                self.current = Some((id, Style::default()));
            } else if within == Part::RunProperties {
                self.defaults.read(name, tag, &self.theme);
            }
            return;
        };
        match within {
            Part::Run if name == "basedOn" => style.based_on = attribute(tag, "val"),
            Part::RunProperties => style.run.read(name, tag, &self.theme),
            Part::Fill | Part::Outline => style.run.read_effect(within, name, tag, &self.theme),
            Part::Paragraph => style.paragraph.read(name, tag, &self.theme),
            Part::Cell | Part::Table if name == "shd" => {
                style.cells = Some(self.theme.shade(tag))
                    .filter(Option::is_some)
                    .or(style.cells);
            }
            Part::Conditional if name == "shd" && style.shades.len() < MOST_SHADES => {
                style.shades.extend(self.theme.shade(tag));
            }
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
    /// Gives each style what those say that it is based on.
    pub(super) fn finish(&mut self) {
        inherit(&mut self.by_id);
    }

    fn get(&self, id: Option<&str>) -> Style {
        id.and_then(|id| self.by_id.get(id))
            .cloned()
            .unwrap_or_default()
    }
}

/// Reads whether the settings of a document show the colour of its pages.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) shows_page: bool,
}

impl Visitor for Settings {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.shows_page |= name == "displayBackgroundShape" && is_on(tag);
    }

    fn end(&mut self, _: &str) {}

    fn text(&mut self, _: &str) {}
}

/// Finds drawings that lie behind the text, and are large enough to be behind words.
#[derive(Debug, Default)]
pub(super) struct Behind {
    is_behind: bool,
    pub(super) found: bool,
}

impl Visitor for Behind {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        let size = |name| number(tag, name).unwrap_or_default();
        match name {
            "anchor" => self.is_behind = is_set(tag, "behindDoc"),
            "extent" if self.is_behind => self.found |= size("cx").min(size("cy")) >= LARGE,
            _ => {
                let style = attribute(tag, "style").unwrap_or_default();
                self.found |= style.replace(' ', "").contains("z-index:-");
            }
        }
    }

    fn end(&mut self, name: &str) {
        self.is_behind &= name != "anchor";
    }

    fn text(&mut self, _: &str) {}
}

/// A paragraph that is being read.
#[derive(Debug, Default)]
struct Paragraph {
    run: RunFormat,
    style: ParagraphFormat,
    own: ParagraphFormat,
}

/// A run that is being read: what it says, and its style.
#[derive(Debug, Default)]
struct Run {
    own: RunFormat,
    style: RunFormat,
}

/// What is around a text, and may have a colour.
#[derive(Debug)]
enum Around {
    Table(Style),
    Cell(Set),
    /// A box, whose fill is not known.
    Box,
}

/// How the text being read is formatted.
pub(super) struct DocxFormat {
    styles: Styles,
    /// The colour of the page, if it is known.
    page: Option<Colour>,
    /// The parts that the open elements belong to.
    path: Vec<Part>,
    paragraphs: Vec<Paragraph>,
    runs: Vec<Run>,
    around: Vec<Around>,
    /// How the drawings around are hidden.
    drawings: Vec<Option<Hiding>>,
    hidden_rows: Vec<bool>,
    is_offset: bool,
    deleted: usize,
    inserted: usize,
}

impl DocxFormat {
    /// `is_page_known` if nothing is behind the text.
    pub(super) fn new(styles: Styles, is_page_known: bool) -> Self {
        Self {
            styles,
            page: is_page_known.then_some(Colour::WHITE),
            path: Vec::new(),
            paragraphs: Vec::new(),
            runs: Vec::new(),
            around: Vec::new(),
            drawings: Vec::new(),
            hidden_rows: Vec::new(),
            is_offset: false,
            deleted: 0,
            inserted: 0,
        }
    }

    /// Whether letters in this colour cannot be seen on what is behind them.
    fn is_lost(&self, letters: Colour, run: &RunFormat) -> bool {
        let of_paragraph = self
            .paragraphs
            .last()
            .and_then(|paragraph| paragraph.own.or(paragraph.style).shade);
        if let Some(known) = run
            .highlight
            .flatten()
            .or(run.shade.flatten())
            .or(of_paragraph.flatten())
        {
            return letters.is_lost_on(known);
        }
        let mut cell = None;
        for around in self.around.iter().rev() {
            match around {
                Around::Box => return false,
                Around::Cell(Some(Some(shade))) => return letters.is_lost_on(*shade),
                Around::Cell(shade) => cell = Some(shade),
                // A cell may have any shade of its table, unless it says that it has none.
                Around::Table(style) if cell.take() == Some(&None) => {
                    if !style.shades.iter().all(|shade| letters.is_lost_on(*shade)) {
                        return false;
                    }
                    if let Some(Some(shade)) = style.cells {
                        return letters.is_lost_on(shade);
                    }
                }
                Around::Table(_) => {}
            }
        }
        self.page.is_some_and(|page| letters.is_lost_on(page))
    }

    /// Hides the innermost drawing.
    fn hide_drawing(&mut self, how: Hiding) {
        if let Some(last) = self.drawings.last_mut() {
            *last = Some(how);
        }
    }

    /// An element in properties of something.
    fn property(&mut self, part: Part, name: &str, tag: &BytesStart<'_>) {
        let Self {
            styles,
            paragraphs,
            runs,
            around,
            ..
        } = self;
        match (part, name) {
            (Part::RunProperties, "rStyle") => {
                if let Some(run) = runs.last_mut() {
                    run.style = styles.get(attribute(tag, "val").as_deref()).run;
                }
            }
            (Part::RunProperties, _) => {
                if let Some(run) = runs.last_mut() {
                    run.own.read(name, tag, &styles.theme);
                }
            }
            (Part::Fill | Part::Outline, _) => {
                if let Some(run) = runs.last_mut() {
                    run.own.read_effect(part, name, tag, &styles.theme);
                }
            }
            (Part::Paragraph, "pStyle") => {
                if let Some(paragraph) = paragraphs.last_mut() {
                    let style = styles.get(attribute(tag, "val").as_deref());
                    (paragraph.run, paragraph.style) = (style.run, style.paragraph);
                }
            }
            (Part::Paragraph, _) => {
                if let Some(paragraph) = paragraphs.last_mut() {
                    paragraph.own.read(name, tag, &styles.theme);
                }
            }
            (Part::Cell, "shd") => {
                if let Some(Around::Cell(shade)) = around.last_mut() {
                    *shade = Some(styles.theme.shade(tag));
                }
            }
            (Part::Row, "hidden") => {
                if let Some(last) = self.hidden_rows.last_mut() {
                    *last = is_on(tag);
                }
            }
            (Part::Table, "tblStyle") => {
                if let Some(Around::Table(style)) = around.last_mut() {
                    *style = styles.get(attribute(tag, "val").as_deref());
                }
            }
            _ => {}
        }
    }
}

/// Whether a drawing of older versions is hidden: its style is much like CSS.
fn of_shape(style: &str) -> Option<Hiding> {
    let style: String = style.to_ascii_lowercase().split_whitespace().collect();
    let far = |name: &str| {
        let value = style
            .split(';')
            .find_map(|part| part.strip_prefix(name)?.strip_prefix(':'));
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
        let within = self.path.last().copied().unwrap_or_default();
        self.path.push(Part::of(name, within));
        match name {
            "p" => {
                let style = self.styles.get(self.styles.usual.as_deref());
                let (run, style) = (style.run, style.paragraph);
                self.paragraphs.push(Paragraph {
                    run,
                    style,
                    own: ParagraphFormat::default(),
                });
            }
            "r" => self.runs.push(Run::default()),
            "tbl" => self.around.push(Around::Table(Style::default())),
            "tr" => self.hidden_rows.push(false),
            "tc" => self.around.push(Around::Cell(None)),
            "txbxContent" => self.around.push(Around::Box),
            "background" if self.styles.shows_page && self.page.is_some() => {
                let colour = self
                    .styles
                    .theme
                    .read(tag, ["color", "themeColor", "themeShade", "themeTint"]);
                self.page = colour.or(self.page);
            }
            "del" | "moveFrom" | "delText" => self.deleted += 1,
            "ins" => self.inserted += 1,
            "anchor" | "inline" => self.drawings.push(None),
            "extent"
                if ["cx", "cy"]
                    .iter()
                    .any(|side| number(tag, side).is_some_and(|size| size <= FLAT)) =>
            {
                self.hide_drawing(Hiding::Clipped);
            }
            "shape" | "rect" | "roundrect" | "oval" => {
                self.drawings
                    .push(attribute(tag, "style").as_deref().and_then(of_shape));
            }
            "docPr" | "cNvPr" if is_set(tag, "hidden") => {
                self.hide_drawing(Hiding::HiddenAttribute)
            }
            "posOffset" => self.is_offset = true,
            _ => self.property(within, name, tag),
        }
    }

    fn end(&mut self, name: &str) {
        self.path.pop();
        match name {
            "p" => drop(self.paragraphs.pop()),
            "r" => drop(self.runs.pop()),
            "tr" => drop(self.hidden_rows.pop()),
            "tbl" | "tc" | "txbxContent" => drop(self.around.pop()),
            "del" | "moveFrom" | "delText" => self.deleted = self.deleted.saturating_sub(1),
            "ins" => self.inserted = self.inserted.saturating_sub(1),
            "anchor" | "inline" | "shape" | "rect" | "roundrect" | "oval" => {
                self.drawings.pop();
            }
            "posOffset" => self.is_offset = false,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_offset
            && text
                .trim()
                .parse::<i64>()
                .is_ok_and(|offset| offset.abs() > FAR_UNITS)
        {
            self.hide_drawing(Hiding::OffPage);
        }
    }

    fn hiding(&self) -> Option<Hiding> {
        if self.deleted > 0 {
            return Some(if self.inserted > 0 {
                Hiding::RejectedInsertion
            } else {
                Hiding::Deleted
            });
        }
        let paragraph = self.paragraphs.last();
        if let Some(how) = self.drawings.iter().find_map(|drawing| *drawing) {
            return Some(how);
        }
        if paragraph.is_some_and(|paragraph| paragraph.own.or(paragraph.style).is_off_page()) {
            return Some(Hiding::OffPage);
        }
        let of_paragraph = paragraph.map(|paragraph| paragraph.run).unwrap_or_default();
        let (own, style) = self
            .runs
            .last()
            .map(|run| (run.own, run.style))
            .unwrap_or_default();
        // Two styles that hide a text show it: each turns it around.
        let of_styles = of_paragraph.vanish.unwrap_or(false) ^ style.vanish.unwrap_or(false);
        let tables = self.around.iter().rev().find_map(|around| match around {
            Around::Table(style) => Some(style.run),
            _ => None,
        });
        let defaults = tables.unwrap_or_default().or(self.styles.defaults);
        let vanishes = own
            .vanish
            .unwrap_or(of_styles || defaults.vanish.unwrap_or(false));
        if vanishes || self.hidden_rows.contains(&true) {
            return Some(Hiding::HiddenAttribute);
        }
        let run = own.or(style).or(of_paragraph).or(defaults);
        let is_drawn = run.is_drawn.unwrap_or(false);
        if run
            .transparency
            .is_some_and(|transparency| transparency >= TRANSPARENT)
            && !is_drawn
        {
            return Some(Hiding::Transparent);
        }
        let letters = run.fill.or(run.letters).flatten();
        let is_lost = !is_drawn && letters.is_some_and(|letters| self.is_lost(letters, &run));
        let (size, width) = (
            run.size.unwrap_or(USUAL),
            run.width.filter(|width| *width > 0).unwrap_or(WIDTH),
        );
        let is_tiny = size.saturating_mul(width.min(WIDTH)) <= SMALLEST * WIDTH;
        is_lost
            .then_some(Hiding::SameColour)
            .or(is_tiny.then_some(Hiding::Tiny))
    }
}
