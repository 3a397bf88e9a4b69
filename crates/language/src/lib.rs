//! The languages that reports, the console and `doctor` are written in: messages, plurals and numbers.
//!
//! A message is declared, with its arguments, where it is worded in English ([Fluent](https://projectfluent.org)). The build
//! script makes a method of [`Language`] of it.
//!
//! What is said belongs to `report`, the console and `catalogue`; this crate only knows how.
//!
//! ```
//! use lapidary_language::Language;
//!
//! assert_eq!(Language::English.number(1_204), "1,204");
//! let stones = ["granite", "amber", "jade"].map(str::to_owned);
//! assert_eq!(Language::English.list(&stones), "granite, amber and jade");
//! assert_eq!("ru".parse(), Ok(Language::Russian));
//! ```

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};

use lapidary_gems::RecipeName;

use lapidary_common::count::separated;

include!(concat!(env!("OUT_DIR"), "/messages.rs"));

/// Messages about problems begin with this.
const PROBLEM: &str = "p_";
/// Does not break at the end of a line.
const NO_BREAK_SPACE: char = '\u{a0}';

/// A language that reports are written in.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Russian.
    Russian,
}

static ENGLISH: LazyLock<Messages> = LazyLock::new(|| Language::English.read());
static RUSSIAN: LazyLock<Messages> = LazyLock::new(|| Language::Russian.read());

type Messages = FluentBundle<FluentResource>;

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::English, Self::Russian];

    /// Its tag, as in HTML and HTTP: `en`.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Russian => "ru",
        }
    }

    fn wording(self) -> &'static str {
        match self {
            Self::English => {
                concat!(
                    include_str!("en.ftl"),
                    include_str!("console/en.ftl"),
                    include_str!("doctor/en.ftl"),
                    include_str!("problems/en.ftl")
                )
            }
            Self::Russian => {
                concat!(
                    include_str!("ru.ftl"),
                    include_str!("console/ru.ftl"),
                    include_str!("doctor/ru.ftl"),
                    include_str!("problems/ru.ftl")
                )
            }
        }
    }

    fn messages(self) -> &'static Messages {
        match self {
            Self::English => &ENGLISH,
            Self::Russian => &RUSSIAN,
        }
    }

    fn read(self) -> Messages {
        let mut messages = Messages::new_concurrent(self.tag().parse().into_iter().collect());
        // The tests read the files without errors.
        let wording =
            FluentResource::try_new(self.wording().to_owned()).unwrap_or_else(|(read, _)| read);
        messages.add_resource_overriding(wording);
        // All languages are written from left to right.
        messages.set_use_isolating(false);
        messages.set_formatter(Some(match self {
            Self::English => |value, _| Self::English.formatted(value),
            Self::Russian => |value, _| Self::Russian.formatted(value),
        }));
        messages
    }

    fn say(self, id: &str, arguments: &[(&'static str, FluentValue<'_>)]) -> String {
        let messages = self.messages();
        let Some(message) = messages.get_message(id).and_then(|message| message.value()) else {
            return id.to_owned();
        };
        let arguments: FluentArgs<'_> = arguments.iter().cloned().collect();
        messages
            .format_pattern(message, Some(&arguments), &mut Vec::new())
            .into_owned()
    }

    /// What a problem of the API means, and what to do. There is a message for each code, named after it.
    #[must_use]
    pub fn problem(self, code: &str) -> String {
        self.say(&format!("{PROBLEM}{code}"), &[])
    }

    /// Why something failed, which is known in English, and what the code of the problem means in any other language.
    #[must_use]
    pub fn failure(self, code: Option<&str>, error: &str) -> String {
        match code {
            Some(code) if self != Self::English => format!("{} ({error})", self.problem(code)),
            _ => error.to_owned(),
        }
    }

    fn formatted(self, value: &FluentValue<'_>) -> Option<String> {
        match value {
            FluentValue::Number(number) if number.value.fract() == 0.0 => {
                Some(self.number(number.value as u64))
            }
            FluentValue::Number(number) => Some(self.point(&number.value.to_string())),
            _ => None,
        }
    }

    /// A whole number: `1,204`.
    #[must_use]
    pub fn number(self, number: u64) -> String {
        separated(
            number,
            match self {
                Self::English => ',',
                Self::Russian => NO_BREAK_SPACE,
            },
        )
    }

    /// A number with this many decimal places: `14.5`.
    #[must_use]
    pub fn decimal(self, number: f64, places: usize) -> String {
        self.point(&format!("{number:.places$}"))
    }

    fn point(self, number: &str) -> String {
        match self {
            Self::English => number.to_owned(),
            Self::Russian => number.replace('.', ","),
        }
    }

    /// A share as a percentage. Shows 0 or 100 only if the share is exactly that.
    #[must_use]
    pub fn percent(self, share: f64) -> String {
        let percent = match (share * 100.0).round() {
            0.0 if share > 0.0 => "<1".to_owned(),
            100.0 if share < 1.0 => ">99".to_owned(),
            rounded => rounded.to_string(),
        };
        self.percent_of(&percent)
    }

    /// A number of percent with its sign: `38 %`.
    #[must_use]
    pub fn percent_of(self, number: &str) -> String {
        let space = match self {
            Self::English => ' ',
            Self::Russian => NO_BREAK_SPACE,
        };
        format!("{number}{space}%")
    }

    /// Names of recipes in quotes: `'hardened', 'released'`.
    #[must_use]
    pub fn names(self, recipes: &[RecipeName]) -> String {
        recipes
            .iter()
            .map(|name| self.quoted(name.as_str()))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// A list: `one, two and three`.
    #[must_use]
    pub fn list(self, items: &[String]) -> String {
        match items {
            [several @ .., last] if !several.is_empty() => self.and(&several.join(", "), last),
            items => items.concat(),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag())
    }
}

/// There is no such language.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("reports are written in {}", Language::ALL.map(Language::tag).join(" and "))]
pub struct NoLanguage;

impl FromStr for Language {
    type Err = NoLanguage;

    /// Reads a tag such as `ru`, in any case.
    fn from_str(tag: &str) -> Result<Self, NoLanguage> {
        Self::ALL
            .into_iter()
            .find(|language| language.tag().eq_ignore_ascii_case(tag))
            .ok_or(NoLanguage)
    }
}
