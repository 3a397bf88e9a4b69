//! Two texts side by side: `POST /v1/compare`.

use actix_web::web::{Data, Payload};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse};
use jiff::Timestamp;
use lapidary_gems::Recipe;
use utoipa::openapi::path::HttpMethod::Post;

use super::ServerState;
use super::access::Needs;
use super::body::{self, Raw};
use super::calls::{Call, form_of_so_many, text};
use super::forms::FormPart;
use super::inside::AsPart;
use super::language;
use super::problem::Problem;
use super::work::{Answer, work};
use lapidary_catalogue::{Text, compare};
use lapidary_checking::memory_to_compare;
use lapidary_common::error::ErrorCode;
use lapidary_extract::Whole;
use lapidary_extract::position::Locator;
use lapidary_language::Language;
use lapidary_report::{Side, comparison_part, html_comparison};

/// The most memory that a page takes.
const PAGE: usize = 8 << 20;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Post, "/v1/compare", Needs::Check, compare_files)
            .named("compare", "Compare two texts")
            .about(
                "The form has two files. The first is compared with the second as a check would with `hardened`, without the secret of \
                 the catalogue, and word by word. Nothing is kept.",
            )
            .takes([form_of_so_many(2..=2)])
            .answers(200, "The comparison as a page", [text("text/html")]),
    ]
}

async fn compare_files(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let language = language::preferred(&request);
    let as_part = request.extensions().get::<AsPart>().is_some();
    let (files, room) = body::files(&request, payload, &state).await?;
    let files = two_of(files)?;
    let limits = state.limits;
    work(&state, move |catalogue| {
        let name = |file: &FormPart| file.name.clone().unwrap_or_else(|| language.name_text());
        let names = files.each_ref().map(name);
        let [a, b] = files.map(|file| Raw::of_form(file, room.another(), limits).text());
        let ((a, mut room), (b, _room_of_b)) = (a?, b?);
        for text in [&a.text, &b.text] {
            room.grow_to_check(text, catalogue)?;
        }
        room.grow(memory_to_compare(&a.text, &b.text) + PAGE)?;
        let names = names.each_ref().map(String::as_str);
        Ok(Answer::page(page(language, names, [&a, &b], as_part)).in_language(language))
    })
    .await
}

/// What two texts have in common, as a page or as a part of one.
fn page(language: Language, names: [&str; 2], texts: [&Whole; 2], as_part: bool) -> String {
    let recipe = Recipe::hardened();
    let [of_a, of_b] = texts.map(|whole| Text::new(&whole.text, None));
    let mut comparison = compare(&recipe, recipe.rule(), &of_a, &of_b);
    let [at_a, at_b] = texts.map(|whole| Locator::new(&whole.text, &whole.headings));
    comparison.locate(&at_a, &at_b);
    let sides = texts.map(|whole| Side {
        text: &whole.text,
        language: None,
    });
    let now = Timestamp::now();
    if as_part {
        comparison_part(language, names, sides, &comparison, now).into_string()
    } else {
        html_comparison(language, names, sides, &comparison, now)
    }
}

/// The two files of a form. A browser sends a field for a file in which none was chosen, too.
fn two_of(mut files: Vec<FormPart>) -> Result<[FormPart; 2], Problem> {
    files.retain(|file| file.name.is_some() || !file.bytes.is_empty());
    let number = files.len();
    <[FormPart; 2]>::try_from(files).map_err(|_| {
        let detail = format!("the form has {number} files, and this call takes two");
        Problem::new(ErrorCode::BadForm, detail)
    })
}
