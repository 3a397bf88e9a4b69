//! Style sheets: the rules that can hide text, and whether any of them may.

use std::rc::Rc;

use cssparser::{Delimiter, ParseError, Parser, Token};
use hashbrown::HashMap;

use super::super::colour::Colour;
use super::condition::{applies, is_supported};
use super::declaration::{Declaration, Says, declarations};
use super::paint::Paint;
use super::property::Property;
use super::selector::{Selector, SelectorKey, Without, in_list, nested};
use super::setting::Setting;
use super::value::{USUAL_SIZE, in_block, rest, skip_to};

/// How deep rules are nested in others, such as `@media`.
const DEPTH: usize = 32;
/// How many rules are read of all sheets of a page, and how many colours are compared.
const RULES: usize = 100_000;
const COLOURS: usize = 100;
/// How long the selectors of all nested rules may be, with those around them, in bytes.
const NESTED: usize = 10_000_000;

/// A selector with its declarations.
#[derive(Debug)]
pub(super) struct StyleRule {
    pub(super) selector: Rc<Selector>,
    pub(super) layer: u64,
    pub(super) declarations: usize,
}

/// The rules of all style sheets of a page, in their order.
#[derive(Debug, Default)]
pub(crate) struct Sheets {
    pub(super) rules: Vec<StyleRule>,
    pub(super) declarations: Vec<Vec<Declaration>>,
    /// The rules by what the last part of their selectors needs.
    pub(super) by_key: HashMap<SelectorKey, Vec<usize>>,
    layers: CascadeLayers,
    /// How long the selectors of nested rules are, in bytes.
    nested: usize,
    suspicion: Suspicion,
    /// Whether there are more rules than are read.
    pub(crate) is_cut: bool,
    /// Whether lengths need no unit, as in old pages.
    pub(crate) is_quirky: bool,
}

/// The order of layers: rules in a later one win, and rules in none.
#[derive(Debug, Default)]
struct CascadeLayers {
    names: HashMap<(u64, String), u64>,
    counts: HashMap<u64, u64>,
}

/// A layer: how deep it is in others, and its place among all.
#[derive(Debug, Clone, Copy)]
struct CascadeLayer(u32, u64);

impl CascadeLayer {
    /// What is in no layer.
    const NONE: Self = Self(0, u64::MAX);
}

impl CascadeLayers {
    /// The layer with a name such as `a.b` in another one. One without a name is always new.
    fn of(&mut self, around: CascadeLayer, name: &str) -> CascadeLayer {
        /// How many bits tell the layers in one from each other: what is deeper than four is not told apart.
        const BITS: u32 = 16;
        let mut layer = around;
        for name in name.split('.') {
            let CascadeLayer(depth, place) = layer;
            let Some(shift) = 48_u32.checked_sub(depth * BITS) else {
                return layer;
            };
            let name = if name.is_empty() {
                format!(" {}", self.names.len())
            } else {
                name.to_owned()
            };
            let count = self.counts.entry(place).or_default();
            let inner = *self.names.entry((place, name)).or_insert_with(|| {
                *count = (*count + 1).min(0xfffe);
                place & !(0xffff << shift) | *count << shift
            });
            layer = CascadeLayer(depth + 1, inner);
        }
        layer
    }
}

/// Whether any of some declarations may hide text.
#[derive(Debug, Clone)]
pub(crate) struct Suspicion {
    is_certain: bool,
    letters: Vec<Colour>,
    backgrounds: Vec<Colour>,
    /// The smallest letters, and the smallest factor by which letters get smaller within others.
    smallest: f32,
    shrinks: f32,
    /// The smallest opacity.
    faintest: f32,
}

impl Default for Suspicion {
    fn default() -> Self {
        let of_hex = |hex| Colour::of_hex(hex).unwrap_or(Colour::BLACK);
        // The colours of a browser: of links, marks and buttons too.
        let (letters, backgrounds) = (
            vec![Colour::BLACK, of_hex("0000ee")],
            vec![Colour::WHITE, of_hex("ffff00"), of_hex("efefef")],
        );
        Self {
            is_certain: false,
            letters,
            backgrounds,
            smallest: USUAL_SIZE,
            shrinks: 1.0,
            faintest: 1.0,
        }
    }
}

