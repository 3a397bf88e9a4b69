//! Recipes: everything that decides which gems a text has.

mod definition;

use std::str::FromStr;
use std::sync::Arc;

use definition::Definition;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::base::{Base, SOUNDS};
use super::boundaries::Boundaries;
use super::cut::{Cutter, FoldedPart, TextParts, cut_in_parts};
#[cfg(fuzzing)]
use super::fold::plainly;
use super::fold::{Sink as _, fold};
use super::gem::{Gem, Place, PlacedGem, Probe, WrittenGem};
use super::hardened::{Density, Hardened};
use super::name::{RecipeError, RecipeName, excerpt};
use super::packed::PackedFold;
use super::rewriting;
use super::rule::{PassageRule, Rule};
use super::secret::Secret;
use super::signatures::{Lexicon, Signature, SignatureError, TextWords};

/// The name of `documented` with the second boundaries.
const SECOND: &str = "documented-second";
/// The name of the recipe that finds the same in other words.
const REWRITING: &str = "rewriting";

/// How a text becomes gems. Gems of different recipes cannot be compared.
///
/// `documented` and `released` reproduce another program's output exactly, quirks included, and have 32-bit gems.
/// `hardened` and `hardened-fine` are designed to see through disguise and have 48-bit gems; `hardened-compact`, too, and has 32-bit
/// gems. An exact recipe with
/// non-standard boundaries is a different recipe. Its name is derived from its definition: `documented@` and eight
/// hexadecimal digits.
///
/// ```
/// use lapidary_gems::Recipe;
///
/// let recipe: Recipe = "documented".parse()?;
/// assert_eq!(recipe.fold("Lapidary folds longer words"), "41364526");
/// # Ok::<(), lapidary_gems::RecipeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Definition", into = "Definition")]
pub struct Recipe {
    /// Always equal to [`Method::name`].
    name: RecipeName,
    method: Method,
}

/// The ways to compute gems.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Method {
    /// Digits, cut at boundary sequences.
    Exact { base: Base, boundaries: Boundaries },
    /// Consonants, hashed a few in a row.
    Hardened(Hardened),
    /// Words, chosen by one of the methods of the literature.
    Signature(Arc<Signature>),
    /// Stems of words, three in a row.
    Rewriting,
}

impl Method {
    fn standard(base: Base) -> Self {
        Self::Exact {
            base,
            boundaries: Boundaries::standard().clone(),
        }
    }

    fn name(&self) -> RecipeName {
        match self {
            Self::Exact { base, boundaries } => name_of(*base, boundaries),
            Self::Hardened(hardened) => RecipeName::new(&hardened.name()),
            Self::Signature(signature) => RecipeName::new(signature.name()),
            Self::Rewriting => RecipeName::new(REWRITING),
        }
    }
}

impl Recipe {
    /// The recipe `documented`.
    #[must_use]
    pub fn documented() -> Self {
        Self::by(Method::standard(Base::Documented))
    }

    /// The recipe `released`.
    #[must_use]
    pub fn released() -> Self {
        Self::by(Method::standard(Base::Released))
    }

    /// The recipe `documented-second`: the fold of `documented`, cut at other sequences. A change that destroys a gem
    /// of one recipe may leave the gems of the other intact.
    #[must_use]
    pub fn documented_second() -> Self {
        Self::by(Method::Exact {
            base: Base::Documented,
            boundaries: Boundaries::second().clone(),
        })
    }

    /// The recipe `hardened`: for whole books and parts of books, even disguised ones.
    #[must_use]
    pub fn hardened() -> Self {
        Self::by(Method::Hardened(Hardened::new(Density::Coarse, None)))
    }

    /// The recipe `hardened-fine`: for quotations of a few sentences. Its gems include all those of `hardened`, and
    /// many more.
    #[must_use]
    pub fn hardened_fine() -> Self {
        Self::by(Method::Hardened(Hardened::new(Density::Fine, None)))
    }

