//! How the formatting of an ODT file hides text: of styles, sections, fields and frames.

use hashbrown::{HashMap, HashSet};
use quick_xml::events::BytesStart;

use super::office::{Formatting, Inherits, inherit};
use crate::colour::Colour;
use crate::hidden::Hiding;
use crate::xml::{Visitor, attribute};

/// Letters of at most this size or width, in points, are not seen; that of text without a style.
const SMALLEST: f32 = 1.5;
const USUAL: f32 = 12.0;
/// Up to this opacity, letters are not seen.
const TRANSPARENT: f32 = 0.03;
/// A frame of at most this size, in points, shows nothing.
const FLAT: f32 = 1.0;
/// What lies farther from where it belongs, in points, is off the page.
const FAR: f32 = 1_000.0;

/// A colour that is set, if any: the outer `None` if nothing is said of it, the inner one for the usual one.
type Set = Option<Option<Colour>>;

/// What is behind letters.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Backdrop {
    /// The page.
    Page,
    Colour(Colour),
    /// A picture, or what a box is filled with.
    Unknown,
}

/// What a style says.
#[derive(Debug, Clone, Default)]
struct OdtStyle {
    parent: Option<String>,
    is_hidden: Option<bool>,
    letters: Set,
    opacity: Option<f32>,
    size: Option<TextSize>,
    /// The width of letters, and the size of raised ones, as a share of the usual ones.
    width: Option<f32>,
    raised: Option<f32>,
    background: Option<Backdrop>,
    margin: Option<f32>,
    /// The kind of page that begins with it.
    master: Option<String>,
    /// Whether a frame is behind the text.
    is_behind: Option<bool>,
}

#[derive(Debug, Clone, Copy)]
enum TextSize {
    Points(f32),
    Share(f32),
}

/// The family of a style and its name; what holds for all of the family has no name.
type Key = (String, String);

impl Inherits<Key> for OdtStyle {
    fn parent(&self, (family, name): &Key) -> Option<Key> {
        let parent = self.parent.clone().filter(|parent| !parent.is_empty());
        (!name.is_empty()).then(|| (family.clone(), parent.unwrap_or_default()))
    }

    fn inherit(&mut self, parent: &Self) {
        self.is_hidden = self.is_hidden.or(parent.is_hidden);
        self.letters = self.letters.or(parent.letters);
        self.opacity = self.opacity.or(parent.opacity);
        self.size = match (self.size, parent.size) {
            (Some(TextSize::Share(share)), Some(TextSize::Points(of))) => {
                Some(TextSize::Points(share * of))
            }
            (Some(TextSize::Share(share)), Some(TextSize::Share(of))) => {
                Some(TextSize::Share(share * of))
            }
            (own, parent) => own.or(parent),
        };
        self.width = self.width.or(parent.width);
        self.raised = self.raised.or(parent.raised);
        self.background = self.background.or(parent.background);
        self.margin = self.margin.or(parent.margin);
        self.master = self.master.take().or_else(|| parent.master.clone());
        self.is_behind = self.is_behind.or(parent.is_behind);
    }
}

impl OdtStyle {
    fn read(&mut self, tag: &BytesStart<'_>) {
        let mut has_usual_colour = false;
        for found in tag.attributes().with_checks(false).flatten() {
            let value: &str = &found.value;
            match found.key.local_name().into_inner() {
                // The only condition that there can be is `none`.
                "display" => self.is_hidden = Some(matches!(value, "none" | "condition")),
                "color" => self.letters = Some(Colour::of_hex(value)),
                "opacity" => self.opacity = share(value),
                "use-window-font-color" => has_usual_colour = value == "true",
                "background-color" => {
                    self.background = Colour::of_hex(value)
                        .map(Backdrop::Colour)
                        .or(self.background);
                }
                "fill" => self.read_fill(value),
                "font-size" => {
                    self.size = share(value)
                        .map(TextSize::Share)
                        .or(points(value).map(TextSize::Points));
                }
                "text-scale" => self.width = share(value),
                "text-position" => {
                    self.raised = value
                        .split_whitespace()
                        .nth(1)
                        .and_then(share)
                        .or(Some(1.0));
                }
                "margin-left" => self.margin = points(value),
                _ => {}
            }
        }
        if has_usual_colour {
            (self.letters, self.opacity) = (Some(None), Some(1.0));
        }
    }

