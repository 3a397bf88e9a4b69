//! Which declarations hold for an element.

use dom_query::NodeRef;

use super::declaration::{Declaration, PROPERTIES, Property, Setting};
use super::sheet::{Key, Rule, Sheets, in_style, of_attribute};
use crate::extract::ExtractError;
use crate::extract::limits::{Limit, Limits, Met};

/// What a comparison of a selector with an element costs besides its depth, and what all of a page may cost. A page that
/// costs more takes several seconds.
const COMPARISON: u64 = 8;
const MOST: u64 = 100_000_000;

/// The settings of an element, by property.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    all: [Option<(Weight, Setting)>; PROPERTIES],
}

/// Which of two declarations holds: the important one, that of a `style` attribute, the more specific one, the later one.
type Weight = (bool, bool, u32, usize);

impl Settings {
    pub(super) fn get(&self, property: Property) -> Option<Setting> {
        self.all[property as usize].map(|(_, setting)| setting)
    }

    fn set(&mut self, declaration: &Declaration, is_inline: bool, specificity: u32, order: usize) {
        let weight = (declaration.is_important, is_inline, specificity, order);
        let slot = &mut self.all[declaration.property as usize];
        if slot.is_none_or(|(other, _)| other <= weight) {
            *slot = Some((weight, declaration.setting));
        }
    }
}

/// The work that a page may cost.
#[derive(Debug, Default)]
pub(super) struct Work(u64);

impl Work {
    pub(super) fn add(&mut self, steps: u64, limits: &Limits) -> Result<(), ExtractError> {
        self.0 = self.0.saturating_add(steps);
        if self.0 > MOST { Err(Met { limit: Limit::Time, at: limits.time }.into()) } else { Ok(()) }
    }
}

/// The settings of an element at this depth. `matches` compares it with a selector.
pub(super) fn settings(
    sheets: &Sheets,
    node: &NodeRef<'_>,
    depth: usize,
    size: usize,
    (work, limits): (&mut Work, &Limits),
    matches: &mut dyn FnMut(&Rule) -> bool,
) -> Result<Settings, ExtractError> {
    let mut settings = Settings { all: [None; PROPERTIES] };
    let Some(element) = node.element_ref() else { return Ok(settings) };
    let mut keys = vec![Key::Any, Key::Tag(element.name.local.to_string())];
    let mut style = None;
    for attribute in &element.attrs {
        let value: &str = &attribute.value;
        match &*attribute.name.local {
            "id" => keys.push(Key::Id(value.to_owned())),
            "class" => {
                keys.extend(value.split_ascii_whitespace().take(100).map(|class| Key::Class(class.to_owned())));
            }
            "style" => style = Some(value.to_owned()),
            name => {
                for declaration in of_attribute(name, value) {
                    settings.set(&declaration, false, 0, 0);
                }
            }
        }
    }
    drop(element);
    keys.dedup();
    for rule in keys.iter().filter_map(|key| sheets.by_key.get(key)).flatten() {
        let found = &sheets.rules[*rule];
        let inside = if found.looks_inside { size as u64 } else { 0 };
        work.add(COMPARISON + depth as u64 + inside, limits)?;
        if matches(found) {
            for declaration in &sheets.declarations[found.declarations] {
                settings.set(declaration, false, found.specificity, *rule + 1);
            }
        }
    }
    for declaration in style.iter().flat_map(|style| in_style(style)) {
        settings.set(&declaration, true, 0, 0);
    }
    Ok(settings)
}
