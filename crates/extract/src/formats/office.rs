//! What DOCX and ODT share: a body of paragraphs with notes, and Dublin Core.

use std::hash::Hash;

use hashbrown::{HashMap, HashSet};
use quick_xml::events::BytesStart;

use crate::archive::Archive;
use crate::hidden::Hiding;
use crate::limits::Budget;
use crate::prose::{Prose, phrase};
use crate::xml::{self, Visitor};
use crate::{ExtractError, Extracted, Format};
use lapidary_common::description::Description;

/// The meaning of a format's elements.
#[derive(Clone, Copy)]
pub(super) struct Elements {
    /// Text occurs only in these elements; if there are none, everywhere.
    pub(super) runs: &'static [&'static str],
    /// These begin and end a paragraph.
    pub(super) paragraphs: &'static [&'static str],
    /// These begin a line.
    pub(super) lines: &'static [&'static str],
    /// These stand for a blank.
    pub(super) blanks: &'static [&'static str],
    /// The content of these is ignored.
    pub(super) skipped: &'static [&'static str],
    /// The content of these follows the text.
    pub(super) notes: &'static [&'static str],
    /// These paragraphs are headings; in DOCX, a paragraph's style says so.
    pub(super) headings: &'static [&'static str],
}

/// A style that takes from another one what it does not say itself.
pub(super) trait Inherits<K>: Clone {
    /// The other one, of this style with this name.
    fn parent(&self, name: &K) -> Option<K>;
    /// Takes what it does not say itself.
    fn inherit(&mut self, parent: &Self);
}

/// Gives each style what those say that it is based on, however many they are.
pub(super) fn inherit<K: Clone + Eq + Hash, S: Inherits<K>>(styles: &mut HashMap<K, S>) {
    let names: Vec<K> = styles.keys().cloned().collect();
    let mut done = HashSet::new();
    for name in names {
        let mut chain = Vec::new();
        let mut next = Some(name);
        while let Some(name) = next.take()
            && let Some(style) = styles.get(&name)
        {
            let parent = style.parent(&name);
            let is_new = done.insert(name.clone());
            chain.push(name);
            next = parent.filter(|_| is_new);
        }
        for pair in chain.windows(2).rev() {
            if let Some(parent) = styles.get(&pair[1]).cloned()
                && let Some(style) = styles.get_mut(&pair[0])
            {
                style.inherit(&parent);
            }
        }
    }
}

/// How the text being read is formatted.
pub(super) trait Formatting {
    /// Start of an element; its name has no prefix.
    fn start(&mut self, name: &str, tag: &BytesStart<'_>);
    /// End of an element.
    fn end(&mut self, name: &str);
    /// Characters.
    fn text(&mut self, _: &str) {}
    /// How it hides text, if it does.
    fn hiding(&self) -> Option<Hiding>;
}

/// The text of a document.
pub(super) struct DocumentBody<F> {
    elements: Elements,
    formatting: F,
    prose: Prose,
    notes: Prose,
    skipped: usize,
    in_notes: usize,
    runs: usize,
    /// The kinds of the elements from the root on.
    path: Vec<ElementKind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ElementKind {
    Skipped,
    Note,
    Run,
    Other,
}

impl<F: Formatting> DocumentBody<F> {
    pub(super) fn new(elements: Elements, formatting: F) -> Self {
        let (prose, notes) = (Prose::default(), Prose::default());
        Self {
            elements,
            formatting,
            prose,
            notes,
            skipped: 0,
            in_notes: 0,
            runs: 0,
            path: Vec::new(),
        }
    }

    /// Adds a part.
    pub(super) fn read(&mut self, bytes: &[u8], budget: &Budget) -> Result<(), ExtractError> {
        xml::walk_bytes(bytes, budget, self)?;
        self.prose.paragraph();
        Ok(())
    }

    fn prose(&mut self) -> &mut Prose {
        if self.in_notes > 0 {
            &mut self.notes
        } else {
            &mut self.prose
        }
    }

