//! What a library's key adds decides nothing for others if it is put together from their books, or if an administrator disabled
//! the same before: no other form of it, no other id and no way around.

use std::sync::Barrier;
use std::thread;

use lapidary_catalogue::api::{Added, Amendment, NewKey, Report, Restriction};
use lapidary_catalogue::permission::Role;
use lapidary_catalogue::{
    Allowable, BookGems, Catalogue, CatalogueError, CheckOptions, Content, Editor, NewEntry, Query,
    import,
};
use lapidary_gems::{Recipe, WrittenGem};
use lapidary_store::{Actor, BookKey, Rights, StoreError, UNWATCHED};

use crate::common::{Folder, prose};

const COLLECTOR: &str = "collector";

/// A catalogue with novels and short stories of others, and a key for the libraries `mine` and `second`.
struct Market {
    folder: Folder,
    catalogue: Catalogue,
}

fn novel(number: u64) -> String {
    prose(100 + number, 4_000)
}

/// So short that five gems are enough for a match, and long enough that these are less than a passage.
fn story(number: u64) -> String {
    prose(200 + number, 850)
}

fn book(at: &str) -> BookKey {
    let (library, id) = at.split_once('/').expect("library/id");
    BookKey {
        library: library.parse().expect("a library"),
        id: id.parse().expect("an id"),
    }
}

fn key(name: &str, role: Role, libraries: &[&str]) -> NewKey {
    let libraries: Vec<String> = libraries.iter().map(|&name| name.to_owned()).collect();
    let trusted = (role == Role::Ingest).then_some(true);
    let key = serde_json::json!({ "name": name, "role": role, "libraries": libraries, "trusted": trusted });
    serde_json::from_value(key).expect("a key")
}

fn gems_of(recipe: &Recipe, text: &str) -> Vec<WrittenGem> {
    recipe
        .gems(text)
        .iter()
        .map(|placed| recipe.write(placed.gem))
        .collect()
}

fn list(recipe: &Recipe, gems: &[WrittenGem]) -> Content {
    Content::Gems(BookGems {
        recipe: Some(recipe.name().clone()),
        gems: gems.to_vec(),
    })
}

impl Market {
    fn new() -> Self {
        let folder = Folder::new();
        let catalogue = Catalogue::open_or_create(&folder.data()).expect("a catalogue");
        let boss = catalogue.by(Actor::Local);
        boss.recipes()
            .ensure(&[Recipe::hardened(), Recipe::released(), Recipe::documented()])
            .expect("recipes");
        for number in 0..4 {
            for (kind, text) in [("novel", novel(number)), ("story", story(number))] {
                let mut entry = NewEntry::new(
                    book(&format!("others/{kind}{number}")),
                    Rights::Free,
                    Content::text(text),
                );
                entry.description.authors = vec![format!("{kind}ist{number}")];
                boss.books().add(entry).expect("a book of others");
            }
        }
        boss.keys()
            .add(key(COLLECTOR, Role::Ingest, &["mine", "second"]))
            .expect("a key");
        boss.keys()
            .add(key("rival", Role::Ingest, &["rival"]))
            .expect("a key");
        Self { folder, catalogue }
    }

    fn by(&self, key: &str) -> Editor<'_> {
        self.catalogue.by(Actor::Key(key.to_owned()))
    }

    fn put_by(&self, key: &str, at: &str, content: Content) -> Added {
        self.by(key)
            .books()
            .add(NewEntry::new(book(at), Rights::Protected, content))
            .expect("added")
    }

    fn put(&self, at: &str, content: Content) -> Added {
        self.put_by(COLLECTOR, at, content)
    }

    fn amend(&self, at: &str, amendment: &Amendment) {
        self.catalogue
            .by(Actor::Local)
            .books()
            .amend(&book(at), amendment)
            .expect("amended")
            .expect("a book");
    }

    fn check(&self, text: &str) -> Report {
        self.catalogue
            .checks()
            .report(&Query::text(text.to_owned()), &CheckOptions::default())
            .expect("a report")
    }
}

