//! The tree of a page in XHTML, which the parser of HTML would not understand.

use dom_query::{Document, NodeId};

/// How many attributes an element may have.
pub(crate) const ATTRIBUTES: usize = 100;

/// Builds the tree of a page from its tags, as they come. An unclosed element is closed with its parent.
pub(crate) struct TreeBuilder {
    document: Document,
    open: Vec<(String, NodeId)>,
}

impl TreeBuilder {
    pub(crate) fn new() -> Self {
        Self {
            document: Document::default(),
            open: Vec::new(),
        }
    }

    /// Opens an element.
    pub(crate) fn open<'a>(
        &mut self,
        name: &str,
        attributes: impl Iterator<Item = (&'a str, &'a str)>,
    ) {
        let tree = &self.document.tree;
        let element = tree.new_element(name);
        for (name, value) in attributes.take(ATTRIBUTES) {
            if !element.has_attr(name) {
                element.set_attr(name, value);
            }
        }
        let parent = self
            .open
            .last()
            .map_or_else(|| tree.root().id, |(_, parent)| *parent);
        tree.append_child_of(&parent, &element.id);
        self.open.push((name.to_owned(), element.id));
    }

    /// How deep the elements are nested.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Closes an element.
    pub(crate) fn close(&mut self, name: &str) {
        if let Some(place) = self.open.iter().rposition(|(open, _)| open == name) {
            self.open.truncate(place);
        }
    }

    /// Adds characters.
    pub(crate) fn text(&mut self, text: &str) {
        let tree = &self.document.tree;
        let parent = self
            .open
            .last()
            .map_or_else(|| tree.root().id, |(_, parent)| *parent);
        let id = tree.new_text(text).id;
        tree.append_child_of(&parent, &id);
    }

    /// The tree.
    pub(crate) fn finish(self) -> Document {
        self.document
    }
}
