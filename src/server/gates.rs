//! The gate that a request asks for: `unless=protected`, and `except` for books that do not count.

use std::collections::BTreeSet;

use actix_web::HttpRequest;

use super::access::Visible;
use super::problem::{Problem, excerpt};
use super::{language, parameters};
use crate::api::Unless;
use crate::catalogue::Gate;
use crate::error::ErrorCode;
use crate::index::Library;
use crate::language::Language;

/// The maximum number of matches in the report of a line that was refused.
const MATCHES_OF_A_LINE: usize = 10;

/// The parameters of a query that ask for a gate, and the others.
pub(super) struct Asked {
    pub(super) unless: Option<Unless>,
    pub(super) except: Vec<String>,
    /// The rest of the query.
    pub(super) others: String,
}

impl Asked {
    pub(super) fn in_query(query: &str) -> Result<Self, Problem> {
        let is_of_gate = |pair: &&str| pair.starts_with("unless=") || pair.starts_with("except=");
        let (of_gate, others): (Vec<&str>, Vec<&str>) = query.split('&').partition(is_of_gate);
        let (mut unless, mut except) = (None, Vec::new());
        let known = "unless (protected), and except (an id, or same-library)";
        for (name, value) in parameters::query::<Vec<(String, String)>>(&of_gate.join("&"), known)? {
            match name.as_str() {
                "except" => except.push(value),
                _ if value == "protected" && unless.is_none() => unless = Some(Unless::Protected),
                _ => {
                    let detail = format!("'unless' must be protected, once, not '{}'", excerpt(&value));
                    return Err(Problem::new(ErrorCode::BadQuery, detail));
                }
            }
        }
        Ok(Self { unless, except, others: others.join("&") })
    }
}

/// The gates that a request may ask for.
#[derive(Clone)]
pub(super) struct Gates {
    visible: Option<BTreeSet<Library>>,
    pub(super) language: Language,
}

impl Gates {
    pub(super) fn of(request: &HttpRequest) -> Self {
        Self { visible: Visible::to(request), language: language::preferred(request) }
    }

    /// The gate for a book, if one is asked for.
    pub(super) fn gate(&self, unless: Option<Unless>, except: Vec<String>) -> Result<Option<Gate>, Problem> {
        let gate = Gate::of(unless, except)?;
        Ok(gate.map(|gate| Gate { visible: self.visible.clone(), language: self.language, ..gate }))
    }

    /// The gate for a line of a stream, whose refusals are short.
    pub(super) fn of_line(&self, unless: Option<Unless>, except: Vec<String>) -> Result<Option<Gate>, Problem> {
        let gate = self.gate(unless, except)?;
        Ok(gate.map(|gate| Gate { limit: MATCHES_OF_A_LINE, detail: false, ..gate }))
    }
}
