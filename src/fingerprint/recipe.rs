//! A recipe: everything that decides which gems a text has.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::boundaries::{Boundaries, BoundariesError};
use super::cut::Cutter;
#[cfg(fuzzing)]
use super::fold::plainly;
use super::fold::{Sink as _, fold};
#[cfg(fuzzing)]
use super::gem::Place;
use super::gem::PlacedGem;
use super::packed::PackedFold;

/// What `documented` with the second boundaries is called.
const SECOND: &str = "documented-second";

/// The letter tables and steps that a recipe folds with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Base {
    /// As the authors of the algorithm describe it.
    Documented,
    /// As the published Perl module computes it.
    Released,
}

impl Base {
    const ALL: [Self; 2] = [Self::Documented, Self::Released];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|base| base.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Documented => "documented",
            Self::Released => "released",
        }
    }
}

/// How a text becomes gems. Gems of two recipes never compare.
///
/// A recipe with other boundaries than the standard ones is another recipe with a name of its own, made from what it
/// cuts by: `documented@` and eight hexadecimal digits.
///
/// ```
/// use lapidary::fingerprint::Recipe;
///
/// let recipe: Recipe = "documented".parse()?;
/// assert_eq!(recipe.fold("Lapidary folds longer words"), "41364526");
/// # Ok::<(), lapidary::fingerprint::RecipeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Definition", into = "Definition")]
pub struct Recipe {
    /// Always what [`name_of`] makes of the other two.
    name: RecipeName,
    base: Base,
    boundaries: Boundaries,
}

impl Recipe {
    /// The recipe `documented`, the default of a new catalogue.
    #[must_use]
    pub fn documented() -> Self {
        Self::new(Base::Documented, Boundaries::standard().clone())
    }

    /// The recipe `released`.
    #[must_use]
    pub fn released() -> Self {
        Self::new(Base::Released, Boundaries::standard().clone())
    }

    /// The recipe `documented-second`: the fold of `documented`, cut at other sequences. What a change spoils under one may
    /// survive under the other.
    #[must_use]
    pub fn documented_second() -> Self {
        Self::new(Base::Documented, Boundaries::second().clone())
    }

    fn new(base: Base, boundaries: Boundaries) -> Self {
        Self { name: name_of(base, &boundaries), base, boundaries }
    }

    /// This recipe with other boundaries, and with the name that goes with them.
    #[must_use]
    pub fn with_boundaries(&self, boundaries: Boundaries) -> Self {
        Self::new(self.base, boundaries)
    }

    /// The recipe's name.
    #[must_use]
    pub fn name(&self) -> &RecipeName {
        &self.name
    }

    /// How many bits a gem of this recipe has: 32 or 64.
    #[must_use]
    pub fn gem_bits(&self) -> u32 {
        32
    }

    /// The largest gem this recipe makes.
    #[must_use]
    pub fn largest_gem(&self) -> u64 {
        u64::MAX >> (64 - self.gem_bits())
    }

    /// The text as digits. Nearly always ASCII digits; a text without any letter may keep digits of other scripts.
    #[must_use]
    pub fn fold(&self, text: &str) -> String {
        fold(text, self.base, String::new)
    }

    /// The digits and their places by the fast way, and by the thirteen steps alone.
    #[cfg(fuzzing)]
    #[doc(hidden)]
    #[must_use]
    pub fn folded_both_ways(&self, text: &str) -> [Vec<(char, Place)>; 2] {
        [fold(text, self.base, Vec::new), plainly(text, self.base, Vec::new)]
    }

    /// The text's gems in order of first place, none twice.
    #[must_use]
    pub fn gems(&self, text: &str) -> Vec<PlacedGem> {
        fold(text, self.base, || Cutter::new(&self.boundaries)).finish()
    }

    /// The text's fold, to be kept: any recipe of the same base can cut it later.
    #[must_use]
    pub fn folded(&self, text: &str) -> PackedFold {
        PackedFold::pack(self.base, &fold(text, self.base, Vec::new))
    }

    /// The name of the built-in recipe that folds as this one does.
    #[must_use]
    pub fn base(&self) -> &'static str {
        self.base.name()
    }

    /// The gems of a text from its fold, just those of [`Self::gems`]; `None` for a fold of another base, and for one that
    /// cannot be read.
    #[must_use]
    pub fn recut(&self, packed: &PackedFold) -> Option<Vec<PlacedGem>> {
        let digits = (packed.base == self.base).then(|| packed.unpack()).flatten()?;
        let mut cutter = Cutter::new(&self.boundaries);
        for (digit, place) in digits {
            cutter.digit(digit, place);
        }
        Some(cutter.finish())
    }
}

impl FromStr for Recipe {
    type Err = RecipeError;

    /// A built-in recipe by its name.
    fn from_str(name: &str) -> Result<Self, RecipeError> {
        if name == SECOND {
            return Ok(Self::documented_second());
        }
        Base::named(name)
            .map(|base| Self::new(base, Boundaries::standard().clone()))
            .ok_or_else(|| RecipeError::Unknown(name.into()))
    }
}

