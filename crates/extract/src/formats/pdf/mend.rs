//! Rewrites pages to contain only what shows text, in the form that `pdf-extract` can read. It does not know `'` and
//! `"`, panics on unexpected operands and resources, and confuses a font of a form with one of the page if they have
//! the same name. Forms are inlined where they are shown.

use std::rc::Rc;

use hashbrown::HashMap;
use pdf_extract::content::{Content, Operation};
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream, dictionary};

use super::canvas::{Canvas, Names};
use super::fonts::{Font, InUse, content, items, resolve};
use super::layers::PdfLayers;
use super::scene::Scene;

/// The maximum nesting depth of forms and of page trees.
pub(super) const DEEPEST: usize = 50;

/// Why a page has no text.
pub(super) enum Unread {
    /// It decompresses to more than the limit.
    TooMuch,
    /// So much is painted on it that it would take too long to say what is seen.
    TooLong,
    /// It is damaged.
    Page,
}

impl From<pdf_extract::Error> for Unread {
    fn from(_: pdf_extract::Error) -> Self {
        Self::Page
    }
}

/// The dictionary of this name, or an empty one.
pub(super) fn sub_dictionary(
    document: &Document,
    dictionary: &Dictionary,
    key: &[u8],
) -> Dictionary {
    let found = dictionary
        .get(key)
        .map(|object| resolve(document, object))
        .and_then(Object::as_dict);
    found.cloned().unwrap_or_default()
}

/// What is read of a document once for all pages.
pub(super) struct DocumentParts {
    fonts: HashMap<ObjectId, Rc<Font>>,
    layers: Rc<PdfLayers>,
}

impl DocumentParts {
    pub(super) fn of(document: &Document) -> Self {
        Self {
            fonts: HashMap::new(),
            layers: Rc::new(PdfLayers::of(document)),
        }
    }

    fn font(&mut self, document: &Document, object: &Object) -> Option<Rc<Font>> {
        let read = || {
            Some(Rc::new(Font::read(
                document,
                resolve(document, object).as_dict().ok()?,
            )))
        };
        let Ok(id) = object.as_reference() else {
            return read();
        };
        if !self.fonts.contains_key(&id) {
            self.fonts.insert(id, read()?);
        }
        self.fonts.get(&id).cloned()
    }
}

/// A page being rewritten.
pub(super) struct Mended<'a> {
    document: &'a mut Document,
    shared: &'a mut DocumentParts,
    in_use: Vec<InUse>,
    /// The index in `in_use` of each font.
    known: HashMap<ObjectId, usize>,
    operations: Vec<Operation>,
    canvas: Canvas,
    /// The forms that enclose the current content.
    within: Vec<ObjectId>,
    /// How many more bytes may be read: forms can show others many times over.
    room: u64,
    /// New objects, which are removed again.
    made: Vec<ObjectId>,
    page: ObjectId,
    original: Object,
}

impl<'a> Mended<'a> {
    /// Replaces the original page until this is dropped.
    pub(super) fn page(
        document: &'a mut Document,
        shared: &'a mut DocumentParts,
        page: ObjectId,
        room: u64,
    ) -> Result<Self, Unread> {
        let original = document.get_object(page)?.clone();
        let bytes = document.get_page_content(page)?;
        let resources = inherited_resources(document, page);
        let (in_use, known, operations, within, made) = (
            Vec::new(),
            HashMap::new(),
            Vec::new(),
            Vec::new(),
            Vec::new(),
        );
        let canvas = Canvas::new(document, original.as_dict()?, shared.layers.clone());
        let mut mended = Self {
            document,
            shared,
            in_use,
            known,
            operations,
            canvas,
            within,
            room,
            made,
            page,
            original,
        };
        mended.read(&bytes, &resources, None)?;
        mended.write()?;
        Ok(mended)
    }

    pub(super) fn document(&self) -> &Document {
        self.document
    }

    pub(super) fn scene(&self) -> &Scene {
        self.canvas.scene()
    }

