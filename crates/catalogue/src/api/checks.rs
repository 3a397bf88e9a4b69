//! Checks.

use std::collections::BTreeSet;

use jiff::civil::Date;
use lapidary_gems::{Place, RecipeName, Rule, Trick, WrittenGem};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::Problem;
use lapidary_checking::{
    Exact, Identity, InformationalReason, Passage, Policy, Reason, Relation, Score, Span, exact,
    exact_in_other_words,
};
use lapidary_extract::position::{Locator, PositionRange};
use lapidary_extract::{Heading, HiddenCount, HiddenWords};
use lapidary_store::{Coverage, Library, Record, Rights, Validity};

/// A check: exactly one of `text`, `gems` and `url`.
#[skip_serializing_none]
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The gems of a text, in text order.
    #[schema(max_items = 100_000)]
    pub gems: Option<Vec<WrittenGem>>,
    /// With `gems`: the positions in this list, counted from 0, of the gems that a book with the same text would have. The
    /// others are only looked up, which finds changed copies. By default, all.
    #[schema(max_items = 100_000)]
    pub indexed: Option<Vec<u32>>,
    /// A text.
    pub text: Option<String>,
    /// The address of a file that the server fetches, if its setting `check-urls` allows that: for `http` and `https`, through at most
    /// five redirects, within a minute, and no larger than a body. Or an object in a bucket of the setting `s3.buckets`:
    /// `s3://BUCKET/KEY`. Not in a batch.
    #[schema(max_length = 2000)]
    pub url: Option<String>,
    /// Whether to remove print artifacts from the text; the default depends on the recipe.
    pub clean: Option<bool>,
    /// With `text`: what was left out of it when it was read from a file, because no reader sees it. The report repeats it.
    #[schema(max_items = 12)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<HiddenCount>,
    /// The language of the text, as a BCP 47 tag. Only signatures that stem by it depend on it; otherwise they detect it.
    pub language: Option<String>,
    /// The recipe; by default the catalogue's default for a text, and for gems the one that they belong to.
    pub recipe: Option<String>,
    /// Several recipes, in place of `recipe`, or `["all"]`. A book matches if it does under any of them, and the verdict is
    /// the strictest.
    #[schema(max_items = 8, example = json!(["hardened", "released"]))]
    pub recipes: Option<Vec<String>>,
    /// Check only against the books of this library.
    #[schema(
        min_length = 1,
        max_length = 512,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub library: Option<String>,
    /// The maximum number of matches to show, best first.
    #[schema(minimum = 0, maximum = 1000)]
    pub limit: Option<usize>,
    /// Whether to show spans.
    pub detail: Option<bool>,
    /// Use the rights in effect on this day; by default today, in UTC.
    pub day: Option<Date>,
    /// Whether to allow a recipe for which some books do not have gems yet; the report then says how many have
    /// (`coverage`).
    pub allow_incomplete: Option<bool>,
    /// From how much on a match decides, in place of the policies of the libraries. The gate does not go by it.
    pub policy: Option<Policy>,
    /// Whether to file the report, so that decisions about it can be recorded. Only in a single check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub record: bool,
    /// With `record`: the name of what is checked.
    #[schema(max_length = 1000)]
    pub name: Option<String>,
    /// With `record`: the reference of the case.
    #[schema(max_length = 1000)]
    pub case: Option<String>,
    /// With `record`: the batch that has a file of this `name`.
    pub batch: Option<String>,
    /// The `ref` of a line in a batch; refused in a single check.
    #[serde(rename = "ref")]
    #[schema(ignore)]
    pub mark: Option<Value>,
}

