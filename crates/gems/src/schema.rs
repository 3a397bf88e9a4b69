//! The schemas of gems and recipes in an `OpenAPI` description.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type,
};
use utoipa::{PartialSchema, ToSchema};

use crate::{Recipe, WrittenGem};

impl PartialSchema for WrittenGem {
    fn schema() -> RefOr<Schema> {
        let number = number().maximum(Some(u32::MAX));
        let number = number.description(Some("A gem of 32 bits"));
        let digits = text().pattern(Some("^[0-9a-f]{16}$"));
        let digits = digits.description(Some(
            "A gem of 48 bits, of which the first four digits are 0, or a signature of 64",
        ));
        let short = text().pattern(Some("^[0-9a-f]{8}$"));
        let short = short.description(Some("A signature of 32 bits"));
        OneOfBuilder::new()
            .item(number)
            .item(digits)
            .item(short)
            .into()
    }
}

impl ToSchema for WrittenGem {
    fn name() -> Cow<'static, str> {
        "Gem".into()
    }
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn number() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0))
}

/// A definition with a name; no definition is of two kinds.
fn named() -> ObjectBuilder {
    ObjectBuilder::new()
        .property("name", text())
        .required("name")
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
}

impl PartialSchema for Recipe {
    fn schema() -> RefOr<Schema> {
        let base = text().enum_values(Some(["documented", "released"]));
        let boundaries = ArrayBuilder::new().items(text().pattern(Some("^[0-9]{4}$")));
        let exact = named().property("base", base).required("base");
        let exact = exact.property("shortest", number()).required("shortest");
        let exact = exact
            .property("boundaries", boundaries)
            .required("boundaries");
        let hardened = named()
            .property("window", number())
            .required("window")
            .property("bits", number());
        let lexicon =
            text().description(Some("The lexicon that its name ends with: the whole file"));
        let signature = named().property("lexicon", lexicon);
        OneOfBuilder::new()
            .description(Some(
                "The definition of a recipe: an exact one with its boundaries, one of words, or a signature",
            ))
            .item(exact)
            .item(hardened)
            .item(signature)
            .into()
    }
}

impl ToSchema for Recipe {}
