//! The colours of a page, as far as they matter to what can be seen on it.

use std::rc::Rc;

use pdf_extract::{Dictionary, Document, Object};

use super::fonts::{content, resolve};
use crate::colour::Colour as ScreenColour;

/// The maximum nesting depth of colour spaces and functions.
const DEEPEST: usize = 8;
/// Red, green and blue, from 0 to 1.
pub(super) type Colour = [f32; 3];

pub(super) const WHITE: Colour = [1.0; 3];
const BLACK: Colour = [0.0; 3];

/// Whether letters in one of them cannot be seen on the other.
pub(super) fn is_lost_on(letters: Colour, paper: Colour) -> bool {
    let [letters, paper] = [letters, paper].map(|colour| {
        let [red, green, blue] = colour.map(|part| (255.0 * part).round() as u8);
        ScreenColour { red, green, blue }
    });
    letters.is_lost_on(paper)
}

/// What letters and shapes are painted with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Paint {
    Colour(Colour),
    /// No ink at all.
    Nothing,
    /// Colours that are not known, which leave nothing free.
    Opaque,
    /// A pattern, or what is not understood.
    Unknown,
}

/// A colour space.
#[derive(Clone, Debug)]
pub(super) enum Space {
    Gray,
    Rgb,
    Cmyk,
    Lab,
    Indexed(Rc<Space>, Rc<Vec<u8>>),
    /// Inks, and how they look in another space.
    Inks {
        count: usize,
        are_none: bool,
        alternate: Rc<Space>,
        tint: Option<Rc<Function>>,
    },
    Unknown,
}

impl Space {
    /// Reads a colour space, which resources may have under a name.
    pub(super) fn read(document: &Document, object: &Object, named: &Dictionary) -> Self {
        let object = match object.as_name() {
            Ok(name) => named.get(name).unwrap_or(object),
            Err(_) => object,
        };
        Self::read_at(document, object, 0)
    }

    fn read_at(document: &Document, object: &Object, depth: usize) -> Self {
        let object = resolve(document, object);
        let parts = object
            .as_array()
            .map_or(std::slice::from_ref(object), Vec::as_slice);
        let part = |place: usize| {
            parts
                .get(place)
                .map_or(&Object::Null, |part| resolve(document, part))
        };
        let inner = |place: usize| Rc::new(Self::read_at(document, part(place), depth + 1));
        if depth > DEEPEST {
            return Self::Unknown;
        }
        match part(0).as_name().unwrap_or_default() {
            b"DeviceGray" | b"G" | b"CalGray" => Self::Gray,
            b"DeviceRGB" | b"RGB" | b"CalRGB" => Self::Rgb,
            b"DeviceCMYK" | b"CMYK" => Self::Cmyk,
            b"Lab" => Self::Lab,
            b"ICCBased" => match part(1)
                .as_stream()
                .map(|stream| stream.dict.get(b"N").and_then(Object::as_i64))
            {
                Ok(Ok(1)) => Self::Gray,
                Ok(Ok(3)) => Self::Rgb,
                Ok(Ok(4)) => Self::Cmyk,
                _ => Self::Unknown,
            },
            b"Indexed" | b"I" => {
                let table = match part(3) {
                    Object::Stream(stream) => content(stream),
                    table => table.as_str().unwrap_or_default().to_vec(),
                };
                Self::Indexed(inner(1), Rc::new(table))
            }
            b"Separation" | b"DeviceN" => {
                let names = part(1)
                    .as_array()
                    .map_or(std::slice::from_ref(part(1)), Vec::as_slice);
                let are_none = names
                    .iter()
                    .all(|name| resolve(document, name).as_name().ok() == Some(b"None"));
                let tint = Function::read(document, part(3), depth + 1).map(Rc::new);
                Self::Inks {
                    count: names.len(),
                    are_none,
                    alternate: inner(2),
                    tint,
                }
            }
            _ => Self::Unknown,
        }
    }

    /// The number of parts of a colour.
    pub(super) fn parts(&self) -> usize {
        match self {
            Self::Gray | Self::Indexed(..) => 1,
            Self::Rgb | Self::Lab => 3,
            Self::Cmyk => 4,
            Self::Inks { count, .. } => *count,
            Self::Unknown => 0,
        }
    }