    /// The recipe `hardened-compact`: for whole books, pages and paragraphs, even disguised ones. It has more gems than
    /// `hardened-fine`, which take less space.
    #[must_use]
    pub fn hardened_compact() -> Self {
        Self::by(Method::Hardened(Hardened::new(Density::Compact, None)))
    }

    /// The recipe `rewriting`: for translations, retellings and summaries, which say the same in other words. A match only
    /// informs.
    ///
    /// ```
    /// use std::collections::BTreeSet;
    ///
    /// use lapidary_gems::Recipe;
    ///
    /// let recipe = Recipe::rewriting();
    /// let gems = |text| recipe.gems(text).into_iter().map(|placed| placed.gem).collect::<BTreeSet<_>>();
    /// assert_eq!(gems("The treasures lay in an old box"), gems("In the box there lay old treasure"));
    /// ```
    #[must_use]
    pub fn rewriting() -> Self {
        Self::by(Method::Rewriting)
    }

    /// The recipe of a signature: one of the methods that libraries find duplicates by. Its name is the method, then each
    /// parameter that is not the usual one, then `@` and the lexicon if it weighs words by one.
    ///
    /// ```
    /// use lapidary_gems::Recipe;
    ///
    /// let recipe = Recipe::signature("winnow;k=3", None)?;
    /// assert_eq!(recipe.gems("A treasure lay in the old box").len(), 1);
    /// # Ok::<(), lapidary_gems::RecipeError>(())
    /// ```
    ///
    /// # Errors
    /// [`RecipeError::Unknown`], [`RecipeError::Signature`] for parameters or a lexicon that do not fit.
    pub fn signature(name: &str, lexicon: Option<&Arc<Lexicon>>) -> Result<Self, RecipeError> {
        match Signature::named(name, lexicon) {
            Ok(signature) => {
                let recipe = Self::by(Method::Signature(Arc::new(signature)));
                recipe.name.as_str().parse::<RecipeName>()?;
                Ok(recipe)
            }
            Err(SignatureError::Method) => Err(RecipeError::Unknown(excerpt(name))),
            Err(why) => Err(RecipeError::Signature {
                name: excerpt(name),
                why: why.to_string(),
            }),
        }
    }

    /// The recipe of this name: a built-in one, `rewriting` or a signature. A lexicon is ignored by all but those that need one.
    ///
    /// # Errors
    /// Those of [`Recipe::signature`].
    pub fn named(name: &str, lexicon: Option<&Arc<Lexicon>>) -> Result<Self, RecipeError> {
        let mut built_in = Self::built_in().chain([Self::rewriting()]);
        let built_in = built_in.find(|recipe| recipe.name.as_str() == name);
        built_in.map_or_else(|| Self::signature(name, lexicon), Ok)
    }

    /// Whether its gems have to be computed from texts, because there is no fold to cut.
    #[must_use]
    pub fn is_signature(&self) -> bool {
        matches!(self.method, Method::Signature(_) | Method::Rewriting)
    }

    /// Whether its matches say the same in other words, and so never decide.
    #[must_use]
    pub fn is_rewriting(&self) -> bool {
        self.method == Method::Rewriting
    }

    /// The lexicon that it weighs words by, if it is a signature that does.
    #[must_use]
    pub fn lexicon(&self) -> Option<&Arc<Lexicon>> {
        match &self.method {
            Method::Signature(signature) => signature.lexicon(),
            _ => None,
        }
    }

    fn by(method: Method) -> Self {
        Self {
            name: method.name(),
            method,
        }
    }

    /// All built-in recipes whose matches decide.
    pub fn built_in() -> impl Iterator<Item = Self> {
        let exact = Base::ALL.into_iter().map(Method::standard);
        exact
            .chain(Density::ALL.map(|density| Method::Hardened(Hardened::new(density, None))))
            .map(Self::by)
            .chain([Self::documented_second()])
    }

    /// The sequences that this recipe cuts a text at, if it does.
    #[must_use]
    pub fn boundaries(&self) -> Option<&Boundaries> {
        match &self.method {
            Method::Exact { boundaries, .. } => Some(boundaries),
            Method::Hardened(_) | Method::Signature(_) | Method::Rewriting => None,
        }
    }

