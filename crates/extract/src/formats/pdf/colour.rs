//! The colours of a page, as far as they matter to what can be seen on it.

use std::rc::Rc;

use hayro_syntax::object::{Array, Dict, Object, Stream, dict_or_stream};

use super::fonts::content;
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
pub(super) enum PdfPaint {
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
    Inks(Inks),
    Unknown,
}

/// Inks, and how they look in another space.
#[derive(Clone, Debug)]
pub(super) struct Inks {
    count: usize,
    are_none: bool,
    alternate: Rc<Space>,
    tint: Option<Rc<Function>>,
}

impl Inks {
    fn of(names: &[Object<'_>], alternate: Rc<Space>, tint: Option<Function>) -> Self {
        let is_none =
            |name: &Object<'_>| matches!(name, Object::Name(name) if name.as_ref() == b"None");
        Self {
            count: names.len(),
            are_none: names.iter().all(is_none),
            alternate,
            tint: tint.map(Rc::new),
        }
    }

    fn paint(&self, values: &[f32]) -> PdfPaint {
        match self.tint.as_ref().and_then(|tint| tint.of(values)) {
            Some(values) => self.alternate.paint(&values),
            None if values.iter().all(|ink| *ink == 0.0) => PdfPaint::Colour(WHITE),
            None => PdfPaint::Unknown,
        }
    }
}

fn unit(value: f32) -> f32 {
    value.clamp(0.0, 1.0)
}

impl Space {
    /// Reads a colour space, which resources may have under a name.
    pub(super) fn read(object: &Object<'_>, named: &Dict<'_>) -> Self {
        let named = match object {
            Object::Name(name) => named.get::<Object<'_>>(name),
            _ => None,
        };
        Self::read_at(named.as_ref().unwrap_or(object), 0)
    }

    fn read_at(object: &Object<'_>, depth: usize) -> Self {
        let parts = items(object);
        let inner = |place: usize| {
            let space = parts.get(place);
            Rc::new(space.map_or(Self::Unknown, |space| Self::read_at(space, depth + 1)))
        };
        let Some(Object::Name(name)) = parts.first().filter(|_| depth <= DEEPEST) else {
            return Self::Unknown;
        };
        match (name.as_ref(), &parts[1..]) {
            (b"DeviceGray" | b"G" | b"CalGray", _) => Self::Gray,
            (b"DeviceRGB" | b"RGB" | b"CalRGB", _) => Self::Rgb,
            (b"DeviceCMYK" | b"CMYK", _) => Self::Cmyk,
            (b"Lab", _) => Self::Lab,
            (b"ICCBased", [Object::Stream(profile), ..]) => Self::of_profile(profile),
            (b"Indexed" | b"I", [_, _, table, ..]) => {
                let table = match table {
                    Object::Stream(stream) => content(stream).into_owned(),
                    Object::String(string) => string.as_bytes().to_vec(),
                    _ => Vec::new(),
                };
                Self::Indexed(inner(1), Rc::new(table))
            }
            (b"Separation" | b"DeviceN", [names, _, tint, ..]) => {
                let tint = Function::read(tint, depth + 1);
                Self::Inks(Inks::of(&items(names), inner(2), tint))
            }
            _ => Self::Unknown,
        }
    }

    /// That of an ICC profile, by the number of its parts.
    fn of_profile(profile: &Stream<'_>) -> Self {
        match profile.dict().get::<u8>("N") {
            Some(1) => Self::Gray,
            Some(3) => Self::Rgb,
            Some(4) => Self::Cmyk,
            _ => Self::Unknown,
        }
    }

    /// The number of parts of a colour.
    pub(super) fn parts(&self) -> usize {
        match self {
            Self::Gray | Self::Indexed(..) => 1,
            Self::Rgb | Self::Lab => 3,
            Self::Cmyk => 4,
            Self::Inks(inks) => inks.count,
            Self::Unknown => 0,
        }
    }

