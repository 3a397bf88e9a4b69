//! Selectors: what they need, how much they weigh, and how a browser reads those that our library does not know.

use cssparser::{Delimiter, ParseError, Parser, SourcePosition, Token};
use dom_query::Matcher;

use super::value::{in_block, rest, skip_to};

/// The longest selector with those around it, in bytes, and how deep selectors are nested in others.
const LONGEST: usize = 10_000;
const DEPTH: usize = 16;

/// A selector, as elements are compared with it.
#[derive(Debug)]
pub(super) struct Selector {
    pub(super) matcher: Matcher,
    pub(super) specificity: u32,
    /// Whether it looks at what is inside an element.
    pub(super) looks_inside: bool,
    pub(super) key: SelectorKey,
}

/// What an element must have for a selector to match it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum SelectorKey {
    Id(String),
    Class(String),
    Tag(String),
    Any,
}

/// A selector that cannot be compared with elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Without {
    /// It matches no element, such as `p::before`.
    Match,
    /// Browsers do not know it, and ignore its rule.
    Meaning,
    /// It is too long, or nested too deeply.
    End,
}

impl Selector {
    pub(super) fn of(written: &str) -> Result<Self, Without> {
        if written.len() > LONGEST {
            return Err(Without::End);
        }
        let mut known = String::new();
        rewrite(&mut Parser::new(written), &mut known, DEPTH)?;
        let matcher = Matcher::new(&known).map_err(|_| Without::Meaning)?;
        let (specificity, key) = anatomy(&mut Parser::new(written));
        Ok(Self {
            matcher,
            specificity,
            looks_inside: written.contains(":has("),
            key,
        })
    }
}

/// Whether browsers know a selector.
pub(super) fn is_known(written: &str) -> bool {
    !matches!(Selector::of(written), Err(Without::Meaning | Without::End))
}

/// The selectors of a list.
pub(super) fn in_list(selectors: &str) -> Vec<&str> {
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

/// A selector of a rule that is nested in one with these selectors, unless it gets too long.
pub(super) fn nested(selector: &str, around: &str) -> Option<String> {
    let count = selector.matches('&').count();
    if selector.len() + (around.len() + 5) * count.max(1) > LONGEST {
        return None;
    }
    let around = format!(":is({around})");
    Some(if count > 0 {
        selector.replace('&', &around)
    } else {
        format!("{around} {selector}")
    })
}

/// What stands for a pseudo-class that our library does not know, on a page that is only read.
fn stand_in(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "root" | "scope" => ":is(html)",
        "defined" | "read-only" => ":not(input, textarea)",
        "read-write" => ":is(input, textarea)",
        "link" | "any-link" => ":is(a, area):is([href])",
        "target" | "target-within" | "focus-within" | "focus-visible" | "visited"
        | "fullscreen" | "modal" | "playing" | "paused" | "popover-open" | "autofill"
        | "user-valid" | "user-invalid" | "valid" | "invalid" | "in-range" | "out-of-range"
        | "placeholder-shown" | "default" | "required" | "optional" | "picture-in-picture" => {
            ":not(*)"
        }
        "open" => ":is([open])",
        _ => return None,
    })
}

/// Writes a selector as our library knows it.
fn rewrite(parser: &mut Parser<'_>, out: &mut String, depth: usize) -> Result<(), Without> {
    loop {
        let from = parser.position();
        let token = match parser.next_including_whitespace_and_comments() {
            Err(_) => return Ok(()),
            Ok(Token::Comment(_)) => continue,
            Ok(token) => token.clone(),
        };
        match token {
            Token::Colon => out.push_str(&pseudo_class(parser, from, depth)?),
            Token::SquareBracketBlock
            | Token::ParenthesisBlock
            | Token::CurlyBracketBlock
            | Token::Function(_) => {
                let _ = in_block(parser, rest);
                out.push_str(parser.slice_from(from));
            }
            _ => out.push_str(parser.slice_from(from)),
        }
    }
}

fn pseudo_element(parser: &mut Parser<'_>) -> Without {
    const KNOWN: &[&str] = &[
        "before",
        "after",
        "first-line",
        "first-letter",
        "marker",
        "selection",
        "placeholder",
        "backdrop",
        "cue",
        "file-selector-button",
        "target-text",
        "spelling-error",
        "grammar-error",
        "slotted",
        "part",
        "highlight",
        "details-content",
    ];
    match parser.next_including_whitespace() {
        Ok(Token::Ident(name) | Token::Function(name))
            if name.starts_with("-webkit-")
                || KNOWN.iter().any(|known| name.eq_ignore_ascii_case(known)) =>
        {
            Without::Match
        }
        _ => Without::Meaning,
    }
}

