//! What pictures and shadings look like, as far as they have one colour or leave nothing free.

use hashbrown::HashSet;
use hayro_syntax::Filter;
use hayro_syntax::object::{Dict, Object, Stream, dict_or_stream};

use super::colour::{Function, PdfPaint, Space, numbers};
use super::fonts::content;

/// Larger pictures, in bytes and in parts of pixels, are not looked into. One colour takes few bytes.
const MOST_BYTES: usize = 1 << 16;
const MOST_PARTS: usize = 1 << 22;
/// Pictures of more different pixels have several colours.
const MOST_DIFFERENT: usize = 64;
/// How many places of a shading are looked at.
const STEPS: u8 = 8;

/// What is seen of a picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct PictureLook {
    /// Its colour; `None` if it is a stencil, which has that of the state.
    pub(super) paint: Option<PdfPaint>,
    pub(super) alpha: f32,
    /// Whether nothing is free of it.
    pub(super) is_whole: bool,
    /// Whether there may be something to see on it.
    pub(super) has_parts: bool,
}

impl PictureLook {
    pub(super) const UNKNOWN: Self = Self {
        paint: Some(PdfPaint::Unknown),
        alpha: 1.0,
        is_whole: false,
        has_parts: true,
    };
}

/// An entry of the dictionary of a picture, which has a short name in a picture within the operations.
fn entry<'a>(picture: &Stream<'a>, names: [&str; 2]) -> Option<Object<'a>> {
    let object = names
        .into_iter()
        .find_map(|name| picture.dict().get::<Object<'_>>(name))?;
    Some(object).filter(|object| !matches!(object, Object::Null(_)))
}

/// A number of the dictionary of a picture.
fn number(picture: &Stream<'_>, names: [&str; 2]) -> Option<usize> {
    usize::try_from(entry(picture, names)?.into_number()?.as_i64()).ok()
}

/// A picture, with the colour spaces that the resources have under names.
pub(super) fn look(picture: &Stream<'_>, named: &Dict<'_>) -> PictureLook {
    if let Some(Object::Boolean(true)) = entry(picture, ["ImageMask", "IM"]) {
        // Ink is where the value is 0.
        return match samples(picture, 1, 1).as_deref() {
            Some([value]) => PictureLook {
                paint: None,
                alpha: 1.0 - f32::from(value[0]),
                is_whole: true,
                has_parts: false,
            },
            _ => PictureLook {
                paint: None,
                ..PictureLook::UNKNOWN
            },
        };
    }
    if ["Mask", "SMaskInData"]
        .into_iter()
        .any(|name| entry(picture, [name; 2]).is_some())
    {
        return PictureLook::UNKNOWN;
    }
    let alpha = match entry(picture, ["SMask"; 2]) {
        None => 1.0,
        Some(Object::Stream(mask)) => match one_colour(&mask, &Space::Gray) {
            Some(PdfPaint::Colour([alpha, ..])) => alpha,
            _ => return PictureLook::UNKNOWN,
        },
        Some(_) => return PictureLook::UNKNOWN,
    };
    let space = entry(picture, ["ColorSpace", "CS"]).map(|space| Space::read(&space, named));
    let paint = space.and_then(|space| one_colour(picture, &space));
    PictureLook {
        paint: Some(paint.unwrap_or(PdfPaint::Opaque)),
        alpha,
        is_whole: true,
        has_parts: paint.is_none(),
    }
}

/// The colour of a picture that has only one.
fn one_colour(picture: &Stream<'_>, space: &Space) -> Option<PdfPaint> {
    let bits = number(picture, ["BitsPerComponent", "BPC"])?;
    let samples = samples(picture, space.parts(), bits)?;
    let most = if bits == 1 { 1.0 } else { 255.0 };
    alike(samples.iter().map(|sample| {
        let is_index = matches!(space, Space::Indexed(..));
        let values: Vec<f32> = sample
            .iter()
            .map(|&part| f32::from(part) / if is_index { 1.0 } else { most })
            .collect();
        if matches!(space, Space::Lab) {
            PdfPaint::Unknown
        } else {
            space.paint(&values)
        }
    }))
}

/// The first of some colours, if all of them look like it.
fn alike(paints: impl IntoIterator<Item = PdfPaint>) -> Option<PdfPaint> {
    let mut paints = paints.into_iter();
    let first = paints.next()?;
    let PdfPaint::Colour(colour) = first else {
        return None;
    };
    paints
        .all(|paint| matches!(paint, PdfPaint::Colour(other) if super::colour::is_lost_on(other, colour)))
        .then_some(first)
}

