//! Every language has every message, with its arguments and all plural forms.

use std::collections::{BTreeMap, BTreeSet};

use fluent_syntax::ast::{
    Entry, Expression, InlineExpression, Pattern, PatternElement, VariantKey,
};
use fluent_syntax::parser::parse;

use super::{Language, MESSAGES, PROBLEM};
use lapidary_common::error::ErrorCode;

/// What a message refers to.
#[derive(Debug, Default)]
struct Uses {
    arguments: BTreeSet<String>,
    /// The plural forms of each choice by a number.
    choices: Vec<BTreeSet<String>>,
}

impl Uses {
    fn read(&mut self, pattern: &Pattern<&str>) {
        for element in &pattern.elements {
            if let PatternElement::Placeable { expression } = element {
                match expression {
                    Expression::Inline(inline) => self.argument(inline),
                    Expression::Select { selector, variants } => {
                        self.argument(selector);
                        let name = |key: &VariantKey<&str>| match key {
                            VariantKey::Identifier { name } => (*name).to_owned(),
                            VariantKey::NumberLiteral { value } => (*value).to_owned(),
                        };
                        self.choices
                            .push(variants.iter().map(|variant| name(&variant.key)).collect());
                        for variant in variants {
                            self.read(&variant.value);
                        }
                    }
                }
            }
        }
    }

    fn argument(&mut self, inline: &InlineExpression<&str>) {
        match inline {
            InlineExpression::VariableReference { id } => {
                self.arguments.insert(id.name.to_owned());
            }
            InlineExpression::Placeable { .. } | InlineExpression::StringLiteral { .. } => {}
            other => panic!("messages refer only to their arguments, not to {other:?}"),
        }
    }
}

/// The messages of a language's file.
fn worded(language: Language) -> BTreeMap<String, Uses> {
    let file =
        parse(language.wording()).unwrap_or_else(|(_, errors)| panic!("{language}: {errors:?}"));
    let mut messages = BTreeMap::new();
    for entry in file.body {
        match entry {
            Entry::Message(message) => {
                let mut uses = Uses::default();
                uses.read(
                    message
                        .value
                        .as_ref()
                        .unwrap_or_else(|| panic!("{language}: {:?} is empty", message.id)),
                );
                let name = message.id.name.to_owned();
                assert!(
                    messages.insert(name, uses).is_none(),
                    "{language}: {} is there twice",
                    message.id.name
                );
            }
            Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) => {}
            other => panic!("{language}: {other:?}"),
        }
    }
    messages
}

#[test]
fn every_language_has_every_message_with_its_arguments() {
    let declared = MESSAGES.iter().map(|(id, arguments)| {
        (
            (*id).to_owned(),
            arguments.iter().map(|&name| name.to_owned()).collect(),
        )
    });
    let problems = ErrorCode::ALL
        .iter()
        .map(|code| (format!("{PROBLEM}{}", code.as_str()), BTreeSet::new()));
    let declared: BTreeMap<String, BTreeSet<String>> = declared.chain(problems).collect();
    assert_eq!(
        declared.len(),
        MESSAGES.len() + ErrorCode::ALL.len(),
        "a message is declared twice"
    );
    for language in Language::ALL {
        let worded = worded(language);
        let missing: Vec<_> = declared
            .keys()
            .filter(|id| !worded.contains_key(*id))
            .collect();
        assert!(missing.is_empty(), "{language}.ftl lacks {missing:?}");
        let unused: Vec<_> = worded
            .keys()
            .filter(|id| !declared.contains_key(*id))
            .collect();
        assert!(
            unused.is_empty(),
            "{language}.ftl has {unused:?}, which en.ftl does not"
        );
        for (id, uses) in &worded {
            assert_eq!(
                uses.arguments, declared[id],
                "the arguments of {id} in {language}.ftl"
            );
        }
    }
}

#[test]
fn every_choice_has_all_plural_forms() {
    let forms = |language: Language, names: &BTreeSet<String>| {
        let forms: &[&[&str]] = match language {
            Language::English => &[&["one", "other"]],
            // «Другие» are fractions. Where few and many are alike, one form serves both.
            Language::Russian => &[
                &["one", "few", "many"],
                &["one", "few", "many", "other"],
                &["one", "other"],
            ],
        };
        forms
            .iter()
            .any(|forms| names.iter().eq(forms.iter().collect::<BTreeSet<_>>()))
    };
    for language in Language::ALL {
        for (id, uses) in worded(language) {
            for names in &uses.choices {
                assert!(
                    forms(language, names),
                    "{id} in {language}.ftl has the forms {names:?}"
                );
            }
        }
    }
}

#[test]
fn plurals() {
    let table = [
        (0, "0 gems", "0 отпечатков"),
        (1, "1 gem", "1 отпечаток"),
        (2, "2 gems", "2 отпечатка"),
        (5, "5 gems", "5 отпечатков"),
        (11, "11 gems", "11 отпечатков"),
        (21, "21 gems", "21 отпечаток"),
        (1_204, "1,204 gems", "1\u{a0}204 отпечатка"),
        (
            1_000_000,
            "1,000,000 gems",
            "1\u{a0}000\u{a0}000 отпечатков",
        ),
    ];
    for (number, english, russian) in table {
        assert_eq!(Language::English.gems(number), english);
        assert_eq!(Language::Russian.gems(number), russian);
    }
}

#[test]
fn numbers_and_lists() {
    let [english, russian] = Language::ALL;
    assert_eq!(
        [english, russian].map(|language| language.decimal(1_234.56, 1)),
        ["1234.6", "1234,6"]
    );
    let shares = [0.0, 0.001, 0.5, 0.999, 1.0];
    assert_eq!(
        shares.map(|share| english.percent(share)),
        ["0 %", "<1 %", "50 %", ">99 %", "100 %"]
    );
    assert_eq!(russian.percent(0.384), "38\u{a0}%");
    let items = ["один", "два", "три"].map(str::to_owned);
    assert_eq!(
        [0, 1, 2, 3].map(|n| russian.list(&items[..n])),
        ["", "один", "один и два", "один, два и три"]
    );
    assert_eq!(
        russian.check_of("{ $name } { evil }"),
        "Проверка: { $name } { evil }"
    );
}

#[test]
fn tags() {
    for language in Language::ALL {
        assert_eq!(language.tag().to_uppercase().parse(), Ok(language));
    }
    assert_eq!(
        "de".parse::<Language>().expect_err("no German").to_string(),
        "reports are written in en and ru"
    );
}

/// Whoever copies a command from a sentence runs the same one in every language.
#[test]
fn commands_are_the_same_in_every_language() {
    let is_of_command = |word: &&str| {
        let is_placeholder = word.len() > 1
            && word
                .chars()
                .all(|c| "-:".contains(c) || c.is_ascii_uppercase());
        is_placeholder || word.starts_with("--") || ["lapidary", "redis-cli"].contains(word)
    };
    let commands = |language: Language, id: &str| {
        let said = language.say(id, &[]);
        let words = said.split(|c: char| c.is_whitespace() || ",;`".contains(c));
        let mut words: Vec<String> = words.filter(is_of_command).map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    let ids = MESSAGES
        .iter()
        .map(|(id, _)| *id)
        .filter(|id| id.starts_with("d_"));
    for id in ids {
        let [english, russian] = Language::ALL.map(|language| commands(language, id));
        assert_eq!(english, russian, "{id}");
    }
}