    fn write(&mut self) -> Result<(), Unread> {
        let (shown, unread) = self.in_use.iter().fold((0, 0), |(shown, unread), font| {
            let (of_font, unread_of_font) = font.counted();
            (shown + of_font, unread + unread_of_font)
        });
        if 2 * unread > shown {
            return Err(Unread::Page);
        }
        let content = Content {
            operations: std::mem::take(&mut self.operations),
        };
        let content = self.add(Stream::new(Dictionary::new(), content.encode()?));
        let mut fonts = Dictionary::new();
        for font in std::mem::take(&mut self.in_use) {
            fonts.set(name(font.id), font.id);
            font.write(self.document, &mut self.made);
        }
        // Only distances matter, so the page can have any size.
        let mut dictionary = self.original.as_dict()?.clone();
        dictionary.remove(b"ArtBox");
        dictionary.set("MediaBox", vec![0.into(), 0.into(), 595.into(), 842.into()]);
        dictionary.set("Resources", dictionary! { "Font" => fonts });
        dictionary.set("Contents", content);
        self.document.set_object(self.page, dictionary);
        Ok(())
    }

    fn add(&mut self, object: impl Into<Object>) -> ObjectId {
        let id = self.document.add_object(object);
        self.made.push(id);
        id
    }

    fn take_room(&mut self, bytes: usize) -> Result<(), Unread> {
        let left = self.room.checked_sub(bytes as u64);
        self.room = left.ok_or(Unread::TooMuch)?;
        Ok(())
    }

    /// Reads the operations of a page or a form that show text. `font` is the current font at its start.
    fn read(
        &mut self,
        bytes: &[u8],
        resources: &Dictionary,
        mut font: Option<usize>,
    ) -> Result<(), Unread> {
        self.take_room(bytes.len())?;
        let fonts = sub_dictionary(self.document, resources, b"Font");
        let forms = sub_dictionary(self.document, resources, b"XObject");
        let mut names = Names::of(self.document, resources);
        let (mut outer, marks) = (Vec::new(), self.canvas.marks());
        for operation in Content::decode(bytes)?.operations {
            self.canvas.operate(self.document, &operation, &mut names);
            if !is_well_formed(&operation) {
                continue;
            }
            match operation.operator.as_str() {
                "Tf" => font = Some(self.set_font(operation, &fonts)),
                "q" => {
                    outer.push(font);
                    self.canvas.save();
                    self.operations.push(operation);
                }
                "Q" => {
                    if let Some(before) = outer.pop() {
                        font = before;
                        self.canvas.restore();
                        self.operations.push(operation);
                    }
                }
                "Do" => {
                    let name = operation.operands[0].as_name();
                    let object = name.and_then(|name| forms.get(name)?.as_reference());
                    if let Ok(object) = object {
                        self.draw(object, resources, &names, font)?;
                    }
                }
                "Tj" | "TJ" | "'" | "\"" => self.show(font, operation),
                _ => self.operations.push(operation),
            }
        }
        self.close(outer.len());
        self.canvas.end_marks(marks);
        Ok(())
    }

    /// Restores as many states as were saved and not restored.
    fn close(&mut self, open: usize) {
        for _ in 0..open {
            self.operations.push(Operation::new("Q", Vec::new()));
            self.canvas.restore();
        }
    }

    /// Sets one of these fonts, and returns its index.
    fn set_font(&mut self, mut operation: Operation, fonts: &Dictionary) -> usize {
        let font = operation.operands[0]
            .as_name()
            .and_then(|name| fonts.get(name));
        let place = self.font(font.ok());
        operation.operands[0] = Object::Name(name(self.in_use[place].id));
        self.operations.push(operation);
        place
    }

    /// Shows strings in a font, if one is set.
    fn show(&mut self, font: Option<usize>, mut operation: Operation) {
        let (Some(font), Some(shown)) = (font, operation.operands.pop()) else {
            return;
        };
        let strings = items(&shown);
        for string in strings {
            self.in_use[font].show(string.as_str().unwrap_or_default());
        }
        let count = strings
            .iter()
            .filter(|string| matches!(string, Object::String(..)))
            .count();
        self.canvas.show(count, self.in_use[font].metrics());
        self.operations.extend(shows(operation, shown));
    }

    /// The index of a font, by the object that the resources have under its name; a common font if there is none.
    fn font(&mut self, object: Option<&Object>) -> usize {
        let id = object.and_then(|object| object.as_reference().ok());
        if let Some(&place) = id.and_then(|id| self.known.get(&id)) {
            return place;
        }
        let font = object.and_then(|object| self.shared.font(self.document, object)).unwrap_or_else(|| {
            let common = dictionary! {
                "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica", "Encoding" => "WinAnsiEncoding",
            };
            Rc::new(Font::read(self.document, &common))
        });
        let place = self.in_use.len();
        let made = self.add(Object::Null);
        self.in_use.push(InUse::new(made, font));
        if let Some(id) = id {
            self.known.insert(id, place);
        }
        place
    }

