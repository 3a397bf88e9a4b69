//! How the formatting of an ODT file hides text: of styles, sections, fields and frames.

use hashbrown::{HashMap, HashSet};
use quick_xml::events::BytesStart;

use super::colour::Colour;
use super::hidden::Hiding;
use super::office::Formatting;
use super::xml::{Visitor, attribute};

/// Letters of at most this size, in points, are not seen; that of text without a style.
const SMALLEST: f32 = 1.5;
const USUAL: f32 = 12.0;
/// How many styles are based on one another.
const CHAIN: usize = 32;
/// What lies farther from where it belongs, in points, is off the page.
const FAR: f32 = 1_000.0;

/// A colour that is set, if any: the outer `None` if nothing is said of it, the inner one for the usual one.
type Set = Option<Option<Colour>>;

/// What a style says.
#[derive(Debug, Clone, Default)]
struct Style {
    parent: Option<String>,
    is_hidden: Option<bool>,
    letters: Set,
    size: Option<Size>,
    background: Set,
    margin: Option<f32>,
}

#[derive(Debug, Clone, Copy)]
enum Size {
    Points(f32),
    Share(f32),
}

impl Style {
    fn read(&mut self, tag: &BytesStart<'_>) {
        for found in tag.attributes().with_checks(false).flatten() {
            let value: &str = &found.value;
            match found.key.local_name().into_inner() {
                "display" => self.is_hidden = Some(value == "none"),
                "color" => self.letters = Some(Colour::of_hex(value)),
                "use-window-font-color" if value == "true" => self.letters = Some(None),
                "background-color" => self.background = Some(Colour::of_hex(value)),
                "font-size" => {
                    let share = value.strip_suffix('%').and_then(|share| share.trim().parse::<f32>().ok());
                    self.size = share.map(|share| Size::Share(share / 100.0)).or(points(value).map(Size::Points));
                }
                "margin-left" => self.margin = points(value),
                _ => {}
            }
        }
    }
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
struct Look {
    all: Option<Hiding>,
    is_hidden: bool,
    letters: Option<Colour>,
    size: f32,
    /// `None` if it is not known.
    background: Option<Colour>,
}

/// How the text being read is formatted. Styles may come before or while it is read.
#[derive(Default)]
pub(super) struct OdtFormat {
    styles: HashMap<(String, String), Style>,
    current: Option<((String, String), Style)>,
    page: Option<Colour>,
    looks: Vec<Look>,
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

    fn look(&self) -> Look {
        let usual = Look {
            all: None,
            is_hidden: false,
            letters: None,
            size: USUAL,
            background: Some(self.page.unwrap_or(Colour::WHITE)),
        };
        self.looks.last().copied().unwrap_or(usual)
    }

    /// The styles of an element, from the outermost on.
    fn chain(&self, family: &str, name: Option<String>) -> Vec<&Style> {
        let mut chain = Vec::new();
        let mut next = name;
        while let Some(name) = next.take()
            && chain.len() < CHAIN
        {
            let Some(style) = self.styles.get(&(family.to_owned(), name)) else { break };
            chain.push(style);
            next.clone_from(&style.parent);
        }
        // What holds for all of the family.
        chain.extend(self.styles.get(&(family.to_owned(), String::new())));
        chain.reverse();
        chain
    }

    fn styled(&self, mut look: Look, family: &str, name: Option<String>) -> Look {
        for style in self.chain(family, name) {
            look.is_hidden = style.is_hidden.unwrap_or(look.is_hidden);
            look.letters = style.letters.unwrap_or(look.letters);
            match style.size {
                Some(Size::Points(points)) => look.size = points,
                Some(Size::Share(share)) => look.size *= share,
                None => {}
            }
            if let Some(Some(background)) = style.background {
                look.background = Some(background);
            }
            if style.margin.is_some_and(|margin| margin.abs() > FAR) {
                look.all = look.all.or(Some(Hiding::OffPage));
            }
        }
        look
    }

    fn in_style(&mut self, name: &str, tag: &BytesStart<'_>) {
        match name {
            "style" | "default-style" => {
                let family = attribute(tag, "family").unwrap_or_default();
                let of = if name == "style" { attribute(tag, "name").unwrap_or_default() } else { String::new() };
                let style = Style { parent: attribute(tag, "parent-style-name"), ..Style::default() };
                self.current = Some(((family, of), style));
            }
            "text-properties"
            | "paragraph-properties"
            | "section-properties"
            | "table-cell-properties"
            | "properties" => {
                if let Some((_, style)) = &mut self.current {
                    style.read(tag);
                }
            }
            "page-layout-properties" => {
                self.page = attribute(tag, "background-color").and_then(|value| Colour::of_hex(&value)).or(self.page);
            }
            _ => {}
        }
    }
}

impl Visitor for OdtFormat {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.in_style(name, tag);
    }

    fn end(&mut self, name: &str) {
        if matches!(name, "style" | "default-style")
            && let Some((key, style)) = self.current.take()
        {
            self.styles.insert(key, style);
        }
    }

    fn text(&mut self, _: &str) {}
}

impl Formatting for OdtFormat {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        let mut look = self.look();
        let style = || attribute(tag, "style-name");
        let is_far = |name| attribute(tag, name).as_deref().and_then(points).is_some_and(|points| points.abs() > FAR);
        match name {
            "p" | "h" => {
                self.paragraphs += 1;
                look = self.styled(look, "paragraph", style());
                if self.hidden_paragraphs.contains(&self.paragraphs) {
                    look.all = look.all.or(Some(Hiding::HiddenAttribute));
                }
            }
            "span" => look = self.styled(look, "text", style()),
            "table-cell" => look = self.styled(look, "table-cell", style()),
            "section" if attribute(tag, "display").is_some_and(|display| display == "none") => {
                look.all = look.all.or(Some(Hiding::DisplayNone));
            }
            "hidden-text" if attribute(tag, "is-hidden").is_some_and(|hidden| hidden == "true") => {
                look.all = look.all.or(Some(Hiding::HiddenAttribute));
            }
            "frame" | "custom-shape" | "rect" if is_far("x") || is_far("y") => {
                look.all = look.all.or(Some(Hiding::OffPage));
            }
            "text-box" | "custom-shape" | "rect" => look.background = None,
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

    fn text(&mut self, _: &str) {}

    fn hiding(&self) -> Option<Hiding> {
        if self.deletions > 0 && self.change_info == 0 {
            return Some(Hiding::Deleted);
        }
        let look = self.look();
        let is_lost = look.letters.zip(look.background).is_some_and(|(letters, paper)| letters.is_lost_on(paper));
        look.all
            .or(look.is_hidden.then_some(Hiding::DisplayNone))
            .or(is_lost.then_some(Hiding::SameColour))
            .or((look.size <= SMALLEST).then_some(Hiding::Tiny))
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
            "hidden-paragraph" if attribute(tag, "is-hidden").is_some_and(|hidden| hidden == "true") => {
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

    fn text(&mut self, _: &str) {}
}
