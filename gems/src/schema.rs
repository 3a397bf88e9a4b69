//! The schema of a gem in an `OpenAPI` description.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::WrittenGem;

impl PartialSchema for WrittenGem {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).maximum(Some(u32::MAX));
        let number = number.description(Some("A gem of 32 bits"));
        let digits = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[0-9a-f]{16}$"));
        let digits = digits.description(Some("A gem of 64 bits"));
        OneOfBuilder::new().item(number).item(digits).into()
    }
}

impl ToSchema for WrittenGem {
    fn name() -> Cow<'static, str> {
        "Gem".into()
    }
}
