//! The recipes of a catalogue, and which of them a check uses.

use std::ops::Deref;
use std::sync::Arc;

use lapidary_gems::{Lexicon, Recipe, RecipeError, RecipeName, Secret, WrittenGem};

use super::answer::{CheckOptions, Recipes};
use super::libraries::Deciding;
use super::{Catalogue, CatalogueError, Editor};
use crate::api::{LexiconStats, RecipeStats, UsableRecipe};
use lapidary_store::recipes::RecipeState;
use lapidary_store::{Coverage, Snapshot, StoreError, UNWATCHED};

/// What ends a name that stands for a recipe with the catalogue's secret.
const OWN_SECRET: &str = "@secret";
/// What ends a name that stands for a recipe with a new secret.
const NEW_SECRET: &str = "@new-secret";
/// Maximum number of recipes in a check.
const MOST_RECIPES: usize = 8;

/// The recipes of a catalogue ([`Catalogue::recipes`]).
#[derive(Debug, Clone)]
pub struct CatalogueRecipes<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> CatalogueRecipes<C> {
    /// The recipe assumed for gems that arrive without a recipe name. Such clients know only one recipe, whatever the
    /// default is now.
    ///
    /// It is the recipe that was set with [`Catalogue::with_client_recipe`]; otherwise `released`, which the
    /// published client computes, or `documented`, whichever is ready first; `None` if neither is. A recipe that is
    /// still being added therefore changes nothing here until every book has gems of it.
    #[must_use]
    pub fn client_recipe(&self) -> Option<RecipeName> {
        let snapshot = self.0.store.snapshot();
        let exact = [Recipe::released(), Recipe::documented()];
        let found = exact
            .iter()
            .map(Recipe::name)
            .find(|name| snapshot.is_ready(name));
        self.0.client_recipe.as_ref().or(found).cloned()
    }

    /// The recipes of the catalogue, the default first.
    pub(super) fn all(&self) -> Vec<Recipe> {
        self.0.store.snapshot().recipes()
    }

    /// The first recipe of the catalogue that decides and whose gems anybody can compute: that of clients that send no texts. It
    /// is ready.
    #[must_use]
    pub fn portable(&self) -> Option<RecipeName> {
        let snapshot = self.0.store.snapshot();
        let is_portable = |recipe: &Recipe| {
            let name = recipe.name();
            !recipe.is_rewriting()
                && snapshot.is_ready(name)
                && Recipe::named(name.as_str(), None).is_ok()
        };
        let mut known = snapshot.recipes().into_iter();
        known.find(is_portable).map(|recipe| recipe.name().clone())
    }

    /// The recipe `asked` for, or the default. The default of a new catalogue is `hardened-compact` with a secret.
    ///
    /// # Errors
    /// If the catalogue has no gems of that recipe.
    pub fn get(&self, asked: Option<&RecipeName>) -> Result<Recipe, CatalogueError> {
        chosen(self.all(), asked)
    }

    /// The recipe of this name: one of the catalogue, a built-in one or a signature. `hardened-compact@secret` has the
    /// catalogue's secret, which is drawn if it has none. `hardened-compact@new-secret` has a new one, or one that no recipe in use has,
    /// because adding that was interrupted. Nothing is added to the catalogue.
    ///
    /// # Errors
    /// [`CatalogueError::Recipe`]; [`CatalogueError::NoRandom`] if no secret can be drawn.
    pub fn named(
        &self,
        name: &str,
        lexicon: Option<&Arc<Lexicon>>,
    ) -> Result<Recipe, CatalogueError> {
        let snapshot = self.0.store.snapshot();
        let known = snapshot.recipes();
        let is_new = name.ends_with(NEW_SECRET);
        let Some(public) = asked_with_secret(name) else {
            let known = known
                .into_iter()
                .find(|known| known.name().as_str() == name);
            return Ok(known.map_or_else(|| Recipe::named(name, lexicon), Ok)?);
        };
        let in_use = known
            .iter()
            .filter(|recipe| snapshot.is_ready(recipe.name()));
        let in_use: Vec<&Secret> = in_use.filter_map(Recipe::secret).collect();
        let mut usable = known.iter().filter_map(Recipe::secret);
        let secret = usable.find(|secret| !is_new || !in_use.contains(secret));
        let secret = secret.cloned().map_or_else(drawn, Ok)?;
        with_secret(&Recipe::named(public, None)?, &secret)
    }

