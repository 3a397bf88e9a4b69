//! Rewrites fonts so that `pdf-extract` can read them. It handles composite fonts of two-byte codes with a plain map
//! to Unicode; on many others it panics or finds no text.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GB18030, SHIFT_JIS};
use hashbrown::HashMap;
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};
use read_fonts::tables::cmap::{CmapIterLimits, PlatformId};
use read_fonts::{FontRef, TableProvider as _};

use super::cmap::{CMap, Codes, encoding, to_unicode};
use super::scene::FontMetrics;

/// The object that a reference points to.
pub(super) fn resolve<'a>(document: &'a Document, object: &'a Object) -> &'a Object {
    document
        .dereference(object)
        .map_or(&Object::Null, |(_, object)| object)
}

/// The objects of an array, or the one that is none.
pub(super) fn items(object: &Object) -> &[Object] {
    object
        .as_array()
        .map_or(std::slice::from_ref(object), Vec::as_slice)
}

/// What a dictionary has under a name.
pub(super) fn entry<'a>(
    document: &'a Document,
    dictionary: &'a Dictionary,
    key: &[u8],
) -> Option<&'a Object> {
    dictionary
        .get(key)
        .ok()
        .map(|object| resolve(document, object))
}

/// The name that an object is, or an empty one.
pub(super) fn name(object: Option<&Object>) -> &[u8] {
    object
        .and_then(|object| object.as_name().ok())
        .unwrap_or_default()
}

/// The maximum number of widths in a font: more than it can have glyphs.
const MOST_WIDTHS: usize = 1 << 16;
/// The default width of glyphs.
const WIDTH: i64 = 1000;
/// All codes of two bytes.
const TWO_BYTES: Codes = Codes {
    width: 2,
    first: 0,
    last: 0xffff,
};

/// A font of the document.
#[derive(Debug)]
pub(super) struct Font {
    /// The rewritten font, without its map to Unicode.
    dictionary: Dictionary,
    /// For a composite font: how its codes are separated; empty for single-byte codes.
    codes: Vec<Codes>,
    characters: Characters,
    metrics: FontMetrics,
}

/// Which characters codes stand for.
#[derive(Debug)]
enum Characters {
    /// Determined by the rest of the font.
    AsIs,
    Map(BTreeMap<u32, String>),
    /// UTF-16.
    Unicode,
    /// Bytes of an encoding.
    Encoded(&'static Encoding),
    /// Glyphs of the embedded font, which maps them to characters.
    Glyphs(HashMap<u32, char>),
}

impl Characters {
    fn of(&self, code: u32) -> Option<String> {
        match self {
            Self::AsIs => None,
            Self::Map(characters) => characters.get(&code).cloned(),
            Self::Unicode => char::from_u32(code).map(String::from),
            Self::Glyphs(glyphs) => glyphs.get(&code).map(|&char| char.into()),
            Self::Encoded(encoding) => {
                let bytes = code.to_be_bytes();
                let bytes = &bytes[if code > 0xff { 2 } else { 3 }..];
                encoding
                    .decode_without_bom_handling_and_without_replacement(bytes)
                    .map(Cow::into_owned)
            }
        }
    }
}

/// A font in use on a page, under a name of its own.
pub(super) struct InUse {
    pub(super) id: ObjectId,
    font: Rc<Font>,
    used: BTreeSet<u32>,
    /// How many characters are shown, and how many of them are unknown.
    shown: usize,
    unread: usize,
}

impl InUse {
    pub(super) fn new(id: ObjectId, font: Rc<Font>) -> Self {
        Self {
            id,
            font,
            used: BTreeSet::new(),
            shown: 0,
            unread: 0,
        }
    }

    /// Records the codes of a string that is shown: a map has only those, because it is read once per page.
    pub(super) fn show(&mut self, mut bytes: &[u8]) {
        if self.font.codes.is_empty() {
            self.used.extend(bytes.iter().map(|&byte| u32::from(byte)));
            self.shown += bytes.len();
            return;
        }
        while !bytes.is_empty() {
            let (code, width) = self.font.code(bytes);
            self.used.insert(code);
            self.shown += 1;
            self.unread += usize::from(self.font.characters.of(code).is_none());
            bytes = &bytes[width..];
        }
    }

    /// How many characters are shown, and how many of them are unknown.
    pub(super) fn counted(&self) -> (usize, usize) {
        (self.shown, self.unread)
    }

    /// What is known of where the characters of a string are.
    pub(super) fn metrics(&self) -> FontMetrics {
        self.font.metrics
    }

