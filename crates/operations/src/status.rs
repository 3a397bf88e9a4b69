//! How the catalogue is: its figures, its recipes, and what is unhealthy about it and the server.

use std::cmp::Ordering;

use jiff::Timestamp;
use jiff::civil::Date;
use lapidary_catalogue::api::FindingCode::ExpiringCertificate;
use lapidary_catalogue::api::{
    CheckStatistics, Finding, Findings, History, Period, RecipeList, RecipeStats, Stats,
};
use lapidary_catalogue::{SOON, diagnose};
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::{
    Endpoint, Input, Needs, Operation, OperationError, PageQuery, SentAs, Session, excerpt,
};

/// Shows statistics of the catalogue.
pub struct ShowStats;

impl Operation for ShowStats {
    type Path = ();
    type Input = ();
    type Answer = Stats;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/stats", Needs::Admin)
        .named("stats", "Show catalogue statistics")
        .answers(&[(200, "The statistics")]);

    fn run(session: &Session<'_>, (): (), (): ()) -> Result<Stats, OperationError> {
        Ok(session.stats()?)
    }
}

/// Lists the recipes of the catalogue.
pub struct ListRecipes;

impl Operation for ListRecipes {
    type Path = ();
    type Input = PageQuery;
    type Answer = RecipeList;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/recipes", Needs::Admin)
        .named("recipes", "List all recipes of the catalogue")
        .answers(&[(200, "A page of recipes, by name")]);

    fn run(session: &Session<'_>, (): (), query: PageQuery) -> Result<RecipeList, OperationError> {
        let mut recipes = session.recipes().list()?;
        recipes.sort_by(|a, b| a.recipe.cmp(&b.recipe));
        let page = query.of(recipes, |one| one.recipe.clone(), Ordering::Greater)?;
        Ok(page.into())
    }
}

/// Shows a recipe of the catalogue.
pub struct ShowRecipe;

impl Operation for ShowRecipe {
    type Path = String;
    type Input = ();
    type Answer = RecipeStats;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/recipes/{recipe}", Needs::Admin)
        .named("recipe", "Show a recipe of the catalogue")
        .answers(&[(200, "The recipe")]);

    fn run(session: &Session<'_>, name: String, (): ()) -> Result<RecipeStats, OperationError> {
        let mut recipes = session.recipes().list()?.into_iter();
        let recipe = recipes.find(|one| one.recipe.as_str() == name);
        recipe.ok_or_else(|| {
            let detail = format!("the catalogue has no recipe '{}'", excerpt(&name));
            OperationError::refused(ErrorCode::NoSuchRecipe, detail)
        })
    }
}

/// Shows figures over time.
pub struct ShowHistory;

/// Which figures over time.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct HistoryQuery {
    /// The last hour, or the last week
    #[param(inline)]
    pub period: Option<Period>,
}

impl Input for HistoryQuery {
    fn sent_as() -> SentAs {
        SentAs::query::<Self>("period (hour or week)")
    }
}

impl Operation for ShowHistory {
    type Path = ();
    type Input = HistoryQuery;
    type Answer = History;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/history", Needs::Admin)
        .named(
            "history",
            "Show figures over time: checks, latencies, sizes",
        )
        .about(
            "Those of the last hour are of this server, and begin with its start. Those of the last week are of all servers that \
             share the catalogue: all checks, the slowest latencies, the largest sizes. A crash forgets up to ten minutes.",
        )
        .answers(&[(200, "The figures at regular intervals")]);

    fn run(session: &Session<'_>, (): (), query: HistoryQuery) -> Result<History, OperationError> {
        Ok(match query.period.unwrap_or(Period::Hour) {
            Period::Hour => session.host.last_hour(),
            Period::Week => session.figures().last_week()?,
        })
    }
}

/// Shows how many checks there were.
pub struct ShowCheckStatistics;

/// Of which days.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct DaysQuery {
    /// The first day, in UTC (default: the last 30 days)
    #[param(value_type = Option<String>, format = Date)]
    pub since: Option<Date>,
    /// The last day (default: today)
    #[param(value_type = Option<String>, format = Date)]
    pub until: Option<Date>,
}

impl Input for DaysQuery {
    fn sent_as() -> SentAs {
        SentAs::query::<Self>("since, until")
    }
}

impl Operation for ShowCheckStatistics {
    type Path = ();
    type Input = DaysQuery;
    type Answer = CheckStatistics;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/history/checks", Needs::Admin)
        .named("check_statistics", "Show how many checks had which verdict, by day, key and library")
        .about(
            "Of all servers that share the catalogue, for 400 days. A crash forgets the last seconds.",
        )
        .answers(&[(200, "The numbers of checks, and of books that the gate refused")]);

    fn run(
        session: &Session<'_>,
        (): (),
        query: DaysQuery,
    ) -> Result<CheckStatistics, OperationError> {
        Ok(session.check_history().between(query.since, query.until)?)
    }
}

/// Shows what is unhealthy.
pub struct Diagnose;

impl Operation for Diagnose {
    type Path = ();
    type Input = ();
    type Answer = Findings;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/doctor", Needs::Admin)
        .named("doctor", "Show what is unhealthy, and what fixes it")
        .about(
            "Takes no longer for a large catalogue than for a small one. In a `fix`, `TARGET` stands for `--server URL`. \
             `Accept-Language` (`en` or `ru`) selects the language of `detail`, `reason` and `fix`.",
        )
        .answers(&[(200, "What is unhealthy; empty if nothing is")]);
    const HAS_SENTENCES: bool = true;

    fn run(session: &Session<'_>, (): (), (): ()) -> Result<Findings, OperationError> {
        let (host, language) = (session.host, session.language);
        let mut findings = diagnose(language, session, host.min_free())?;
        let until = host.certificate_until();
        findings.extend(until.and_then(|until| of_certificate(language, until, Timestamp::now())));
        findings.extend(host.sign_in_fault(language));
        Ok(Findings { findings })
    }
}

fn of_certificate(language: Language, until: Timestamp, now: Timestamp) -> Option<Finding> {
    let day = until.strftime("%Y-%m-%d").to_string();
    (until.duration_since(now) < SOON).then(|| {
        let what = if until <= now {
            language.d_expired_certificate(&day)
        } else {
            language.d_expiring_certificate(&day)
        };
        Finding::new(
            ExpiringCertificate,
            what,
            language.d_expiring_certificate_why(),
            language.d_expiring_certificate_fix(),
        )
    })
}
