//! Whatever a tenant writes that is not trusted, others are told the same: compared with a catalogue without its writes.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use jiff::civil::Date;
use lapidary_catalogue::api::{Added, Amendment, Match, NewKey, Report};
use lapidary_catalogue::permission::{Permission, Role};
use lapidary_catalogue::{
    Allowable, BookGems, Catalogue, CatalogueError, CheckOptions, Content, Gate, NewEntry, Query,
    Recipes,
};
use lapidary_checking::Policy;
use lapidary_common::error::Classified as _;
use lapidary_gems::{Recipe, Secret, WrittenGem};
use lapidary_store::{Actor, BookKey, Rights, Validity};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::cluster::Nodes;
use crate::common::{Folder, prose};

/// The number of texts, of ids in a library, and of allow-lists.
const TEXTS: usize = 4;
/// The length of a text. A third of it is long enough for a part of a collage.
const WORDS: usize = 1_100;
const IDS: u8 = 3;

/// Who writes: the tenants `bad`, which is not trusted, and `good`, which is, each in its library, and an administrator in any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Bad,
    Good,
    Boss,
}

impl Writer {
    fn name(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Good => "good",
            Self::Boss => "boss",
        }
    }
}

#[derive(Debug, Clone)]
struct Write {
    writer: Writer,
    /// Where an administrator writes: a tenant's library, or its own.
    library: Writer,
    id: u8,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    /// Adds a text, or some of its gems of one recipe, perhaps with those of another text.
    Put {
        text: usize,
        other: Option<usize>,
        gems: Option<bool>,
        rights: Rights,
        gated: bool,
    },
    /// Adds parts of several texts, or their gems.
    Collage {
        gems: Option<bool>,
        rights: Rights,
    },
    Amend {
        disabled: Option<bool>,
        noted: Option<bool>,
        confirmed: bool,
        rights: Option<Rights>,
        /// Whether the rights are in effect, and what they are otherwise.
        validity: Option<(bool, Rights)>,
        removed: Option<bool>,
    },
    Trust {
        trusted: bool,
    },
    /// Sets from which share of a text on the books of a library decide, or the usual policy.
    Policy {
        min_covered: Option<f64>,
    },
    Remove,
    Rotate,
    Allow {
        text: Option<usize>,
    },
    Disallow,
}

fn writes() -> impl Strategy<Value = Vec<Write>> {
    let writer =
        || prop::sample::select(vec![Writer::Bad, Writer::Bad, Writer::Good, Writer::Boss]);
    let rights = || prop::sample::select(Rights::ALL.to_vec());
    let put = (
        0..TEXTS,
        prop::option::of(0..TEXTS),
        prop::option::of(any::<bool>()),
        rights(),
        any::<bool>(),
    )
        .prop_map(|(text, other, gems, rights, gated)| What::Put {
            text,
            other,
            gems,
            rights,
            gated,
        });
    let collage = (prop::option::of(any::<bool>()), rights())
        .prop_map(|(gems, rights)| What::Collage { gems, rights });
    let maybe = || prop::option::of(any::<bool>());
    let validity = prop::option::of((any::<bool>(), rights()));
    let amend = (
        maybe(),
        maybe(),
        any::<bool>(),
        prop::option::of(rights()),
        validity,
        maybe(),
    )
        .prop_map(
            |(disabled, noted, confirmed, rights, validity, removed)| What::Amend {
                disabled,
                noted,
                confirmed,
                rights,
                validity,
                removed,
            },
        );
    let trust = any::<bool>().prop_map(|trusted| What::Trust { trusted });
    let policy = prop::option::of(0.0..1.0).prop_map(|min_covered| What::Policy { min_covered });
    let allow = prop::option::of(0..TEXTS).prop_map(|text| What::Allow { text });
    let what = prop_oneof![
        8 => put, 2 => collage, 4 => amend, 2 => Just(What::Remove), 1 => Just(What::Rotate), 1 => allow,
        1 => Just(What::Disallow), 1 => trust, 1 => policy,
    ];
    let write = (writer(), writer(), 0..IDS, what).prop_map(|(writer, library, id, what)| {
        let library = if writer == Writer::Boss {
            library
        } else {
            writer
        };
        Write {
            writer,
            library,
            id,
            what,
        }
    });
    prop::collection::vec(write, 6..16)
}

