//! Walks through the tree of a page, and tells what of its text is seen.

use dom_query::{Document, NodeData, NodeId, NodeRef};

use super::cascade::{Work, settings};
use super::look::Look;
use super::sheet::Sheets;
use crate::extract::ExtractError;
use crate::extract::hidden::{HiddenWords, Hiding};
use crate::extract::html::{self, Reader};
use crate::extract::limits::Budget;

/// An element whose text is being read.
struct OpenElement {
    look: Look,
    name: String,
    depth: usize,
    /// Whether it is part of the text, or all in it is hidden without a gap.
    is_read: bool,
}

/// What comes next.
enum Step<'a> {
    Enter(NodeRef<'a>),
    Leave,
}

/// What happens to a piece of text.
type Told<'t> = &'t mut dyn FnMut(Event<'_, '_>);

/// A part of a page, in the order of the text.
enum Event<'e, 'n> {
    Open(&'e str, &'e NodeRef<'n>),
    Close(&'e str),
    Text(&'e str),
    /// Text that is hidden, whether it leaves no gap, and where it is.
    Hidden(Hiding, &'e str, bool, NodeId),
}

/// Reads what is seen of a page.
pub(in crate::extract) fn read_seen(
    document: &Document,
    sheets: &Sheets,
    budget: &Budget,
    reader: &mut Reader,
) -> Result<(), ExtractError> {
    walk(document, sheets, budget, &mut |event| match event {
        Event::Open(name, node) => {
            reader.open(name);
            if let Some(element) = node.element_ref() {
                for attribute in &element.attrs {
                    reader.attribute(&attribute.name.local, &attribute.value);
                }
            }
            reader.meta();
        }
        Event::Close(name) => reader.close(name),
        Event::Text(text) => reader.characters(text),
        Event::Hidden(how, text, leaves_no_gap, _) => reader.hide(how, text, leaves_no_gap),
    })
}

/// Takes out of a page what is not seen, and counts it.
pub(in crate::extract) fn remove_hidden(
    document: &Document,
    sheets: &Sheets,
    budget: &Budget,
) -> Result<HiddenWords, ExtractError> {
    let (mut hidden, mut nodes) = (HiddenWords::default(), Vec::new());
    walk(document, sheets, budget, &mut |event| match event {
        Event::Hidden(how, text, _, node) => {
            hidden.add(how, text);
            nodes.push(node);
        }
        _ => hidden.end_word(),
    })?;
    for node in nodes {
        document.tree.remove_from_parent(&node);
    }
    Ok(hidden)
}

fn walk(document: &Document, sheets: &Sheets, budget: &Budget, told: Told<'_>) -> Result<(), ExtractError> {
    let (mut work, limits, size) = (Work::default(), &budget.limits, document.tree.len());
    // Remembers what selectors that count elements found.
    #[allow(clippy::default_trait_access, reason = "the crate of its type is used by `dom_query` only")]
    let mut caches = Default::default();
    let mut open: Vec<OpenElement> =
        vec![OpenElement { look: Look::default(), name: String::new(), depth: 0, is_read: true }];
    let mut steps: Vec<Step<'_>> = document.root().children_it(true).map(Step::Enter).collect();
    while let Some(step) = steps.pop() {
        let Step::Enter(node) = step else {
            if let Some(OpenElement { name, is_read: true, .. }) = open.pop() {
                told(Event::Close(&name));
            }
            continue;
        };
        let Some(around) = open.last() else { return Ok(()) };
        if node.is_text() {
            text(&node, around, told);
            continue;
        }
        let Some(name) = node.element_ref().map(|element| element.name.local.to_string()) else { continue };
        // What is no part of the text is not hidden either.
        if html::is_skipped(&name) {
            continue;
        }
        let depth = around.depth + 1;
        let look = if around.look.is_gone() || is_about_page(&name) {
            around.look.clone()
        } else {
            let mut matches = |rule: &super::sheet::Rule| rule.selector.match_element_with_caches(&node, &mut caches);
            let settings = settings(sheets, &node, depth, size, (&mut work, limits), &mut matches)?;
            let is_hidden = node.has_attr("hidden") || name == "dialog" && !node.has_attr("open");
            let mut is_short = |most| is_shorter(&node, most);
            around.look.of_child(&name, is_hidden, &settings, &mut is_short)
        };
        let is_read = around.is_read && !look.is_gone();
        if is_read {
            told(Event::Open(&name, &node));
        }
        open.push(OpenElement { look, name, depth, is_read });
        steps.push(Step::Leave);
        steps.extend(node.children_it(true).map(Step::Enter));
    }
    Ok(())
}

fn text(node: &NodeRef<'_>, around: &OpenElement, told: Told<'_>) {
    let text = node.query(|node| match &node.data {
        NodeData::Text { contents } => contents.to_string(),
        _ => String::new(),
    });
    let Some(text) = text else { return };
    match around.look.hiding() {
        Some(how) => {
            let leaves_no_gap = around.look.leaves_no_gap || how == Hiding::Tiny;
            told(Event::Hidden(how, &text, leaves_no_gap, node.id));
        }
        None => told(Event::Text(&text)),
    }
}

/// Elements that are never shown, but say what the page is.
fn is_about_page(name: &str) -> bool {
    matches!(name, "head" | "title" | "meta")
}

/// Whether the text of an element has at most so many letters.
fn is_shorter(node: &NodeRef<'_>, most: usize) -> bool {
    let mut left = most;
    for inner in node.descendants_it() {
        let length = inner.query_or(0, |node| match &node.data {
            NodeData::Text { contents } => contents.len(),
            _ => 0,
        });
        match left.checked_sub(length.max(1)) {
            Some(rest) => left = rest,
            None => return false,
        }
    }
    true
}
