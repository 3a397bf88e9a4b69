//! Bodies of requests and answers, as the description of the API shows them.

use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Content, Ref, RefOr, Schema};

/// A body of a request or an answer: its content type and its schema.
pub struct Body {
    /// Its content type.
    pub kind: &'static str,
    /// Its schema and examples.
    pub content: Content,
    /// The schemas that it refers to.
    pub schemas: Vec<(String, RefOr<Schema>)>,
}

/// JSON.
#[must_use]
pub fn json<T: ToSchema>() -> Body {
    let mut schemas = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut schemas);
    Body {
        kind: "application/json",
        content: Content::new(Some(Ref::from_schema_name(T::name()))),
        schemas,
    }
}

/// Text of this type.
#[must_use]
pub fn text(kind: &'static str) -> Body {
    Body::of(kind, ObjectBuilder::new().schema_type(Type::String))
}

impl Body {
    /// A body whose schema is written in its place.
    #[must_use]
    pub fn of(kind: &'static str, schema: impl Into<RefOr<Schema>>) -> Self {
        Self {
            kind,
            content: Content::new(Some(schema)),
            schemas: Vec::new(),
        }
    }

    /// With an example that the call takes.
    #[must_use]
    pub fn example(mut self, example: impl Into<Value>) -> Self {
        self.content.example = Some(example.into());
        self
    }

    /// With several examples by name. A client shows the first in alphabetical order first.
    #[must_use]
    pub fn examples<const N: usize>(mut self, examples: [(&str, Value); N]) -> Self {
        let named = examples.map(|(name, value)| {
            let example = ExampleBuilder::new().value(Some(value)).build();
            (name.to_owned(), RefOr::T(example))
        });
        self.content.examples = named.into();
        self
    }

    /// The same body under another content type.
    #[must_use]
    pub fn with_type(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }
}
