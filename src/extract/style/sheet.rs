//! Style sheets: the rules that can hide text, and whether any of them may.

use cssparser::{CowRcStr, Delimiter, Delimiters, ParseError, Parser, Token};
use dom_query::Matcher;
use hashbrown::HashMap;

use super::super::colour::Colour;
use super::declaration::{Declaration, Property, Setting, declarations};
use super::value::{Length, Paint, USUAL_SIZE};

/// How deep rules are nested in others, such as `@media`.
const DEPTH: usize = 8;
/// How many rules are read of all sheets of a page, and how many colours are compared.
const RULES: usize = 100_000;
const COLOURS: usize = 100;
/// Selectors of our library that no browser knows.
const UNKNOWN_TO_BROWSERS: [&str; 3] = [":contains(", ":has-text(", ":only-text"];

/// A selector with its declarations.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) selector: Matcher,
    pub(super) specificity: u32,
    /// Whether it looks at what is inside an element.
    pub(super) looks_inside: bool,
    pub(super) declarations: usize,
}

/// The rules of all style sheets of a page, in their order.
#[derive(Debug, Default)]
pub(in crate::extract) struct Sheets {
    pub(super) rules: Vec<Rule>,
    pub(super) declarations: Vec<Vec<Declaration>>,
    /// The rules by what the last part of their selectors needs.
    pub(super) by_key: HashMap<Key, Vec<usize>>,
    suspicion: Suspicion,
    /// Whether there are more rules than are read.
    pub(in crate::extract) is_cut: bool,
}

/// What an element must have for a selector to match it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Id(String),
    Class(String),
    Tag(String),
    Any,
}

/// Whether any of some declarations may hide text.
#[derive(Debug, Clone)]
pub(in crate::extract) struct Suspicion {
    is_certain: bool,
    letters: Vec<Colour>,
    backgrounds: Vec<Colour>,
    /// The smallest factor by which letters get smaller within others.
    shrinks: f32,
}

impl Default for Suspicion {
    fn default() -> Self {
        let (letters, backgrounds) = (vec![Colour::BLACK], vec![Colour::WHITE]);
        Self { is_certain: false, letters, backgrounds, shrinks: 1.0 }
    }
}

impl Suspicion {
    /// Something may hide text for certain.
    pub(in crate::extract) fn confirm(&mut self) {
        self.is_certain = true;
    }

    pub(super) fn add(&mut self, declaration: &Declaration) {
        self.is_certain |= declaration.may_hide();
        match declaration.setting {
            Setting::Size(Length::Pixels(size)) => self.is_certain |= size < super::SMALLEST_LETTERS,
            Setting::Size(size) => self.shrink(size.size(USUAL_SIZE) / USUAL_SIZE),
            Setting::Paint(Paint::Colour(colour)) => {
                let is_background = declaration.property == Property::Background;
                let colours = if is_background { &mut self.backgrounds } else { &mut self.letters };
                if !colours.contains(&colour) {
                    colours.push(colour);
                }
                self.is_certain |= colours.len() > COLOURS;
            }
            _ => {}
        }
    }

    /// Adds the declarations of a `style` attribute.
    pub(in crate::extract) fn add_style(&mut self, style: &str) {
        for declaration in in_style(style) {
            self.add(&declaration);
        }
    }

    /// Adds a colour of an attribute such as `bgcolor`.
    pub(in crate::extract) fn add_colour(&mut self, name: &str, value: &str) {
        for declaration in of_attribute(name, value) {
            self.add(&declaration);
        }
    }

    /// Letters are made smaller by this factor.
    pub(in crate::extract) fn shrink(&mut self, factor: f32) {
        self.shrinks = self.shrinks.min(factor);
    }

    fn with(mut self, other: &Self) -> Self {
        self.is_certain |= other.is_certain;
        self.letters.extend(&other.letters);
        self.backgrounds.extend(&other.backgrounds);
        self.shrink(other.shrinks);
        self
    }