impl Suspicion {
    /// Something may hide text for certain.
    pub(crate) fn confirm(&mut self) {
        self.is_certain = true;
    }

    pub(super) fn add(&mut self, declaration: &Declaration) {
        self.is_certain |= declaration.says.may_hide();
        let Says::Set(property, setting) = declaration.says else {
            return;
        };
        match (property, setting) {
            (_, Setting::Size(size)) if size.is_absolute() => {
                self.smallest = self.smallest.min(size.size(0.0));
            }
            (_, Setting::Size(size)) => self.shrink(size.size(USUAL_SIZE) / USUAL_SIZE),
            (Property::Zoom, Setting::Number(factor)) => self.shrink(factor),
            (_, Setting::Shape { scale, .. }) => self.shrink(scale),
            (Property::Opacity | Property::Filter, Setting::Number(opacity)) => {
                self.faintest = self.faintest.min(opacity);
            }
            (Property::Shadow | Property::Stroke, _) => {}
            (_, Setting::Paint(Paint::Colour(colour, alpha))) if alpha > 0.0 => {
                let colours = if property == Property::Background {
                    &mut self.backgrounds
                } else {
                    &mut self.letters
                };
                if !colours.contains(&colour) {
                    colours.push(colour);
                }
                self.is_certain |= colours.len() > COLOURS;
            }
            _ => {}
        }
    }

    /// Adds the declarations of a `style` attribute.
    pub(crate) fn add_style(&mut self, style: &str) {
        for declaration in in_style(style, true) {
            self.add(&declaration);
        }
    }

    /// Adds an attribute of old HTML, such as `bgcolor`.
    pub(crate) fn add_attribute(&mut self, element: &str, name: &str, value: &str) {
        for declaration in of_attribute(element, name, value) {
            self.add(&declaration);
        }
    }

    /// Letters are made smaller by this factor.
    pub(crate) fn shrink(&mut self, factor: f32) {
        self.shrinks = self.shrinks.min(factor);
    }

    fn with(mut self, other: &Self) -> Self {
        self.is_certain |= other.is_certain;
        self.letters.extend(&other.letters);
        self.backgrounds.extend(&other.backgrounds);
        self.shrink(other.shrinks);
        self.smallest = self.smallest.min(other.smallest);
        self.faintest = self.faintest.min(other.faintest);
        self
    }

    /// Whether anything may be hidden on a page whose elements are nested this deep.
    fn holds(&self, depth: usize) -> bool {
        let times = |factor: f32| {
            factor
                .max(0.0)
                .powi(i32::try_from(depth).unwrap_or(i32::MAX))
        };
        self.is_certain
            || self.smallest * times(self.shrinks) < super::SMALLEST_LETTERS
            || times(self.faintest) < super::FAINTEST
            || self.letters.iter().any(|letters| {
                self.backgrounds
                    .iter()
                    .any(|background| letters.is_lost_on(*background))
            })
    }
}

/// The declarations of a `style` attribute.
pub(super) fn in_style(style: &str, is_quirky: bool) -> Vec<Declaration> {
    let mut all = Vec::new();
    let mut parser = Parser::new(style);
    while !parser.is_exhausted() {
        let start = parser.state();
        if let Some(found) = declaration(&mut parser, is_quirky) {
            all.extend(found);
        } else {
            parser.reset(&start);
            skip_to(&mut parser, Delimiter::Semicolon);
        }
        let _ = parser.next();
    }
    all
}

/// What an attribute of old HTML says, such as `bgcolor`.
pub(super) fn of_attribute(element: &str, name: &str, value: &str) -> Vec<Declaration> {
    let has_background = matches!(
        element,
        "body" | "table" | "tr" | "td" | "th" | "tbody" | "thead" | "tfoot"
    );
    let property = match (element, name) {
        ("font" | "basefont", "color") | ("body", "text") => Property::Colour,
        ("body", "link") => Property::Links,
        (_, "bgcolor") if has_background => Property::Background,
        (_, "background") if has_background && !value.trim().is_empty() => {
            let says = Says::Set(Property::BackgroundImage, Setting::Is(true));
            return vec![Declaration {
                says,
                is_important: false,
            }];
        }
        ("font" | "basefont", "size") => return font_size(value),
        _ => return Vec::new(),
    };
    let value = value.trim();
    let is_bare = value.len() == 6 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut found = declarations(
        "color",
        &if is_bare {
            format!("#{value}")
        } else {
            value.to_owned()
        },
        false,
    );
    for declaration in &mut found {
        if let Says::Set(of, _) = &mut declaration.says {
            *of = property;
        }
    }
    found
}

