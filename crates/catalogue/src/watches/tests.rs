use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use jiff::ToSpan as _;
use lapidary_language::Language;
use lapidary_store::{Actor, AuditFrom, BookKey, Library, Rights, RowChange};
use proptest::prelude::*;

use super::*;
use crate::api::{CheckState, Decision, FindingCode, NewDecision, Ruling};
use crate::doctor::diagnose;
use crate::{Case, CheckOptions, Content, NewEntry, Query};

/// The chapter of a book that nothing else has.
const BASE: u8 = 1 << 7;

/// A text of some of eight chapters, as the bits say.
fn text_of(chapters: u8) -> String {
    let mut text = String::new();
    for chapter in (0..8).filter(|chapter| chapters >> chapter & 1 == 1) {
        text.extend((chapter * 1_000..).take(900).map(word));
    }
    text
}

fn word(number: u64) -> String {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let letters = (0..8).map(|at| (b'a' + (mixed >> (8 * at)) as u8 % 26) as char);
    letters.chain([' ']).collect()
}

fn book(library: &str, id: u32) -> BookKey {
    BookKey {
        library: library.parse().expect("a library"),
        id: id.to_string().parse().expect("an id"),
    }
}

fn add(catalogue: &Catalogue, key: BookKey, rights: Rights, chapters: u8) {
    let text = Content::text(text_of(chapters));
    let editor = catalogue.by(Actor::Local);
    let added = editor.books().add(NewEntry::new(key, rights, text));
    added.expect("it is added");
}

fn distrust(catalogue: &Catalogue, library: &str) {
    let library: Library = library.parse().expect("a library");
    let editor = catalogue.by(Actor::Local);
    let changed = editor.libraries().set_trust(&library, false);
    assert!(changed.expect("it is written"));
}

/// Files a check. Returns its id.
fn file(catalogue: &Catalogue, text: String) -> String {
    let options = CheckOptions {
        record: Some(Case::default()),
        ..CheckOptions::default()
    };
    let editor = catalogue.by(Actor::Local);
    let report = editor
        .decisions()
        .check(&Query::text(text), &[], &options)
        .expect("a report");
    report.filed.expect("it is filed")
}

/// Looks up all books that there are.
fn search(catalogue: &Catalogue) {
    let editor = catalogue.by(Actor::Local);
    loop {
        editor.watches().search_next(|| false).expect("a store");
        let progress = catalogue.watches().progress().expect("a store");
        let last = catalogue.store.last_audited().expect("a log");
        if progress.is_none_or(|progress| progress.is_at(last)) {
            return;
        }
    }
}

fn shown(catalogue: &Catalogue, check: &str) -> Decision {
    let shown = catalogue.decisions().get(check, None);
    shown.expect("it is there")
}

fn state(catalogue: &Catalogue, check: &str) -> CheckState {
    shown(catalogue, check).state.expect("a state")
}

/// The same as its state: what a check of the same text is told now.
fn is_forbidden(catalogue: &Catalogue, text: String) -> bool {
    let report = catalogue
        .checks()
        .report(&Query::text(text), &CheckOptions::default());
    report.expect("a report").verdict.forbids()
}

fn expect_as_today(catalogue: &Catalogue, filed: &[(String, u8)]) {
    for (check, chapters) in filed {
        let expected = match (is_forbidden(catalogue, text_of(*chapters)), chapters) {
            (true, _) => CheckState::Open,
            (false, 0) => CheckState::Clear,
            (false, _) => CheckState::Watched,
        };
        assert_eq!(state(catalogue, check), expected, "{chapters:b}");
    }
}

fn rows_of(catalogue: &Catalogue, prefix: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let rows = catalogue.store.page(Table::Decisions, prefix, None, 9_999);
    rows.expect("a store")
}

