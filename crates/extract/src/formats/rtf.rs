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
enum Destination {
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
struct RtfGroup {
    place: Destination,
    encoding: &'static encoding_rs::Encoding,
    /// How many fallback characters follow a `\u`, for readers that do not know it.
    fallback: usize,
    font: i32,
    letters: RtfLetters,
    paragraph: RtfParagraph,
    /// How the shape that the text is in is hidden, if it is.
    shape: Option<Hiding>,
    /// How all of these hide text, if they do.
    hiding: Option<Hiding>,
}

/// How letters are formatted.
#[derive(Clone, Copy)]
struct RtfLetters {
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
    shade: RtfShade,
}

/// Paper, and a pattern on it: which colours they have, and the share of the pattern, in hundredths of a percent.
#[derive(Clone, Copy, Default)]
struct RtfShade {
    paper: usize,
    ink: usize,
    share: i64,
}

/// Letters of at most this size, in half points, are not seen.
const SMALLEST: i64 = 3;
/// What is indented or placed farther, in twips, is off the page.
const FAR: i64 = 15_000;

impl RtfLetters {
    const USUAL: Self = Self {
        is_hidden: false,
        is_deleted: false,
        is_inserted: false,
        size: 24,
        width: 100,
        colour: 0,
        highlight: 0,
        shade: RtfShade {
            paper: 0,
            ink: 0,
            share: 0,
        },
    };
}

impl RtfLetters {
    /// A word that says how letters look, if it is one.
    fn read(&mut self, word: &str, number: Option<i64>, hidden_styles: &HashSet<i64>) -> bool {
        let value = number.unwrap_or_default();
        let index = usize::try_from(value).unwrap_or_default();
        let is_on = number != Some(0);
        match word {
            "v" => self.is_hidden = is_on,
            "cs" => self.is_hidden |= hidden_styles.contains(&value),
            "deleted" | "mvf" => self.is_deleted = is_on,
            "revised" => self.is_inserted = is_on,
            "fs" => self.size = number.unwrap_or(Self::USUAL.size),
            "cf" => self.colour = index,
            "charscalex" => self.width = number.filter(|width| *width > 0).unwrap_or(100),
            "cb" | "highlight" => self.highlight = index,
            "chcbpat" => self.shade.paper = index,
            "chcfpat" => self.shade.ink = index,
            "chshdng" => self.shade.share = value,
            _ => return false,
        }
        true
    }
}

/// How a paragraph is formatted.
#[derive(Clone, Copy, Default)]
struct RtfParagraph {
    shade: RtfShade,
    is_off_page: bool,
    /// Whether its style hides it.
    is_hidden: bool,
    /// Whether it is in a cell or a box whose colour is not known.
    is_on_unknown: bool,
}

struct RtfReader<'a> {
    bytes: &'a [u8],
    at: usize,
    group: RtfGroup,
    groups: Vec<RtfGroup>,
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
    let mut reader = RtfReader::new(&bytes);
    reader.run(budget)?;
    let RtfReader {
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

impl<'a> RtfReader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let group = RtfGroup {
            place: Destination::Text,
            encoding: WINDOWS_1252,
            fallback: 1,
            font: -1,
            letters: RtfLetters::USUAL,
            paragraph: RtfParagraph::default(),
            shape: None,
            hiding: None,
        };
        Self {
            bytes,
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
        }
    }

    fn run(&mut self, budget: &Budget) -> Result<(), ExtractError> {
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'{' => {
                    self.begin_group();
                    budget.depth(self.groups.len())?;
                }
                b'}' => {
                    // Anything after the document is ignored.
                    if self.end_group() && self.groups.is_empty() {
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

    fn begin_group(&mut self) {
        self.flush();
        self.pass = 0;
        self.groups.push(self.group);
        self.optional = false;
        if self.group.place == Destination::Styles {
            self.style = 0;
        }
    }

    /// Ends a group, if one is open.
    fn end_group(&mut self) -> bool {
        self.flush();
        self.pass = 0;
        let place = self.group.place;
        let Some(group) = self.groups.pop() else {
            return false;
        };
        self.group = group;
        if place == Destination::PropertyValue {
            self.end_property();
        }
        if place == Destination::Note && group.place != Destination::Note {
            self.notes.paragraph();
        }
        true
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
        let number = if digits > 0 {
            self.at += sign + digits;
            str::from_utf8(&rest[..sign + digits])
                .ok()
                .and_then(|number| number.parse().ok())
        } else {
            None
        };
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
        match word {
            "par" | "sect" | "page" | "row" | "column" => self.border(Prose::paragraph),
            "line" => self.border(Prose::line),
            word => {
                if let Some(char) = character(word) {
                    self.char(char);
                } else if !self.encode(word, number.unwrap_or_default())
                    && !self.enter(word, optional)
                {
                    self.format(word, number);
                }
            }
        }
    }

    /// A word that says how characters are written, if it is one.
    fn encode(&mut self, word: &str, value: i64) -> bool {
        let is_in_fonts = self.group.place == Destination::Fonts;
        match word {
            "bin" => {
                let length = usize::try_from(value).unwrap_or_default();
                self.at = self.at.saturating_add(length).min(self.bytes.len());
            }
            "ansicpg" => {
                self.document = page(value).unwrap_or(WINDOWS_1252);
                self.group.encoding = self.document;
            }
            "mac" => self.group.encoding = encoding_rs::MACINTOSH,
            "uc" => self.group.fallback = usize::try_from(value).unwrap_or(1).min(16),
            "u" => self.unicode(value),
            "f" | "deff" => {
                self.flush();
                self.group.font = i32::try_from(value).unwrap_or(-1);
                if word == "f" && !is_in_fonts {
                    let encoding = self.fonts.get(&self.group.font);
                    self.group.encoding = encoding.copied().unwrap_or(self.document);
                }
            }
            "fcharset" | "cpg" if is_in_fonts => {
                let encoding = if word == "cpg" {
                    page(value)
                } else {
                    charset(value)
                };
                if let Some(encoding) = encoding {
                    self.fonts.insert(self.group.font, encoding);
                }
            }
            "plain" => {
                self.flush();
                (self.group.encoding, self.group.letters) = (self.document, RtfLetters::USUAL);
                self.group.hiding = self.hiding_now();
            }
            _ => return false,
        }
        true
    }

    /// A word that begins a destination, if it is one. An `optional` one that is not known is skipped.
    fn enter(&mut self, word: &str, optional: bool) -> bool {
        let place = self.group.place;
        let is_nowhere = place == Destination::Nowhere;
        self.group.place = match word {
            "sn" if is_nowhere => {
                self.property.0.clear();
                Destination::PropertyName
            }
            "sv" if is_nowhere => {
                self.property.1.clear();
                Destination::PropertyValue
            }
            // The text of a box is inside a drawing, which is otherwise skipped.
            "shptxt" if is_nowhere => {
                self.group.paragraph.is_on_unknown = true;
                self.group.hiding = self.hiding_now();
                Destination::Text
            }
            "fonttbl" => Destination::Fonts,
            "colortbl" => Destination::Colours,
            "stylesheet" => Destination::Styles,
            "info" => Destination::Nowhere,
            "title" if is_nowhere => Destination::Title,
            "author" if is_nowhere => Destination::Author,
            "footnote" if place == Destination::Text => Destination::Note,
            _ if optional && place != Destination::Styles || SKIPPED.contains(&word) => {
                self.flush();
                Destination::Nowhere
            }
            _ => return false,
        };
        true
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
        self.flush();
        match self.group.place {
            Destination::Colours => self.read_colour(word, u8::try_from(value).unwrap_or(u8::MAX)),
            Destination::Styles => match word {
                "s" | "cs" | "ds" => self.style = value,
                "v" if number != Some(0) => _ = self.hidden_styles.insert(self.style),
                _ => {}
            },
            Destination::Nowhere if matches!(word, "shpleft" | "shptop") => {
                if value.abs() > FAR {
                    self.group.shape = Some(Hiding::OffPage);
                }
            }
            _ => {
                let is_of_letters = self.group.letters.read(word, number, &self.hidden_styles);
                if !is_of_letters && !self.format_paragraph(word, value) {
                    return;
                }
            }
        }
        self.group.hiding = self.hiding_now();
    }

    /// A part of a colour of the table.
    fn read_colour(&mut self, word: &str, part: u8) {
        if !matches!(word, "red" | "green" | "blue") {
            return;
        }
        let colour = self.colour.get_or_insert(Colour::BLACK);
        match word {
            "red" => colour.red = part,
            "green" => colour.green = part,
            _ => colour.blue = part,
        }
    }

    /// A word that says how a paragraph looks, if it is one.
    fn format_paragraph(&mut self, word: &str, value: i64) -> bool {
        let index = usize::try_from(value).unwrap_or_default();
        let paragraph = &mut self.group.paragraph;
        match word {
            "s" => paragraph.is_hidden = self.hidden_styles.contains(&value),
            "cbpat" => paragraph.shade.paper = index,
            "cfpat" => paragraph.shade.ink = index,
            "shading" => paragraph.shade.share = value,
            "pard" => {
                *paragraph = RtfParagraph {
                    is_on_unknown: paragraph.is_on_unknown && !self.has_shades,
                    ..RtfParagraph::default()
                }
            }
            "intbl" => paragraph.is_on_unknown |= self.has_shades,
            "trowd" => self.has_shades = false,
            "clcbpat" => self.has_shades = true,
            "li" | "lin" | "fi" | "posx" | "posnegx" | "posy" | "posnegy" => {
                paragraph.is_off_page |= value.abs() > FAR;
            }
            _ => return false,
        }
        true
    }

    /// A colour of the table, of which the first is the usual one.
    fn colour_at(&self, index: usize) -> Option<Colour> {
        *self.colours.get(index).filter(|_| index > 0)?
    }

    fn colour_of(&self, shade: RtfShade) -> Option<Colour> {
        let paper = self.colour_at(shade.paper);
        if shade.share == 0 {
            return paper;
        }
        let ink = self.colour_at(shade.ink).unwrap_or(Colour::BLACK);
        let paper = paper.unwrap_or(Colour::WHITE);
        Some(paper.mixed(ink, shade.share as f32 / 10_000.0))
    }

    /// Whether letters cannot be seen on what is behind them.
    fn is_lost(&self) -> bool {
        let RtfGroup {
            letters, paragraph, ..
        } = self.group;
        let background = self
            .colour_at(letters.highlight)
            .or_else(|| self.colour_of(letters.shade))
            .or_else(|| self.colour_of(paragraph.shade))
            .or_else(|| (!paragraph.is_on_unknown).then_some(Colour::WHITE));
        self.colour_at(letters.colour)
            .zip(background)
            .is_some_and(|(letters, paper)| letters.is_lost_on(paper))
    }

    /// How the text being read is hidden, if it is.
    fn hiding_now(&self) -> Option<Hiding> {
        let RtfGroup {
            letters,
            paragraph,
            shape,
            ..
        } = self.group;
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
        } else if self.is_lost() {
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
            Destination::Text => border(&mut self.text),
            Destination::Note => border(&mut self.notes),
            _ => {}
        }
    }

    fn push(&mut self, char: char) {
        let mut bytes = [0; 4];
        let text = char.encode_utf8(&mut bytes);
        let prose = match self.group.place {
            Destination::Text => &mut self.text,
            Destination::Note => &mut self.notes,
            Destination::Title => return self.title.push(char),
            Destination::Author => return self.author.push(char),
            Destination::PropertyName => return self.property.0.push(char),
            Destination::PropertyValue => return self.property.1.push(char),
            Destination::Colours if char == ';' => return self.colours.push(self.colour.take()),
            Destination::Fonts
            | Destination::Colours
            | Destination::Styles
            | Destination::Nowhere => return,
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

/// The character that a word stands for.
fn character(word: &str) -> Option<char> {
    Some(match word {
        "tab" | "cell" | "nestcell" => '\t',
        "emspace" | "enspace" | "qmspace" => ' ',
        "emdash" => '—',
        "endash" => '–',
        "lquote" => '‘',
        "rquote" => '’',
        "ldblquote" => '“',
        "rdblquote" => '”',
        "bullet" => '•',
        _ => return None,
    })
}

/// The encoding of a code page.
fn page(number: i64) -> Option<&'static encoding_rs::Encoding> {
    u16::try_from(number).ok().and_then(code_page)
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