fn text(number: usize) -> String {
    prose(number as u64, WORDS)
}

fn gems(recipe: &Recipe, text: &str) -> Vec<WrittenGem> {
    recipe
        .gems(text)
        .iter()
        .map(|placed| recipe.write(placed.gem))
        .collect()
}

fn book(library: Writer, id: u8) -> BookKey {
    BookKey {
        library: library.name().parse().unwrap(),
        id: id.to_string().parse().unwrap(),
    }
}

/// A catalogue with two tenants, of which one is not trusted, and books of an administrator. The tenants may do all that tenants
/// can be allowed to do.
fn market(catalogue: Catalogue) -> Catalogue {
    let editor = catalogue.by(Actor::Local);
    // The recipes of a new catalogue, but the same secret in all.
    let own = Recipe::hardened().with_secret(&Secret::new([7; 32]));
    let recipes = [own.unwrap(), Recipe::hardened(), Recipe::released()];
    editor.recipes().ensure(&recipes).unwrap();
    for (number, rights) in [Rights::Protected, Rights::Free, Rights::PublicDomain]
        .into_iter()
        .enumerate()
    {
        let key = book(Writer::Boss, 7 + number as u8);
        editor
            .books()
            .add(NewEntry::new(key, rights, Content::text(text(number))))
            .unwrap();
    }
    for (name, role, trusted) in [
        ("boss", Role::Admin, None),
        ("bad", Role::Ingest, Some(false)),
        ("good", Role::Ingest, Some(true)),
    ] {
        let libraries = trusted.iter().map(|_| name.parse().unwrap()).collect();
        let permissions = trusted.map(|_| Permission::Ban).into_iter().collect();
        editor
            .keys()
            .add(NewKey {
                permissions,
                libraries,
                trusted,
                ..NewKey::new(name, role)
            })
            .unwrap();
    }
    catalogue
}

