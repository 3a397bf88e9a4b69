//! What an operation takes besides the parameters of its path: a query, or a JSON body.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, ToSchema};

use crate::body::{self, Body};

/// How an input is sent.
pub enum SentAs {
    /// Not at all: there is none.
    Nothing,
    /// As the query of the URL.
    Query {
        /// Its parameters, as the description shows them.
        parameters: Vec<Parameter>,
        /// The parameters in words, for whoever sends others.
        known: &'static str,
    },
    /// As a JSON body, under any of these types.
    Json(Vec<Body>),
}

impl SentAs {
    /// As the query of the URL. `known` names the parameters to whoever sends others.
    #[must_use]
    pub fn query<T: IntoParams>(known: &'static str) -> Self {
        let parameters = T::into_params(|| Some(ParameterIn::Query));
        Self::Query { parameters, known }
    }

    /// As a JSON body, such as this example.
    #[must_use]
    pub fn json<T: ToSchema>(example: Value) -> Self {
        Self::Json(vec![body::json::<T>().example(example)])
    }
}

/// What an operation takes besides the parameters of its path.
pub trait Input: Serialize + DeserializeOwned + Send + 'static {
    /// Whether it may be as long as a book.
    const IS_LARGE: bool = false;

    /// How it is sent.
    fn sent_as() -> SentAs;

    /// The text in it that gems are computed from, which takes memory.
    fn text(&self) -> Option<&str> {
        None
    }
}

impl Input for () {
    fn sent_as() -> SentAs {
        SentAs::Nothing
    }
}