    /// Paints a picture, or inlines the content of a form.
    fn draw(
        &mut self,
        id: ObjectId,
        outer: &Dictionary,
        names: &Names,
        font: Option<usize>,
    ) -> Result<(), Unread> {
        let Ok(stream) = self.document.get_object(id).and_then(Object::as_stream) else {
            return Ok(());
        };
        let subtype = stream.dict.get(b"Subtype").and_then(Object::as_name).ok();
        if subtype == Some(b"Image") {
            self.canvas.picture(self.document, Some(id), stream, names);
        }
        if subtype != Some(b"Form") || self.within.contains(&id) || self.within.len() == DEEPEST {
            return Ok(());
        }
        let bytes = content(stream);
        let own = stream
            .dict
            .has(b"Resources")
            .then(|| sub_dictionary(self.document, &stream.dict, b"Resources"));
        self.operations.push(Operation::new("q", Vec::new()));
        self.operations
            .extend(set_matrix(self.document, &stream.dict));
        let marks = self.canvas.marks();
        self.canvas.enter(self.document, &stream.dict);
        self.within.push(id);
        self.read(&bytes, own.as_ref().unwrap_or(outer), font)?;
        self.within.pop();
        self.canvas.end_marks(marks);
        self.canvas.restore();
        self.operations.push(Operation::new("Q", Vec::new()));
        Ok(())
    }
}

impl Drop for Mended<'_> {
    fn drop(&mut self) {
        for made in &self.made {
            self.document.objects.remove(made);
        }
        self.document.set_object(
            self.page,
            std::mem::replace(&mut self.original, Object::Null),
        );
    }
}

fn name((number, generation): ObjectId) -> Vec<u8> {
    format!("F{number}.{generation}").into_bytes()
}

/// The resources of a page, or of its nearest ancestor that has some.
fn inherited_resources(document: &Document, page: ObjectId) -> Dictionary {
    let mut node = document.get_dictionary(page);
    for _ in 0..DEEPEST {
        let Ok(dictionary) = node else { break };
        if dictionary.has(b"Resources") {
            return sub_dictionary(document, dictionary, b"Resources");
        }
        node = dictionary
            .get(b"Parent")
            .and_then(Object::as_reference)
            .and_then(|id| document.get_dictionary(id));
    }
    Dictionary::new()
}

/// The operation that transforms what a form shows.
fn set_matrix(document: &Document, form: &Dictionary) -> Option<Operation> {
    let matrix = resolve(document, form.get(b"Matrix").ok()?);
    let operation = Operation::new("cm", matrix.as_array().ok()?.clone());
    Some(operation).filter(is_well_formed)
}

/// Whether an operation may show text, and has the operands that it needs.
fn is_well_formed(operation: &Operation) -> bool {
    let operands = &operation.operands[..];
    let numbers = |count: usize| {
        operands.len() == count && operands.iter().all(|operand| operand.as_float().is_ok())
    };
    match operation.operator.as_str() {
        "BT" | "ET" | "q" | "Q" | "T*" => true,
        "cm" | "Tm" => numbers(6),
        "Td" | "TD" => numbers(2),
        "Tc" | "Tw" | "Tz" | "TL" | "Ts" => numbers(1),
        "Tf" => matches!(operands, [Object::Name(_), size] if size.as_float().is_ok()),
        "Do" => matches!(operands, [Object::Name(_)]),
        "Tj" | "'" => matches!(operands, [Object::String(..)]),
        "TJ" => matches!(operands, [Object::Array(_)]),
        "\"" => {
            matches!(operands, [word, character, Object::String(..)] if word.as_float().and(character.as_float()).is_ok())
        }
        _ => false,
    }
}

/// Shows a string with operators that are supported: `'` is `T*` and `Tj`, and `"` sets the word and character
/// spacing first.
fn shows(operation: Operation, shown: Object) -> Vec<Operation> {
    let Operation { operator, operands } = operation;
    let line = || Operation::new("T*", Vec::new());
    match operator.as_str() {
        "'" => vec![line(), Operation::new("Tj", vec![shown])],
        "\"" => {
            let distances = ["Tw", "Tc"].into_iter().zip(operands);
            let distances =
                distances.map(|(operator, distance)| Operation::new(operator, vec![distance]));
            distances
                .chain([line(), Operation::new("Tj", vec![shown])])
                .collect()
        }
        _ => vec![Operation::new(&operator, vec![shown])],
    }
}
