//! What an element looks like, as far as it can hide its text.

use super::cascade::Settings;
use super::declaration::{Display, Position, Property, Setting, is_far};
use super::value::{Paint, USUAL_SIZE};
use super::{FAINTEST, SMALLEST_BOX, SMALLEST_LETTERS};
use crate::extract::colour::Colour;
use crate::extract::hidden::Hiding;

/// Elements that are boxes without any style. Others are parts of a line.
const BOXES: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "button",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "html",
    "legend",
    "li",
    "main",
    "menu",
    "ol",
    "p",
    "pre",
    "search",
    "section",
    "summary",
    "textarea",
    "ul",
];
/// The width of a letter, in pixels.
const LETTER: f32 = 8.0;
/// The longest text, in letters, that is looked at for whether a line holds it.
const LONGEST: f32 = 2_000.0;

/// What an element looks like, as far as it can hide its text.
#[derive(Debug, Clone)]
pub(super) struct Look {
    /// How all in it is hidden, whatever the elements in it say.
    all: Option<Hiding>,
    /// Whether what is hidden leaves no gap.
    pub(super) leaves_no_gap: bool,
    is_invisible: bool,
    opacity: f32,
    letters: Paint,
    fill: Option<Paint>,
    /// `None` if it is a picture.
    background: Option<Colour>,
    size: f32,
    indent: f32,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            all: None,
            leaves_no_gap: false,
            is_invisible: false,
            opacity: 1.0,
            letters: Paint::Colour(Colour::BLACK),
            fill: None,
            background: Some(Colour::WHITE),
            size: USUAL_SIZE,
            indent: 0.0,
        }
    }
}

impl Look {
    /// Whether all in it is hidden without a gap, so that it needs no closer look.
    pub(super) fn is_gone(&self) -> bool {
        self.all.is_some() && self.leaves_no_gap
    }

    /// How it hides its own text, if it does.
    pub(super) fn hiding(&self) -> Option<Hiding> {
        let paint = self.fill.unwrap_or(self.letters);
        let is_lost = match (paint, self.background) {
            (Paint::Colour(letters), Some(background)) => letters.is_lost_on(background),
            _ => false,
        };
        self.all
            .or(self.is_invisible.then_some(Hiding::InvisibleRendering))
            .or((self.opacity < FAINTEST || paint == Paint::Transparent).then_some(Hiding::Transparent))
            .or(is_lost.then_some(Hiding::SameColour))
            .or((self.size < SMALLEST_LETTERS).then_some(Hiding::Tiny))
    }

    /// The look of an element in this one. `is_short`: whether its text has at most so many letters.
    pub(super) fn of_child(
        &self,
        name: &str,
        is_marked_hidden: bool,
        settings: &Settings,
        is_short: &mut dyn FnMut(usize) -> bool,
    ) -> Self {
        let mut look = self.clone();
        if self.all.is_some() {
            return look;
        }
        look.inherit(name, settings);
        let hides = |property| settings.get(property) == Some(Setting::Hides(true));
        let placed = match settings.get(Property::Position) {
            Some(Setting::Position(position)) => position,
            _ => Position::Static,
        };
        let floats = placed == Position::Absolute || settings.get(Property::Float) == Some(Setting::Floats(true));
        let display = match settings.get(Property::Display) {
            Some(Setting::Display(display)) => display,
            _ if is_marked_hidden => Display::None,
            _ if BOXES.contains(&name) => Display::Block,
            _ => Display::Inline,
        };
        let is_box = floats || display == Display::Block;
        let length = |property| match settings.get(property) {
            Some(Setting::Length(length)) => Some(length.pixels(look.size)),
            _ => None,
        };
        let is_moved = |property| length(property).is_some_and(is_far);
        let is_smallest = |property| length(property).is_some_and(|length| length.abs() < SMALLEST_BOX);
        let sizes = [Property::Width, Property::Height, Property::MaxWidth, Property::MaxHeight];
        let shift = length(Property::MarginLeft).unwrap_or(0.0).min(look.indent);
        let is_off_page = placed != Position::Static
            && (is_moved(Property::Left)
                || is_moved(Property::Right)
                || length(Property::Top).is_some_and(|top| top < -500.0));
        look.all = if display == Display::None {
            let by_attribute = is_marked_hidden && settings.get(Property::Display).is_none();
            Some(if by_attribute { Hiding::HiddenAttribute } else { Hiding::DisplayNone })
        } else if is_off_page || is_box && is_far(shift) && is_short((-shift / LETTER).min(LONGEST) as usize) {
            Some(Hiding::OffPage)
        } else if hides(Property::ClipPath)
            || placed == Position::Absolute && hides(Property::Clip)
            || is_box && hides(Property::Transform)
            || is_box && hides(Property::Overflow) && sizes.into_iter().any(is_smallest)
        {
            Some(Hiding::Clipped)
        } else if is_box && hides(Property::ContentVisibility) {
            Some(Hiding::DisplayNone)
        } else {
            None
        };
        look.leaves_no_gap = display == Display::None || placed == Position::Absolute;
        look
    }

    /// What an element takes over from the one around it, unless its own settings say otherwise.
    fn inherit(&mut self, name: &str, settings: &Settings) {
        match settings.get(Property::FontSize) {
            Some(Setting::Size(size)) => self.size = size.size(self.size).clamp(0.0, 10_000.0),
            _ if matches!(name, "small" | "sub" | "sup") => self.size *= 0.83,
            _ => {}
        }
        if let Some(Setting::Hides(hides)) = settings.get(Property::Visibility) {
            self.is_invisible = hides;
        }
        if let Some(Setting::Opacity(opacity)) = settings.get(Property::Opacity) {
            self.opacity *= opacity.clamp(0.0, 1.0);
        }
        match settings.get(Property::Indent) {
            Some(Setting::Length(indent)) => self.indent = indent.pixels(self.size),
            Some(_) => self.indent = 0.0,
            None => {}
        }
        match settings.get(Property::Colour) {
            Some(Setting::Paint(paint)) if paint != Paint::Current => self.letters = paint,
            _ => {}
        }
        match settings.get(Property::Fill) {
            Some(Setting::Paint(Paint::Current)) => self.fill = None,
            Some(Setting::Paint(paint)) => self.fill = Some(paint),
            _ => {}
        }
        match settings.get(Property::Background) {
            Some(Setting::Paint(Paint::Colour(colour))) => self.background = Some(colour),
            Some(Setting::Paint(Paint::Unknown)) => self.background = None,
            Some(Setting::Paint(Paint::Current)) => {
                self.background = match self.letters {
                    Paint::Colour(colour) => Some(colour),
                    _ => None,
                };
            }
            _ => {}
        }
    }
}
