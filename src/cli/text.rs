//! `lapidary text`, `lapidary fold` and `lapidary gems`: print the text of a file, its fold and its gems.

use std::fs;
use std::io::{self, Read, Seek, Write as _, stdout};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use lapidary_catalogue::Text;
use lapidary_catalogue::api::HiddenText;
use lapidary_extract::Pieces;
use lapidary_gems::{FoldedPart, PlacedGem, Recipe, TextParts};
use lapidary_language::Language;
use lapidary_report::hidden_words;

use super::arguments::{LexiconArgument, RecipeArguments};
use super::failure::{Failure, Status};
use super::files::{LanguageOfText, Reading, TextArguments};
use super::terminal::tell;

/// Print the text of a file as UTF-8, and nothing else: positions in reports are bytes of this text.
#[derive(Args)]
pub(super) struct TextArgs {
    #[command(flatten)]
    reading: Reading,
    /// The file; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
}

/// Print a text's fold: digits, for hardened recipes the consonants of its words, and for signatures the strings that become
/// gems, each in a line.
#[derive(Args)]
pub(super) struct FoldArgs {
    /// The recipe: documented, released, hardened, hardened-compact, hardened-fine or a signature, such as `tf`
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
pub(super) struct GemsArgs {
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

impl TextArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        stdout().write_all(read(self.reading, &self.file)?.as_bytes())?;
        Ok(Status::Done)
    }
}

impl FoldArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let recipe = self.lexicon.recipe("--recipe", &self.recipe)?;
        let text = read(self.input.reading, &self.file)?;
        writeln!(
            stdout(),
            "{}",
            Text::new(&text, self.input.clean).fold(&recipe)
        )?;
        Ok(Status::Done)
    }
}

impl GemsArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let recipe = self.recipe.recipe()?;
        let gems = if let Some(gems) = self.in_parts(&recipe) {
            gems
        } else {
            let text = read(self.input.reading, &self.file)?;
            Text::new(&text, self.input.clean)
                .in_language(self.of.language.as_deref())
                .gems(&recipe)
        };
        let gems: Vec<String> = gems
            .iter()
            .map(|placed| recipe.write(placed.gem).to_string())
            .collect();
        writeln!(stdout(), "{}", gems.join(","))?;
        Ok(Status::Done)
    }
}

impl GemsArgs {
    /// The gems of a long plain text under an exact recipe, folded on all processors while it is read; `None` if it has to
    /// be read whole.
    fn in_parts(&self, recipe: &Recipe) -> Option<Vec<PlacedGem>> {
        let TextArguments { reading, clean } = self.input;
        if clean == Some(true) || reading.encoding.is_some() {
            return None;
        }
        let mut file = if self.file == Path::new("-") {
            fs::File::from(io::stdin().as_fd().try_clone_to_owned().ok()?)
        } else {
            fs::File::open(&self.file).ok()?
        };
        let metadata = file.metadata().ok()?;
        if !metadata.is_file()
            || metadata.len() > reading.most_bytes()
            || file.stream_position().ok()? > 0
        {
            return None;
        }
        let gems = in_parts(recipe, &mut file, self.file.to_str());
        if gems.is_none() {
            // Standard input is read again through this position.
            file.rewind().ok()?;
        }
        gems
    }
}

fn in_parts(
    recipe: &Recipe,
    mut source: impl Read + Seek + Send,
    name: Option<&str>,
) -> Option<Vec<PlacedGem>> {
    let given_up = AtomicBool::new(false);
    recipe.gems_in_parts(|parts| {
        let pieces = Pieces::new(&mut source, name, TextParts::end).ok()??;
        let fold = || {
            let (mut buffer, mut folded) = (Vec::new(), Vec::new());
            while !given_up.load(Ordering::Relaxed)
                && let Some((piece, offset)) = pieces.next(&mut buffer).ok()?
            {
                folded.push(parts.fold(piece, offset)?);
            }
            Some(folded)
        };
        let each = rayon::broadcast(|_| {
            let folded = fold();
            given_up.fetch_or(folded.is_none(), Ordering::Relaxed);
            folded
        });
        let folded: Option<Vec<Vec<FoldedPart>>> = each.into_iter().collect();
        folded
            .filter(|_| pieces.is_text())
            .map(|folded| folded.into_iter().flatten().collect())
    })
}

/// Reads the text of a file, or fails.
pub(super) fn read(reading: Reading, path: &Path) -> Result<String, Failure> {
    Ok(whole(reading, path)?.text)
}

/// Reads the text of a file and its headings, or fails.
pub(super) fn whole(reading: Reading, path: &Path) -> Result<lapidary_extract::Whole, Failure> {
    let read = reading
        .whole(path)
        .map_err(|why| Failure::Input(format!("{}: {why}", path.display())))?;
    if let Some(hidden) = HiddenText::of(&read.hidden, &read.text) {
        tell(format_args!(
            "lapidary: {}: {}",
            path.display(),
            hidden_words(Language::English, &hidden)
        ));
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::{Recipe, in_parts};

    #[test]
    fn a_long_text_is_folded_in_parts() {
        let words = "The captain's treasure «самоцветы», followed another expedition: 1881, forty-two gemstones; ";
        for (text, has_parts) in [
            (words.repeat(20_000), true),
            (
                words.repeat(10_000) + "Ελληνικά ٣ " + &words.repeat(10_000),
                true,
            ),
            (
                words.repeat(10_000) + &"短い言葉。".repeat(50_000) + &words.repeat(9),
                true,
            ),
            // Step 5 acts in the second part.
            (
                "treasure followed another expedition ".repeat(9_000) + words,
                false,
            ),
            (words.repeat(9), false),
        ] {
            for recipe in [Recipe::documented(), Recipe::released()] {
                let gems = in_parts(&recipe, Cursor::new(&text), None);
                assert_eq!(gems.is_some(), has_parts, "{:.20} of {}", text, text.len());
                assert!(gems.is_none_or(|gems| gems == recipe.gems(&text)));
            }
            assert_eq!(
                in_parts(&Recipe::hardened(), Cursor::new(&text), None),
                None
            );
        }
    }
}
