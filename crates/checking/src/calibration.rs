//! The probability that a match is an error, measured on unrelated books rather than guessed.
//!
//! `data/calibration.tsv` records how many unrelated pairs of a text and a book reached how much evidence, and how
//! many pairs of their gems were compared. As with gene sequences (Karlin and Altschul 1990), the expected number of
//! errors is proportional to that search space, so a long text or a large index has more of them. The result is an
//! upper bound, and never less than three errors in the whole space measured: a corpus of that size cannot prove a lower
//! rate.

use std::sync::LazyLock;

use lapidary_gems::RecipeName;

/// A measured level of evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// The recipe.
    pub recipe: RecipeName,
    /// Number of pairs compared of a gem of a text and a gem of an unrelated book.
    pub gem_pairs: u64,
    /// The evidence.
    pub evidence: f64,
    /// Number of times a text and an unrelated book reached it.
    pub reached: u64,
}

/// The measurements, by recipe.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Calibration {
    levels: Vec<Level>,
}

impl Calibration {
    /// The measurements of the built-in recipes.
    #[must_use]
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Calibration> = LazyLock::new(|| {
            Calibration::parse(include_str!("../../../data/calibration.tsv"))
                .expect("data/calibration.tsv is part of the program and read by its tests")
        });
        &BUILT_IN
    }

    /// Parses the output of [`Self::written`].
    ///
    /// # Errors
    /// The number of the first invalid line.
    pub fn parse(table: &str) -> Result<Self, usize> {
        let rows = (1_usize..)
            .zip(table.lines())
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let levels = rows.map(|(number, line)| level(line).ok_or(number));
        Ok(Self {
            levels: levels.collect::<Result<_, _>>()?,
        })
    }

    /// Creates a calibration from these levels.
    #[must_use]
    pub fn new(levels: Vec<Level>) -> Self {
        Self { levels }
    }

    /// Formats the table with one level per line, separated by tabs: recipe, gem pairs, evidence, times reached.
    #[must_use]
    pub fn written(&self) -> String {
        self.levels.iter().map(line).collect()
    }

    /// Upper bound, with 95 % confidence, on the probability that a text of `query` gems reaches this evidence with
    /// any of the unrelated books that have `books` gems in total. `None` if the recipe was not measured.
    #[must_use]
    pub fn error_probability(
        &self,
        recipe: &RecipeName,
        query: u32,
        books: u64,
        evidence: f64,
    ) -> Option<f64> {
        let mut of_recipe = self
            .levels
            .iter()
            .filter(|level| level.recipe == *recipe)
            .peekable();
        of_recipe.peek()?;
        let reached = of_recipe.filter(|level| level.evidence <= evidence);
        let highest = reached.max_by(|a, b| a.evidence.total_cmp(&b.evidence));
        Some(highest.map_or(1.0, |level| {
            let rate = upper_bound(level.reached) / level.gem_pairs as f64;
            let expected = rate * f64::from(query) * books as f64;
            // The probability that a Poisson variable with this mean is at least one.
            -(-expected).exp_m1()
        }))
    }
}

fn line(level: &Level) -> String {
    let Level {
        recipe,
        gem_pairs,
        evidence,
        reached,
    } = level;
    format!("{recipe}\t{gem_pairs}\t{evidence}\t{reached}\n")
}

fn level(line: &str) -> Option<Level> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [recipe, gem_pairs, evidence, reached] = columns[..] else {
        return None;
    };
    Some(Level {
        recipe: recipe.parse().ok()?,
        gem_pairs: gem_pairs.parse().ok().filter(|pairs| *pairs > 0)?,
        evidence: evidence.parse().ok()?,
        reached: reached.parse().ok()?,
    })
}

/// The greatest mean consistent with this many hits at 95 % confidence: the upper bound of Garwood (1936) for a
/// Poisson variable, by the approximation of Wilson and Hilferty (1931), which is accurate to 1 %.
fn upper_bound(hits: u64) -> f64 {
    /// The 95 % quantile of the normal distribution.
    const Z: f64 = 1.6449;
    let degrees = 2.0 * (hits as f64 + 1.0);
    let spread = 2.0 / (9.0 * degrees);
    degrees * (1.0 - spread + Z * spread.sqrt()).powi(3) / 2.0
}

#[cfg(test)]
mod tests {
    use super::{Calibration, upper_bound};

    #[test]
    fn bounds_as_in_tables() {
        // Half the 95 % quantiles of chi squared with 2, 4, 12 and 202 degrees of freedom.
        for (hits, expected) in [(0, 2.9957), (1, 4.7439), (5, 10.513), (100, 118.08)] {
            let bound = upper_bound(hits);
            assert!((bound / expected - 1.0).abs() < 0.011, "{hits}: {bound}");
        }
    }

    #[test]
    fn by_recipe_space_and_evidence() {
        let table = "# what\ndocumented\t1000000\t0.5\t20\ndocumented\t1000000\t1\t0\nreleased\t500\t1\t0\n";
        let calibration = Calibration::parse(table).expect("a table");
        assert_eq!(format!("# what\n{}", calibration.written()), table);
        let documented = "documented".parse().expect("a name");
        let error = |query, books, evidence| {
            calibration
                .error_probability(&documented, query, books, evidence)
                .expect("it was counted")
        };
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-3;
        assert!(close(error(10, 10, 0.4), 1.0), "below every level");
        assert!(close(error(1, 1, 0.9), upper_bound(20) * 1e-6));
        assert!(close(error(10, 5, 300.0), upper_bound(0) * 5e-5));
        assert!(error(20, 5, 1.0) > error(10, 5, 1.0) && error(10, 6, 1.0) > error(10, 5, 1.0));
        assert!(
            close(error(1_000_000, 1_000_000_000, 300.0), 1.0),
            "too large a space to say anything"
        );
        assert_eq!(
            calibration.error_probability(&"other".parse().expect("a name"), 64, 9, 9.0),
            None
        );
    }

    #[test]
    fn what_is_wrong_in_a_table() {
        for (table, line) in [
            ("# a\ndocumented\t5\t1", 2),
            ("documented\t0\t1\t0", 1),
            ("a b\t5\t1\t0", 1),
        ] {
            assert_eq!(Calibration::parse(table), Err(line), "{table}");
        }
    }

    #[test]
    fn the_built_in_one_is_readable_and_knows_the_recipes() {
        for recipe in ["documented", "documented-second", "released"] {
            let recipe = recipe.parse().expect("a name");
            let error = |evidence| {
                Calibration::built_in()
                    .error_probability(&recipe, 100, 150, evidence)
                    .expect("it was counted")
            };
            assert!(
                error(0.25) >= error(3.0) && error(3.0) < 1e-3,
                "{recipe}: {} {}",
                error(0.25),
                error(3.0)
            );
        }
    }
}