/// The query of a check with a raw body or a form.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct CheckParameters {
    /// With a raw body or a form: the recipe
    pub recipe: Option<String>,
    /// With a raw body or a form: several recipes separated by commas, in place of `recipe`, or `all`
    pub recipes: Option<String>,
    /// With a raw body or a form: check only against the books of this library
    #[param(
        min_length = 1,
        max_length = 512,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"
    )]
    pub library: Option<String>,
    /// With a raw body or a form: the maximum number of matches to show
    #[param(maximum = 1000)]
    pub limit: Option<usize>,
    /// With a raw body or a form: whether to show spans
    pub detail: Option<bool>,
    /// With a raw body or a form: use the rights in effect on this day
    pub day: Option<Date>,
    /// With a raw body or a form: whether to allow a recipe for which some books do not have gems yet; the report then says how
    /// many have (`coverage`)
    pub allow_incomplete: Option<bool>,
    /// With a raw body or a form: the policy, as an object in JSON
    pub policy: Option<String>,
    /// With a raw body or a form: whether to remove print artifacts, such as running heads; the default depends on the recipe
    pub clean: Option<bool>,
    /// With a raw body or a form: the language of the text; only signatures that stem by it depend on it
    pub language: Option<String>,
    /// With a raw body: whether to file the report, so that decisions about it can be recorded
    pub record: Option<bool>,
    /// With `record`: the name of what is checked
    pub name: Option<String>,
    /// With `record`: the reference of the case
    pub case: Option<String>,
    /// With `record`: the batch that has a file of this `name`
    pub batch: Option<String>,
}

/// The form that existing clients post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GemsForm {
    /// Gems, separated by commas: decimal numbers, or 16 hexadecimal digits each with hardened recipes.
    #[schema(
        pattern = "^([0-9A-Fa-f]+(,[0-9A-Fa-f]+)*)?$",
        example = "2054203394,772109542,3170125001"
    )]
    pub gems: String,
}

/// The result of a check.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Report {
    /// The strictest rights among the matches; `unknown` if there are none.
    pub verdict: Rights,
    /// Why the verdict is what it is. With `too_short`, `mostly_common` and `nothing_to_compare`, the text was not
    /// checked: the verdict `unknown` then says nothing about it.
    pub reason: Reason,
    /// The share of the text that is literally the same in protected or forbidden books, from 0 to 1: of all such matches
    /// together, by bytes, or by gems if only those were sent. Up to 200 matches count besides those shown. Absent if such a
    /// match was found only by a signature that does not tell where in the text it is.
    pub covered: Option<f64>,
    /// The recipe behind the verdict. The number of gems, the rule and the E-value are of this recipe.
    #[schema(value_type = String)]
    pub recipe: RecipeName,
    /// All recipes that were used, without those that only books which inform need.
    #[schema(value_type = Vec<String>)]
    pub recipes: Vec<RecipeName>,
    /// How many books have gems of the recipes used, if some may have none. The check could not find the others. Books of
    /// libraries that only inform are not counted.
    pub coverage: Option<Coverage>,
    /// Number of distinct gems in the query. For a text, this is the number that a book with the same text would have, or that a match
    /// has in common with it, if that is more.
    /// `hardened` looks up more gems than these, so that changed copies are found. With a secret, this is estimated from the length,
    /// but for administrators.
    pub gems: u32,
    /// Number of distinct gems that were looked up.
    #[serde(default)]
    pub looked_up: u32,
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
    /// Number of matching books, including those not shown, but without those that only inform.
    pub total: usize,
    /// Number of matching books that are only information: they decide nothing ([`Match::informational`]).
    #[serde(alias = "informing", default, skip_serializing_if = "is_zero")]
    pub informational: usize,
    /// Number of books with gems of the text that were not compared with it, because there were too many of their library. Those
    /// that only inform are not counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncompared: usize,
    /// Number of disabled books that would match. They do not count. Those that would only inform are left out.
    #[serde(default)]
    pub disabled: usize,
    /// That of the match behind the verdict ([`Match::e_value`]). Absent if no match decides the verdict.
    pub e_value: Option<f64>,
    /// The matches, best first. Those that only inform come last.
    pub matches: Vec<Match>,
    /// Signs of disguise in the text. Absent if there are none, and for a list of gems.
    pub disguise: Option<Disguise>,
    /// The id of the filed check, if it was filed.
    pub filed: Option<String>,
    /// Whether the text was kept with the filed check. Absent if it was not filed, or only gems were sent.
    pub text_kept: Option<bool>,
    /// A caveat about the verdict, if any.
    pub note: Option<String>,
    /// The libraries of all matches that count for whoever asked, shown or not. Filed checks keep them; answers have them not.
    #[serde(skip)]
    pub libraries: BTreeSet<Library>,
    /// The library of the book behind the verdict. Not in answers, either.
    #[serde(skip)]
    pub decided_by: Option<Library>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(super) fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// How many spans of a report get positions for readers.
