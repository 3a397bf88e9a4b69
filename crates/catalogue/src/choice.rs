//! Which recipes a check uses.

use lapidary_gems::{Recipe, RecipeName, WrittenGem};

use super::answer::{CheckOptions, Recipes};
use super::trust::Deciding;
use super::{Catalogue, CatalogueError};
use lapidary_store::{Coverage, Snapshot, StoreError};

/// Maximum number of recipes in a check.
const MOST_RECIPES: usize = 8;

impl Catalogue {
    /// The recipe of this name, or else the one that the gems belong to.
    pub(super) fn recipe_named_or_of(
        &self,
        name: Option<&RecipeName>,
        gems: &[WrittenGem],
    ) -> Result<Recipe, CatalogueError> {
        let known = known_or_new(self.recipes());
        match (name, self.belonging(&known, gems)) {
            (None, Some(recipe)) => Ok(recipe.clone()),
            (name, _) => self.recipe(name),
        }
    }

    /// The recipe that gems without a recipe's name belong to, judging by the first of them. If several fit, it is the
    /// one that was set with [`Catalogue::with_client_recipe`], else the default, else [`Catalogue::client_recipe`], else
    /// any.
    fn belonging<'a>(&self, known: &'a [Recipe], gems: &[WrittenGem]) -> Option<&'a Recipe> {
        let mut fitting = known.iter().filter(|recipe| fits(recipe, gems));
        let named = |name: Option<&RecipeName>| {
            known
                .iter()
                .find(|recipe| fits(recipe, gems) && Some(recipe.name()) == name)
        };
        let default = known.first().filter(|recipe| fits(recipe, gems));
        let set = named(self.client_recipe.as_ref());
        set.or(default)
            .or_else(|| named(self.client_recipe().as_ref()))
            .or_else(|| fitting.next())
    }

    /// The recipes of a check of a text, or of these gems: at least one. A new catalogue has none yet, so any answers.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchRecipe`], [`CatalogueError::RecipeIncomplete`], [`CatalogueError::TooManyRecipes`].
    pub(super) fn recipes_for(
        &self,
        snapshot: &dyn Snapshot,
        deciding: &Deciding<'_>,
        gems: Option<&[WrittenGem]>,
        options: &CheckOptions,
    ) -> Result<Chosen, CatalogueError> {
        let known = snapshot.recipes();
        let usual = || match gems {
            None => Ok(reaching_all(deciding, known.clone())?),
            Some(gems) => {
                let known = known_or_new(known.clone());
                let belonging = self.belonging(&known, gems).or(known.first());
                Ok(belonging.into_iter().cloned().collect::<Vec<_>>().into())
            }
        };
        match &options.recipes {
            Recipes::Usual => usual(),
            Recipes::All => {
                let answers = |recipe: &Recipe| {
                    (options.allow_incomplete || snapshot.is_ready(recipe.name()))
                        && gems.is_none_or(|gems| fits(recipe, gems))
                };
                let all: Vec<Recipe> = known
                    .iter()
                    .filter(|recipe| answers(recipe))
                    .take(MOST_RECIPES)
                    .cloned()
                    .collect();
                if all.is_empty() {
                    usual()
                } else {
                    Ok(all.into())
                }
            }
            Recipes::Named(names) if names.len() > MOST_RECIPES => {
                Err(CatalogueError::TooManyRecipes {
                    limit: MOST_RECIPES,
                })
            }
            Recipes::Named(names) => {
                let mut chosen: Vec<Recipe> = Vec::new();
                for name in names {
                    let found = known.iter().find(|recipe| recipe.name() == name);
                    let recipe =
                        found.ok_or_else(|| CatalogueError::no_such_recipe(name, &known))?;
                    may_answer(snapshot, deciding, recipe, options)?;
                    if !chosen.contains(recipe) {
                        chosen.push(recipe.clone());
                    }
                }
                if chosen.is_empty() {
                    usual()
                } else {
                    Ok(chosen.into())
                }
            }
        }
    }
}

/// The recipes of a new catalogue, the default first: the one that sees through the most, and that of the published
/// client module.
pub(super) fn new_catalogue() -> Vec<Recipe> {
    vec![Recipe::hardened(), Recipe::released()]
}

/// The recipes of a check.
pub(super) struct Chosen {
    /// At least one.
    pub(super) recipes: Vec<Recipe>,
    /// Those of the others that reach more books, all of which only inform.
    pub(super) aside: Vec<Recipe>,
}

impl From<Vec<Recipe>> for Chosen {
    fn from(recipes: Vec<Recipe>) -> Self {
        Self {
            recipes,
            aside: Vec::new(),
        }
    }
}

/// The default of the known recipes, and those of the others that find books which the ones before do not. A book is covered
/// by any of its recipes, so one that is known only by gems needs no other than that of its gems.
pub(super) fn reaching_all(
    deciding: &Deciding<'_>,
    known: Vec<Recipe>,
) -> Result<Chosen, StoreError> {
    if known.is_empty() {
        return Ok(vec![Recipe::hardened()].into());
    }
    let mut names = Vec::new();
    let (recipes, lacking) = reaching(&known, &mut names, u64::MAX, |names| {
        deciding.coverage(names)
    })?;
    if lacking > 0 {
        // Which of them have gems of which recipes may not have been counted.
        return Ok(known.into());
    }
    let Some(all) = deciding.coverage_of_all(&names)? else {
        return Ok(recipes.into());
    };
    let of_all = |names: &[RecipeName]| Ok(deciding.coverage_of_all(names)?.unwrap_or(all));
    let (aside, _) = reaching(&known, &mut names, all.lacking(), of_all)?;
    Ok(Chosen { recipes, aside })
}

/// The recipes that leave fewer books uncovered than those in `names` and the ones before, and how many all leave. Adds their names.
fn reaching(
    known: &[Recipe],
    names: &mut Vec<RecipeName>,
    mut lacking: u64,
    coverage: impl Fn(&[RecipeName]) -> Result<Coverage, StoreError>,
) -> Result<(Vec<Recipe>, u64), StoreError> {
    let mut used = Vec::new();
    for recipe in known {
        if lacking == 0 {
            break;
        }
        names.push(recipe.name().clone());
        let now = coverage(names)?.lacking();
        if now < lacking {
            used.push(recipe.clone());
            lacking = now;
        } else {
            names.pop();
        }
    }
    Ok((used, lacking))
}

fn known_or_new(known: Vec<Recipe>) -> Vec<Recipe> {
    if known.is_empty() {
        new_catalogue()
    } else {
        known
    }
}

/// Whether gems written like this can be gems of the recipe. Those of a signature are written like others, so they come with
/// the recipe's name.
fn fits(recipe: &Recipe, gems: &[WrittenGem]) -> bool {
    !recipe.is_signature() && gems.first().is_none_or(|gem| recipe.read(*gem).is_some())
}

/// Refuses a recipe that was named although a check with it would silently miss books.
fn may_answer(
    snapshot: &dyn Snapshot,
    deciding: &Deciding<'_>,
    recipe: &Recipe,
    options: &CheckOptions,
) -> Result<(), CatalogueError> {
    if !snapshot.is_ready(recipe.name()) && !options.allow_incomplete {
        let coverage = deciding.coverage(std::slice::from_ref(recipe.name()))?;
        if coverage.lacking() > 0 {
            return Err(CatalogueError::RecipeIncomplete {
                recipe: recipe.name().clone(),
                coverage,
            });
        }
    }
    Ok(())
}
