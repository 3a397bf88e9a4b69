//! Checks: with JSON, with a text or a file, and with the form that existing clients post.

use std::mem;
use std::sync::Arc;

use actix_web::http::header::{Accept, Header as _};
use actix_web::web::{self, Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use jiff::Timestamp;
use lapidary_gems::{RecipeName, WrittenGem};
use serde::Deserialize;
use serde_json::json;
use utoipa::openapi::path::HttpMethod::Post;

use super::ServerState;
use super::access::Needs;
use super::body::{self, Raw, RequestBody};
use super::calls::{Call, TEXT, file, form, form_of_file, json, text};
use super::fetch;
use super::language;
use super::memory::Room;
use super::once;
use super::parameters;
use super::problem::{Problem, excerpt};
use super::report_page::{CheckStanding, ReportPage, ShownReport};
use super::turns::Lane;
use super::work::{Answer, work};
use lapidary_catalogue::api::{Check, CheckParameters, GemsForm, Report};
use lapidary_catalogue::{
    Case, CatalogueError, CheckOptions, Editor, MAX_GEMS, Query, Recipes, Terms, TextGems, parse,
};
use lapidary_checking::Policy;
use lapidary_common::description::Description;
use lapidary_common::error::ErrorCode;
use lapidary_extract::{Heading, Whole};
use lapidary_language::Language;
use lapidary_store::Rights;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Post, "/v1/checks", Needs::Check, check)
            .named("check", "Check a text, a file or gems")
            .about(
                "With a JSON body, all fields are in the body, and query parameters are refused. With `Accept: \
                 text/html`, the report is a page suitable for filing; it shows passages of books next to those of the \
                 text if their texts are kept and the key may read them. `Accept-Language` (`en` or `ru`) selects \
                 the language of the page, and of the `note` in JSON. If the report was filed, `Content-Location` names \
                 its entry.",
            )
            .query::<CheckParameters>()
            .takes([
                json::<Check>().example(json!({ "text": TEXT })),
                text("text/plain").example(TEXT),
                file(),
                form_of_file(),
            ])
            .answers(200, "The report", [json::<Report>(), text("text/html")])
            .header("Content-Location", "The entry of the report, if it was filed; the same for a repeated request")
            .once(),
        Call::new(Post, "/copyright_check_by_gems/", Needs::CheckUnlessOpen, check_by_gems)
            .named("check_by_gems", "Check gems posted as a form by existing clients")
            .about(
                "The server setting `client-recipe` determines the recipe of the gems. The default is `released`, \
                 which the published client computes, if every book has gems of that recipe, and `documented` \
                 otherwise.",
            )
            .takes([form::<GemsForm>().example(json!({ "gems": "2054203394,772109542,3170125001" }))])
            .answers(200, "The report", [json::<Report>()]),
    ]
}

async fn check(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let parameters = request.query_string().to_owned();
    let named = once::of(&request)?;
    let body = body::json_or_raw(&request, payload, &state).await?;
    let fetched = fetch::named(&body, &request, &state).await?;
    let language = language::preferred(&request);
    let page = wants_page(&request).then(|| ReportPage::of(&request, language));
    if page.as_ref().is_some_and(ReportPage::compares) {
        // It reads kept texts.
        body::is_small_work_of(Lane::Heavy);
    }
    work(&state, move |catalogue| {
        let named = named.map(|named| named.with(body.bytes(), body.file_name()));
        let asked = match fetched {
            Some((check, file)) => asked_of_file(check, file, &parameters)?,
            None => asked(body, &parameters).inspect_err(|problem| {
                note_failure(catalogue, &parameters, problem);
            })?,
        };
        // Nothing else is created.
        let Some(named) = named.filter(|_| asked.options.record.is_some()) else {
            return reported(catalogue, asked, language, page.as_ref());
        };
        let once = named.begin(catalogue, catalogue.actor())?;
        let terms = Arc::new(Terms::default().once(once));
        let editor = catalogue.clone().on(Arc::clone(&terms));
        terms.keep_during(|| reported(&editor, asked, language, page.as_ref()))
    })
    .await
}

/// The batch and the file that a check names.
#[derive(Deserialize)]
struct FileOfBatch {
    batch: String,
    name: String,
}

/// Notes in the batch of a file why it cannot be read. The answer says so anyway.
fn note_failure(catalogue: &Editor<'_>, parameters: &str, problem: &Problem) {
    let Ok(of) = web::Query::<FileOfBatch>::from_query(parameters) else {
        return;
    };
    let FileOfBatch { batch, name } = of.into_inner();
    let noted = catalogue
        .batches()
        .note_failure(&batch, &name, &problem.details());
    if let Err(error) = noted {
        tracing::warn!("the batch {batch} does not say why a file was not checked: {error}");
    }
}

