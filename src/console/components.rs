//! The components of the console, as a page of the documentation.

use lapidary_language::Language;
use lapidary_report::{Outcome, TOKENS};
use lapidary_store::Rights;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::assets::CONSOLE;
use super::layout::{
    choice_of_rights, main_button, more, optional_field, outcome, required_field, rights, table,
    terms,
};
use crate::generated::assert_is_up_to_date;

const ENGLISH: Language = Language::English;

#[test]
fn the_page_of_components_is_up_to_date() {
    assert_is_up_to_date("docs/components.html", &page().into_string());
}

fn page() -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Components of the console" }
                style { (PreEscaped([TOKENS, CONSOLE, "#told { position: static !important }"].concat())) }
            }
            body {
                main id="main" {
                    h1 { "Components of the console" }
                    p class="lead" {
                        "All pages are made of these, by functions of src/console/layout.rs. Colours and sizes are in "
                        "crates/report/src/tokens.css."
                    }
                    @for (name, part) in components() { h2 { (name) } (part) }
                }
            }
        }
    }
}

fn components() -> [(&'static str, Markup); 8] {
    [
        ("Button", buttons()),
        ("Field", fields()),
        ("Table", a_table()),
        ("Chip", chips()),
        (
            "Drawer",
            terms(ENGLISH, [("Term".to_owned(), "What it means".to_owned())]),
        ),
        (
            "Empty state",
            html! { p class="notice" { "There are no books yet." } },
        ),
        (
            "Toast, notice and problem",
            html! {
                div id="told" role="alert" { "The server does not answer." }
                p class="good" { "Saved." }
                div class="problem" { "The text is too large." }
            },
        ),
        (
            "Progress",
            html! { progress max="3" value="1" aria-label="Progress" {} },
        ),
    ]
}

fn buttons() -> Markup {
    html! {
        (main_button("Check"))
        div class="buttons" {
            button { "Export" }
            button class="danger" { "Remove" }
            button class="plain" { "Undo" }
            button disabled { "Wait" }
        }
    }
}

fn fields() -> Markup {
    html! {
        div class="card narrow" {
            (required_field("title", "Title", 500))
            (optional_field("isbn", "ISBN", None, Some("978-…")))
            label for="rights" { "Rights" }
            (choice_of_rights(ENGLISH, Rights::Protected))
            label class="choice" { input type="checkbox" checked; "Keep the text" }
        }
    }
}

fn a_table() -> Markup {
    let heads = ["Title", "Rights"].map(ToOwned::to_owned);
    let row = html! { tr { td { "The Nose" } td { (rights(ENGLISH, Rights::PublicDomain)) } } };
    html! { (table("Books", &heads, &row)) (more(ENGLISH, "#main")) }
}

fn chips() -> Markup {
    html! { p { @for one in Outcome::ALL { (outcome(ENGLISH, one)) " " } } }
}