    /// The name of the recipe to drop. `hardened-compact@secret` is the only ready one so called that is not the default, or else the
    /// default.
    pub(super) fn dropped(&self, name: &RecipeName) -> RecipeName {
        let snapshot = self.0.store.snapshot();
        let known = snapshot.recipes();
        let called = |recipe: &&Recipe| is_called(recipe, name) && snapshot.is_ready(recipe.name());
        let mut called: Vec<&Recipe> = known.iter().filter(called).collect();
        if called.len() > 1 && called.first().copied() == known.first() {
            called.remove(0);
        }
        match called[..] {
            [only] => only.name().clone(),
            _ => name.clone(),
        }
    }

    /// The recipes as a client may use them, the default first.
    #[must_use]
    pub fn usable(&self) -> Vec<UsableRecipe> {
        let snapshot = self.0.store.snapshot();
        let recipes = snapshot.recipes().into_iter().enumerate();
        let usable = recipes.map(|(at, recipe)| UsableRecipe {
            ready: snapshot.is_ready(recipe.name()),
            recipe: recipe.name().clone(),
            default: at == 0,
        });
        usable.collect()
    }

    /// Returns the recipes of the catalogue, the default first.
    pub fn list(&self) -> Result<Vec<RecipeStats>, CatalogueError> {
        recipe_stats(&*self.0.store.snapshot())
    }

    /// Returns the lexicon of this name, if a recipe has it.
    #[must_use]
    pub fn lexicon(&self, name: &str) -> Option<Arc<Lexicon>> {
        self.all()
            .iter()
            .filter_map(|recipe| recipe.lexicon())
            .find(|lexicon| lexicon.name() == name)
            .cloned()
    }

    /// The recipe of this name, or else the one that the gems belong to.
    pub(super) fn named_or_of(
        &self,
        name: Option<&RecipeName>,
        gems: &[WrittenGem],
    ) -> Result<Recipe, CatalogueError> {
        let known = known_or_new(self.all());
        match (name, self.belonging(&known, gems)) {
            (None, Some(recipe)) => Ok(recipe.clone()),
            (name, _) => self.get(name),
        }
    }

    /// The recipe that gems without a recipe's name belong to, judging by the first of them. If several fit, it is the
    /// one that was set with [`Catalogue::with_client_recipe`], else the default, else [`CatalogueRecipes::client_recipe`], else
    /// any. If none does, they are refused as gems of the first one that clients may know.
    fn belonging<'a>(&self, known: &'a [Recipe], gems: &[WrittenGem]) -> Option<&'a Recipe> {
        let mut fitting = known.iter().filter(|recipe| fits(recipe, gems));
        let named = |name: Option<&RecipeName>| {
            known
                .iter()
                .find(|recipe| fits(recipe, gems) && Some(recipe.name()) == name)
        };
        let default = known.first().filter(|recipe| fits(recipe, gems));
        let set = named(self.0.client_recipe.as_ref());
        set.or(default)
            .or_else(|| named(self.client_recipe().as_ref()))
            .or_else(|| fitting.next())
            .or_else(|| {
                known
                    .iter()
                    .find(|recipe| recipe.secret().is_none() && !recipe.is_signature())
            })
    }

    /// The recipes of a check of a text, or of these gems: at least one. A new catalogue has none yet, so any answers.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchRecipe`], [`CatalogueError::RecipeIncomplete`], [`CatalogueError::TooManyRecipes`].
    pub(super) fn of_check(
        &self,
        snapshot: &dyn Snapshot,
        deciding: &Deciding<'_>,
        gems: Option<&[WrittenGem]>,
        options: &CheckOptions,
    ) -> Result<Chosen, CatalogueError> {
        let known = snapshot.recipes();
        let chosen: Vec<Recipe> = match &options.recipes {
            Recipes::Usual => Vec::new(),
            Recipes::All => {
                let answering = known.iter().filter(|recipe| {
                    (options.allow_incomplete || snapshot.is_ready(recipe.name()))
                        && gems.is_none_or(|gems| fits(recipe, gems))
                });
                answering.take(MOST_RECIPES).cloned().collect()
            }
            Recipes::Named(names) => named(snapshot, deciding, &known, names, options)?,
        };
        let chosen = Chosen::from(chosen);
        match gems {
            _ if !chosen.recipes.is_empty() => Ok(chosen),
            None => Ok(reaching_all(deciding, known)?),
            Some(gems) => {
                if let Some(rewriting) = chosen.aside.first().filter(|_| !gems.is_empty()) {
                    // Its gems alone decide nothing.
                    let known = Chosen::from(known).recipes;
                    return Err(CatalogueError::no_such_recipe(rewriting.name(), &known));
                }
                let known = known_or_new(known);
                let belonging = self.belonging(&known, gems).or(known.first());
                Ok(belonging.into_iter().cloned().collect::<Vec<_>>().into())
            }
        }
    }
}

