//! The functions of the npm package `lapidary-gems`. `js/api.js` makes of them what `js/index.d.ts` declares: lists cross over as one
//! string, which is faster than many.

use std::sync::Arc;

use lapidary_gems::{Lexicon, Place, PlacedGem, Recipe, WrittenGem, clean};
use serde::Serialize;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// How files begin that are UTF-8, but not plain text, in lower case.
const MARKED_UP: [(&str, &str); 8] = [
    ("<?xml", "XML"),
    ("<!doctype", "HTML"),
    ("<html", "HTML"),
    ("<fictionbook", "FB2"),
    ("<tei", "TEI"),
    ("{\\rtf", "RTF"),
    ("%pdf-", "PDF"),
    ("pk\u{3}\u{4}", "ZIP"),
];
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// A recipe, ready to be used many times.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Reader {
    recipe: Recipe,
    clean: bool,
}

/// A gem as `places` returns it.
#[derive(Serialize)]
struct Placed {
    gem: String,
    #[serde(flatten)]
    place: Option<Place>,
}

/// What a check looks up of a text.
#[derive(Serialize)]
struct Query {
    gems: Vec<WrittenGem>,
    indexed: Vec<usize>,
    places: Vec<Option<Place>>,
}

#[wasm_bindgen]
impl Reader {
    /// The recipe of this name. `clean`: whether to remove print artifacts, unless the recipe decides.
    #[wasm_bindgen(constructor)]
    pub fn new(
        recipe: &str,
        clean: Option<bool>,
        lexicon: Option<String>,
    ) -> Result<Self, JsError> {
        let lexicon = lexicon
            .map(|written| written.parse::<Lexicon>().map(Arc::new))
            .transpose()?;
        let recipe = Recipe::named(recipe, lexicon.as_ref())?;
        let clean = clean.unwrap_or_else(|| recipe.reads_clean());
        Ok(Self { recipe, clean })
    }

    /// The gems of a text, separated by commas.
    #[must_use]
    pub fn gems(&self, text: &str) -> String {
        self.placed(text)
            .iter()
            .map(|placed| self.written(placed))
            .collect::<Vec<_>>()
            .join(",")
    }

    /// The gems of a text and their places, in JSON.
    pub fn places(&self, text: &str) -> Result<String, JsError> {
        let placed = self.placed(text);
        let placed = placed.iter().map(|placed| Placed {
            gem: self.written(placed),
            place: placed.place,
        });
        Ok(serde_json::to_string(&placed.collect::<Vec<_>>())?)
    }

    /// What a check looks up of a text, in JSON.
    pub fn query(&self, text: &str) -> Result<String, JsError> {
        let probes = if self.clean {
            let clean = clean(text);
            clean.placed_probes(self.recipe.probes(clean.text()))
        } else {
            self.recipe.probes(text)
        };
        let query = Query {
            gems: probes
                .iter()
                .map(|probe| self.recipe.write(probe.placed.gem))
                .collect(),
            indexed: probes
                .iter()
                .enumerate()
                .filter(|(_, probe)| probe.kept)
                .map(|(at, _)| at)
                .collect(),
            places: probes.iter().map(|probe| probe.placed.place).collect(),
        };
        Ok(serde_json::to_string(&query)?)
    }

    /// The fold of a text.
    #[must_use]
    pub fn fold(&self, text: &str) -> String {
        if self.clean {
            self.recipe.fold(clean(text).text())
        } else {
            self.recipe.fold(text)
        }
    }

    fn placed(&self, text: &str) -> Vec<PlacedGem> {
        if !self.clean {
            return self.recipe.gems(text);
        }
        let clean = clean(text);
        clean.placed(self.recipe.gems(clean.text()))
    }

    fn written(&self, placed: &PlacedGem) -> String {
        self.recipe.write(placed.gem).to_string()
    }
}

/// The bytes of a file, which arrive in pieces.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Pieces(Vec<u8>);

#[wasm_bindgen]
impl Pieces {
    /// Prepares for a file of this many bytes.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(length: usize) -> Self {
        Self(Vec::with_capacity(length))
    }

    /// Adds the next piece.
    pub fn add(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
    }

    /// The gems of the file, separated by commas.
    pub fn gems(&self, reader: &Reader) -> Result<String, JsError> {
        Ok(reader.gems(self.text()?))
    }

    /// The gems of the file and their places, in JSON.
    pub fn places(&self, reader: &Reader) -> Result<String, JsError> {
        reader.places(self.text()?)
    }

    /// What a check looks up of the file, in JSON.
    pub fn query(&self, reader: &Reader) -> Result<String, JsError> {
        reader.query(self.text()?)
    }

    /// The text, without a byte-order mark.
    fn text(&self) -> Result<&str, JsError> {
        let bytes = self.0.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.0);
        let text = str::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains('\0'));
        let text = text.ok_or_else(|| {
            JsError::new("the file is not plain text in UTF-8; name its encoding, or have the server read it")
        })?;
        let start = text
            .trim_start()
            .chars()
            .take(16)
            .collect::<String>()
            .to_lowercase();
        match MARKED_UP.iter().find(|(mark, _)| start.starts_with(mark)) {
            None => Ok(text),
            Some((_, format)) => Err(JsError::new(&format!(
                "the file is not plain text but {format}; have the server read it"
            ))),
        }
    }
}

/// The names of the built-in recipes, separated by commas.
#[wasm_bindgen]
#[must_use]
pub fn recipes() -> String {
    Recipe::built_in()
        .map(|recipe| recipe.name().to_string())
        .collect::<Vec<_>>()
        .join(",")
}