/// Makes a write, and returns what its writer is told.
fn write(catalogue: &Catalogue, write: &Write) -> Value {
    let Write {
        writer,
        library,
        id,
        what,
    } = write;
    let (editor, key) = (
        catalogue.by(Actor::Key(writer.name().to_owned())),
        book(*library, *id),
    );
    let list = || format!("list-{id}").parse().unwrap();
    match what {
        What::Put {
            text: first,
            other,
            gems: of,
            rights,
            gated,
        } => {
            let mut both = text(*first);
            both.extend(other.map(text));
            let gate = gated.then(Gate::default);
            let entry = NewEntry::new(key, *rights, content(both, *of));
            told(
                editor
                    .books()
                    .add(NewEntry {
                        gate,
                        allow_empty: true,
                        ..entry
                    })
                    .map(added),
            )
        }
        What::Collage { gems: of, rights } => {
            let parts: String = (0..3)
                .map(|number| text(number)[..2_500].to_owned())
                .collect();
            let entry = NewEntry::new(key, *rights, content(parts, *of));
            told(
                editor
                    .books()
                    .add(NewEntry {
                        allow_empty: true,
                        ..entry
                    })
                    .map(added),
            )
        }
        What::Amend {
            disabled,
            noted,
            confirmed,
            rights,
            validity,
            removed,
        } => {
            let note = noted.map(|noted| {
                if noted {
                    "seen".to_owned()
                } else {
                    String::new()
                }
            });
            let validity = validity.map(|(holds, otherwise)| {
                let until = Some(if holds { Date::MAX } else { Date::MIN });
                Validity {
                    from: None,
                    until,
                    otherwise,
                }
            });
            let (disabled, rights, confirmed) = (*disabled, *rights, confirmed.then_some(true));
            done(editor.books().amend(
                &key,
                &Amendment {
                    disabled,
                    note,
                    confirmed,
                    rights,
                    validity,
                    removed: *removed,
                    ..Amendment::default()
                },
            ))
        }
        What::Remove => done(editor.books().remove(&[key])),
        What::Rotate => done(
            catalogue
                .by(Actor::Local)
                .keys()
                .rotate(writer.name(), SignedDuration::ZERO),
        ),
        // Only administrators can, which the server decides.
        What::Allow { .. } | What::Disallow | What::Trust { .. } | What::Policy { .. }
            if *writer != Writer::Boss =>
        {
            json!("not_allowed")
        }
        What::Policy { min_covered } => {
            let policy = min_covered.map(|min_covered| Policy {
                relations: BTreeSet::new(),
                min_covered,
                min_passage: u32::MAX,
            });
            done(editor.libraries().set_policy(&key.library, policy.as_ref()))
        }
        What::Allow { text: Some(number) } => done(editor.allow_lists().put(
            list(),
            Allowable::Gems(Content::text(text(*number))),
            None,
        )),
        What::Allow { text: None } => {
            done(editor.allow_lists().put(list(), Allowable::Book(key), None))
        }
        What::Disallow => done(editor.allow_lists().remove(&list())),
        // While its books decide, the tenant writes nothing, and nobody asks.
        What::Trust { .. } if *library == Writer::Bad => {
            done([true, false].into_iter().try_for_each(|trusted| {
                editor
                    .libraries()
                    .set_trust(&key.library, trusted)
                    .map(|_| ())
            }))
        }
        What::Trust { trusted } => done(
            editor
                .libraries()
                .set_trust(&book(Writer::Good, 0).library, *trusted),
        ),
    }
}

/// A text, or its gems: of `hardened`, or else of `released`.
fn content(text: String, hardened: Option<bool>) -> Content {
    let Some(hardened) = hardened else {
        return Content::text(text);
    };
    let recipe = if hardened {
        Recipe::hardened()
    } else {
        Recipe::released()
    };
    Content::Gems(BookGems {
        recipe: Some(recipe.name().clone()),
        gems: gems(&recipe, &text),
    })
}

/// What is said of an added book, except when.
fn added(
    Added {
        outcome,
        restriction,
        coverage,
        uncompared,
        matches,
        unless,
        hidden,
        book,
    }: Added,
) -> Value {
    json!([
        outcome,
        restriction,
        coverage,
        uncompared,
        matches,
        unless,
        hidden,
        book.gems,
        book.standing.is_quarantined()
    ])
}

fn done<T>(done: Result<T, CatalogueError>) -> Value {
    told(done.map(|_| json!("done")))
}

/// What a writer is told.
fn told(done: Result<Value, CatalogueError>) -> Value {
    match done {
        Ok(said) => said,
        Err(CatalogueError::Matches(report)) => deciding(&report),
        Err(error) => json!([error.code().as_str(), error.to_string()]),
    }
}

/// What a report says, without what is only information, and without the E-values, which depend on how many gems the index has.
fn deciding(report: &Report) -> Value {
    let mut shown = serde_json::to_value(report).unwrap();
    let decides = |found: &Value| found["informational"].is_null();
    let mut matches: Vec<Value> = shown["matches"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|of| decides(of))
        .cloned()
        .collect();
    for found in &mut matches {
        found.as_object_mut().unwrap().remove("e_value");
    }
    // That a match which decides nothing was found is told as such.
    if shown["reason"] == "none_decides" {
        shown["reason"] = json!("no_match");
    }
    let fields = [
        "reason",
        "coverage",
        "uncompared",
        "note",
        "rule",
        "disguise",
        "verdict",
        "covered",
        "recipe",
        "recipes",
        "gems",
        "looked_up",
        "common_gems",
        "allowed_gems",
        "total",
        "disabled",
    ];
    let mut said: serde_json::Map<String, Value> = fields
        .into_iter()
        .map(|name| (name.to_owned(), shown[name].take()))
        .collect();
    said.insert("matches".to_owned(), matches.into());
    said.into()
}