/// Numbers of neighbouring gems of three novels.
fn stolen() -> Vec<WrittenGem> {
    let released = Recipe::released();
    (0..3)
        .flat_map(|number| gems_of(&released, &novel(number)).into_iter().take(5))
        .collect()
}

fn collage() -> String {
    (0..3)
        .map(|number| novel(number)[..6_000].to_owned())
        .collect::<Vec<_>>()
        .join("\n\n")
}

#[test]
fn the_same_numbers_under_another_recipe_are_another_content() {
    let market = Market::new();
    let (released, documented, stolen) = (Recipe::released(), Recipe::documented(), stolen());
    assert_eq!(
        market.put("mine/1", list(&documented, &stolen)).restriction,
        None,
        "these are the gems of nobody"
    );
    let as_released =
        |at: &str| NewEntry::new(book(at), Rights::Protected, list(&released, &stolen));
    let prepared = market
        .by(COLLECTOR)
        .books()
        .prepare(as_released("mine/2"), &[])
        .expect("prepared");
    // What happens between looking and writing changes nothing.
    market.put("mine/2", list(&documented, &stolen));
    market.amend(
        "mine/2",
        &Amendment {
            rights: Some(Rights::Protected),
            ..Amendment::default()
        },
    );
    market
        .by(COLLECTOR)
        .books()
        .commit(vec![prepared])
        .expect("written");
    let quarantined = |at: &str| {
        let record = market
            .catalogue
            .books()
            .get(&book(at))
            .expect("read")
            .expect("a book");
        record.standing.is_quarantined()
    };
    assert!(quarantined("mine/2"));
    assert_eq!(
        market.put("mine/1", list(&released, &stolen)).restriction,
        Some(Restriction::Quarantined)
    );
    for number in 0..3 {
        assert_eq!(
            market.check(&novel(number)).verdict,
            Rights::Free,
            "{number}"
        );
    }
    // It goes on waiting when only its metadata change.
    market
        .by(COLLECTOR)
        .books()
        .add(NewEntry {
            rights: Rights::Free,
            ..as_released("mine/1")
        })
        .expect("added");
    assert!(quarantined("mine/1"));
}

#[test]
fn a_text_that_is_read_differently_is_another_content() {
    let market = Market::new();
    let read = |clean| Content::Text {
        text: collage(),
        clean,
    };
    assert_eq!(
        market.put("mine/1", read(None)).restriction,
        Some(Restriction::Quarantined)
    );
    market.amend(
        "mine/1",
        &Amendment {
            confirmed: Some(true),
            ..Amendment::default()
        },
    );
    assert_eq!(
        market.put("mine/1", read(None)).restriction,
        None,
        "an administrator confirmed it"
    );
    assert_eq!(
        market.put("mine/1", read(Some(false))).restriction,
        Some(Restriction::Quarantined)
    );
}

#[test]
fn a_few_gems_of_each_of_many_short_works_are_a_collage() {
    let market = Market::new();
    let hardened = Recipe::hardened();
    for number in 0..4 {
        let gems = gems_of(&hardened, &story(number)).len();
        assert!((20..=41).contains(&gems), "{gems}");
    }
    let few: Vec<WrittenGem> = (0..4)
        .flat_map(|number| gems_of(&hardened, &story(number)).into_iter().take(5))
        .collect();
    let added = market.put("mine/list", list(&hardened, &few));
    assert!(market.check(&story(0)).informational > 0, "it matches");
    assert_eq!(added.restriction, Some(Restriction::Quarantined));
    // The same passages as a text: shorter than those of longer works that count.
    let passages: Vec<String> = (0..4)
        .map(|number| story(number)[..1_300].to_owned())
        .collect();
    let added = market.put("mine/text", Content::text(passages.join("\n\n")));
    assert!(market.check(&story(0)).informational > 1, "it matches");
    assert_eq!(added.restriction, Some(Restriction::Quarantined));
    // And a few gems of long works, which match their chapters.
    let few: Vec<WrittenGem> = (0..4)
        .flat_map(|n| gems_of(&hardened, &novel(n)).into_iter().take(4))
        .collect();
    assert_eq!(
        market.put("mine/novels", list(&hardened, &few)).restriction,
        Some(Restriction::Quarantined)
    );
}