    /// The colour before any is set.
    pub(super) fn initial(&self) -> PdfPaint {
        match self {
            Self::Cmyk => PdfPaint::Colour(BLACK),
            Self::Inks(inks) => self.paint(&vec![1.0; inks.count.min(32)]),
            space => self.paint(&vec![0.0; space.parts()]),
        }
    }

    /// A colour of a table in this space.
    fn paint_entry(&self, table: &[u8], index: u8) -> PdfPaint {
        let parts = self.parts();
        let place = usize::from(index) * parts;
        let entry = table.get(place..place + parts).unwrap_or_default();
        let values: Vec<f32> = entry.iter().map(|&byte| f32::from(byte) / 255.0).collect();
        self.paint(&values)
    }

    /// A colour of this space.
    pub(super) fn paint(&self, values: &[f32]) -> PdfPaint {
        if matches!(self, Self::Inks(inks) if inks.are_none) {
            return PdfPaint::Nothing;
        }
        if values.len() != self.parts() || values.iter().any(|value| value.is_nan()) {
            return PdfPaint::Unknown;
        }
        match (self, values) {
            (Self::Gray, &[gray]) => PdfPaint::Colour([unit(gray); 3]),
            (Self::Rgb, &[red, green, blue]) => PdfPaint::Colour([red, green, blue].map(unit)),
            (Self::Cmyk, &[cyan, magenta, yellow, black]) => PdfPaint::Colour(
                [cyan, magenta, yellow].map(|ink| (1.0 - unit(ink)) * (1.0 - unit(black))),
            ),
            (Self::Lab, &[light, a, b]) if a.abs() < 4.0 && b.abs() < 4.0 => {
                PdfPaint::Colour([unit(light / 100.0); 3])
            }
            (Self::Indexed(base, table), &[index]) => base.paint_entry(table, index as u8),
            (Self::Inks(inks), values) => inks.paint(values),
            _ => PdfPaint::Unknown,
        }
    }
}

/// A function from inks to colours. Calculations in `PostScript` are not carried out.
#[derive(Clone, Debug)]
pub(super) enum Function {
    Exponential(ExponentialFunction),
    Sampled(SampledFunction),
    Stitching(StitchingFunction),
}

/// The objects of an array, or the one that is none.
fn items<'a>(object: &Object<'a>) -> Vec<Object<'a>> {
    match object {
        Object::Array(array) => array.iter().collect(),
        object => vec![object.clone()],
    }
}

/// The numbers of an array.
pub(super) fn numbers(dictionary: &Dict<'_>, key: &str) -> Vec<f32> {
    let array = dictionary.get::<Array<'_>>(key).unwrap_or_default();
    array.iter::<f32>().take(256).collect()
}

impl Function {
    pub(super) fn read(object: &Object<'_>, depth: usize) -> Option<Self> {
        let (dictionary, stream) = dict_or_stream(object)?;
        match (dictionary.get::<u8>("FunctionType")?, stream) {
            (0, Some(stream)) => SampledFunction::read(stream).map(Self::Sampled),
            (2, _) => Some(Self::Exponential(ExponentialFunction::read(dictionary))),
            (3, _) if depth < DEEPEST => {
                StitchingFunction::read(dictionary, depth).map(Self::Stitching)
            }
            _ => None,
        }
    }

    pub(super) fn of(&self, values: &[f32]) -> Option<Vec<f32>> {
        match self {
            Self::Exponential(function) => function.of(values),
            Self::Sampled(function) => function.of(values),
            Self::Stitching(function) => function.of(values),
        }
    }
}

/// From one colour to another.
#[derive(Clone, Debug)]
pub(super) struct ExponentialFunction {
    from: Vec<f32>,
    to: Vec<f32>,
    exponent: f32,
}

