//! What a report says, in the terminal and on the HTML page.

use lapidary_gems::{Place, RecipeName, Rule};

use super::outcome::Outcome;
use super::page::clean;
use lapidary_catalogue::api::{CheckState, LaterMatch, Match, Report, Ruling};
use lapidary_checking::{Extent, Identity, InformationalReason, Reason, Relation, Span};
use lapidary_extract::position::{Position, PositionRange};
use lapidary_language::Language;
use lapidary_store::Rights;

/// The headline on a terminal: what became of the check, and the sentence on it.
pub(super) fn verdict(language: Language, report: &Report) -> String {
    let outcome = Outcome::of(report);
    let name = outcome.name(language);
    let name = if outcome.forbids() || !outcome.is_answer() {
        name.to_uppercase()
    } else {
        name
    };
    match sentence(language, report) {
        Some(sentence) => format!("{name}: {sentence}"),
        None if outcome == Outcome::NoMatch => language.verdict_no_match(),
        None => name,
    }
}

/// How much of the text the verdict is about, or why nothing is known.
pub(super) fn sentence(language: Language, report: &Report) -> Option<String> {
    match report.verdict {
        Rights::Forbidden => Some(match report.covered {
            Some(covered) => language.verdict_forbidden(&language.percent(covered)),
            None => language.verdict_forbidden_match(),
        }),
        Rights::Protected => Some(match report.covered {
            Some(covered) => language.verdict_protected(&language.percent(covered)),
            None => language.verdict_protected_match(),
        }),
        Rights::Free => Some(language.verdict_free()),
        Rights::PublicDomain => Some(language.verdict_public_domain()),
        Rights::Unknown => sentence_on_unknown(language, report),
    }
}

fn sentence_on_unknown(language: Language, report: &Report) -> Option<String> {
    match report.reason {
        Reason::Match if matches_only_allowed(report) => Some(language.verdict_only_allowed()),
        Reason::Match => Some(language.verdict_rights_unknown()),
        Reason::NoneDecides => Some(language.verdict_none_decides()),
        Reason::NoMatch | Reason::TooShort => None,
        Reason::MostlyCommon => Some(language.why_mostly_common()),
        Reason::NothingToCompare => Some(language.why_nothing_to_compare()),
    }
}

/// What an entry about a check says, in a word.
#[must_use]
pub fn ruling(language: Language, ruling: Ruling) -> String {
    match ruling {
        Ruling::Checked => language.c_checked(),
        Ruling::Accepted => language.c_accepted(),
        Ruling::Refused => language.c_refused(),
        Ruling::Appealed => language.c_appealed(),
        Ruling::Matched => language.c_matched(),
        Ruling::Withdrawn => language.c_withdrawn(),
        Ruling::Assigned => language.c_assigned(),
    }
}

/// Where a check stands, in a word or two.
#[must_use]
pub fn check_state(language: Language, state: CheckState) -> String {
    match state {
        CheckState::Open => language.c_state_open(),
        CheckState::Appealed => language.c_state_appealed(),
        CheckState::Decided => language.c_state_decided(),
        CheckState::Watched => language.c_state_watched(),
        CheckState::Clear => language.c_state_clear(),
    }
}

/// The book that was added after a check was filed, and matches it.
#[must_use]
pub fn later_match(language: Language, later: &LaterMatch) -> String {
    let title = clean(later.title.as_deref().unwrap_or(&later.id));
    language.matched_later(&title, &clean(&later.library))
}

fn matches_only_allowed(report: &Report) -> bool {
    let allowed = report
        .matches
        .iter()
        .filter(|found| found.allowed && found.informational.is_none());
    report.total > 0 && report.total == allowed.count()
}

/// Why a text was not checked, if its outcome does not say so.
#[must_use]
pub fn why_not_checked(language: Language, report: &Report) -> Option<String> {
    match report.reason {
        Reason::MostlyCommon => Some(language.why_mostly_common()),
        Reason::NothingToCompare => Some(language.why_nothing_to_compare()),
        Reason::Match | Reason::NoneDecides | Reason::NoMatch | Reason::TooShort => None,
    }
    .filter(|_| !report.is_answer())
}

/// The number of an earlier match of the same work, if the match at this index has one. Matches are counted from 1.
pub(super) fn edition(language: Language, report: &Report, at: usize) -> Option<String> {
    let work = report.matches.get(at)?.work;
    let first = report.matches.iter().position(|found| found.work == work)?;
    (first < at).then(|| language.another_edition(first as u64 + 1))
}

/// The recipes of a report.
pub(super) fn recipes(language: Language, recipes: &[RecipeName]) -> String {
    language.recipe(&language.names(recipes), recipes.len() as u64)
}