/// The sizes of old HTML: 3 is the usual one, and `+1` one more.
fn font_size(value: &str) -> Vec<Declaration> {
    const SIZES: [&str; 7] = [
        "x-small",
        "small",
        "medium",
        "large",
        "x-large",
        "xx-large",
        "xxx-large",
    ];
    let value = value.trim();
    let Ok(number) = value.parse::<i32>() else {
        return Vec::new();
    };
    let number = if value.starts_with(['+', '-']) {
        number.saturating_add(3)
    } else {
        number
    };
    declarations(
        "font-size",
        SIZES[usize::try_from(number.clamp(1, 7) - 1).unwrap_or_default()],
        false,
    )
}

/// What is around a rule.
#[derive(Clone)]
struct RuleContext {
    /// The selectors of the rule that it is nested in.
    selectors: Option<Vec<String>>,
    /// What its elements must match too.
    scope: String,
    layer: CascadeLayer,
    depth: usize,
    /// Imports come before all rules.
    may_import: bool,
}

/// Finds an imported sheet.
type Imported<'a> = &'a mut dyn FnMut(&str) -> Option<String>;

impl Sheets {
    /// Adds a style sheet. `imported` finds those that it imports.
    pub(crate) fn add(&mut self, sheet: &str, imported: Imported<'_>) {
        let around = RuleContext {
            selectors: None,
            scope: String::new(),
            layer: CascadeLayer::NONE,
            depth: DEPTH,
            may_import: true,
        };
        self.add_rules(&mut Parser::new(sheet), imported, &around);
    }

    /// Whether any text may be hidden on a page with these sheets and this suspicion of its own.
    pub(crate) fn may_hide(&self, of_page: &Suspicion, depth: usize) -> bool {
        of_page.clone().with(&self.suspicion).holds(depth)
    }

    /// Adds the rules of a sheet or of a block, and the declarations of a block.
    fn add_rules(&mut self, parser: &mut Parser<'_>, imported: Imported<'_>, around: &RuleContext) {
        let mut declared = Vec::new();
        let mut around = around.clone();
        loop {
            parser.skip_whitespace();
            let start = parser.state();
            match parser.next() {
                Err(_) => break,
                Ok(Token::Semicolon | Token::CDO | Token::CDC) => continue,
                Ok(Token::AtKeyword(name)) => {
                    let name = name.to_ascii_lowercase();
                    self.add_rule(&around, std::mem::take(&mut declared));
                    around.may_import &= self.add_at_rule(&name, parser, imported, &around);
                    continue;
                }
                Ok(_) => parser.reset(&start),
            }
            let mut until = Delimiter::CurlyBracketBlock;
            if around.selectors.is_some() {
                if let Some(found) = declaration(parser, self.is_quirky) {
                    declared.extend(found);
                    continue;
                }
                parser.reset(&start);
                until = until | Delimiter::Semicolon;
            }
            around.may_import = false;
            let from = parser.position();
            skip_to(parser, until);
            let prelude = parser.slice_from(from).trim();
            if matches!(parser.next(), Ok(Token::CurlyBracketBlock)) {
                self.add_rule(&around, std::mem::take(&mut declared));
                let inner = RuleContext {
                    selectors: Some(self.selectors(prelude, &around)),
                    ..around.clone()
                };
                self.add_block(parser, imported, inner);
            }
        }
        self.add_rule(&around, declared);
    }

    /// The selectors of a rule, which may be nested in another one.
    fn selectors(&mut self, prelude: &str, around: &RuleContext) -> Vec<String> {
        let Some(others) = &around.selectors else {
            return in_list(prelude).into_iter().map(str::to_owned).collect();
        };
        let (others, mut all) = (others.join(","), Vec::new());
        for selector in in_list(prelude) {
            let Some(selector) = nested(selector, &others).filter(|_| self.nested <= NESTED) else {
                self.is_cut = true;
                break;
            };
            self.nested += selector.len();
            all.push(selector);
        }
        all
    }