#[test]
fn many_editions_of_one_work_hide_no_others() {
    let market = Market::new();
    let famous = prose(7, 5_000);
    let editions = (0..120).map(|i| {
        let text = Content::text(format!("{famous}\n\n{}", prose(1_000 + i, 20)));
        NewEntry::new(book(&format!("others/edition{i}")), Rights::Free, text)
    });
    for added in market
        .catalogue
        .by(Actor::Local)
        .ingest()
        .add_some(editions.collect())
    {
        added.expect("added");
    }
    let added = market.put(
        "mine/1",
        Content::text(format!("{famous}\n\n{}", collage())),
    );
    assert_eq!(added.restriction, Some(Restriction::Quarantined));
}

/// What an administrator disabled does not come back under another id.
#[test]
fn what_was_disabled_stays_disabled_under_another_id() {
    let market = Market::new();
    let text = || Content::text(prose(9, 3_000));
    market.put("mine/1", text());
    let disabled = Amendment {
        disabled: Some(true),
        note: Some("not yours".to_owned()),
        ..Amendment::default()
    };
    market.amend("mine/1", &disabled);
    for at in ["mine/9", "second/1"] {
        let standing = market.put(at, text()).book.standing;
        assert!(
            standing.is_disabled_by_administrator(),
            "{at}: {standing:?}"
        );
        assert_eq!(
            standing.note.map(|note| note.text).as_deref(),
            Some("not yours"),
            "{at}"
        );
        let enabled = Amendment {
            disabled: Some(false),
            ..Amendment::default()
        };
        let refused = market.by(COLLECTOR).books().amend(&book(at), &enabled);
        assert!(
            matches!(
                refused,
                Err(CatalogueError::Store(StoreError::SetByAdministrator { .. }))
            ),
            "{at}"
        );
    }
    // Nor in the place of another book.
    market.put("mine/2", Content::text(prose(10, 3_000)));
    assert!(
        market
            .put("mine/2", text())
            .book
            .standing
            .is_disabled_by_administrator()
    );
    assert_eq!(market.check(&prose(9, 3_000)).verdict, Rights::Unknown);
    // What an administrator enables stays so, and others and administrators may add it.
    market.amend(
        "mine/9",
        &Amendment {
            disabled: Some(false),
            ..Amendment::default()
        },
    );
    let mut renamed = NewEntry::new(book("mine/9"), Rights::Protected, text());
    renamed.description.title = Some("Once more".to_owned());
    assert!(
        !market
            .by(COLLECTOR)
            .books()
            .add(renamed)
            .expect("added")
            .book
            .standing
            .is_disabled_by_administrator()
    );
    assert_eq!(market.check(&prose(9, 3_000)).verdict, Rights::Protected);
    let entry = NewEntry::new(book("mine/3"), Rights::Protected, text());
    let by_boss = market
        .catalogue
        .by(Actor::Local)
        .books()
        .add(entry)
        .expect("added")
        .book;
    assert!(!by_boss.standing.is_disabled_by_administrator());
    assert!(
        !market
            .put_by("rival", "rival/1", text())
            .book
            .standing
            .is_disabled_by_administrator()
    );
}

#[test]
fn a_book_that_is_allowed_is_allowed_under_another_id() {
    let market = Market::new();
    let text = prose(9, 3_000);
    let put = |at: &str| market.put(at, Content::text(text.clone()));
    put("mine/1");
    let boss = market.catalogue.by(Actor::Local);
    boss.allow_lists()
        .put(
            "licensed".parse().expect("a name"),
            Allowable::Book(book("mine/1")),
            None,
        )
        .expect("allowed");
    put("mine/9");
    let report = market.check(&text);
    assert_eq!((report.verdict, report.total), (Rights::Unknown, 2));
    assert!(
        report.matches.iter().all(|found| found.allowed),
        "{report:?}"
    );
    // Of that library only.
    put("second/1");
    assert_eq!(market.check(&text).verdict, Rights::Protected);
}

