//! Declares a call of the API, once, in the file of its resource: its method, path and role, its handler, and what it
//! takes and answers.

use std::ops::RangeInclusive;

use actix_web::{FromRequest, Handler, Responder, Route, web};
use serde_json::{Value, json};
use utoipa::openapi::path::{HttpMethod, Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{Header, RefOr, Required, ResponseBuilder, Schema};
use utoipa::{IntoParams, ToSchema};

use super::forms::{FIELD, FORM_DATA, MOST_FILES};
use super::operations::handle;
use lapidary_catalogue::api::Problem;
use lapidary_operations::{Answer as _, Endpoint, Input as _, SentAs};
pub(super) use lapidary_operations::{Body, Needs, json, text};
use lapidary_store::NAME_BYTES;

/// The pattern of a library's name, a book's id, or the name of an allow-list.
pub(super) const NAME_PATTERN: &str = r"^[^\x00-\x1f\x7f-\x9f]+$";

/// The text of the examples: the beginning of Gogol's *Evenings on a Farm near Dikanka*.
pub(super) const TEXT: &str = "What oddity is this: Evenings on a Farm near Dikanka? What sort of evenings have we here? \
                               And thrust into the world by a beekeeper!";

/// The headers of conditional requests.
const CONDITIONS: [(&str, &str); 2] = [
    (
        "If-Match",
        "Do it only if it is there in one of these versions, or for `*`, if it is there",
    ),
    (
        "If-None-Match",
        "Do it only if it is there in none of these versions, or for `*`, if it is not there",
    ),
];

/// The header of requests that take effect once.
const ONCE: &str = "The client's name for this request, such as a UUID: sent again within 24 hours, it gets the same answer";

/// What an answer with the status 304 says.
pub(super) const NOT_MODIFIED: &str = "The client has this version already (`If-None-Match`)";

type Schemas = Vec<(String, RefOr<Schema>)>;

/// A call.
pub(super) struct Call {
    pub(super) method: HttpMethod,
    /// As the router matches it: `{name:.*}` is the rest of the path, which may contain slashes or be empty.
    pub(super) path: &'static str,
    pub(super) needs: Needs,
    /// Whether it takes `If-Match` and `If-None-Match`.
    pub(super) conditional: bool,
    pub(super) route: Route,
    pub(super) operation: Operation,
    /// The schemas that the operation refers to.
    pub(super) schemas: Schemas,
}

impl Call {
    /// Declares a call.
    pub(super) fn new<H, A>(
        method: HttpMethod,
        path: &'static str,
        needs: Needs,
        handler: H,
    ) -> Self
    where
        H: Handler<A>,
        A: FromRequest + 'static,
        H::Output: Responder + 'static,
    {
        let route = web::to(handler);
        let (operation, schemas) = (Operation::new(), Vec::new());
        let mut call = Self {
            method,
            path,
            needs,
            conditional: false,
            route,
            operation,
            schemas,
        };
        let placeholders = path
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split('}').next());
        for placeholder in placeholders {
            call.parameter(placeholder_of(placeholder));
        }
        call
    }

    /// The call of a declared operation.
    pub(super) fn of<O: lapidary_operations::Operation>() -> Self {
        Self::handled::<O, _, _>(handle::<O>)
    }

    /// The call of a declared operation with a handler of its own.
    pub(super) fn handled<O, H, A>(handler: H) -> Self
    where
        O: lapidary_operations::Operation,
        H: Handler<A>,
        A: FromRequest + 'static,
        H::Output: Responder + 'static,
    {
        let Endpoint {
            method,
            path,
            needs,
            id,
            summary,
            about,
            answers,
        } = O::ENDPOINT;
        let mut call = Self::new(method, path, needs, handler).named(id, summary);
        call.operation.description = about.map(ToOwned::to_owned);
        call = match O::Input::sent_as() {
            SentAs::Nothing => call,
            SentAs::Query { parameters, .. } => call.with_parameters(parameters),
            SentAs::Json(bodies) => call.takes(bodies),
        };
        for (status, description) in answers {
            call = call.answers(*status, description, O::Answer::body());
        }
        if O::CREATES {
            call = call.once();
        }
        if O::VERSION.is_none() {
            return call;
        }
        let call = call.conditional();
        match O::ENDPOINT.method {
            HttpMethod::Get => call.answers(304, NOT_MODIFIED, []),
            _ => call,
        }
    }

    /// The path as clients know it.
    pub(super) fn public_path(&self) -> String {
        self.path.replace(":.*", "")
    }

    /// Its name in generated clients, and what it does.
    pub(super) fn named(mut self, id: &str, summary: &str) -> Self {
        self.operation.operation_id = Some(id.to_owned());
        self.operation.summary = Some(summary.to_owned());
        self
    }

    /// What else there is to know about it.
    pub(super) fn about(mut self, description: &str) -> Self {
        self.operation.description = Some(description.to_owned());
        self
    }

    /// The call takes these query parameters.
    pub(super) fn query<P: IntoParams>(self) -> Self {
        self.with_parameters(P::into_params(|| Some(ParameterIn::Query)))
    }

    fn with_parameters(mut self, parameters: Vec<Parameter>) -> Self {
        for parameter in parameters {
            self.parameter(parameter);
        }
        self
    }

    /// The call takes a body of one of these types.
    pub(super) fn takes(mut self, bodies: impl IntoIterator<Item = Body>) -> Self {
        let mut body = RequestBodyBuilder::new().required(Some(Required::True));
        for Body {
            kind,
            content,
            schemas,
        } in bodies
        {
            if kind == ANY_FILE {
                let described = "A file of any supported format may have any other content type, too: its content decides.";
                body = body.description(Some(described));
            }
            body = body.content(kind, content);
            self.schemas.extend(schemas);
        }
        self.operation.request_body = Some(RefOr::<RequestBody>::T(body.build()));
        self
    }

    /// The call answers with this status and one of these bodies, if any.
    pub(super) fn answers(
        mut self,
        status: u16,
        description: &str,
        bodies: impl IntoIterator<Item = Body>,
    ) -> Self {
        let mut response = ResponseBuilder::new().description(description);
        for Body {
            kind,
            content,
            schemas,
        } in bodies
        {
            response = response.content(kind, content);
            self.schemas.extend(schemas);
        }
        if [201, 202].contains(&status) {
            response = response.header("Location", described("Where it can be shown"));
        }
        self.operation
            .responses
            .responses
            .insert(status.to_string(), response.build().into());
        self
    }

    /// The answers so far have this header, too.
    pub(super) fn header(mut self, name: &str, about: &str) -> Self {
        for response in self.operation.responses.responses.values_mut() {
            if let RefOr::T(response) = response {
                let header = RefOr::T(described(about));
                response.headers.insert(name.to_owned(), header);
            }
        }
        self
    }

    /// The call takes `Idempotency-Key`.
    pub(super) fn once(mut self) -> Self {
        let schema = text_schema().min_length(Some(16)).max_length(Some(255));
        self.parameter(header_of("Idempotency-Key", ONCE, schema));
        self
    }

    /// The call takes `If-Match` and `If-None-Match`. Its answers so far say which version they show.
    pub(super) fn conditional(mut self) -> Self {
        for (name, description) in CONDITIONS {
            self.parameter(header_of(name, description, text_schema()));
        }
        for response in self.operation.responses.responses.values_mut() {
            if let RefOr::T(response) = response
                && !response.content.is_empty()
            {
                let tag = described("The version");
                response.headers.insert("ETag".to_owned(), RefOr::T(tag));
            }
        }
        let problem = json::<Problem>().with_type("application/problem+json");
        let call = Self {
            conditional: true,
            ..self
        };
        call.answers(
            412,
            "It is there in another version, or is not there (`precondition_failed`)",
            [problem],
        )
    }

    fn parameter(&mut self, parameter: Parameter) {
        self.operation
            .parameters
            .get_or_insert_default()
            .push(RefOr::T(parameter));
    }
}

