//! RTF 1.9. Implemented here because existing crates do not support code pages, without which a Russian RTF file is noise.

use encoding_rs::WINDOWS_1252;
use hashbrown::{HashMap, HashSet};

use super::{BookFile, FormatReader, FormatSign, FormatSpec};
use crate::colour::Colour;
use crate::encoding::code_page;
use crate::hidden::Hiding;
use crate::limits::Budget;
use crate::prose::{Prose, phrase};
use crate::{ExtractError, Extracted, Format};
use lapidary_common::description::Description;

/// Destinations whose text is not part of the document's text.
const SKIPPED: &[&str] = &[
    "pict",
    "object",
    "header",
    "headerl",
    "headerr",
    "headerf",
    "footer",
    "footerl",
    "footerr",
    "footerf",
    "fldinst",
    "listtext",
    "pntext",
    "xe",
    "tc",
    "revtbl",
    "listtable",
    "listoverridetable",
    "rsidtbl",
    "generator",
    "themedata",
    "datastore",
    "xmlnstbl",
    "filetbl",
    "template",
    "nextfile",
    "bkmkstart",
    "bkmkend",
    "shppict",
    "nonshppict",
    "annotation",
    "shprslt",
    "atnid",
    "atnauthor",
    "do",
];

/// What a destination's characters are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Note,
    Title,
    Author,
    Fonts,
    Colours,
    Styles,
    /// The name and the value of a property of a shape.
    PropertyName,
    PropertyValue,
    Nowhere,
}

/// State that is restored at the end of a group.
#[derive(Clone, Copy)]
struct Group {
    place: Place,
    encoding: &'static encoding_rs::Encoding,
    /// How many fallback characters follow a `\u`, for readers that do not know it.
    fallback: usize,
    font: i32,
    letters: Letters,
    paragraph: Paragraph,
    /// How the shape that the text is in is hidden, if it is.
    shape: Option<Hiding>,
    /// How all of these hide text, if they do.
    hiding: Option<Hiding>,
}

/// How letters are formatted.
#[derive(Clone, Copy)]
struct Letters {
    is_hidden: bool,
    is_deleted: bool,
    is_inserted: bool,
    /// In half points.
    size: i64,
    /// In percent.
    width: i64,
    colour: usize,
    /// Of highlighting, and of the shade.
    highlight: usize,
    shade: Shade,
}

/// Paper, and a pattern on it: which colours they have, and the share of the pattern, in hundredths of a percent.
#[derive(Clone, Copy, Default)]
struct Shade {
    paper: usize,
    ink: usize,
    share: i64,
}

/// Letters of at most this size, in half points, are not seen.
const SMALLEST: i64 = 3;
/// What is indented or placed farther, in twips, is off the page.
const FAR: i64 = 15_000;

impl Letters {
    const USUAL: Self = Self {
        is_hidden: false,
        is_deleted: false,
        is_inserted: false,
        size: 24,
        width: 100,
        colour: 0,
        highlight: 0,
        shade: Shade {
            paper: 0,
            ink: 0,
            share: 0,
        },
    };
}

/// How a paragraph is formatted.
#[derive(Clone, Copy, Default)]
struct Paragraph {
    shade: Shade,
    is_off_page: bool,
    /// Whether its style hides it.
    is_hidden: bool,
    /// Whether it is in a cell or a box whose colour is not known.
    is_on_unknown: bool,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    group: Group,
    groups: Vec<Group>,
    document: &'static encoding_rs::Encoding,
    fonts: HashMap<i32, &'static encoding_rs::Encoding>,
    /// Bytes that are not decoded yet: a character may have two bytes.
    pending: Vec<u8>,
    /// The first half of a surrogate pair of `\u`.
    high: Option<u16>,
    /// How many characters to skip after a `\u`.
    pass: usize,
    /// `\*` was read: the following destination is skipped if unknown.
    optional: bool,
    /// The colours of the table, and the one being read.
    colours: Vec<Option<Colour>>,
    colour: Option<Colour>,
    /// The styles that hide text, and the one being read.
    hidden_styles: HashSet<i64>,
    style: i64,
    /// A property of a shape: its name and its value.
    property: (String, String),
    /// Whether cells of the row have a shade.
    has_shades: bool,
    text: Prose,
    notes: Prose,
    title: String,
    author: String,
}

/// What there is to know of it.
pub(super) const FORMAT: FormatSpec = FormatSpec {
    name: "rtf",
    title: "an RTF document",
    extensions: &["rtf"],
    media_types: &[
        "application/rtf",
        "text/rtf",
        "application/x-rtf",
        "text/richtext",
    ],
    loss: 4,
    reader: FormatReader::File(&[FormatSign::Start(b"{\\rtf")], read),
};