/// What others are told of some texts.
fn answers(catalogue: &Catalogue) -> Vec<Value> {
    let mut answers = Vec::new();
    let parts = |number| {
        let text = text(number);
        let half = text[..text.len() / 2].to_owned();
        [text, half]
    };
    for (at, asked) in (0..TEXTS).flat_map(parts).enumerate() {
        let limit = if at % 3 == 0 { 1 } else { 100 };
        for who in ["shop", "boss", "good"] {
            let own = catalogue
                .by(Actor::Key(who.to_owned()))
                .own_libraries()
                .unwrap();
            let options = CheckOptions {
                limit,
                own,
                ..CheckOptions::default()
            };
            let check = |query: &Query, recipes: Recipes| {
                let options = CheckOptions {
                    recipes,
                    ..options.clone()
                };
                told(
                    catalogue
                        .checks()
                        .report(query, &options)
                        .map(|report| deciding(&report)),
                )
            };
            answers.push(check(&Query::text(asked.clone()), Recipes::Usual));
            answers.push(check(&Query::text(asked.clone()), Recipes::All));
            for recipe in [Recipe::hardened(), Recipe::released()] {
                let query = Query::Gems(gems(&recipe, &asked).into());
                answers.push(check(&query, Recipes::Usual));
                answers.push(check(&query, Recipes::Named(vec![recipe.name().clone()])));
            }
        }
    }
    // What the trusted tenant's gate says, of a book that is then taken out again.
    for number in 0..TEXTS {
        let (editor, key) = (
            catalogue.by(Actor::Key("good".to_owned())),
            book(Writer::Good, 7),
        );
        let entry = NewEntry::new(key.clone(), Rights::Unknown, Content::text(text(number)));
        answers.push(told(
            editor
                .books()
                .add(NewEntry {
                    gate: Some(Gate::default()),
                    ..entry
                })
                .map(added),
        ));
        // An administrator may have disabled it.
        catalogue.by(Actor::Local).books().remove(&[key]).unwrap();
    }
    answers
}

/// Runs random writes on two catalogues, on one of them without those of the tenant that is not trusted.
fn same_without_the_untrusted(open: impl Fn(u32) -> Catalogue, cases: u32) {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 40,
        ..ProptestConfig::default()
    };
    let count = std::cell::Cell::new(0);
    let fresh = || {
        count.set(count.get() + 1);
        market(open(count.get()))
    };
    proptest!(config, |(all in writes())| {
        is_same(&all, [fresh(), fresh()])?;
    });
}

/// Makes writes in two catalogues, in the second one without those of the tenant that is not trusted.
fn is_same(all: &[Write], [with, without]: [Catalogue; 2]) -> Result<(), TestCaseError> {
    for one in all {
        let said = write(&with, one);
        if one.writer != Writer::Bad {
            let alone = write(&without, one);
            // Of its own library, an administrator sees what there is.
            let is_its_own = one.library == Writer::Bad;
            prop_assert!(is_its_own || said == alone, "{one:?}: {said} {alone}");
        }
    }
    let (answered, expected) = (answers(&with), answers(&without));
    for (at, (one, other)) in answered.iter().zip(&expected).enumerate() {
        prop_assert_eq!(one, other, "answer {}", at);
    }
    Ok(())
}

