//! Collages wait in quarantine: a book that a library's key adds, and that shares passages with several unrelated works of other
//! libraries, decides nothing for others until an administrator confirms it.

use std::collections::BTreeSet;
use std::iter;

use jiff::Timestamp;
use lapidary_gems::{Probe, Recipe, Rule};

use super::add::GemsByRecipe;
use super::authority::Authority;
use super::checking::{Checking, InRecipe};
use super::recipes::{Chosen, reaching_all};
use super::{CatalogueError, Editor};
use lapidary_checking::{is_collage, kept_probes};
use lapidary_store::{Quarantine, Record};

/// Shorter passages in common do not count, in characters.
const PASSAGE: u32 = 1_500;

/// A book as a query in several recipes: by passages, and by what a match needs of a short work, which has fewer gems.
fn with_rules(asked: &[(Recipe, Vec<Probe>)], has_text: bool) -> Vec<InRecipe<'_>> {
    let mut queries = Vec::new();
    for (recipe, gems) in asked {
        let passages = passages(recipe, has_text);
        let of_short = Some(recipe.rule()).filter(|rule| rule.fewest() < passages.fewest());
        for rule in iter::once(passages).chain(of_short) {
            queries.push(InRecipe { recipe, rule, gems });
        }
    }
    queries
}

/// The quarantine of a book with a new content, unless it is no collage, or an administrator adds it. Books of the actor's own
/// libraries, and those that decide nothing, do not make it one.
pub(super) fn quarantine_of(
    editor: &Editor<'_>,
    record: &Record,
    gems: &GemsByRecipe,
) -> Result<Option<Quarantine>, CatalogueError> {
    let authority = editor.authority()?;
    if authority == Authority::Administrator {
        return Ok(None);
    }
    let has_text = record.bytes > 0;
    let snapshot = editor.store.snapshot();
    let deciding = editor
        .libraries()
        .deciding_for(&*snapshot, BTreeSet::new())?;
    let asked = queries(
        reaching_all(&deciding, snapshot.recipes())?.recipes,
        snapshot.recipes(),
        gems,
    );
    if asked.is_empty() {
        return Ok(None);
    }
    let mut without = deciding.informing() | &authority.own_libraries();
    without.insert(record.key.library.clone());
    let allowances = editor.allow_lists().combined()?;
    let asked = with_rules(&asked, has_text);
    let checking = Checking {
        without: &without,
        is_left_out: &|_, outline| deciding.informs(outline).is_some(),
        ..Checking::new(&*snapshot, asked, &[], &allowances, &deciding)
    };
    let works = checking.shared_works(&|recipe| passages(recipe, has_text).fewest() as usize)?;
    let quarantine = Quarantine {
        started_at: Timestamp::now(),
        works: works.len() as u32,
        confirmed_at: None,
    };
    Ok(is_collage(&works, has_text).then_some(quarantine))
}

/// A book that has a passage in common, however small a share of either it is: a diluted collage is one, too. A list of gems needs
/// no passages to match parts of a book: the fewest gems of a match are enough.
fn passages(recipe: &Recipe, has_text: bool) -> Rule {
    let rule = recipe.rule();
    let of_passage = if has_text {
        PASSAGE / recipe.characters_per_gem()
    } else {
        0
    };
    let min_common = rule.fewest().max(of_passage);
    Rule {
        min_common,
        min_share: 0.0,
        min_share_of_few: 0.0,
        min_score: 0.0,
        ..rule
    }
}

/// The book as a query in the recipes that reach all books, or else in all that it has gems of.
fn queries(
    reaching: Vec<Recipe>,
    known: Vec<Recipe>,
    gems: &GemsByRecipe,
) -> Vec<(Recipe, Vec<Probe>)> {
    let mut queries = Vec::new();
    let Chosen { recipes: known, .. } = known.into();
    for recipes in [reaching, known] {
        for recipe in recipes {
            if let Some(gems) = gems.get(recipe.name()) {
                queries.push((recipe, kept_probes(gems.iter().copied())));
            }
        }
        if !queries.is_empty() {
            break;
        }
    }
    queries
}