/// Reads an RTF file.
pub(super) fn read(file: BookFile<'_>, budget: &mut Budget) -> Result<Extracted, ExtractError> {
    let bytes = file.bytes;
    let group = Group {
        place: Place::Text,
        encoding: WINDOWS_1252,
        fallback: 1,
        font: -1,
        letters: Letters::USUAL,
        paragraph: Paragraph::default(),
        shape: None,
        hiding: None,
    };
    let mut reader = Reader {
        bytes: &bytes,
        at: 0,
        group,
        groups: Vec::new(),
        document: WINDOWS_1252,
        fonts: HashMap::new(),
        pending: Vec::new(),
        high: None,
        pass: 0,
        optional: false,
        colours: Vec::new(),
        colour: None,
        hidden_styles: HashSet::new(),
        style: 0,
        property: (String::new(), String::new()),
        has_shades: false,
        text: Prose::default(),
        notes: Prose::default(),
        title: String::new(),
        author: String::new(),
    };
    reader.run(budget)?;
    let Reader {
        mut text,
        notes,
        title,
        author,
        ..
    } = reader;
    text.below(notes);
    let metadata = Description {
        title: phrase(&title),
        authors: phrase(&author).into_iter().collect(),
        ..Description::default()
    };
    Ok(Extracted {
        metadata,
        ..text.finish(Format::Rtf)
    })
}

