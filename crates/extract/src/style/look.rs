//! What an element looks like, as far as it can hide its text.

use super::cascade::{ElementStyle, Variables};
use super::paint::Paint;
use super::property::Property;
use super::setting::{Display, Positioning, Setting};
use super::shape::is_far;
use super::value::{HEIGHT, USUAL_SIZE, WIDTH};
use super::{FAINTEST, SMALLEST_BOX, SMALLEST_LETTERS};
use crate::colour::Colour;
use crate::hidden::Hiding;

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
/// Tables and their parts.
const TABLES: &[&str] = &["table", "tbody", "thead", "tfoot", "tr", "td", "th"];
/// Elements with colours of their own: letters and background.
const COLOURED: &[(&str, &str, &str)] = &[
    ("mark", "000000", "ffff00"),
    ("button", "000000", "efefef"),
    ("select", "000000", "ffffff"),
    ("textarea", "000000", "ffffff"),
    ("dialog", "000000", "ffffff"),
];
/// The width of a letter, in pixels.
const LETTER: f32 = 8.0;
/// The longest text, in letters, that is looked at for whether a line holds it.
const LONGEST: f32 = 2_000.0;
/// How far a short text must be moved for it to be off the screen, in pixels.
const FAR_FOR_SHORT: f32 = -350.0;

/// What an element looks like, as far as it can hide its text.
#[derive(Debug, Clone)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "they do not depend on each other"
)]
pub(super) struct Look {
    /// How all in it is hidden, whatever the elements in it say.
    all: Option<Hiding>,
    /// Whether what is hidden leaves no gap.
    leaves_no_gap: bool,
    /// Whether it is in a box that is clipped away, and whether that box holds what is placed elsewhere.
    clipped: Option<bool>,
    place: BoxPlace,
    /// Where the nearest box is that is placed itself.
    base: Option<BoxPlace>,
    is_invisible: bool,
    opacity: f32,
    letters: Paint,
    fill: Option<Paint>,
    links: Paint,
    /// What is seen through the letters only.
    within: Paint,
    shadow: Paint,
    stroke: Paint,
    stroke_width: f32,
    /// `None` if it is a picture.
    background: Option<Colour>,
    /// The size of letters, and how many times larger they are drawn.
    size: f32,
    scale: f32,
    indent: f32,
    /// Whether lines end at the right border of their box.
    ends_right: bool,
    /// Whether it is a flexible box, and its parts are below each other.
    flexible: Option<bool>,
    /// Whether it is a drawing, in which other rules hold.
    pub(super) is_drawing: bool,
    pub(super) variables: Variables,
}

/// Where something is, from where it would be.
#[derive(Debug, Clone, Copy, Default)]
struct BoxPlace {
    /// To the right and down, in pixels.
    x: f32,
    y: f32,
    /// Whether it is moved to the left, and its text is too short to reach the page.
    is_short: bool,
    leaves_no_gap: bool,
}

impl BoxPlace {
    fn is_off_page(self) -> bool {
        is_far(self.x) || is_far(self.y.min(0.0)) || self.is_short
    }
}

impl Default for Look {
    fn default() -> Self {
        Self {
            all: None,
            leaves_no_gap: false,
            clipped: None,
            place: BoxPlace::default(),
            base: None,
            is_invisible: false,
            opacity: 1.0,
            letters: Paint::BLACK,
            fill: None,
            links: Paint::of_hex("0000ee"),
            within: Paint::NONE,
            shadow: Paint::NONE,
            stroke: Paint::Current,
            stroke_width: 0.0,
            background: Some(Colour::WHITE),
            size: USUAL_SIZE,
            scale: 1.0,
            indent: 0.0,
            ends_right: false,
            flexible: None,
            is_drawing: false,
            variables: Variables::default(),
        }
    }
}

/// What an element is, besides its styles.
pub(super) struct StyledElement<'a> {
    pub(super) name: &'a str,
    /// Whether an attribute hides it, or it waits for something to open it.
    pub(super) is_hidden: bool,
    /// Whether it is a note that a link opens.
    pub(super) is_note: bool,
    pub(super) is_link: bool,
    /// Whether its text has at most so many letters.
    pub(super) is_short: &'a mut dyn FnMut(usize) -> bool,
}

impl Look {
    /// Whether all in it is hidden without a gap, so that it needs no closer look.
    pub(super) fn is_gone(&self) -> bool {
        self.all.is_some() && self.leaves_no_gap
    }

