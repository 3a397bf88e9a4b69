//! Reads a page: its operations and those of the forms that it shows.

use std::rc::Rc;

use hashbrown::HashSet;
use hayro_syntax::content::UntypedIter;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier, Stream};
use hayro_syntax::page::{Page, Resources};
use hayro_syntax::xref::XRef;

use super::canvas::{Canvas, Names, Operation};
use super::fonts::{Fonts, content, name};
use super::layers::PdfLayers;
use super::scene::Scene;

/// The maximum nesting depth of forms.
const DEEPEST: usize = 50;
/// How often a page or a form may be read on behind what cannot be parsed.
const MOST_RESUMED: usize = 1_000;

/// Why a page has no text.
pub(super) enum Unread {
    /// It decompresses to more than the limit.
    TooMuch,
    /// So much is painted on it that it would take too long to say what is seen.
    TooLong,
    /// It is damaged.
    Page,
}

/// What is read of a document once for all pages.
pub(super) struct DocumentParts<'a> {
    fonts: Fonts<'a>,
    layers: Rc<PdfLayers<'a>>,
}

impl<'a> DocumentParts<'a> {
    pub(super) fn of(document: &'a XRef) -> Self {
        Self {
            fonts: Fonts::new(),
            layers: Rc::new(PdfLayers::of(document)),
        }
    }
}

/// A page being read.
pub(super) struct PageReader<'a, 'd> {
    parts: &'d mut DocumentParts<'a>,
    canvas: Canvas<'a>,
    /// The forms that enclose the current content.
    within: HashSet<ObjectIdentifier>,
    /// How many more bytes may be read: forms can show others many times over.
    room: u64,
    /// How many letters are shown, and how many of those of numbered glyphs are unknown.
    shown: usize,
    unread: usize,
}

impl<'a, 'd> PageReader<'a, 'd> {
    /// Reads a page that may decompress to so much.
    pub(super) fn read(
        parts: &'d mut DocumentParts<'a>,
        page: &Page<'a>,
        room: u64,
    ) -> Result<Scene<'a>, Unread> {
        let canvas = Canvas::new(page, parts.layers.clone());
        let mut reader = Self {
            parts,
            canvas,
            within: HashSet::new(),
            room,
            shown: 0,
            unread: 0,
        };
        let content = page_content(page, room)?;
        reader.follow(&content, page.resources().clone())?;
        if 2 * reader.unread > reader.shown {
            return Err(Unread::Page);
        }
        Ok(reader.canvas.into_scene())
    }

    /// Follows the operations of a page or a form.
    fn follow(&mut self, content: &[u8], resources: Resources<'a>) -> Result<(), Unread> {
        let left = self.room.checked_sub(content.len() as u64);
        self.room = left.ok_or(Unread::TooMuch)?;
        let mut names = Names::of(resources);
        let (saved, marks) = (self.canvas.saved(), self.canvas.marks());
        let (mut rest, mut resumed) = (content, 0);
        loop {
            let read = self.follow_part(rest, &mut names, saved)?;
            // The parser ends at a bracket that closes nothing, or too many operands. Viewers skip them.
            let Some(unreadable) = unreadable(&rest[read..]) else {
                break;
            };
            rest = &rest[read + unreadable..];
            resumed += 1;
            if resumed > MOST_RESUMED {
                return Err(Unread::Page);
            }
        }
        while self.canvas.saved() > saved {
            self.canvas.restore();
        }
        self.canvas.end_marks(marks);
        Ok(())
    }

    /// Follows operations as far as they can be parsed. Returns where the last one ends.
    fn follow_part(
        &mut self,
        content: &[u8],
        names: &mut Names<'a>,
        saved: usize,
    ) -> Result<usize, Unread> {
        let mut end = 0;
        let mut instructions = UntypedIter::new(content);
        while let Some(instruction) = instructions.next() {
            let operands: Vec<&Object<'_>> = instruction.operands().collect();
            let values = operands.iter().map_while(|operand| match operand {
                Object::Number(number) => Some(number.as_f64()),
                _ => None,
            });
            let operation = Operation {
                operator: instruction.operator,
                values: values.collect(),
                operands,
            };
            end = end_within(operation.operator, content).unwrap_or(end);
            self.operate(&operation, names, saved)?;
        }
        Ok(end)
    }

    /// Follows an operation. `saved` is how many states were saved before this content.
    fn operate(
        &mut self,
        operation: &Operation<'_, '_>,
        names: &mut Names<'a>,
        saved: usize,
    ) -> Result<(), Unread> {
        match (operation.operator, &operation.operands[..]) {
            (b"q", _) => self.canvas.save(),
            (b"Q", _) if self.canvas.saved() > saved => self.canvas.restore(),
            (b"Do", [Object::Name(name)]) => self.draw(name, names)?,
            (b"Tf", [Object::Name(name), Object::Number(size)]) => {
                let font = self.parts.fonts.font(&names.resources.fonts, name);
                self.canvas.set_font(font, size.as_f64());
            }
            (b"TJ", [Object::Array(array)]) => self.show(array.iter::<Object<'_>>()),
            (operator @ (b"Tj" | b"'" | b"\""), [.., string @ Object::String(_)]) => {
                if let (b"\"", &[blank, spacing]) = (operator, &operation.values[..]) {
                    self.canvas.set_distances(blank, spacing);
                }
                if operator != b"Tj" {
                    self.canvas.next_line();
                }
                self.show([(*string).clone()]);
            }
            _ => self.canvas.operate(operation, names),
        }
        Ok(())
    }

    /// Shows strings, with adjustments between them.
    fn show<'c>(&mut self, parts: impl IntoIterator<Item = Object<'c>>) {
        let Some(font) = self.canvas.begin_strings() else {
            return;
        };
        for part in parts {
            match part {
                Object::String(string) => self.canvas.show(string.as_bytes(), |text| {
                    self.shown += 1;
                    self.unread += usize::from(font.is_numbered && text.is_none());
                }),
                Object::Number(by) => self.canvas.adjust(by.as_f64()),
                _ => {}
            }
        }
    }

    /// Paints a picture, or follows the content of a form.
    fn draw(&mut self, object: &Name<'_>, names: &Names<'a>) -> Result<(), Unread> {
        let Some(stream) = names.resources.get_x_object(object) else {
            return Ok(());
        };
        let (form, id) = (stream.dict(), stream.obj_id());
        let subtype = name(form, "Subtype");
        if subtype.as_ref() == b"Image" {
            self.canvas.picture(Some(id), &stream, names);
        }
        if subtype.as_ref() != b"Form" || self.within.len() == DEEPEST || !self.within.insert(id) {
            return Ok(());
        }
        let own = form.get::<Dict<'_>>("Resources").map(Resources::new);
        let marks = self.canvas.marks();
        self.canvas.enter(form);
        self.follow(
            &content(&stream),
            own.unwrap_or_else(|| names.resources.clone()),
        )?;
        self.canvas.end_marks(marks);
        self.canvas.restore();
        self.within.remove(&id);
        Ok(())
    }
}

