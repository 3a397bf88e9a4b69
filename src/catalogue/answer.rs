//! What a check is asked, and what it answers.

use jiff::civil::Date;
use lapidary_gems::{RecipeName, Rule, WrittenGem};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::index::{Coverage, Library, Record, Rights, Validity};
use crate::matching::{Relation, Score, Span};

/// How many matches a report shows when no limit is given.
const DEFAULT_LIMIT: usize = 100;

/// What is to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// A text.
    Text {
        /// The text.
        text: String,
        /// Whether it is read without the marks of its printing; `None`: as the recipe does.
        clean: Option<bool>,
    },
    /// The gems of a text, in its order.
    Gems(Vec<WrittenGem>),
}

impl Query {
    /// A text, read as the recipe does.
    #[must_use]
    pub fn text(text: String) -> Self {
        Self::Text { text, clean: None }
    }

    /// The text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Gems(_) => None,
        }
    }
}

/// How to check, and what to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckOptions {
    /// The recipe; the catalogue's default when none is named.
    pub recipe: Option<RecipeName>,
    /// Only books of this library count.
    pub library: Option<Library>,
    /// How many matches to show, the best first. The verdict always heeds all.
    pub limit: usize,
    /// Whether to show spans.
    pub detail: bool,
    /// The day whose rights decide; today, in UTC, when none is named.
    pub day: Option<Date>,
    /// Whether the recipe may be one that not every book has gems of yet.
    pub allow_incomplete: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { recipe: None, library: None, limit: DEFAULT_LIMIT, detail: true, day: None, allow_incomplete: false }
    }
}

/// The answer to a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Report {
    /// The strictest rights among the matches; `unknown` without a match.
    pub verdict: Rights,
    /// The recipe used.
    #[schema(value_type = String)]
    pub recipe: RecipeName,
    /// How many of the books have gems of that recipe, when not all do: the check could find no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// How many different gems the query has; of a text, those that a book with all of it would have. Under `hardened` a text is
    /// looked up by more of them, so that it is found in spite of changes.
    pub gems: u32,
    /// How many of them were not counted in some library, being in more of its books than the rule's cap. Each library is
    /// counted by itself, so that no library decides what counts in another.
    pub common_gems: u32,
    /// How many of them were not counted, being in an allow-list.
    #[serde(default)]
    pub allowed_gems: u32,
    /// The day whose rights decided, in UTC.
    pub day: Date,
    /// The rule that says what a match is.
    pub rule: Rule,
    /// How many unrelated books of this index would meet the rule's fewest common gems by chance, on average.
    pub chance: f64,
    /// How many books match, shown or not.
    pub total: usize,
    /// How many books would match, but are disabled and do not count.
    #[serde(default)]
    pub disabled: usize,
    /// How likely the verdict is wrong, at most: that any book of the index reaches the evidence of the best match that
    /// decides it, though nothing relates it to the text. With 95 % confidence, as counted on unrelated books; near 1
    /// when those are too few to say anything of an index of this size. Absent when no match decides, and for a recipe that nobody
    /// counted for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_probability: Option<f64>,
    /// The matches, the best first.
    pub matches: Vec<Match>,
    /// What a reader must know to understand the verdict, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A book that the query shares gems with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Match {
    /// The book.
    pub book: BookRef,
    /// Common gems and shares.
    #[serde(flatten)]
    pub score: Score,
    /// What query and book are to each other.
    pub relation: Relation,
    /// Whether the book is the very text that was checked, to the byte or but for the marks of its printing. It is a match then,
    /// whatever gems there are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identical: bool,
    /// How many unrelated books of this index would reach as many common gems by chance, on average.
    pub chance: f64,
    /// What the common gems say together: one that only this book has counts 1, one that many have less, and half of that
    /// when it stands alone, out of the order of the others.
    #[serde(default)]
    pub evidence: f64,
    /// How likely an unrelated book of this size reaches this evidence, at most: with 95 % confidence, as counted on unrelated
    /// books. Absent for a recipe that nobody counted for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_probability: Option<f64>,
    /// Which parts match; empty when the check was asked for no detail.
    pub spans: Vec<Span>,
    /// Whether an allow-list has the book, so that it did not decide the verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allowed: bool,
}

/// What a report says of a book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BookRef {
    /// Its library.
    pub library: String,
    /// Its id there.
    pub id: String,
    /// What may be done with it on the report's day.
    pub rights: Rights,
    /// The days that the rights it was given hold on, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validity: Option<Validity>,
    /// Its title, if known.
    pub title: Option<String>,
    /// Its authors.
    pub authors: Vec<String>,
    /// Its language, if known.
    pub language: Option<String>,
    /// Its length in bytes of UTF-8; 0 when only its gems are known.
    pub bytes: u64,
}

/// Two texts side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Comparison {
    /// The recipe used.
    #[schema(value_type = String)]
    pub recipe: RecipeName,
    /// How many gems the first text has, as in a report; in the score it is the query.
    pub gems_a: u32,
    /// How many gems the second text has; in the score it is the book.
    pub gems_b: u32,
    /// Common gems and shares.
    #[serde(flatten)]
    pub score: Score,
    /// Whether the rule calls them a match.
    #[serde(rename = "match")]
    pub matches: bool,
    /// The rule.
    pub rule: Rule,
    /// What the first is to the second.
    pub relation: Relation,
    /// Which parts match.
    pub spans: Vec<Span>,
}

impl BookRef {
    pub(super) fn on(day: Date, record: Record) -> Self {
        Self {
            rights: record.rights_on(day),
            validity: record.standing.validity,
            library: record.key.library.into(),
            id: record.key.id.into(),
            title: record.title,
            authors: record.authors,
            language: record.language,
            bytes: record.bytes,
        }
    }
}