    /// Adds the font to the document.
    pub(super) fn write(self, document: &mut Document, made: &mut Vec<ObjectId>) {
        let Self { id, font, used, .. } = self;
        let mut dictionary = font.dictionary.clone();
        let mut add = |content: Vec<u8>| {
            let id = document.add_object(Stream::new(Dictionary::new(), content));
            made.push(id);
            Object::Reference(id)
        };
        if !font.codes.is_empty() {
            dictionary.set("Encoding", add(encoding(&font.codes)));
        }
        if !matches!(font.characters, Characters::AsIs) {
            let characters: Vec<(u32, String)> = used
                .into_iter()
                .filter_map(|code| Some((code, font.characters.of(code)?)))
                .collect();
            let map = to_unicode(characters.iter().map(|(code, text)| (*code, text.as_str())));
            dictionary.set("ToUnicode", add(map));
        }
        document.set_object(id, dictionary);
    }
}

impl Font {
    /// Reads a font of the document.
    pub(super) fn read(document: &Document, font: &Dictionary) -> Self {
        let stated = entry(document, font, b"ToUnicode");
        let map = stated
            .and_then(|object| object.as_stream().ok())
            .map(|stream| CMap::read(&content(stream)).characters)
            .filter(|characters| !characters.is_empty())
            .map(Characters::Map);
        let mut dictionary = font.clone();
        dictionary.remove(b"ToUnicode");
        if !font.has(b"BaseFont") {
            dictionary.set("BaseFont", "Unnamed");
        }
        let subtype = name(entry(document, font, b"Subtype"));
        if subtype == b"Type0" {
            return Self::composite(document, font, dictionary, map);
        }
        let is_usual = subtype != b"Type3";
        Self {
            dictionary,
            codes: Vec::new(),
            characters: map.unwrap_or(Characters::AsIs),
            metrics: FontMetrics {
                has_widths: is_usual,
                has_size: is_usual,
                is_vertical: false,
            },
        }
    }

    /// A composite font, with its map to Unicode.
    fn composite(
        document: &Document,
        font: &Dictionary,
        mut dictionary: Dictionary,
        map: Option<Characters>,
    ) -> Self {
        let mut descendant = descendant(document, font);
        let encoding = entry(document, font, b"Encoding");
        let encoding_name = name(encoding);
        let stream = encoding.and_then(|encoding| encoding.as_stream().ok());
        let (mut codes, known) = match stream {
            Some(stream) => (CMap::read(&content(stream)).codes, None),
            None => predefined(encoding_name),
        };
        let two_bytes = codes.is_empty();
        if two_bytes {
            codes.push(TWO_BYTES);
        }
        let characters = map
            .or(known)
            .unwrap_or_else(|| unmapped(document, font, &descendant));
        // Widths are per glyph, and two-byte codes are glyph numbers.
        let widths = if two_bytes {
            widths(document, &descendant)
        } else {
            Vec::new()
        };
        // Without widths, all glyphs have the default one.
        let has_widths = !widths.is_empty() || two_bytes && encoding_name.starts_with(b"Identity");
        descendant.set("W", widths);
        let width = entry(document, &descendant, b"DW").and_then(|width| width.as_float().ok());
        descendant.set("DW", width.map_or(WIDTH, |width| width as i64));
        descendant.set("FontDescriptor", Dictionary::new());
        dictionary.set("DescendantFonts", vec![descendant.into()]);
        let is_vertical = encoding_name.ends_with(b"V") || stream.is_some_and(writes_down);
        Self {
            dictionary,
            codes,
            characters,
            metrics: FontMetrics {
                has_widths: has_widths && !is_vertical,
                has_size: true,
                is_vertical,
            },
        }
    }

