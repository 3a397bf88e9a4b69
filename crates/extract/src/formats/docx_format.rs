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

    fn ink(&self, tag: &BytesStart<'_>) -> Option<Colour> {
        self.read(tag, ["color", "themeColor", "themeShade", "themeTint"])
    }

    /// A shade: paper, with a pattern in another colour.
    fn shade(&self, tag: &BytesStart<'_>) -> Option<Colour> {
        let ink = self.ink(tag);
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
        match name {
            "vanish" | "specVanish" => self.vanish = Some(is_on(tag)),
            "color" => self.letters = Some(theme.letters(tag)),
            "shadow" | "emboss" | "imprint" => self.is_drawn = Some(is_on(tag)),
            "sz" => self.size = size(tag),
            "w" => self.width = size(tag),
            "highlight" => self.highlight = attribute(tag, "val").map(|name| highlight(&name)),
            "shd" => self.shade = Some(theme.shade(tag)),
            _ => {}
        }
    }

    /// An element of the effects that newer versions of Word have.
    fn read_effect(&mut self, part: DocxPart, name: &str, tag: &BytesStart<'_>, theme: &Theme) {
        let value = || attribute(tag, "val").unwrap_or_default();
        match (part, name) {
            (DocxPart::Fill, "noFill") => self.transparency = Some(TRANSPARENT),
            (DocxPart::Fill, "srgbClr") => self.fill = Some(Colour::of_hex(&value())),
            (DocxPart::Fill, "schemeClr") => self.fill = Some(theme.colour(&value())),
            (DocxPart::Fill, "gradFill") => self.fill = Some(None),
            (DocxPart::Fill, "alpha") => self.transparency = value().parse().ok(),
            (DocxPart::Outline, "solidFill" | "gradFill") => self.is_drawn = Some(true),
            _ => {}
        }
    }
}

