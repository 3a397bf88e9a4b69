//! The input and output of a check.

use jiff::civil::Date;
use lapidary_gems::{RecipeName, Rule, WrittenGem};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::index::{Coverage, Library, Record, Rights, Validity};
use crate::matching::{Relation, Score, Span};

/// Number of matches in a report if no limit is given.
const DEFAULT_LIMIT: usize = 100;

/// What to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// A text.
    Text {
        /// The text.
        text: String,
        /// Whether to strip print artifacts such as running heads and page numbers. `None`: the recipe decides.
        clean: Option<bool>,
    },
    /// The gems of a text, in text order.
    Gems(Vec<WrittenGem>),
}

impl Query {
    /// A text; the recipe decides whether print artifacts are stripped.
    #[must_use]
    pub fn text(text: String) -> Self {
        Self::Text { text, clean: None }
    }

    /// The text, unless the query is a list of gems.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Gems(_) => None,
        }
    }
}

/// Options of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckOptions {
    /// The recipe. Default: the catalogue's default.
    pub recipe: Option<RecipeName>,
    /// Consider only books of this library.
    pub library: Option<Library>,
    /// Maximum number of matches to show, best first. The verdict always considers all matches.
    pub limit: usize,
    /// Whether to return spans.
    pub detail: bool,
    /// Use the rights in effect on this day. Default: today, in UTC.
    pub day: Option<Date>,
    /// Whether to accept a recipe that some books have no gems of yet.
    pub allow_incomplete: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { recipe: None, library: None, limit: DEFAULT_LIMIT, detail: true, day: None, allow_incomplete: false }
    }
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Report {
    /// The strictest rights among the matches; `unknown` if there are none.
    pub verdict: Rights,
    /// The recipe used.
    #[schema(value_type = String)]
    pub recipe: RecipeName,
    /// How many books have gems of the recipe, if not all do. The check could not find the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Number of distinct gems in the query. For a text, this is the number that a book with all of it would have.
    /// `hardened` looks a text up by more gems than these, to find it despite changes.
    pub gems: u32,
    /// Number of query gems that some library did not count because more of its books have them than the rule's cap
    /// allows. Each library counts for itself, so none affects what counts in another.
    pub common_gems: u32,
    /// Number of query gems not counted because they are in an allow-list.
    #[serde(default)]
    pub allowed_gems: u32,
    /// The day whose rights were used, in UTC.
    pub day: Date,
    /// The rule that decides what is a match.
    pub rule: Rule,
    /// Expected number of unrelated books in this index that reach the rule's minimum of common gems by chance.
    pub chance: f64,
    /// Number of matching books, including those not shown.
    pub total: usize,
    /// Number of disabled books that would match. They do not count.
    #[serde(default)]
    pub disabled: usize,
    /// Upper bound on the probability that the verdict is wrong: that any book of the index, though unrelated to the
    /// text, reaches the evidence of the best match behind the verdict. It holds with 95 % confidence, measured on
    /// unrelated books, and is close to 1 if too few were measured for an index of this size. Absent if no match
    /// decides the verdict, or if the recipe was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_probability: Option<f64>,
    /// The matches, best first.
    pub matches: Vec<Match>,
    /// A caveat about the verdict, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A book that shares gems with the query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Match {
    /// The book.
    pub book: BookRef,
    /// Common gems and shares.
    #[serde(flatten)]
    pub score: Score,
    /// How query and book relate.
    pub relation: Relation,
    /// Whether the book's text is the query's text, byte for byte or after stripping print artifacts. It is then a
    /// match regardless of its gems.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identical: bool,
    /// Expected number of unrelated books in this index that reach as many common gems by chance.
    pub chance: f64,
    /// Combined weight of the common gems. A gem found only in this book weighs 1; the more books have it, the less
    /// it weighs. A gem that stands alone, out of sequence with the others, weighs half.
    #[serde(default)]
    pub evidence: f64,
    /// Upper bound on the probability that an unrelated book of this size reaches this evidence. It holds with 95 %
    /// confidence, measured on unrelated books. Absent if the recipe was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_probability: Option<f64>,
    /// The matching parts; empty unless the check asked for detail.
    pub spans: Vec<Span>,
    /// Whether the book is in an allow-list and so did not affect the verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allowed: bool,
}

/// A book, as shown in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BookRef {
    /// The library.
    pub library: String,
    /// The book's id in its library.
    pub id: String,
    /// The rights in effect on the report's day.
    pub rights: Rights,
    /// The days on which the book's assigned rights are in effect, if limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validity: Option<Validity>,
    /// The title, if known.
    pub title: Option<String>,
    /// The authors.
    pub authors: Vec<String>,
    /// The language, if known.
    pub language: Option<String>,
    /// Length in bytes of UTF-8; 0 if only the gems are known.
    pub bytes: u64,
}

/// A comparison of two texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Comparison {
    /// The recipe used.
    #[schema(value_type = String)]
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
