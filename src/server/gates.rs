//! What all calls that add books take in the query: the gate that a request asks for (`unless=protected`, and `except` for
//! books that do not count), and whether texts are kept.

use std::collections::BTreeSet;

use actix_web::{HttpMessage, HttpRequest};

use super::access::{GateRequired, Visible};
use super::problem::{Problem, excerpt};
use super::{language, parameters};
use lapidary_catalogue::Gate;
use lapidary_catalogue::api::Unless;
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_store::Library;

/// The maximum number of matches in the report of a line that was refused.
const MATCHES_OF_A_LINE: usize = 10;

/// The parameters that all calls that add books take, and the others.
pub(super) struct GateRequest {
    pub(super) unless: Option<Unless>,
    pub(super) except: Vec<String>,
    pub(super) keep_text: bool,
    /// The rest of the query.
    pub(super) others: String,
}

impl GateRequest {
    pub(super) fn in_query(query: &str) -> Result<Self, Problem> {
        let (of_all, others): (Vec<&str>, Vec<&str>) = query.split('&').partition(|pair| {
            ["unless=", "except=", "keep_text="]
                .iter()
                .any(|name| pair.starts_with(name))
        });
        let (mut unless, mut except, mut keep_text) = (None, Vec::new(), None);
        let known =
            "unless (protected), except (an id, or same-library) and keep_text (true or false)";
        for (name, value) in parameters::query::<Vec<(String, String)>>(&of_all.join("&"), known)? {
            match name.as_str() {
                "except" => except.push(value),
                "keep_text" => match value.parse() {
                    Ok(keep) if keep_text.is_none() => keep_text = Some(keep),
                    _ => {
                        let detail = format!(
                            "'keep_text' must be true or false, once, not '{}'",
                            excerpt(&value)
                        );
                        return Err(Problem::new(ErrorCode::BadQuery, detail));
                    }
                },
                _ if value == "protected" && unless.is_none() => unless = Some(Unless::Protected),
                _ => {
                    let detail = format!(
                        "'unless' must be protected, once, not '{}'",
                        excerpt(&value)
                    );
                    return Err(Problem::new(ErrorCode::BadQuery, detail));
                }
            }
        }
        Ok(Self {
            unless,
            except,
            keep_text: keep_text.unwrap_or_default(),
            others: others.join("&"),
        })
    }
}

/// The gates that a request may ask for.
#[derive(Clone)]
pub(super) struct Gates {
    visible: Option<BTreeSet<Library>>,
    /// Whether the key requires a gate.
    required: bool,
    pub(super) language: Language,
}

impl Gates {
    pub(super) fn of(request: &HttpRequest) -> Self {
        let required = request.extensions().get::<GateRequired>().is_some();
        Self {
            visible: Visible::to(request),
            required,
            language: language::preferred(request),
        }
    }

    /// The gate for a book, if one is asked for, or required.
    pub(super) fn gate(
        &self,
        unless: Option<Unless>,
        except: Vec<String>,
    ) -> Result<Option<Gate>, Problem> {
        let asked = Gate::of(unless, except)?;
        let gate = if self.required {
            Some(asked.unwrap_or_default().required())
        } else {
            asked
        };
        Ok(gate.map(|gate| Gate {
            visible: self.visible.clone(),
            language: self.language,
            ..gate
        }))
    }

    /// The gate for a line of a stream, whose refusals are short.
    pub(super) fn of_line(
        &self,
        unless: Option<Unless>,
        except: Vec<String>,
    ) -> Result<Option<Gate>, Problem> {
        let gate = self.gate(unless, except)?;
        Ok(gate.map(|gate| Gate {
            limit: MATCHES_OF_A_LINE,
            detail: false,
            ..gate
        }))
    }
}