const LOCATED: usize = 1_000;

impl Report {
    /// Whether it says if the text may be published. Otherwise the text counts as not checked, like a file that cannot be
    /// read. What forbids to publish a text is an answer, however little was read.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        self.verdict.forbids() || self.reason.is_answer()
    }

    /// Says where readers find what the report names of a text with these headings. Of gems, nobody knows.
    pub fn locate_in(&mut self, text: Option<&str>, headings: &[Heading]) {
        let has_places =
            self.disguise.is_some() || self.matches.iter().any(|found| !found.spans.is_empty());
        if let Some(text) = text.filter(|_| has_places) {
            self.locate(&Locator::new(text, headings));
        }
    }

    /// Says where readers find the spans and the disguised words, in a text with this locator and in the books. Only the
    /// first 1,000 spans get that, so that a report does not become much longer.
    pub fn locate(&mut self, text: &Locator) {
        let spans = self.matches.iter_mut().flat_map(|found| {
            let bytes = found.book.bytes;
            found.spans.iter_mut().map(move |span| (bytes, span))
        });
        for example in self
            .disguise
            .iter_mut()
            .flat_map(|signs| &mut signs.examples)
        {
            example.position = Some(text.locate(example.bytes));
        }
        for (bytes, span) in spans.take(LOCATED) {
            span.query_position = span.query.bytes.map(|place| text.locate(place));
            span.book_position = span
                .book
                .bytes
                .and_then(|place| PositionRange::in_length(place, bytes));
        }
    }
}

/// Signs of disguise in a text: tricks that people hardly notice, but that hide a copy from programs. What ordinary texts
/// have too, such as soft hyphens and accents, is not counted. Hidden words of its file are always.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Disguise {
    /// Whether the text is disguised: some trick is in more of its words than in any ordinary text.
    pub disguised: bool,
    /// The share of words with any trick.
    pub share: f64,
    /// Number of invisible characters and thin blanks inside words.
    pub invisible: u64,
    /// Number of letters of another script inside words, and of symbols used as letters.
    pub look_alikes: u64,
    /// Number of combining marks that belong to no language.
    pub marks: u64,
    /// Number of words with blanks between their letters.
    pub letter_spaced: u64,
    /// Number of digits that stand for letters.
    pub digits: u64,
    /// Number of hyphens inside words.
    pub hyphens: u64,
    /// Number of words with tags or character references inside.
    #[serde(default)]
    pub markup: u64,
    /// Number of words with each letter twice, or with the inner letters in another order.
    #[serde(default)]
    pub misspelled: u64,
    /// The first few words with each trick.
    pub examples: Vec<DisguisedWord>,
    /// Words of the file that its readers do not see. They were left out of the text.
    pub hidden: Option<HiddenText>,
}

/// Words of a file that its readers do not see, such as white text on white paper. They are not part of its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HiddenText {
    /// How many words are hidden.
    pub words: u64,
    /// Their share of all words of the file, from 0 to 1.
    pub share: f64,
    /// How they are hidden.
    #[serde(alias = "ways")]
    pub methods: Vec<HiddenCount>,
}

impl HiddenText {
    /// What is hidden in a file with this text; `None` if nothing is.
    #[must_use]
    pub fn of(hidden: &HiddenWords, text: &str) -> Option<Self> {
        let words = hidden.words();
        let seen = text
            .split_whitespace()
            .filter(|word| word.contains(char::is_alphanumeric));
        (words > 0).then(|| {
            let share = words as f64 / (words as f64 + seen.count() as f64);
            Self {
                words,
                share,
                methods: hidden.counts().collect(),
            }
        })
    }
}

/// An example of a disguised word.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DisguisedWord {
    /// The trick.
    pub trick: Trick,
    /// Where the word is in the text.
    pub bytes: Place,
    /// Where readers find it.
    #[serde(alias = "at")]
    pub position: Option<PositionRange>,
    /// The text before it.
    pub before: String,
    /// The word, or the start of a long one.
    pub word: String,
    /// The text after it.
    pub after: String,
}

