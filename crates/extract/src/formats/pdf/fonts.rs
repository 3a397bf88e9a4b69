//! The fonts of a document: which characters the codes of a string stand for, and how wide they are.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GB18030, SHIFT_JIS};
use hashbrown::HashMap;
use hayro_cmap::BfString;
use hayro_font::{
    CMapResolverFn, Font as FontProgram, FontCache, FontGlyph, FontQuery, FontResolverFn,
    StandardFont, UNITS_PER_EM,
};
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream};
use read_fonts::tables::cmap::{CmapIterLimits, PlatformId};
use read_fonts::{FontRef, TableProvider as _};

use super::cmap;
use super::scene::FontMetrics;

/// The name that a dictionary has under a key, or an empty one.
pub(super) fn name<'a>(dictionary: &Dict<'a>, key: &str) -> Name<'a> {
    dictionary
        .get(key)
        .unwrap_or_else(|| Name::new_unescaped(b""))
}

/// The content of a stream, decompressed as far as possible.
pub(super) fn content<'a>(stream: &Stream<'a>) -> Cow<'a, [u8]> {
    stream.decoded_data().unwrap_or_default()
}

/// The maximum number of glyphs in ranges of the same width.
const MOST_WIDTHS: f64 = 262_144.0;
/// The width of a letter in a font that says nothing of it.
const WIDTH: f64 = 1000.0;

/// The fonts of a document, each of which is read once.
pub(super) struct Fonts<'a> {
    cache: FontCache<'a>,
    programs: FontResolverFn,
    encodings: CMapResolverFn,
    known: HashMap<ObjectIdentifier, Rc<Font<'a>>>,
}

impl<'a> Fonts<'a> {
    pub(super) fn new() -> Self {
        Self {
            cache: FontCache::new(),
            // Fonts that are not in the file: only their names of glyphs and their widths matter.
            programs: Arc::new(|query| match query {
                FontQuery::Standard(font) => Some(font.get_font_data()),
                FontQuery::Fallback(query) => Some(query.pick_standard_font().get_font_data()),
            }),
            encodings: Arc::new(hayro_cmap::load_embedded),
            known: HashMap::new(),
        }
    }

    /// The font that resources have under a name; a common font if there is none.
    pub(super) fn font(&mut self, named: &Dict<'a>, name: &[u8]) -> Rc<Font<'a>> {
        let id = named.get_ref(name).map(ObjectIdentifier::from);
        if let Some(font) = id.and_then(|id| self.known.get(&id)) {
            return font.clone();
        }
        let dictionary = named.get::<Dict<'_>>(name).unwrap_or_default();
        let font = Rc::new(Font::read(&dictionary, self.program(&dictionary)));
        if let Some(id) = id {
            self.known.insert(id, font.clone());
        }
        font
    }

    fn program(&self, font: &Dict<'a>) -> Option<FontProgram<'a>> {
        if is_bounded(font)
            && let Some(program) = self.cache.font(font, &self.programs, &self.encodings)
        {
            return Some(program);
        }
        if is_composite(font) {
            return None;
        }
        let common = StandardFont::Helvetica;
        self.cache.standard_font(common, &self.programs)
    }
}

/// A font of the document.
pub(super) struct Font<'a> {
    /// What is known of its glyphs, if anything.
    program: Option<FontProgram<'a>>,
    characters: Characters,
    /// Whether it has only numbers for its glyphs, which say nothing by themselves.
    pub(super) is_numbered: bool,
    pub(super) metrics: FontMetrics,
    /// The codes that were looked up.
    codes: RefCell<HashMap<u32, Code>>,
}

/// Which characters codes stand for.
enum Characters {
    /// Determined by the names of the glyphs.
    Named,
    /// Bytes in the encoding of PDF.
    Bytes,
    Map(BTreeMap<u32, String>),
    /// UTF-16.
    Unicode,
    /// Bytes of an encoding.
    Encoded(&'static Encoding),
    /// Glyphs of the embedded font, which maps them to characters.
    Glyphs(HashMap<u32, char>),
}

/// What a code of a string stands for.
#[derive(Clone)]
pub(super) struct Code {
    /// Its characters, if they are known.
    pub(super) text: Option<Rc<str>>,
    /// Its width as a share of the size.
    pub(super) width: f64,
}

impl<'a> Font<'a> {
    fn read(dictionary: &Dict<'a>, program: Option<FontProgram<'a>>) -> Self {
        let is_numbered = is_composite(dictionary);
        let is_drawn = name(dictionary, "Subtype").as_ref() == b"Type3";
        let is_vertical = program.as_ref().is_some_and(|font| !font.is_horizontal());
        let has_widths = if is_numbered {
            program.is_some() && has_stated_widths(dictionary) && !is_vertical
        } else {
            !is_drawn
        };
        Self {
            program,
            characters: mapped(dictionary).unwrap_or_else(|| unmapped(dictionary)),
            is_numbered,
            metrics: FontMetrics {
                has_widths,
                has_size: !is_drawn,
                is_vertical,
            },
            codes: RefCell::default(),
        }
    }