#[derive(Debug, Clone)]
enum Act {
    File(u8),
    Add { chapters: u8, is_trusted: bool },
    Search,
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
    let chapters = (0..7_u8, 0..7_u8).prop_map(|(a, b)| 1 << a | 1 << b);
    prop_oneof![
        3 => chapters.clone().prop_map(Act::File),
        1 => Just(Act::File(0)),
        3 => (chapters, any::<bool>()).prop_map(|(chapters, is_trusted)| Act::Add {
            chapters,
            is_trusted,
        }),
        1 => Just(Act::Search),
        1 => Just(Act::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Whatever comes first, a check stands in the end where it would if it were filed then.
    #[test]
    fn a_check_is_open_if_and_only_if_a_book_that_counts_matches(
        acts in proptest::collection::vec(act(), 1..24),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || Catalogue::open_or_create(folder.path()).expect("a catalogue");
        let mut catalogue = open();
        distrust(&catalogue, "rival");
        add(&catalogue, book("house", 0), Rights::Protected, BASE);
        let mut filed = Vec::new();
        for (number, act) in (1..).zip(acts) {
            match act {
                Act::File(chapters) => {
                    let check = file(&catalogue, text_of(chapters));
                    // It may be open because of a book that only informs.
                    let was_open = state(&catalogue, &check) == CheckState::Open;
                    filed.push((check, chapters, was_open));
                }
                Act::Add { chapters, is_trusted } => {
                    let library = if is_trusted { "house" } else { "rival" };
                    add(&catalogue, book(library, number), Rights::Protected, chapters);
                }
                Act::Search => search(&catalogue),
                Act::Restart => {
                    drop(catalogue);
                    catalogue = open();
                }
            }
        }
        search(&catalogue);
        for (check, chapters, was_open) in &filed {
            let is_open = *was_open || is_forbidden(&catalogue, text_of(*chapters));
            prop_assert_eq!(state(&catalogue, check) == CheckState::Open, is_open, "{:b}", chapters);
        }
    }
}

/// No book is missed that is added while a check is made and filed.
#[test]
fn checks_books_and_searches_at_once_miss_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    add(&catalogue, book("house", 0), Rights::Protected, BASE);
    let is_done = AtomicBool::new(false);
    let filed = thread::scope(|scope| {
        let filing = scope.spawn(|| {
            let mut filed = Vec::new();
            for _ in 0..20 {
                for chapter in 0..4 {
                    let chapters = 1 << chapter;
                    filed.push((file(&catalogue, text_of(chapters)), chapters));
                }
            }
            filed
        });
        scope.spawn(|| {
            for number in 1..4 {
                // While some of the checks are filed.
                while rows_of(&catalogue, b"w").len() < 10 * number as usize {
                    thread::yield_now();
                }
                add(
                    &catalogue,
                    book("house", number),
                    Rights::Protected,
                    1 << number,
                );
            }
        });
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let editor = catalogue.by(Actor::Local);
                editor.watches().search_next(|| false).expect("a store");
            }
        });
        let filed = filing.join().expect("they are filed");
        is_done.store(true, Ordering::Relaxed);
        filed
    });
    search(&catalogue);
    expect_as_today(&catalogue, &filed);
}

/// The work between two notes of what was done is bounded, and goes on where it ended.
#[test]
fn a_book_that_matches_many_checks_finds_them_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    add(&catalogue, book("house", 0), Rights::Protected, BASE);
    let most = super::search::MOST_JUDGED;
    let filed: Vec<String> = (0..=most).map(|_| file(&catalogue, text_of(1))).collect();
    search(&catalogue);
    add(&catalogue, book("house", 1), Rights::Protected, 1);
    let open = || {
        let is_open = |check: &&String| state(&catalogue, check) == CheckState::Open;
        filed.iter().filter(is_open).count()
    };
    let editor = catalogue.by(Actor::Local);
    editor.watches().search_next(|| false).expect("a store");
    assert_eq!(open(), most);
    search(&catalogue);
    assert_eq!(open(), filed.len());
    // What is looked up again is known.
    let entries = rows_of(&catalogue, b"r").len();
    let again = put(Table::Decisions, b"c", &serde_json::json!({ "entry": 0 }));
    editor.apply_rows(&[again]).expect("a store");
    search(&catalogue);
    assert_eq!(rows_of(&catalogue, b"r").len(), entries);
}