/// Around its edges, a text has gems in common with a longer one that it does not count itself.
#[test]
fn a_book_that_only_informs_makes_no_gems_count() {
    let folder = Folder::new();
    let catalogue = |name: &str| market(Catalogue::open_or_create(&folder.path(name)).unwrap());
    let put = |writer, library, id, (text, other), rights| Write {
        writer,
        library,
        id,
        what: What::Put {
            text,
            other,
            gems: Some(true),
            rights,
            gated: false,
        },
    };
    let (good, bad, boss) = (Writer::Good, Writer::Bad, Writer::Boss);
    let all = [
        put(good, good, 0, (1, Some(2)), Rights::Forbidden),
        put(boss, bad, 1, (2, None), Rights::Unknown),
        Write {
            writer: bad,
            library: bad,
            id: 1,
            what: What::Collage {
                gems: Some(false),
                rights: Rights::Protected,
            },
        },
    ];
    is_same(&all, [catalogue("with"), catalogue("without")]).unwrap();
}

#[test]
fn an_untrusted_tenant_changes_nothing_that_others_are_told() {
    let folder = Folder::new();
    same_without_the_untrusted(
        |count| Catalogue::open_or_create(&folder.path(&count.to_string())).unwrap(),
        20,
    );
}

#[test]
fn an_untrusted_tenant_changes_nothing_that_others_are_told_on_a_cluster() {
    let Some(nodes) = Nodes::start(3, 0) else {
        return;
    };
    let open = |count: u32| {
        let address = format!("redis://{}/market-{count}", nodes.addresses)
            .parse()
            .unwrap();
        Catalogue::open_cluster(&address).unwrap()
    };
    same_without_the_untrusted(open, 10);
}

/// The attack: a list of neighbouring gems of the books of many others, and a collage of a novel.
#[test]
fn a_list_of_the_gems_of_others_accuses_nobody() {
    const BOOKS: u64 = 12;
    let folder = Folder::new();
    let catalogue = market(Catalogue::open_or_create(&folder.path("catalogue")).unwrap());
    let long = |number: u64| prose(100 + number, 6_000);
    let recipe = Recipe::released();
    let mut stolen = Vec::new();
    for number in 0..BOOKS {
        let (key, rights) = (book(Writer::Boss, 20 + number as u8), Rights::PublicDomain);
        catalogue
            .by(Actor::Local)
            .books()
            .add(NewEntry::new(key, rights, Content::text(long(number))))
            .unwrap();
        stolen.extend(gems(&recipe, &long(number)).into_iter().skip(20).take(45));
    }
    let novel = prose(999, 12_000);
    let collage: String = (0..8)
        .map(|part| &novel[part * novel.len() / 8..][..novel.len() / 60])
        .collect();
    let bad = catalogue.by(Actor::Key("bad".to_owned()));
    for (id, rights) in [(1, Rights::Forbidden), (2, Rights::Protected)] {
        let list = Content::Gems(BookGems {
            recipe: Some(recipe.name().clone()),
            gems: stolen.clone(),
        });
        bad.books()
            .add(NewEntry::new(book(Writer::Bad, id), rights, list))
            .unwrap();
    }
    bad.books()
        .add(NewEntry::new(
            book(Writer::Bad, 3),
            Rights::Protected,
            Content::text(collage),
        ))
        .unwrap();
    for number in 0..BOOKS {
        let report = catalogue
            .checks()
            .report(&Query::text(long(number)), &CheckOptions::default())
            .unwrap();
        assert_eq!(
            (report.verdict, report.total),
            (Rights::PublicDomain, 1),
            "book {number}"
        );
        assert!(report.informational > 0, "the list matches: {report:?}");
    }
    // The publisher of the novel adds it, with a gate.
    let entry = NewEntry::new(
        book(Writer::Good, 1),
        Rights::Protected,
        Content::text(novel),
    );
    catalogue
        .by(Actor::Key("good".to_owned()))
        .books()
        .add(NewEntry {
            gate: Some(Gate::default()),
            ..entry
        })
        .unwrap();
}

