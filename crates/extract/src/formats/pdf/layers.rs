//! Optional content: the layers of a document, and which of them are switched off when it is opened.

use hashbrown::HashSet;
use hayro_syntax::object::{Array, Dict, MaybeRef, Object, ObjectIdentifier};
use hayro_syntax::xref::XRef;

use super::fonts::name;

/// The maximum nesting depth of expressions.
const DEEPEST: usize = 16;

/// The layers that are switched off.
pub(super) struct PdfLayers<'a> {
    document: &'a XRef,
    off: HashSet<ObjectIdentifier>,
}

/// The objects that an array of a dictionary refers to.
fn references(dictionary: &Dict<'_>, key: &str) -> impl Iterator<Item = ObjectIdentifier> {
    let array = dictionary.get::<Array<'_>>(key).unwrap_or_default();
    array
        .raw_iter()
        .filter_map(|object| object.as_obj_ref().map(ObjectIdentifier::from))
}

impl<'a> PdfLayers<'a> {
    pub(super) fn of(document: &'a XRef) -> Self {
        let mut layers = Self {
            document,
            off: HashSet::new(),
        };
        let properties = document
            .get::<Dict<'_>>(document.root_id())
            .and_then(|root| root.get::<Dict<'_>>("OCProperties"));
        let Some(properties) = properties else {
            return layers;
        };
        let Some(start) = properties.get::<Dict<'_>>("D") else {
            return layers;
        };
        if name(&start, "BaseState").as_ref() == b"OFF" {
            layers.off.extend(references(&properties, "OCGs"));
        }
        for layer in references(&start, "ON") {
            layers.off.remove(&layer);
        }
        layers.off.extend(references(&start, "OFF"));
        layers.view(&start.get("AS").unwrap_or_default());
        layers
    }

    /// Switches the layers that say by themselves whether they are seen on a screen.
    fn view(&mut self, usages: &Array<'_>) {
        for usage in usages.iter::<Dict<'_>>() {
            if name(&usage, "Event").as_ref() != b"View" {
                continue;
            }
            for id in references(&usage, "OCGs") {
                let state = self
                    .document
                    .get::<Dict<'_>>(id)
                    .and_then(|layer| layer.get::<Dict<'_>>("Usage")?.get::<Dict<'_>>("View"));
                match state.map(|state| name(&state, "ViewState")).as_deref() {
                    Some(b"OFF") => _ = self.off.insert(id),
                    Some(b"ON") => _ = self.off.remove(&id),
                    _ => {}
                }
            }
        }
    }

    /// Whether what belongs to a layer, or to several, is hidden: those that a dictionary has under a key.
    pub(super) fn hides(&self, dictionary: &Dict<'_>, key: &[u8]) -> bool {
        let id = dictionary.get_ref(key).map(ObjectIdentifier::from);
        if id.is_some_and(|id| self.off.contains(&id)) {
            return true;
        }
        let Some(group) = dictionary.get::<Dict<'_>>(key) else {
            return false;
        };
        if name(&group, "Type").as_ref() != b"OCMD" {
            return false;
        }
        if let Some(expression) = group.get::<Array<'_>>("VE") {
            return !self.is_on(&expression, DEEPEST);
        }
        let mut members: Vec<ObjectIdentifier> = references(&group, "OCGs").collect();
        if members.is_empty() {
            members.extend(group.get_ref("OCGs").map(ObjectIdentifier::from));
        }
        let mut are_off = members.iter().map(|id| self.off.contains(id));
        if members.is_empty() {
            return false;
        }
        match name(&group, "P").as_ref() {
            b"AllOn" => are_off.any(|off| off),
            b"AnyOff" => !are_off.any(|off| off),
            b"AllOff" => !are_off.all(|off| off),
            _ => are_off.all(|off| off),
        }
    }

    /// The value of an expression. What is not understood is on.
    fn is_on(&self, expression: &Array<'_>, depth: usize) -> bool {
        let mut parts = expression.raw_iter();
        let Some(MaybeRef::NotRef(Object::Name(operator))) = parts.next() else {
            return true;
        };
        let mut values = parts.map(|operand| {
            let (id, array) = match operand {
                MaybeRef::Ref(reference) => {
                    let id = ObjectIdentifier::from(reference);
                    (Some(id), self.document.get::<Array<'_>>(id))
                }
                MaybeRef::NotRef(object) => (None, object.into_array()),
            };
            match array {
                Some(expression) if depth > 0 => self.is_on(&expression, depth - 1),
                _ => id.is_none_or(|id| !self.off.contains(&id)),
            }
        });
        match operator.as_ref() {
            b"And" => values.all(|on| on),
            b"Or" => values.any(|on| on),
            b"Not" => !values.next().unwrap_or_default(),
            _ => true,
        }
    }
}
