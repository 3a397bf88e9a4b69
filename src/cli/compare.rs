//! `lapidary compare A B`: compares two texts without a catalogue.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use lapidary::catalogue::{Text, compare};
use lapidary::report::print_comparison;

use super::arguments::{LanguageArgument, RecipeArguments, RuleArguments};
use super::failure::{Failure, Status};
use super::files::TextArguments;
use super::terminal::out;
use super::text::read;

/// Compare two texts.
#[derive(Args)]
pub(super) struct Compare {
    #[command(flatten)]
    recipe: RecipeArguments,
    #[command(flatten)]
    rule: RuleArguments,
    #[command(flatten)]
    input: TextArguments,
    #[command(flatten)]
    language: LanguageArgument,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The first text
    a: PathBuf,
    /// The second text
    b: PathBuf,
}

impl Compare {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let (a, b) = (read(self.input.reading, &self.a)?, read(self.input.reading, &self.b)?);
        let recipe = self.recipe.recipe()?;
        let rule = self.rule.changes().on(recipe.rule());
        let text = |text| Text::new(text, self.input.clean);
        let comparison = compare(&recipe, rule, &text(&a), &text(&b));
        let mut out = out(self.json);
        if self.json {
            serde_json::to_writer(&mut out, &comparison).map_err(std::io::Error::from)?;
            writeln!(out)?;
            return Ok(Status::Done);
        }
        let [a, b] = [&self.a, &self.b].map(|path| path.display().to_string());
        print_comparison(&mut out, self.language.lang, [&a, &b], &comparison)?;
        Ok(Status::Done)
    }
}