    fn add_block(
        &mut self,
        parser: &mut Parser<'_>,
        imported: Imported<'_>,
        mut around: RuleContext,
    ) {
        around.may_import = false;
        if self.enters(&mut around) {
            let _ = parser.parse_nested_block(|inner| {
                self.add_rules(inner, imported, &around);
                Ok::<_, ParseError<()>>(())
            });
        }
    }

    /// Whether there may be rules one deeper.
    fn enters(&mut self, around: &mut RuleContext) -> bool {
        let depth = around.depth.checked_sub(1);
        around.depth = depth.unwrap_or_default();
        self.is_cut |= depth.is_none();
        depth.is_some()
    }

    /// Adds what is in a rule such as `@media`, and tells whether imports may follow.
    fn add_at_rule(
        &mut self,
        name: &str,
        parser: &mut Parser<'_>,
        imported: Imported<'_>,
        around: &RuleContext,
    ) -> bool {
        let from = parser.position();
        skip_to(parser, Delimiter::CurlyBracketBlock | Delimiter::Semicolon);
        let prelude = parser.slice_from(from).trim();
        let has_block = matches!(parser.next(), Ok(Token::CurlyBracketBlock));
        let mut inner = around.clone();
        match name {
            "import" if !has_block && around.may_import => {
                if let Some((address, layer)) = import(prelude)
                    && let Some(sheet) = imported(&address)
                {
                    inner.layer =
                        layer.map_or(around.layer, |name| self.layers.of(around.layer, &name));
                    if self.enters(&mut inner) {
                        self.add_rules(&mut Parser::new(&sheet), imported, &inner);
                    }
                }
                return true;
            }
            "layer" => {
                for name in in_list(prelude) {
                    inner.layer = self.layers.of(around.layer, name);
                }
            }
            "scope" => match scope(prelude) {
                Some(scope) => {
                    inner.selectors = None;
                    inner.scope.push_str(&scope);
                }
                None => return false,
            },
            "media" if applies(prelude) => {}
            "supports" if is_supported(prelude) => {}
            name => return name == "charset",
        }
        if has_block {
            self.add_block(parser, imported, inner);
        }
        name == "layer" && !has_block
    }

    fn add_rule(&mut self, around: &RuleContext, declarations: Vec<Declaration>) {
        let Some(selectors) = around
            .selectors
            .as_ref()
            .filter(|_| !declarations.is_empty())
        else {
            return;
        };
        let mut known = Vec::new();
        for selector in selectors {
            match Selector::of(&format!("{selector}{}", around.scope)) {
                Ok(selector) => known.push(selector),
                Err(Without::Match) => {}
                // One selector that a browser does not know makes the whole rule invalid.
                Err(Without::Meaning) => return,
                Err(Without::End) => self.is_cut = true,
            }
        }
        for declaration in &declarations {
            self.suspicion.add(declaration);
        }
        for selector in known {
            if self.rules.len() >= RULES {
                self.is_cut = true;
                return;
            }
            self.by_key
                .entry(selector.key.clone())
                .or_default()
                .push(self.rules.len());
            let declarations = self.declarations.len();
            self.rules.push(StyleRule {
                selector: Rc::new(selector),
                layer: around.layer.1,
                declarations,
            });
        }
        self.declarations.push(declarations);
    }
}

/// The declaration that begins here, up to its semicolon, unless it is something else.
fn declaration(parser: &mut Parser<'_>, is_quirky: bool) -> Option<Vec<Declaration>> {
    let name = parser.expect_ident_cloned().ok()?;
    parser.expect_colon().ok()?;
    let from = parser.position();
    let has_block = parser.parse_until_before(Delimiter::Semicolon, |inner| {
        let mut has_block = false;
        while let Ok(token) = inner.next() {
            has_block |= *token == Token::CurlyBracketBlock;
        }
        Ok::<_, ParseError<()>>(has_block)
    });
    // `a:hover {…}` is a rule.
    let is_rule = has_block.unwrap_or_default() && !name.starts_with("--");
    (!is_rule).then(|| declarations(&name, parser.slice_from(from), is_quirky))
}