pub(super) fn subject(
    language: Language,
    name: &str,
    report: &Report,
    bytes: Option<u64>,
) -> String {
    let mut parts = Vec::new();
    parts.extend(bytes.map(|bytes| language.bytes(bytes)));
    parts.push(language.gems(report.gems.into()));
    if report.common_gems > 0 {
        parts.push(language.common_gems(report.common_gems.into()));
    }
    if report.allowed_gems > 0 {
        parts.push(language.allowed_gems(report.allowed_gems.into()));
    }
    format!("{name}: {}", parts.join(", "))
}

/// The report's only measure of certainty: how often a match like the one behind the verdict is an accident. `None` if that is
/// not known, or if the text is identical.
pub(super) fn certainty(language: Language, report: &Report) -> Option<String> {
    report.e_value.map(|expected| accident(language, expected))
}

/// How much of the text and of the book is common to both.
pub(super) fn shares(language: Language, found: &Match) -> String {
    let [text, book] = [found.score.share_of_query, found.score.share_of_book]
        .map(|share| language.percent(share));
    language.shares(found.score.common.into(), &text, &book)
}

/// The number of gems of the text that count.
pub(super) fn counted(report: &Report) -> u32 {
    report
        .gems
        .saturating_sub(report.common_gems)
        .saturating_sub(report.allowed_gems)
}

/// Describes the rule for a match.
pub(super) fn rule(language: Language, report: &Report) -> String {
    let mut rule = language.rule(report.rule.min_common.into());
    if report.rule.min_support > 0.0 {
        rule = format!("{rule} {}", language.rule_support());
    }
    if report.rule.min_share > 0.0 {
        rule = format!(
            "{rule} {}",
            language.rule_share(&language.percent(report.rule.min_share))
        );
    }
    if report.rule.min_score > 0.0 {
        rule = format!(
            "{rule} {}",
            language.rule_score(&language.percent(report.rule.min_score))
        );
    }
    if report.rule.min_share_of_few > report.rule.min_share {
        let share = language.percent(report.rule.min_share_of_few);
        rule = format!(
            "{rule} {}",
            language.rule_share_of_few(Rule::FEW.into(), &share)
        );
    }
    rule
}

/// The number of disabled books that would match otherwise.
pub(super) fn disabled(language: Language, report: &Report) -> Option<String> {
    let books = report.disabled as u64;
    (books > 0).then(|| language.disabled_books(books))
}

/// The number of matches that are only information.
pub(super) fn informing(language: Language, report: &Report) -> Option<String> {
    let books = report.informational as u64;
    (books > 0).then(|| language.informing_books(books))
}

/// The number of matches that are described nowhere, of `described` of them. Those that only inform are not missed.
pub(super) fn not_described(report: &Report, described: usize) -> usize {
    let described = report
        .matches
        .iter()
        .take(described)
        .filter(|found| found.informational.is_none())
        .count();
    report.total.saturating_sub(described)
}

/// Why a match is no part of the verdict, or is disputed.
pub(super) fn reservation(language: Language, found: &Match) -> Option<String> {
    match found.informational {
        Some(InformationalReason::UntrustedLibrary) => Some(language.informs_untrusted()),
        Some(InformationalReason::Quarantined) => Some(language.informs_quarantined()),
        Some(InformationalReason::Scattered) => Some(language.informs_scattered()),
        Some(InformationalReason::Quoted) => Some(language.informs_quoted()),
        Some(InformationalReason::Reworded) => Some(language.informs_reworded()),
        Some(InformationalReason::TooLittle) => Some(language.informs_too_little()),
        None if found.allowed => Some(language.on_allow_list()),
        None => found.disputed.then(|| language.is_disputed()),
    }
}

pub(super) fn rights(language: Language, rights: Rights) -> String {
    match rights {
        Rights::Forbidden => language.rights_forbidden(),
        Rights::Protected => language.rights_protected(),
        Rights::Free => language.rights_free(),
        Rights::PublicDomain => language.rights_public_domain(),
        Rights::Unknown => language.rights_unknown(),
    }
}

/// How text and book relate.
pub(super) fn relation(language: Language, found: &Match) -> String {
    let words = match found.relation {
        Some(Relation::SameText) => language.same_text(),
        Some(Relation::PartOfBook) => language.part_of_book(),
        Some(Relation::ContainsBook) => language.contains_book(),
        Some(Relation::Overlap) => return language.overlap(),
        Some(Relation::Quotations) => return language.quotations(),
        Some(Relation::SameWork) => return language.same_work(),
        None => return language.same_signature(),
    };
    with_changes(language, words, &found.spans)
}

