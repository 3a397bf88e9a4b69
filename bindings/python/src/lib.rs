//! The module `lapidary._native`. `python/lapidary/_recipe.py` makes of it what the package offers: lists cross over as tuples, which
//! become objects there.

use std::sync::Arc;

use lapidary_gems::{Lexicon, Place, PlacedGem, Probe, WrittenGem, bounded, clean};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A recipe, ready to be used many times, in several threads.
#[pyclass(frozen, module = "lapidary._native")]
struct Recipe {
    recipe: lapidary_gems::Recipe,
    clean: bool,
}

/// A gem as JSON has it.
#[derive(IntoPyObject)]
enum Gem {
    Number(u64),
    Digits(String),
}

/// The first byte of a passage, and that after the last.
type Range = (u64, u64);

#[pymethods]
impl Recipe {
    /// The recipe of this name. `clean`: whether to remove print artifacts, unless the recipe decides.
    #[new]
    #[pyo3(signature = (name, clean, lexicon))]
    fn new(name: &str, clean: Option<bool>, lexicon: Option<&str>) -> PyResult<Self> {
        let lexicon = lexicon
            .map(|written| written.parse::<Lexicon>().map(Arc::new))
            .transpose()
            .map_err(refusal)?;
        let recipe = lapidary_gems::Recipe::named(name, lexicon.as_ref()).map_err(refusal)?;
        let clean = clean.unwrap_or_else(|| recipe.reads_clean());
        Ok(Self { recipe, clean })
    }

    #[getter]
    fn name(&self) -> String {
        self.recipe.name().to_string()
    }

    /// The gems of a text.
    fn gems(&self, py: Python<'_>, text: &str) -> PyResult<Vec<Gem>> {
        py.detach(|| {
            let placed = self.placed(text)?;
            Ok(placed.iter().map(|placed| self.written(placed)).collect())
        })
    }

    /// The gems of a text and their places.
    fn places(&self, py: Python<'_>, text: &str) -> PyResult<Vec<(Gem, Option<Range>)>> {
        py.detach(|| {
            let placed = self.placed(text)?;
            Ok(placed
                .iter()
                .map(|placed| (self.written(placed), placed.place.map(range)))
                .collect())
        })
    }

    /// What a check looks up of a text: gems, the positions of those that a book with the text has, and the places of all.
    #[expect(clippy::type_complexity, reason = "it becomes a tuple")]
    fn query(
        &self,
        py: Python<'_>,
        text: &str,
    ) -> PyResult<(Vec<Gem>, Vec<usize>, Vec<Option<Range>>)> {
        py.detach(|| {
            let probes = self.probes(text)?;
            let placed = probes.iter().map(|probe| &probe.placed);
            let indexed = probes
                .iter()
                .enumerate()
                .filter(|(_, probe)| probe.kept)
                .map(|(at, _)| at);
            Ok((
                placed.clone().map(|placed| self.written(placed)).collect(),
                indexed.collect(),
                placed.map(|placed| placed.place.map(range)).collect(),
            ))
        })
    }

    /// The fold of a text.
    fn fold(&self, py: Python<'_>, text: &str) -> PyResult<String> {
        py.detach(|| {
            bounded(text).map_err(refusal)?;
            Ok(if self.clean {
                self.recipe.fold(clean(text).text())
            } else {
                self.recipe.fold(text)
            })
        })
    }
}

impl Recipe {
    fn placed(&self, text: &str) -> PyResult<Vec<PlacedGem>> {
        bounded(text).map_err(refusal)?;
        if !self.clean {
            return Ok(self.recipe.gems(text));
        }
        let clean = clean(text);
        Ok(clean.placed(self.recipe.gems(clean.text())))
    }

    fn probes(&self, text: &str) -> PyResult<Vec<Probe>> {
        bounded(text).map_err(refusal)?;
        if !self.clean {
            return Ok(self.recipe.probes(text));
        }
        let clean = clean(text);
        Ok(clean.placed_probes(self.recipe.probes(clean.text())))
    }

    fn written(&self, placed: &PlacedGem) -> Gem {
        match self.recipe.write(placed.gem) {
            WrittenGem::Number(number) => Gem::Number(number),
            digits => Gem::Digits(digits.to_string()),
        }
    }
}

fn range(place: Place) -> Range {
    (place.start, place.end)
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes values")]
fn refusal(why: impl ToString) -> PyErr {
    PyValueError::new_err(why.to_string())
}

/// The names of the built-in recipes.
#[pyfunction]
fn recipes() -> Vec<String> {
    lapidary_gems::Recipe::built_in()
        .map(|recipe| recipe.name().to_string())
        .collect()
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{Recipe, recipes};
}