/// The address of an imported sheet, and its layer, unless its conditions do not hold.
fn import(prelude: &str) -> Option<(String, Option<String>)> {
    let mut parser = Parser::new(prelude);
    let address = parser.expect_url_or_string().ok()?.to_string();
    let layer = match parser.try_parse(|parser| parser.expect_ident_matching("layer")) {
        Ok(()) => Some(String::new()),
        Err(_) => in_function(&mut parser, "layer").map(str::to_owned),
    };
    if let Some(asked) = in_function(&mut parser, "supports")
        && !is_supported(&format!("({asked})"))
        && !is_supported(asked)
    {
        return None;
    }
    applies(rest(&mut parser).trim()).then_some((address, layer))
}

/// What is in the brackets of this function, if it comes next.
fn in_function<'i>(parser: &mut Parser<'i>, name: &str) -> Option<&'i str> {
    let found = parser.try_parse(|parser| {
        parser.expect_function_matching(name)?;
        parser.parse_nested_block(|inner| Ok::<_, ParseError<()>>(rest(inner).trim()))
    });
    found.ok()
}

/// What an element must match to be in a scope such as `(.a) to (.b)`, without weight.
fn scope(prelude: &str) -> Option<String> {
    let mut parser = Parser::new(prelude);
    let root = in_parentheses(&mut parser)?;
    let outside = if parser.expect_ident_matching("to").is_ok() {
        let limit = in_parentheses(&mut parser)?;
        format!(":not({limit}, :is({limit}) *)")
    } else {
        String::new()
    };
    Some(format!(":where(:is({root}, :is({root}) *){outside})"))
}

fn in_parentheses<'i>(parser: &mut Parser<'i>) -> Option<&'i str> {
    parser.expect_parenthesis_block().ok()?;
    in_block(parser, rest)
}

#[cfg(test)]
mod tests {
    use super::super::selector::SelectorKey;
    use super::{Sheets, Suspicion, in_style};

    #[test]
    fn rules_are_found_wherever_they_are() {
        let css = "@charset 'utf-8'; @import url(b.css); @import 'c.css' print; p { margin: 0 } .a { display: none }\
                   @media screen { .b { visibility: hidden } } @media print { .c { color: red } }\
                   <!-- .d { } } .e:unknown, .f { opacity: 0 } .g { color: blue; x: {} ; display: none } -->";
        let mut sheets = Sheets::default();
        let mut asked = Vec::new();
        sheets.add(css, &mut |address| {
            asked.push(address.to_owned());
            Some(".h { float: left }".to_owned())
        });
        let mut classes: Vec<&SelectorKey> = sheets.by_key.keys().collect();
        classes.sort_by_key(|key| format!("{key:?}"));
        let class = |name: &str| SelectorKey::Class(name.into());
        assert_eq!(
            classes,
            [
                &class("a"),
                &class("b"),
                &class("g"),
                &class("h"),
                &SelectorKey::Tag("p".into())
            ]
        );
        assert_eq!(asked, ["b.css"]);
        assert_eq!(
            sheets.declarations.last().map(Vec::len),
            Some(1),
            "{:?}",
            sheets.declarations
        );
    }

    #[test]
    fn ordinary_styles_raise_no_suspicion() {
        for (style, expected) in [
            (
                "font-size: 0.9em; color: #333; margin-left: 2em; text-indent: -1em; line-height: 0",
                false,
            ),
            (
                "background: #fff url(a.png); width: 0.5in; position: absolute; left: 8%; margin: 0 auto",
                false,
            ),
            ("color: #fafafa", true),
            ("background-color: #000", true),
            ("font-size: 1px", true),
            ("font: 0/0 a", true),
            ("text-indent: -9999px", true),
            ("display: none", true),
            ("max-height: 0", true),
            ("background: currentcolor", true),
        ] {
            let mut suspicion = Suspicion::default();
            suspicion.add_style(style);
            assert_eq!(
                Sheets::default().may_hide(&suspicion, 3),
                expected,
                "{style}: {:?}",
                in_style(style, false)
            );
        }
    }
}