/// Where a part of some bytes ends in them; `None` if it was copied.
fn end_within(part: &[u8], bytes: &[u8]) -> Option<usize> {
    let start = part.as_ptr().addr().checked_sub(bytes.as_ptr().addr())?;
    Some(start + part.len()).filter(|end| *end <= bytes.len())
}

/// The length of the first word or bracket, with the blanks before it; `None` if there is none.
fn unreadable(content: &[u8]) -> Option<usize> {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let start = content.iter().position(|byte| !is_blank(byte))?;
    let is_end = |byte: &u8| is_blank(byte) || b"()<>[]{}/%".contains(byte);
    let length = content[start + 1..].iter().position(is_end);
    Some(length.map_or(content.len(), |length| start + 1 + length))
}

/// The content of a page, which may be in several streams. It is read as far as they can be decompressed.
fn page_content(page: &Page<'_>, room: u64) -> Result<Vec<u8>, Unread> {
    let streams = page.raw().get::<Array<'_>>("Contents").unwrap_or_default();
    let stream = |stream: MaybeRef<Object<'_>>| page.xref().get(stream.as_obj_ref()?.into());
    let only = page.raw().get::<Stream<'_>>("Contents");
    let streams: Vec<Stream<'_>> = only
        .into_iter()
        .chain(streams.raw_iter().filter_map(stream))
        .collect();
    let mut content = Vec::new();
    for stream in &streams {
        let Ok(part) = stream.decoded_data() else {
            continue;
        };
        content.extend_from_slice(&part);
        // A stream does not end within a word.
        content.push(b'\n');
        if content.len() as u64 > room {
            return Err(Unread::TooMuch);
        }
    }
    if content.is_empty() && !streams.is_empty() {
        return Err(Unread::Page);
    }
    Ok(content)
}
