//! Conditions of rules: the media that a sheet is for, and what a browser supports.

use cssparser::{ParseError, Parser, Token};

use super::declaration::declarations;
use super::property::declared;
use super::selector;
use super::value::{HEIGHT, Length, USUAL_SIZE, WIDTH, Word, in_block, rest, words};

/// How deep conditions are nested.
const DEPTH: usize = 16;

/// Whether something holds; `None` if that is not known. What is not known does not hold, nor does its contrary.
type Truth = Option<bool>;

/// Whether a list of media includes a screen of the usual size.
pub(crate) fn applies(media: &str) -> bool {
    let mut parser = Parser::new(media);
    if parser.is_exhausted() {
        return true;
    }
    let queries = parser.parse_comma_separated(|query| {
        let holds = one_query(query);
        rest(query);
        Ok::<_, ParseError<()>>(holds)
    });
    queries.is_ok_and(|queries| queries.contains(&Some(true)))
}

fn one_query(parser: &mut Parser<'_>) -> Truth {
    let start = parser.state();
    let first = identifier(parser);
    let is_negated = first.as_deref() == Some("not");
    let medium = if is_negated || first.as_deref() == Some("only") {
        identifier(parser)
    } else {
        first.clone()
    };
    let Some(medium) = medium else {
        parser.reset(&start);
        return condition(parser, &feature, DEPTH);
    };
    let is_screen = Some(matches!(medium.as_str(), "all" | "screen"));
    let holds = match parser.next() {
        Err(_) => is_screen,
        Ok(Token::Ident(name)) if name.eq_ignore_ascii_case("and") => {
            both(is_screen, condition(parser, &feature, DEPTH))
        }
        Ok(_) => None,
    };
    if is_negated { not(holds) } else { holds }
}

fn not(truth: Truth) -> Truth {
    truth.map(|holds| !holds)
}

fn identifier(parser: &mut Parser<'_>) -> Option<String> {
    parser
        .try_parse(Parser::expect_ident_cloned)
        .ok()
        .map(|word| word.to_ascii_lowercase())
}

/// Whether browsers support what a condition asks for.
pub(super) fn is_supported(asked: &str) -> bool {
    condition(&mut Parser::new(asked), &support, DEPTH) == Some(true)
}

