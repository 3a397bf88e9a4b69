//! Two texts side by side.

use actix_web::http::Method;
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use maud::{Markup, PreEscaped, html};

use super::failure::PageFailure;
use super::layout::{Here, HtmlPage, main_button, token_field};
use super::visitor::{ApiAnswer, ApiCall, Visitor};

const COMPARE: &str = "/console/compare";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route(
        "/compare",
        web::get().to(|visitor: Visitor| async move { show(&visitor, &html! {}) }),
    )
    .route("/compare", web::post().to(compare));
}

async fn compare(
    visitor: Visitor,
    request: HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, PageFailure> {
    let call = ApiCall::new(Method::POST, "/v1/compare").passing(&request, payload.into_inner());
    let ApiAnswer { body, .. } = visitor.perform(call.for_a_page()).await?;
    let compared = String::from_utf8_lossy(&body);
    let compared = html! {
        section id="result" { div class="report" { (PreEscaped(compared)) } }
    };
    Ok(show(&visitor, &compared))
}

/// The form, below what was compared.
fn show(visitor: &Visitor, compared: &Markup) -> HttpResponse {
    let language = visitor.language();
    let sides = [
        ("first", language.c_first_text()),
        ("second", language.c_second_text()),
    ];
    let body = html! {
        (compared)
        form method="post" enctype="multipart/form-data" action=(COMPARE) {
            (token_field(visitor))
            div class="two" {
                @for (id, name) in sides {
                    div class="card" {
                        h2 { label for=(id) { (name) } }
                        input type="file" id=(id) name="file";
                        label for={(id) "-text"} { (language.c_text()) }
                        textarea id={(id) "-text"} name="file" rows="4" {}
                    }
                }
            }
            (main_button(&language.c_compare_do()))
        }
    };
    HtmlPage::new(Here::Check, language.c_compare(), language.c_compare_lead())
        .with_report()
        .show(visitor, &body)
}