    /// The first code of some bytes, and its length.
    pub(super) fn code(&self, bytes: &[u8]) -> (Code, usize) {
        let (code, length) = match (&self.program, bytes) {
            (Some(program), _) => program.read_code(bytes, 0),
            (None, &[first, second, ..]) => (u16::from_be_bytes([first, second]).into(), 2),
            (None, _) => (0, 1),
        };
        let mut codes = self.codes.borrow_mut();
        let known = codes.entry(code).or_insert_with(|| {
            // Vertical lines are read as if they were horizontal.
            let advance = |program: &FontProgram<'_>| program.code_advance(code).hypot();
            let width = self.program.as_ref().map_or(WIDTH, advance);
            Code {
                text: self.text(code).map(Rc::from),
                width: width / f64::from(UNITS_PER_EM),
            }
        });
        (known.clone(), length)
    }

    /// The characters that a code stands for.
    fn text(&self, code: u32) -> Option<String> {
        let glyph = self
            .program
            .as_ref()
            .map(|program| (program, program.map_code(code)));
        let known = match &self.characters {
            Characters::Named => None,
            Characters::Bytes => byte_of_font(code),
            Characters::Map(characters) => characters.get(&code).cloned(),
            Characters::Unicode => {
                let units = [(code >> 16) as u16, code as u16];
                String::from_utf16(&units[usize::from(units[0] == 0)..]).ok()
            }
            Characters::Glyphs(glyphs) => {
                glyph.and_then(|(_, glyph)| Some((*glyphs.get(&glyph.to_u32())?).into()))
            }
            Characters::Encoded(encoding) => {
                let bytes = code.to_be_bytes();
                let bytes = &bytes[if code > 0xff { 2 } else { 3 }..];
                encoding
                    .decode_without_bom_handling_and_without_replacement(bytes)
                    .map(Cow::into_owned)
            }
        };
        // Names of glyphs may be made up.
        known
            .or_else(|| glyph.and_then(|(program, glyph)| named(&program.glyph(glyph, code))))
            .or_else(|| byte_of_font(code).filter(|_| !self.is_numbered))
    }
}

/// What a byte stands for in a font without an encoding.
fn byte_of_font(code: u32) -> Option<String> {
    let char = char_of_byte(u8::try_from(code).ok()?)?;
    Some(char.into()).filter(|_| !char.is_control())
}

/// The characters of a glyph, by the map of its font or by its name.
fn named(glyph: &FontGlyph<'_>) -> Option<String> {
    let text = match glyph {
        FontGlyph::Outline(glyph) => glyph.as_unicode(),
        FontGlyph::Type3(glyph) => glyph.as_unicode(),
    };
    text.map(|text| match text {
        BfString::Char(char) => char.into(),
        BfString::String(string) => string,
    })
}

/// The characters of the bytes 0x80 to 0x9E in the encoding of PDF.
const PUNCTUATION: &str = "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž";

/// The character of a byte in the encoding of PDF.
pub(super) fn char_of_byte(byte: u8) -> Option<char> {
    match byte {
        0x80..=0x9F => PUNCTUATION.chars().nth(usize::from(byte - 0x80)),
        0xA0 => Some('€'),
        byte => Some(char::from(byte)),
    }
}

/// Whether a font states widths of no more glyphs than fonts have: the parser makes a list of all of them.
fn is_bounded(font: &Dict<'_>) -> bool {
    let (glyphs, first) = (descendant(font), font.get("FirstChar").unwrap_or(0.0));
    let [across, down] = ["W", "W2"].map(|key| glyphs.get(key).unwrap_or_default());
    first + in_ranges(&across, 3) + in_ranges(&down, 5) <= MOST_WIDTHS
}

/// How many glyphs are in ranges of the same width. A range has so many numbers, the first of which are its ends.
fn in_ranges(widths: &Array<'_>, numbers: usize) -> f64 {
    let (mut range, mut glyphs) = (Vec::new(), 0.0);
    for object in widths.iter::<Object<'_>>() {
        match object {
            Object::Number(number) => range.push(number.as_f64()),
            _ => range.clear(),
        }
        if range.len() == numbers {
            glyphs += (range[1] - range[0]).max(0.0);
            range.clear();
        }
    }
    glyphs
}

/// Whether the codes of a font are numbers of glyphs of another one.
fn is_composite(font: &Dict<'_>) -> bool {
    name(font, "Subtype").as_ref() == b"Type0"
}

/// The font of glyphs in a composite font.
fn descendant<'a>(font: &Dict<'a>) -> Dict<'a> {
    let fonts = font.get::<Array<'_>>("DescendantFonts");
    fonts
        .and_then(|fonts| fonts.iter().next())
        .unwrap_or_default()
}

