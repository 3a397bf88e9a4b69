//! What is painted on a page, in its order, and what of its text can be seen. When in doubt, it can.

use std::cell::Cell;
use std::rc::Rc;

use super::super::hidden::Hiding;
use super::area::{Area, Bounds, Clip, Matrix, Point};
use super::colour::{Blend, Colour, Paint, WHITE, is_lost_on};

/// The maximum number of painted shapes that are remembered of a page. Text that is painted after more of them
/// counts as visible, whatever its colour.
const MOST_PAINTED: usize = 20_000;
/// The maximum amount of work for a page, in comparisons of a point with a side of a shape.
const MOST_WORK: usize = 100_000_000;
/// The smallest size of letters that can be seen, in points.
const SMALLEST: f64 = 1.0;
/// Up to this opacity, nothing can be seen.
const TRANSPARENT: f32 = 0.03;
/// From this opacity on, nothing is seen of what is below.
const OPAQUE: f32 = 0.98;

/// A shape or a picture on the page.
#[derive(Debug)]
pub(super) struct Painted {
    pub(super) area: Area,
    pub(super) clip: Clip,
    pub(super) paint: Paint,
    pub(super) alpha: f32,
    pub(super) is_picture: bool,
    /// Whether nothing is seen of what is below.
    pub(super) covers: bool,
}

impl Painted {
    fn contains(&self, point: Point) -> bool {
        self.area.contains(point) && self.clip.contains(point)
    }
}

/// What is painted later through letters that are a clip.
pub(super) type Stencil = Rc<Cell<Option<Paint>>>;

/// How much is known of where the letters of a string are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Measured {
    All,
    /// Where the first one begins.
    Start,
    /// Nothing: they follow others of unknown width.
    Follows,
}

/// How strings are shown.
#[derive(Clone, Debug)]
pub(super) struct Style {
    /// Fill and stroke, as far as the letters have them, with their opacity.
    pub(super) inks: [Option<(Paint, f32)>; 2],
    pub(super) stencil: Option<Stencil>,
    pub(super) blend: Blend,
    pub(super) clip: Clip,
    /// Whether they are on a layer that is switched off.
    pub(super) is_off: bool,
    /// How many shapes were painted before.
    pub(super) painted: usize,
    /// Whether these are all.
    pub(super) is_complete: bool,
    pub(super) measured: Measured,
}

/// A letter on the page.
pub(super) struct Letter {
    /// From letters of the size 1 to the page.
    pub(super) matrix: Matrix,
    pub(super) size: f64,
    pub(super) width: f64,
}

/// Why a letter is not seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unseen {
    pub(super) how: Hiding,
    /// Whether it may be the text of a picture, which was recognised and added to it.
    pub(super) is_of_picture: bool,
    /// Whether it is on a picture.
    pub(super) is_on_picture: bool,
}

/// A page.
#[derive(Debug)]
pub(super) struct Scene {
    /// What is shown of the page.
    page: Option<Bounds>,
    /// The length of a unit in points.
    unit: f64,
    painted: Vec<Painted>,
    /// The places of those that cover what is below, and of pictures.
    covers: Vec<usize>,
    pictures: Vec<usize>,
    /// Each style, and the number of the first string that has it.
    styles: Vec<(usize, Style)>,
    pub(super) strings: usize,
    work: Cell<usize>,
}

impl Scene {
    pub(super) fn new(page: Option<Bounds>, unit: f64) -> Self {
        let (painted, covers, pictures, styles) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { page, unit, painted, covers, pictures, styles, strings: 0, work: Cell::new(MOST_WORK) }
    }

    pub(super) fn is_full(&self) -> bool {
        self.painted.len() >= MOST_PAINTED
    }

    pub(super) fn paint(&mut self, painted: Painted) {
        let place = self.painted.len();
        if painted.covers && painted.alpha >= OPAQUE {
            self.covers.push(place);
        }
        if painted.is_picture {
            self.pictures.push(place);
        }
        self.painted.push(painted);
    }

    /// How many shapes are painted.
    pub(super) fn painted(&self) -> usize {
        self.painted.len()
    }

    /// Strings from here on have this style.
    pub(super) fn style(&mut self, style: Style) {
        self.styles.push((self.strings, style));
    }

    /// The styles, in the order of the strings.
    pub(super) fn styles(&self) -> &[(usize, Style)] {
        &self.styles
    }

