//! A text as read by the recipes.

use std::cell::OnceCell;

use lapidary_checking::kept_probes;
use lapidary_gems::{Clean, Gem, PackedFold, PlacedGem, Probe, Recipe, TextWords, bounded, clean};
use memchr::memchr3_iter;

use super::CatalogueError;
use super::digest::digest_of;

/// A text, and whether to strip print artifacts such as running heads and page numbers. Positions always refer to the
/// original text.
///
/// ```
/// use lapidary_catalogue::Text;
/// use lapidary_gems::Recipe;
///
/// let printed = "The trea-\nsure lay in a box";
/// assert_eq!(Text::new(printed, None).fold(&Recipe::documented()), Recipe::documented().fold(printed));
/// let clean = "The treasure lay in a box";
/// assert_eq!(Text::new(printed, Some(true)).fold(&Recipe::documented()), Recipe::documented().fold(clean));
/// ```
#[derive(Debug)]
pub struct Text<'a> {
    stands: &'a str,
    clean: Option<bool>,
    cleaned: OnceCell<Clean<'a>>,
    /// The words, if a signature was computed.
    words: OnceCell<TextWords>,
    /// The language, if it is known.
    language: Option<&'a str>,
}

impl<'a> Text<'a> {
    /// Creates a text, to be [cleaned](clean) or not; with `None`, [the recipe decides](Recipe::reads_clean).
    #[must_use]
    pub fn new(text: &'a str, clean: Option<bool>) -> Self {
        Self {
            stands: text,
            clean,
            cleaned: OnceCell::new(),
            words: OnceCell::new(),
            language: None,
        }
    }

    /// The same, in a language that is known; it matters only to signatures that stem by it ([`TextWords::in_language`]).
    #[must_use]
    pub fn in_language(self, language: Option<&'a str>) -> Self {
        Self { language, ..self }
    }

    /// Like [`Text::new`], for a text from an untrusted sender.
    ///
    /// # Errors
    /// [`CatalogueError::Costly`] if the text takes far longer to read than its length suggests.
    pub(super) fn bounded(text: &'a str, clean: Option<bool>) -> Result<Self, CatalogueError> {
        bounded(text)?;
        Ok(Self::new(text, clean))
    }

    /// The original text.
    pub fn original(&self) -> &'a str {
        self.stands
    }

    /// Its fold; see [`Recipe::fold`].
    #[must_use]
    pub fn fold(&self, recipe: &Recipe) -> String {
        recipe.fold(self.clean(recipe).map_or(self.stands, Clean::text))
    }

    /// Its gems; see [`Recipe::gems`].
    #[must_use]
    pub fn gems(&self, recipe: &Recipe) -> Vec<PlacedGem> {
        if let Some(gems) = self.signature(recipe) {
            return gems;
        }
        match self.clean(recipe) {
            Some(clean) => clean.placed(recipe.gems(clean.text())),
            None => recipe.gems(self.stands),
        }
    }

    /// The probes that it is looked up by; see [`Recipe::probes`].
    #[must_use]
    pub fn probes(&self, recipe: &Recipe) -> Vec<Probe> {
        if let Some(gems) = self.signature(recipe) {
            return kept_probes(gems);
        }
        match self.clean(recipe) {
            Some(clean) => clean.placed_probes(recipe.probes(clean.text())),
            None => recipe.probes(self.stands),
        }
    }

    /// More probes of a long text with many wrong letters; see [`Recipe::probes_of_books`].
    pub(super) fn probes_of_books<E>(
        &self,
        recipe: &Recipe,
        gems_of_books: impl FnOnce() -> Result<Vec<Gem>, E>,
    ) -> Result<Vec<Probe>, E> {
        match self.clean(recipe) {
            Some(clean) => {
                let probes = recipe.probes_of_books(clean.text(), gems_of_books)?;
                Ok(clean.placed_probes(probes))
            }
            None => recipe.probes_of_books(self.stands, gems_of_books),
        }
    }

    /// The gems of a signature.
    fn signature(&self, recipe: &Recipe) -> Option<Vec<PlacedGem>> {
        let is_of_words = recipe.is_signature() && !recipe.is_rewriting();
        is_of_words.then(|| {
            recipe.gems_of_words(self.words.get_or_init(|| {
                let text = self.clean(recipe).map_or(self.stands, Clean::text);
                TextWords::of(text).in_language(self.language)
            }))
        })?
    }

    /// Its fold in stored form; see [`Recipe::folded`].
    pub(super) fn folded(&self, recipe: &Recipe) -> Option<PackedFold> {
        match self.clean(recipe) {
            Some(clean) => recipe.folded(clean.text(), |place| clean.place(place)),
            None => recipe.folded(self.stands, |place| place),
        }
    }

    /// The digests that an identical text may have: of the original and of the cleaned text.
    pub(super) fn digests(&self) -> Vec<String> {
        [digest_of(self.stands.as_bytes())]
            .into_iter()
            .chain(self.clean_digest())
            .collect()
    }

    /// The digest of the cleaned text, if it differs from the original and is not blank.
    pub(super) fn clean_digest(&self) -> Option<String> {
        if self.clean == Some(false) {
            return None;
        }
        let clean = self.cleaned.get_or_init(|| clean(self.stands)).text();
        let differs = clean != self.stands && !clean.trim().is_empty();
        differs.then(|| digest_of(clean.as_bytes()))
    }

    fn clean(&self, recipe: &Recipe) -> Option<&Clean<'a>> {
        let is_clean = self.clean.unwrap_or_else(|| recipe.reads_clean());
        is_clean.then(|| self.cleaned.get_or_init(|| clean(self.stands)))
    }
}

/// Estimates the most memory that reading a text takes, besides the text itself. The text may be part of a line of
/// JSON, with escapes. `words`: whether its folds are kept, or a recipe is a signature.
pub fn memory_for(text: &[u8], words: bool) -> usize {
    /// Bytes per byte of text: in general, and if each of its letters or words is held.
    const ANY: usize = 3;
    const HELD: usize = 44;
    /// Bytes per page, and per piece of the cleaned text.
    const PAGE: usize = 24;
    const PIECE: usize = 56;
    let first = memchr3_iter(b'\x0C', b'\\', b'-', text);
    let marks = first.chain(memchr3_iter(0xC2, 0xEF, 0xE2, text));
    let marks: usize = marks
        .map(|at| match text[at..] {
            [b'\x0C', ..] | [b'\\', b'f', ..] => PAGE,
            [b'-', b'\n' | b'\r' | b'\\', ..]
            | [b'\\', b'u', ..]
            | [0xC2, 0xAD, ..]
            | [0xEF, 0xAC | 0xB7 | 0xBB, ..]
            | [0xE2, 0x80, 0x8B..=0x8D, ..]
            | [0xE2, 0x81, 0xA0, ..] => PIECE,
            _ => 0,
        })
        .sum();
    text.len() * if words { HELD } else { ANY } + marks
}
