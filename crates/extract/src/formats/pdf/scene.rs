//! What is painted on a page, in its order, and what of its text can be seen. When in doubt, it can.

use std::cell::Cell;
use std::rc::Rc;

use hashbrown::HashMap;

use super::area::{Bounds, Clip, Matrix, PageArea, Point};
use super::colour::{Blend, Colour, PdfPaint, WHITE, is_lost_on};
use super::letters::TextRun;
use crate::hidden::Hiding;

/// The maximum number of painted shapes of a page with text.
const MOST_PAINTED: usize = 200_000;
/// The maximum amount of work for a page, in comparisons of a point with a side of a shape.
const MOST_WORK: usize = 100_000_000;
/// The side of the squares that a page is divided into, in its units, and the most squares of a shape that is found by
/// them.
const SQUARE: f64 = 24.0;
const MOST_SQUARES: f64 = 16.0;
/// The smallest size of letters that can be seen, in points.
const SMALLEST: f64 = 1.0;
/// Up to this opacity, nothing can be seen.
const TRANSPARENT: f32 = 0.03;
/// From this opacity on, nothing is seen of what is below.
const OPAQUE: f32 = 0.98;

/// A shape or a picture on the page.
#[derive(Debug)]
pub(super) struct Painted {
    pub(super) area: PageArea,
    pub(super) clip: Clip,
    pub(super) paint: PdfPaint,
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

/// Where shapes are: those of each square, and larger ones, in the order of painting.
#[derive(Debug, Default)]
struct Places {
    squares: HashMap<(i64, i64), Vec<usize>>,
    large: Vec<usize>,
}

impl Places {
    fn square((x, y): Point) -> (i64, i64) {
        ((x / SQUARE).floor() as i64, (y / SQUARE).floor() as i64)
    }

    fn add(&mut self, place: usize, bounds: &Bounds) {
        let (across, up) = (
            (bounds.to.0 - bounds.from.0) / SQUARE,
            (bounds.to.1 - bounds.from.1) / SQUARE,
        );
        let squares = (across + 2.0) * (up + 2.0);
        if squares.is_nan() || squares > MOST_SQUARES {
            return self.large.push(place);
        }
        let (from, to) = (Self::square(bounds.from), Self::square(bounds.to));
        for x in from.0..=to.0 {
            for y in from.1..=to.1 {
                self.squares.entry((x, y)).or_default().push(place);
            }
        }
    }

    /// The shapes that may be at a point, the last one first.
    fn at(&self, point: Point) -> impl Iterator<Item = usize> {
        let (mut near, mut large) = (
            self.squares
                .get(&Self::square(point))
                .map_or(&[][..], Vec::as_slice),
            &self.large[..],
        );
        std::iter::from_fn(move || {
            let next = if near.last() > large.last() {
                &mut near
            } else {
                &mut large
            };
            let (place, rest) = next.split_last()?;
            *next = rest;
            Some(*place)
        })
    }
}

/// What is painted later through letters that are a clip.
pub(super) type Stencil = Rc<Cell<Option<PdfPaint>>>;

/// How much is known of where the letters of a string are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Measured {
    All,
    /// Where the first one begins.
    Start,
    /// Nothing: they follow others of unknown width.
    Follows,
}

/// What is known of the letters of a font.
#[derive(Clone, Copy, Debug)]
pub(super) struct FontMetrics {
    pub(super) has_widths: bool,
    /// Whether they are about as high as their size says.
    pub(super) has_size: bool,
    /// Whether they may be written from top to bottom.
    pub(super) is_vertical: bool,
}

/// How strings are shown.
#[derive(Clone, Debug)]
pub(super) struct TextStyle {
    /// Fill and stroke, as far as the letters have them, with their opacity.
    pub(super) inks: [Option<(PdfPaint, f32)>; 2],
    pub(super) stencil: Option<Stencil>,
    pub(super) blend: Blend,
    pub(super) clip: Clip,
    /// Whether they are on a layer that is switched off.
    pub(super) is_off: bool,
    /// How many shapes were painted before.
    pub(super) painted: usize,
    pub(super) measured: Measured,
    pub(super) metrics: FontMetrics,
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

impl Unseen {
    fn alone(how: Hiding) -> Self {
        Self {
            how,
            is_of_picture: false,
            is_on_picture: false,
        }
    }

