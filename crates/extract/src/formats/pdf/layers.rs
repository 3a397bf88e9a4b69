//! Optional content: the layers of a document, and which of them are switched off when it is opened.

use hashbrown::HashSet;
use pdf_extract::{Dictionary, Document, Object, ObjectId};

use super::fonts::{self, entry, resolve};

/// The maximum nesting depth of expressions.
const DEEPEST: usize = 16;

/// The layers that are switched off.
#[derive(Debug, Default)]
pub(super) struct PdfLayers(HashSet<ObjectId>);

fn dictionary<'a>(
    document: &'a Document,
    dictionary: &'a Dictionary,
    key: &[u8],
) -> Option<&'a Dictionary> {
    entry(document, dictionary, key).and_then(|object| object.as_dict().ok())
}

pub(super) fn array<'a>(
    document: &'a Document,
    dictionary: &'a Dictionary,
    key: &[u8],
) -> &'a [Object] {
    entry(document, dictionary, key)
        .and_then(|object| object.as_array().ok())
        .map_or(&[], Vec::as_slice)
}

fn name<'a>(document: &'a Document, dictionary: &'a Dictionary, key: &[u8]) -> &'a [u8] {
    fonts::name(entry(document, dictionary, key))
}

fn references(objects: &[Object]) -> impl Iterator<Item = ObjectId> {
    objects
        .iter()
        .filter_map(|object| object.as_reference().ok())
}

impl PdfLayers {
    pub(super) fn of(document: &Document) -> Self {
        let properties = document
            .catalog()
            .ok()
            .and_then(|root| dictionary(document, root, b"OCProperties"));
        let Some(properties) = properties else {
            return Self::default();
        };
        let all = references(array(document, properties, b"OCGs"));
        let Some(start) = dictionary(document, properties, b"D") else {
            return Self::default();
        };
        let mut off = if name(document, start, b"BaseState") == b"OFF" {
            all.collect()
        } else {
            HashSet::new()
        };
        let on: HashSet<ObjectId> = references(array(document, start, b"ON")).collect();
        off.retain(|layer| !on.contains(layer));
        off.extend(references(array(document, start, b"OFF")));
        let mut layers = Self(off);
        layers.view(document, array(document, start, b"AS"));
        layers
    }

    /// Switches the layers that say by themselves whether they are seen on a screen.
    fn view(&mut self, document: &Document, usages: &[Object]) {
        for usage in usages
            .iter()
            .filter_map(|usage| resolve(document, usage).as_dict().ok())
        {
            if name(document, usage, b"Event") != b"View" {
                continue;
            }
            for layer in array(document, usage, b"OCGs") {
                let (Ok(id), Ok(of_layer)) =
                    (layer.as_reference(), resolve(document, layer).as_dict())
                else {
                    continue;
                };
                let state = dictionary(document, of_layer, b"Usage")
                    .and_then(|usage| dictionary(document, usage, b"View"));
                match state.map(|state| name(document, state, b"ViewState")) {
                    Some(b"OFF") => _ = self.0.insert(id),
                    Some(b"ON") => _ = self.0.remove(&id),
                    _ => {}
                }
            }
        }
    }

    /// Whether what belongs to a layer, or to several, is hidden.
    pub(super) fn hides(&self, document: &Document, object: &Object) -> bool {
        if let Ok(id) = object.as_reference()
            && self.0.contains(&id)
        {
            return true;
        }
        let Ok(group) = resolve(document, object).as_dict() else {
            return false;
        };
        if name(document, group, b"Type") != b"OCMD" {
            return false;
        }
        if group.has(b"VE") {
            return !self.is_on(document, array(document, group, b"VE"), DEEPEST);
        }
        let member = group
            .get(b"OCGs")
            .map_or(&[][..], |member| match resolve(document, member) {
                Object::Array(members) => members,
                _ => std::slice::from_ref(member),
            });
        let mut members = references(member).peekable();
        if members.peek().is_none() {
            return false;
        }
        let is_off = |id| self.0.contains(&id);
        match name(document, group, b"P") {
            b"AllOn" => members.any(is_off),
            b"AnyOff" => !members.any(is_off),
            b"AllOff" => !members.all(is_off),
            _ => members.all(is_off),
        }
    }

    /// The value of an expression. What is not understood is on.
    fn is_on(&self, document: &Document, expression: &[Object], depth: usize) -> bool {
        let [operator, operands @ ..] = expression else {
            return true;
        };
        let mut values = operands
            .iter()
            .map(|operand| match resolve(document, operand) {
                Object::Array(expression) if depth > 0 => {
                    self.is_on(document, expression, depth - 1)
                }
                _ => !operand.as_reference().is_ok_and(|id| self.0.contains(&id)),
            });
        match resolve(document, operator).as_name().unwrap_or_default() {
            b"And" => values.all(|on| on),
            b"Or" => values.any(|on| on),
            b"Not" => !values.next().unwrap_or_default(),
            _ => true,
        }
    }
}