fn both(one: Truth, other: Truth) -> Truth {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// A condition, made of others with `not`, `and` and `or`. `leaf` judges those that are not, with the name of their function.
fn condition(parser: &mut Parser<'_>, leaf: &dyn Fn(&str, &str) -> Truth, depth: usize) -> Truth {
    if parser
        .try_parse(|parser| parser.expect_ident_matching("not"))
        .is_ok()
    {
        return not(in_brackets(parser, leaf, depth));
    }
    let mut all = in_brackets(parser, leaf, depth);
    loop {
        let is_and = match parser.next() {
            Err(_) => return all,
            Ok(Token::Ident(name)) if name.eq_ignore_ascii_case("and") => true,
            Ok(Token::Ident(name)) if name.eq_ignore_ascii_case("or") => false,
            Ok(_) => return None,
        };
        let next = in_brackets(parser, leaf, depth);
        all = if is_and {
            both(all, next)
        } else {
            not(both(not(all), not(next)))
        };
    }
}

fn in_brackets(parser: &mut Parser<'_>, leaf: &dyn Fn(&str, &str) -> Truth, depth: usize) -> Truth {
    let function = match parser.next() {
        Ok(Token::ParenthesisBlock) => String::new(),
        Ok(Token::Function(name)) => name.to_ascii_lowercase(),
        _ => return None,
    };
    in_block(parser, |inner| {
        inner.skip_whitespace();
        let (start, from) = (inner.state(), inner.position());
        let is_nested = match inner.next() {
            Ok(Token::ParenthesisBlock | Token::Function(_)) => true,
            Ok(Token::Ident(name)) => name.eq_ignore_ascii_case("not") && !inner.is_exhausted(),
            _ => false,
        };
        inner.reset(&start);
        let nested = if is_nested && function.is_empty() && depth > 0 {
            condition(inner, leaf, depth - 1)
        } else {
            None
        };
        rest(inner);
        nested.or_else(|| leaf(&function, inner.slice_from(from)))
    })?
}

/// What a feature of media is on a screen of the usual size.
enum MediaFeature {
    Number(f32),
    Word(&'static str),
}

fn known(name: &str) -> Option<MediaFeature> {
    Some(match name {
        "width" | "device-width" => MediaFeature::Number(WIDTH),
        "height" | "device-height" => MediaFeature::Number(HEIGHT),
        "aspect-ratio" | "device-aspect-ratio" => MediaFeature::Number(WIDTH / HEIGHT),
        "resolution" | "-webkit-device-pixel-ratio" => MediaFeature::Number(1.0),
        "color" => MediaFeature::Number(8.0),
        "color-index" | "monochrome" | "grid" => MediaFeature::Number(0.0),
        "orientation" => MediaFeature::Word("landscape"),
        "hover" | "any-hover" => MediaFeature::Word("hover"),
        "pointer" | "any-pointer" => MediaFeature::Word("fine"),
        "update" => MediaFeature::Word("fast"),
        "overflow-block" | "overflow-inline" => MediaFeature::Word("scroll"),
        "scan" => MediaFeature::Word("progressive"),
        "color-gamut" => MediaFeature::Word("srgb"),
        "dynamic-range" | "video-dynamic-range" => MediaFeature::Word("standard"),
        "display-mode" => MediaFeature::Word("browser"),
        "scripting" => MediaFeature::Word("enabled"),
        "prefers-color-scheme" => MediaFeature::Word("light"),
        "prefers-reduced-motion"
        | "prefers-reduced-transparency"
        | "prefers-contrast"
        | "prefers-reduced-data" => MediaFeature::Word("no-preference"),
        "forced-colors" | "inverted-colors" => MediaFeature::Word("none"),
        _ => return None,
    })
}

/// Whether a feature of media holds, such as `min-width: 10em` or `1px <= width < 90em`.
fn feature(function: &str, text: &str) -> Truth {
    if !function.is_empty() {
        return None;
    }
    let words = words(text).0;
    let at = words
        .iter()
        .position(|word| matches!(word, Word::Ident(name) if known(limited(name).0).is_some()))?;
    let Word::Ident(name) = &words[at] else {
        return None;
    };
    let (name, limit) = limited(name);
    let actual = known(name)?;
    match (&words[..at], &words[at + 1..], actual) {
        ([], [], MediaFeature::Number(actual)) => Some(actual != 0.0),
        ([], [], MediaFeature::Word(word)) => Some(!matches!(word, "none" | "no-preference")),
        ([], [Word::Delim(':'), Word::Ident(value)], MediaFeature::Word(word)) => {
            Some(word == value || name == "overflow-inline" && value == "none")
        }
        ([], [Word::Delim(':'), value @ ..], MediaFeature::Number(actual)) => {
            compare(actual, limit, number(value)?)
        }
        (before, after, MediaFeature::Number(actual)) if limit == "=" => {
            range(before, actual, after)
        }
        _ => None,
    }
}

/// Whether a comparison holds with what is before or behind the feature, or with both.
fn range(before: &[Word], actual: f32, after: &[Word]) -> Truth {
    let count = after.iter().take_while(|word| is_sign(word)).count();
    let (sign, value) = after.split_at(count);
    let behind = if after.is_empty() {
        Some(true)
    } else {
        compare(actual, &written(sign), number(value)?)
    };
    if before.is_empty() {
        return behind;
    }
    let count = before.iter().rev().take_while(|word| is_sign(word)).count();
    let (value, sign) = before.split_at(before.len() - count);
    // `1px <= width` is `width >= 1px`.
    let sign = match written(sign).as_str() {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        "=" => "=",
        _ => "",
    };
    both(compare(actual, sign, number(value)?), behind)
}

/// A name without `min-` or `max-`, and how it is compared.
fn limited(name: &str) -> (&str, &'static str) {
    for (prefix, sign) in [("min-", ">="), ("max-", "<=")] {
        if let Some(rest) = name.strip_prefix(prefix) {
            return (rest, sign);
        }
    }
    (name, "=")
}

fn is_sign(word: &Word) -> bool {
    matches!(word, Word::Delim('<' | '>' | '='))
}

/// The sign of a comparison.
fn written(sign: &[Word]) -> String {
    sign.iter()
        .filter_map(|word| match word {
            Word::Delim(char) => Some(*char),
            _ => None,
        })
        .collect()
}

fn number(words: &[Word]) -> Option<f32> {
    match words {
        [Word::Number(a), Word::Delim('/'), Word::Number(b)] => Some(a / b),
        [Word::Number(number) | Word::Resolution(number)] => Some(*number),
        [word] => Length::of(word).map(|length| length.pixels(USUAL_SIZE)),
        _ => None,
    }
}

fn compare(actual: f32, sign: &str, value: f32) -> Truth {
    Some(match sign {
        "<" => actual < value,
        "<=" => actual <= value,
        ">" => actual > value,
        ">=" => actual >= value,
        "=" => (actual - value).abs() < 0.01,
        _ => return None,
    })
}

/// Other declarations that are often asked for, and what they may be set to. A number stands for any length.
const SUPPORTED: &[(&str, &str)] = &[
    ("appearance", "none auto"),
    ("-webkit-appearance", "none"),
    ("aspect-ratio", "1 auto"),
    ("backdrop-filter", "none"),
    ("backface-visibility", "hidden visible"),
    ("column-count", "1 2 3"),
    ("columns", "1 2 3"),
    ("gap", "0"),
    ("grid-gap", "0"),
    ("grid-template-columns", "subgrid none auto"),
    ("hyphens", "auto manual none"),
    ("-webkit-hyphens", "auto manual none"),
    ("mix-blend-mode", "multiply normal screen"),
    ("object-fit", "contain cover fill none"),
    ("shape-outside", "none"),
    ("text-align", "left right center justify start end"),
    ("text-wrap", "balance pretty wrap nowrap"),
    ("will-change", "transform opacity auto"),
    ("writing-mode", "vertical-rl vertical-lr horizontal-tb"),
];

/// Whether browsers support a declaration or a selector.
fn support(function: &str, text: &str) -> Truth {
    match function {
        "selector" => Some(selector::is_known(text)),
        "" => {
            let (name, value) = text.split_once(':')?;
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
            if name.starts_with("--") || declared(&name).is_some() {
                return Some(!declarations(&name, value, false).is_empty());
            }
            let (_, values) = SUPPORTED.iter().find(|(supported, _)| *supported == name)?;
            let words = words(value).0;
            let [word] = words.as_slice() else {
                return None;
            };
            let is_listed = values
                .split(' ')
                .any(|known| known.eq_ignore_ascii_case(value));
            let is_length =
                values.split(' ').any(|known| known == "0") && Length::of(word).is_some();
            (is_listed || is_length).then_some(true)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{applies, is_supported};

    #[test]
    fn media_of_a_usual_screen() {
        for (media, expected) in [
            ("", true),
            ("all", true),
            ("print, screen", true),
            ("print", false),
            ("only screen and (min-width: 600px)", true),
            ("screen\nand/**/(min-width: 600px)", true),
            ("(max-width: 37em)", false),
            ("not print", true),
            ("not all and (max-width: 37em)", true),
            ("not (max-width: 37em)", true),
            ("not (bogus)", false),
            ("not all and (bogus)", false),
            ("(bogus) or (width)", true),
            ("(width>=1px)", true),
            ("(1px < width <= 100em)", true),
            ("(1px > width)", false),
            ("(orientation:landscape) and (min-height:1px)", true),
            ("((width) and (not (print)))", false),
            ("(min-aspect-ratio: 4/3)", true),
            ("amzn-kf8", false),
            ("(prefers-color-scheme: dark)", false),
            ("(prefers-color-scheme: light)", true),
        ] {
            assert_eq!(applies(media), expected, "{media}");
        }
    }

    #[test]
    fn what_browsers_support() {
        for (asked, expected) in [
            ("(display: grid)", true),
            ("(display: bogus)", false),
            ("not (display: bogus)", true),
            ("(bogus: x)", false),
            ("not (bogus: x)", false),
            ("(bogus: x) or ((hyphens: auto) and (--a: b))", true),
            ("selector(a > b)", true),
            ("selector(a:bogus)", false),
        ] {
            assert_eq!(is_supported(asked), expected, "{asked}");
        }
    }
}