/// Writes the pseudo-class that begins here, whose colon was read.
fn pseudo_class(
    parser: &mut Parser<'_>,
    from: SourcePosition,
    depth: usize,
) -> Result<String, Without> {
    let name = match parser.next_including_whitespace_and_comments().cloned() {
        // A part of what an element shows, but no element.
        Ok(Token::Colon) => return Err(pseudo_element(parser)),
        Ok(Token::Function(name)) => return function(parser, &name, depth),
        Ok(Token::Ident(name)) => name,
        _ => return Err(Without::Meaning),
    };
    if ["before", "after", "first-line", "first-letter"]
        .iter()
        .any(|old| name.eq_ignore_ascii_case(old))
    {
        return Err(Without::Match);
    }
    // Only our library knows it.
    if name.eq_ignore_ascii_case("only-text") {
        return Err(Without::Meaning);
    }
    let known = stand_in(&name).unwrap_or_else(|| parser.slice_from(from));
    Ok(known.to_owned())
}

/// Writes a pseudo-class with arguments, such as `:not(…)`.
fn function(parser: &mut Parser<'_>, name: &str, depth: usize) -> Result<String, Without> {
    let name = name.to_ascii_lowercase();
    let inner = in_block(parser, rest).ok_or(Without::End)?;
    match name.as_str() {
        "lang" | "dir" => {
            let all: Vec<String> = inner
                .split(',')
                .map(|value| language(&name, value))
                .collect();
            Ok(format!(":is({})", all.join(",")))
        }
        "is" | "where" | "-webkit-any" | "not" | "has" => {
            let depth = depth.checked_sub(1).ok_or(Without::End)?;
            rewrite_list(&name, inner, depth)
        }
        name if name.starts_with("nth-") => Ok(format!(":{name}({inner})")),
        // Only our library knows others.
        _ => Err(Without::Meaning),
    }
}

/// Writes `:lang(…)` or `:dir(…)` as what it looks for in attributes.
fn language(name: &str, value: &str) -> String {
    let value: String = value
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect();
    match (name, value.as_str()) {
        ("dir", "ltr") => ":not([dir=rtl], [dir=rtl] *)".to_owned(),
        ("dir", value) => format!("[dir=\"{value}\"], [dir=\"{value}\"] *"),
        (_, value) => format!("[lang|=\"{value}\" i], [lang|=\"{value}\" i] *"),
    }
}

/// Writes a pseudo-class whose arguments are selectors.
fn rewrite_list(name: &str, selectors: &str, depth: usize) -> Result<String, Without> {
    let forgives = !matches!(name, "not" | "has");
    let mut all = Vec::new();
    for selector in in_list(selectors) {
        let mut known = String::new();
        match rewrite(&mut Parser::new(selector), &mut known, depth) {
            Ok(()) => all.push(known),
            Err(Without::End) => return Err(Without::End),
            Err(_) if forgives => {}
            Err(_) => return Err(Without::Meaning),
        }
    }
    if all.is_empty() {
        return Ok(":not(*)".to_owned());
    }
    let name = if name == "-webkit-any" { "is" } else { name };
    Ok(format!(":{name}({})", all.join(",")))
}

/// The specificity of a selector, and what its last part needs. Of a list: the largest specificity.
fn anatomy(parser: &mut Parser<'_>) -> (u32, SelectorKey) {
    let mut anatomy = Anatomy {
        largest: 0,
        specificity: 0,
        key: SelectorKey::Any,
        is_new: false,
        is_list: false,
    };
    while let Ok(token) = parser.next_including_whitespace().cloned() {
        anatomy.add(&token, parser);
    }
    let largest = anatomy.largest.max(anatomy.specificity);
    let key = if anatomy.is_list {
        SelectorKey::Any
    } else {
        anatomy.key
    };
    (largest, key)
}

/// What is known of a selector, as far as it is read.
struct Anatomy {
    /// The largest specificity of those before it in a list.
    largest: u32,
    specificity: u32,
    key: SelectorKey,
    /// Whether what follows is about another element.
    is_new: bool,
    is_list: bool,
}

impl Anatomy {
    const ID: u32 = 1 << 20;
    const CLASS: u32 = 1 << 10;