/// What was decided with a book in view stays so, and a new book is another matter.
#[test]
fn a_book_reopens_what_was_accepted_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    add(&catalogue, book("house", 0), Rights::Protected, BASE);
    let check = file(&catalogue, text_of(0b11));
    assert_eq!(state(&catalogue, &check), CheckState::Watched);
    let expect = |id: u32, rights: Rights, chapters: u8, expected: CheckState| {
        add(&catalogue, book("house", id), rights, chapters);
        search(&catalogue);
        assert_eq!(state(&catalogue, &check), expected, "{id} {rights:?}");
    };
    let decide = |ruling: Ruling| {
        let (check, reason) = (check.clone(), "why".to_owned());
        let decision = NewDecision {
            check,
            ruling,
            reason,
            assignee: None,
        };
        let decisions = catalogue.by(Actor::Local).decisions();
        decisions.decide(&decision, None).expect("it is recorded")
    };
    expect(1, Rights::Free, 0b11, CheckState::Watched);
    expect(2, Rights::Protected, 0b100, CheckState::Watched);
    expect(3, Rights::Protected, 0b11, CheckState::Open);
    let later = shown(&catalogue, &check).matched_later.expect("a book");
    assert_eq!((later.library.as_str(), later.id.as_str()), ("house", "3"));
    assert_eq!(shown(&catalogue, &check).decision_id, None);
    let accepted = decide(Ruling::Accepted);
    assert_eq!(shown(&catalogue, &check).decision_id, Some(accepted.id));
    assert_eq!(shown(&catalogue, &check).matched_later, None);
    expect(3, Rights::Protected, 0b111, CheckState::Decided);
    expect(4, Rights::Unknown, 0b11, CheckState::Open);
    decide(Ruling::Refused);
    expect(5, Rights::Protected, 0b11, CheckState::Decided);
    decide(Ruling::Appealed);
    expect(6, Rights::Protected, 0b11, CheckState::Appealed);
    // What it matched while nothing was let through is known all the same.
    let audit = catalogue
        .store
        .audit(AuditFrom::Behind(0), 99)
        .expect("a log");
    let told = audit.iter().filter(|entry| {
        matches!(&entry.action, Action::Decided { ruling, check: of, .. } if ruling == "matched" && *of == check)
    });
    assert_eq!(told.count(), 4);
    // A book that counts only later is added then.
    decide(Ruling::Accepted);
    expect(5, Rights::Protected, 0b11, CheckState::Decided);
    expect(7, Rights::Free, 0b11, CheckState::Decided);
    expect(7, Rights::Protected, 0b11, CheckState::Open);
    // So is one that permitted the text when it was filed.
    let check = file(&catalogue, text_of(0b1_1000));
    assert_eq!(state(&catalogue, &check), CheckState::Watched);
    add(&catalogue, book("house", 8), Rights::Free, 0b1_1000);
    let check = file(&catalogue, text_of(0b1_1000));
    assert_eq!(state(&catalogue, &check), CheckState::Watched);
    add(&catalogue, book("house", 8), Rights::Protected, 0b1_1000);
    search(&catalogue);
    assert_eq!(state(&catalogue, &check), CheckState::Open);
}

