//! What operations answer.

use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use crate::body::{self, Body};

const CREATED: u16 = 201;
const REPLACED: u16 = 200;

/// What an operation answers: JSON, or nothing.
pub trait Answer: Sized + Send + 'static {
    /// Its body, as the description shows it.
    fn body() -> Option<Body>;

    /// The status with which it is sent, if that is not the operation's usual one.
    fn status(&self) -> Option<u16> {
        None
    }

    /// The JSON of its body.
    fn to_json(&self) -> serde_json::Result<Option<Vec<u8>>>;

    /// The answer that was sent with this status and body.
    fn of_response(status: u16, body: &[u8]) -> serde_json::Result<Self>;
}

impl<T: Serialize + DeserializeOwned + ToSchema + Send + 'static> Answer for T {
    fn body() -> Option<Body> {
        Some(body::json::<T>())
    }

    fn to_json(&self) -> serde_json::Result<Option<Vec<u8>>> {
        serde_json::to_vec(self).map(Some)
    }

    fn of_response(_: u16, body: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(body)
    }
}

/// It was done, and there is nothing more to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done;

impl Answer for Done {
    fn body() -> Option<Body> {
        None
    }

    fn to_json(&self) -> serde_json::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn of_response(_: u16, _: &[u8]) -> serde_json::Result<Self> {
        Ok(Self)
    }
}

/// What was created, or replaced another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upserted<T> {
    /// What is there now.
    pub item: T,
    /// Whether it was created.
    pub is_new: bool,
}

impl<T: Answer> Answer for Upserted<T> {
    fn body() -> Option<Body> {
        T::body()
    }

    fn status(&self) -> Option<u16> {
        Some(if self.is_new { CREATED } else { REPLACED })
    }

    fn to_json(&self) -> serde_json::Result<Option<Vec<u8>>> {
        self.item.to_json()
    }

    fn of_response(status: u16, body: &[u8]) -> serde_json::Result<Self> {
        Ok(Self {
            item: T::of_response(status, body)?,
            is_new: status == CREATED,
        })
    }
}
