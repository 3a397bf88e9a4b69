//! `lapidary text`, `lapidary fold` and `lapidary gems`: print the text of a file, its fold and its gems.

use std::io::{Write as _, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use lapidary::catalogue::Text;
use lapidary::extract;

use super::arguments::{LexiconArgument, RecipeArguments};
use super::failure::{Failure, Status};
use super::files::{LanguageOfText, Reading, TextArguments};

/// Print the text of a file as UTF-8, and nothing else: positions in reports are bytes of this text.
#[derive(Args)]
pub(super) struct Whole {
    #[command(flatten)]
    reading: Reading,
    /// The file; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
}

/// Print a text's fold: digits, for hardened recipes the consonants of its words, and for signatures the strings that become
/// gems, each in a line.
#[derive(Args)]
pub(super) struct Fold {
    /// The recipe: documented, released, hardened, hardened-fine or a signature, such as `tf`
    #[arg(long, value_name = "RECIPE", default_value = "hardened")]
    recipe: String,
    #[command(flatten)]
    lexicon: LexiconArgument,
    #[command(flatten)]
    input: TextArguments,
    /// The file; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
}

/// Print a text's gems, separated by commas: in decimal with exact recipes, or else in hexadecimal.
#[derive(Args)]
pub(super) struct Gems {
    #[command(flatten)]
    recipe: RecipeArguments,
    #[command(flatten)]
    input: TextArguments,
    #[command(flatten)]
    of: LanguageOfText,
    /// The file; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
}

impl Whole {
    pub(super) fn run(self) -> Result<Status, Failure> {
        stdout().write_all(read(self.reading, &self.file)?.as_bytes())?;
        Ok(Status::Done)
    }
}

impl Fold {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let recipe = self.lexicon.recipe("--recipe", &self.recipe)?;
        let text = read(self.input.reading, &self.file)?;
        writeln!(stdout(), "{}", Text::new(&text, self.input.clean).fold(&recipe))?;
        Ok(Status::Done)
    }
}

impl Gems {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let recipe = self.recipe.recipe()?;
        let text = read(self.input.reading, &self.file)?;
        let text = Text::new(&text, self.input.clean).in_language(self.of.language.as_deref());
        let gems = text.gems_in_parallel(&recipe);
        let gems: Vec<String> = gems.iter().map(|placed| recipe.write(placed.gem).to_string()).collect();
        writeln!(stdout(), "{}", gems.join(","))?;
        Ok(Status::Done)
    }
}

/// Reads the text of a file, or fails.
pub(super) fn read(reading: Reading, path: &Path) -> Result<String, Failure> {
    Ok(whole(reading, path)?.text)
}

/// Reads the text of a file and its headings, or fails.
pub(super) fn whole(reading: Reading, path: &Path) -> Result<extract::Whole, Failure> {
    reading.whole(path).map_err(|why| Failure::Input(format!("{}: {why}", path.display())))
}
