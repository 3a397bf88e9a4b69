//! The recipes of a store, with the numbers that represent them in keys.

use lapidary_gems::{Gem, PlacedGem, Recipe, RecipeName};

use super::{Action, StoreError};

/// A recipe of this store.
#[derive(Debug, Clone)]
pub struct KnownRecipe {
    /// The number that represents the recipe in keys.
    pub number: u16,
    /// The recipe.
    pub recipe: Recipe,
    /// Whether it is being dropped. It is then hidden, and gets no new gems.
    pub leaving: bool,
    /// Whether checks can use the recipe without explicitly accepting missing books.
    pub ready: bool,
    /// The size of a gem, in bits.
    pub gem_bits: u32,
    /// The upper bits of a gem that number its bucket, in an engine where recipes differ in them.
    pub bucket_bits: u32,
}

/// The bits that number a bucket of `hardened-compact` unless the engine chooses others. With 10 to 100 million postings, a bucket has
/// 40 to 400.
pub const BUCKET_BITS: u32 = 18;

/// The bits that number a bucket of this recipe, so that it has as many postings as one of `hardened-compact`.
fn bucket_bits(recipe: &Recipe) -> u32 {
    let compact = f64::from(Recipe::hardened_compact().characters_per_gem());
    let times_fewer = f64::from(recipe.characters_per_gem()) / compact;
    BUCKET_BITS - times_fewer.log2().round().clamp(0.0, 8.0) as u32
}

impl KnownRecipe {
    /// A recipe of a store, with the usual buckets.
    #[must_use]
    pub fn new(number: u16, recipe: Recipe, ready: bool) -> Self {
        let (gem_bits, bucket_bits) = (recipe.gem_bits(), bucket_bits(&recipe));
        Self {
            number,
            recipe,
            leaving: false,
            ready,
            gem_bits,
            bucket_bits,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &RecipeName {
        self.recipe.name()
    }

    /// Size of a gem in keys and lists, in bytes.
    #[must_use]
    pub fn gem_bytes(&self) -> usize {
        self.gem_bits.div_ceil(u8::BITS) as usize
    }

    /// The gems of a book's list that have a posting.
    pub fn posted(&self, list: &[PlacedGem]) -> impl Iterator<Item = Gem> {
        let posted = self.recipe.posted(list);
        list.iter()
            .zip(posted)
            .filter_map(|(placed, posted)| posted.then_some(placed.gem))
    }

    /// A gem as shown to users, unless it is a secret.
    #[must_use]
    pub fn shown(&self, gem: Gem) -> String {
        match self.recipe.secret() {
            Some(_) => "(not shown)".to_owned(),
            None => self.recipe.write(gem).to_string(),
        }
    }

    /// Whether this recipe can produce the gem.
    #[must_use]
    pub fn fits(&self, gem: Gem) -> bool {
        gem.0.checked_shr(self.gem_bits).unwrap_or(0) == 0
    }
}

/// What becomes of a recipe ([`Store::set_recipe`](super::Store::set_recipe)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecipeState {
    /// Checks may use it without explicitly accepting missing books. It stays ready until it is dropped.
    Ready,
    /// The default, and thereby ready.
    Default {
        /// Whether it may be even if there are books without gems of it.
        anyway: bool,
    },
    /// Hidden, the first step of [`Store::drop_recipe`](super::Store::drop_recipe).
    Hidden,
}

/// All recipes of a store, the default first, the others by number.
#[derive(Debug, Clone, Default)]
pub struct Recipes(pub Vec<KnownRecipe>);

impl Recipes {
    /// A recipe by name, even if it is being dropped.
    pub fn named(&self, name: &RecipeName) -> Result<&KnownRecipe, StoreError> {
        self.0
            .iter()
            .find(|known| known.name() == name)
            .ok_or_else(|| self.unknown(name))
    }

