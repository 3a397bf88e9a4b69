//! Checks of 200 gems and of texts, in process and over HTTP.

use std::net::SocketAddr;
use std::time::Instant;

use lapidary_catalogue::{Catalogue, CheckOptions, Query as Asked, Text};
use lapidary_checking::RuleChanges;
use lapidary_gems::{Recipe, Rule};
use lapidary_store::{Limits, RocksStore, Store as _};

use crate::arguments::Arguments;
use crate::latency::Latencies;
use crate::query::{Query, Right};
use crate::table::Table;
use crate::text::{BYTES, SCRIPTS};
use crate::traffic::{Pace, Traffic};
use crate::{Index, Outcome, tell};

/// The number of texts per script, which are checked in turn.
const TEXTS: u64 = 8;

/// Time spent in the store alone, without records, scores and HTTP.
pub fn tally(index: &Index<'_>, table: &mut Table) -> Outcome<()> {
    let Index {
        arguments,
        folder,
        recipe,
        queries,
    } = *index;
    tell("tallies in process");
    let store = RocksStore::open(folder)?;
    let cap = arguments.common_cap;
    let tally = |query: &Query| {
        let snapshot = store.snapshot();
        let begun = Instant::now();
        let tally = snapshot.tally(
            recipe.name(),
            &query.gems,
            Limits {
                cap,
                fewest: 1,
                ..Limits::NONE
            },
        )?;
        let took = begun.elapsed();
        let most = tally
            .libraries
            .iter()
            .flat_map(|of| &of.books)
            .map(|(_, count)| *count)
            .max()
            .unwrap_or_default();
        let commons: usize = tally.libraries.iter().map(|of| of.common.len()).sum();
        let right = match query.right {
            Right::Book { common, .. } if recipe.posts_all() => most == common,
            Right::Book { common, .. } => (Rule::default().min_common..=common).contains(&most),
            Right::Nothing { common, .. } => {
                most < Rule::default().min_common && commons == common as usize
            }
            Right::Common(common) => commons == common as usize,
            Right::Copy(_) => true,
        };
        if right {
            Ok(took)
        } else {
            Err(
                format!("a tally in process is wrong: at most {most} in common, {commons} common")
                    .into(),
            )
        }
    };
    queries
        .iter()
        .take(arguments.warm_up.0 as usize)
        .try_for_each(|query| tally(query).map(drop))?;
    table.set(
        "tally of 200 gems, in process: p50 / p99",
        Latencies::of(queries, arguments.duration(), tally)?,
    );
    Ok(())
}

/// The times of checks in process.
pub fn in_process(index: &Index<'_>) -> Outcome<Latencies> {
    let Index {
        arguments,
        folder,
        recipe,
        queries,
    } = *index;
    tell("checks in process");
    let rule = RuleChanges {
        common_cap: Some(arguments.common_cap),
        ..RuleChanges::default()
    };
    let catalogue = Catalogue::open(folder)?.with_rule(rule);
    let options = CheckOptions::default();
    let gems = |query: &Query| {
        query
            .gems
            .iter()
            .map(|gem| recipe.write(*gem))
            .collect::<Vec<_>>()
    };
    let asked: Vec<Asked> = queries
        .iter()
        .map(|query| Asked::Gems(gems(query).into()))
        .collect();
    let check = |asked: &Asked| {
        let begun = Instant::now();
        catalogue.checks().report(asked, &options)?;
        Ok(begun.elapsed())
    };
    Latencies::of(
        &asked[..asked.len().min(arguments.warm_up.0 as usize)],
        arguments.duration(),
        check,
    )?;
    Latencies::of(&asked, arguments.duration(), check)
}

/// The times of checks over HTTP from clients that each wait for the response before they send the next check.
pub fn over_http(
    arguments: &Arguments,
    address: SocketAddr,
    queries: &[Query],
    clients: u32,
) -> Outcome<Latencies> {
    tell(format_args!("checks over HTTP, clients: {clients}"));
    let traffic = Traffic::new(address, queries);
    traffic.warm_up(arguments.warm_up.0, arguments.duration())?;
    traffic.measure(clients, Pace::Closed, arguments.duration())
}

/// The times of checks of 1 MB texts.
pub fn texts(
    arguments: &Arguments,
    address: SocketAddr,
    recipe: &Recipe,
    table: &mut Table,
) -> Outcome<()> {
    for script in SCRIPTS {
        tell(format_args!("checks of texts, {}", script.name));
        let query = |number| {
            let text = script.text(arguments.seed, number);
            let gems = Text::new(&text, None).gems(recipe).len() as u32;
            Query::of_text(&text, Right::Nothing { gems, common: 0 })
        };
        let queries: Vec<Query> = (0..TEXTS).map(query).collect();
        let row = format!(
            "check of a text of {BYTES} bytes over HTTP, {}: p50 / p99",
            script.name
        );
        table.set(row, over_http(arguments, address, &queries, 1)?);
    }
    Ok(())
}
