//! Which declarations hold for an element.

use std::rc::Rc;

use cssparser::{ParseError, Parser, Token};
use dom_query::NodeRef;
use hashbrown::HashMap;

use super::declaration::{
    Declaration, PROPERTIES, Property, Says, Setting, declarations, longhands, wide,
};
use super::selector::{Key, Selector};
use super::sheet::{Sheets, in_style, of_attribute};
use crate::ExtractError;
use crate::limits::{Limit, Limits, Met};

/// What a comparison of a selector with an element costs besides its depth, and what all of a page may cost. A page that
/// costs more takes several seconds.
const COMPARISON: u64 = 8;
const MOST: u64 = 100_000_000;
/// How deep variables are used in others, and how long a value with them gets, in bytes.
const DEPTH: usize = 50;
const LONGEST: usize = 10_000;

/// The settings of an element, by property.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    all: [Option<(Weight, Setting)>; PROPERTIES],
    /// The variables of the element, and of those around it.
    pub(super) variables: Variables,
}

/// Variables by name.
pub(super) type Variables = Rc<HashMap<String, Rc<str>>>;

/// Which of two declarations holds: the important one, that of a `style` attribute, that of the stronger layer, the more
/// specific one, the later one.
type Weight = (bool, bool, u64, u32, usize);

impl Settings {
    pub(super) fn get(&self, property: Property) -> Option<Setting> {
        self.all[property as usize]
            .map(|(_, setting)| setting)
            .filter(|setting| *setting != Setting::Revert)
    }

    fn set(&mut self, property: Property, setting: Setting, weight: Weight) {
        let slot = &mut self.all[property as usize];
        if slot.is_none_or(|(other, _)| other <= weight) {
            *slot = Some((weight, setting));
        }
    }
}

/// The work that a page may cost.
#[derive(Debug, Default)]
pub(super) struct Work(u64);

impl Work {
    pub(super) fn add(&mut self, steps: u64, limits: &Limits) -> Result<(), ExtractError> {
        self.0 = self.0.saturating_add(steps);
        if self.0 > MOST {
            Err(Met {
                limit: Limit::Time,
                at: limits.time,
            }
            .into())
        } else {
            Ok(())
        }
    }
}

/// The settings of an element at this depth, in one with these variables. `matches` compares it with a selector.
pub(super) fn settings(
    sheets: &Sheets,
    node: &NodeRef<'_>,
    around: &Variables,
    (depth, size): (usize, usize),
    (work, limits): (&mut Work, &Limits),
    matches: &mut dyn FnMut(&Selector) -> bool,
) -> Result<Settings, ExtractError> {
    let mut settings = Settings {
        all: [None; PROPERTIES],
        variables: around.clone(),
    };
    let Some(element) = node.element_ref() else {
        return Ok(settings);
    };
    let mut keys = vec![Key::Any, Key::Tag(element.name.local.to_string())];
    let (mut style, mut hints) = (Vec::new(), Vec::new());
    for attribute in &element.attrs {
        let value: &str = &attribute.value;
        match &*attribute.name.local {
            "id" => keys.push(Key::Id(value.to_owned())),
            "class" => keys.extend(
                value
                    .split_ascii_whitespace()
                    .map(|class| Key::Class(class.to_owned())),
            ),
            "style" => style = in_style(value, sheets.is_quirky),
            name => hints.extend(of_attribute(&element.name.local, name, value)),
        }
    }
    drop(element);
    let mut all: Vec<(Weight, &Declaration)> = hints
        .iter()
        .map(|hint| ((false, false, 0, 0, 0), hint))
        .collect();
    for rule in keys
        .iter()
        .filter_map(|key| sheets.by_key.get(key))
        .flatten()
    {
        let found = &sheets.rules[*rule];
        let inside = if found.selector.looks_inside {
            size as u64
        } else {
            0
        };
        work.add(COMPARISON + depth as u64 + inside, limits)?;
        if matches(&found.selector) {
            for declaration in &sheets.declarations[found.declarations] {
                let is_important = declaration.is_important;
                let layer = if is_important {
                    !found.layer
                } else {
                    found.layer
                };
                all.push((
                    (
                        is_important,
                        false,
                        layer,
                        found.selector.specificity,
                        *rule + 1,
                    ),
                    declaration,
                ));
            }
        }
    }
    all.extend(
        style
            .iter()
            .map(|declaration| ((declaration.is_important, true, 0, 0, 0), declaration)),
    );
    let mut values = Values {
        around,
        own: HashMap::new(),
        known: HashMap::new(),
        is_over: false,
        work: 0,
    };
    let mut weights: HashMap<&str, Weight> = HashMap::new();
    for (weight, declaration) in &all {
        if let Says::Variable(name, value) = &declaration.says
            && weights
                .get(name.as_str())
                .is_none_or(|other| other <= weight)
        {
            weights.insert(name, *weight);
            values.own.insert(name, value);
        }
    }
    if !values.own.is_empty() {
        settings.variables = values.all();
    }
    for (weight, declaration) in all {
        match &declaration.says {
            Says::Set(property, setting) => settings.set(*property, *setting, weight),
            Says::Later(name, value) => {
                let value = values.filled(value, DEPTH);
                let found = value
                    .map(|value| declarations(name, &value, sheets.is_quirky))
                    .unwrap_or_default();
                // What turns out not to be valid is as if nothing were said, here and by weaker declarations.
                for property in longhands(name) {
                    settings.set(*property, wide(*property, "unset"), weight);
                }
                for declaration in found {
                    if let Says::Set(property, setting) = declaration.says {
                        settings.set(property, setting, weight);
                    }
                }
            }
            Says::Variable(..) => {}
        }
    }
    let Values {
        is_over,
        work: steps,
        ..
    } = values;
    work.add(if is_over { MOST } else { steps }, limits)?;
    Ok(settings)
}