    /// How it hides its own text, if it does, and whether that leaves no gap.
    pub(super) fn hiding(&self) -> Option<(Hiding, bool)> {
        if let Some(how) = self.all {
            return Some((how, self.leaves_no_gap));
        }
        if self.place.is_off_page() {
            return Some((Hiding::OffPage, self.place.leaves_no_gap));
        }
        let how = self
            .clipped
            .map(|_| Hiding::Clipped)
            .or(self.is_invisible.then_some(Hiding::InvisibleRendering))
            .or((self.opacity < FAINTEST).then_some(Hiding::Transparent))
            .or_else(|| self.fades())
            .or((self.size * self.scale < SMALLEST_LETTERS).then_some(Hiding::Tiny))?;
        Some((how, how == Hiding::Tiny))
    }

    /// How its letters are lost on their background, whatever they are drawn with.
    fn fades(&self) -> Option<Hiding> {
        let fill = self.loses(self.fill.unwrap_or(self.letters))?;
        let stroke = if self.stroke_width > 0.0 {
            self.stroke
        } else {
            Paint::NONE
        };
        let is_lost = [self.within, self.shadow, stroke]
            .into_iter()
            .all(|paint| self.loses(paint).is_some());
        (is_lost && !self.is_drawing).then_some(fill)
    }

    /// How letters are lost on their background that are drawn with this paint.
    fn loses(&self, paint: Paint) -> Option<Hiding> {
        let paint = if paint == Paint::Current {
            self.letters
        } else {
            paint
        };
        let Paint::Colour(_, alpha) = paint else {
            return None;
        };
        if alpha * self.opacity < FAINTEST {
            return Some(Hiding::Transparent);
        }
        let background = self.background?;
        paint
            .over(self.background)?
            .is_lost_on(background)
            .then_some(Hiding::SameColour)
    }

    /// The look of an element in this one.
    pub(super) fn of_child(
        &self,
        element: &mut StyledElement<'_>,
        settings: &ElementStyle,
    ) -> Self {
        let mut look = self.clone();
        if self.all.is_some() {
            return look;
        }
        let name = element.name;
        look.variables = settings.variables.clone();
        look.inherit(element, settings);
        look.is_drawing = name == "svg" || look.is_drawing && name != "foreignObject";
        let display = display(element, settings);
        if display == Display::None {
            let by_attribute = element.is_hidden && settings.get(Property::Display).is_none();
            look.all = Some(if by_attribute {
                Hiding::HiddenAttribute
            } else {
                Hiding::DisplayNone
            });
            look.leaves_no_gap = true;
            return look;
        }
        look.flexible = None;
        if display != Display::Contents {
            look.be_box(element, display, settings, self.flexible);
        }
        look
    }

    /// What an element takes over from the one around it, unless its own settings say otherwise.
    fn inherit(&mut self, element: &StyledElement<'_>, settings: &ElementStyle) {
        match settings.get(Property::FontSize) {
            Some(Setting::Size(size)) => self.size = size.size(self.size).clamp(0.0, 10_000.0),
            Some(_) => {}
            None => self.size *= usual_factor(element.name),
        }
        if let Some(Setting::Is(hides)) = settings.get(Property::Visibility) {
            self.is_invisible = hides;
        }
        if let Some(indent) = settings.pixels(Property::Indent, self.size) {
            self.indent = indent;
        }
        if let Some(Setting::Is(ends_right)) = settings.get(Property::Align) {
            self.ends_right = ends_right;
        }
        self.inherit_colours(element, settings);
        if let Some(width) = settings.pixels(Property::StrokeWidth, self.size) {
            self.stroke_width = width;
        }
    }

    fn inherit_colours(&mut self, element: &StyledElement<'_>, settings: &ElementStyle) {
        if let Some(Setting::Paint(paint)) = settings.get(Property::Links) {
            self.links = paint;
        }
        match settings.get(Property::Colour) {
            Some(Setting::Paint(paint)) if paint != Paint::Current => self.letters = paint,
            Some(_) => {}
            None if element.is_link => self.letters = self.links,
            None => {
                if let Some((letters, _)) = own_colours(element.name) {
                    self.letters = letters;
                }
            }
        }
        match settings.get(Property::Fill) {
            Some(Setting::Paint(Paint::Current)) => self.fill = None,
            Some(Setting::Paint(paint)) => self.fill = Some(paint),
            _ => {}
        }
        for (property, painted) in [
            (Property::Shadow, &mut self.shadow),
            (Property::Stroke, &mut self.stroke),
        ] {
            if let Some(Setting::Paint(paint)) = settings.get(property) {
                // A shadow has the colour that letters have here, also where it is inherited.
                *painted = if paint == Paint::Current {
                    self.letters
                } else {
                    paint
                };
            }
        }
    }

    /// Whether a box clips what is in it, and has no size on one side.
    fn shows_nothing(&self, settings: &ElementStyle, flexible: Option<bool>) -> bool {
        settings.is(Property::Overflow)
            && [ACROSS, DOWN]
                .iter()
                .any(|side| self.has_no_size(side, settings, flexible))
    }

