//! Which declarations hold for an element.

use std::rc::Rc;

use cssparser::{Parser, Token};
use dom_query::NodeRef;
use hashbrown::HashMap;

use super::declaration::{Declaration, Says, declarations, wide};
use super::property::{PROPERTIES, Property, declared};
use super::selector::{Selector, SelectorKey};
use super::setting::Setting;
use super::sheet::{Sheets, in_style, of_attribute};
use super::value::in_block;
use crate::ExtractError;
use crate::limits::{Limit, Limits};

/// What a comparison of a selector with an element costs besides its depth, and what all of a page may cost. A page that
/// costs more takes several seconds.
const COMPARISON: u64 = 8;
const MOST: u64 = 100_000_000;
/// How deep variables are used in others, and how long a value with them gets, in bytes.
const DEPTH: usize = 50;
const LONGEST: usize = 10_000;

/// The settings of an element, by property.
#[derive(Debug, Clone)]
pub(super) struct ElementStyle {
    all: [Option<(Precedence, Setting)>; PROPERTIES],
    /// The variables of the element, and of those around it.
    pub(super) variables: Variables,
}

/// Variables by name.
pub(super) type Variables = Rc<HashMap<String, Rc<str>>>;

/// Which of two declarations holds: the important one, that of a `style` attribute, that of the stronger layer, the more
/// specific one, the later one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Precedence {
    is_important: bool,
    is_attribute: bool,
    layer: u64,
    specificity: u32,
    place: usize,
}

/// A declaration that is made for an element.
type Weighed<'a> = (Precedence, &'a Declaration);

impl ElementStyle {
    pub(super) fn get(&self, property: Property) -> Option<Setting> {
        self.all[property as usize]
            .map(|(_, setting)| setting)
            .filter(|setting| *setting != Setting::Revert)
    }

    /// Whether a property that only does something, or not, does it.
    pub(super) fn is(&self, property: Property) -> bool {
        self.get(property) == Some(Setting::Is(true))
    }

    /// A length, in letters of this size.
    pub(super) fn pixels(&self, property: Property, size: f32) -> Option<f32> {
        match self.get(property) {
            Some(Setting::Length(length)) => Some(length.pixels(size)),
            _ => None,
        }
    }

    fn set(&mut self, property: Property, setting: Setting, weight: Precedence) {
        let slot = &mut self.all[property as usize];
        if slot.is_none_or(|(other, _)| other <= weight) {
            *slot = Some((weight, setting));
        }
    }

    /// Sets what a value with variables says. What turns out not to be valid is as if nothing were said, here and by
    /// weaker declarations.
    fn set_later(&mut self, name: &str, value: Option<&str>, weight: Precedence, is_quirky: bool) {
        let properties = declared(name).map_or(&[][..], |(properties, _)| properties);
        for property in properties {
            self.set(*property, wide(*property, "unset"), weight);
        }
        for declaration in value.map_or(Vec::new(), |value| declarations(name, value, is_quirky)) {
            if let Says::Set(property, setting) = declaration.says {
                self.set(property, setting, weight);
            }
        }
    }
}

/// What an element says of itself.
struct OwnStyle {
    /// What selectors find it by.
    keys: Vec<SelectorKey>,
    /// In its `style` attribute.
    style: Vec<Declaration>,
    /// In the attributes of old HTML.
    hints: Vec<Declaration>,
}

impl OwnStyle {
    fn of(node: &NodeRef<'_>, is_quirky: bool) -> Option<Self> {
        let element = node.element_ref()?;
        let tag: &str = &element.name.local;
        let mut own = Self {
            keys: vec![SelectorKey::Any, SelectorKey::Tag(tag.to_owned())],
            style: Vec::new(),
            hints: Vec::new(),
        };
        for attribute in &element.attrs {
            let value: &str = &attribute.value;
            match &*attribute.name.local {
                "id" => own.keys.push(SelectorKey::Id(value.to_owned())),
                "class" => {
                    let classes = value.split_ascii_whitespace();
                    own.keys
                        .extend(classes.map(|class| SelectorKey::Class(class.to_owned())));
                }
                "style" => own.style = in_style(value, is_quirky),
                name => own.hints.extend(of_attribute(tag, name, value)),
            }
        }
        Some(own)
    }
}

/// Finds which declarations hold for the elements of a page.
pub(super) struct Cascade<'a> {
    sheets: &'a Sheets,
    /// How many elements and texts the page has.
    size: usize,
    limits: &'a Limits,
    /// What it has cost so far.
    work: u64,
}

