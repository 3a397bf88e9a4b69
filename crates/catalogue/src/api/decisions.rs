//! Filed checks, and the decisions about them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::Report;
use lapidary_checking::{Policy, Reason};
use lapidary_common::words;
use lapidary_store::Rights;

words! {
    /// What an entry says.
    pub enum Ruling {
        /// A check was made and filed.
        Checked = "checked",
        /// The text may be published.
        Accepted = "accepted",
        /// It may not.
        Refused = "refused",
        /// A decision is disputed.
        Appealed = "appealed",
        /// A book that was added later matches.
        Matched = "matched",
        /// Whoever made the last decision took it back.
        Withdrawn = "withdrawn",
        /// Somebody is to decide, or nobody in particular.
        Assigned = "assigned",
    }
}

impl Ruling {
    /// The ruling of this name, if people make it.
    #[must_use]
    pub fn of_a_person(word: &str) -> Option<Self> {
        Self::named(word).filter(|ruling| !matches!(ruling, Self::Checked | Self::Matched))
    }
}

words! {
    /// Where a filed check stands.
    pub enum CheckState {
        /// It waits for a decision: the text matches, perhaps a book that was added later, and nothing permits it.
        Open = "open",
        /// The last decision is disputed.
        Appealed = "appealed",
        /// It was decided.
        Decided = "decided",
        /// It needs no decision unless a book that is added later matches.
        Watched = "watched",
        /// It needs no decision, and is not watched.
        Clear = "clear",
    }
}

/// A decision to record about a filed check.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDecision {
    /// The id of the filed check.
    pub check: String,
    /// What was decided: `accepted`, `refused` or `appealed`. Or `withdrawn`, which takes back the last decision, if it is your own;
    /// or `assigned`.
    pub ruling: Ruling,
    /// Why. Only `withdrawn` and `assigned` need no reason.
    #[schema(max_length = 4000)]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// With `assigned`: who is to decide, as `actor` names them; nobody in particular if it is missing. Administrators name any key
    /// that sees the check, reviewers only their own.
    pub assignee: Option<String>,
}

/// A filed check, or a decision about one. Entries are never changed.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Decision {
    /// Its id. Ids are in the order of time.
    pub id: String,
    /// When it was made.
    #[serde(alias = "at")]
    pub created_at: Timestamp,
    /// Who: `local`, `anonymous`, or `key:` and the name of a key.
    pub actor: String,
    /// What it says.
    pub ruling: Ruling,
    /// The filed check that it is about; for `checked`, its own id.
    pub check: String,
    /// BLAKE3 of the checked text (UTF-8) in hexadecimal; of the gems if only those were sent.
    pub digest: String,
    /// The verdict of the check.
    pub verdict: Rights,
    /// Why the verdict is what it is, as in the report. Absent in entries of older versions.
    pub verdict_reason: Option<Reason>,
    /// The name of what was checked.
    pub name: Option<String>,
    /// The reference of the case.
    pub case: Option<String>,
    /// The reason for the decision.
    pub reason: Option<String>,
    /// For `checked`, if it is shown alone: the check.
    pub filed: Option<Filed>,
    /// For `checked`, if it is shown alone: the checked text, while it is kept.
    pub text: Option<KeptText>,
    /// For `checked`: where the check stands.
    pub state: Option<CheckState>,
    /// For `checked`: the id of the decision about it that holds, if there is one.
    pub decision_id: Option<String>,
    /// For `checked`, if it is shown alone: until when books that are added are looked up in it.
    pub watch_expires_at: Option<Timestamp>,
    /// For `matched`: the book. For `checked`: the last book that made the check wait for a decision again, while it does.
    pub matched_later: Option<LaterMatch>,
    /// The share of the text that is in protected or forbidden books, as in the report. Absent in entries of older versions.
    pub covered: Option<f64>,
    /// The first book that the report shows. Absent in entries of older versions.
    pub best_match: Option<BestMatch>,
    /// The batch in which the check was made.
    pub batch: Option<String>,
    /// For `checked`: who is to decide, if it is assigned. For `assigned`: to whom, or nobody in particular.
    pub assignee: Option<String>,
    /// For a decision: the entry that held before it. For `withdrawn`: the one that holds again.
    pub previous_id: Option<String>,
}

/// The first book that a report shows.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BestMatch {
    /// Its library.
    pub library: String,
    /// Its id in the library.
    pub id: String,
    /// Its title, if it is known.
    pub title: Option<String>,
}

/// A book that was added or changed after a check was filed, and matches it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LaterMatch {
    /// Its library.
    pub library: String,
    /// Its id in the library.
    pub id: String,
    /// Its title, if it is known.
    pub title: Option<String>,
    /// When it was found.
    pub matched_at: Timestamp,
}

/// The text of a filed check, which is kept for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeptText {
    /// Its length in bytes.
    pub bytes: u64,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// The texts of filed checks that are kept.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EvidenceStats {
    /// How many.
    pub texts: u64,
    /// Their bytes, before compression.
    pub bytes: u64,
}

/// The filed checks that are watched: each book that is added is looked up in them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WatchStats {
    /// How many.
    pub checks: u64,
    /// The bytes of what is kept of them, before compression.
    pub bytes: u64,
}

impl Decision {
    /// Whether its check says if the text may be published; see [`Report::is_answer`].
    #[must_use]
    pub fn is_about_answer(&self) -> bool {
        self.verdict.forbids() || self.verdict_reason.is_none_or(Reason::is_answer)
    }
}

/// A filed check: its answer, and all that the answer depends on besides the text.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Filed {
    /// The report as it was answered. It names the recipes, the rule and the day.
    pub report: Report,
    /// The id of the catalogue, which it keeps for ever.
    #[serde(alias = "catalogue")]
    pub catalogue_id: String,
    /// The state of the catalogue: a digest that changes whenever its books, recipes, allow-lists or policies do.
    #[serde(alias = "state")]
    pub catalogue_digest: String,
    /// The version of the program.
    pub version: String,
    /// The library that the check was limited to.
    pub library: Option<String>,
    /// The maximum number of matches.
    pub limit: usize,
    /// Whether spans were asked for.
    pub detail: bool,
    /// The length of the checked text in bytes. Absent if only gems were sent, and in entries of older versions.
    pub bytes: Option<u64>,
    /// Libraries of books that matched too, but are not among the `limit` that the report shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_libraries: Vec<String>,
    /// The digests of the texts that the books of the first matches had, in the order of the matches.
    #[serde(alias = "books", default, skip_serializing_if = "Vec::is_empty")]
    pub book_digests: Vec<String>,
    /// Whether print artifacts were to be stripped; if missing, each recipe decided.
    pub clean: Option<bool>,
    /// The policy of the check; if missing, those of the libraries decided.
    pub policy: Option<Policy>,
}

/// A page of decisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DecisionPage {
    /// The entries without their reports, oldest first, or with `state` newest first. There may be fewer than the limit, or none,
    /// although more follow.
    pub decisions: Vec<Decision>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}
