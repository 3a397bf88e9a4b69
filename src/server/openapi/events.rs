//! The events that are posted to webhooks.

use lapidary_catalogue::api::{
    BookEvent, DecisionEvent, EventType, JobEvent, LibraryEvent, QuotaEvent, SourceEvent,
    TestEvent, WebhookEvent,
};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::path::{HttpMethod, Operation, PathItem, Paths};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{Components, Ref, Required, ResponseBuilder};

use super::calls::{self, Body};

/// How events are signed.
const SIGNED: &str = "Signed with the secret of the webhook (Standard Webhooks): `webhook-id`, `webhook-timestamp` and \
                      `webhook-signature`. An event that is sent again has the same id.";

/// The name of the event of a test.
const TEST: &str = "webhook.test";

/// What the server sends itself. The schemas of events are added to the components.
pub(super) fn webhooks(components: &mut Components) -> Paths {
    let mut paths = Paths::new();
    let tested = body_of::<TestEvent>(TEST, &json!({}));
    let all = EventType::ALL.map(|event| (event.as_str(), summary(event), body(event)));
    for (name, summary, body) in all
        .into_iter()
        .chain([(TEST, "A test was asked for", tested)])
    {
        components.schemas.extend(body.schemas.clone());
        let item = PathItem::new(HttpMethod::Post, operation(name, summary, body));
        paths.paths.insert(name.to_owned(), item);
    }
    paths
}

fn operation(name: &str, summary: &str, body: Body) -> Operation {
    let request = RequestBodyBuilder::new()
        .required(Some(Required::True))
        .content(body.kind, body.content)
        .build();
    let answer =
        ResponseBuilder::new().description("The event is taken; otherwise it is sent again");
    let mut operation = Operation::new();
    operation.operation_id = Some(name.replace('.', "_"));
    operation.summary = Some(summary.to_owned());
    operation.description = Some(SIGNED.to_owned());
    operation.tags = Some(vec!["webhooks".to_owned()]);
    operation.request_body = Some(request.into());
    let answers = &mut operation.responses.responses;
    answers.insert("2XX".to_owned(), answer.build().into());
    operation.security = Some(Vec::new());
    operation
}

fn summary(event: EventType) -> &'static str {
    match event {
        EventType::BookMatched => {
            "A book that was added to the library of a webhook matches others"
        }
        EventType::BookQuarantined => "A book that was added to a library waits in quarantine",
        EventType::BookConfirmed => "An administrator confirmed a book: its quarantine has ended",
        EventType::LibraryTrusted => "A library is trusted now",
        EventType::LibraryDistrusted => "A library is not trusted any more",
        EventType::SourceEnded => "A run of a source ended",
        EventType::SourceFailed => "A run of a source cannot go on for now",
        EventType::CheckFiled => "A check was filed that waits for a decision",
        EventType::CheckMatched => "A watched check matches a book that was added later",
        EventType::DecisionMade => "A filed check was accepted or refused",
        EventType::DecisionAppealed => "A decision was disputed",
        EventType::JobEnded => "A job is done, failed or was cancelled",
        EventType::QuotaReached => "A key has used up its daily quota",
    }
}

fn body(event: EventType) -> Body {
    let name = event.as_str();
    match event {
        EventType::BookMatched => calls::json::<WebhookEvent>(),
        EventType::BookQuarantined | EventType::BookConfirmed => body_of::<BookEvent>(
            name,
            &json!({ "book": { "library": "mine", "id": "1", "rights": "protected", "title": "A title", "authors": [],
                "language": "en", "bytes": 20_000 }, "change": 7, "url": "/v1/libraries/mine/books/1" }),
        ),
        EventType::LibraryTrusted | EventType::LibraryDistrusted => body_of::<LibraryEvent>(
            name,
            &json!({ "library": "mine", "change": 7, "url": "/v1/libraries/mine/books" }),
        ),
        EventType::SourceEnded => body_of::<SourceEvent>(
            name,
            &json!({ "source": "feed", "library": "mine", "run": 3, "change": 7, "url": "/v1/sources/feed" }),
        ),
        EventType::SourceFailed => body_of::<SourceEvent>(
            name,
            &json!({ "source": "feed", "library": "mine", "run": 3, "error": "the source does not answer", "change": 7,
                "url": "/v1/sources/feed" }),
        ),
        EventType::CheckFiled => body_of::<DecisionEvent>(name, &decision("checked", "open")),
        EventType::CheckMatched => body_of::<DecisionEvent>(name, &decision("matched", "")),
        EventType::DecisionMade => body_of::<DecisionEvent>(name, &decision("accepted", "")),
        EventType::DecisionAppealed => body_of::<DecisionEvent>(name, &decision("appealed", "")),
        EventType::JobEnded => body_of::<JobEvent>(
            name,
            &json!({ "job": 3, "kind": "verify", "state": "done", "change": 7, "url": "/v1/jobs/3" }),
        ),
        EventType::QuotaReached => body_of::<QuotaEvent>(
            name,
            &json!({ "key": "shop", "change": 7, "url": "/v1/me" }),
        ),
    }
}

/// An example of a filed check, or of a decision about one.
fn decision(ruling: &str, state: &str) -> Value {
    let check = "01890a5d-ac96-774b-bcce-b302099a8057";
    let mut decision = json!({ "id": check, "created_at": "2026-01-31T10:00:00Z", "actor": "key:shop", "ruling": ruling,
        "check": check, "digest": "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262", "verdict": "protected",
        "verdict_reason": "match" });
    if state.is_empty() {
        decision["id"] = json!("01890a5e-d1c1-7a3e-9d0f-5d1c2b7f4a10");
        decision["actor"] = json!("key:reviewer");
        decision["reason"] = json!("licensed in 2026");
    } else {
        decision["state"] = json!(state);
    }
    let url = format!(
        "/v1/decisions/{}",
        decision["id"].as_str().unwrap_or_default()
    );
    let mut data = json!({ "decision": decision, "change": 7, "url": url });
    if !state.is_empty() {
        data["libraries"] = json!(["mine"]);
    }
    data
}

/// An event with data of a type, and an example of these.
fn body_of<T: ToSchema>(name: &str, example: &Value) -> Body {
    let kind = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(format!("`{name}`.")))
        .enum_values(Some([name]));
    let timestamp = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .description(Some("When it happened."));
    let event = ObjectBuilder::new()
        .property("type", kind)
        .required("type")
        .property("timestamp", timestamp)
        .required("timestamp")
        .property("data", Ref::from_schema_name(T::name()))
        .required("data");
    let example = json!({ "type": name, "timestamp": "2026-01-31T10:00:00Z", "data": example });
    let mut body = Body::of("application/json", event).example(example);
    body.schemas = calls::json::<T>().schemas;
    body
}
