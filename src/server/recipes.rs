//! Recipes are added; the lexicons that some of them weigh words by.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use lapidary_gems::Lexicon;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::path::HttpMethod::{Get, Post};

use super::ServerState;
use super::access::Needs::Admin;
use super::calls::{Call, json, text};
use super::problem::{Problem, excerpt};
use super::work::{Answer, work};
use super::{body, once, parameters};
use lapidary_catalogue::api::RecipeStats;
use lapidary_catalogue::{Editor, Terms};
use lapidary_common::error::ErrorCode;
use lapidary_operations::status::ShowRecipe;
use lapidary_operations::{Operation as _, filled};

/// A lexicon takes its length and the places of its lines.
const SIZE: usize = 2;
/// The largest lexicon in bytes: with it, the first line of an export is not too long.
const MOST: usize = 32 << 20;
const EXAMPLE: &str = "lapidary-lexicon 1\ndocuments 3\nwords 7\nstem none\nstop 5b24f2e4be9a40bb\nmin_len 3\nbox\t2\t3\ntreasure\t2\t3\n";

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct RecipeQuery {
    /// The recipe's name. If it has a lexicon, leave out `@` and the lexicon's name
    #[param(example = "tf-idf", min_length = 1, max_length = 255)]
    recipe: String,
}

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Post, "/v1/recipes", Admin, add)
            .named("add_recipe", "Add a recipe: a built-in one, one with a secret, or a signature")
            .about(
                "Books added from now on get gems of it; a job of the kind `reindex` gives them to the others, and makes it \
                 the default. `hardened-compact@secret` and other hardened recipes so called have the catalogue's secret, which is \
                 drawn if it has none, `hardened-compact@new-secret` a new one. The body is the lexicon of a signature that weighs words, or empty.",
            )
            .query::<RecipeQuery>()
            .takes([text("text/plain").example(EXAMPLE)])
            .answers(200, "It was there before", [json::<RecipeStats>()])
            .answers(201, "It was added", [json::<RecipeStats>()])
            .once(),
        Call::new(Get, "/v1/lexicons/{lexicon}", Admin, lexicon)
            .named("lexicon", "Show a lexicon of a recipe, as `lapidary lexicon count` wrote it")
            .answers(200, "The lexicon", [text("text/plain")]),
    ]
}

async fn add(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let RecipeQuery { recipe: name } = parameters::query(request.query_string(), "recipe")?;
    let named = once::of(&request)?;
    let mut sent = body::body_of(body::PLAIN, &request, payload, &state, MOST).await?;
    work(&state, move |catalogue| {
        sent.room.grow(SIZE.saturating_mul(sent.bytes.len()))?;
        let lexicon = lexicon_of(&sent.bytes)?;
        let Some(named) = named else {
            return added(catalogue, &name, lexicon.as_ref());
        };
        let once = named
            .with(&sent.bytes, None)
            .begin(catalogue, catalogue.actor())?;
        let terms = Arc::new(Terms::default().once(once));
        let editor = catalogue.clone().on(Arc::clone(&terms));
        terms.keep_during(|| added(&editor, &name, lexicon.as_ref()))
    })
    .await
}

/// The lexicon that was sent, if one was.
fn lexicon_of(sent: &[u8]) -> Result<Option<Arc<Lexicon>>, Problem> {
    if sent.is_empty() {
        return Ok(None);
    }
    let written =
        std::str::from_utf8(sent).map_err(|_| bad_recipe("the lexicon is not UTF-8".to_owned()))?;
    let lexicon = written
        .parse::<Lexicon>()
        .map_err(|error| bad_recipe(error.to_string()))?;
    Ok(Some(Arc::new(lexicon)))
}

fn added(
    editor: &Editor<'_>,
    name: &str,
    lexicon: Option<&Arc<Lexicon>>,
) -> Result<Answer, Problem> {
    let (recipe, is_new) = editor.recipes().add_named(name, lexicon)?;
    let mut known = editor.recipes().list()?.into_iter();
    let added = known.find(|known| known.recipe == *recipe.name());
    let added = added
        .ok_or_else(|| Problem::new(ErrorCode::BadRecipe, "the recipe was dropped meanwhile"))?;
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let place = filled(ShowRecipe::ENDPOINT.path, &[added.recipe.as_str()]);
    Ok(Answer::json(status, &added)?.at(place))
}

fn bad_recipe(why: String) -> Problem {
    Problem::new(ErrorCode::BadRecipe, why)
}

async fn lexicon(name: Path<String>, state: Data<ServerState>) -> Result<HttpResponse, Problem> {
    let name = name.into_inner();
    work(&state, move |catalogue| {
        Ok(Answer::text(
            catalogue
                .recipes()
                .lexicon(&name)
                .ok_or_else(|| {
                    let detail = format!(
                        "no recipe of this catalogue has a lexicon '{}'",
                        excerpt(&name)
                    );
                    Problem::new(ErrorCode::NoSuchLexicon, detail)
                })?
                .written()
                .to_owned(),
        ))
    })
    .await
}