/// Checks what was asked, and answers with the report.
fn reported(
    editor: &Editor<'_>,
    mut asked: CheckRequest,
    language: Language,
    page: Option<&ReportPage>,
) -> Result<Answer, Problem> {
    let report = report(editor, &mut asked, language)?;
    let filed = report.filed.clone();
    let answer = match page {
        Some(page) => Answer::page(asked.rendered(page, editor, report)?),
        None => Answer::ok(&report)?,
    };
    Ok(answer.filed(filed).in_language(language))
}

/// The report of what was asked.
fn report(
    editor: &Editor<'_>,
    asked: &mut CheckRequest,
    language: Language,
) -> Result<Report, Problem> {
    asked.options = editor.asking(mem::take(&mut asked.options))?;
    asked.options.language = language;
    if let Some(text) = asked.query.as_text() {
        asked.room.grow_to_check(text, editor)?;
    }
    let CheckRequest {
        query,
        headings,
        options,
        ..
    } = &*asked;
    // What the check needed is free again when its text is filed.
    Ok(editor.decisions().check(query, headings, options)?)
}

/// Checks a file, and files the report under this name.
pub(super) fn file_report(editor: &Editor<'_>, file: Raw, name: String) -> Result<Report, Problem> {
    let check = Check {
        record: true,
        name: Some(name),
        ..Check::default()
    };
    report(
        editor,
        &mut asked_of_file(check, file, "")?,
        Language::default(),
    )
}

/// Existing clients do not know the rights `forbidden`; the strictest that they know is `protected`.
fn as_known_to_existing_clients(mut report: Report) -> Report {
    let books = report.matches.iter_mut().map(|found| &mut found.book);
    let of_books = books.flat_map(|book| {
        [
            Some(&mut book.rights),
            book.validity
                .as_mut()
                .map(|validity| &mut validity.otherwise),
        ]
        .into_iter()
        .flatten()
    });
    for rights in of_books.chain([&mut report.verdict]) {
        *rights = (*rights).max(Rights::Protected);
    }
    report
}

/// Whether the client prefers an HTML page to JSON.
pub(super) fn wants_page(request: &HttpRequest) -> bool {
    let ranked = Accept::parse(request)
        .map(|accept| accept.ranked())
        .unwrap_or_default();
    ranked
        .iter()
        .find(|mime| ["text/html", "application/json", "*/*"].contains(&mime.essence_str()))
        .is_some_and(|mime| mime.essence_str() == "text/html")
}

async fn check_by_gems(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let sent = body::body_of(body::URL_ENCODED, &request, payload, &state, body::FORM).await?;
    let language = language::preferred(&request);
    work(&state, move |catalogue| {
        let query = Query::Gems(listed(&sent.bytes)?.into());
        let recipes = catalogue
            .recipes()
            .client_recipe()
            .map_or(Recipes::Usual, |recipe| Recipes::Named(vec![recipe]));
        let options = catalogue.asking(CheckOptions {
            recipes,
            language,
            ..CheckOptions::default()
        })?;
        let report = as_known_to_existing_clients(catalogue.checks().report(&query, &options)?);
        Ok(Answer::ok(&report)?.in_language(language))
    })
    .await
}

/// What a request asks to check.
struct CheckRequest {
    name: Option<String>,
    query: Query,
    /// The headings of the text.
    headings: Vec<Heading>,
    options: CheckOptions,
    /// The memory reserved for it.
    room: Room,
}

impl CheckRequest {
    /// Its report as a page. That of a repeated request says when it was made, of which texts.
    fn rendered(
        self,
        page: &ReportPage,
        editor: &Editor<'_>,
        report: Report,
    ) -> Result<String, Problem> {
        let mut room = self.room;
        let text = self.query.as_text();
        let of_case = self.options.record.and_then(|case| case.name);
        let entry = match &report.filed {
            Some(id) => Some(editor.decisions().get(id, None)?),
            None => None,
        };
        let at = entry
            .as_ref()
            .map_or_else(Timestamp::now, |entry| entry.created_at);
        let state = entry.as_ref().and_then(|entry| entry.state);
        let filed = entry.and_then(|entry| entry.filed);
        let shown = ShownReport {
            name: self.name.or(of_case),
            bytes: text.map(|text| text.len() as u64),
            text,
            headings: &self.headings,
            books: filed.as_ref().map(|filed| filed.book_digests.as_slice()),
            at,
            standing: state.map(|state| CheckStanding {
                state,
                decision: None,
                later: None,
            }),
            is_of_sender: true,
        };
        page.render(editor, report, shown, &mut room)
    }
}

