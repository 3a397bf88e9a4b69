//! Human-readable check reports: on a terminal, or as an HTML page. Programs read the JSON of the
//! [`Report`](lapidary_catalogue::api::Report) instead.

mod comparison;
mod disguise;
mod duplicates;
mod history;
mod html;
mod index;
mod page;
mod passages;
mod terminal;
#[cfg(test)]
mod tests;
mod words;

pub use self::comparison::{html_comparison, print_comparison};
pub use self::disguise::hidden_words;
pub use self::duplicates::{
    Copies, DuplicatesReport, Overlaps, duplicates_left_out, group_picture, html_duplicates,
    overlap, print_duplicates,
};
pub use self::history::{Descendant, Lineage, html_history};
pub use self::html::{Texts, html_report, report_part, stylesheet};
pub use self::index::{Checked, Summary, html_index, rights_word, summary};
pub use self::page::{Page, clean, harmless, wrap};
pub use self::passages::Side;
pub use self::terminal::print_report;
pub use self::terminal::style;
pub use self::words::not_checked;