    /// A recipe by name, unless it is being dropped.
    pub fn staying(&self, name: &RecipeName) -> Result<&KnownRecipe, StoreError> {
        self.0
            .iter()
            .find(|known| known.name() == name && !known.leaving)
            .ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &RecipeName) -> StoreError {
        let names: Vec<_> = self.shown().map(|recipe| recipe.name().as_str()).collect();
        let known = if names.is_empty() {
            "none yet".to_owned()
        } else {
            names.join(", ")
        };
        StoreError::UnknownRecipe {
            asked: name.clone(),
            known,
        }
    }

    /// The recipes that are not being dropped, the default first.
    pub fn shown(&self) -> impl Iterator<Item = &Recipe> {
        self.0
            .iter()
            .filter(|known| !known.leaving)
            .map(|known| &known.recipe)
    }

    /// An unused number. The number of a dropped recipe can be reused, as nothing of it is left.
    #[must_use]
    pub fn next_number(&self) -> Option<u16> {
        self.0
            .iter()
            .map(|known| known.number)
            .max()
            .map_or(Some(0), |last| last.checked_add(1))
    }

    /// Adds a recipe with an unused number. The first one is the default. Returns the entries of the audit log; `None` if it
    /// is known.
    ///
    /// # Errors
    /// [`StoreError::RecipeDiffers`] if another recipe has the same name.
    pub fn add(&mut self, recipe: &Recipe, number: u16) -> Result<Option<Vec<Action>>, StoreError> {
        let name = recipe.name().clone();
        match self.named(&name) {
            Ok(known) if known.recipe == *recipe => Ok(None),
            Ok(_) => Err(StoreError::RecipeDiffers(name)),
            Err(_) => {
                let is_first = self.0.is_empty();
                self.0
                    .push(KnownRecipe::new(number, recipe.clone(), is_first));
                Ok(Some(vec![Action::RecipeAdded { recipe: name }]))
            }
        }
    }

    /// Changes the state of a recipe. Returns the entries of the audit log; `None` if there is nothing to hide.
    ///
    /// # Errors
    /// [`StoreError::UnknownRecipe`], and [`StoreError::IsDefault`] if the default is to be hidden.
    pub fn set(
        &mut self,
        name: &RecipeName,
        state: RecipeState,
    ) -> Result<Option<Vec<Action>>, StoreError> {
        let mut known = self.0.iter();
        let at = known.position(|known| known.name() == name && !known.leaving);
        let recipe = name.clone();
        let actions = match (state, at) {
            (RecipeState::Hidden, None) => return Ok(None),
            (_, None) => return Err(self.unknown(name)),
            (RecipeState::Hidden, Some(0)) => return Err(StoreError::IsDefault(recipe)),
            (RecipeState::Hidden, Some(at)) => {
                self.0[at].leaving = true;
                vec![Action::RecipeDropped { recipe }]
            }
            (RecipeState::Ready, Some(at)) => {
                self.0[at].ready = true;
                Vec::new()
            }
            (RecipeState::Default { .. }, Some(at)) => {
                self.0[at].ready = true;
                self.sort(Some(self.0[at].number));
                vec![Action::RecipeDefault { recipe }]
            }
        };
        Ok(Some(actions))
    }

    /// Sorts the recipes.
    pub fn sort(&mut self, default: Option<u16>) {
        self.0
            .sort_by_key(|known| (Some(known.number) != default, known.number));
    }

    /// The recipe of this number.
    #[must_use]
    pub fn numbered(&self, number: u16) -> Option<&KnownRecipe> {
        self.0.iter().find(|known| known.number == number)
    }
}

#[cfg(test)]
mod tests {
    use lapidary_gems::Recipe;

    use super::KnownRecipe;

    #[test]
    fn buckets_have_as_many_postings_with_every_recipe() {
        let recipes = [
            Recipe::hardened_compact(),
            Recipe::hardened(),
            Recipe::released(),
            "winnow".parse().expect("a signature"),
            "sum".parse().expect("a signature"),
        ];
        let bits = recipes.map(|recipe| KnownRecipe::new(0, recipe, true).bucket_bits);
        assert_eq!(bits, [18, 16, 12, 18, 18]);
    }
}
