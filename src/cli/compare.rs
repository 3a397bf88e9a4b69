//! `lapidary compare A B`: compares two texts without a catalogue.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use lapidary::server::settings::RuleArguments;
use lapidary_catalogue::{Text, compare};
use lapidary_extract::position::Locator;
use lapidary_report::{Side, html_comparison, print_comparison};

use super::arguments::{LanguageArgument, RecipeArguments};
use super::failure::{Failure, Status};
use super::files::TextArguments;
use super::terminal::{json_line, out, write_page};
use super::text::whole;

/// Compare two texts, as a check of A compares it with B in a catalogue.
///
/// The passages where their gems match are then compared word by word. A word is a run of letters and digits; where a script has no
/// blanks between words, a character is a word. Characters are the letters and digits of the passages in A. They are identical if B
/// has the same words in the same order. A second figure, "apart from case, accents and disguise", also counts words that differ only
/// in case, accents, hyphens or blanks, invisible characters, or letters that look alike. Of a scrambled text, words with their inner
/// letters in another order count there, too.
///
/// What neither has a gem in is not compared, so short quotations between long different texts may be missing. Texts that differ for
/// long stretches, or repeat a few words for ever, are compared with limited effort; then the figure is a lower bound, and `lower_bound`
/// is true in JSON.
///
/// The page of `--html` shows the passages next to each other. What differs is marked, and so is what is only spelled differently; a dot
/// stands for an invisible character. It shows about 1 MB of passages in all; beyond, the longest are cut.
///
/// A text is looked up by more gems than a book has, so B compared with A may have a few gems more or less in common.
#[derive(Args)]
pub(super) struct CompareArgs {
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
    /// Also write an HTML page that shows the matching passages next to each other
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The text that a check would be of
    a: PathBuf,
    /// The text that would be in the catalogue
    b: PathBuf,
}

impl CompareArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let TextArguments { reading, clean } = self.input;
        let (a, b) = (whole(reading, &self.a)?, whole(reading, &self.b)?);
        let recipe = self.recipe.recipe()?;
        let rule = self.rule.changes().on(recipe.rule());
        let texts = [&a, &b].map(|whole| Text::new(&whole.text, clean));
        let mut comparison = compare(&recipe, rule, &texts[0], &texts[1]);
        let locators = [&a, &b].map(|whole| Locator::new(&whole.text, &whole.headings));
        comparison.locate(&locators[0], &locators[1]);
        let names = [&self.a, &self.b].map(|path| path.display().to_string());
        let names = names.each_ref().map(String::as_str);
        let language = self.language.lang;
        if let Some(file) = &self.html {
            let sides = [&a, &b].map(|of| Side {
                text: &of.text,
                language: None,
            });
            let page = html_comparison(language, names, sides, &comparison, Timestamp::now());
            write_page(file, &page)?;
        }
        let mut out = out(self.json);
        if self.json {
            json_line(&mut out, &comparison)?;
        } else {
            print_comparison(&mut out, language, names, &comparison)?;
        }
        Ok(Status::Done)
    }
}