    /// The colour before any is set.
    pub(super) fn initial(&self) -> Paint {
        match self {
            Self::Cmyk => Paint::Colour(BLACK),
            Self::Inks { count, .. } => self.paint(&vec![1.0; (*count).min(32)]),
            space => self.paint(&vec![0.0; space.parts()]),
        }
    }

    /// A colour of this space.
    pub(super) fn paint(&self, values: &[f32]) -> Paint {
        let unit = |value: f32| value.clamp(0.0, 1.0);
        match (self, values) {
            (Self::Inks { are_none: true, .. }, _) => Paint::Nothing,
            (_, values)
                if values.len() != self.parts() || values.iter().any(|value| value.is_nan()) =>
            {
                Paint::Unknown
            }
            (Self::Gray, &[gray]) => Paint::Colour([unit(gray); 3]),
            (Self::Rgb, &[red, green, blue]) => Paint::Colour([red, green, blue].map(unit)),
            (Self::Cmyk, &[cyan, magenta, yellow, black]) => Paint::Colour(
                [cyan, magenta, yellow].map(|ink| (1.0 - unit(ink)) * (1.0 - unit(black))),
            ),
            (Self::Lab, &[light, a, b]) if a.abs() < 4.0 && b.abs() < 4.0 => {
                Paint::Colour([unit(light / 100.0); 3])
            }
            (Self::Indexed(base, table), &[index]) => {
                let parts = base.parts();
                let place = usize::from(index as u8) * parts;
                let entry = table.get(place..place + parts).unwrap_or_default();
                let values: Vec<f32> = entry.iter().map(|&byte| f32::from(byte) / 255.0).collect();
                base.paint(&values)
            }
            (
                Self::Inks {
                    alternate, tint, ..
                },
                values,
            ) => match tint.as_ref().and_then(|tint| tint.of(values)) {
                Some(values) => alternate.paint(&values),
                None if values.iter().all(|ink| *ink == 0.0) => Paint::Colour(WHITE),
                None => Paint::Unknown,
            },
            _ => Paint::Unknown,
        }
    }
}

/// A function from inks to colours. Calculations in `PostScript` are not carried out.
#[derive(Clone, Debug)]
pub(super) enum Function {
    Exponential {
        from: Vec<f32>,
        to: Vec<f32>,
        exponent: f32,
    },
    Sampled {
        sizes: Vec<usize>,
        domain: Vec<f32>,
        range: Vec<f32>,
        samples: Vec<u8>,
    },
    Stitching {
        functions: Vec<Function>,
        bounds: Vec<f32>,
        domain: Vec<f32>,
        encode: Vec<f32>,
    },
}

fn numbers(document: &Document, dictionary: &Dictionary, key: &[u8]) -> Vec<f32> {
    let array = dictionary
        .get(key)
        .map(|object| resolve(document, object))
        .and_then(Object::as_array);
    let numbers = array
        .into_iter()
        .flatten()
        .take(256)
        .map(|number| resolve(document, number).as_float());
    numbers.map(Result::unwrap_or_default).collect()
}

