//! The digest that identifies a book's content: BLAKE3, as printed by `b3sum`. Books added by older versions have a
//! SHA-256 digest and keep it until their content changes, so adding the same feed again changes nothing.

use lapidary_gems::{Gem, WrittenGem};
use sha2::{Digest as _, Sha256};

/// The digest of some content, in hexadecimal.
pub(super) fn digest_of(content: &[u8]) -> String {
    blake3::hash(content).to_string()
}

/// The digest of a list of gems.
pub(super) fn digest_of_gems(gems: &[WrittenGem]) -> String {
    digest_of(
        &gems
            .iter()
            .flat_map(|&gem| Gem::from(gem).0.to_le_bytes())
            .collect::<Vec<u8>>(),
    )
}

/// The SHA-256 digest that older versions used.
fn former_digest_of(content: &[u8]) -> String {
    hex::encode(Sha256::digest(content))
}

/// The digests that a book with this content may have.
#[must_use]
pub fn digests_of(content: &[u8]) -> [String; 2] {
    [digest_of(content), former_digest_of(content)]
}

/// The digest of new content for a book with the digest `before`. This is `before` if the content is the same.
pub(super) fn digest_after(before: &str, content: &[u8]) -> String {
    let digest = digest_of(content);
    if before != digest && before == former_digest_of(content) {
        before.to_owned()
    } else {
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Catalogue, CatalogueError, Content, NewEntry, Text};
    use super::*;
    use crate::api::AddOutcome;
    use lapidary_common::description::Description;
    use lapidary_gems::Recipe;
    use lapidary_store::{Actor, BookKey, NewBook, Rights};

    /// The first test vectors of the two standards: empty input.
    const EMPTY: [&str; 2] = [
        "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ];

    #[test]
    fn digests_are_those_of_the_standards() {
        assert_eq!([digest_of(b""), former_digest_of(b"")], EMPTY);
        assert_eq!(EMPTY.map(|before| digest_after(before, b"")), EMPTY);
        assert_eq!(digest_after(EMPTY[1], b"more"), digest_of(b"more"));
    }

    #[test]
    fn a_book_of_an_older_version_is_known_by_its_digest() {
        let dir = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::open_or_create(dir.path()).unwrap();
        catalogue
            .by(Actor::Local)
            .recipes()
            .ensure(&[Recipe::documented()])
            .unwrap();
        let text = "Granite and gems lay in one chest, each in its own corner. ".repeat(50);
        let key = BookKey {
            library: "lib".parse().unwrap(),
            id: "old".parse().unwrap(),
        };
        let entry = |content| NewEntry::new(key.clone(), Rights::Free, content);
        let of_text = || entry(Content::text(text.clone()));
        let editor = catalogue.by(Actor::Local);
        let put = editor.books().add(of_text()).unwrap().book;
        assert_eq!(put.digest, digest_of(text.as_bytes()));

        let recipe = Recipe::documented();
        let gems = Text::new(&text, None).gems(&recipe);
        let mut old = put.clone();
        old.digest = former_digest_of(text.as_bytes());
        let gems = [(recipe.name().clone(), gems)].into();
        catalogue
            .store
            .put(
                &Actor::Local,
                vec![NewBook {
                    gems,
                    ..NewBook::without_gems(old.clone().into(), true)
                }],
            )
            .unwrap();

        let again = editor.books().add(of_text()).unwrap();
        assert_eq!((again.outcome, &again.book), (AddOutcome::Unchanged, &old));
        assert_eq!(editor.jobs().recut(&old.key, &text).unwrap(), []);
        assert!(matches!(
            editor.jobs().recut(&old.key, &text[1..]),
            Err(CatalogueError::OtherText(_))
        ));
        let named = Description {
            title: Some("Granite".to_owned()),
            ..Description::default()
        };
        let renamed = NewEntry {
            description: named,
            ..of_text()
        };
        assert_eq!(editor.books().add(renamed).unwrap().book.digest, old.digest);
        let rewritten = editor
            .books()
            .add(entry(Content::text(text.replace("Granite", "Basalt"))))
            .unwrap();
        assert_eq!(rewritten.outcome, AddOutcome::Replaced);
        assert_ne!(rewritten.book.digest, put.digest);
    }
}
