//! What is unhealthy about the catalogue and the server.

use actix_web::HttpResponse;
use actix_web::web::Data;
use jiff::Timestamp;
use utoipa::openapi::path::HttpMethod::Get;

use super::State;
use super::access::Needs::Admin;
use super::calls::{Call, json};
use super::problem::Problem;
use super::work::{Answer, work};
use lapidary_catalogue::SOON;
use lapidary_catalogue::api::Concern::ExpiringCertificate;
use lapidary_catalogue::api::{Finding, Findings};

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/doctor", Admin, doctor)
            .named("doctor", "Show what is unhealthy, and what fixes it")
            .about("Takes no longer for a large catalogue than for a small one. In a `fix`, `TARGET` stands for `--server URL`.")
            .answers(200, "What is unhealthy; empty if nothing is", [json::<Findings>()]),
    ]
}

async fn doctor(state: Data<State>) -> Result<HttpResponse, Problem> {
    let min_free = state.min_free;
    let certificate = state
        .tls
        .as_ref()
        .and_then(|tls| of_certificate(tls.until(), Timestamp::now()));
    work(&state, move |catalogue| {
        let mut findings = catalogue.diagnose(min_free)?;
        findings.extend(certificate);
        Answer::ok(&Findings { findings })
    })
    .await
}

fn of_certificate(until: Timestamp, now: Timestamp) -> Option<Finding> {
    let verb = if until <= now { "expired" } else { "expires" };
    (until.duration_since(now) < SOON).then(|| {
        Finding::new(
            ExpiringCertificate,
            format!("the TLS certificate {verb} on {}", until.strftime("%Y-%m-%d")),
            "clients refuse a server whose certificate has expired",
            "renew the files of --certificate and --private-key; the server reads them again by itself",
        )
    })
}
