//! Walks through the tree of a page, and tells what of its text is seen.

use dom_query::{Document, NodeData, NodeId, NodeRef};
use hashbrown::HashSet;

use super::cascade::Cascade;
use super::look::{Look, StyledElement};
use super::selector::Selector;
use super::sheet::Sheets;
use crate::ExtractError;
use crate::formats::html::{self, PageReader};
use crate::hidden::{HiddenWords, Hiding};
use crate::limits::Budget;

/// An element whose text is being read.
struct OpenElement {
    look: Look,
    name: String,
    depth: usize,
    /// Whether it is part of the text, or all in it is hidden without a gap.
    is_read: bool,
}

/// What comes next.
enum PageStep<'a> {
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
pub(crate) fn read_seen(
    document: &Document,
    sheets: &Sheets,
    budget: &Budget,
    reader: &mut PageReader,
) -> Result<(), ExtractError> {
    walk(document, sheets, budget, &mut |event| match event {
        Event::Open(name, node) => {
            reader.open(name);
            if let Some(element) = node.element_ref() {
                for attribute in &element.attrs {
                    let name: &str = &attribute.name.local;
                    reader.attribute(name.strip_prefix("xml:").unwrap_or(name), &attribute.value);
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
pub(crate) fn remove_hidden(
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

/// The ids that visible links open: notes that wait for it, and boxes that pop up.
fn opened(
    document: &Document,
    sheets: &Sheets,
    budget: &Budget,
) -> Result<HashSet<String>, ExtractError> {
    let mut found = HashSet::new();
    if !document
        .root()
        .descendants_it()
        .any(|node| opens(&node).is_some())
    {
        return Ok(found);
    }
    let mut open: Vec<Option<String>> = Vec::new();
    walk_with(
        document,
        sheets,
        budget,
        HashSet::new(),
        &mut |event| match event {
            Event::Open(_, node) => open.push(opens(node)),
            Event::Close(_) => drop(open.pop()),
            Event::Text(text) if !text.trim().is_empty() => {
                found.extend(open.iter().flatten().cloned());
            }
            _ => {}
        },
    )?;
    Ok(found)
}

fn opens(node: &NodeRef<'_>) -> Option<String> {
    let is = |name: &str, kind: &str| {
        node.attr(name)
            .is_some_and(|value| value.split_ascii_whitespace().any(|word| word == kind))
    };
    if is("epub:type", "noteref") || is("role", "doc-noteref") {
        return node
            .attr("href")
            .and_then(|href| Some(href.split_once('#')?.1.to_owned()));
    }
    node.attr("popovertarget").map(|id| id.to_string())
}

fn walk(
    document: &Document,
    sheets: &Sheets,
    budget: &Budget,
    told: Told<'_>,
) -> Result<(), ExtractError> {
    let notes = opened(document, sheets, budget)?;
    walk_with(document, sheets, budget, notes, told)
}

/// Walks through a page. `notes`: the ids of what is hidden until its readers open it.
fn walk_with(
    document: &Document,
    sheets: &Sheets,
    budget: &Budget,
    notes: HashSet<String>,
    told: Told<'_>,
) -> Result<(), ExtractError> {
    // Remembers what selectors that count elements found.
    #[allow(
        clippy::default_trait_access,
        reason = "the crate of its type is used by `dom_query` only"
    )]
    let mut caches = Default::default();
    let mut walk = PageWalk {
        cascade: Cascade::new(sheets, document.tree.len(), &budget.limits),
        matches: &mut |node, selector| {
            selector
                .matcher
                .match_element_with_caches(node, &mut caches)
        },
        notes,
        reuses: document
            .root()
            .descendants_it()
            .any(|node| node.has_name("use")),
        open: vec![OpenElement {
            look: Look::default(),
            name: String::new(),
            depth: 0,
            is_read: true,
        }],
    };
    let mut steps: Vec<PageStep<'_>> = document
        .root()
        .children_it(true)
        .map(PageStep::Enter)
        .collect();
    while let Some(step) = steps.pop() {
        match step {
            PageStep::Leave => walk.leave(told),
            PageStep::Enter(node) if walk.enter(&node, told)? => {
                steps.push(PageStep::Leave);
                steps.extend(node.children_it(true).map(PageStep::Enter));
            }
            PageStep::Enter(_) => {}
        }
    }
    Ok(())
}

/// A walk through a page.
struct PageWalk<'a> {
    cascade: Cascade<'a>,
    /// Compares an element with a selector.
    matches: &'a mut dyn FnMut(&NodeRef<'_>, &Selector) -> bool,
    notes: HashSet<String>,
    /// Whether drawings use parts of others.
    reuses: bool,
    /// The elements that are open; the first one is the page.
    open: Vec<OpenElement>,
}

impl PageWalk<'_> {
    fn leave(&mut self, told: Told<'_>) {
        if let Some(element) = self.open.pop()
            && element.is_read
        {
            told(Event::Close(&element.name));
        }
    }

    /// Enters an element, unless it is a text or never shown.
    fn enter(&mut self, node: &NodeRef<'_>, told: Told<'_>) -> Result<bool, ExtractError> {
        let Some(around) = self.open.last() else {
            return Ok(false);
        };
        if node.is_text() {
            text(node, around, told);
            return Ok(false);
        }
        let name = node
            .element_ref()
            .map(|element| element.name.local.to_string());
        // What is no part of the text is not hidden either.
        let Some(name) = name
            .filter(|name| !html::is_skipped(name) && !is_never_shown(name, around, self.reuses))
        else {
            return Ok(false);
        };
        let (depth, is_around_read) = (around.depth + 1, around.is_read);
        let look = if around.look.is_gone() || is_about_page(&name) {
            around.look.clone()
        } else {
            self.look(node, &name, depth)?
        };
        let is_read = is_around_read && !look.is_gone();
        if is_read {
            told(Event::Open(&name, node));
        }
        self.open.push(OpenElement {
            look,
            name,
            depth,
            is_read,
        });
        Ok(true)
    }

    /// What an element looks like, in the one that is open.
    fn look(&mut self, node: &NodeRef<'_>, name: &str, depth: usize) -> Result<Look, ExtractError> {
        let Some(OpenElement { look: around, .. }) = self.open.last() else {
            return Ok(Look::default());
        };
        let matches = &mut |selector: &Selector| (self.matches)(node, selector);
        let settings = self
            .cascade
            .settings(node, depth, &around.variables, matches)?;
        let is_note =
            !self.notes.is_empty() && node.attr("id").is_some_and(|id| self.notes.remove(&*id));
        let waits = node.has_attr("popover") || name == "dialog" && !node.has_attr("open");
        let mut element = StyledElement {
            name,
            is_hidden: !is_note && (waits || node.has_attr("hidden")),
            is_note,
            is_link: matches!(name, "a" | "area") && node.has_attr("href"),
            is_short: &mut |most| is_shorter(node, most),
        };
        Ok(around.of_child(&mut element, &settings))
    }
}

fn text(node: &NodeRef<'_>, around: &OpenElement, told: Told<'_>) {
    let text = node.query(|node| match &node.data {
        NodeData::Text { contents } => contents.to_string(),
        _ => String::new(),
    });
    let Some(text) = text else { return };
    match around.look.hiding() {
        Some((how, leaves_no_gap)) => told(Event::Hidden(how, &text, leaves_no_gap, node.id)),
        None => told(Event::Text(&text)),
    }
}

/// Elements of which something else is shown than their text, in any program that knows them.
pub(crate) const REPLACED: &[&str] = &["canvas", "audio", "video", "meter", "progress", "rp"];
/// Parts of drawings and formulas that are about them.
pub(crate) const ABOUT: &[&str] = &[
    "desc",
    "metadata",
    "defs",
    "symbol",
    "annotation",
    "annotation-xml",
];

/// Whether an element is never shown. `reuses`: whether drawings use parts of others.
fn is_never_shown(name: &str, around: &OpenElement, reuses: bool) -> bool {
    match name {
        "desc" | "metadata" => around.look.is_drawing,
        "defs" | "symbol" => around.look.is_drawing && !reuses,
        "annotation" | "annotation-xml" => around.name == "semantics",
        name => REPLACED.contains(&name),
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