    /// The content of a document of this format, without metadata.
    pub(super) fn finish(mut self, format: Format) -> Extracted {
        self.prose.below(self.notes);
        self.prose.finish(format)
    }
}

impl<F: Formatting> Visitor for DocumentBody<F> {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.formatting.start(name, tag);
        let elements = self.elements;
        let kind = if elements.skipped.contains(&name) {
            self.skipped += 1;
            ElementKind::Skipped
        } else if elements.notes.contains(&name) {
            self.in_notes += 1;
            ElementKind::Note
        } else if elements.runs.contains(&name) {
            self.runs += 1;
            ElementKind::Run
        } else {
            ElementKind::Other
        };
        self.path.push(kind);
        if self.skipped > 0 {
            return;
        }
        if elements.paragraphs.contains(&name) {
            self.prose().paragraph();
            if elements.headings.contains(&name) {
                self.prose().begin_heading();
            }
        } else if elements.lines.contains(&name) {
            self.prose().line();
        } else if elements.blanks.contains(&name) {
            self.prose().blank();
        } else if is_heading_style(name, tag) {
            self.prose().begin_heading();
        } else if name == "noBreakHyphen" {
            self.prose().text("-");
        }
    }

    fn end(&mut self, name: &str) {
        self.formatting.end(name);
        if self.skipped == 0 && self.elements.paragraphs.contains(&name) {
            self.prose().end_heading();
            self.prose().paragraph();
        }
        match self.path.pop() {
            Some(ElementKind::Skipped) => self.skipped -= 1,
            Some(ElementKind::Note) => self.in_notes -= 1,
            Some(ElementKind::Run) => self.runs -= 1,
            Some(ElementKind::Other) | None => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.formatting.text(text);
        let is_text = self.runs > 0 || self.elements.runs.is_empty();
        match self.formatting.hiding().filter(|_| is_text) {
            None if is_text && self.skipped == 0 => self.prose().text(text),
            Some(how @ (Hiding::Deleted | Hiding::RejectedInsertion)) => {
                self.prose().hide_in_place(how, text);
            }
            Some(how) if self.skipped == 0 => self.prose().hide_in_place(how, text),
            _ => {}
        }
    }
}

/// Whether this element of a DOCX paragraph makes it a heading: its outline level, or one of Word's own styles, which have
/// localised names in some versions and numbers in others.
fn is_heading_style(name: &str, tag: &BytesStart<'_>) -> bool {
    match name {
        "outlineLvl" => true,
        "pStyle" => xml::attribute(tag, "val").is_some_and(|style| {
            let style = style.to_lowercase();
            ["heading", "title", "заголовок", "berschrift", "titre"]
                .iter()
                .any(|word| style.contains(word))
                || matches!(style.as_str(), "1" | "2" | "3")
        }),
        _ => false,
    }
}

/// The metadata in this part.
pub(super) fn about(
    archive: &mut Archive<'_>,
    part: &str,
    budget: &mut Budget,
) -> Result<Description, ExtractError> {
    let mut about = DublinCore::default();
    if let Some(bytes) = archive.read(part, budget)? {
        xml::walk_bytes(&bytes, budget, &mut about)?;
    }
    if about.metadata.authors.is_empty() {
        about.metadata.authors.extend(about.first_author);
    }
    Ok(about.metadata)
}

/// Dublin Core, as used by both formats.
#[derive(Default)]
struct DublinCore {
    metadata: Description,
    first_author: Option<String>,
    captured: String,
}

impl Visitor for DublinCore {
    fn start(&mut self, _: &str, _: &BytesStart<'_>) {
        self.captured.clear();
    }

    fn end(&mut self, name: &str) {
        let Some(value) = phrase(&std::mem::take(&mut self.captured)) else {
            return;
        };
        match name {
            "title" => self.metadata.title = Some(value),
            "creator" => self.metadata.authors.push(value),
            "initial-creator" => self.first_author = Some(value),
            "language" => self.metadata.language = Some(value),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.captured.push_str(text);
    }
}