/// A header of a request.
fn header_of(name: &str, about: &str, schema: ObjectBuilder) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(about))
        .schema(Some(schema))
        .build()
}

/// A header of an answer.
pub(super) fn described(about: &str) -> Header {
    let mut header = Header::new(text_schema());
    header.description = Some(about.to_owned());
    header
}

fn text_schema() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn name_schema() -> ObjectBuilder {
    text_schema()
        .min_length(Some(1))
        .max_length(Some(NAME_BYTES))
        .pattern(Some(NAME_PATTERN))
}

/// The parameter that a placeholder of a path stands for.
fn placeholder_of(placeholder: &str) -> Parameter {
    let (description, example, schema) = match placeholder {
        "library" => ("The library", json!("mine"), name_schema()),
        "id:.*" => (
            "The library's own id; slashes need no escaping",
            json!("evenings"),
            name_schema(),
        ),
        "decision" => (
            "The id of the entry",
            json!("01890a5d-ac96-774b-bcce-b302099a8057"),
            text_schema(),
        ),
        "batch" => (
            "The id of the batch",
            json!("01890a5d-ac96-774b-bcce-b302099a8057"),
            text_schema(),
        ),
        "recipe" => ("The recipe's name", json!("hardened"), name_schema()),
        "source" => ("The source's name", json!("theirs"), name_schema()),
        "lexicon" => (
            "The lexicon's name",
            json!("534bdce67810876f"),
            text_schema().pattern(Some("^[0-9a-f]{16}$")),
        ),
        "link" => (
            "The link's id",
            json!("9f86d081884c7d659a2feaa0c55ad015"),
            text_schema().pattern(Some("^[0-9a-f]{32}$")),
        ),
        "secret" => (
            "The link's secret",
            json!("2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"),
            text_schema().pattern(Some("^[0-9a-f]{64}$")),
        ),
        "name:.*" => ("The list's name", json!("imprint"), name_schema()),
        "name" => (
            "The key's name",
            json!("me"),
            text_schema().min_length(Some(1)).max_length(Some(100)),
        ),
        _ => {
            let format = SchemaFormat::KnownFormat(KnownFormat::UInt32);
            let number = ObjectBuilder::new()
                .schema_type(Type::Integer)
                .format(Some(format))
                .minimum(Some(0));
            ("The job's number", json!(1), number)
        }
    };
    ParameterBuilder::new()
        .name(placeholder.trim_end_matches(":.*"))
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(description))
        .schema(Some(schema))
        .example(Some(example))
        .build()
}