/// A recipe as it is written down.
#[derive(Serialize, Deserialize)]
struct Definition {
    name: RecipeName,
    base: Base,
    shortest: usize,
    boundaries: Vec<String>,
}

impl From<Recipe> for Definition {
    fn from(recipe: Recipe) -> Self {
        let boundaries = recipe.boundaries.sequences().collect();
        Self { name: recipe.name, base: recipe.base, shortest: recipe.boundaries.shortest(), boundaries }
    }
}

impl TryFrom<Definition> for Recipe {
    type Error = RecipeError;

    fn try_from(written: Definition) -> Result<Self, RecipeError> {
        let recipe = Self::new(written.base, Boundaries::new(written.boundaries, written.shortest)?);
        if recipe.name == written.name { Ok(recipe) } else { Err(RecipeError::Renamed(written.name, recipe.name)) }
    }
}

/// The base's own name for the standard boundaries, a name for the second ones; for others, with a digest of them.
fn name_of(base: Base, boundaries: &Boundaries) -> RecipeName {
    if boundaries == Boundaries::standard() {
        return RecipeName(base.name().to_owned());
    }
    if base == Base::Documented && boundaries == Boundaries::second() {
        return RecipeName(SECOND.to_owned());
    }
    let mut written = boundaries.shortest().to_string();
    for sequence in boundaries.sequences() {
        written.push(' ');
        written.push_str(&sequence);
    }
    let digest = hex::encode(Sha256::digest(written.as_bytes()));
    RecipeName(format!("{}@{}", base.name(), &digest[..8]))
}

/// A recipe's name, such as `documented`: 1 to 64 of `a-z 0-9 - @`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecipeName(String);

impl RecipeName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RecipeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for RecipeName {
    type Err = RecipeError;

    fn from_str(name: &str) -> Result<Self, RecipeError> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'@';
        if (1..=64).contains(&name.len()) && name.bytes().all(allowed) {
            Ok(Self(name.to_owned()))
        } else {
            Err(RecipeError::Name(name.chars().take(80).collect()))
        }
    }
}

impl TryFrom<String> for RecipeName {
    type Error = RecipeError;

    fn try_from(name: String) -> Result<Self, RecipeError> {
        name.parse()
    }
}

impl From<RecipeName> for String {
    fn from(name: RecipeName) -> String {
        name.0
    }
}

/// What is wrong with a recipe.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// The name has characters a recipe's name cannot have.
    #[error("{0:?} is not a recipe's name: 1 to 64 of a-z, 0-9, '-' and '@'")]
    Name(String),
    /// There is no built-in recipe of that name.
    #[error("there is no recipe '{0}'; built in are: documented, documented-second, released")]
    Unknown(String),
    /// Its boundaries are wrong.
    #[error(transparent)]
    Boundaries(#[from] BoundariesError),
    /// A written recipe has a name that does not go with what it says.
    #[error("a recipe is written down as '{0}', but its content is that of '{1}'")]
    Renamed(RecipeName, RecipeName),
}

#[cfg(test)]
mod tests {
    use super::{Boundaries, Recipe, RecipeError};

    #[test]
    fn other_boundaries_are_another_recipe() {
        let documented = Recipe::documented();
        let same = Boundaries::new(Boundaries::standard().sequences(), 150).expect("good");
        assert_eq!(documented.with_boundaries(same), documented);
        let shorter = Boundaries::new(Boundaries::standard().sequences(), 149).expect("good");
        let fewer = Boundaries::new(Boundaries::standard().sequences().skip(1), 150).expect("good");
        let names = [shorter, fewer].map(|b| documented.with_boundaries(b).name().to_string());
        assert!(names.iter().all(|name| name.starts_with("documented@")) && names[0] != names[1], "{names:?}");
    }

    #[test]
    fn a_written_recipe_comes_back() {
        let fine = Recipe::released().with_boundaries(Boundaries::new(["1234"], 60).expect("good"));
        for recipe in [Recipe::documented(), Recipe::documented_second(), Recipe::released(), fine] {
            let written = serde_json::to_string(&recipe).expect("plain data");
            assert_eq!(serde_json::from_str::<Recipe>(&written).expect("what was written"), recipe);
        }
        let written = serde_json::to_string(&Recipe::released()).expect("plain data");
        let renamed = written.replace("\"name\":\"released\"", "\"name\":\"mine\"");
        let refused = serde_json::from_str::<Recipe>(&renamed).expect_err("a name that its content does not have");
        assert!(
            refused.to_string().contains("written down as 'mine', but its content is that of 'released'"),
            "{refused}"
        );
    }

    #[test]
    fn names() {
        assert_eq!("released".parse::<Recipe>(), Ok(Recipe::released()));
        assert_eq!("documented-second".parse::<Recipe>(), Ok(Recipe::documented_second()));
        assert_eq!(Recipe::documented_second().base(), "documented", "cut from folds kept for documented");
        assert_eq!("hard".parse::<Recipe>(), Err(RecipeError::Unknown("hard".into())));
    }
}