    /// This recipe with other boundaries and the matching name. Returned unchanged if it has no
    /// [boundaries](Self::boundaries).
    #[must_use]
    pub fn with_boundaries(&self, boundaries: Boundaries) -> Self {
        match self.method {
            Method::Exact { base, .. } => Self::by(Method::Exact { base, boundaries }),
            Method::Hardened(_) | Method::Signature(_) | Method::Rewriting => self.clone(),
        }
    }

    /// This recipe with constants drawn from a secret, and the matching name: `hardened@` and eight hexadecimal digits. Who does
    /// not know the secret cannot compute its gems, and so cannot edit a text until it has none of a book's. `None` if it is
    /// not one of the hardened recipes.
    ///
    /// ```
    /// use lapidary_gems::{Recipe, Secret};
    ///
    /// # let random = [7; 32];
    /// let recipe = Recipe::hardened().with_secret(&Secret::new(random)).expect("it is hardened");
    /// assert!(recipe.name().as_str().starts_with("hardened@"));
    /// ```
    #[must_use]
    pub fn with_secret(&self, secret: &Secret) -> Option<Self> {
        match &self.method {
            Method::Hardened(hardened) => {
                let hardened = Hardened::new(hardened.density(), Some(secret));
                Some(Self::by(Method::Hardened(hardened)))
            }
            Method::Exact { .. } | Method::Signature(_) | Method::Rewriting => None,
        }
    }

    /// The secret that its constants are drawn from, if they are. Then no gem of it, nor the place of one, should be told to
    /// others.
    #[must_use]
    pub fn secret(&self) -> Option<&Secret> {
        match &self.method {
            Method::Hardened(hardened) => hardened.secret(),
            Method::Exact { .. } | Method::Signature(_) | Method::Rewriting => None,
        }
    }

    /// The name without the secret.
    #[must_use]
    pub fn public_name(&self) -> &str {
        let name = &self.name;
        name.without_secret().unwrap_or_else(|| name.as_str())
    }

    /// Whether print artifacts are removed from texts by default. The exact recipes keep them: their gems are those
    /// of the unchanged text.
    #[must_use]
    pub fn reads_clean(&self) -> bool {
        matches!(self.method, Method::Hardened(_) | Method::Rewriting)
    }

    /// How many characters of prose have one gem, on average over 152 books in 12 languages. Other boundaries than the
    /// standard ones may give another number.
    #[must_use]
    pub fn characters_per_gem(&self) -> u32 {
        match self.method {
            Method::Exact {
                base: Base::Documented,
                ..
            } => 2_300,
            Method::Exact {
                base: Base::Released,
                ..
            } => 3_200,
            Method::Hardened(ref hardened) => hardened.characters_per_gem(),
            Method::Signature(ref signature) => signature.characters_per_gem(),
            Method::Rewriting => rewriting::CHARACTERS_PER_GEM,
        }
    }

    /// Which common gems of two texts belong to the same passage.
    #[must_use]
    pub fn passages(&self) -> PassageRule {
        let characters = self.characters_per_gem() as usize;
        let (reach, gap, fewest) = match &self.method {
            Method::Exact { .. } | Method::Signature(_) => (8, 2, 1),
            Method::Hardened(hardened) => (hardened.reach(), (480 / characters).max(2), 1),
            Method::Rewriting => (rewriting::REACH, rewriting::REACH, 3),
        };
        PassageRule {
            reach,
            gap,
            fewest,
            quotation: (4_000 / characters).max(1),
        }
    }

    /// The rule for when a text and a book match by gems of this recipe.
    #[must_use]
    pub fn rule(&self) -> Rule {
        match self.method {
            Method::Exact { .. } => Rule::EXACT,
            Method::Hardened(ref hardened) => hardened.rule(),
            Method::Signature(ref signature) => signature.rule(),
            Method::Rewriting => Rule::REWRITING,
        }
    }