    /// Whether a letter of this style cannot be seen, and why.
    pub(super) fn unseen(&self, style: &Style, letter: &Letter) -> Option<Unseen> {
        let points = letter.points(style.measured);
        let is_placed = style.measured != Measured::Follows && points.iter().all(|(x, y)| (x + y).is_finite());
        let unseen = |how| Unseen { how, is_of_picture: false, is_on_picture: false };
        if style.is_off {
            return Some(unseen(Hiding::HiddenLayer));
        }
        let on_picture = || is_placed && self.pictures.iter().any(|&place| self.is_in(place, points[0]));
        let scanned = |how| Unseen { how, is_of_picture: true, is_on_picture: on_picture() };
        let inks = style.inks();
        if inks.is_empty() {
            return Some(scanned(Hiding::InvisibleRendering));
        }
        if inks.iter().all(|(_, alpha)| *alpha <= TRANSPARENT) {
            return Some(scanned(Hiding::Transparent));
        }
        let (width, height) = letter.matrix.scaled(letter.size * self.unit);
        if style.measured == Measured::All && (width < SMALLEST || height < SMALLEST) {
            return Some(unseen(Hiding::Tiny));
        }
        if !is_placed {
            return None;
        }
        if self.page.is_some_and(|page| !points.iter().any(|point| page.contains(*point))) {
            return Some(unseen(Hiding::OffPage));
        }
        if self.may(points.len() * style.clip.work()) && !points.iter().any(|point| style.clip.contains(*point)) {
            return Some(unseen(Hiding::Clipped));
        }
        let covers: Option<Vec<usize>> = points.iter().map(|point| self.cover(*point, style.painted)).collect();
        if let Some(covers) = covers {
            let is_picture = covers.iter().all(|&place| self.painted[place].is_picture);
            return Some(if is_picture { scanned(Hiding::Covered) } else { unseen(Hiding::Covered) });
        }
        let is_lost = |point: &Point| self.is_lost(style, &inks, *point);
        (style.is_complete && points.iter().all(is_lost)).then(|| unseen(Hiding::SameColour))
    }

    /// Whether there is work left for so much; it is then done.
    fn may(&self, work: usize) -> bool {
        let left = self.work.get().checked_sub(work);
        self.work.set(left.unwrap_or_default());
        left.is_some()
    }

    fn is_in(&self, place: usize, point: Point) -> bool {
        let painted = &self.painted[place];
        if !painted.area.bounds.contains(point) {
            self.may(1);
            return false;
        }
        self.may(painted.area.work() + painted.clip.work()) && painted.contains(point)
    }

    /// What covers this point after so many shapes.
    fn cover(&self, point: Point, after: usize) -> Option<usize> {
        let first = self.covers.partition_point(|&place| place < after);
        self.covers[first..].iter().copied().find(|&place| self.is_in(place, point))
    }

    /// Whether letters of these inks cannot be told from what is below at this point.
    fn is_lost(&self, style: &Style, inks: &[(Paint, f32)], point: Point) -> bool {
        let Some(below) = self.below(point, style.painted) else { return false };
        inks.iter().all(|(paint, alpha)| match (paint, style.blend) {
            (Paint::Nothing, _) => true,
            (Paint::Colour(colour), Blend::Normal) => {
                let mixed = |part: usize| below[part] + alpha * (colour[part] - below[part]);
                is_lost_on([mixed(0), mixed(1), mixed(2)], below)
            }
            (Paint::Colour(colour), blend) => blend.ignores(*colour),
            (Paint::Unknown, _) => false,
        })
    }

    /// The colour at this point after so many shapes, if it is known.
    fn below(&self, point: Point, before: usize) -> Option<Colour> {
        let (mut colour, mut left) = ([0.0; 3], 1.0_f32);
        let mut add = |part: Colour, share: f32| {
            (0..3).for_each(|place| colour[place] += left * share * part[place]);
            left *= 1.0 - share;
            left > 1.0 - OPAQUE
        };
        for place in (0..before.min(self.painted.len())).rev() {
            if !self.is_in(place, point) {
                continue;
            }
            let painted = &self.painted[place];
            let Paint::Colour(part) = painted.paint else { return None };
            if !add(part, painted.alpha) {
                return (self.work.get() > 0).then_some(colour);
            }
        }
        add(WHITE, 1.0);
        (self.work.get() > 0).then_some(colour)
    }
}

impl Style {
    /// What the letters are painted with; nothing if they are invisible.
    fn inks(&self) -> Vec<(Paint, f32)> {
        let stencil = self.stencil.as_ref().and_then(|stencil| stencil.get()).map(|paint| (paint, 1.0));
        let inks = self.inks.into_iter().chain([stencil]).flatten();
        inks.filter(|(paint, _)| *paint != Paint::Nothing).collect()
    }
}

impl Letter {
    /// Points that letters usually reach, the middle first.
    fn points(&self, measured: Measured) -> Vec<Point> {
        let at = |x: f64, y: f64| self.matrix.point((x * self.width * self.size, y * self.size));
        if measured == Measured::All {
            [(0.5, 0.3), (0.1, 0.05), (0.9, 0.05), (0.1, 0.65), (0.9, 0.65)].map(|(x, y)| at(x, y)).to_vec()
        } else {
            vec![at(0.0, 0.0)]
        }
    }
}