/// A book that shares gems with the query.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Match {
    /// The book.
    pub book: BookRef,
    /// The recipes that found it. The figures are of the first.
    #[schema(value_type = Vec<String>)]
    pub recipes: Vec<RecipeName>,
    /// The number of its work in this report. Matches with the same number are editions of one work.
    pub work: u32,
    /// Common gems and shares.
    #[serde(flatten)]
    pub score: Score,
    /// How query and book relate. Absent if a signature found the book that does not tell where in the texts its gems are,
    /// unless the texts are identical.
    pub relation: Option<Relation>,
    /// Whether the book's text is the query's text, byte for byte or after stripping print artifacts. It is then a
    /// match regardless of its gems.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identical: bool,
    /// Combined weight of the common gems. A gem found only in this book weighs 1; the more books have it, the less
    /// it weighs. An isolated gem, out of sequence with the others, weighs half.
    #[serde(default)]
    pub evidence: f64,
    /// How many unrelated books of an index of this size are expected to match as well as this, by accident: an upper bound,
    /// fitted to unrelated books. Below 0.01, it is also the probability that one does. Absent if the text is identical, and
    /// with a signature. Books that only inform are included.
    pub e_value: Option<f64>,
    /// The matching parts; empty unless the check asked for detail, and if it is not known where they are.
    pub spans: Vec<Span>,
    /// How much of the passages below together is identical, word for word. Absent if the book's text is not known.
    pub exact: Option<Identity>,
    /// What is alike in and around the matching parts, compared word by word; empty if the book's text is not known. What others show
    /// already is left out, and so are phrases: passages with fewer than 100 letters alike, beside others with four times as many
    /// together; else those with fewer than 50, or 25.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<Passage>,
    /// Whether the book is in an allow-list and so did not affect the verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allowed: bool,
    /// Why the book is only information, if it is: it then affects neither the verdict nor anything else in the report.
    #[serde(alias = "informs")]
    pub informational: Option<InformationalReason>,
    /// Whether only the gems of the book are known, and a book of another library has passages of this text that it claims.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disputed: bool,
}

impl Match {
    /// Whether the book affects the verdict.
    #[must_use]
    pub fn decides(&self) -> bool {
        !self.allowed && self.informational.is_none()
    }

    /// Compares the passages of a text with the book's text, word by word; each text has a locator.
    pub fn compare(&mut self, text: &str, in_text: &Locator, book: &str, in_book: &Locator) {
        let compare = if self.informational == Some(InformationalReason::Reworded) {
            exact_in_other_words
        } else {
            exact
        };
        let Exact {
            mut passages,
            total,
        } = compare(text, book, &self.spans);
        for passage in &mut passages {
            passage.query_position = Some(in_text.locate(passage.query));
            passage.book_position = Some(in_book.locate(passage.book));
        }
        for span in &mut self.spans {
            span.query_position = span.query.bytes.map(|place| in_text.locate(place));
            span.book_position = span.book.bytes.map(|place| in_book.locate(place));
        }
        self.exact = Some(total);
        self.passages = passages;
    }
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

impl BookRef {
    /// A book as described by its record on a given day.
    #[must_use]
    pub fn on(day: Date, record: Record) -> Self {
        Self {
            rights: record.rights_on(day),
            validity: record.standing.validity,
            library: record.key.library.into(),
            id: record.key.id.into(),
            title: record.description.title,
            authors: record.description.authors,
            language: record.description.language,
            bytes: record.bytes,
        }
    }
}

/// A line of the response.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckAnswer {
    /// The line of the request that this answers, or the number of the file in a form, starting at 1.
    pub line: u64,
    /// The name of the file, if it came with a form.
    pub file: Option<String>,
    /// The `ref` of that line.
    #[serde(rename = "ref")]
    pub mark: Option<Value>,
    /// The report of the check.
    pub report: Option<Report>,
    /// Or why the check was not made.
    pub problem: Option<Problem>,
}