    /// The recipe's name.
    #[must_use]
    pub fn name(&self) -> &RecipeName {
        &self.name
    }

    /// The size of a gem of this recipe in bits: 32, 48 or 64.
    #[must_use]
    pub fn gem_bits(&self) -> u32 {
        match self.method {
            Method::Exact { .. } => 32,
            Method::Hardened(ref hardened) => hardened.density().gem_bits(),
            Method::Signature(ref signature) => signature.gem_bits(),
            Method::Rewriting => rewriting::GEM_BITS,
        }
    }

    /// The written form of a gem of this recipe, as used in JSON and elsewhere.
    #[must_use]
    pub fn write(&self, gem: Gem) -> WrittenGem {
        match self.method {
            Method::Exact { .. } => WrittenGem::Number(gem.0),
            Method::Hardened(_) | Method::Rewriting => WrittenGem::Digits(gem.0),
            Method::Signature(ref signature) => signature.write(gem),
        }
    }

    /// Reads a written gem; `None` if it cannot be a gem of this recipe.
    #[must_use]
    pub fn read(&self, written: WrittenGem) -> Option<Gem> {
        match (written, &self.method) {
            (WrittenGem::Number(gem), Method::Exact { .. })
            | (WrittenGem::Digits(gem), Method::Hardened(_) | Method::Rewriting) => {
                (gem >> self.gem_bits() == 0).then_some(Gem(gem))
            }
            (written, Method::Signature(signature)) => signature.read(written),
            _ => None,
        }
    }

    /// The text as digits, nearly always ASCII digits; a text without any letters may keep digits of other scripts.
    /// With `hardened`: the consonants, as letters of `PVKTSLMNR`. With a signature: the strings whose hashes are the gems, each
    /// in a line.
    #[must_use]
    pub fn fold(&self, text: &str) -> String {
        match self.method {
            Method::Exact { base, .. } => fold(text, base, String::new),
            Method::Hardened(_) => Hardened::fold(text),
            Method::Signature(ref signature) => signature.strings(text).join("\n"),
            Method::Rewriting => rewriting::fold(text),
        }
    }

    /// For an exact recipe, the digits and their places computed by the fast path, and by the thirteen steps alone.
    #[cfg(fuzzing)]
    #[doc(hidden)]
    #[must_use]
    pub fn folded_both_ways(&self, text: &str) -> [Vec<(char, Place)>; 2] {
        match self.method {
            Method::Exact { base, .. } => {
                [fold(text, base, Vec::new), plainly(text, base, Vec::new)]
            }
            Method::Hardened(_) | Method::Signature(_) | Method::Rewriting => Default::default(),
        }
    }

    /// The text's gems, without duplicates, in order of first place. Those of a signature have no place.
    #[must_use]
    pub fn gems(&self, text: &str) -> Vec<PlacedGem> {
        match &self.method {
            Method::Exact { base, boundaries } => {
                fold(text, *base, || Cutter::new(boundaries)).finish()
            }
            Method::Hardened(hardened) => hardened.gems(text),
            Method::Signature(signature) => signature.gems(&TextWords::of(text)),
            Method::Rewriting => rewriting::gems(text),
        }
    }

    /// The gems of a signature, from the words of a text; `None` for any other recipe. Of a text with several signatures, the
    /// words need to be found only once.
    #[must_use]
    pub fn gems_of_words(&self, words: &TextWords) -> Option<Vec<PlacedGem>> {
        match &self.method {
            Method::Signature(signature) => Some(signature.gems(words)),
            Method::Exact { .. } | Method::Hardened(_) | Method::Rewriting => None,
        }
    }

