//! `lapidary reindex` and `lapidary drop-recipe`.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hashbrown::HashMap;
use lapidary_catalogue::api::{Job, JobResult, RecipeChoice, ReindexInput, Reindexed, Task};
use lapidary_catalogue::digests_of;
use lapidary_common::count::count;
use lapidary_gems::{RecipeError, RecipeName};
use lapidary_operations::jobs::StartJob;
use lapidary_operations::libraries::ListBooks;
use lapidary_operations::status::ShowStats;
use lapidary_store::BookKey;

use super::arguments::{RecipeArguments, Target};
use super::client::CatalogueClient;
use super::failure::{Failure, Status};
use super::files::{Choice, FileWalk, Reading, Usually};
use super::jobs::{bar, other_result, perform, wait};
use super::terminal::{out, tell};

/// Give every book gems of another recipe, then switch to it.
///
/// Checks continue with the old recipe meanwhile, and switch atomically once every book has gems of the new one. To resume
/// after an interruption, run the same command again; a server resumes by itself.
///
/// Whoever reads this program's source can edit a copy until it has no gem of a public recipe. `--recipe
/// hardened-compact@secret` computes gems with a secret that the catalogue draws and keeps; `hardened-compact@new-secret` draws
/// another.
#[derive(Args)]
pub(super) struct ReindexArgs {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    recipe: RecipeArguments,
    /// Compute gems from the stored folds (--keep-folds), or from source files with the books' texts
    #[arg(long, value_enum, default_value_t = GemsFrom::Folds)]
    from: GemsFrom,
    /// Drop the old recipe at the end
    #[arg(long)]
    drop_old: bool,
    /// Switch even if some books cannot be re-indexed. Those are found with the old recipe only
    #[arg(long)]
    allow_missing: bool,
    #[command(flatten)]
    reading: Reading,
    /// With --from sources: files with the books' texts, or folders of them. Books are matched by content
    #[arg(value_name = "PATH", required_if_eq("from", "sources"))]
    paths: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GemsFrom {
    Folds,
    Sources,
}

/// Drop a non-default recipe with all its gems and postings.
#[derive(Args)]
pub(super) struct DropRecipeArgs {
    #[command(flatten)]
    target: Target,
    /// The recipe's name, as shown by `lapidary stats`, or hardened-compact@secret for the one of an older secret
    recipe: RecipeName,
}

impl ReindexArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let choice = self.recipe.choice()?;
        let from = match self.from {
            GemsFrom::Folds if !self.paths.is_empty() => {
                return Err(Failure::Input(
                    "files can only be given with --from sources".to_owned(),
                ));
            }
            GemsFrom::Folds => ReindexInput::Folds,
            GemsFrom::Sources => ReindexInput::Sources,
        };
        let catalogue = self.target.open()?;
        let choice = match choice {
            // A lexicon may be too large for the task.
            RecipeChoice::Defined(recipe)
                if recipe.lexicon().is_some() && self.target.server.is_some() =>
            {
                catalogue.add_recipe(&recipe)?;
                RecipeChoice::Named(recipe.name().to_string())
            }
            choice => choice,
        };
        let task = Task::Reindex {
            recipe: choice,
            from,
            drop_old: self.drop_old,
            allow_missing: self.allow_missing,
        };
        let result = match from {
            ReindexInput::Folds => perform(&catalogue, task)?,
            ReindexInput::Sources => {
                let job = catalogue.call::<StartJob>((), task)?;
                let without = self.hand_in(&catalogue, &recipe_of(&job)?)?;
                if without > 0 {
                    catalogue.settle();
                    return Err(waits(&job, without as u64));
                }
                wait(&catalogue, job)?
            }
        };
        let JobResult::Reindexed(reindexed) = result else {
            return Err(other_result());
        };
        writeln!(out(false), "{}", sentence(reindexed))?;
        Ok(Status::Done)
    }

    /// Submits the text of every book that has no gems of the recipe yet. Returns how many texts were not found.
    fn hand_in(&self, catalogue: &CatalogueClient, recipe: &RecipeName) -> Result<usize, Failure> {
        let mut lacking = lacking(catalogue, recipe)?;
        let FileWalk {
            found: files,
            refused: unreadable,
            ..
        } = FileWalk::of(&self.paths, &Choice::default(), Usually::All);
        for (path, why) in unreadable {
            tell(format_args!("refused {}: {why}", path.display()));
        }
        let bar = bar("reading");
        bar.set_length(files.len() as u64);
        for file in files {
            for text in self.reading.texts(&file.path) {
                match text {
                    Ok(text) => {
                        let lacking = digests_of(text.as_bytes())
                            .into_iter()
                            .filter_map(|digest| lacking.remove(&digest));
                        for key in lacking.flatten() {
                            catalogue.recut(&key, &text)?;
                        }
                    }
                    Err(why) => tell(format_args!("refused {}: {why}", file.path.display())),
                }
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(lacking.values().map(Vec::len).sum())
    }
}

fn sentence(reindexed: Reindexed) -> String {
    // `rewriting` is never the default.
    let (mut sentence, it) = if reindexed.default == reindexed.previous_default {
        let default = format!("the default is still recipe {}", reindexed.default);
        (default, "the new recipe")
    } else {
        (format!("checks now use recipe {}", reindexed.default), "it")
    };
    if let Some(before) = reindexed.dropped {
        sentence = format!("{sentence}; dropped {before}");
    }
    if reindexed.books_without > 0 {
        let books = count(reindexed.books_without, "book has", "books have");
        sentence = format!("{sentence}; {books} no gems of {it}");
    }
    sentence
}

/// The name of the recipe of a job, which may have a secret that was drawn for it.
fn recipe_of(job: &Job) -> Result<RecipeName, Failure> {
    match &job.task {
        Task::Reindex {
            recipe: RecipeChoice::Named(name),
            ..
        } => name
            .parse()
            .map_err(|e: RecipeError| Failure::Input(e.to_string())),
        Task::Reindex {
            recipe: RecipeChoice::Defined(recipe),
            ..
        } => Ok(recipe.name().clone()),
        _ => Err(other_result()),
    }
}

/// The books without gems of a recipe, by the digest of their texts.
fn lacking(
    catalogue: &CatalogueClient,
    recipe: &RecipeName,
) -> Result<HashMap<String, Vec<BookKey>>, Failure> {
    let mut lacking: HashMap<String, Vec<BookKey>> = HashMap::new();
    for library in catalogue.call::<ShowStats>((), ())?.libraries {
        catalogue.each_page::<ListBooks>(&library.library, |books| {
            let without = books
                .into_iter()
                .filter(|book| !book.gems.contains_key(recipe));
            for book in without {
                lacking.entry(book.digest).or_default().push(book.key);
            }
            Ok(())
        })?;
    }
    Ok(lacking)
}

impl DropRecipeArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let catalogue = self.target.open()?;
        perform(
            &catalogue,
            Task::DropRecipe {
                recipe: self.recipe.clone(),
            },
        )?;
        writeln!(out(false), "dropped recipe {}", self.recipe)?;
        Ok(Status::Done)
    }
}

fn waits(job: &Job, without: u64) -> Failure {
    Failure::Input(format!(
        "{} missing from these files: job {} waits for them; run this again with the others, \
         or cancel it with `lapidary jobs cancel {}`",
        count(without, "book is", "books are"),
        job.id,
        job.id
    ))
}
