//! What pictures and shadings look like, as far as they have one colour or leave nothing free.

use hashbrown::HashSet;
use pdf_extract::{Dictionary, Document, Object, Stream};

use super::colour::{Function, PdfPaint, Space};
use super::fonts::{self, content, items, resolve};
use super::layers::array;

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
fn entry<'a>(document: &'a Document, picture: &'a Stream, names: [&[u8]; 2]) -> Option<&'a Object> {
    let object = names
        .into_iter()
        .find_map(|name| picture.dict.get(name).ok())?;
    Some(resolve(document, object)).filter(|object| **object != Object::Null)
}

/// A picture, with the colour spaces that the resources have under names.
pub(super) fn look(document: &Document, picture: &Stream, named: &Dictionary) -> PictureLook {
    let is_stencil =
        entry(document, picture, [b"ImageMask", b"IM"]).and_then(|value| value.as_bool().ok());
    if is_stencil == Some(true) {
        // Ink is where the value is 0.
        return match samples(document, picture, 1, 1).as_deref() {
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
    if [&b"Mask"[..], b"SMaskInData"]
        .into_iter()
        .any(|name| entry(document, picture, [name; 2]).is_some())
    {
        return PictureLook::UNKNOWN;
    }
    let alpha = match entry(document, picture, [b"SMask"; 2]).map(Object::as_stream) {
        None => 1.0,
        Some(Ok(mask)) => match one_colour(document, mask, &Space::Gray) {
            Some(PdfPaint::Colour([alpha, ..])) => alpha,
            _ => return PictureLook::UNKNOWN,
        },
        Some(Err(_)) => return PictureLook::UNKNOWN,
    };
    let space = entry(document, picture, [b"ColorSpace", b"CS"])
        .map(|space| Space::read(document, space, named));
    let paint = space.and_then(|space| one_colour(document, picture, &space));
    PictureLook {
        paint: Some(paint.unwrap_or(PdfPaint::Opaque)),
        alpha,
        is_whole: true,
        has_parts: paint.is_none(),
    }
}

/// The colour of a picture that has only one.
fn one_colour(document: &Document, picture: &Stream, space: &Space) -> Option<PdfPaint> {
    let bits = entry(document, picture, [b"BitsPerComponent", b"BPC"])?
        .as_i64()
        .ok()?;
    let samples = samples(document, picture, space.parts(), bits)?;
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
fn samples(document: &Document, picture: &Stream, parts: usize, bits: i64) -> Option<Vec<Vec<u8>>> {
    let number = |names| usize::try_from(entry(document, picture, names)?.as_i64().ok()?).ok();
    let (width, height) = (number([b"Width", b"W"])?, number([b"Height", b"H"])?);
    let size = width
        .checked_mul(height)?
        .checked_mul(parts)
        .filter(|size| (1..=MOST_PARTS).contains(size))?;
    if picture.content.len() > MOST_BYTES || !is_plain(document, picture) {
        return None;
    }
    let turned = u8::from(is_turned(document, picture, bits)?);
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
fn is_plain(document: &Document, picture: &Stream) -> bool {
    let filters = entry(document, picture, [b"Filter", b"F"]);
    let filters = filters.map_or(&[][..], items);
    filters.iter().all(|filter| {
        matches!(
            resolve(document, filter).as_name(),
            Ok(b"FlateDecode" | b"LZWDecode" | b"ASCII85Decode")
        )
    })
}

/// Whether black and white are exchanged, if nothing else is done to the colours.
fn is_turned(document: &Document, picture: &Stream, bits: i64) -> Option<bool> {
    let Some(decode) = entry(document, picture, [b"Decode", b"D"]) else {
        return Some(false);
    };
    match floats(decode.as_array().ok()?)[..] {
        [0.0, 1.0] => Some(false),
        [1.0, 0.0] if bits == 1 => Some(true),
        _ => None,
    }
}

fn floats(objects: &[Object]) -> Vec<f32> {
    objects
        .iter()
        .filter_map(|number| number.as_float().ok())
        .collect()
}

/// What a shading paints, if it leaves nothing free.
pub(super) fn shading(document: &Document, shading: &Object, named: &Dictionary) -> PdfPaint {
    let Ok(shading) = resolve(document, shading).as_dict() else {
        return PdfPaint::Unknown;
    };
    if !is_axial(document, shading) || shading.has(b"BBox") {
        return PdfPaint::Unknown;
    }
    shading_colour(document, shading, named).unwrap_or(PdfPaint::Opaque)
}

/// Whether a shading changes along a line, and goes on beyond its ends.
fn is_axial(document: &Document, shading: &Dictionary) -> bool {
    let extends = array(document, shading, b"Extend").iter().filter(|end| {
        resolve(document, end)
            .as_bool()
            .is_ok_and(|extends| extends)
    });
    let coordinates: Vec<f32> = array(document, shading, b"Coords")
        .iter()
        .map_while(|number| resolve(document, number).as_float().ok())
        .collect();
    let is_line = matches!(coordinates[..], [a, b, c, d] if (a - c).hypot(b - d) > 0.0);
    let kind = fonts::entry(document, shading, b"ShadingType").and_then(|kind| kind.as_i64().ok());
    kind == Some(2) && is_line && extends.count() == 2
}

/// The colour of a shading that has only one.
fn shading_colour(
    document: &Document,
    shading: &Dictionary,
    named: &Dictionary,
) -> Option<PdfPaint> {
    let space = fonts::entry(document, shading, b"ColorSpace")?;
    let space = Space::read(document, space, named);
    let function = Function::read(document, fonts::entry(document, shading, b"Function")?, 0)?;
    let domain: Vec<f32> = array(document, shading, b"Domain")
        .iter()
        .map_while(|number| number.as_float().ok())
        .collect();
    let (from, to) = match domain[..] {
        [from, to] => (from, to),
        _ => (0.0, 1.0),
    };
    alike((0..=STEPS).map(|step| {
        let values = function.of(&[from + (to - from) * f32::from(step) / f32::from(STEPS)]);
        values.map_or(PdfPaint::Unknown, |values| space.paint(&values))
    }))
}

/// What a pattern paints: as far as it is a shading, and nothing else is to be done with it.
pub(super) fn pattern(document: &Document, pattern: &Object, named: &Dictionary) -> PdfPaint {
    match resolve(document, pattern).as_dict() {
        Ok(pattern) if !pattern.has(b"ExtGState") => pattern
            .get(b"Shading")
            .map_or(PdfPaint::Unknown, |object| shading(document, object, named)),
        _ => PdfPaint::Unknown,
    }
}
