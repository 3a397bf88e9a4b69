//! How many unrelated books would reach the evidence of a match, as BLAST states it of gene sequences (Karlin and Altschul
//! 1990): `E = K · m · n · exp(-λ · S)` for a text of `m` gems in an index of `n`, where `S` is the
//! [score of the best segment](crate::Alignment::segment_score).
//!
//! `K` and `λ` of each recipe are in `data/calibration.tsv`. `lapidary evaluate --calibrate` fits them to unrelated books.

use std::sync::LazyLock;

use lapidary_gems::RecipeName;

/// How often unrelated gems reach a score under a recipe.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The recipe.
    pub recipe: RecipeName,
    /// The factor of the search space.
    pub k: f64,
    /// How fast scores become rarer.
    pub lambda: f64,
}

impl Fit {
    /// The expected number of unrelated books that reach a score, for a text of `query` gems in an index of `index` gems.
    #[must_use]
    pub fn e_value(&self, query: u64, index: u64, score: f64) -> f64 {
        self.k * query as f64 * index as f64 * (-self.lambda * score).exp()
    }
}

/// The fits, by recipe.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Calibration {
    fits: Vec<Fit>,
}

impl Calibration {
    /// The fits of the built-in recipes.
    #[must_use]
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Calibration> = LazyLock::new(|| {
            Calibration::parse(include_str!("../../../data/calibration.tsv"))
                .expect("data/calibration.tsv is part of the program and read by its tests")
        });
        &BUILT_IN
    }

    /// Parses a table with one fit per line: recipe, `K` and `λ`, separated by tabs. Further columns, which say what it was
    /// fitted to, are ignored, as are empty lines and those that start with `#`.
    ///
    /// # Errors
    /// The number of the first invalid line.
    pub fn parse(table: &str) -> Result<Self, usize> {
        let rows = (1_usize..)
            .zip(table.lines())
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let fits = rows.map(|(number, line)| fit(line).ok_or(number));
        Ok(Self {
            fits: fits.collect::<Result<_, _>>()?,
        })
    }

    /// The fit of a recipe, whatever its secret. Signatures have none: unrelated texts share frequent words.
    #[must_use]
    pub fn of(&self, recipe: &RecipeName) -> Option<&Fit> {
        let name = recipe.without_secret().unwrap_or(recipe.as_str());
        self.fits.iter().find(|fit| fit.recipe.as_str() == name)
    }
}

fn fit(line: &str) -> Option<Fit> {
    let mut columns = line.split('\t');
    let recipe = columns.next()?.parse().ok()?;
    let mut number = || columns.next()?.parse().ok().filter(|number| *number >= 0.0);
    Some(Fit {
        recipe,
        k: number()?,
        lambda: number()?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Calibration, Fit};
    use lapidary_gems::Recipe;

    #[test]
    fn as_computed_by_hand() {
        let table = "# what\nhardened\t1e-7\t4.5\t500\t7 1\n\nreleased\t2\t0\n";
        let calibration = Calibration::parse(table).expect("a table");
        let fit = |recipe: &Recipe| calibration.of(recipe.name());
        let hardened = fit(&Recipe::hardened()).expect("it is in the table");
        for (query, index, score, expected) in [
            (1, 1, 0.0, 1e-7),
            (30, 2_000_000_000, 1.0, 66.653_979),
            (30, 2_000_000_000, 8.0, 1.391_713_7e-12),
            (0, 9, 1.0, 0.0),
        ] {
            let found = hardened.e_value(query, index, score);
            assert!(
                (found - expected).abs() <= 1e-6 * expected,
                "{query} {index} {score}: {found}"
            );
        }
        let flat = Fit {
            recipe: Recipe::released().name().clone(),
            k: 2.0,
            lambda: 0.0,
        };
        assert_eq!(fit(&Recipe::released()), Some(&flat));
        assert_eq!(fit(&Recipe::documented()), None);
    }

    #[test]
    fn what_is_wrong_in_a_table() {
        for (table, line) in [
            ("# a\ndocumented\t5", 2),
            ("documented\t1\t-1", 1),
            ("documented\tNaN\t1", 1),
            ("a b\t5\t1", 1),
        ] {
            assert_eq!(Calibration::parse(table), Err(line), "{table}");
        }
    }

    /// 32-bit gems collide, so no rate can be below that of collisions.
    #[test]
    fn the_built_in_one_knows_the_recipes() {
        for recipe in Recipe::built_in() {
            let fit = Calibration::built_in().of(recipe.name());
            let fit = fit.unwrap_or_else(|| panic!("{} was fitted", recipe.name()));
            let collisions = 0.5_f64.powi(recipe.gem_bits().cast_signed());
            assert!(
                fit.e_value(1, 1, 1.0) >= collisions && fit.lambda > 3.0,
                "{fit:?}"
            );
        }
    }
}
