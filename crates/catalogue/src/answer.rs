//! The input and output of a check.

use std::collections::BTreeSet;
use std::str::FromStr;

use jiff::civil::Date;
use lapidary_gems::{RecipeError, RecipeName, Rule, WrittenGem};
use serde::{Deserialize, Serialize};

use super::digest::{digest_of, digest_of_gems};
use super::{Case, TextOr};
use lapidary_checking::{Identity, Passage, Policy, Relation, Score, Span};
use lapidary_extract::HiddenWords;
use lapidary_extract::position::Locator;
use lapidary_language::Language;
use lapidary_store::{Actor, Library};

/// Number of matches in a report if no limit is given.
const DEFAULT_LIMIT: usize = 100;

/// What to check.
pub type Query = TextOr<TextGems>;

impl Query {
    /// The gems, unless the query is a text.
    pub(super) fn as_gems(&self) -> Option<&[WrittenGem]> {
        match self {
            Self::Text { .. } => None,
            Self::Gems(gems) => Some(&gems.gems),
        }
    }

    /// The digest that its decisions are filed under.
    pub(super) fn digest(&self) -> String {
        match self {
            Self::Text { text, .. } => digest_of(text.as_bytes()),
            Self::Gems(gems) => digest_of_gems(&gems.gems),
        }
    }

    /// Whether print artifacts are stripped; if `None`, each recipe decides.
    pub(super) fn clean(&self) -> Option<bool> {
        match self {
            Self::Text { clean, .. } => *clean,
            Self::Gems(_) => None,
        }
    }
}

/// The gems of a text that is not known.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct TextGems {
    /// The gems to look up, in text order.
    pub gems: Vec<WrittenGem>,
    /// The positions of those that a book with the same text would have; see [`Recipe::probes`](lapidary_gems::Recipe::probes).
    /// `None`: all.
    pub indexed: Option<Vec<u32>>,
}

impl From<Vec<WrittenGem>> for TextGems {
    fn from(gems: Vec<WrittenGem>) -> Self {
        Self {
            gems,
            indexed: None,
        }
    }
}

/// The recipes of a check.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum Recipes {
    /// For a text, the catalogue's default, and the others too if some books have no gems of it. For gems, the one that
    /// they are written like; if several fit, the one set with
    /// [`Catalogue::with_client_recipe`](super::Catalogue::with_client_recipe) or the default.
    #[default]
    Usual,
    /// These.
    Named(Vec<RecipeName>),
    /// All that every book has gems of. For gems: those of them that the gems may belong to.
    All,
}

impl Recipes {
    /// Reads names, or `all` alone.
    pub fn read<'a>(names: impl Iterator<Item = &'a str>) -> Result<Self, RecipeError> {
        let names: Vec<&str> = names.map(str::trim).collect();
        match names.as_slice() {
            ["all"] => Ok(Self::All),
            names => Ok(Self::Named(
                names
                    .iter()
                    .map(|name| name.parse())
                    .collect::<Result<_, _>>()?,
            )),
        }
    }
}

impl FromStr for Recipes {
    type Err = RecipeError;

    /// Reads names separated by commas, or `all`.
    fn from_str(names: &str) -> Result<Self, RecipeError> {
        Self::read(names.split(','))
    }
}

/// Options of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckOptions {
    /// The recipes. The verdict is the strictest of theirs.
    pub recipes: Recipes,
    /// Consider only books of this library.
    pub library: Option<Library>,
    /// Who asks.
    pub by: Actor,
    /// Whether whoever asks may be told exactly where gems of recipes with a secret are, and how many: whoever has the secret.
    pub exactly: bool,
    /// The libraries of whoever asks. Their books decide even if they are not trusted.
    pub own: BTreeSet<Library>,
    /// Maximum number of matches to show, best first. The verdict always considers all matches.
    pub limit: usize,
    /// Whether to return spans.
    pub detail: bool,
    /// Use the rights in effect on this day. Default: today, in UTC.
    pub day: Option<Date>,
    /// Whether to accept recipes that some books have no gems of yet.
    pub allow_incomplete: bool,
    /// From how much on a match decides. Default: what the library of each book says.
    pub policy: Option<Policy>,
    /// File the report under this, if the check is made by an [`Editor`](super::Editor).
    pub record: Option<Case>,
    /// The language of the text, if it is known. Only signatures that stem by it depend on it.
    pub text_language: Option<String>,
    /// What was left out of the text, because no reader sees it.
    pub hidden: HiddenWords,
    /// The language of the report's note.
    pub language: Language,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            recipes: Recipes::Usual,
            library: None,
            by: Actor::Local,
            exactly: false,
            own: BTreeSet::new(),
            limit: DEFAULT_LIMIT,
            detail: true,
            day: None,
            allow_incomplete: false,
            policy: None,
            record: None,
            text_language: None,
            hidden: HiddenWords::default(),
            language: Language::default(),
        }
    }
}

/// A comparison of two texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The recipe used.
    pub recipe: RecipeName,
    /// Number of gems of the first text, counted as in a report. The score treats this text as the query.
    pub gems_a: u32,
    /// Number of gems of the second text. The score treats this text as the book.
    pub gems_b: u32,
    /// Common gems and shares.
    #[serde(flatten)]
    pub score: Score,
    /// Whether the texts match under the rule.
    #[serde(rename = "match")]
    pub matches: bool,
    /// The rule.
    pub rule: Rule,
    /// How the first text relates to the second.
    pub relation: Relation,
    /// The matching parts.
    pub spans: Vec<Span>,
    /// How much of all passages together is identical, word for word.
    pub exact: Identity,
    /// The passages around the matching parts, in the order of the first text.
    pub passages: Vec<Passage>,
}

impl Comparison {
    /// Says where readers find what matches, by the locators of both texts.
    pub fn locate(&mut self, a: &Locator, b: &Locator) {
        for span in &mut self.spans {
            span.query_position = span.query.bytes.map(|place| a.locate(place));
            span.book_position = span.book.bytes.map(|place| b.locate(place));
        }
        for passage in &mut self.passages {
            passage.query_position = Some(a.locate(passage.query));
            passage.book_position = Some(b.locate(passage.book));
        }
    }
}
