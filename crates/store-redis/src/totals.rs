//! The sums of all books, in one hash, and what checks ask them for. They grow with the number of libraries.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use lapidary_store::recipes::KnownRecipe;
use lapidary_store::{LibrarySummary, SizeClass, Sizes};

/// The field that is another after each change of the sums.
pub(super) const VERSION: &str = "version";
/// The field that names the last correction.
const CORRECTED: &str = "corrected";

/// The totals at some time.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// As they are stored.
    pub(super) sums: HashMap<String, String>,
    /// The number of all books.
    pub(super) books: u64,
    /// The distribution of gem counts, by the number of the recipe; `None` if it cannot be read.
    sizes: Option<HashMap<u16, Sizes>>,
    /// The summaries of libraries, with the version of the recipes that they name.
    pub(super) summaries: OnceLock<(u64, Vec<Arc<LibrarySummary>>)>,
}

impl Totals {
    /// The totals in the hash.
    pub(super) fn read(sums: HashMap<String, String>) -> Self {
        let of_libraries = sums.iter().filter_map(|(key, sum)| {
            key.strip_prefix("l:")?.strip_suffix(":0")?;
            sum.parse().ok()
        });
        Self {
            books: of_libraries.fold(0, u64::saturating_add),
            sizes: all_sizes(&sums),
            summaries: OnceLock::new(),
            sums,
        }
    }

    pub(super) fn version(&self) -> Option<&String> {
        self.sums.get(VERSION)
    }

    /// The last correction; empty if there was none.
    pub(super) fn corrected(&self) -> String {
        self.sums.get(CORRECTED).cloned().unwrap_or_default()
    }

    /// A sum that counts something.
    pub(super) fn sum(&self, key: &str) -> u64 {
        let sum = self.sums.get(key).and_then(|sum| sum.parse::<i64>().ok());
        sum.unwrap_or(0).max(0).cast_unsigned()
    }

    /// The distribution of gem counts under a recipe, or `None` if it cannot be read.
    pub(super) fn sizes(&self, recipe: &KnownRecipe) -> Option<Sizes> {
        let sizes = self.sizes.as_ref()?.get(&recipe.number);
        Some(sizes.cloned().unwrap_or_default())
    }
}

fn all_sizes(sums: &HashMap<String, String>) -> Option<HashMap<u16, Sizes>> {
    let mut sizes: HashMap<u16, Sizes> = HashMap::new();
    for (key, sum) in sums {
        if let Some(class) = key.strip_prefix("s:") {
            let (recipe, class) = class.split_once(':')?;
            let of_recipe = sizes.entry(recipe.parse().ok()?).or_default();
            count(of_recipe, class, sum)?;
        }
    }
    Some(sizes)
}

/// Notes a sum of a class: `CLASS:0` of its books, or `CLASS:1` of their gems. `None` if it is none.
fn count(sizes: &mut Sizes, class: &str, sum: &str) -> Option<()> {
    let (class, part) = class.split_once(':')?;
    let class = class.parse().ok().filter(|class| *class <= 32usize)?;
    let sum = sum.parse::<i64>().ok()?.max(0).cast_unsigned();
    if sum > 0 && sizes.classes.len() <= class {
        sizes.classes.resize(class + 1, SizeClass::default());
    }
    if let Some(of_class) = sizes.classes.get_mut(class) {
        match part {
            "0" => of_class.books = sum,
            _ => of_class.gems = sum,
        }
    }
    Some(())
}