    /// Like [`Self::gems`], for a long text in parts that several threads may fold. `fold` reads the text from its start,
    /// ends each part where [`TextParts::end`] allows it and passes it to [`TextParts::fold`]; it may be called twice. `None` if
    /// it returned that, if this text cannot be folded in parts, or if the recipe is not exact.
    ///
    /// ```
    /// use lapidary_gems::{TextParts, Recipe};
    ///
    /// let text = "The treasure's captain followed another expedition. ".repeat(5_000);
    /// let end = TextParts::end(text.as_bytes(), text.len() / 2).expect("plain words");
    /// let (first, second) = text.split_at(end);
    /// let recipe = Recipe::documented();
    /// let gems = recipe.gems_in_parts(|parts| Some(vec![parts.fold(second, end as u64)?, parts.fold(first, 0)?]));
    /// assert_eq!(gems, Some(recipe.gems(&text)));
    /// ```
    #[must_use]
    pub fn gems_in_parts(
        &self,
        fold: impl FnMut(&TextParts<'_>) -> Option<Vec<FoldedPart>>,
    ) -> Option<Vec<PlacedGem>> {
        match &self.method {
            Method::Exact { base, boundaries } => {
                cut_in_parts(*base, boundaries, fold).map(Cutter::finish)
            }
            Method::Hardened(_) | Method::Signature(_) | Method::Rewriting => None,
        }
    }

    /// Which of a book's gems have a posting. With `hardened`, an index holds postings for only a few gems, which
    /// represent the others. A check finds a book by those, and then compares all the gems that the book has.
    #[must_use]
    pub fn posted(&self, gems: &[PlacedGem]) -> Vec<bool> {
        match &self.method {
            Method::Exact { .. } | Method::Signature(_) => vec![true; gems.len()],
            Method::Hardened(hardened) => hardened.posted(gems),
            Method::Rewriting => rewriting::posted(gems),
        }
    }

    /// Whether all of a book's gems have a posting.
    #[must_use]
    pub fn posts_all(&self) -> bool {
        self.most_unposted() == 1
    }

    /// At least one in so many gems that two texts have in common has a posting, unless nearly all of them are isolated and happen
    /// to have none.
    #[must_use]
    pub fn most_unposted(&self) -> u32 {
        match &self.method {
            Method::Exact { .. } | Method::Signature(_) => 1,
            Method::Hardened(hardened) => hardened.most_unposted(),
            Method::Rewriting => 16,
        }
    }

    /// The gems to look up for a query text: those of [`Self::gems`], and with `hardened` additional ones, which make
    /// lookups more robust to edits without making the index larger.
    #[must_use]
    pub fn probes(&self, text: &str) -> Vec<Probe> {
        match &self.method {
            Method::Exact { .. } | Method::Signature(_) | Method::Rewriting => self
                .gems(text)
                .into_iter()
                .map(|placed| Probe { placed, kept: true })
                .collect(),
            Method::Hardened(hardened) => hardened.probes(text),
        }
    }

    /// More probes of a long query with many wrong letters, of which [`Self::probes`] puts only parts right: of its gems with one
    /// wrong letter, those that some books have. `gems_of_books` is called only if the query is such a text.
    ///
    /// # Errors
    /// Those of `gems_of_books`.
    pub fn probes_of_books<E>(
        &self,
        text: &str,
        gems_of_books: impl FnOnce() -> Result<Vec<Gem>, E>,
    ) -> Result<Vec<Probe>, E> {
        match &self.method {
            Method::Hardened(hardened) => hardened.probes_of_books(text, gems_of_books),
            Method::Exact { .. } | Method::Signature(_) | Method::Rewriting => Ok(Vec::new()),
        }
    }

    /// The text's fold, for storage: any recipe with the same base can cut it later. If the text was derived from
    /// another source, `source` maps places in the text to places in that source. `None` with a signature.
    #[must_use]
    pub fn folded(&self, text: &str, source: impl Fn(Place) -> Place) -> Option<PackedFold> {
        let mut symbols: Vec<(char, Place)> = match self.method {
            Method::Exact { base, .. } => fold(text, base, Vec::new),
            Method::Hardened(_) => Hardened::folded(text),
            Method::Signature(_) | Method::Rewriting => return None,
        };
        for (_, place) in &mut symbols {
            *place = source(*place);
        }
        Some(PackedFold::pack(self.base(), &symbols))
    }

    /// The name of the fold. Recipes whose folds have the same name have the same folds; a signature has none.
    #[must_use]
    pub fn base(&self) -> &'static str {
        match self.method {
            Method::Exact { base, .. } => base.name(),
            Method::Hardened(_) => SOUNDS,
            Method::Signature(_) | Method::Rewriting => "words",
        }
    }