    fn read_fill(&mut self, value: &str) {
        if matches!(value, "bitmap" | "gradient" | "hatch") {
            self.background = Some(Backdrop::Unknown);
        }
    }

    /// Of a frame, or of what is behind a paragraph.
    fn read_graphic(&mut self, tag: &BytesStart<'_>) {
        self.is_behind = attribute(tag, "run-through")
            .map(|place| place == "background")
            .or(self.is_behind);
        self.read_fill(&attribute(tag, "fill").unwrap_or_default());
    }
}

/// A number of percent, as a share.
fn share(percent: &str) -> Option<f32> {
    Some(
        percent
            .trim()
            .strip_suffix('%')?
            .trim()
            .parse::<f32>()
            .ok()?
            / 100.0,
    )
}

/// A length in points.
fn points(length: &str) -> Option<f32> {
    let length = length.trim();
    let number = length.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &length[number.len()..] {
        "pt" => 1.0,
        "in" => 72.0,
        "cm" => 28.35,
        "mm" => 2.835,
        "pc" => 12.0,
        "px" => 0.75,
        _ => return None,
    };
    Some(number.parse::<f32>().ok()? * unit)
}

/// How an element formats its text.
#[derive(Debug, Clone, Copy)]
struct OdtLook {
    all: Option<Hiding>,
    is_hidden: bool,
    letters: Option<Colour>,
    opacity: f32,
    size: f32,
    width: f32,
    raised: f32,
    background: Backdrop,
    /// Whether it is in a frame without a size, which may grow.
    is_flat: bool,
}

impl OdtLook {
    const USUAL: Self = Self {
        all: None,
        is_hidden: false,
        letters: None,
        opacity: 1.0,
        size: USUAL,
        width: 1.0,
        raised: 1.0,
        background: Backdrop::Page,
        is_flat: false,
    };

    fn hide(&mut self, how: Hiding) {
        self.all = self.all.or(Some(how));
    }

    /// Begins a frame, or another shape, which may be filled.
    fn enter_frame(&mut self, is_frame: bool, tag: &BytesStart<'_>) {
        let length = |name| attribute(tag, name).as_deref().and_then(points);
        let mut place = ["x", "y"].into_iter().filter_map(length);
        if place.any(|points| points.abs() > FAR) {
            self.hide(Hiding::OffPage);
        }
        let mut size = ["width", "height"].into_iter().filter_map(length);
        self.is_flat = is_frame && size.any(|points| points <= FLAT);
        if !is_frame {
            self.background = Backdrop::Unknown;
        }
    }

    fn enter_box(&mut self, tag: &BytesStart<'_>) {
        self.background = Backdrop::Unknown;
        let grows = ["min-width", "min-height"]
            .iter()
            .any(|side| attribute(tag, side).is_some());
        if std::mem::take(&mut self.is_flat) && !grows {
            self.hide(Hiding::Clipped);
        }
    }
}

/// The kinds of pages.
#[derive(Debug, Default)]
struct MasterPages {
    /// The colours of their layouts, and the one being read.
    layouts: HashMap<String, Backdrop>,
    layout: Option<String>,
    /// The layout of each kind, and the kind that follows it.
    kinds: HashMap<String, (Option<String>, Option<String>)>,
    first: Option<String>,
}

impl MasterPages {
    /// What is behind the text of pages of this kind, and of those that follow.
    fn behind(&self, kind: Option<&str>) -> Backdrop {
        let white = Backdrop::Colour(Colour::WHITE);
        let kind = kind
            .or(self.first.as_deref())
            .and_then(|kind| self.kinds.get(kind));
        let of = |kind: Option<&(Option<String>, Option<String>)>| {
            let layout = kind.and_then(|(layout, _)| self.layouts.get(layout.as_ref()?));
            layout.copied().unwrap_or(white)
        };
        let here = of(kind);
        match kind.and_then(|(_, next)| self.kinds.get(next.as_ref()?)) {
            Some(next) if of(Some(next)) != here => Backdrop::Unknown,
            _ => here,
        }
    }
}

/// How the text being read is formatted. Styles may come before or while it is read.
#[derive(Default)]
pub(super) struct OdtFormat {
    styles: HashMap<Key, OdtStyle>,
    current: Option<(Key, OdtStyle)>,
    pages: MasterPages,
    /// What is behind the text of the current page, once it is known.
    page: Option<Backdrop>,
    looks: Vec<OdtLook>,
    deletions: usize,
    change_info: usize,
    /// The paragraphs that a field in them hides, by their number, and the number of the current one.
    hidden_paragraphs: HashSet<usize>,
    paragraphs: usize,
}