    fn fade(&mut self, settings: &ElementStyle) {
        for property in [Property::Opacity, Property::Filter] {
            if let Some(Setting::Number(opacity)) = settings.get(property) {
                self.opacity *= opacity;
            }
        }
    }

    /// What its box looks like, in one that is flexible.
    fn be_box(
        &mut self,
        element: &mut StyledElement<'_>,
        display: Display,
        settings: &ElementStyle,
        flexible: Option<bool>,
    ) {
        self.fade(settings);
        self.paint_background(element.name, settings);
        if let Some(Setting::Number(zoom)) = settings.get(Property::Zoom) {
            self.scale *= zoom;
        }
        let placed = position_of(settings);
        let is_out = matches!(placed, Positioning::Absolute | Positioning::Fixed);
        let is_box = is_out || settings.is(Property::Float) || display != Display::Inline;
        if display == Display::Flex {
            self.flexible = Some(settings.is(Property::Column));
        }
        // What is placed elsewhere leaves a box that clips what is in it, unless that box is placed itself.
        if is_out
            && self
                .clipped
                .is_some_and(|holds| !holds || placed == Positioning::Fixed)
        {
            self.clipped = None;
        }
        let scale = self.move_box(element, (placed, is_box), settings);
        let is_clipped = settings.is(Property::ClipPath) || is_out && settings.is(Property::Clip);
        if is_clipped || scale < 0.001 {
            self.all = Some(Hiding::Clipped);
            self.leaves_no_gap = is_out;
        } else if is_box && settings.is(Property::ContentVisibility) {
            self.all = Some(Hiding::DisplayNone);
            self.leaves_no_gap = is_out;
        } else if is_box && display != Display::Table && self.shows_nothing(settings, flexible) {
            self.clipped = Some(placed != Positioning::Static || self.clipped == Some(true));
        }
    }

    /// Whether a box has no width or no height.
    fn has_no_size(&self, side: &BoxSide, settings: &ElementStyle, flexible: Option<bool>) -> bool {
        let length = |property| settings.pixels(property, self.size);
        let is_flexed = flexible == Some(side.is_down);
        if is_flexed
            && matches!(settings.get(Property::Grow), Some(Setting::Number(grow)) if grow > 0.0)
        {
            return false;
        }
        let has_basis = settings
            .get(Property::Basis)
            .is_some_and(|basis| basis != Setting::Usual);
        let given = if is_flexed && has_basis {
            length(Property::Basis)
        } else {
            length(side.size)
        };
        let most = length(side.most);
        let Some(actual) = given.into_iter().chain(most).reduce(f32::min) else {
            return false;
        };
        let padding: f32 = side.padding.into_iter().filter_map(length).sum();
        actual.max(length(side.least).unwrap_or(0.0)) + padding < SMALLEST_BOX
    }

    /// Paints the background of a box.
    fn paint_background(&mut self, name: &str, settings: &ElementStyle) {
        let paint = match settings.get(Property::Background) {
            _ if settings.is(Property::BackgroundImage) => Paint::Unknown,
            Some(Setting::Paint(Paint::Current)) => self.letters,
            Some(Setting::Paint(paint)) => paint,
            Some(_) => Paint::NONE,
            None => own_colours(name).map_or(Paint::NONE, |(_, background)| background),
        };
        if settings.is(Property::BackgroundClip) {
            self.within = paint;
        } else if paint != Paint::NONE {
            self.within = Paint::NONE;
            self.background = paint.over(self.background);
        }
    }

    /// Moves a box, and tells how many times larger a transformation makes it.
    fn move_box(
        &mut self,
        element: &mut StyledElement<'_>,
        (placed, is_box): (Positioning, bool),
        settings: &ElementStyle,
    ) -> f32 {
        let is_out = matches!(placed, Positioning::Absolute | Positioning::Fixed);
        let before = self.place;
        let mut place = self.placed(placed, settings);
        let shape = if is_box { shape(settings) } else { None };
        let (scale, right, down) = shape.unwrap_or((1.0, 0.0, 0.0));
        if is_box {
            place.x += self.margin(is_out, settings) + right;
            place.y += settings
                .pixels(Property::MarginTop, self.size)
                .unwrap_or(0.0)
                + settings
                    .pixels(Property::PaddingTop, self.size)
                    .unwrap_or(0.0)
                + down;
            let shift = if self.ends_right {
                place.x
            } else {
                place.x + self.indent.min(0.0)
            };
            place.is_short = shift < FAR_FOR_SHORT
                && (element.is_short)((-shift / LETTER).min(LONGEST) as usize);
            self.scale *= scale;
        }
        place.leaves_no_gap = is_out || before.leaves_no_gap && before.is_off_page();
        self.place = place;
        if placed != Positioning::Static || shape.is_some() {
            self.base = Some(place);
        }
        scale
    }