/// The values of variables.
struct Values<'a> {
    around: &'a Variables,
    /// As the element itself declares them.
    own: HashMap<&'a str, &'a str>,
    known: HashMap<String, Option<Rc<str>>>,
    is_over: bool,
    work: u64,
}

impl Values<'_> {
    /// All variables of the element.
    fn all(&mut self) -> Variables {
        let mut all = HashMap::clone(self.around);
        self.work += all.len() as u64;
        let names: Vec<String> = self.own.keys().map(|&name| name.to_owned()).collect();
        for name in names {
            match self.value(&name, DEPTH) {
                Some(value) => all.insert(name, value),
                None => all.remove(&name),
            };
        }
        Rc::new(all)
    }

    fn value(&mut self, name: &str, depth: usize) -> Option<Rc<str>> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let value = match self.own.get(name) {
            None | Some(&"inherit" | &"unset") => self.around.get(name).cloned(),
            Some(&"initial") => None,
            Some(&written) => {
                // One that uses itself has no value.
                self.known.insert(name.to_owned(), None);
                self.filled(written, depth).map(Rc::from)
            }
        };
        self.known.insert(name.to_owned(), value.clone());
        value
    }

    /// A value with those of variables filled in.
    fn filled(&mut self, value: &str, depth: usize) -> Option<String> {
        let mut out = String::new();
        self.fill(&mut Parser::new(value), &mut out, depth)?;
        self.work += out.len() as u64;
        Some(out)
    }

    fn fill(&mut self, parser: &mut Parser<'_>, out: &mut String, depth: usize) -> Option<()> {
        loop {
            if depth == 0 || out.len() > LONGEST {
                self.is_over = true;
                return None;
            }
            let from = parser.position();
            let (is_variable, close) = match parser.next_including_whitespace() {
                Err(_) => return Some(()),
                Ok(Token::Function(name)) => (
                    name.eq_ignore_ascii_case("var") || name.eq_ignore_ascii_case("env"),
                    ')',
                ),
                Ok(Token::ParenthesisBlock) => (false, ')'),
                Ok(Token::SquareBracketBlock) => (false, ']'),
                Ok(Token::CurlyBracketBlock) => (false, '}'),
                Ok(_) => {
                    out.push_str(parser.slice_from(from));
                    continue;
                }
            };
            if !is_variable {
                out.push_str(parser.slice_from(from));
            }
            let found = parser.parse_nested_block(|inner| {
                let found = if is_variable {
                    self.variable(inner, out, depth - 1)
                } else {
                    self.fill(inner, out, depth - 1)
                };
                while inner.next().is_ok() {}
                Ok::<_, ParseError<()>>(found)
            });
            found.ok()??;
            if !is_variable {
                out.push(close);
            }
        }
    }

    /// Fills in `var(--name, fallback)`.
    fn variable(&mut self, parser: &mut Parser<'_>, out: &mut String, depth: usize) -> Option<()> {
        let name = parser.expect_ident_cloned().ok()?;
        // Blanks keep it apart from what is next to it.
        out.push(' ');
        if let Some(value) = self.value(&name, depth) {
            out.push_str(&value);
        } else {
            parser.expect_comma().ok()?;
            self.fill(parser, out, depth)?;
        }
        out.push(' ');
        Some(())
    }
}