impl OdtFormat {
    pub(super) fn hide_paragraphs(&mut self, numbers: HashSet<usize>) {
        self.hidden_paragraphs = numbers;
    }

    fn look(&self) -> OdtLook {
        self.looks.last().copied().unwrap_or(OdtLook::USUAL)
    }

    fn style(&self, family: &str, name: Option<String>) -> Option<&OdtStyle> {
        name.and_then(|name| self.styles.get(&(family.to_owned(), name)))
            .or_else(|| self.styles.get(&(family.to_owned(), String::new())))
    }

    fn styled(&mut self, look: &mut OdtLook, family: &str, name: Option<String>) {
        let Some(style) = self.style(family, name) else {
            return;
        };
        look.is_hidden = style.is_hidden.unwrap_or(look.is_hidden);
        look.letters = style.letters.unwrap_or(look.letters);
        look.opacity = style.opacity.unwrap_or(look.opacity);
        match style.size {
            Some(TextSize::Points(points)) => look.size = points,
            Some(TextSize::Share(share)) => look.size *= share,
            None => {}
        }
        look.width = style.width.unwrap_or(look.width);
        look.raised = style.raised.unwrap_or(look.raised);
        look.background = style.background.unwrap_or(look.background);
        if style.margin.is_some_and(|margin| margin.abs() > FAR) {
            look.hide(Hiding::OffPage);
        }
        if let Some(kind) = style.master.as_deref().filter(|kind| !kind.is_empty()) {
            self.page = Some(self.pages.behind(Some(kind)));
        }
    }

    fn in_style(&mut self, name: &str, tag: &BytesStart<'_>) {
        match name {
            "style" | "default-style" => {
                let family = attribute(tag, "family").unwrap_or_default();
                let of = if name == "style" {
                    attribute(tag, "name").unwrap_or_default()
                } else {
                    String::new()
                };
                let (parent, master) = (
                    attribute(tag, "parent-style-name"),
                    attribute(tag, "master-page-name"),
                );
                self.current = Some((
                    (family, of),
                    OdtStyle {
                        parent,
                        master,
                        ..OdtStyle::default()
                    },
                ));
            }
            "page-layout" | "page-master" => self.pages.layout = attribute(tag, "name"),
            "master-page" => {
                let name = attribute(tag, "name").unwrap_or_default();
                let layout = attribute(tag, "page-layout-name")
                    .or_else(|| attribute(tag, "page-master-name"));
                if self.pages.first.is_none() || name == "Standard" {
                    self.pages.first = Some(name.clone());
                }
                self.pages
                    .kinds
                    .insert(name, (layout, attribute(tag, "next-style-name")));
            }
            "background-image" if attribute(tag, "href").is_some() => self.set(|style| {
                style.background = Some(Backdrop::Unknown);
            }),
            "text-properties"
            | "paragraph-properties"
            | "section-properties"
            | "table-properties"
            | "table-row-properties"
            | "table-cell-properties"
            | "page-layout-properties"
            | "properties" => self.set(|style| style.read(tag)),
            "graphic-properties" => self.set(|style| style.read_graphic(tag)),
            _ => {}
        }
    }

    /// Changes the style, or the layout of pages, that is being read.
    fn set(&mut self, change: impl FnOnce(&mut OdtStyle)) {
        if let Some((_, style)) = &mut self.current {
            change(style);
        } else if let Some(layout) = &self.pages.layout {
            let mut style = OdtStyle {
                background: self.pages.layouts.get(layout).copied(),
                ..OdtStyle::default()
            };
            change(&mut style);
            if let Some(background) = style.background {
                self.pages.layouts.insert(layout.clone(), background);
            }
        }
    }
}