    /// It may be the text of a picture.
    fn of_picture(how: Hiding, is_on_picture: bool) -> Self {
        Self {
            how,
            is_of_picture: true,
            is_on_picture,
        }
    }
}

/// A page.
pub(super) struct Scene<'a> {
    /// What is shown of the page.
    page: Option<Bounds>,
    /// The length of a unit in points.
    unit: f64,
    painted: Vec<Painted>,
    places: Places,
    styles: Vec<TextStyle>,
    runs: Vec<TextRun<'a>>,
    work: Cell<usize>,
    /// Whether more is painted than is remembered, and whether a letter could not be looked at for that or for the work.
    is_full: bool,
    is_over: Cell<bool>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(page: Option<Bounds>, unit: f64) -> Self {
        let (painted, places) = (Vec::new(), Places::default());
        let (styles, runs) = (Vec::new(), Vec::new());
        let (work, is_over) = (Cell::new(MOST_WORK), Cell::new(false));
        Self {
            page,
            unit,
            painted,
            places,
            styles,
            runs,
            work,
            is_full: false,
            is_over,
        }
    }

    /// Says that not all of the page is remembered.
    pub(super) fn fill(&mut self) {
        self.is_full = true;
    }

    /// Whether it would take too long to say what is seen.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    pub(super) fn paint(&mut self, painted: Painted) {
        if self.painted.len() >= MOST_PAINTED {
            return self.fill();
        }
        self.places.add(self.painted.len(), &painted.clip.bounds);
        self.painted.push(painted);
    }

    /// How many shapes are painted.
    pub(super) fn painted(&self) -> usize {
        self.painted.len()
    }

    /// Strings from here on have this style.
    pub(super) fn add_style(&mut self, style: TextStyle) {
        self.styles.push(style);
    }

    /// The number of the last style.
    pub(super) fn last_style(&self) -> usize {
        self.styles.len().saturating_sub(1)
    }

    pub(super) fn style(&self, number: usize) -> &TextStyle {
        &self.styles[number]
    }

    /// Adds a string.
    pub(super) fn show(&mut self, run: TextRun<'a>) {
        self.runs.push(run);
    }

    pub(super) fn runs(&self) -> &[TextRun<'a>] {
        &self.runs
    }

    /// Whether a letter of this style cannot be seen, and why.
    pub(super) fn unseen(&self, style: &TextStyle, letter: &Letter) -> Option<Unseen> {
        if self.is_full {
            self.is_over.set(true);
        }
        if style.is_off {
            return Some(Unseen::alone(Hiding::HiddenLayer));
        }
        let points = letter.points(style.measured);
        let is_finite = points.iter().all(|(x, y)| (x + y).is_finite());
        let is_placed = style.measured != Measured::Follows && is_finite;
        let inks = style.inks();
        if inks.iter().all(|(_, alpha)| *alpha <= TRANSPARENT) {
            let how = if inks.is_empty() {
                Hiding::InvisibleRendering
            } else {
                Hiding::Transparent
            };
            let is_on_picture = is_placed && self.is_on_picture(points[0]);
            return Some(Unseen::of_picture(how, is_on_picture));
        }
        let (width, height) = letter.matrix.scaled(letter.size * self.unit);
        if style.metrics.has_size && (width < SMALLEST || height < SMALLEST) {
            return Some(Unseen::alone(Hiding::Tiny));
        }
        if is_placed && let Some(unseen) = self.unseen_at(&points, style) {
            return Some(unseen);
        }
        let is_lost = |point: &Point| self.is_lost(style, &inks, *point);
        let is_lost = if is_placed && style.measured == Measured::All {
            points.iter().all(is_lost)
        } else {
            self.is_row_lost(style, letter, is_lost)
        };
        is_lost.then(|| Unseen::alone(Hiding::SameColour))
    }

    /// Whether a letter at these points cannot be seen, whatever its colour.
    fn unseen_at(&self, points: &[Point], style: &TextStyle) -> Option<Unseen> {
        let is_off_page = self
            .page
            .is_some_and(|page| !points.iter().any(|point| page.contains(*point)));
        if is_off_page {
            return Some(Unseen::alone(Hiding::OffPage));
        }
        if self.may(points.len() * style.clip.work())
            && !points.iter().any(|point| style.clip.contains(*point))
        {
            return Some(Unseen::alone(Hiding::Clipped));
        }
        let covers: Vec<usize> = points
            .iter()
            .map(|point| self.cover(*point, style.painted))
            .collect::<Option<_>>()?;
        let is_picture = covers.iter().all(|&place| self.painted[place].is_picture);
        Some(if is_picture {
            Unseen::of_picture(Hiding::Covered, self.is_on_picture(points[0]))
        } else {
            Unseen::alone(Hiding::Covered)
        })
    }

    fn is_on_picture(&self, point: Point) -> bool {
        self.places
            .at(point)
            .any(|place| self.painted[place].is_picture && self.is_in(place, point))
    }

    /// Whether a letter is lost wherever in its row it is.
    fn is_row_lost(
        &self,
        style: &TextStyle,
        letter: &Letter,
        is_lost: impl Fn(&Point) -> bool,
    ) -> bool {
        let Some(page) = self.page.filter(|_| !style.metrics.is_vertical) else {
            return false;
        };
        let mut row = letter.row(&page).peekable();
        row.peek().is_some() && row.all(|point| is_lost(&point))
    }

    /// Whether there is work left for so much; it is then done.
    fn may(&self, work: usize) -> bool {
        let left = self.work.get().checked_sub(work);
        self.work.set(left.unwrap_or_default());
        self.is_over.set(self.is_over.get() || left.is_none());
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
        self.places
            .at(point)
            .take_while(|&place| place >= after)
            .find(|&place| {
                let painted = &self.painted[place];
                painted.covers && painted.alpha >= OPAQUE && self.is_in(place, point)
            })
    }

    /// Whether letters of these inks cannot be told from what is below at this point.
    fn is_lost(&self, style: &TextStyle, inks: &[(PdfPaint, f32)], point: Point) -> bool {
        let Some(below) = self.below(point, style.painted) else {
            return false;
        };
        inks.iter()
            .all(|(paint, alpha)| match (paint, style.blend) {
                (PdfPaint::Nothing, _) => true,
                (PdfPaint::Colour(colour), Blend::Normal) => {
                    let mixed =
                        [0, 1, 2].map(|part| below[part] + alpha * (colour[part] - below[part]));
                    is_lost_on(mixed, below)
                }
                (PdfPaint::Colour(colour), blend) => blend.ignores(*colour),
                (PdfPaint::Opaque | PdfPaint::Unknown, _) => false,
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
        for place in self.places.at(point) {
            if place >= before {
                self.may(1);
                continue;
            }
            if !self.is_in(place, point) {
                continue;
            }
            let painted = &self.painted[place];
            let PdfPaint::Colour(part) = painted.paint else {
                return None;
            };
            if !add(part, painted.alpha) {
                return Some(colour);
            }
        }
        add(WHITE, 1.0);
        Some(colour)
    }
}

impl TextStyle {
    /// What the letters are painted with; nothing if they are invisible.
    fn inks(&self) -> Vec<(PdfPaint, f32)> {
        let stencil = self
            .stencil
            .as_ref()
            .and_then(|stencil| stencil.get())
            .map(|paint| (paint, 1.0));
        let inks = self.inks.into_iter().chain([stencil]).flatten();
        inks.filter(|(paint, _)| *paint != PdfPaint::Nothing)
            .collect()
    }
}

impl Letter {
    /// Where it begins.
    pub(super) fn start(&self) -> Point {
        self.matrix.point((0.0, 0.0))
    }

    /// Where the next one begins, if nothing is between them.
    pub(super) fn end(&self) -> Point {
        self.matrix.point((self.width * self.size, 0.0))
    }

    /// Places on the page that are in one row with it.
    fn row(&self, page: &Bounds) -> impl Iterator<Item = Point> {
        /// The distance of the places, and how many there are to each side.
        const STEP: f64 = 8.0;
        const MOST: i32 = 200;
        let ((x, y), width) = (
            self.matrix.point((0.0, 0.3 * self.size)),
            self.matrix.scaled(1.0).0,
        );
        let [a, b, ..] = self.matrix.0;
        let page = *page;
        (-MOST..=MOST)
            .map(move |step| {
                let far = STEP * f64::from(step) / width;
                (x + a * far, y + b * far)
            })
            .filter(move |point| page.contains(*point))
    }

    /// Points that letters usually reach, the middle first.
    fn points(&self, measured: Measured) -> Vec<Point> {
        let places: &[(f64, f64)] = if measured == Measured::All {
            &[
                (0.5, 0.3),
                (0.1, 0.05),
                (0.9, 0.05),
                (0.1, 0.65),
                (0.9, 0.65),
            ]
        } else {
            &[(0.0, 0.0)]
        };
        let points = places
            .iter()
            .map(|(x, y)| (x * self.width * self.size, y * self.size));
        points.map(|point| self.matrix.point(point)).collect()
    }
}