/// Whether the widths of glyphs are given, or are all the same.
fn has_stated_widths(font: &Dict<'_>) -> bool {
    let widths = descendant(font).get::<Array<'_>>("W");
    widths.is_some_and(|widths| widths.raw_iter().next().is_some())
        || name(font, "Encoding").starts_with(b"Identity")
}

/// The characters of a font by its map to Unicode.
fn mapped(font: &Dict<'_>) -> Option<Characters> {
    let map = font.get::<Stream<'_>>("ToUnicode")?;
    let characters = cmap::characters(&content(&map));
    (!characters.is_empty()).then_some(Characters::Map(characters))
}

/// The characters of a font without such a map.
fn unmapped(font: &Dict<'_>) -> Characters {
    if !is_composite(font) {
        let is_bare =
            name(font, "Subtype").as_ref() == b"TrueType" && !font.contains_key("Encoding");
        return if is_bare {
            Characters::Bytes
        } else {
            Characters::Named
        };
    }
    if name(font, "ToUnicode").starts_with(b"Identity") {
        return Characters::Unicode;
    }
    predefined(&name(font, "Encoding"))
        .or_else(|| glyphs(&descendant(font)).map(Characters::Glyphs))
        .unwrap_or(Characters::Named)
}

/// What the codes of a predefined encoding stand for. Encodings that only select glyphs give no characters.
fn predefined(name: &[u8]) -> Option<Characters> {
    let name = String::from_utf8_lossy(name);
    let encoding = if name.contains("UCS2") || name.contains("UTF16") {
        return Some(Characters::Unicode);
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
        return None;
    };
    Some(Characters::Encoded(encoding))
}

/// The characters of the glyphs of an embedded TrueType font, if it still has that information.
fn glyphs(descendant: &Dict<'_>) -> Option<HashMap<u32, char>> {
    let descriptor = descendant.get::<Dict<'_>>("FontDescriptor")?;
    let font = content(&descriptor.get("FontFile2")?);
    let face = FontRef::from_index(&font, 0).ok()?;
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