    fn add(&mut self, token: &Token<'_>, parser: &mut Parser<'_>) {
        match token {
            Token::WhiteSpace(_) | Token::Delim('>' | '+' | '~' | '|') => self.is_new = true,
            Token::Comma => {
                self.largest = self.largest.max(self.specificity);
                (self.specificity, self.is_new, self.is_list) = (0, true, true);
            }
            token => {
                if std::mem::take(&mut self.is_new) {
                    self.key = SelectorKey::Any;
                }
                let more = self.add_part(token, parser);
                self.specificity = self.specificity.saturating_add(more);
            }
        }
    }

    /// Adds what an element must have, and tells how much it weighs.
    fn add_part(&mut self, token: &Token<'_>, parser: &mut Parser<'_>) -> u32 {
        match token {
            Token::IDHash(name) | Token::Hash(name) => {
                self.key = SelectorKey::Id(name.to_string());
                Self::ID
            }
            Token::Delim('.') => {
                if let Ok(Token::Ident(name)) = parser.next_including_whitespace()
                    && !matches!(self.key, SelectorKey::Id(_))
                {
                    self.key = SelectorKey::Class(name.to_string());
                }
                Self::CLASS
            }
            Token::Ident(name) => {
                if self.key == SelectorKey::Any {
                    self.key = SelectorKey::Tag(name.to_ascii_lowercase());
                }
                1
            }
            Token::SquareBracketBlock => Self::CLASS,
            Token::Colon => self.add_pseudo_class(parser),
            _ => 0,
        }
    }

    fn add_pseudo_class(&mut self, parser: &mut Parser<'_>) -> u32 {
        let Ok(Token::Function(name)) = parser.next_including_whitespace().cloned() else {
            return Self::CLASS;
        };
        match name.to_ascii_lowercase().as_str() {
            "where" => 0,
            name @ ("is" | "not" | "has" | "-webkit-any") => {
                let inner =
                    parser.parse_nested_block(|inner| Ok::<_, ParseError<()>>(anatomy(inner)));
                let (specificity, key) = inner.unwrap_or((0, SelectorKey::Any));
                if self.key == SelectorKey::Any && name == "is" {
                    self.key = key;
                }
                specificity
            }
            _ => Self::CLASS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Parser, Selector, SelectorKey, Without, anatomy, in_list, is_known, nested};

    #[test]
    fn selectors_are_weighed() {
        let weigh = |selector: &str| {
            let (specificity, key) = anatomy(&mut Parser::new(selector));
            (
                [
                    specificity >> 20,
                    specificity >> 10 & 0x3ff,
                    specificity & 0x3ff,
                ],
                key,
            )
        };
        let (class, tag) = (
            |name: &str| SelectorKey::Class(name.into()),
            |name: &str| SelectorKey::Tag(name.into()),
        );
        for (selector, expected) in [
            ("p", ([0, 0, 1], tag("p"))),
            ("DIV  > p.a", ([0, 1, 2], class("a"))),
            ("#a .b c", ([1, 1, 1], tag("c"))),
            ("p#a.b", ([1, 1, 1], SelectorKey::Id("a".into()))),
            ("p:first-child", ([0, 1, 1], tag("p"))),
            ("[hidden]", ([0, 1, 0], SelectorKey::Any)),
            (":not(#a) *", ([1, 0, 0], SelectorKey::Any)),
            (":where(#a) em", ([0, 0, 1], tag("em"))),
            (":is(#a .b, p)", ([1, 1, 0], SelectorKey::Any)),
            (":is(p .b)", ([0, 1, 1], class("b"))),
        ] {
            assert_eq!(weigh(selector), expected, "{selector}");
        }
        assert_eq!(in_list("a, b:is(c, d) ,e"), ["a", "b:is(c, d)", "e"]);
    }

    #[test]
    fn selectors_are_known() {
        for selector in [
            "a:link",
            ".j:not(:target)",
            "p:lang(en)",
            ":defined",
            "a:is(.b, :bogus)",
            "p::before",
            ":root > *",
        ] {
            assert!(is_known(selector), "{selector}");
        }
        for selector in [
            "p:bogus",
            "p::bogus",
            "p:contains(\"a\")",
            "p:not(:ONLY-TEXT)",
            "p:has-text(\"a\")",
            "> p",
            "",
        ] {
            assert!(!is_known(selector), "{selector}");
        }
        assert_eq!(Selector::of("p::before").err(), Some(Without::Match));
        assert_eq!(Selector::of(&":not(".repeat(50)).err(), Some(Without::End));
        let written =
            [nested("&:hover", ".a, b"), nested("> i", "p")].map(Option::unwrap_or_default);
        assert_eq!(written, [":is(.a, b):hover", ":is(p) > i"]);
        assert_eq!(nested("&", &"a".repeat(20_000)), None);
    }
}