impl CatalogueRecipes<Editor<'_>> {
    /// Adds recipes to the catalogue. The first one of a new catalogue becomes its default; without any that decides, it gets
    /// `hardened-compact` with a secret of its own, the default, and `hardened` and `released` for gems that clients send. Returns all
    /// recipes of the catalogue; new texts get gems of each of them.
    ///
    /// This is for administrators and for creating a catalogue. Adding books never adds recipes.
    pub fn ensure(&self, recipes: &[Recipe]) -> Result<Vec<Recipe>, CatalogueError> {
        let known = self.all();
        let (aside, deciding): (Vec<Recipe>, Vec<Recipe>) =
            recipes.iter().cloned().partition(Recipe::is_rewriting);
        if deciding.is_empty() && known.is_empty() {
            self.begin()?;
        }
        let recipes = [deciding, aside].concat();
        if recipes.is_empty() {
            return Ok(self.all());
        }
        self.0.feeding.alone(|| self.add(&recipes))
    }

    /// Adds the recipe of this name, and returns whether it is new. A request that takes effect once keeps which one it is
    /// before: a new secret is drawn only once.
    pub fn add_named(
        &self,
        name: &str,
        lexicon: Option<&Arc<Lexicon>>,
    ) -> Result<(Recipe, bool), CatalogueError> {
        let (recipe, is_new) = match self.0.answered_before()? {
            Some(answer) => answer,
            None => self.chosen(name, lexicon)?,
        };
        self.ensure(std::slice::from_ref(&recipe))?;
        Ok((recipe, is_new))
    }

    /// The recipe of this name that a request adds, and whether it is new.
    fn chosen(
        &self,
        name: &str,
        lexicon: Option<&Arc<Lexicon>>,
    ) -> Result<(Recipe, bool), CatalogueError> {
        let recipe = self.named(name, lexicon)?;
        let is_new = !self.all().contains(&recipe);
        let answer = (recipe, is_new);
        if self.0.once().is_some() {
            self.0.apply_once(&self.0.keep_answer(&answer)?, &[])?;
        }
        Ok(answer)
    }

    /// Adds the recipes of a new catalogue.
    fn begin(&self) -> Result<Vec<Recipe>, CatalogueError> {
        let own = with_secret(&Recipe::hardened_compact(), &drawn()?)?;
        self.0.feeding.alone(|| {
            let known = self.add(std::slice::from_ref(&own))?;
            // Another process may have begun it at the same time, with a secret of its own.
            if known.first() != Some(&own) {
                let name = own.name();
                self.0.store.drop_recipe(&self.0.actor, name, UNWATCHED)?;
            }
            self.add(&public())
        })
    }

    /// Adds recipes, which are ready if there are no books. Returns all.
    fn add(&self, recipes: &[Recipe]) -> Result<Vec<Recipe>, CatalogueError> {
        let holds_none = self.0.store.snapshot().libraries()?.is_empty();
        for recipe in recipes {
            self.0.store.add_recipe(&self.0.actor, recipe)?;
            if holds_none {
                self.0
                    .store
                    .set_recipe(&self.0.actor, recipe.name(), RecipeState::Ready)?;
            }
        }
        Ok(self.all())
    }

    /// Marks as ready those of these recipes that every book now has gems of. Returns the others.
    pub fn make_ready(
        &self,
        recipes: &[Recipe],
    ) -> Result<Vec<(RecipeName, Coverage)>, CatalogueError> {
        let snapshot = self.0.store.snapshot();
        let mut incomplete = Vec::new();
        for name in recipes
            .iter()
            .map(Recipe::name)
            .filter(|name| !snapshot.is_ready(name))
        {
            match snapshot.coverage(name)? {
                coverage if coverage.lacking() == 0 => {
                    self.0
                        .store
                        .set_recipe(&self.0.actor, name, RecipeState::Ready)?;
                }
                coverage => incomplete.push((name.clone(), coverage)),
            }
        }
        Ok(incomplete)
    }
}

/// The recipes of a snapshot, the default first.
pub(super) fn recipe_stats(snapshot: &dyn Snapshot) -> Result<Vec<RecipeStats>, CatalogueError> {
    let recipes = snapshot
        .recipes()
        .into_iter()
        .enumerate()
        .map(|(i, recipe)| {
            let classes = snapshot.sizes(recipe.name())?.classes;
            let books = classes.iter().map(|class| class.books).sum();
            let gems = classes.iter().map(|class| class.gems).sum();
            let ready = snapshot.is_ready(recipe.name());
            let lexicon = recipe.lexicon().map(|lexicon| LexiconStats {
                name: lexicon.name().to_owned(),
                documents: lexicon.documents(),
                words: lexicon.different() as u64,
                bytes: lexicon.written().len() as u64,
            });
            Ok(RecipeStats {
                recipe: recipe.name().clone(),
                default: i == 0,
                ready,
                books,
                gems,
                lexicon,
            })
        });
    recipes.collect()
}

