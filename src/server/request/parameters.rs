//! The parameters of a request outside its body: path segments and the query. Forms use the same syntax as queries.

use std::borrow::Cow;

use actix_web::HttpRequest;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use crate::server::problem::{Problem, excerpt};
use lapidary_catalogue::parse;
use lapidary_common::error::ErrorCode;
use lapidary_operations::Endpoint;
use lapidary_store::{BookKey, Library};

/// The maximum number of books or matches in one response.
const MAX_LIMIT: usize = 1_000;

/// The library in the path.
pub(crate) fn library(request: &HttpRequest) -> Result<Library, Problem> {
    Ok(segment(request, 3)?.into_owned().try_into()?)
}

/// The book in the path.
pub(crate) fn book(request: &HttpRequest) -> Result<BookKey, Problem> {
    Ok(BookKey {
        library: library(request)?,
        id: segment(request, 5)?.into_owned().try_into()?,
    })
}

/// The decoded segments of the path that the placeholders of a declared call stand for.
pub(crate) fn segments(request: &HttpRequest, endpoint: &Endpoint) -> Result<Vec<String>, Problem> {
    let segments = endpoint.segments(request.uri().path()).into_iter();
    let decoded = segments.map(|segment| decoded(segment).map(Cow::into_owned));
    decoded.collect()
}

/// A decoded segment of `/v1/libraries/{library}/books/{id}`; the last segment is the rest of the path with its
/// slashes. Taken from the raw path, because the one used for routing is already partly decoded.
pub(crate) fn segment(request: &HttpRequest, which: usize) -> Result<Cow<'_, str>, Problem> {
    decoded(
        request
            .uri()
            .path()
            .splitn(6, '/')
            .nth(which)
            .unwrap_or_default(),
    )
}

fn decoded(raw: &str) -> Result<Cow<'_, str>, Problem> {
    percent_decode_str(raw).decode_utf8().map_err(|_| {
        Problem::new(
            ErrorCode::BadPath,
            format!("'{}' in the path is not UTF-8", excerpt(raw)),
        )
    })
}

/// Parses a query or a form; `known` lists the allowed parameters for the error message.
pub(crate) fn query<T: DeserializeOwned>(query: &str, known: &str) -> Result<T, Problem> {
    // The parser would replace invalid UTF-8 by U+FFFD.
    percent_decode_str(query)
        .decode_utf8()
        .map_err(|_| bad("the parameters are not UTF-8", known))?;
    parse::query(query).map_err(|wrong| bad(&wrong, known))
}

/// The problem with the parameters of a call that takes those that are `known`.
pub(crate) fn bad(reason: &str, known: &str) -> Problem {
    Problem::new(
        ErrorCode::BadQuery,
        format!("{}; this call takes {known}", excerpt(reason)),
    )
}

/// A limit of at least `least`.
pub(crate) fn limit(limit: usize, least: usize) -> Result<usize, Problem> {
    if (least..=MAX_LIMIT).contains(&limit) {
        Ok(limit)
    } else {
        Err(Problem::new(
            ErrorCode::BadLimit,
            format!("the limit is {limit}, and must be from {least} to {MAX_LIMIT}"),
        ))
    }
}

/// Refuses a query where all parameters belong in the body.
pub(crate) fn none(query: &str) -> Result<(), Problem> {
    if query.is_empty() {
        Ok(())
    } else {
        Err(Problem::new(
            ErrorCode::BadQuery,
            "with a JSON body, all options belong in the body; leave out the query",
        ))
    }
}
