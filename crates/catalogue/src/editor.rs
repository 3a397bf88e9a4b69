//! All changes to a catalogue, each made on behalf of an actor.

use std::ops::Deref;

use super::Catalogue;
use lapidary_store::Actor;

/// Changes a catalogue on behalf of an actor, whom the audit log names. Read with the methods of [`Catalogue`].
///
/// ```
/// use lapidary_catalogue::{Catalogue, Content, NewEntry};
/// use lapidary_store::{Actor, BookKey, Rights};
///
/// # let folder = tempfile::tempdir()?;
/// let catalogue = Catalogue::open_or_create(folder.path())?;
/// let key = BookKey { library: "mine".parse()?, id: "1".parse()? };
/// let book = NewEntry::new(key.clone(), Rights::Free, Content::text("Some text.".to_owned()));
/// let editor = catalogue.by(Actor::Local);
/// editor.add(book)?;
/// assert_eq!(editor.remove(&[key])?, [true]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The catalogue itself changes nothing:
///
/// ```compile_fail,E0599
/// # use lapidary_catalogue::Catalogue;
/// fn forgets_who_asked(catalogue: &Catalogue) {
///     let _ = catalogue.remove(&[]);
/// }
/// ```
#[derive(Clone)]
pub struct Editor<'c> {
    pub(super) catalogue: &'c Catalogue,
    pub(super) actor: Actor,
    /// The key on whose authority it works, if that is not the actor's.
    pub(super) principal: Option<String>,
}

impl Catalogue {
    /// Returns an editor that makes changes on behalf of `actor`.
    #[must_use]
    pub fn by(&self, actor: Actor) -> Editor<'_> {
        Editor {
            catalogue: self,
            actor,
            principal: None,
        }
    }
}

impl Editor<'_> {
    /// The name of the key on whose behalf changes are made, if there is one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match &self.actor {
            Actor::Key(name) => Some(name),
            Actor::Local | Actor::Anonymous => None,
        }
    }
}

impl Deref for Editor<'_> {
    type Target = Catalogue;

    fn deref(&self) -> &Catalogue {
        self.catalogue
    }
}