fn asked(body: RequestBody, parameters: &str) -> Result<CheckRequest, Problem> {
    match body {
        RequestBody::Json(sent) => {
            parameters::none(parameters)?;
            let (asked, room) = sent.json::<Check>()?;
            refuse_mark(&asked)?;
            let (query, options) = question(asked)?;
            Ok(CheckRequest {
                name: None,
                query,
                headings: Vec::new(),
                options,
                room,
            })
        }
        RequestBody::Raw(raw) => {
            let (options, clean) = options_in(parameters)?;
            let name = raw.name().map(ToOwned::to_owned);
            let mut options = options;
            if let Some(case) = &mut options.record {
                case.name = case.name.take().or_else(|| name.clone());
            }
            let (
                Whole {
                    text,
                    headings,
                    hidden,
                },
                room,
            ) = raw.text()?;
            options.hidden = hidden;
            Ok(CheckRequest {
                name,
                query: Query::Text { text, clean },
                headings,
                options,
                room,
            })
        }
    }
}

/// What a check asks of a file that was fetched for it.
fn asked_of_file(check: Check, file: Raw, parameters: &str) -> Result<CheckRequest, Problem> {
    parameters::none(parameters)?;
    refuse_mark(&check)?;
    let name = check.name.clone();
    let (whole, room) = file.text()?;
    let text = Some(whole.text);
    let (query, options) = question(Check { text, ..check })?;
    Ok(CheckRequest {
        name,
        query,
        headings: whole.headings,
        options: CheckOptions {
            hidden: whole.hidden,
            ..options
        },
        room,
    })
}

fn refuse_mark(check: &Check) -> Result<(), Problem> {
    match check.mark {
        Some(_) => refuse("'ref' is only for lines of /v1/checks:batch; leave it out"),
        None => Ok(()),
    }
}

/// The options in a query string, and whether to clean the text.
pub(super) fn options_in(parameters: &str) -> Result<(CheckOptions, Option<bool>), Problem> {
    let known = "recipe, recipes, library, limit (a number), detail (true or false), day (such as 2026-01-31), \
                 allow_incomplete (true or false), policy (an object), clean (true or false), language, record (true or false), name, \
                 case and batch";
    let parameters: CheckParameters = parameters::query(parameters, known)?;
    let clean = parameters.clean;
    Ok((check_options(parameters)?, clean))
}

/// Converts a request into a query and its options.
pub(super) fn question(mut asked: Check) -> Result<(Query, CheckOptions), Problem> {
    if asked.url.is_some() {
        return refuse("'url' works only with /v1/checks, in a body of at most 16 KiB");
    }
    let language = asked.language.take();
    let hidden = std::mem::take(&mut asked.hidden);
    let Check {
        gems,
        indexed,
        text,
        clean,
        recipe,
        recipes,
        library,
        limit,
        detail,
        day,
        allow_incomplete,
        policy,
        ..
    } = asked;
    let (record, name, case, batch) = (Some(asked.record), asked.name, asked.case, asked.batch);
    let query = match (gems, text) {
        (Some(_), None) if clean.is_some() => {
            return refuse("'clean' applies only to a text; leave it out with gems");
        }
        (Some(_), None) if language.is_some() => {
            return refuse("'language' is that of a text; leave it out with gems");
        }
        (Some(_), None) if !hidden.is_empty() => {
            return refuse("'hidden' was left out of a text; leave it out with gems");
        }
        (Some(gems), None) => Query::Gems(TextGems { gems, indexed }),
        (None, Some(_)) if indexed.is_some() => {
            return refuse("'indexed' applies only to gems; leave it out with a text");
        }
        (None, Some(text)) => Query::Text { text, clean },
        _ => {
            return refuse("give exactly one of 'gems' and 'text', or a 'url'");
        }
    };
    let options = CheckParameters {
        recipe,
        library,
        limit,
        detail,
        day,
        allow_incomplete,
        language,
        record,
        name,
        case,
        batch,
        ..CheckParameters::default()
    };
    let mut options = CheckOptions {
        hidden: hidden.into(),
        policy,
        ..check_options(options)?
    };
    if let Some(recipes) = recipes {
        options.recipes = named(&options.recipes, &recipes)?;
    }
    Ok((query, options))
}

