//! Notifications of buckets: what was written is fetched and checked, and the verdict becomes tags of the object.

use std::sync::Arc;
use std::thread;

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use serde_json::json;
use tokio::sync::oneshot;
use utoipa::openapi::path::HttpMethod::Post;

use super::ServerState;
use super::access::{Guest, Meter, Needs, presented};
use super::body::{self, Declared, Raw};
use super::calls::{Call, json};
use super::checks;
use super::fetch::{self, FileAddress};
use super::problem::Problem;
use super::requests::caller;
use super::turns::Patience;
use super::work::{Answer, work};
use lapidary_catalogue::api::{
    EventSubject, ObjectAnswer, ObjectAnswers, ObjectEvent, ObjectEvents, Report,
};
use lapidary_catalogue::{OnceRequest, Terms};
use lapidary_common::error::ErrorCode;
use lapidary_harvest::{ObjectName, ObjectStore, decoded_key};
use lapidary_store::Actor;

/// How many events a notification may have. S3 and MinIO send one.
const MOST_EVENTS: usize = 16;
/// The longest name of a filed check.
const NAME_BYTES: usize = 1_000;
/// The events of objects that were written. MinIO calls new tags an object that was created, too.
const WRITTEN: [&str; 4] = ["Put", "Post", "Copy", "CompleteMultipartUpload"];
/// The verdict of what could not be checked.
const UNCHECKED: &str = "unchecked";

pub(super) fn calls() -> Vec<Call> {
    let event = json!({
        "eventName": "ObjectCreated:Put",
        "s3": { "bucket": { "name": "uploads" }, "object": { "key": "novels/one+book.epub", "eTag": "d41d8cd98f00b204e9800998ecf8427e", "sequencer": "0A1B2C3D" } }
    });
    vec![
        Call::new(Post, "/v1/s3/events", Needs::Check, notified)
            .named("object_events", "Check objects that were written to a bucket")
            .about(
                "Takes notifications of S3 and MinIO. Each object that was written is fetched and checked, the report is filed, and its \
                 verdict becomes tags of the object; its other tags stay. Up to 16 events, each a check for rates and quotas. The same \
                 event within 24 hours is the same check. If an object cannot be checked now, the answer is an error, and the \
                 notification is to be sent again.",
            )
            .takes([json::<ObjectEvents>().example(json!({ "Records": [event] }))])
            .answers(200, "What became of the objects", [json::<ObjectAnswers>()]),
    ]
}

async fn notified(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let mut events: ObjectEvents = body::words(&request, payload, &state).await?;
    events.records.retain(is_of_written);
    if !events.records.is_empty() {
        may_notify(&state)?;
    }
    if events.records.len() > MOST_EVENTS {
        let detail = format!("a notification has at most {MOST_EVENTS} events; send fewer");
        return Err(Problem::new(ErrorCode::TooManyChecks, detail));
    }
    let mut answers = ObjectAnswers {
        objects: Vec::new(),
    };
    if let Some(meter) = Meter::of(&request) {
        meter.count_by_lines().await;
    }
    for event in events.records {
        answers
            .objects
            .push(answered(event, &request, &state).await?);
    }
    work(&state, move |_| Answer::ok(&answers)).await
}

/// Tags are what all users of a bucket go by, so a key must not write them that sees books of its own.
fn may_notify(state: &ServerState) -> Result<(), Problem> {
    match (caller().actor(), &state.events_key) {
        (Actor::Key(name), key) if key.as_ref() != Some(&name) => {
            let detail = "this key may not send notifications of buckets; use the one that the setting s3.key names";
            Err(Problem::new(ErrorCode::NotAllowed, detail))
        }
        _ => Ok(()),
    }
}

fn is_of_written(event: &ObjectEvent) -> bool {
    let name = event.name.strip_prefix("s3:").unwrap_or(&event.name);
    name.strip_prefix("ObjectCreated:")
        .is_some_and(|how| WRITTEN.contains(&how))
}

