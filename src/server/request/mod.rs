//! What a request says: its path and query, its conditions, its language, and its body in each of the forms that calls take.

pub(crate) mod body;
pub(crate) mod conditions;
pub(crate) mod forms;
pub(crate) mod language;
pub(crate) mod lines;
pub(crate) mod once;
pub(crate) mod parameters;