fn check_options(asked: CheckParameters) -> Result<CheckOptions, Problem> {
    let usual = CheckOptions::default();
    let recipe: Option<RecipeName> = asked.recipe.map(TryInto::try_into).transpose()?;
    let recipe = recipe.map_or(Recipes::Usual, |recipe| Recipes::Named(vec![recipe]));
    let recipes = match asked.recipes {
        Some(recipes) => named(&recipe, &recipes.split(',').collect::<Vec<_>>())?,
        None => recipe,
    };
    Ok(CheckOptions {
        recipes,
        library: asked.library.map(TryInto::try_into).transpose()?,
        by: usual.by,
        exactly: usual.exactly,
        own: usual.own,
        limit: parameters::limit(asked.limit.unwrap_or(usual.limit), 0)?,
        detail: asked.detail.unwrap_or(usual.detail),
        day: asked.day,
        allow_incomplete: asked.allow_incomplete.unwrap_or(usual.allow_incomplete),
        policy: asked.policy.as_deref().map(policy).transpose()?,
        record: record(asked.record, asked.name, asked.case, asked.batch)?,
        text_language: asked.language.map(bounded_language).transpose()?,
        hidden: usual.hidden,
        language: usual.language,
    })
}

fn policy(json: &str) -> Result<Policy, Problem> {
    parse::json(json.as_bytes())
        .map_err(|why| Problem::new(ErrorCode::BadQuery, format!("'policy': {why}")))
}

fn bounded_language(language: String) -> Result<String, Problem> {
    let described = Description {
        language: Some(language),
        ..Description::default()
    };
    described.within_bounds().map_err(CatalogueError::from)?;
    Ok(described.language.unwrap_or_default())
}

/// What to file a check under.
fn record(
    record: Option<bool>,
    name: Option<String>,
    reference: Option<String>,
    batch: Option<String>,
) -> Result<Option<Case>, Problem> {
    if record == Some(true) {
        return Ok(Some(Case {
            name,
            reference,
            batch,
        }));
    }
    if name.is_some() || reference.is_some() || batch.is_some() {
        return Err(Problem::new(
            ErrorCode::BadQuery,
            "'name', 'case' and 'batch' work only with 'record': true",
        ));
    }
    Ok(None)
}

/// Refuses to file checks of which a request has many.
pub(super) fn unfiled(options: CheckOptions) -> Result<CheckOptions, Problem> {
    match options.record {
        Some(_) => Err(Problem::new(
            ErrorCode::BadQuery,
            "'record' works only with /v1/checks, one text at a time",
        )),
        None => Ok(options),
    }
}

/// The recipes of `recipes`, unless `recipe` has named one.
fn named(recipe: &Recipes, recipes: &[impl AsRef<str>]) -> Result<Recipes, Problem> {
    if *recipe != Recipes::Usual {
        return Err(Problem::new(
            ErrorCode::BadQuery,
            "give one of 'recipe' and 'recipes'",
        ));
    }
    match recipes {
        [] => Err(Problem::new(
            ErrorCode::BadQuery,
            "'recipes' is empty; name a recipe, or leave it out",
        )),
        recipes => Ok(Recipes::read(recipes.iter().map(AsRef::as_ref))?),
    }
}

/// The comma-separated gems of a form.
fn listed(form: &[u8]) -> Result<Vec<WrittenGem>, Problem> {
    let form = str::from_utf8(form)
        .map_err(|_| Problem::new(ErrorCode::BadQuery, "the form is not UTF-8"))?;
    let GemsForm { gems } = parameters::query(form, "gems, numbers separated by commas")?;
    if gems.trim().is_empty() {
        return Ok(Vec::new());
    }
    let found = gems.split(',').count();
    if found > MAX_GEMS {
        return Err(CatalogueError::TooManyGems {
            found,
            limit: MAX_GEMS,
        }
        .into());
    }
    gems.split(',')
        .map(|gem| {
            gem.trim().parse().map_err(|error| {
                Problem::new(
                    ErrorCode::BadGems,
                    format!(
                        "'{}' is not a gem: {error}; separate gems with commas",
                        excerpt(gem.trim())
                    ),
                )
            })
        })
        .collect()
}

fn refuse<T>(why: &str) -> Result<T, Problem> {
    Err(Problem::new(ErrorCode::BadJson, why))
}

#[cfg(test)]
mod tests {
    use super::WrittenGem::{Digits, Number};
    use super::listed;

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
            ("gems=00000000000000ff", Some(&[0xff])),
            ("gems=00000000000000fg", None),
            ("gems=00000000000000000ff", None),
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
            let wide = form.contains("ff");
            let written = |&gem: &u64| if wide { Digits(gem) } else { Number(gem) };
            assert_eq!(
                found,
                gems.map(|gems| gems.iter().map(written).collect()),
                "{form}"
            );
        }
    }
}