    /// The gems of a text from its fold, the same as those of [`Self::gems`]; `None` if the fold has another base or
    /// cannot be read.
    #[must_use]
    pub fn recut(&self, packed: &PackedFold) -> Option<Vec<PlacedGem>> {
        let symbols = packed.symbols(self.base())?;
        Some(match &self.method {
            Method::Exact { boundaries, .. } => {
                let mut cutter = Cutter::new(boundaries);
                for (digit, place) in symbols {
                    cutter.digit(digit, place);
                }
                cutter.finish()
            }
            Method::Hardened(hardened) => hardened.recut(&symbols),
            Method::Signature(_) | Method::Rewriting => return None,
        })
    }
}

impl FromStr for Recipe {
    type Err = RecipeError;

    /// The recipe of a name, unless it needs a lexicon: see [`Recipe::named`].
    fn from_str(name: &str) -> Result<Self, RecipeError> {
        Self::named(name, None)
    }
}

/// The base's own name for the standard boundaries, a fixed name for the second ones, and otherwise a name with a
/// digest of the boundaries.
fn name_of(base: Base, boundaries: &Boundaries) -> RecipeName {
    if boundaries == Boundaries::standard() {
        return RecipeName::new(base.name());
    }
    if base == Base::Documented && boundaries == Boundaries::second() {
        return RecipeName::new(SECOND);
    }
    let mut written = boundaries.shortest().to_string();
    for sequence in boundaries.sequences() {
        written.push(' ');
        written.push_str(&sequence);
    }
    let digest = hex::encode(Sha256::digest(written.as_bytes()));
    RecipeName::new(&format!("{}@{}", base.name(), &digest[..8]))
}

#[cfg(test)]
mod tests {
    use super::{Boundaries, Recipe};
    use crate::RecipeError;

    #[test]
    fn other_boundaries_are_another_recipe() {
        let documented = Recipe::documented();
        let same = Boundaries::new(Boundaries::standard().sequences(), 150).expect("good");
        assert_eq!(documented.with_boundaries(same), documented);
        let shorter = Boundaries::new(Boundaries::standard().sequences(), 149).expect("good");
        let fewer = Boundaries::new(Boundaries::standard().sequences().skip(1), 150).expect("good");
        let names = [shorter, fewer].map(|b| documented.with_boundaries(b).name().to_string());
        assert!(
            names.iter().all(|name| name.starts_with("documented@")) && names[0] != names[1],
            "{names:?}"
        );
    }

    #[test]
    fn a_written_recipe_comes_back() {
        let fine = Recipe::released().with_boundaries(Boundaries::new(["1234"], 60).expect("good"));
        for recipe in Recipe::built_in().chain([fine]) {
            let written = serde_json::to_string(&recipe).expect("plain data");
            assert_eq!(
                serde_json::from_str::<Recipe>(&written).expect("what was written"),
                recipe
            );
        }
        let written = serde_json::to_string(&Recipe::released()).expect("plain data");
        let renamed = written.replace("\"name\":\"released\"", "\"name\":\"mine\"");
        let refused = serde_json::from_str::<Recipe>(&renamed)
            .expect_err("a name that its content does not have");
        assert!(
            refused
                .to_string()
                .contains("stored as 'mine', but its content is that of 'released'"),
            "{refused}"
        );
    }

    #[test]
    fn names() {
        for recipe in Recipe::built_in() {
            assert_eq!(recipe.name().as_str().parse::<Recipe>(), Ok(recipe));
        }
        assert_eq!(
            Recipe::documented_second().base(),
            "documented",
            "cut from folds kept for documented"
        );
        assert_eq!(
            "hard".parse::<Recipe>(),
            Err(RecipeError::Unknown("hard".into()))
        );
    }
}
