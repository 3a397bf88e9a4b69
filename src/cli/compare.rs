//! `lapidary compare A B`: compares two texts without a catalogue.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use lapidary::catalogue::{Text, compare};
use lapidary::count::count;
use lapidary_gems::Place;

use super::arguments::{RecipeArguments, RuleArguments};
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
        let score = comparison.score;
        let gems = |number: u32| count(number.into(), "gem", "gems");
        writeln!(out, "A  {}: {}", self.a.display(), gems(comparison.gems_a))?;
        writeln!(out, "B  {}: {}", self.b.display(), gems(comparison.gems_b))?;
        let verdict = if comparison.matches { "a match" } else { "no match" };
        writeln!(out, "{} in common under {}: {verdict}", gems(score.common), comparison.recipe)?;
        if score.common > 0 {
            let (of_a, of_b) = (100.0 * score.share_of_query, 100.0 * score.share_of_book);
            writeln!(out, "{of_a:.1} % of A, {of_b:.1} % of B; A to B: {}", comparison.relation.as_str())?;
        }
        for span in &comparison.spans {
            let bytes = |place: Option<Place>| place.map_or_else(String::new, |p| format!("{}..{}", p.start, p.end));
            let (in_a, in_b) = (bytes(span.query.bytes), bytes(span.book.bytes));
            writeln!(out, "  {:>4} gems: bytes {in_a} of A match bytes {in_b} of B", span.common)?;
        }
        Ok(Status::Done)
    }
}