impl Function {
    pub(super) fn read(document: &Document, object: &Object, depth: usize) -> Option<Self> {
        let object = resolve(document, object);
        let dictionary = object
            .as_dict()
            .or_else(|_| object.as_stream().map(|stream| &stream.dict))
            .ok()?;
        let numbers = |key: &[u8]| numbers(document, dictionary, key);
        let kind = dictionary
            .get(b"FunctionType")
            .map(|kind| resolve(document, kind))
            .and_then(Object::as_i64);
        let or = |numbers: Vec<f32>, other: f32| {
            if numbers.is_empty() {
                vec![other]
            } else {
                numbers
            }
        };
        match (kind.ok()?, object.as_stream()) {
            (2, _) => {
                let exponent = dictionary
                    .get(b"N")
                    .and_then(Object::as_float)
                    .unwrap_or(1.0);
                Some(Self::Exponential {
                    from: or(numbers(b"C0"), 0.0),
                    to: or(numbers(b"C1"), 1.0),
                    exponent,
                })
            }
            (0, Ok(stream)) => {
                if dictionary
                    .get(b"BitsPerSample")
                    .and_then(Object::as_i64)
                    .ok()?
                    != 8
                {
                    return None;
                }
                let sizes = numbers(b"Size")
                    .into_iter()
                    .map(|size| size.max(1.0) as usize)
                    .collect();
                let (domain, range) = (numbers(b"Domain"), numbers(b"Range"));
                Some(Self::Sampled {
                    sizes,
                    domain,
                    range,
                    samples: content(stream),
                })
            }
            (3, _) if depth < DEEPEST => {
                let functions = dictionary
                    .get(b"Functions")
                    .map(|object| resolve(document, object));
                let functions = functions.and_then(Object::as_array).ok()?.iter().take(32);
                let functions: Option<Vec<Self>> = functions
                    .map(|function| Self::read(document, function, depth + 1))
                    .collect();
                let (bounds, domain, encode) =
                    (numbers(b"Bounds"), numbers(b"Domain"), numbers(b"Encode"));
                Some(Self::Stitching {
                    functions: functions?,
                    bounds,
                    domain,
                    encode,
                })
            }
            _ => None,
        }
    }

    pub(super) fn of(&self, values: &[f32]) -> Option<Vec<f32>> {
        match self {
            Self::Exponential { from, to, exponent } => {
                let power = values.first()?.powf(*exponent);
                Some(
                    from.iter()
                        .zip(to)
                        .map(|(from, to)| from + power * (to - from))
                        .collect(),
                )
            }
            Self::Sampled {
                sizes,
                domain,
                range,
                samples,
            } => {
                let (mut place, mut step) = (0_usize, 1_usize);
                for ((value, size), domain) in values.iter().zip(sizes).zip(domain.chunks_exact(2))
                {
                    let share = ((value - domain[0]) / (domain[1] - domain[0])).clamp(0.0, 1.0);
                    place = place.checked_add(
                        step.checked_mul((share * (size - 1) as f32).round() as usize)?,
                    )?;
                    step = step.checked_mul(*size)?;
                }
                let outputs = range.len() / 2;
                let start = place.checked_mul(outputs)?;
                let sample = samples.get(start..start.checked_add(outputs)?)?;
                let scaled = |(&sample, range): (&u8, &[f32])| {
                    range[0] + f32::from(sample) / 255.0 * (range[1] - range[0])
                };
                Some(
                    sample
                        .iter()
                        .zip(range.chunks_exact(2))
                        .map(scaled)
                        .collect(),
                )
            }
            Self::Stitching {
                functions,
                bounds,
                domain,
                encode,
            } => {
                let value = *values.first()?;
                let place = bounds.iter().take_while(|bound| value >= **bound).count();
                let from = if place == 0 {
                    *domain.first()?
                } else {
                    *bounds.get(place - 1)?
                };
                let to = bounds.get(place).or(domain.get(1)).copied()?;
                let encode = encode.get(2 * place..2 * place + 2)?;
                let share = if to > from {
                    (value - from) / (to - from)
                } else {
                    0.0
                };
                functions
                    .get(place)?
                    .of(&[encode[0] + share * (encode[1] - encode[0])])
            }
        }
    }
}

/// How a painted colour is mixed with what is below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Blend {
    Normal,
    /// The result is never lighter than either.
    Darkening,
    /// The result is never darker than either.
    Lightening,
    Other,
}

impl Blend {
    pub(super) fn of(name: &[u8]) -> Self {
        match name {
            b"Normal" | b"Compatible" => Self::Normal,
            b"Multiply" | b"Darken" | b"ColorBurn" => Self::Darkening,
            b"Screen" | b"Lighten" | b"ColorDodge" => Self::Lightening,
            _ => Self::Other,
        }
    }

    /// Whether a colour leaves whatever is below as it is.
    pub(super) fn ignores(self, colour: Colour) -> bool {
        match self {
            Self::Darkening => is_lost_on(colour, WHITE),
            Self::Lightening => is_lost_on(colour, BLACK),
            Self::Normal | Self::Other => false,
        }
    }
}