impl ExponentialFunction {
    fn read(dictionary: &Dict<'_>) -> Self {
        let colour = |key: &str, usual: f32| {
            let numbers = numbers(dictionary, key);
            if numbers.is_empty() {
                vec![usual]
            } else {
                numbers
            }
        };
        Self {
            from: colour("C0", 0.0),
            to: colour("C1", 1.0),
            exponent: dictionary.get("N").unwrap_or(1.0),
        }
    }

    fn of(&self, values: &[f32]) -> Option<Vec<f32>> {
        let power = values.first()?.powf(self.exponent);
        let pairs = self.from.iter().zip(&self.to);
        Some(pairs.map(|(from, to)| from + power * (to - from)).collect())
    }
}

/// A table of colours.
#[derive(Clone, Debug)]
pub(super) struct SampledFunction {
    sizes: Vec<usize>,
    domain: Vec<f32>,
    range: Vec<f32>,
    samples: Vec<u8>,
}

impl SampledFunction {
    fn read(stream: &Stream<'_>) -> Option<Self> {
        let dictionary = stream.dict();
        if dictionary.get::<u8>("BitsPerSample")? != 8 {
            return None;
        }
        let sizes = numbers(dictionary, "Size");
        Some(Self {
            sizes: sizes
                .into_iter()
                .map(|size| size.max(1.0) as usize)
                .collect(),
            domain: numbers(dictionary, "Domain"),
            range: numbers(dictionary, "Range"),
            samples: content(stream).into_owned(),
        })
    }

    fn of(&self, values: &[f32]) -> Option<Vec<f32>> {
        let (mut place, mut step) = (0_usize, 1_usize);
        let domains = self.domain.chunks_exact(2);
        for ((value, size), domain) in values.iter().zip(&self.sizes).zip(domains) {
            let share = ((value - domain[0]) / (domain[1] - domain[0])).clamp(0.0, 1.0);
            let steps = (share * (size - 1) as f32).round() as usize;
            place = place.checked_add(step.checked_mul(steps)?)?;
            step = step.checked_mul(*size)?;
        }
        let outputs = self.range.len() / 2;
        let start = place.checked_mul(outputs)?;
        let sample = self.samples.get(start..start.checked_add(outputs)?)?;
        let ranges = self.range.chunks_exact(2);
        Some(
            sample
                .iter()
                .zip(ranges)
                .map(|(&sample, range)| {
                    range[0] + f32::from(sample) / 255.0 * (range[1] - range[0])
                })
                .collect(),
        )
    }
}

/// Others, each for a part of the values.
#[derive(Clone, Debug)]
pub(super) struct StitchingFunction {
    functions: Vec<Function>,
    bounds: Vec<f32>,
    domain: Vec<f32>,
    encode: Vec<f32>,
}

impl StitchingFunction {
    fn read(dictionary: &Dict<'_>, depth: usize) -> Option<Self> {
        let functions = dictionary.get::<Array<'_>>("Functions")?;
        let functions = functions.iter::<Object<'_>>().take(32);
        Some(Self {
            functions: functions
                .map(|function| Function::read(&function, depth + 1))
                .collect::<Option<_>>()?,
            bounds: numbers(dictionary, "Bounds"),
            domain: numbers(dictionary, "Domain"),
            encode: numbers(dictionary, "Encode"),
        })
    }

    fn of(&self, values: &[f32]) -> Option<Vec<f32>> {
        let value = *values.first()?;
        let bounds = &self.bounds;
        let place = bounds.iter().take_while(|bound| value >= **bound).count();
        let from = match place.checked_sub(1) {
            None => *self.domain.first()?,
            Some(before) => *bounds.get(before)?,
        };
        let to = *bounds.get(place).or(self.domain.get(1))?;
        let encode = self.encode.get(2 * place..2 * place + 2)?;
        let share = if to > from {
            (value - from) / (to - from)
        } else {
            0.0
        };
        self.functions
            .get(place)?
            .of(&[encode[0] + share * (encode[1] - encode[0])])
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