impl<'a> Cascade<'a> {
    pub(super) fn new(sheets: &'a Sheets, size: usize, limits: &'a Limits) -> Self {
        Self {
            sheets,
            size,
            limits,
            work: 0,
        }
    }

    fn spend(&mut self, steps: u64) -> Result<(), ExtractError> {
        self.work = self.work.saturating_add(steps);
        if self.work > MOST {
            Err(self.limits.met(Limit::Time).into())
        } else {
            Ok(())
        }
    }

    /// The settings of an element at this depth, in one with these variables. `matches` compares it with a selector.
    pub(super) fn settings(
        &mut self,
        node: &NodeRef<'_>,
        depth: usize,
        around: &Variables,
        matches: &mut dyn FnMut(&Selector) -> bool,
    ) -> Result<ElementStyle, ExtractError> {
        let mut settings = ElementStyle {
            all: [None; PROPERTIES],
            variables: around.clone(),
        };
        let is_quirky = self.sheets.is_quirky;
        let Some(own) = OwnStyle::of(node, is_quirky) else {
            return Ok(settings);
        };
        let mut all: Vec<Weighed<'_>> = own
            .hints
            .iter()
            .map(|hint| (Precedence::default(), hint))
            .collect();
        self.add_rules(&own.keys, depth, matches, &mut all)?;
        all.extend(own.style.iter().map(|declaration| {
            let weight = Precedence {
                is_important: declaration.is_important,
                is_attribute: true,
                ..Precedence::default()
            };
            (weight, declaration)
        }));
        let mut values = VariableValues::of(&all, around);
        if !values.own.is_empty() {
            settings.variables = values.all();
        }
        for (weight, declaration) in all {
            match &declaration.says {
                Says::Set(property, setting) => settings.set(*property, *setting, weight),
                Says::Later(name, value) => {
                    let value = values.filled(value, DEPTH);
                    settings.set_later(name, value.as_deref(), weight, is_quirky);
                }
                Says::Variable(..) => {}
            }
        }
        self.spend(if values.is_over { MOST } else { values.work })?;
        Ok(settings)
    }

    /// Adds the declarations of the rules for an element with these keys.
    fn add_rules<'d>(
        &mut self,
        keys: &[SelectorKey],
        depth: usize,
        matches: &mut dyn FnMut(&Selector) -> bool,
        all: &mut Vec<Weighed<'d>>,
    ) -> Result<(), ExtractError>
    where
        'a: 'd,
    {
        let sheets = self.sheets;
        let places = keys.iter().filter_map(|key| sheets.by_key.get(key));
        for &place in places.flatten() {
            let rule = &sheets.rules[place];
            let inside = if rule.selector.looks_inside {
                self.size as u64
            } else {
                0
            };
            self.spend(COMPARISON + depth as u64 + inside)?;
            if !matches(&rule.selector) {
                continue;
            }
            for declaration in &sheets.declarations[rule.declarations] {
                let is_important = declaration.is_important;
                let weight = Precedence {
                    is_important,
                    is_attribute: false,
                    layer: if is_important {
                        !rule.layer
                    } else {
                        rule.layer
                    },
                    specificity: rule.selector.specificity,
                    place: place + 1,
                };
                all.push((weight, declaration));
            }
        }
        Ok(())
    }
}

/// The values of variables.
struct VariableValues<'a> {
    around: &'a Variables,
    /// As the element itself declares them.
    own: HashMap<&'a str, &'a str>,
    known: HashMap<String, Option<Rc<str>>>,
    is_over: bool,
    work: u64,
}

impl<'a> VariableValues<'a> {
    fn of(all: &[Weighed<'a>], around: &'a Variables) -> Self {
        let mut heaviest: HashMap<&str, (Precedence, &str)> = HashMap::new();
        for (weight, declaration) in all {
            if let Says::Variable(name, value) = &declaration.says
                && heaviest
                    .get(name.as_str())
                    .is_none_or(|(other, _)| other <= weight)
            {
                heaviest.insert(name, (*weight, value));
            }
        }
        Self {
            around,
            own: heaviest
                .into_iter()
                .map(|(name, (_, value))| (name, value))
                .collect(),
            known: HashMap::new(),
            is_over: false,
            work: 0,
        }
    }

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
            in_block(parser, |inner| {
                if is_variable {
                    self.variable(inner, out, depth - 1)
                } else {
                    self.fill(inner, out, depth - 1)
                }
            })??;
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