#[test]
fn nothing_is_left_of_a_watch_that_has_expired() {
    let folder = tempfile::tempdir().expect("a folder");
    let limits = WatchLimits {
        days: 1,
        bytes: 1 << 20,
    };
    let catalogue = Catalogue::open_or_create(folder.path())
        .expect("a catalogue")
        .with_watching(limits);
    add(&catalogue, book("house", 0), Rights::Protected, BASE);
    let check = file(&catalogue, text_of(1));
    let open = file(&catalogue, text_of(2));
    add(&catalogue, book("house", 1), Rights::Protected, 2);
    search(&catalogue);
    let until = shown(&catalogue, &check).watch_expires_at.expect("a time");
    let editor = catalogue.by(Actor::Local);
    let end = |seconds: i64| {
        let now = until.checked_add(seconds.seconds()).expect("a time");
        editor.watches().end_expired(now).expect("a store");
    };
    end(-60);
    assert_eq!(catalogue.watches().stats().expect("a store").checks, 2);
    assert_eq!(state(&catalogue, &check), CheckState::Watched);
    end(60);
    assert_eq!(catalogue.watches().stats().expect("a store").checks, 0);
    assert_eq!(state(&catalogue, &check), CheckState::Clear);
    assert_eq!(state(&catalogue, &open), CheckState::Open);
    let left = [b"n", b"w", b"g", b"y", b"x"].map(|prefix| rows_of(&catalogue, prefix).len());
    assert_eq!(left, [0; 5]);
    let audit = catalogue.store.audit(AuditFrom::Last, 1).expect("a log");
    assert!(matches!(audit[0].action, Action::WatchExpired { .. }));
    // A damaged row does not keep others from expiring.
    let damaged = file(&catalogue, text_of(4)).parse().expect("an id");
    let row = RowChange::put(Table::Decisions, key(b"w", damaged), "{");
    editor.apply_rows(&[row]).expect("a store");
    file(&catalogue, text_of(8));
    end(120);
    assert_eq!(catalogue.watches().stats().expect("a store").checks, 0);
}

/// One actor leaves room for the checks of others, and what is not watched is filed all the same.
#[test]
fn no_more_checks_are_watched_than_may_be() {
    let folder = tempfile::tempdir().expect("a folder");
    let limited = |days, bytes| {
        Catalogue::open_or_create(folder.path())
            .expect("a catalogue")
            .with_watching(WatchLimits { days, bytes })
    };
    let catalogue = limited(1, 1 << 20);
    add(&catalogue, book("house", 0), Rights::Protected, BASE);
    let of_one = |catalogue: &Catalogue| state(catalogue, &file(catalogue, text_of(1)));
    assert_eq!(of_one(&catalogue), CheckState::Watched);
    let bytes = catalogue.watches().stats().expect("a store").bytes;
    // Enough for three, of which a single actor has two thirds.
    drop(catalogue);
    let catalogue = limited(1, 3 * bytes);
    let states = [(); 3].map(|()| of_one(&catalogue));
    let expected = [CheckState::Watched, CheckState::Clear, CheckState::Clear];
    assert_eq!(states, expected);
    let is_told = |catalogue: &Catalogue| {
        let findings = diagnose(Language::English, catalogue, 0).expect("a store");
        findings
            .iter()
            .any(|one| one.code == FindingCode::WatchesFull)
    };
    assert!(is_told(&catalogue));
    drop(catalogue);
    assert!(!is_told(&limited(1, 1 << 20)));
    assert_eq!(of_one(&limited(0, 1 << 20)), CheckState::Clear);
}

/// What a watched check of a novel takes, as documented.
#[test]
fn a_watched_check_takes_few_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    add(&catalogue, book("house", 0), Rights::Protected, BASE);
    let novel = (10_000..60_000).map(word).collect();
    let check = file(&catalogue, novel).parse().expect("an id");
    let rows = [b"w", b"g", b"y", b"x"].map(|prefix| rows_of(&catalogue, prefix));
    let rows = rows.iter().flatten();
    let bytes: usize = rows.map(|(key, value)| key.len() + value.len()).sum();
    let watches = catalogue.watches();
    let watch = watches.stored(check).expect("a store").expect("a watch");
    let gems = watches.gems(check, &watch).expect("a store");
    let gems: usize = gems.expect("gems").iter().map(|(_, gems)| gems.len()).sum();
    let counted = watches.stats().expect("a store").bytes as usize;
    println!("{bytes} bytes of {gems} gems, counted as {counted}");
    assert!(
        bytes.abs_diff(counted) < 400,
        "{bytes} are counted as {counted}"
    );
    assert!(
        gems > 1_000 && bytes < 3_000 + 10 * gems,
        "{bytes} bytes of {gems} gems"
    );
}
