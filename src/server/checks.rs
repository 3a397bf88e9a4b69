//! Checks: by JSON, by a text or a file, and by the form that existing clients post.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;

use super::State;
use super::body::{self, Body};
use super::parameters;
use super::problem::{Problem, excerpt};
use super::work::{Answer, work};
use crate::catalogue::{CatalogueError, CheckOptions, MAX_GEMS, Query};
use crate::fingerprint::Gem;

/// `POST /v1/checks`
pub(super) async fn check(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let parameters = request.query_string().to_owned();
    let body = body::json_or_raw(&request, payload, state.max_body).await?;
    work(&state, move |catalogue| {
        let (query, options) = asked(body, &parameters)?;
        Answer::ok(&catalogue.check(&query, &options)?)
    })
    .await
}

/// `POST /copyright_check_by_gems/`
pub(super) async fn check_by_gems(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let body = body::form(&request, payload, state.max_body).await?;
    work(&state, move |catalogue| {
        let query = Query::Gems(listed(&body)?);
        Answer::ok(&catalogue.check(&query, &CheckOptions::default())?)
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    gems: Option<Vec<Gem>>,
    text: Option<String>,
    recipe: Option<String>,
    library: Option<String>,
    limit: Option<usize>,
    detail: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    recipe: Option<String>,
    library: Option<String>,
    limit: Option<usize>,
    detail: Option<bool>,
}

fn asked(body: Body, parameters: &str) -> Result<(Query, CheckOptions), Problem> {
    match body {
        Body::Json(bytes) => {
            parameters::none(parameters)?;
            let Asked { gems, text, recipe, library, limit, detail } = body::json(&bytes)?;
            let query = match (gems, text) {
                (Some(gems), None) => Query::Gems(gems),
                (None, Some(text)) => Query::Text(text),
                _ => return Err(Problem::bad("bad_json", "give exactly one of 'gems' and 'text'")),
            };
            Ok((query, Options { recipe, library, limit, detail }.try_into()?))
        }
        Body::Raw(raw) => {
            let known = "recipe, library, limit (a number) and detail (true or false)";
            let options: Options = parameters::query(parameters, known)?;
            Ok((Query::Text(raw.text()?), options.try_into()?))
        }
    }
}

impl TryFrom<Options> for CheckOptions {
    type Error = Problem;

    fn try_from(asked: Options) -> Result<Self, Problem> {
        let usual = Self::default();
        Ok(Self {
            recipe: asked.recipe.map(TryInto::try_into).transpose()?,
            library: asked.library.map(TryInto::try_into).transpose()?,
            limit: parameters::limit(asked.limit.unwrap_or(usual.limit), 0)?,
            detail: asked.detail.unwrap_or(usual.detail),
        })
    }
}

#[derive(Deserialize)]
struct Form {
    gems: String,
}

/// The gems of a form: decimal numbers with commas between them.
fn listed(form: &[u8]) -> Result<Vec<Gem>, Problem> {
    let not_utf8 = |_| Problem::bad("bad_query", "the form is not UTF-8");
    let form = str::from_utf8(form).map_err(not_utf8)?;
    let Form { gems } = parameters::query(form, "gems, numbers with commas between them")?;
    if gems.trim().is_empty() {
        return Ok(Vec::new());
    }
    let found = gems.split(',').count();
    if found > MAX_GEMS {
        return Err(CatalogueError::TooManyGems { found, limit: MAX_GEMS }.into());
    }
    gems.split(',').map(|gem| decimal(gem.trim())).collect()
}

fn decimal(written: &str) -> Result<Gem, Problem> {
    let number = Some(written).filter(|gem| gem.bytes().all(|byte| byte.is_ascii_digit()));
    let gem = number.and_then(|gem| gem.parse().ok()).map(Gem);
    gem.ok_or_else(|| {
        let detail = format!("'{}' is not a gem: gems are whole numbers with commas between them", excerpt(written));
        Problem::bad("bad_gems", detail)
    })
}

#[cfg(test)]
mod tests {
    use super::{Gem, listed};

    #[test]
    fn gems_of_a_form() {
        let table: &[(&str, Option<&[u64]>)] = &[
            ("gems=1,2,3", Some(&[1, 2, 3])),
            ("gems=1%2C2%2c3", Some(&[1, 2, 3])),
            ("gems=+1+,%0A2", Some(&[1, 2])),
            ("gems=", Some(&[])),
            ("gems=+", Some(&[])),
            ("other=x&gems=7", Some(&[7])),
            ("gems=18446744073709551615", Some(&[u64::MAX])),
            ("gems=18446744073709551616", None),
            ("gems=1,,2", None),
            ("gems=1,", None),
            ("gems=-1", None),
            ("gems=%2B1", None),
            ("gems=1.5", None),
            ("gems=x", None),
            ("gems=%ff", None),
            ("gem=1", None),
            ("", None),
        ];
        for (form, gems) in table {
            let found = listed(form.as_bytes()).ok();
            assert_eq!(found, gems.map(|gems| gems.iter().copied().map(Gem).collect()), "{form}");
        }
    }
}