    /// Whether anything may be hidden on a page whose elements are nested this deep.
    fn holds(&self, depth: usize) -> bool {
        let smallest = USUAL_SIZE * self.shrinks.max(0.0).powi(i32::try_from(depth).unwrap_or(i32::MAX));
        let is_lost = |letters: &Colour| self.backgrounds.iter().any(|background| letters.is_lost_on(*background));
        self.is_certain || smallest < super::SMALLEST_LETTERS || self.letters.iter().any(is_lost)
    }
}

/// The declarations of a `style` attribute.
pub(super) fn in_style(style: &str) -> Vec<Declaration> {
    block(&mut Parser::new(style))
}

/// What an attribute of old HTML says, such as `bgcolor`.
pub(super) fn of_attribute(name: &str, value: &str) -> Vec<Declaration> {
    let property = match name {
        "color" | "text" => "color",
        "bgcolor" => "background-color",
        _ => return Vec::new(),
    };
    let is_bare = value.len() == 6 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_bare { declarations(property, &format!("#{value}")) } else { declarations(property, value) }
}

impl Sheets {
    /// Adds a style sheet. `imported` finds those that it imports.
    pub(in crate::extract) fn add(&mut self, sheet: &str, imported: &mut dyn FnMut(&str) -> Option<String>) {
        self.add_some(&mut Parser::new(sheet), imported, DEPTH);
    }

    /// Whether any text may be hidden on a page with these sheets and this suspicion of its own.
    pub(in crate::extract) fn may_hide(&self, of_page: &Suspicion, depth: usize) -> bool {
        of_page.clone().with(&self.suspicion).holds(depth)
    }

    fn add_some(&mut self, parser: &mut Parser<'_>, imported: &mut dyn FnMut(&str) -> Option<String>, depth: usize) {
        loop {
            parser.skip_whitespace();
            let start = parser.state();
            let at_rule = match parser.next() {
                Err(_) => return,
                Ok(Token::CDO | Token::CDC | Token::Semicolon) => continue,
                Ok(Token::AtKeyword(name)) => Some(name.to_ascii_lowercase()),
                Ok(_) => None,
            };
            if at_rule.is_none() {
                parser.reset(&start);
            }
            let from = parser.position();
            let until = if at_rule.is_some() {
                Delimiter::CurlyBracketBlock | Delimiter::Semicolon
            } else {
                Delimiter::CurlyBracketBlock
            };
            skip_to(parser, until);
            let prelude = parser.slice_from(from).trim();
            let has_block = matches!(parser.next(), Ok(Token::CurlyBracketBlock));
            match at_rule.as_deref() {
                None if has_block => {
                    let block = parser.parse_nested_block(|inner| Ok::<_, ParseError<()>>(block(inner)));
                    self.add_rule(prelude, block.unwrap_or_default());
                }
                Some("import") if !has_block && depth > 0 => {
                    if let Some((address, media)) = import(prelude)
                        && applies(&media)
                        && let Some(sheet) = imported(&address)
                    {
                        self.add_some(&mut Parser::new(&sheet), imported, depth - 1);
                    }
                }
                Some(name) if has_block && depth > 0 && holds_rules(name, prelude) => {
                    let _ = parser.parse_nested_block(|inner| {
                        self.add_some(inner, imported, depth - 1);
                        Ok::<_, ParseError<()>>(())
                    });
                }
                _ => {}
            }
        }
    }

    fn add_rule(&mut self, selectors: &str, declarations: Vec<Declaration>) {
        if declarations.is_empty() || UNKNOWN_TO_BROWSERS.iter().any(|unknown| selectors.contains(unknown)) {
            return;
        }
        // One selector that a browser does not know makes the whole rule invalid.
        let known: Option<Vec<(&str, Matcher)>> = in_list(selectors)
            .into_iter()
            .map(|selector| Some((selector, Matcher::new(&selector.replace(":root", ":is(html)")).ok()?)))
            .collect();
        let Some(known) = known else { return };
        for declaration in &declarations {
            self.suspicion.add(declaration);
        }
        for (selector, matcher) in known {
            if self.rules.len() >= RULES {
                self.is_cut = true;
                return;
            }
            let (specificity, key) = anatomy(&mut Parser::new(selector));
            self.by_key.entry(key).or_default().push(self.rules.len());
            let looks_inside = selector.contains(":has(");
            let declarations = self.declarations.len();
            self.rules.push(Rule { selector: matcher, specificity, looks_inside, declarations });
        }
        self.declarations.push(declarations);
    }
}