/// JSON Lines; the schema is that of a line.
pub(super) fn lines<T: ToSchema>() -> Body {
    json::<T>().with_type("application/x-ndjson")
}

/// The fields of a form.
pub(super) fn form<T: ToSchema>() -> Body {
    json::<T>().with_type("application/x-www-form-urlencoded")
}

/// The content type by which the description names all files.
const ANY_FILE: &str = "application/octet-stream";

/// The raw bytes of a file.
pub(super) fn file() -> Body {
    Body::of(ANY_FILE, binary())
}

/// A form with a file.
pub(super) fn form_of_file() -> Body {
    form_of(binary(), &TEXT.into())
}

/// A form with several files.
pub(super) fn form_of_files() -> Body {
    form_of_so_many(1..=MOST_FILES)
}

/// A form of so many files.
pub(super) fn form_of_so_many(files: RangeInclusive<usize>) -> Body {
    let example = vec![TEXT; *files.start()];
    let files = ArrayBuilder::new()
        .items(binary())
        .min_items(Some(*files.start()))
        .max_items(Some(*files.end()));
    form_of(files, &json!(example))
}

fn form_of(files: impl Into<RefOr<Schema>>, example: &Value) -> Body {
    let schema = ObjectBuilder::new().property(FIELD, files).required(FIELD);
    Body::of(FORM_DATA, schema).example(json!({ FIELD: example }))
}

fn binary() -> ObjectBuilder {
    let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(binary))
}

/// Any JSON object.
pub(super) fn object() -> Body {
    let schema = ObjectBuilder::new().schema_type(Type::Object);
    Body::of("application/json", schema)
}
