//! Calls of operations on a catalogue, in this process or through a running server.

use std::ops::Deref;
use std::sync::Arc;

use lapidary_catalogue::Catalogue;
use lapidary_operations::{CommandLine, Operation, Session};

use super::access::Access;
use super::failure::Failure;
use super::remote::Remote;

/// Where operations are called.
pub(super) enum Client {
    /// On a catalogue that this process has opened.
    Local(Arc<Catalogue>),
    /// On a running server.
    Remote(Remote),
}

impl Client {
    /// Calls an operation.
    pub(super) fn call<O: Operation>(
        &self,
        path: O::Path,
        input: O::Input,
    ) -> Result<O::Answer, Failure> {
        match self {
            Self::Local(catalogue) => {
                let session = Session::local(catalogue, &CommandLine);
                Ok(O::run(&session, path, input)?)
            }
            Self::Remote(server) => server.call::<O>(&path, &input),
        }
    }
}

impl Deref for Client {
    type Target = dyn Access;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Local(catalogue) => catalogue,
            Self::Remote(server) => server,
        }
    }
}