impl Reader<'_> {
    fn run(&mut self, budget: &Budget) -> Result<(), ExtractError> {
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'{' => {
                    self.flush();
                    self.pass = 0;
                    self.groups.push(self.group);
                    budget.depth(self.groups.len())?;
                    self.optional = false;
                    self.style = if self.group.place == Place::Styles {
                        0
                    } else {
                        self.style
                    };
                }
                b'}' => {
                    self.flush();
                    self.pass = 0;
                    let place = self.group.place;
                    let Some(group) = self.groups.pop() else {
                        continue;
                    };
                    self.group = group;
                    if place == Place::PropertyValue {
                        self.end_property();
                    }
                    if place == Place::Note && group.place != Place::Note {
                        self.notes.paragraph();
                    }
                    if self.groups.is_empty() {
                        // Anything after the document is ignored.
                        return Ok(());
                    }
                }
                b'\\' => self.control(),
                b'\r' | b'\n' => {}
                byte => self.byte(byte),
            }
        }
        self.flush();
        Ok(())
    }

    fn control(&mut self) {
        let rest = &self.bytes[self.at..];
        let letters = rest
            .iter()
            .take(32)
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        if letters == 0 {
            let Some(&symbol) = rest.first() else { return };
            self.at += 1;
            return self.symbol(symbol);
        }
        let word = &self.bytes[self.at..self.at + letters];
        self.at += letters;
        let rest = &self.bytes[self.at..];
        let sign = usize::from(rest.first() == Some(&b'-'));
        let digits = rest[sign..]
            .iter()
            .take(10)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let number = (digits > 0)
            .then(|| {
                str::from_utf8(&rest[..sign + digits])
                    .ok()?
                    .parse::<i64>()
                    .ok()
            })
            .flatten();
        if digits > 0 {
            self.at += sign + digits;
        }
        if self.bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        let word = str::from_utf8(word).unwrap_or_default();
        self.word(word, number);
    }

    fn symbol(&mut self, symbol: u8) {
        match symbol {
            b'\'' => {
                let hex = self
                    .bytes
                    .get(self.at..self.at + 2)
                    .and_then(|hex| str::from_utf8(hex).ok());
                if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                    self.at += 2;
                    self.byte(byte);
                }
            }
            b'*' => self.optional = true,
            b'~' => self.char('\u{A0}'),
            b'_' => self.char('\u{2011}'),
            b'\\' | b'{' | b'}' => self.byte(symbol),
            b'\r' | b'\n' => self.border(Prose::paragraph),
            // Including the optional hyphen, which is invisible.
            _ => {}
        }
    }

    fn word(&mut self, word: &str, number: Option<i64>) {
        let optional = std::mem::take(&mut self.optional);
        let value = number.unwrap_or_default();
        match word {
            "bin" => {
                let length = usize::try_from(value).unwrap_or_default();
                self.at = self.at.saturating_add(length).min(self.bytes.len());
            }
            "ansicpg" => {
                self.document = u16::try_from(value)
                    .ok()
                    .and_then(code_page)
                    .unwrap_or(WINDOWS_1252);
                self.group.encoding = self.document;
            }
            "mac" => self.group.encoding = encoding_rs::MACINTOSH,
            "uc" => self.group.fallback = usize::try_from(value).unwrap_or(1).min(16),
            "u" => self.unicode(value),
            "f" | "deff" => {
                self.flush();
                self.group.font = i32::try_from(value).unwrap_or(-1);
                if word == "f" && self.group.place != Place::Fonts {
                    self.group.encoding = self
                        .fonts
                        .get(&self.group.font)
                        .copied()
                        .unwrap_or(self.document);
                }
            }
            "fcharset" if self.group.place == Place::Fonts => {
                if let Some(encoding) = charset(value) {
                    self.fonts.insert(self.group.font, encoding);
                }
            }
            "cpg" if self.group.place == Place::Fonts => {
                if let Some(encoding) = u16::try_from(value).ok().and_then(code_page) {
                    self.fonts.insert(self.group.font, encoding);
                }
            }
            "plain" => {
                self.flush();
                (self.group.encoding, self.group.letters) = (self.document, Letters::USUAL);
                self.group.hiding = self.hiding_now();
            }
            "par" | "sect" | "page" | "row" | "column" => self.border(Prose::paragraph),
            "line" => self.border(Prose::line),
            "tab" | "cell" | "nestcell" => self.char('\t'),
            "emspace" | "enspace" | "qmspace" => self.char(' '),
            "emdash" => self.char('—'),
            "endash" => self.char('–'),
            "lquote" => self.char('‘'),
            "rquote" => self.char('’'),
            "ldblquote" => self.char('“'),
            "rdblquote" => self.char('”'),
            "bullet" => self.char('•'),
            // The text of a box is inside a drawing, which is otherwise skipped.
            "sn" | "sv" if self.group.place == Place::Nowhere => {
                let (name, value) = &mut self.property;
                let (text, place) = if word == "sn" {
                    (name, Place::PropertyName)
                } else {
                    (value, Place::PropertyValue)
                };
                text.clear();
                self.group.place = place;
            }
            "shptxt" if self.group.place == Place::Nowhere => {
                (self.group.place, self.group.paragraph.is_on_unknown) = (Place::Text, true);
                self.group.hiding = self.hiding_now();
            }
            "fonttbl" => self.group.place = Place::Fonts,
            "colortbl" => self.group.place = Place::Colours,
            "stylesheet" => self.group.place = Place::Styles,
            "info" => self.group.place = Place::Nowhere,
            "title" if self.group.place == Place::Nowhere => self.group.place = Place::Title,
            "author" if self.group.place == Place::Nowhere => self.group.place = Place::Author,
            "footnote" if self.group.place == Place::Text => self.group.place = Place::Note,
            _ if optional && self.group.place != Place::Styles || SKIPPED.contains(&word) => {
                self.flush();
                self.group.place = Place::Nowhere;
            }
            _ => self.format(word, number),
        }
    }

    /// The end of a property of a shape, of which the group is around the one that is open.
    fn end_property(&mut self) {
        let (name, value) = &self.property;
        if name == "fHidden"
            && value.trim() == "1"
            && let Some(shape) = self.groups.last_mut()
        {
            shape.shape = Some(Hiding::HiddenAttribute);
        }
    }

    /// A word that says how text looks.
    fn format(&mut self, word: &str, number: Option<i64>) {
        let value = number.unwrap_or_default();
        let is_on = number != Some(0);
        let index = usize::try_from(value).unwrap_or_default();
        let part = u8::try_from(value).unwrap_or(u8::MAX);
        self.flush();
        match (self.group.place, word) {
            (Place::Colours, "red" | "green" | "blue") => {
                let colour = self.colour.get_or_insert(Colour::BLACK);
                match word {
                    "red" => colour.red = part,
                    "green" => colour.green = part,
                    _ => colour.blue = part,
                }
            }
            (Place::Styles, "s" | "cs" | "ds") => self.style = value,
            (Place::Styles, "v") if is_on => drop(self.hidden_styles.insert(self.style)),
            (Place::Colours | Place::Styles, _) => {}
            (_, "v") => self.group.letters.is_hidden = is_on,
            (_, "cs") => self.group.letters.is_hidden |= self.hidden_styles.contains(&value),
            (_, "s") => self.group.paragraph.is_hidden = self.hidden_styles.contains(&value),
            (_, "deleted" | "mvf") => self.group.letters.is_deleted = is_on,
            (_, "revised") => self.group.letters.is_inserted = is_on,
            (_, "fs") => self.group.letters.size = number.unwrap_or(Letters::USUAL.size),
            (_, "cf") => self.group.letters.colour = index,
            (_, "charscalex") => {
                self.group.letters.width = number.filter(|width| *width > 0).unwrap_or(100)
            }
            (_, "cb" | "highlight") => self.group.letters.highlight = index,
            (_, "chcbpat") => self.group.letters.shade.paper = index,
            (_, "chcfpat") => self.group.letters.shade.ink = index,
            (_, "chshdng") => self.group.letters.shade.share = value,
            (_, "cbpat") => self.group.paragraph.shade.paper = index,
            (_, "cfpat") => self.group.paragraph.shade.ink = index,
            (_, "shading") => self.group.paragraph.shade.share = value,
            (Place::Nowhere, "shpleft" | "shptop") if value.abs() > FAR => {
                self.group.shape = Some(Hiding::OffPage)
            }
            (_, "pard") => {
                self.group.paragraph = Paragraph {
                    is_on_unknown: self.group.paragraph.is_on_unknown && !self.has_shades,
                    ..Paragraph::default()
                }
            }
            (_, "intbl") => self.group.paragraph.is_on_unknown |= self.has_shades,
            (_, "trowd") => self.has_shades = false,
            (_, "clcbpat") => self.has_shades = true,
            (_, "li" | "lin" | "fi" | "posx" | "posnegx" | "posy" | "posnegy") => {
                self.group.paragraph.is_off_page |= value.abs() > FAR;
            }
            _ => return,
        }
        self.group.hiding = self.hiding_now();
    }

    /// How the text being read is hidden, if it is.
    fn hiding_now(&self) -> Option<Hiding> {
        let Group {
            letters,
            paragraph,
            shape,
            ..
        } = self.group;
        // The first colour is the usual one.
        let colour = |index: usize| *self.colours.get(index).filter(|_| index > 0)?;
        let shade = |Shade { paper, ink, share }: Shade| match share {
            0 => colour(paper),
            share => {
                let (paper, ink) = (
                    colour(paper).unwrap_or(Colour::WHITE),
                    colour(ink).unwrap_or(Colour::BLACK),
                );
                Some(paper.mixed(ink, share as f32 / 10_000.0))
            }
        };
        let background = colour(letters.highlight)
            .or_else(|| shade(letters.shade))
            .or_else(|| shade(paragraph.shade))
            .or_else(|| (!paragraph.is_on_unknown).then_some(Colour::WHITE));
        let is_lost = || {
            colour(letters.colour)
                .zip(background)
                .is_some_and(|(letters, paper)| letters.is_lost_on(paper))
        };
        if letters.is_deleted {
            Some(if letters.is_inserted {
                Hiding::RejectedInsertion
            } else {
                Hiding::Deleted
            })
        } else if shape.is_some() {
            shape
        } else if letters.is_hidden || paragraph.is_hidden {
            Some(Hiding::HiddenAttribute)
        } else if paragraph.is_off_page {
            Some(Hiding::OffPage)
        } else if is_lost() {
            Some(Hiding::SameColour)
        } else {
            (letters.size.saturating_mul(letters.width.min(100)) <= SMALLEST * 100)
                .then_some(Hiding::Tiny)
        }
    }

    fn unicode(&mut self, value: i64) {
        self.flush();
        self.pass = 0;
        // Numbers above 32767 are written as negative numbers.
        let unit = (value & 0xFFFF) as u16;
        let units = [self.high.take().unwrap_or_default(), unit];
        let units = if units[0] == 0 {
            &units[1..]
        } else {
            &units[..]
        };
        if matches!(unit, 0xD800..=0xDBFF) {
            self.high = Some(unit);
        } else {
            for char in char::decode_utf16(units.iter().copied()) {
                self.char(char.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
        self.pass = self.group.fallback;
    }

    fn byte(&mut self, byte: u8) {
        if self.pass > 0 {
            self.pass -= 1;
        } else if byte.is_ascii() && self.pending.is_empty() {
            self.push(char::from(byte));
        } else {
            self.pending.push(byte);
        }
    }

    fn char(&mut self, char: char) {
        self.flush();
        self.push(char);
    }

    fn border(&mut self, border: impl FnOnce(&mut Prose)) {
        self.flush();
        match self.group.place {
            Place::Text => border(&mut self.text),
            Place::Note => border(&mut self.notes),
            _ => {}
        }
    }

    fn push(&mut self, char: char) {
        let mut bytes = [0; 4];
        let text = char.encode_utf8(&mut bytes);
        let prose = match self.group.place {
            Place::Text => &mut self.text,
            Place::Note => &mut self.notes,
            Place::Title => return self.title.push(char),
            Place::Author => return self.author.push(char),
            Place::PropertyName => return self.property.0.push(char),
            Place::PropertyValue => return self.property.1.push(char),
            Place::Colours if char == ';' => return self.colours.push(self.colour.take()),
            Place::Fonts | Place::Colours | Place::Styles | Place::Nowhere => return,
        };
        match self.group.hiding {
            Some(how) => prose.hide_in_place(how, text),
            None => prose.text(text),
        }
    }

    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        let (text, _) = self.group.encoding.decode_without_bom_handling(&pending);
        for char in text.chars() {
            self.push(char);
        }
    }
}

/// The Windows code page of a font's character set.
fn charset(number: i64) -> Option<&'static encoding_rs::Encoding> {
    let page = match number {
        0 => 1252,
        77 => 10000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    };
    code_page(page)
}
