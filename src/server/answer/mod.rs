//! What is answered: the result of work off the event loop, or the problem, and how it is sent.

pub(crate) mod outgoing;
pub(crate) mod problem;
pub(crate) mod work;
