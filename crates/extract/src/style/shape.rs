//! Shapes that boxes are clipped to, and transformations of boxes.

use super::setting::{CssValue, Setting, only_number};
use super::value::{Length, USUAL_SIZE, WIDTH, Word};

/// `clip: rect(…)`.
pub(super) fn clip(value: CssValue<'_>) -> Option<Setting> {
    match value.words {
        [Word::Ident(word)] if word == "auto" => Some(Setting::Is(false)),
        [Word::Function(rect, inner)] if rect == "rect" => Some(Setting::Is(is_nothing(inner))),
        _ => None,
    }
}

/// Whether `clip-path` leaves nothing to see.
pub(super) fn clip_path(value: CssValue<'_>) -> Option<Setting> {
    match value.words {
        [Word::Ident(_)] => Some(Setting::Is(false)),
        words => words.iter().find_map(clips_all).map(Setting::Is),
    }
}

/// Whether `rect(…)` has no area, or hardly any.
fn is_nothing(inner: &[Word]) -> bool {
    let sides: Vec<f32> = inner
        .iter()
        .filter_map(Length::of)
        .map(|length| length.pixels(USUAL_SIZE))
        .collect();
    let [top, right, bottom, left] = sides[..] else {
        return false;
    };
    right - left < super::SMALLEST_BOX || bottom - top < super::SMALLEST_BOX
}

/// Whether a shape leaves nothing to see, if it is one.
fn clips_all(word: &Word) -> Option<bool> {
    let Word::Function(name, inner) = word else {
        return None;
    };
    let rounded = inner
        .iter()
        .position(|word| matches!(word, Word::Ident(name) if name == "round" || name == "at"));
    let lengths: Vec<Length> = inner[..rounded.unwrap_or(inner.len())]
        .iter()
        .filter_map(Length::of)
        .collect();
    Some(match name.as_str() {
        "inset" => meets_itself(&lengths)?,
        "circle" | "ellipse" => lengths.iter().any(is_nothing_of),
        "polygon" => is_flat(&lengths),
        "rect" => is_nothing(inner),
        "xywh" => lengths.iter().skip(2).any(is_nothing_of),
        "path" | "shape" | "url" => false,
        _ => return None,
    })
}

fn is_nothing_of(length: &Length) -> bool {
    length.pixels(USUAL_SIZE) < 1.0
}

/// Whether opposite sides of an inset meet, whatever the size of the box, which is no larger than a page.
fn meets_itself(sides: &[Length]) -> Option<bool> {
    let top = *sides.first()?;
    let right = *sides.get(1).unwrap_or(&top);
    let bottom = *sides.get(2).unwrap_or(&top);
    let left = *sides.get(3).unwrap_or(&right);
    Some([(top, bottom), (left, right)].into_iter().any(|(a, b)| {
        a.share() + b.share() >= 1.0 || a.pixels(USUAL_SIZE) + b.pixels(USUAL_SIZE) >= WIDTH
    }))
}

/// Whether the corners of a polygon are on one line, across or down.
fn is_flat(corners: &[Length]) -> bool {
    let pixels = || corners.iter().map(|length| length.pixels(USUAL_SIZE));
    corners.len() < 6 || are_equal(pixels().step_by(2)) || are_equal(pixels().skip(1).step_by(2))
}

fn are_equal(numbers: impl Iterator<Item = f32>) -> bool {
    let (least, most) = numbers.fold((f32::MAX, f32::MIN), |(least, most), number| {
        (least.min(number), most.max(number))
    });
    most - least < 1.0
}

/// How a transformation moves a box and changes its size.
#[derive(Clone, Copy)]
struct Transformation {
    scale: f32,
    right: f32,
    down: f32,
}

impl Transformation {
    const NONE: Self = Self {
        scale: 1.0,
        right: 0.0,
        down: 0.0,
    };

    fn scaled(scale: f32) -> Self {
        Self {
            scale,
            ..Self::NONE
        }
    }

    fn then(self, next: Self) -> Self {
        Self {
            scale: self.scale * next.scale,
            right: self.right + self.scale * next.right,
            down: self.down + self.scale * next.down,
        }
    }

    /// What a function such as `scale(…)` does.
    fn of(name: &str, inner: &[Word]) -> Option<Self> {
        Some(match name {
            "scale" | "scalex" | "scaley" | "scale3d" => {
                let numbers = numbers(inner).into_iter().take(2).map(f32::abs);
                Self::scaled(numbers.reduce(f32::min)?)
            }
            "matrix" | "matrix3d" => Self::of_matrix(&numbers(inner))?,
            "translate" | "translate3d" | "translatex" | "translatey" => {
                Self::of_shift(name, inner)?
            }
            // Turned on its edge, nothing is left of it.
            "rotatex" | "rotatey" if inner.iter().any(is_edge) => Self::scaled(0.0),
            "rotate" | "rotatex" | "rotatey" | "rotatez" | "rotate3d" | "skew" | "skewx"
            | "skewy" | "translatez" | "scalez" | "perspective" => Self::NONE,
            _ => return None,
        })
    }

    fn of_matrix(numbers: &[f32]) -> Option<Self> {
        let ([xx, xy, yx, yy, right, down]
        | [xx, xy, _, _, yx, yy, _, _, _, _, _, _, right, down, _, _]) = *numbers
        else {
            return None;
        };
        Some(Self {
            scale: (xx * yy - xy * yx).abs().sqrt(),
            right,
            down,
        })
    }

    fn of_shift(name: &str, inner: &[Word]) -> Option<Self> {
        let mut arguments = inner.iter().filter(|word| **word != Word::Delim(','));
        let (first, second) = (arguments.next(), arguments.next());
        if name == "translatey" {
            return Some(Self {
                down: shift(first),
                ..Self::NONE
            });
        }
        Length::of(first?)?;
        let second = second.filter(|_| name != "translatex");
        Some(Self {
            scale: 1.0,
            right: shift(first),
            down: shift(second),
        })
    }
}

fn numbers(inner: &[Word]) -> Vec<f32> {
    inner.chunks(1).filter_map(only_number).collect()
}

/// By how many pixels something is moved. A share is one of the box itself, which is not known, but smaller than a page.
fn shift(word: Option<&Word>) -> f32 {
    let length = word.and_then(Length::of).unwrap_or(Length::ZERO);
    if length.share().abs() >= 10.0 {
        length.pixels(USUAL_SIZE)
    } else {
        length.without_share().pixels(USUAL_SIZE)
    }
}

fn is_edge(word: &Word) -> bool {
    matches!(word, Word::Angle(turn) if (turn.abs() % 180.0 - 90.0).abs() < 1.0)
}

/// How a transformation moves a box and changes its size.
pub(super) fn transform(property: &str, words: &[Word]) -> Option<Setting> {
    if matches!(words, [Word::Ident(name)] if name == "none") {
        return Some(Setting::Usual);
    }
    let mut all = Transformation::NONE;
    if property == "transform" {
        for word in words {
            let Word::Function(name, inner) = word else {
                return None;
            };
            all = all.then(Transformation::of(name, inner)?);
        }
    } else {
        let is_on_edge = matches!(words, [Word::Ident(axis), ..] if axis == "x" || axis == "y");
        let function = if is_on_edge { "rotatex" } else { property };
        all = Transformation::of(function, words)?;
    }
    Some(Setting::Shape {
        scale: all.scale,
        x: all.right,
        y: all.down,
    })
}

/// Whether something that is moved by so many pixels is off the screen, whatever its size.
pub(super) fn is_far(pixels: f32) -> bool {
    !(-1_500.0..=5_000.0).contains(&pixels)
}