    /// Where a box is that is placed so, without its margins.
    fn placed(&self, placed: Positioning, settings: &ElementStyle) -> BoxPlace {
        let side = |property| settings.pixels(property, self.size);
        let (left, right) = (side(Property::Left), side(Property::Right));
        let (top, bottom) = (side(Property::Top), side(Property::Bottom));
        let mut place = self.place;
        match placed {
            Positioning::Static => {}
            Positioning::Relative => {
                place.x += left.unwrap_or_else(|| -right.unwrap_or(0.0));
                place.y += top.unwrap_or_else(|| -bottom.unwrap_or(0.0));
            }
            Positioning::Absolute | Positioning::Fixed => {
                let base = self.base.filter(|_| placed == Positioning::Absolute);
                // How far the other side of the box around it is, at most.
                let height = if base.is_some() { 4.0 * HEIGHT } else { HEIGHT };
                let base = base.unwrap_or_default();
                if let Some(x) = left.or_else(|| Some(beyond(right?, WIDTH))) {
                    place.x = base.x + x;
                }
                if let Some(y) = top.or_else(|| Some(beyond(bottom?, height))) {
                    place.y = base.y + y;
                }
            }
        }
        place
    }

    /// How far the margin and the padding of a box move it to the right.
    fn margin(&self, is_out: bool, settings: &ElementStyle) -> f32 {
        let length = |property| settings.pixels(property, self.size);
        let is_centred = settings.get(Property::MarginLeft) == Some(Setting::Usual);
        let width = length(Property::Width)
            .or(length(Property::MaxWidth))
            .filter(|_| is_centred);
        let margin = length(Property::MarginLeft)
            .filter(|margin| *margin > 0.0 || !self.ends_right || is_out);
        width.map_or(0.0, |width| ((WIDTH - width) / 2.0).max(0.0))
            + margin.unwrap_or(0.0)
            + length(Property::PaddingLeft).unwrap_or(0.0)
    }
}

/// The properties of the size of a box in one direction.
struct BoxSide {
    size: Property,
    least: Property,
    most: Property,
    padding: [Property; 2],
    is_down: bool,
}

const ACROSS: BoxSide = BoxSide {
    size: Property::Width,
    least: Property::MinWidth,
    most: Property::MaxWidth,
    padding: [Property::PaddingLeft, Property::PaddingRight],
    is_down: false,
};
const DOWN: BoxSide = BoxSide {
    size: Property::Height,
    least: Property::MinHeight,
    most: Property::MaxHeight,
    padding: [Property::PaddingTop, Property::PaddingBottom],
    is_down: true,
};

fn position_of(settings: &ElementStyle) -> Positioning {
    match settings.get(Property::Position) {
        Some(Setting::Position(position)) => position,
        _ => Positioning::Static,
    }
}

fn display(element: &StyledElement<'_>, settings: &ElementStyle) -> Display {
    match settings.get(Property::Display) {
        Some(Setting::Display(Display::None)) if element.is_note => Display::Block,
        Some(Setting::Display(display)) => display,
        None if element.is_hidden => Display::None,
        _ if BOXES.contains(&element.name) => Display::Block,
        _ if TABLES.contains(&element.name) => Display::Table,
        _ => Display::Inline,
    }
}

/// The letters and the background of an element that has colours of its own.
fn own_colours(name: &str) -> Option<(Paint, Paint)> {
    let (_, letters, background) = COLOURED.iter().find(|(coloured, ..)| *coloured == name)?;
    Some((Paint::of_hex(letters), Paint::of_hex(background)))
}

/// Where something is that is this far from the other side of a box of such a size.
fn beyond(side: f32, all: f32) -> f32 {
    if side >= all {
        -2.0 * WIDTH - side
    } else {
        0.0
    }
}

/// How many times larger transformations make a box, and by how many pixels they move it, if there are any.
fn shape(settings: &ElementStyle) -> Option<(f32, f32, f32)> {
    let mut all = None;
    for property in [
        Property::Transform,
        Property::Scale,
        Property::Translate,
        Property::Rotate,
    ] {
        if let Some(Setting::Shape { scale, x, y }) = settings.get(property) {
            let (scale_before, x_before, y_before) = all.unwrap_or((1.0, 0.0, 0.0));
            all = Some((scale_before * scale, x_before + x, y_before + y));
        }
    }
    all
}

/// How many times larger the letters of an element are than those around it, without any style.
pub(crate) fn usual_factor(name: &str) -> f32 {
    match name {
        "small" | "sub" | "sup" | "h5" => 0.83,
        "h6" => 0.67,
        "big" => 1.2,
        "h1" => 2.0,
        "h2" => 1.5,
        "h3" => 1.17,
        _ => 1.0,
    }
}