/// Whether something is hidden under a condition: as far as the condition is a constant, and else as it was when the
/// file was written.
fn is_hidden(tag: &BytesStart<'_>) -> bool {
    let stated = attribute(tag, "is-hidden").is_some_and(|hidden| hidden == "true");
    let condition = attribute(tag, "condition").unwrap_or_default();
    let formula = condition
        .split_once(':')
        .map_or(condition.as_str(), |(_, formula)| formula);
    let formula: String = formula
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '"' | '(' | ')'))
        .collect();
    let is_equal = |(a, b): (&str, &str)| Some(decimal(a)?.total_cmp(&decimal(b)?).is_eq());
    let holds = match formula.as_str() {
        "true" | "TRUE" => Some(true),
        "false" | "FALSE" => Some(false),
        formula => formula
            .split_once("!=")
            .map(|sides| is_equal(sides).map(|equal| !equal))
            .or_else(|| formula.split_once("==").map(is_equal))
            .unwrap_or_else(|| decimal(formula).map(|value| value != 0.0)),
    };
    holds.unwrap_or(stated)
}

fn decimal(value: &str) -> Option<f64> {
    value.parse::<f64>().ok()
}

fn is_hidden_section(tag: &BytesStart<'_>) -> bool {
    match attribute(tag, "display").as_deref() {
        Some("none") => true,
        Some("condition") => is_hidden(tag),
        _ => false,
    }
}

impl Visitor for OdtFormat {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.in_style(name, tag);
    }

    fn end(&mut self, name: &str) {
        match name {
            "style" | "default-style" => self.styles.extend(self.current.take()),
            "page-layout" | "page-master" => self.pages.layout = None,
            _ => {}
        }
    }
}

impl Formatting for OdtFormat {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        let mut look = self.look();
        let style = || attribute(tag, "style-name");
        match name {
            "body" => {
                inherit(&mut self.styles);
                self.page = Some(self.pages.behind(None));
            }
            "p" | "h" => {
                self.paragraphs += 1;
                self.styled(&mut look, "paragraph", style());
                if self.hidden_paragraphs.contains(&self.paragraphs) {
                    look.hide(Hiding::HiddenAttribute);
                }
            }
            "span" | "a" => self.styled(&mut look, "text", style()),
            "table" | "table-row" | "table-cell" => self.styled(&mut look, name, style()),
            "section" => {
                self.styled(&mut look, name, style());
                if is_hidden_section(tag) {
                    look.hide(Hiding::DisplayNone);
                }
            }
            "hidden-text" if is_hidden(tag) => look.hide(Hiding::HiddenAttribute),
            "frame" | "custom-shape" | "rect" => {
                let graphic = self.style("graphic", style());
                if graphic.and_then(|style| style.is_behind) == Some(true) {
                    self.page = Some(Backdrop::Unknown);
                }
                look.enter_frame(name == "frame", tag);
            }
            "text-box" => look.enter_box(tag),
            "deletion" => self.deletions += 1,
            "change-info" => self.change_info += 1,
            name => self.in_style(name, tag),
        }
        self.looks.push(look);
    }

    fn end(&mut self, name: &str) {
        self.looks.pop();
        match name {
            "deletion" => self.deletions = self.deletions.saturating_sub(1),
            "change-info" => self.change_info = self.change_info.saturating_sub(1),
            name => Visitor::end(self, name),
        }
    }

    fn hiding(&self) -> Option<Hiding> {
        if self.deletions > 0 && self.change_info == 0 {
            return Some(Hiding::Deleted);
        }
        let look = self.look();
        let background = match look.background {
            Backdrop::Page => self.page.unwrap_or(Backdrop::Unknown),
            known => known,
        };
        let is_lost = look.letters.is_some_and(
            |letters| matches!(background, Backdrop::Colour(paper) if letters.is_lost_on(paper)),
        );
        let is_tiny = look.size * look.raised * look.width.min(1.0) <= SMALLEST;
        look.all
            .or(look.is_hidden.then_some(Hiding::DisplayNone))
            .or((look.opacity <= TRANSPARENT).then_some(Hiding::Transparent))
            .or(is_lost.then_some(Hiding::SameColour))
            .or(is_tiny.then_some(Hiding::Tiny))
    }
}

/// Finds the paragraphs that a field in them hides.
#[derive(Default)]
pub(super) struct HiddenParagraphs {
    paragraphs: usize,
    open: Vec<usize>,
    pub(super) found: HashSet<usize>,
}

impl Visitor for HiddenParagraphs {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        match name {
            "p" | "h" => {
                self.paragraphs += 1;
                self.open.push(self.paragraphs);
            }
            "hidden-paragraph" if is_hidden(tag) => {
                self.found.extend(self.open.last());
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if matches!(name, "p" | "h") {
            self.open.pop();
        }
    }
}