    /// The first code in some bytes, and its length.
    fn code(&self, bytes: &[u8]) -> (u32, usize) {
        let mut code = 0;
        for (width, &byte) in (1..=4).zip(bytes) {
            code = code << 8 | u32::from(byte);
            if self
                .codes
                .iter()
                .any(|codes| codes.width == width && (codes.first..=codes.last).contains(&code))
            {
                return (code, width);
            }
        }
        (code, bytes.len().min(4))
    }
}

/// The content of a stream, decompressed as far as possible.
pub(super) fn content(stream: &Stream) -> Vec<u8> {
    stream
        .get_plain_content()
        .unwrap_or_else(|_| stream.content.clone())
}

/// The characters of a composite font without a map to Unicode.
fn unmapped(document: &Document, font: &Dictionary, descendant: &Dictionary) -> Characters {
    if name(entry(document, font, b"ToUnicode")).starts_with(b"Identity") {
        return Characters::Unicode;
    }
    glyphs(document, descendant).map_or(Characters::AsIs, Characters::Glyphs)
}

/// The descendant font of a composite font.
fn descendant(document: &Document, font: &Dictionary) -> Dictionary {
    let fonts = entry(document, font, b"DescendantFonts").and_then(|fonts| fonts.as_array().ok());
    let first = fonts.and_then(|fonts| resolve(document, fonts.first()?).as_dict().ok());
    first.cloned().unwrap_or_default()
}

/// How a predefined encoding separates codes and what they stand for. Encodings that only select glyphs give no characters.
fn predefined(name: &[u8]) -> (Vec<Codes>, Option<Characters>) {
    let name = String::from_utf8_lossy(name);
    let encoding = if name.contains("UCS2") || name.contains("UTF16") {
        return (Vec::new(), Some(Characters::Unicode));
    } else if name.contains("RKSJ") {
        SHIFT_JIS
    } else if name.contains("B5") {
        BIG5
    } else if name.starts_with("KSC") {
        EUC_KR
    } else if name.starts_with("GB") {
        GB18030
    } else if name.starts_with("EUC") {
        EUC_JP
    } else {
        return (Vec::new(), None);
    };
    let mut codes: Vec<Codes> = (0..=0xff_u8)
        .filter(|&byte| {
            encoding
                .decode_without_bom_handling_and_without_replacement(&[byte])
                .is_some()
        })
        .map(|byte| Codes {
            width: 1,
            first: byte.into(),
            last: byte.into(),
        })
        .collect();
    codes.dedup_by(|next, before| {
        let follows = next.first == before.last + 1;
        if follows {
            before.last = next.last;
        }
        follows
    });
    codes.push(Codes {
        width: 2,
        first: 0x8000,
        last: 0xffff,
    });
    (codes, Some(Characters::Encoded(encoding)))
}

/// The characters of the glyphs of an embedded TrueType font whose codes are glyph numbers, if the font still has
/// that information.
fn glyphs(document: &Document, descendant: &Dictionary) -> Option<HashMap<u32, char>> {
    let descriptor = entry(document, descendant, b"FontDescriptor")?;
    let file = entry(document, descriptor.as_dict().ok()?, b"FontFile2")?;
    let of_glyph = characters_of_glyphs(&content(file.as_stream().ok()?))?;
    let to_glyph = entry(document, descendant, b"CIDToGIDMap").and_then(|map| map.as_stream().ok());
    let Some(to_glyph) = to_glyph.map(content) else {
        return Some(of_glyph);
    };
    let mut of_code = HashMap::new();
    for (code, glyph) in (0..).zip(to_glyph.chunks_exact(2)) {
        let glyph = u16::from_be_bytes([glyph[0], glyph[1]]);
        if let Some(char) = of_glyph.get(&u32::from(glyph)) {
            of_code.insert(code, *char);
        }
    }
    Some(of_code)
}

/// The characters of the glyphs of a TrueType font.
fn characters_of_glyphs(font: &[u8]) -> Option<HashMap<u32, char>> {
    let face = FontRef::from_index(font, 0).ok()?;
    let table = face.cmap().ok()?;
    let mut of_glyph: HashMap<u32, char> = HashMap::new();
    for record in table.encoding_records() {
        let is_unicode = match record.platform_id() {
            PlatformId::Unicode => true,
            PlatformId::Windows => matches!(record.encoding_id(), 1 | 10),
            _ => false,
        };
        let Some(Ok(subtable)) = is_unicode.then(|| record.subtable(table.offset_data())) else {
            continue;
        };
        let limits = CmapIterLimits::default_for_font(&face);
        for (point, glyph) in subtable.iter_with_limits(limits) {
            if let Some(char) = char::from_u32(point).filter(|_| glyph.to_u32() != 0) {
                of_glyph.entry(glyph.to_u32()).or_insert(char);
            }
        }
    }
    Some(of_glyph)
}

/// The widths of glyphs, listed individually: in a range, the parser mistakes the first glyph for the width.
fn widths(document: &Document, descendant: &Dictionary) -> Vec<Object> {
    let stated = entry(document, descendant, b"W").and_then(|widths| widths.as_array().ok());
    let stated: Vec<&Object> = stated
        .into_iter()
        .flatten()
        .map(|object| resolve(document, object))
        .collect();
    let (mut widths, mut rest, mut room) = (Vec::new(), &stated[..], MOST_WIDTHS);
    while let [first, next, behind @ ..] = rest {
        let Ok(first) = first.as_i64() else { break };
        rest = behind;
        let some: Vec<Object> = if let Ok(some) = next.as_array() {
            some.iter()
                .map_while(|width| resolve(document, width).as_float().ok())
                .map(Object::Real)
                .collect()
        } else if let (Ok(last), [width, behind @ ..]) = (next.as_i64(), rest) {
            rest = behind;
            let Ok(width) = width.as_float() else { break };
            let count =
                usize::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or_default();
            vec![Object::Real(width); count.min(room)]
        } else {
            break;
        };
        room = room.saturating_sub(some.len());
        widths.extend([first.into(), some.into()]);
    }
    widths
}

/// Whether a `CMap` is for writing from top to bottom.
fn writes_down(map: &Stream) -> bool {
    let mode = map.dict.get(b"WMode").and_then(Object::as_i64);
    mode.is_ok_and(|mode| mode == 1)
}
