//! Areas of a page: what a path, a picture or a clip takes up, in the units of the page.

use std::rc::Rc;

/// A point of the page.
pub(super) type Point = (f64, f64);

/// The number of pieces that a curve is divided into.
const PIECES: u32 = 8;
/// How many clips of other shapes than boxes can be nested before further ones are ignored.
const MOST_CLIPS: usize = 64;

/// A transformation from one space to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrix(pub(super) [f64; 6]);

// The letters are those of the PDF reference.
#[allow(clippy::many_single_char_names)]
impl Matrix {
    pub(super) const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// A movement.
    pub(super) fn shift(across: f64, up: f64) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, across, up])
    }

    pub(super) fn point(&self, (x, y): Point) -> Point {
        let [a, b, c, d, e, f] = self.0;
        (a * x + c * y + e, b * x + d * y + f)
    }

    /// This transformation, and then the other one.
    pub(super) fn then(&self, other: &Self) -> Self {
        let [a, b, c, d, e, f] = self.0;
        let linear = Self([other.0[0], other.0[1], other.0[2], other.0[3], 0.0, 0.0]);
        let ((a, b), (c, d), (e, f)) = (
            linear.point((a, b)),
            linear.point((c, d)),
            other.point((e, f)),
        );
        Self([a, b, c, d, e, f])
    }

    /// How wide and how high a square of this size becomes.
    pub(super) fn scaled(&self, size: f64) -> (f64, f64) {
        let [a, b, c, d, ..] = self.0;
        let width = a.hypot(b);
        let height = if width > 0.0 {
            (a * d - b * c).abs() / width
        } else {
            c.hypot(d)
        };
        (width * size.abs(), height * size.abs())
    }
}

/// A box with sides parallel to the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) from: Point,
    pub(super) to: Point,
}

impl Bounds {
    pub(super) const EVERYTHING: Self = Self {
        from: (f64::NEG_INFINITY, f64::NEG_INFINITY),
        to: (f64::INFINITY, f64::INFINITY),
    };

    /// The smallest box around these points.
    pub(super) fn around(points: impl IntoIterator<Item = Point>) -> Option<Self> {
        let mut points = points.into_iter();
        let first = points.next()?;
        Some(points.fold(
            Self {
                from: first,
                to: first,
            },
            |bounds, (x, y)| Self {
                from: (bounds.from.0.min(x), bounds.from.1.min(y)),
                to: (bounds.to.0.max(x), bounds.to.1.max(y)),
            },
        ))
    }

    pub(super) fn contains(&self, (x, y): Point) -> bool {
        self.from.0 <= x && x <= self.to.0 && self.from.1 <= y && y <= self.to.1
    }

    /// What both contain; a box without a size that contains nothing if there is no such thing.
    pub(super) fn within(&self, other: &Self) -> Self {
        let from = (self.from.0.max(other.from.0), self.from.1.max(other.from.1));
        Self {
            from,
            to: (self.to.0.min(other.to.0), self.to.1.min(other.to.1)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        !(self.from.0 < self.to.0 && self.from.1 < self.to.1)
    }

    fn wider(&self, by: f64) -> Self {
        Self {
            from: (self.from.0 - by, self.from.1 - by),
            to: (self.to.0 + by, self.to.1 + by),
        }
    }
}

/// What is inside of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FillRule {
    NonZero,
    EvenOdd,
    /// The line itself, half as wide as this.
    Line(f64),
}

/// Part of a page.
#[derive(Debug)]
pub(super) struct PageArea {
    pub(super) bounds: Bounds,
    /// The lines around it. If there are none, the box is all of it.
    outline: Vec<Vec<Point>>,
    rule: FillRule,
}

impl PageArea {
    pub(super) fn of_box(bounds: Bounds) -> Self {
        Self {
            bounds,
            outline: Vec::new(),
            rule: FillRule::NonZero,
        }
    }

    /// The square of one unit under this transformation: the place of a picture.
    pub(super) fn of_square(matrix: &Matrix, bounds: Bounds) -> Self {
        let mut path = Path::default();
        path.rectangle(matrix, bounds.from, bounds.to);
        path.area(FillRule::NonZero)
            .unwrap_or_else(|| Self::of_box(bounds))
    }

    /// How much work it is to look whether it contains a point.
    pub(super) fn work(&self) -> usize {
        1 + self.outline.iter().map(Vec::len).sum::<usize>()
    }

    pub(super) fn contains(&self, point: Point) -> bool {
        if !self.bounds.contains(point) {
            return false;
        }
        if self.outline.is_empty() {
            return true;
        }
        if let FillRule::Line(half) = self.rule {
            return self
                .sides()
                .any(|(from, to)| distance(point, from, to) <= half);
        }
        let (mut winding, mut crossings) = (0_i32, 0_u32);
        let closing = self
            .outline
            .iter()
            .filter_map(|line| Some((*line.last()?, *line.first()?)));
        for (from, to) in self.sides().chain(closing) {
            if (from.1 <= point.1) != (to.1 <= point.1) {
                let x = from.0 + (point.1 - from.1) / (to.1 - from.1) * (to.0 - from.0);
                if x > point.0 {
                    crossings += 1;
                    winding += if to.1 > from.1 { 1 } else { -1 };
                }
            }
        }
        if self.rule == FillRule::EvenOdd {
            crossings % 2 == 1
        } else {
            winding != 0
        }
    }