/// What is said of a text that lies in another, and that it was changed if less than half of the gems of these passages are common.
pub(super) fn with_changes(language: Language, words: String, spans: &[Span]) -> String {
    let common: u64 = spans.iter().map(|span| u64::from(span.common)).sum();
    let gems = spans.iter().map(|span| span.query.gems);
    let all: u64 = gems
        .map(|of| u64::from(of.end.saturating_sub(of.start)))
        .sum();
    if 2 * common < all {
        language.with_changes(&words)
    } else {
        words
    }
}

/// How long a passage is, and how much of it reads the same, in short: `5,400 characters, 98.7 % the same`.
pub(super) fn likeness(language: Language, identity: &Identity) -> String {
    let [_, share] = shares_of(language, identity);
    language.likeness(&language.characters(identity.characters), &share)
}

/// How much of a passage is identical: `98.7 % of 54,000 characters are identical`.
pub(super) fn identity(language: Language, identity: &Identity) -> String {
    let [share, as_read] = shares_of(language, identity);
    let written = language.identical(&share, identity.characters);
    if identity.respelled == 0 || share == as_read {
        return written;
    }
    language.identical_as_read(&written, &as_read)
}

/// The shares of a passage that are identical as written, and as read.
fn shares_of(language: Language, identity: &Identity) -> [String; 2] {
    [identity.share(), identity.share_as_read()].map(|share| {
        // Rounded down: 100 only if nothing is missing.
        let percent = language.decimal((share * 1_000.0 + 1e-9).floor() / 10.0, 1);
        let percent = language.percent_of(&percent);
        if identity.lower_bound {
            language.at_least(&percent)
        } else {
            percent
        }
    })
}

/// Where a passage is in a text, as readers know it.
pub(super) fn located(language: Language, located: &PositionRange) -> String {
    let PositionRange {
        start: from,
        end: to,
    } = located;
    // What is the same at the end is not repeated.
    let end = Position {
        percent: to.percent,
        chapter: to.chapter.clone().filter(|_| to.chapter != from.chapter),
        page: to.page.filter(|_| to.page != from.page),
        paragraph: to
            .paragraph
            .filter(|_| (&to.chapter, to.paragraph) != (&from.chapter, from.paragraph)),
    };
    match position(language, &end) {
        // The same tenth of a percent.
        end if end
            == position(
                language,
                &Position {
                    percent: from.percent,
                    ..Position::default()
                },
            ) =>
        {
            position(language, from)
        }
        end => language.between(&position(language, from), &end),
    }
}

pub(super) fn position(language: Language, position: &Position) -> String {
    let percent = language.percent_of(&language.decimal(position.percent, 1));
    let parts = [
        position
            .chapter
            .as_deref()
            .map(|chapter| language.chapter(&clean(chapter))),
        position.page.map(|page| language.page(page.into())),
        position
            .paragraph
            .map(|paragraph| language.paragraph(paragraph.into())),
        Some(percent),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Where something is in a text.
pub(super) fn place(language: Language, extent: &Extent, at: Option<&PositionRange>) -> String {
    if let Some(at) = at {
        return located(language, at);
    }
    match extent.bytes {
        Some(Place { start, end }) => language.place_bytes(start, end),
        None => language.place_gems(extent.gems.start.into(), extent.gems.end.into()),
    }
}

/// How many unrelated books are expected to match as well, in words. A small number is also the probability that one does,
/// which is easier to understand.
pub(super) fn accident(language: Language, expected: f64) -> String {
    let indexes = expected.recip();
    if expected >= 0.5 {
        language.accident_in_this(expected.round() as u64)
    } else if indexes < 1e6 {
        language.accident_once(two_digits(indexes))
    } else {
        language.accident_never()
    }
}

/// The evidence of a match, and how often one like it is an accident.
pub(super) fn figures(language: Language, found: &Match) -> String {
    let evidence = language.decimal(found.evidence, 1);
    let evidence = match found.recipes.len() {
        1 => language.evidence(&evidence),
        _ => language.evidence_of(&recipes(language, &found.recipes), &evidence),
    };
    match found.e_value {
        Some(expected) => format!("{evidence}; {}", accident(language, expected)),
        None => evidence,
    }
}

/// Rounds a number to two digits.
fn two_digits(number: f64) -> u64 {
    let step = 10_f64.powf((number.log10().floor() - 1.0).max(0.0));
    ((number / step).round() * step) as u64
}

/// The total number of gems, if `common` of them are this share.
pub(super) fn whole(common: u32, share: f64) -> u32 {
    if share > 0.0 {
        (f64::from(common) / share).round() as u32
    } else {
        0
    }
}
