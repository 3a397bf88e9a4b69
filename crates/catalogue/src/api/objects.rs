//! Notifications of buckets, and what became of the objects.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::Problem;
use lapidary_checking::Reason;
use lapidary_store::Rights;

/// A notification as S3 and MinIO send it. Other fields are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectEvents {
    /// What happened.
    #[serde(rename = "Records", default)]
    #[schema(max_items = 16)]
    pub records: Vec<ObjectEvent>,
}

/// What happened to an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectEvent {
    /// Only objects that were written are checked: `ObjectCreated:Put`, `Post`, `Copy` and `CompleteMultipartUpload`, perhaps with
    /// `s3:` before it.
    #[serde(rename = "eventName")]
    pub name: String,
    /// The object.
    pub s3: EventSubject,
}

/// The object that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventSubject {
    /// Its bucket.
    pub bucket: EventBucket,
    /// The object in it.
    pub object: EventObject,
}

/// The bucket that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventBucket {
    /// Its name.
    pub name: String,
}

/// The object that an event is about, in its bucket.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventObject {
    /// Its key, encoded as in a form.
    pub key: String,
    /// Its version, if the bucket keeps versions.
    pub version_id: Option<String>,
    /// Its `ETag`. If it has another one by now, it was replaced, and is not checked for this event. Without one, what is there now is.
    pub e_tag: Option<String>,
    /// Tells events of one key apart: the same event again is the same check.
    pub sequencer: Option<String>,
}

/// What became of the objects that were written, in the order of the events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ObjectAnswers {
    /// One of each.
    pub objects: Vec<ObjectAnswer>,
}

/// What became of an object.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ObjectAnswer {
    /// Its address.
    pub url: String,
    /// The verdict, which it has as its tag `lapidary-verdict` now.
    pub verdict: Option<Rights>,
    /// The reason, which it has as its tag `lapidary-reason`.
    pub reason: Option<Reason>,
    /// The id of the filed check, which it has as its tag `lapidary-report`.
    pub filed: Option<String>,
    /// Why it was not checked, or has no tags. What was there but could not be checked has the tag `lapidary-verdict` `unchecked`, and
    /// the code as `lapidary-reason`.
    pub problem: Option<Problem>,
}
