//! `lapidary lexicon drift`: how many signatures would change if words were counted anew.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use lapidary_gems::{Gem, Lexicon, Recipe, TextWords, WEIGHED};
use serde::Serialize;

use super::arguments::read_argument;
use super::failure::{Failure, Status};
use super::lexicon::{Collection, counted};
use super::terminal::{json_line, out};

#[derive(Args)]
pub(super) struct DriftArgs {
    /// A signature to compare; can be given several times [default: all methods that weigh words]
    #[arg(long, value_name = "RECIPE")]
    recipe: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The lexicon in use
    #[arg(value_name = "LEXICON")]
    lexicon: PathBuf,
    #[command(flatten)]
    collection: Collection,
}

/// What changed.
#[derive(Serialize)]
struct Drifted {
    lexicon: String,
    documents: u64,
    different_words: u64,
    new_lexicon: String,
    new_documents: u64,
    new_different_words: u64,
    recipes: Vec<RecipeDrift>,
}

/// What changed of the signatures of a method.
#[derive(Serialize)]
struct RecipeDrift {
    recipe: String,
    /// The number of texts.
    texts: u64,
    /// The number of texts with another signature, and of those that have no gem in common with it.
    changed: u64,
    replaced: u64,
}

impl DriftArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let old: Lexicon = read_argument("the lexicon", &self.lexicon, str::parse)?;
        let old = Arc::new(old);
        // The old lexicon says which words count.
        let names: Vec<&str> = self.recipe.iter().map(String::as_str).collect();
        let names = if names.is_empty() {
            WEIGHED.to_vec()
        } else {
            names
        };
        let of_old = names
            .iter()
            .map(|name| weighing(name, &old))
            .collect::<Result<Vec<_>, _>>()?;
        let (new, unread) = self.count_anew(&old)?;
        let new = Arc::new(new);
        let pairs = of_old.into_iter().map(|recipe| {
            let name = recipe.name().as_str().split('@').next().unwrap_or_default();
            Ok((weighing(name, &new)?, recipe))
        });
        let pairs: Vec<(Recipe, Recipe)> = pairs.collect::<Result<_, Failure>>()?;
        let recipes = self.compared(&pairs)?;
        let drifted = Drifted {
            lexicon: old.name().to_owned(),
            documents: old.documents(),
            different_words: old.different() as u64,
            new_lexicon: new.name().to_owned(),
            new_documents: new.documents(),
            new_different_words: new.different() as u64,
            recipes,
        };
        self.print(&drifted)?;
        Ok(Status::of_input(unread > 0))
    }

    /// Counts the same words as a lexicon. Returns also how many books could not be read.
    fn count_anew(&self, old: &Lexicon) -> Result<(Lexicon, u64), Failure> {
        let mut written = Vec::new();
        let unread = counted(&self.collection, old.counted(), &mut written)?;
        let new = String::from_utf8(written)
            .map_err(|e| Failure::Failed(e.to_string()))?
            .parse()
            .map_err(|e| {
                Failure::Input(format!("no lexicon can be counted of these files: {e}"))
            })?;
        Ok((new, unread))
    }

    /// Compares the signatures of every text that can be read.
    fn compared(&self, pairs: &[(Recipe, Recipe)]) -> Result<Vec<RecipeDrift>, Failure> {
        let sums = self
            .collection
            .each(
                "comparing",
                || vec![(0, 0, 0); pairs.len()],
                |text: &str| {
                    let words = TextWords::of(text);
                    Ok(pairs
                        .iter()
                        .map(|(new, old)| {
                            let [new, old] = [new, old].map(|recipe| gems_of(recipe, &words));
                            (
                                1,
                                u64::from(new != old),
                                u64::from(new != old && new.is_disjoint(&old)),
                            )
                        })
                        .collect())
                },
                |mut sums: Vec<(u64, u64, u64)>, more: Vec<(u64, u64, u64)>| {
                    for (sum, more) in sums.iter_mut().zip(more) {
                        *sum = (sum.0 + more.0, sum.1 + more.1, sum.2 + more.2);
                    }
                    sums
                },
                |_, _| {},
            )?
            .0;
        let named = pairs.iter().map(|(_, old)| old.name().to_string());
        Ok(named
            .zip(sums)
            .map(|(recipe, (texts, changed, replaced))| RecipeDrift {
                recipe,
                texts,
                changed,
                replaced,
            })
            .collect())
    }

    fn print(&self, drifted: &Drifted) -> Result<(), Failure> {
        let mut out = out(self.json);
        if self.json {
            json_line(&mut out, drifted)?;
            return Ok(());
        }
        let Drifted {
            lexicon,
            documents,
            different_words,
            new_lexicon,
            new_documents,
            new_different_words,
            recipes,
        } = drifted;
        writeln!(
            out,
            "lexicon {lexicon}: {documents} documents, {different_words} words in two or more"
        )?;
        writeln!(
            out,
            "these files ({new_lexicon}): {new_documents} documents, {new_different_words} words"
        )?;
        writeln!(out, "recipe\ttexts\tchanged\tnothing in common")?;
        for RecipeDrift {
            recipe,
            texts,
            changed,
            replaced,
        } in recipes
        {
            let percent = |part: u64| 100.0 * part as f64 / (*texts).max(1) as f64;
            let (of_changed, of_replaced) = (percent(*changed), percent(*replaced));
            writeln!(
                out,
                "{recipe}\t{texts}\t{changed} ({of_changed:.1} %)\t{replaced} ({of_replaced:.1} %)"
            )?;
        }
        Ok(())
    }
}

/// The signature of this name in a lexicon.
fn weighing(name: &str, lexicon: &Arc<Lexicon>) -> Result<Recipe, Failure> {
    let recipe = Recipe::signature(name, Some(lexicon))
        .map_err(|e| Failure::Input(format!("--recipe: {e}")))?;
    if recipe.lexicon().is_some() {
        return Ok(recipe);
    }
    Err(Failure::Input(format!(
        "--recipe: '{name}' weighs no words, so no lexicon changes it"
    )))
}

fn gems_of(recipe: &Recipe, words: &TextWords) -> BTreeSet<Gem> {
    let gems = recipe.gems_of_words(words).unwrap_or_default();
    gems.into_iter().map(|placed| placed.gem).collect()
}
