//! Human-readable check reports: on a terminal, or as an HTML page. Programs read the JSON of the
//! [`Report`](lapidary_catalogue::api::Report) instead.
//!
//! It says what a report says and judges nothing. Whatever came from outside is cleaned or escaped.
//!
//! ```
//! use lapidary_language::Language;
//! use lapidary_report::{Checked, clean, summary};
//!
//! let rows = [Checked { name: "novel.txt".to_owned(), summary: Err("it is empty".to_owned()) }];
//! assert_eq!(summary(Language::English, &rows), "1 file: 1 could not be read");
//! assert_eq!(clean("txt\u{202e}cod.exe"), "txtcod.exe");
//! ```

mod comparison;
mod disguise;
mod duplicates;
mod history;
mod html;
mod index;
mod map;
mod outcome;
mod page;
mod passages;
mod table;
mod terminal;
#[cfg(test)]
mod tests;
mod words;
mod works;

pub use self::comparison::{comparison_part, html_comparison, print_comparison};
pub use self::disguise::hidden_words;
pub use self::duplicates::{
    Copies, DuplicatesReport, Overlaps, duplicates_left_out, group_picture, html_duplicates,
    overlap, print_duplicates,
};
pub use self::history::{Descendant, Lineage, html_history};
pub use self::html::{
    CheckedReport, PageTexts, Standing, TOKENS, html_report, notice_page, report_part, standing_of,
    stylesheet,
};
pub use self::index::{Checked, Summary, html_index, rights_word, summary};
pub use self::outcome::Outcome;
pub use self::page::{TerminalPage, clean, harmless, wrap};
pub use self::passages::Side;
pub use self::table::{checks_csv, checks_xlsx, passages_csv};
pub use self::terminal::print_report;
pub use self::terminal::style;
pub use self::words::{check_state, later_match, ruling, why_not_checked};