/// A list of gems of a recipe that no other book needs: it is shown, and changes nothing else, whatever the recipe finds.
#[test]
fn gems_of_another_recipe_are_information_only() {
    let folder = Folder::new();
    let catalogue = market(Catalogue::open_or_create(&folder.path("catalogue")).unwrap());
    let query = Query::text(text(0));
    let ask = || {
        catalogue
            .checks()
            .report(&query, &CheckOptions::default())
            .unwrap()
    };
    let before = ask();
    let default = catalogue.recipes().get(None).unwrap();
    assert_eq!(before.recipes, [default.name().clone()]);
    let bad = catalogue.by(Actor::Key("bad".to_owned()));
    bad.books()
        .add(NewEntry::new(
            book(Writer::Bad, 1),
            Rights::Forbidden,
            content(text(0), Some(false)),
        ))
        .unwrap();
    let mut after = ask();
    let list = after.matches.pop().unwrap();
    assert_eq!(
        (list.book.library.as_str(), list.recipes),
        ("bad", vec![Recipe::released().name().clone()])
    );
    assert_eq!(std::mem::take(&mut after.informational), 1);
    assert_eq!(after, before);
    // Its own keys are told that it decides.
    let own = bad.own_libraries().unwrap();
    let report = catalogue
        .checks()
        .report(
            &query,
            &CheckOptions {
                own,
                ..CheckOptions::default()
            },
        )
        .unwrap();
    assert_eq!(
        (report.verdict, report.recipes.len()),
        (Rights::Forbidden, 2)
    );
    // Another book is compared with others by the gems that it has.
    assert_eq!(
        catalogue
            .checks()
            .of_book(&book(Writer::Bad, 1))
            .unwrap()
            .unwrap()
            .verdict,
        Rights::Protected
    );
}

/// Each recipe numbers its own gems, so a claim and a book that were found by different ones are compared by their places in the
/// text; and it does not matter whether the book is shown.
#[test]
fn a_claim_is_disputed_by_a_book_with_the_same_passage() {
    let folder = Folder::new();
    let parts: Vec<String> = (0..4).map(|part| prose(500 + part, 3_000)).collect();
    let asked = Query::text(parts.join("\n\n"));
    for hardened in [true, false] {
        for (claimed, known) in (0..4).flat_map(|claimed| (0..4).map(move |known| (claimed, known)))
        {
            let catalogue =
                Catalogue::open_or_create(&folder.path(&format!("{hardened}-{claimed}-{known}")))
                    .unwrap();
            let add = |library, content| {
                let entry = NewEntry::new(book(library, 1), Rights::Protected, content);
                catalogue.by(Actor::Local).books().add(entry).unwrap();
            };
            add(
                Writer::Good,
                content(parts[claimed].clone(), Some(hardened)),
            );
            // A little less of it, so that the claim is the best match.
            add(
                Writer::Boss,
                Content::text(parts[known][..parts[known].len() * 3 / 4].to_owned()),
            );
            for (limit, detail) in [(1, false), (1, true), (9, false), (9, true)] {
                let options = CheckOptions {
                    limit,
                    detail,
                    ..CheckOptions::default()
                };
                let report = catalogue.checks().report(&asked, &options).unwrap();
                let is_claim = |found: &&Match| found.book.library == "good";
                let claim = report.matches.iter().find(is_claim);
                let what = format!("{hardened} {claimed} {known} {limit}: {report:?}");
                assert_eq!(
                    (report.total, report.matches.len()),
                    (2, limit.min(2)),
                    "{what}"
                );
                assert!(claim.is_some() || limit == 1, "{what}");
                assert!(
                    claim.is_none_or(|claim| claim.disputed == (claimed == known)),
                    "{what}"
                );
                assert!(
                    report
                        .matches
                        .iter()
                        .all(|found| is_claim(&found) || !found.disputed),
                    "{what}"
                );
            }
        }
    }
}
