//! The recipes of a store, with the numbers that represent them in keys.

use lapidary_gems::{Gem, PlacedGem, Recipe, RecipeName, WrittenGem};

use super::StoreError;

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

/// The bits that number a bucket unless the engine chooses others. With 10 to 100 million postings, a bucket has 40 to 400.
pub const BUCKET_BITS: u32 = 18;

impl KnownRecipe {
    /// A recipe of a store, with the usual buckets.
    #[must_use]
    pub fn new(number: u16, recipe: Recipe, ready: bool) -> Self {
        let gem_bits = recipe.gem_bits();
        Self {
            number,
            recipe,
            leaving: false,
            ready,
            gem_bits,
            bucket_bits: BUCKET_BITS,
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

    /// A gem as shown to users.
    #[must_use]
    pub fn shown(&self, gem: Gem) -> WrittenGem {
        self.recipe.write(gem)
    }

    /// Whether this recipe can produce the gem.
    #[must_use]
    pub fn fits(&self, gem: Gem) -> bool {
        gem.0.checked_shr(self.gem_bits).unwrap_or(0) == 0
    }
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

    /// Marks a recipe as ready.
    pub fn mark_ready(&mut self, number: u16) {
        self.0
            .iter_mut()
            .filter(|known| known.number == number)
            .for_each(|known| known.ready = true);
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