/// In half points, or in percent.
fn size(tag: &BytesStart<'_>) -> Option<u32> {
    attribute(tag, "val")?.trim_end_matches('%').parse().ok()
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

fn twips(tag: &BytesStart<'_>, name: &str) -> i64 {
    let twips = number(tag, name).unwrap_or_default();
    twips.clamp(-FAR_UNITS, FAR_UNITS)
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
        match name {
            "shd" => self.shade = Some(theme.shade(tag)),
            "framePr" => self.place = Some(twips(tag, "x").abs().max(twips(tag, "y").abs())),
            "ind" => {
                let [left, start, first, hanging] =
                    ["left", "start", "firstLine", "hanging"].map(|name| twips(tag, name));
                self.indent = Some(left + start + first - hanging);
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
struct DocxStyle {
    based_on: Option<String>,
    run: RunFormat,
    paragraph: ParagraphFormat,
    /// Of a table: the shade of its cells, and those that some of them have instead.
    cells: Set,
    shades: Vec<Colour>,
}

impl DocxStyle {
    /// An element within a part of the style.
    fn read(&mut self, part: DocxPart, name: &str, tag: &BytesStart<'_>, theme: &Theme) {
        match part {
            DocxPart::Run if name == "basedOn" => self.based_on = attribute(tag, "val"),
            DocxPart::RunProperties => self.run.read(name, tag, theme),
            DocxPart::Fill | DocxPart::Outline => self.run.read_effect(part, name, tag, theme),
            DocxPart::Paragraph => self.paragraph.read(name, tag, theme),
            DocxPart::Cell | DocxPart::Table if name == "shd" => {
                if let Some(shade) = theme.shade(tag) {
                    self.cells = Some(Some(shade));
                }
            }
            DocxPart::Conditional if name == "shd" && self.shades.len() < MOST_SHADES => {
                self.shades.extend(theme.shade(tag));
            }
            _ => {}
        }
    }
}

impl Inherits<String> for DocxStyle {
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
enum DocxPart {
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

impl DocxPart {
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
pub(super) struct DocxStyles {
    pub(super) theme: Theme,
    /// Whether the colour of the page is shown.
    pub(super) shows_page: bool,
    defaults: RunFormat,
    by_id: HashMap<String, DocxStyle>,
    /// The style of paragraphs that name none.
    usual: Option<String>,
    /// The style being read, and the parts that the elements in it belong to.
    current: Option<(String, DocxStyle)>,
    path: Vec<DocxPart>,
}

impl Visitor for DocxStyles {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        let within = self.path.last().copied().unwrap_or_default();
        let part = match (name, within) {
            // As if a style were a run.
            ("style" | "rPrDefault", _) => DocxPart::Run,
            ("tblStylePr", _) | (_, DocxPart::Conditional) => DocxPart::Conditional,
            _ => DocxPart::of(name, within),
        };
        self.path.push(part);
        if let Some((_, style)) = &mut self.current {
            style.read(within, name, tag, &self.theme);
        } else if name == "style" {
            let id = attribute(tag, "styleId").unwrap_or_default();
            if is_set(tag, "default") && attribute(tag, "type").as_deref() == Some("paragraph") {
                self.usual = Some(id.clone());
            }
            self.current = Some((id, DocxStyle::default()));
        } else if within == DocxPart::RunProperties {
            self.defaults.read(name, tag, &self.theme);
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
}

impl DocxStyles {
    /// Gives each style what those say that it is based on.
    pub(super) fn finish(&mut self) {
        inherit(&mut self.by_id);
    }

    fn get(&self, id: Option<&str>) -> DocxStyle {
        id.and_then(|id| self.by_id.get(id))
            .cloned()
            .unwrap_or_default()
    }

    /// A paragraph that does not name its style.
    fn usual_paragraph(&self) -> DocxParagraph {
        let style = self.get(self.usual.as_deref());
        DocxParagraph {
            run: style.run,
            style: style.paragraph,
            own: ParagraphFormat::default(),
        }
    }
}

/// Reads whether the settings of a document show the colour of its pages.
#[derive(Debug, Default)]
pub(super) struct DocxSettings {
    pub(super) shows_page: bool,
}

impl Visitor for DocxSettings {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.shows_page |= name == "displayBackgroundShape" && is_on(tag);
    }
}

/// Finds drawings that lie behind the text, and are large enough to be behind words.
#[derive(Debug, Default)]
pub(super) struct BehindText {
    is_behind: bool,
    pub(super) found: bool,
}

impl Visitor for BehindText {
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
}

/// A paragraph that is being read.
#[derive(Debug, Default)]
struct DocxParagraph {
    run: RunFormat,
    style: ParagraphFormat,
    own: ParagraphFormat,
}

/// A run that is being read: what it says, and its style.
#[derive(Debug, Default)]
struct DocxRun {
    own: RunFormat,
    style: RunFormat,
}

impl DocxParagraph {
    fn read(&mut self, name: &str, tag: &BytesStart<'_>, styles: &DocxStyles) {
        if name == "pStyle" {
            let style = styles.get(attribute(tag, "val").as_deref());
            (self.run, self.style) = (style.run, style.paragraph);
        } else {
            self.own.read(name, tag, &styles.theme);
        }
    }
}

impl DocxRun {
    fn read(&mut self, part: DocxPart, name: &str, tag: &BytesStart<'_>, styles: &DocxStyles) {
        match (part, name) {
            (DocxPart::RunProperties, "rStyle") => {
                self.style = styles.get(attribute(tag, "val").as_deref()).run;
            }
            (DocxPart::RunProperties, _) => self.own.read(name, tag, &styles.theme),
            _ => self.own.read_effect(part, name, tag, &styles.theme),
        }
    }
}

/// What is around a text, and may have a colour.
#[derive(Debug)]
enum DocxEnclosure {
    Table(DocxStyle),
    Cell(Set),
    /// A box, whose fill is not known.
    Box,
}

/// How the text being read is formatted.
pub(super) struct DocxFormat {
    styles: DocxStyles,
    /// The colour of the page, if it is known.
    page: Option<Colour>,
    /// The parts that the open elements belong to.
    path: Vec<DocxPart>,
    paragraphs: Vec<DocxParagraph>,
    runs: Vec<DocxRun>,
    around: Vec<DocxEnclosure>,
    /// How the drawings around are hidden.
    drawings: Vec<Option<Hiding>>,
    hidden_rows: Vec<bool>,
    is_offset: bool,
    deleted: usize,
    inserted: usize,
}

impl DocxFormat {
    /// `is_page_known` if nothing is behind the text.
    pub(super) fn new(styles: DocxStyles, is_page_known: bool) -> Self {
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
        let of_paragraph = self.paragraph_format().shade;
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
                DocxEnclosure::Box => return false,
                DocxEnclosure::Cell(Some(Some(shade))) => return letters.is_lost_on(*shade),
                DocxEnclosure::Cell(shade) => cell = Some(shade),
                // A cell may have any shade of its table, unless it says that it has none.
                DocxEnclosure::Table(style) if cell.take() == Some(&None) => {
                    if !style.shades.iter().all(|shade| letters.is_lost_on(*shade)) {
                        return false;
                    }
                    if let Some(Some(shade)) = style.cells {
                        return letters.is_lost_on(shade);
                    }
                }
                DocxEnclosure::Table(_) => {}
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
    fn property(&mut self, part: DocxPart, name: &str, tag: &BytesStart<'_>) {
        match part {
            DocxPart::RunProperties | DocxPart::Fill | DocxPart::Outline => {
                if let Some(run) = self.runs.last_mut() {
                    run.read(part, name, tag, &self.styles);
                }
            }
            DocxPart::Paragraph => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.read(name, tag, &self.styles);
                }
            }
            DocxPart::Cell if name == "shd" => {
                if let Some(DocxEnclosure::Cell(shade)) = self.around.last_mut() {
                    *shade = Some(self.styles.theme.shade(tag));
                }
            }
            DocxPart::Row if name == "hidden" => {
                if let Some(last) = self.hidden_rows.last_mut() {
                    *last = is_on(tag);
                }
            }
            DocxPart::Table if name == "tblStyle" => {
                if let Some(DocxEnclosure::Table(style)) = self.around.last_mut() {
                    *style = self.styles.get(attribute(tag, "val").as_deref());
                }
            }
            _ => {}
        }
    }

    /// How the current paragraph is formatted.
    fn paragraph_format(&self) -> ParagraphFormat {
        self.paragraphs
            .last()
            .map(|paragraph| paragraph.own.or(paragraph.style))
            .unwrap_or_default()
    }

    /// How the current letters are formatted, and whether that makes them vanish.
    fn run_format(&self) -> (RunFormat, bool) {
        let of_paragraph = self.paragraphs.last().map(|paragraph| paragraph.run);
        let of_paragraph = of_paragraph.unwrap_or_default();
        let (own, style) = self
            .runs
            .last()
            .map(|run| (run.own, run.style))
            .unwrap_or_default();
        let table = self.around.iter().rev().find_map(|around| match around {
            DocxEnclosure::Table(style) => Some(style.run),
            _ => None,
        });
        let defaults = table.unwrap_or_default().or(self.styles.defaults);
        // Two styles that hide a text show it: each turns it around.
        let of_styles = of_paragraph.vanish.unwrap_or(false) ^ style.vanish.unwrap_or(false);
        let vanishes = own
            .vanish
            .unwrap_or(of_styles || defaults.vanish.unwrap_or(false));
        (own.or(style).or(of_paragraph).or(defaults), vanishes)
    }

    /// How the look of letters hides them, if it does.
    fn hiding_of_letters(&self, run: &RunFormat) -> Option<Hiding> {
        let is_drawn = run.is_drawn.unwrap_or(false);
        if !is_drawn && run.transparency.is_some_and(|by| by >= TRANSPARENT) {
            return Some(Hiding::Transparent);
        }
        let letters = run.fill.or(run.letters).flatten();
        if !is_drawn && letters.is_some_and(|letters| self.is_lost(letters, run)) {
            return Some(Hiding::SameColour);
        }
        let size = run.size.unwrap_or(USUAL);
        let width = run.width.filter(|width| *width > 0).unwrap_or(WIDTH);
        let is_tiny = size.saturating_mul(width.min(WIDTH)) <= SMALLEST * WIDTH;
        is_tiny.then_some(Hiding::Tiny)
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

fn is_flat(tag: &BytesStart<'_>) -> bool {
    let is_flat = |side| number(tag, side).is_some_and(|size| size <= FLAT);
    is_flat("cx") || is_flat("cy")
}

impl Formatting for DocxFormat {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        let within = self.path.last().copied().unwrap_or_default();
        self.path.push(DocxPart::of(name, within));
        match name {
            "p" => self.paragraphs.push(self.styles.usual_paragraph()),
            "r" => self.runs.push(DocxRun::default()),
            "tbl" => self.around.push(DocxEnclosure::Table(DocxStyle::default())),
            "tr" => self.hidden_rows.push(false),
            "tc" => self.around.push(DocxEnclosure::Cell(None)),
            "txbxContent" => self.around.push(DocxEnclosure::Box),
            "background" if self.styles.shows_page && self.page.is_some() => {
                self.page = self.styles.theme.ink(tag).or(self.page);
            }
            "del" | "moveFrom" | "delText" => self.deleted += 1,
            "ins" => self.inserted += 1,
            "anchor" | "inline" => self.drawings.push(None),
            "extent" if is_flat(tag) => self.hide_drawing(Hiding::Clipped),
            "shape" | "rect" | "roundrect" | "oval" => {
                self.drawings
                    .push(attribute(tag, "style").as_deref().and_then(of_shape));
            }
            "docPr" | "cNvPr" if is_set(tag, "hidden") => {
                self.hide_drawing(Hiding::HiddenAttribute);
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
        if let Some(how) = self.drawings.iter().find_map(|drawing| *drawing) {
            return Some(how);
        }
        if self.paragraph_format().is_off_page() {
            return Some(Hiding::OffPage);
        }
        let (run, vanishes) = self.run_format();
        if vanishes || self.hidden_rows.contains(&true) {
            return Some(Hiding::HiddenAttribute);
        }
        self.hiding_of_letters(&run)
    }
}