/// What becomes of an object. What may go better later is an error.
async fn answered(
    event: ObjectEvent,
    request: &HttpRequest,
    state: &Data<ServerState>,
) -> Result<ObjectAnswer, Problem> {
    let objects = fetch::objects(state)?;
    let EventSubject { bucket, object } = event.s3;
    let key = decoded_key(&object.key);
    let mut answer = ObjectAnswer {
        url: format!("s3://{}/{key}", bucket.name),
        ..ObjectAnswer::default()
    };
    let name = match ObjectName::new(bucket.name, key) {
        Ok(name) => name,
        Err(error) => return refused(answer, Problem::from(error)),
    };
    objects.bucket_of(&name)?;
    let version = object.version_id.filter(|version| !version.is_empty());
    let name = name.in_version(version).with_etag(object.e_tag.as_deref());
    let (tags, problem) = match checked(&objects, &name, object.sequencer, request, state).await {
        Ok(report) => {
            let tags = tags_of(&report);
            answer.verdict = Some(report.verdict);
            answer.reason = Some(report.reason);
            answer.filed = report.filed;
            (tags, None)
        }
        Err(problem) if problem.code() == ErrorCode::NotFetched.as_str() => {
            return refused(answer, problem);
        }
        Err(problem) => {
            let tags = vec![
                ("lapidary-verdict", UNCHECKED.to_owned()),
                ("lapidary-reason", problem.code().to_owned()),
            ];
            (tags, Some(problem))
        }
    };
    let tagged = tag(objects, name, tags, request, state).await;
    match problem.or(tagged.err()) {
        Some(problem) => refused(answer, problem),
        None => Ok(answer),
    }
}

/// Answers with the problem, unless it may be gone later.
fn refused(answer: ObjectAnswer, problem: Problem) -> Result<ObjectAnswer, Problem> {
    let status = problem.status();
    let is_of_now = [StatusCode::TOO_MANY_REQUESTS, StatusCode::CONFLICT].contains(&status);
    if status.is_server_error() || is_of_now {
        return Err(problem);
    }
    Ok(ObjectAnswer {
        problem: Some(problem.details()),
        ..answer
    })
}

fn tags_of(report: &Report) -> Vec<(&'static str, String)> {
    let tags = [
        ("lapidary-verdict", word(report.verdict)),
        ("lapidary-reason", word(report.reason)),
        ("lapidary-report", report.filed.clone()),
    ];
    tags.into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// A value as it is written in reports.
fn word(value: impl Serialize) -> Option<String> {
    let value = serde_json::to_value(value).ok()?;
    value.as_str().map(ToOwned::to_owned)
}

/// Fetches and checks an object, and files the report. The same event with the same content has the same report.
async fn checked(
    objects: &Arc<ObjectStore>,
    name: &ObjectName,
    sequencer: Option<String>,
    request: &HttpRequest,
    state: &Data<ServerState>,
) -> Result<Report, Problem> {
    if let Some(meter) = Meter::of(request) {
        meter.pace(1).await;
        let (_, used_up) = meter.count_lines(1).await;
        used_up.map_or(Ok(()), Err)?;
    }
    let address = FileAddress::Object(Arc::clone(objects), name.clone());
    let file = fetch::file(address, request, state).await?;
    let file = Raw::new(file, Declared::new("", None), state.limits);
    let by = caller();
    let event = sequencer.map(|sequencer| format!("{name} {sequencer}"));
    let mut name = name.to_string();
    name.truncate(name.floor_char_boundary(NAME_BYTES));
    let (actor, catalogue) = (by.actor(), Arc::clone(&state.catalogue));
    let secret = presented(request.headers()).unwrap_or_default().to_owned();
    let turn = state
        .turns
        .take(by.lane, by.client, Patience::Refusable, move || {
            let mut terms = Terms::default();
            if let Some(event) = event {
                let event = format!("{event} {}", blake3::hash(file.bytes()));
                terms = terms.once(OnceRequest::begin(&catalogue, &actor, &event, &secret, "")?);
            }
            let terms = Arc::new(terms);
            let editor = catalogue.by(actor).on(Arc::clone(&terms));
            terms.keep_during(|| checks::file_report(&editor, file, name))
        });
    turn.await?
}

/// Writes tags on a thread of its own.
async fn tag(
    objects: Arc<ObjectStore>,
    name: ObjectName,
    tags: Vec<(&'static str, String)>,
    request: &HttpRequest,
    state: &ServerState,
) -> Result<(), Problem> {
    let permit = state.fetches.take(Guest::of(request))?;
    let (answer, answered) = oneshot::channel();
    let work = move || {
        let tags: Vec<_> = tags
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let tagged = objects.tag(&name, &tags);
        drop(permit);
        let _ = answer.send(tagged);
    };
    thread::Builder::new()
        .name("lapidary-tags".to_owned())
        .spawn(work)
        .map_err(|error| Problem::failed(ErrorCode::Internal, &error))?;
    let tagged = answered
        .await
        .map_err(|error| Problem::failed(ErrorCode::Internal, &error))?;
    Ok(tagged?)
}