fn skip_to(parser: &mut Parser<'_>, until: Delimiters) {
    let _ = parser.parse_until_before(until, |inner| {
        while inner.next().is_ok() {}
        Ok::<_, ParseError<()>>(())
    });
}

/// The declarations of a block. Rules nested in it are left out.
fn block(parser: &mut Parser<'_>) -> Vec<Declaration> {
    let mut all = Vec::new();
    loop {
        let name: Option<CowRcStr<'_>> = match parser.next() {
            Err(_) => return all,
            Ok(Token::Semicolon | Token::CurlyBracketBlock) => continue,
            Ok(Token::Ident(name)) => Some(name.clone()),
            Ok(_) => None,
        };
        let is_declaration = parser.try_parse(Parser::expect_colon).is_ok();
        let from = parser.position();
        skip_to(parser, Delimiter::Semicolon);
        if let Some(name) = name.filter(|_| is_declaration) {
            all.extend(declarations(&name, parser.slice_from(from)));
        }
    }
}

/// The address of an imported sheet, and its media.
fn import(prelude: &str) -> Option<(String, String)> {
    let mut parser = Parser::new(prelude);
    let address = parser.expect_url_or_string().ok()?.to_string();
    let from = parser.position();
    while parser.next().is_ok() {}
    Some((address, parser.slice_from(from).to_owned()))
}

fn holds_rules(name: &str, prelude: &str) -> bool {
    match name {
        "media" => applies(prelude),
        "supports" => !prelude.trim_start().to_ascii_lowercase().starts_with("not"),
        "layer" | "scope" | "starting-style" => true,
        _ => false,
    }
}

/// Whether a list of media includes a screen or a page of the usual size.
pub(in crate::extract) fn applies(media: &str) -> bool {
    let media = media.to_ascii_lowercase();
    media.trim().is_empty() || media.split(',').any(|query| applies_one(query.trim()))
}

fn applies_one(query: &str) -> bool {
    /// A screen that is this wide.
    const WIDTH: f32 = 1_280.0;
    let (query, negated) = query.strip_prefix("not ").map_or((query, false), |rest| (rest, true));
    let query = query.strip_prefix("only ").unwrap_or(query);
    let holds = query.split(" and ").all(|part| {
        let part = part.trim();
        let Some(feature) = part.strip_prefix('(').map(|part| part.trim_end_matches(')')) else {
            return matches!(part, "all" | "screen");
        };
        let (name, value) =
            feature.split_once(':').map_or((feature.trim(), ""), |(name, value)| (name.trim(), value.trim()));
        let pixels = super::value::words(value).0.first().and_then(Length::of).map(|length| length.pixels(USUAL_SIZE));
        match (name, pixels) {
            ("min-width" | "min-device-width", Some(pixels)) => pixels <= WIDTH,
            ("max-width" | "max-device-width", Some(pixels)) => pixels >= WIDTH,
            ("prefers-color-scheme", _) => value == "light",
            ("color" | "hover", _) => true,
            _ => false,
        }
    });
    holds != negated
}

/// The selectors of a list.
fn in_list(selectors: &str) -> Vec<&str> {
    let mut parser = Parser::new(selectors);
    let mut all = Vec::new();
    loop {
        let from = parser.position();
        skip_to(&mut parser, Delimiter::Comma);
        all.push(parser.slice_from(from).trim());
        if parser.next().is_err() {
            return all;
        }
    }
}

