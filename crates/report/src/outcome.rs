//! What became of a check, in the words of people who publish. Programs read the verdict and its reason.

use lapidary_catalogue::api::Report;
use lapidary_checking::Reason;
use lapidary_language::Language;
use lapidary_store::Rights;

/// What became of a check, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nobody may publish the text.
    Forbidden,
    /// The text is in protected books.
    Protected,
    /// The text matches, but no match decides.
    Undecided,
    /// The text has too few gems for a match.
    TooShort,
    /// No match could have been found, for another reason.
    NotChecked,
    /// The file could not be read.
    Unreadable,
    /// The text, or part of it, is in a book that may be published.
    Free,
    /// Nothing matches.
    NoMatch,
}

impl Outcome {
    /// All outcomes, the gravest first.
    pub const ALL: [Self; 8] = [
        Self::Forbidden,
        Self::Protected,
        Self::Undecided,
        Self::TooShort,
        Self::NotChecked,
        Self::Unreadable,
        Self::Free,
        Self::NoMatch,
    ];

    /// That of a check with this verdict, for this reason.
    #[must_use]
    pub fn new(verdict: Rights, reason: Reason) -> Self {
        match (verdict, reason) {
            (Rights::Forbidden, _) => Self::Forbidden,
            (Rights::Protected, _) => Self::Protected,
            (Rights::Free | Rights::PublicDomain, _) => Self::Free,
            (Rights::Unknown, Reason::Match | Reason::NoneDecides) => Self::Undecided,
            (Rights::Unknown, Reason::NoMatch) => Self::NoMatch,
            (Rights::Unknown, Reason::TooShort) => Self::TooShort,
            (Rights::Unknown, Reason::MostlyCommon | Reason::NothingToCompare) => Self::NotChecked,
        }
    }

    /// That of a report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        Self::new(report.verdict, report.reason)
    }

    /// Whether the text may not be published.
    #[must_use]
    pub fn forbids(self) -> bool {
        matches!(self, Self::Forbidden | Self::Protected)
    }

    /// Whether the check says something about the text.
    #[must_use]
    pub fn is_answer(self) -> bool {
        !matches!(self, Self::TooShort | Self::NotChecked | Self::Unreadable)
    }

    /// The class of its colour.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Protected => "protected",
            Self::Undecided => "unknown",
            Self::TooShort | Self::NotChecked | Self::Unreadable => "not_checked",
            Self::Free => "free",
            Self::NoMatch => "no_match",
        }
    }

    /// The outcome in a word or two.
    #[must_use]
    pub fn name(self, language: Language) -> String {
        match self {
            Self::Forbidden => language.outcome_forbidden(),
            Self::Protected => language.outcome_protected(),
            Self::Undecided => language.outcome_undecided(),
            Self::TooShort => language.outcome_too_short(),
            Self::NotChecked => language.outcome_not_checked(),
            Self::Unreadable => language.outcome_unreadable(),
            Self::Free => language.outcome_free(),
            Self::NoMatch => language.outcome_no_match(),
        }
    }

    /// That so many files have this outcome.
    pub(crate) fn of_files(self, language: Language, files: u64) -> String {
        match self {
            Self::Forbidden => language.forbidden_of(files),
            Self::Protected => language.protected_of(files),
            Self::Undecided => language.undecided_of(files),
            Self::TooShort => language.too_short_of(files),
            Self::NotChecked => language.not_checked_of(files),
            Self::Unreadable => language.unreadable_of(files),
            Self::Free => language.free_of(files),
            Self::NoMatch => language.no_match_of(files),
        }
    }
}