    fn sides(&self) -> impl Iterator<Item = (Point, Point)> {
        self.outline
            .iter()
            .flat_map(|line| line.windows(2).map(|side| (side[0], side[1])))
    }
}

fn distance(point: Point, from: Point, to: Point) -> f64 {
    let (across, up) = (to.0 - from.0, to.1 - from.1);
    let length = across * across + up * up;
    let along = ((point.0 - from.0) * across + (point.1 - from.1) * up) / length;
    let along = if length > 0.0 {
        along.clamp(0.0, 1.0)
    } else {
        0.0
    };
    (point.0 - from.0 - along * across).hypot(point.1 - from.1 - along * up)
}

/// A path under construction, in the units of the page.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    lines: Vec<Vec<Point>>,
    pub(super) points: usize,
}

impl Path {
    pub(super) fn move_to(&mut self, point: Point) {
        self.lines.push(vec![point]);
        self.points += 1;
    }

    pub(super) fn line_to(&mut self, point: Point) {
        match self.lines.last_mut() {
            Some(line) => {
                line.push(point);
                self.points += 1;
            }
            None => self.move_to(point),
        }
    }

    /// The last point.
    pub(super) fn end(&self) -> Option<Point> {
        self.lines.last().and_then(|line| line.last().copied())
    }

    pub(super) fn curve_to(&mut self, first: Point, second: Point, to: Point) {
        let from = self.end().unwrap_or(first);
        for piece in 1..=PIECES {
            let t = f64::from(piece) / f64::from(PIECES);
            let s = 1.0 - t;
            let at = |a: f64, b: f64, c: f64, d: f64| {
                s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d
            };
            self.line_to((
                at(from.0, first.0, second.0, to.0),
                at(from.1, first.1, second.1, to.1),
            ));
        }
    }

    pub(super) fn close(&mut self) {
        if let Some(&first) = self.lines.last().and_then(|line| line.first()) {
            self.line_to(first);
        }
    }

    pub(super) fn rectangle(&mut self, matrix: &Matrix, from: Point, to: Point) {
        let corners = [from, (to.0, from.1), to, (from.0, to.1)];
        let corners = corners.map(|corner| matrix.point(corner));
        self.lines.push([&corners[..], &corners[..1]].concat());
        self.points += 5;
    }

    /// The box that the path is, if its sides are parallel to the axes.
    fn as_box(&self) -> Option<Bounds> {
        let [line] = &self.lines[..] else { return None };
        let around = matches!(line.len(), 4 | 5)
            && line.windows(2).all(is_straight)
            && is_straight(&[line[3], line[0]])
            && (line[0].0 - line[2].0).abs() >= 1e-6
            && line.get(4).is_none_or(|end| *end == line[0]);
        Bounds::around(line.iter().copied()).filter(|bounds| around && !bounds.is_empty())
    }

    /// What is inside of it; nothing if it has no points.
    pub(super) fn area(self, rule: FillRule) -> Option<PageArea> {
        let (half, is_filled) = match rule {
            FillRule::Line(half) => (half, false),
            FillRule::NonZero | FillRule::EvenOdd => (0.0, true),
        };
        let bounds = Bounds::around(self.lines.iter().flatten().copied())?.wider(half);
        let outline = if is_filled && self.as_box().is_some() {
            Vec::new()
        } else {
            self.lines
        };
        Some(PageArea {
            bounds,
            outline,
            rule,
        })
    }
}

fn is_straight(side: &[Point]) -> bool {
    let (across, up) = ((side[0].0 - side[1].0).abs(), (side[0].1 - side[1].1).abs());
    across < 1e-6 || up < 1e-6
}

/// What is left of a page by the clips in force.
#[derive(Clone, Debug)]
pub(super) struct Clip {
    pub(super) bounds: Bounds,
    shapes: Option<Rc<Shapes>>,
    /// Whether it contains all that it should: further clips were ignored if not.
    pub(super) is_exact: bool,
}

#[derive(Debug)]
struct Shapes {
    area: PageArea,
    outer: Option<Rc<Shapes>>,
    count: usize,
}

impl Clip {
    pub(super) const NONE: Self = Self {
        bounds: Bounds::EVERYTHING,
        shapes: None,
        is_exact: true,
    };

    pub(super) fn add(&mut self, area: PageArea) {
        self.bounds = self.bounds.within(&area.bounds);
        if area.outline.is_empty() {
            return;
        }
        let count = self.shapes.as_ref().map_or(0, |shapes| shapes.count) + 1;
        if count > MOST_CLIPS {
            self.is_exact = false;
            return;
        }
        self.shapes = Some(Rc::new(Shapes {
            area,
            outer: self.shapes.take(),
            count,
        }));
    }

    pub(super) fn contains(&self, point: Point) -> bool {
        let mut shapes = self.shapes.as_ref();
        if !self.bounds.contains(point) {
            return false;
        }
        while let Some(shape) = shapes {
            if !shape.area.contains(point) {
                return false;
            }
            shapes = shape.outer.as_ref();
        }
        true
    }

    /// How much work it is to look whether it contains a point.
    pub(super) fn work(&self) -> usize {
        let shapes = std::iter::successors(self.shapes.as_ref(), |shape| shape.outer.as_ref());
        shapes.map(|shape| shape.area.work()).sum()
    }
}