/// The specificity of a selector, and what its last part needs.
fn anatomy(parser: &mut Parser<'_>) -> (u32, Key) {
    const ID: u32 = 1 << 20;
    const CLASS: u32 = 1 << 10;
    let (mut specificity, mut key, mut is_new) = (0_u32, Key::Any, false);
    while let Ok(token) = parser.next_including_whitespace() {
        let token = token.clone();
        if is_new && !matches!(token, Token::WhiteSpace(_) | Token::Delim('>' | '+' | '~' | '|')) {
            (key, is_new) = (Key::Any, false);
        }
        let more = match token {
            Token::WhiteSpace(_) | Token::Delim('>' | '+' | '~' | '|') => {
                is_new = true;
                0
            }
            Token::IDHash(name) | Token::Hash(name) => {
                key = Key::Id(name.to_string());
                ID
            }
            Token::Delim('.') => {
                if let Ok(Token::Ident(name)) = parser.next_including_whitespace()
                    && !matches!(key, Key::Id(_))
                {
                    key = Key::Class(name.to_string());
                }
                CLASS
            }
            Token::Ident(name) => {
                if key == Key::Any {
                    key = Key::Tag(name.to_ascii_lowercase());
                }
                1
            }
            Token::SquareBracketBlock => CLASS,
            Token::Colon => match parser.next_including_whitespace().cloned() {
                Ok(Token::Function(name)) if name.eq_ignore_ascii_case("where") => 0,
                Ok(Token::Function(name))
                    if ["is", "not", "has"].iter().any(|other| name.eq_ignore_ascii_case(other)) =>
                {
                    let inner = parser.parse_nested_block(|inner| Ok::<_, ParseError<()>>(anatomy(inner).0));
                    inner.unwrap_or_default()
                }
                _ => CLASS,
            },
            _ => 0,
        };
        specificity = specificity.saturating_add(more);
    }
    (specificity, key)
}

#[cfg(test)]
mod tests {
    use super::{Key, Parser, Sheets, Suspicion, anatomy, applies, in_list, in_style};

    #[test]
    fn selectors_are_weighed() {
        let weigh = |selector: &str| {
            let (specificity, key) = anatomy(&mut Parser::new(selector));
            ([specificity >> 20, specificity >> 10 & 0x3ff, specificity & 0x3ff], key)
        };
        let (class, tag) = (|name: &str| Key::Class(name.into()), |name: &str| Key::Tag(name.into()));
        for (selector, expected) in [
            ("p", ([0, 0, 1], tag("p"))),
            ("DIV  > p.a", ([0, 1, 2], class("a"))),
            ("#a .b c", ([1, 1, 1], tag("c"))),
            ("p#a.b", ([1, 1, 1], Key::Id("a".into()))),
            ("p:first-child", ([0, 1, 1], tag("p"))),
            ("[hidden]", ([0, 1, 0], Key::Any)),
            (":not(#a) *", ([1, 0, 0], Key::Any)),
            (":where(#a) em", ([0, 0, 1], tag("em"))),
        ] {
            assert_eq!(weigh(selector), expected, "{selector}");
        }
        assert_eq!(in_list("a, b:is(c, d) ,e"), ["a", "b:is(c, d)", "e"]);
    }

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
        let mut classes: Vec<&Key> = sheets.by_key.keys().collect();
        classes.sort_by_key(|key| format!("{key:?}"));
        let class = |name: &str| Key::Class(name.into());
        assert_eq!(classes, [&class("a"), &class("b"), &class("g"), &class("h")]);
        assert_eq!(asked, ["b.css"]);
        assert_eq!(sheets.declarations.last().map(Vec::len), Some(2));
    }

    #[test]
    fn media_of_a_usual_screen() {
        for (media, expected) in [
            ("", true),
            ("all", true),
            ("print, screen", true),
            ("print", false),
            ("only screen and (min-width: 600px)", true),
            ("(max-width: 37em)", false),
            ("not print", true),
            ("amzn-kf8", false),
            ("(prefers-color-scheme: dark)", false),
        ] {
            assert_eq!(applies(media), expected, "{media}");
        }
    }

    #[test]
    fn ordinary_styles_raise_no_suspicion() {
        for (style, expected) in [
            ("font-size: 0.9em; color: #333; margin-left: 2em; text-indent: -1em; line-height: 0", false),
            ("background: #fff url(); width: 0.5in; position: absolute; left: 8%", false),
            ("color: #fafafa", true),
            ("background-color: #000", true),
            ("font-size: 1px", true),
            ("font: 0/0 a", true),
            ("text-indent: -9999px", true),
            ("display: none", true),
            ("max-height: 0", true),
        ] {
            let mut suspicion = Suspicion::default();
            suspicion.add_style(style);
            assert_eq!(Sheets::default().may_hide(&suspicion, 10), expected, "{style}: {:?}", in_style(style));
        }
    }
}