/// An export tells which libraries are not trusted, and an import believes it, unless something else was said where it arrives.
#[test]
fn distrust_survives_export_and_import() {
    let market = Market::new();
    let text = prose(9, 3_000);
    market.put_by("rival", "rival/1", Content::text(text.clone()));
    let [rival, mine] = ["rival", "mine"].map(|name| name.parse().expect("a library"));
    market
        .catalogue
        .by(Actor::Local)
        .libraries()
        .set_trust(&rival, false)
        .expect("distrusted");
    let mut export = Vec::new();
    market
        .catalogue
        .transfer()
        .export(&mut export, UNWATCHED)
        .expect("exported");
    let verdict = |catalogue: &Catalogue| {
        let report = catalogue
            .checks()
            .report(&Query::text(text.clone()), &CheckOptions::default())
            .expect("a report");
        (report.verdict, report.informational)
    };
    let trusted = |catalogue: &Catalogue, name: &str| {
        let libraries = catalogue.libraries().list().expect("libraries");
        libraries
            .iter()
            .find(|listed| listed.library.as_str() == name)
            .map(|listed| listed.trusted)
    };
    let new = market.folder.path("new");
    import(&new, &mut export.as_slice(), UNWATCHED).expect("imported");
    let new = Catalogue::open(&new).expect("a catalogue");
    assert_eq!(
        (verdict(&new), trusted(&new, "rival")),
        ((Rights::Unknown, 1), Some(false))
    );
    assert_eq!(trusted(&new, "others"), Some(true));
    let mut again = Vec::new();
    new.transfer()
        .export(&mut again, UNWATCHED)
        .expect("exported");
    assert!(again == export);
    // Into a catalogue with books.
    let other = Catalogue::open_or_create(&market.folder.path("other")).expect("a catalogue");
    let boss = other.by(Actor::Local);
    boss.books()
        .add(NewEntry::new(
            book("mine/1"),
            Rights::Free,
            Content::text(prose(10, 3_000)),
        ))
        .expect("added");
    boss.libraries()
        .set_trust(&mine, false)
        .expect("distrusted");
    other
        .transfer()
        .import_more(&mut export.as_slice(), UNWATCHED)
        .expect("imported");
    assert_eq!(
        (verdict(&other), trusted(&other, "rival")),
        ((Rights::Unknown, 1), Some(false))
    );
    // An administrator who said that it is trusted knows better.
    boss.libraries().set_trust(&rival, true).expect("trusted");
    other
        .transfer()
        .import_more(&mut export.as_slice(), UNWATCHED)
        .expect("imported");
    assert_eq!(
        (verdict(&other), trusted(&other, "rival")),
        ((Rights::Protected, 0), Some(true))
    );
}

/// Whoever distrusts a library while somebody makes a trusted key for it is not overruled: either comes first.
#[test]
fn a_new_key_overwrites_no_distrust() {
    let market = Market::new();
    for i in 0..60 {
        let library = format!("contested{i}");
        let both = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                both.wait();
                let made = market.catalogue.by(Actor::Local).keys().add(key(
                    &format!("key{i}"),
                    Role::Ingest,
                    &[&library],
                ));
                assert!(matches!(
                    made,
                    Ok(_) | Err(CatalogueError::TrustStated { .. })
                ));
            });
            both.wait();
            let name = library.parse().expect("a library");
            market
                .catalogue
                .by(Actor::Local)
                .libraries()
                .set_trust(&name, false)
                .expect("distrusted");
        });
        let entry = NewEntry::new(
            book(&format!("{library}/1")),
            Rights::Free,
            Content::text(prose(i, 500)),
        );
        let added = market
            .catalogue
            .by(Actor::Local)
            .books()
            .add(entry)
            .expect("added");
        assert_eq!(
            added.restriction,
            Some(Restriction::UntrustedLibrary),
            "{library}"
        );
    }
}