/// The recipes of a new catalogue for gems that clients send: the one that sees through the most, and that of the published
/// client module.
fn public() -> [Recipe; 2] {
    [Recipe::hardened(), Recipe::released()]
}

/// The recipes of a check.
pub(super) struct Chosen {
    /// At least one.
    pub(super) recipes: Vec<Recipe>,
    /// Those of the others that reach more books, all of which only inform; and `rewriting`, whose matches do.
    pub(super) aside: Vec<Recipe>,
}

impl From<Vec<Recipe>> for Chosen {
    fn from(recipes: Vec<Recipe>) -> Self {
        let (aside, recipes) = recipes.into_iter().partition(Recipe::is_rewriting);
        Self { recipes, aside }
    }
}

/// The recipes of a check that names none, with `rewriting` if it is known.
pub(super) fn reaching_all(
    deciding: &Deciding<'_>,
    known: Vec<Recipe>,
) -> Result<Chosen, StoreError> {
    let Chosen { recipes, aside } = known.into();
    let mut chosen = deciding_recipes(deciding, recipes)?;
    chosen.aside.extend(aside);
    Ok(chosen)
}

/// The default of the known recipes, and those of the others that find books which the ones before do not. A book is covered
/// by any of its recipes, so one that is known only by gems needs no other than that of its gems.
fn deciding_recipes(deciding: &Deciding<'_>, known: Vec<Recipe>) -> Result<Chosen, StoreError> {
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
    let (aside, _) = reaching(
        &known,
        &mut names,
        all.lacking(),
        |names: &[RecipeName]| Ok(deciding.coverage_of_all(names)?.unwrap_or(all)),
    )?;
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
        public().into()
    } else {
        known
    }
}

/// Whether gems written like this can be gems of the recipe. Those of a signature are written like others, so they come with
/// the recipe's name, and those with a secret never come.
fn fits(recipe: &Recipe, gems: &[WrittenGem]) -> bool {
    !recipe.is_signature()
        && recipe.secret().is_none()
        && gems.first().is_none_or(|gem| recipe.read(*gem).is_some())
}

/// The recipes of these names, each once.
fn named(
    snapshot: &dyn Snapshot,
    deciding: &Deciding<'_>,
    known: &[Recipe],
    names: &[RecipeName],
    options: &CheckOptions,
) -> Result<Vec<Recipe>, CatalogueError> {
    if names.len() > MOST_RECIPES {
        return Err(CatalogueError::TooManyRecipes {
            limit: MOST_RECIPES,
        });
    }
    let mut chosen: Vec<Recipe> = Vec::new();
    for name in names {
        let recipe = known.iter().find(|recipe| is_called(recipe, name));
        let recipe = recipe.ok_or_else(|| CatalogueError::no_such_recipe(name, known))?;
        may_answer(snapshot, deciding, recipe, options)?;
        if !chosen.contains(recipe) {
            chosen.push(recipe.clone());
        }
    }
    Ok(chosen)
}

/// The public recipe that was asked for with the catalogue's secret or a new one.
pub(super) fn asked_with_secret(name: &str) -> Option<&str> {
    name.strip_suffix(OWN_SECRET)
        .or_else(|| name.strip_suffix(NEW_SECRET))
}

fn with_secret(public: &Recipe, secret: &Secret) -> Result<Recipe, CatalogueError> {
    let own = public.with_secret(secret);
    let name = || format!("{}{OWN_SECRET}", public.name());
    Ok(own.ok_or_else(|| RecipeError::Unknown(name()))?)
}

fn drawn() -> Result<Secret, CatalogueError> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(CatalogueError::NoRandom)?;
    Ok(Secret::new(random))
}

/// Whether this is the name of the recipe. Whoever asks for it need not know the digits that tell its secret from others.
fn is_called(recipe: &Recipe, name: &RecipeName) -> bool {
    let with_secret = name.as_str().strip_suffix(OWN_SECRET);
    recipe.name() == name || recipe.secret().is_some() && with_secret == Some(recipe.public_name())
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

/// The recipe asked for, or the first of `recipes`, or `hardened` if there are none yet.
pub(super) fn chosen(
    recipes: Vec<Recipe>,
    asked: Option<&RecipeName>,
) -> Result<Recipe, CatalogueError> {
    let Some(name) = asked else {
        return Ok(recipes.into_iter().next().unwrap_or_else(Recipe::hardened));
    };
    let found = recipes
        .iter()
        .find(|recipe| is_called(recipe, name))
        .cloned();
    found.ok_or_else(|| CatalogueError::no_such_recipe(name, &recipes))
}
