//! Links that show a filed check to somebody without a key.

use std::cmp::Ordering;

use lapidary_catalogue::CatalogueError;
use lapidary_catalogue::api::{MadeReportLink, NewReportLink, ReportLink, ReportLinks};
use serde_json::json;

use crate::{
    Done, Endpoint, Input, Needs, Operation, OperationError, PageQuery, SentAs, Session, filled,
};

/// Lists the links to a filed check.
pub struct ListReportLinks;

impl Operation for ListReportLinks {
    type Path = String;
    type Input = PageQuery;
    type Answer = ReportLinks;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/decisions/{decision}/links", Needs::Decisions)
        .named(
            "report_links",
            "List the links to a filed check, without their secrets",
        )
        .about("A key that is no administrator's sees those that it made.")
        .answers(&[(200, "A page of links, by id")]);

    fn run(
        session: &Session<'_>,
        check: String,
        query: PageQuery,
    ) -> Result<ReportLinks, OperationError> {
        let links = session.report_links().list(&check, session.viewer())?;
        let page = query.of(links, |link| link.id.clone(), Ordering::Greater)?;
        Ok(page.into())
    }
}

/// Shows a link to a filed check.
pub struct ShowReportLink;

impl Operation for ShowReportLink {
    type Path = (String, String);
    type Input = ();
    type Answer = ReportLink;
    const ENDPOINT: Endpoint =
        Endpoint::get("/v1/decisions/{decision}/links/{link}", Needs::Decisions)
            .named(
                "report_link",
                "Show a link to a filed check, without its secret",
            )
            .answers(&[(200, "The link")]);

    fn run(
        session: &Session<'_>,
        (check, id): (String, String),
        (): (),
    ) -> Result<ReportLink, OperationError> {
        let links = session.report_links().list(&check, session.viewer())?;
        let found = links.into_iter().find(|link| link.id == id);
        Ok(found.ok_or(CatalogueError::NoSuchLink)?)
    }
}

/// Makes a link to a filed check.
pub struct MakeReportLink;

impl Input for NewReportLink {
    fn sent_as() -> SentAs {
        SentAs::json::<Self>(json!({ "book_texts": false }))
    }
}

impl Operation for MakeReportLink {
    type Path = String;
    type Input = NewReportLink;
    type Answer = MadeReportLink;
    const CREATES: bool = true;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/decisions/{decision}/links", Needs::Decisions)
        .named(
            "make_report_link",
            "Make a link that shows a filed check to somebody without a key",
        )
        .about(
            "The page shows what the maker of the link would see, so it ends with their key. The address is shown only once.",
        )
        .answers(&[(201, "The link and its address")]);

    fn place(made: &MadeReportLink) -> Option<String> {
        let MadeReportLink { link, .. } = made;
        Some(filled(
            ShowReportLink::ENDPOINT.path,
            &[&link.check, &link.id],
        ))
    }

    fn run(
        session: &Session<'_>,
        check: String,
        new: NewReportLink,
    ) -> Result<MadeReportLink, OperationError> {
        Ok(session
            .report_links()
            .make(&check, &new, session.viewer())?)
    }
}

/// Deletes a link to a filed check.
pub struct DeleteReportLink;

impl Operation for DeleteReportLink {
    type Path = (String, String);
    type Input = ();
    type Answer = Done;
    const ENDPOINT: Endpoint =
        Endpoint::delete("/v1/decisions/{decision}/links/{link}", Needs::Decisions)
            .named("delete_report_link", "Delete a link to a filed check")
            .about("It ends at once. A key that is no administrator's deletes links that it made.")
            .answers(&[(204, "It was deleted")]);

    fn run(
        session: &Session<'_>,
        (check, id): (String, String),
        (): (),
    ) -> Result<Done, OperationError> {
        session
            .report_links()
            .delete(&check, &id, session.viewer())?;
        Ok(Done)
    }
}
