//! The lines of an export (`docs/reference/export.md`).

use std::collections::BTreeMap;

use lapidary_gems::{Place, PlacedGem, Recipe, RecipeName, WrittenGem};
use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AnyOfBuilder, ArrayBuilder, ObjectBuilder, Ref, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::{Decision, Record};
use lapidary_store::Library;

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExportHeader {
    /// The version of the format.
    pub lapidary_export: u32,
    /// The recipes, the default first.
    pub recipes: Vec<Recipe>,
    /// The recipes that are not ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub incomplete: Vec<RecipeName>,
    /// The libraries that are not trusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub untrusted: Vec<Library>,
    /// Whether the catalogue keeps folds.
    pub keeps_folds: bool,
    /// The number of books.
    pub books: u64,
}

/// The line of a book.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExportBook {
    /// Its record.
    pub book: Record,
    /// Its gems by recipe, in text order.
    #[schema(value_type = BTreeMap<String, Vec<ExportGem>>)]
    pub gems: BTreeMap<RecipeName, Vec<ExportGem>>,
    /// Its folds by base, in base64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub folds: BTreeMap<String, String>,
    /// Its text, if that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A gem as written in the file, with its position if known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ExportGem {
    /// With its position: start and end, in bytes.
    Placed(WrittenGem, u64, u64),
    /// Without a position.
    Placeless([WrittenGem; 1]),
}

impl PartialSchema for ExportGem {
    fn schema() -> RefOr<Schema> {
        let gem = Ref::from_schema_name(WrittenGem::name());
        let position = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(0));
        ArrayBuilder::new()
            .description(Some(
                "A gem, and its position if known: start and end, in bytes",
            ))
            .items(AnyOfBuilder::new().item(gem).item(position))
            .min_items(Some(1))
            .max_items(Some(3))
            .into()
    }
}

impl ToSchema for ExportGem {
    fn schemas(all: &mut Vec<(String, RefOr<Schema>)>) {
        all.push((WrittenGem::name().into_owned(), WrittenGem::schema()));
    }
}

/// The line of a filed check or a decision, after the books.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportDecision {
    /// The entry.
    pub decision: Decision,
}

/// The last line. If it is missing, the file was truncated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportEnd {
    /// The number of books.
    pub end: u64,
}

/// A line of an export: first a header, then books, and an end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "only its schema is used")]
pub enum ExportLine {
    /// The first line.
    Header(ExportHeader),
    /// A book.
    Book(ExportBook),
    /// A filed check or a decision.
    Decision(ExportDecision),
    /// The last line.
    End(ExportEnd),
}

impl ExportHeader {
    /// The recipes that are ready.
    pub fn ready(&self) -> impl Iterator<Item = &RecipeName> {
        self.recipes
            .iter()
            .map(Recipe::name)
            .filter(|name| !self.incomplete.contains(name))
    }
}

impl ExportGem {
    /// A gem of this recipe.
    #[must_use]
    pub fn new(PlacedGem { gem, place }: PlacedGem, recipe: &Recipe) -> Self {
        let gem = recipe.write(gem);
        match place {
            Some(Place { start, end }) => Self::Placed(gem, start, end),
            None => Self::Placeless([gem]),
        }
    }
}

impl From<ExportGem> for PlacedGem {
    fn from(written: ExportGem) -> Self {
        match written {
            ExportGem::Placed(gem, start, end) => Self {
                gem: gem.into(),
                place: Some(Place { start, end }),
            },
            ExportGem::Placeless([gem]) => Self {
                gem: gem.into(),
                place: None,
            },
        }
    }
}