/// The different pixels of a picture, if they are few.
fn samples(picture: &Stream<'_>, parts: usize, bits: usize) -> Option<Vec<Vec<u8>>> {
    let (width, height) = (
        number(picture, ["Width", "W"])?,
        number(picture, ["Height", "H"])?,
    );
    let size = width
        .checked_mul(height)?
        .checked_mul(parts)
        .filter(|size| (1..=MOST_PARTS).contains(size))?;
    if picture.raw_data().len() > MOST_BYTES || !is_plain(picture) {
        return None;
    }
    let turned = u8::from(is_turned(picture, bits)?);
    let data = content(picture);
    let mut different: HashSet<Vec<u8>> = HashSet::new();
    let mut add = |sample: &[u8]| {
        if !different.contains(sample) {
            different.insert(sample.to_vec());
        }
        different.len() <= MOST_DIFFERENT
    };
    let row = width.div_ceil(8);
    let is_read = match (bits, parts) {
        (8, _) => data.get(..size)?.chunks_exact(parts).all(&mut add),
        (1, 1) => data
            .get(..row * height)?
            .chunks_exact(row)
            .all(|row| (0..width).all(|at| add(&[row[at / 8] >> (7 - at % 8) & 1 ^ turned]))),
        _ => false,
    };
    is_read.then(|| different.into_iter().collect())
}

/// Whether the pixels of a picture are packed as any data is.
fn is_plain(picture: &Stream<'_>) -> bool {
    picture.filters().iter().all(|filter| {
        matches!(
            filter,
            Filter::FlateDecode | Filter::LzwDecode | Filter::Ascii85Decode
        )
    })
}

/// Whether black and white are exchanged, if nothing else is done to the colours.
fn is_turned(picture: &Stream<'_>, bits: usize) -> Option<bool> {
    let Some(decode) = entry(picture, ["Decode", "D"]) else {
        return Some(false);
    };
    let decode: Vec<f32> = decode.into_array()?.iter().collect();
    match decode[..] {
        [0.0, 1.0] => Some(false),
        [1.0, 0.0] if bits == 1 => Some(true),
        _ => None,
    }
}

/// What a shading paints, if it leaves nothing free.
pub(super) fn shading(shading: &Object<'_>, named: &Dict<'_>) -> PdfPaint {
    let Some((shading, _)) = dict_or_stream(shading) else {
        return PdfPaint::Unknown;
    };
    if !is_axial(shading) || shading.contains_key("BBox") {
        return PdfPaint::Unknown;
    }
    shading_colour(shading, named).unwrap_or(PdfPaint::Opaque)
}

/// Whether a shading changes along a line, and goes on beyond its ends.
fn is_axial(shading: &Dict<'_>) -> bool {
    let coordinates = numbers(shading, "Coords");
    let is_line = matches!(coordinates[..], [a, b, c, d] if (a - c).hypot(b - d) > 0.0);
    let is_endless = shading.get::<[bool; 2]>("Extend") == Some([true; 2]);
    shading.get::<u8>("ShadingType") == Some(2) && is_line && is_endless
}

/// The colour of a shading that has only one.
fn shading_colour(shading: &Dict<'_>, named: &Dict<'_>) -> Option<PdfPaint> {
    let space = Space::read(&shading.get("ColorSpace")?, named);
    let function = Function::read(&shading.get("Function")?, 0)?;
    let (from, to) = match numbers(shading, "Domain")[..] {
        [from, to] => (from, to),
        _ => (0.0, 1.0),
    };
    alike((0..=STEPS).map(|step| {
        let values = function.of(&[from + (to - from) * f32::from(step) / f32::from(STEPS)]);
        values.map_or(PdfPaint::Unknown, |values| space.paint(&values))
    }))
}

/// What a pattern paints: as far as it is a shading, and nothing else is to be done with it.
pub(super) fn pattern(pattern: &Object<'_>, named: &Dict<'_>) -> PdfPaint {
    let Some((pattern, _)) = dict_or_stream(pattern) else {
        return PdfPaint::Unknown;
    };
    match pattern.get::<Object<'_>>("Shading") {
        Some(object) if !pattern.contains_key("ExtGState") => shading(&object, named),
        _ => PdfPaint::Unknown,
    }
}
