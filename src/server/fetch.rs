//! Fetches the file whose address a check or a book names. That waits for somebody else's server, so it takes no turn of a lane:
//! only a permit, and memory as the file arrives.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;

use actix_web::HttpRequest;
use actix_web::web::Data;
use memchr::memmem;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use super::ServerState;
use super::access::Guest;
use super::body::{Declared, Raw, RequestBody, Sent, json, reserve, too_large};
use super::memory::Room;
use super::permits::Permits;
use super::problem::Problem;
use super::settings::CheckUrls;
use lapidary_catalogue::api::{Check, NewBook};
use lapidary_common::error::ErrorCode;
use lapidary_harvest::{ObjectName, ObjectStore, fetch};

/// How many files are fetched at once, and for one client.
const MOST: usize = 16;
const MOST_OF_ONE: usize = 4;
/// The largest request that names an address: it has no text.
const WORDS: usize = 16 << 10;
/// The longest address.
const ADDRESS_BYTES: usize = 2_000;

pub(super) fn permits() -> Arc<Permits> {
    Permits::new("downloads", MOST, MOST_OF_ONE)
}

/// What may name the address of a file instead of sending a text.
pub(super) trait NamesFile: DeserializeOwned {
    fn take_url(&mut self) -> Option<String>;
    /// Whether it has anything that the file has, too.
    fn has_content(&self) -> bool;
}

impl NamesFile for Check {
    fn take_url(&mut self) -> Option<String> {
        self.url.take()
    }

    fn has_content(&self) -> bool {
        self.text.is_some() || self.gems.is_some() || !self.hidden.is_empty()
    }
}

impl NamesFile for NewBook {
    fn take_url(&mut self) -> Option<String> {
        self.url.take()
    }

    fn has_content(&self) -> bool {
        self.text.is_some() || self.gems.is_some() || !self.hidden.is_empty()
    }
}

/// What a request has in its body, and the file at the address that it names, if it names one.
pub(super) async fn named<T: NamesFile>(
    body: &RequestBody,
    request: &HttpRequest,
    state: &Data<ServerState>,
) -> Result<Option<(T, Raw)>, Problem> {
    let RequestBody::Json(sent) = body else {
        return Ok(None);
    };
    // Only a short one is parsed here, where others wait.
    if sent.bytes.len() > WORDS || memmem::find(&sent.bytes, b"\"url\"").is_none() {
        return Ok(None);
    }
    let mut named: T = json(&sent.bytes)?;
    let Some(address) = named.take_url() else {
        return Ok(None);
    };
    if named.has_content() {
        let detail = "with 'url', leave out 'text', 'gems' and 'hidden'";
        return Err(Problem::new(ErrorCode::BadJson, detail));
    }
    if address.len() > ADDRESS_BYTES {
        let detail = format!("the URL is longer than {ADDRESS_BYTES} bytes; give a shorter one");
        return Err(Problem::new(ErrorCode::TooLong, detail));
    }
    let file = file(FileAddress::of(address, state)?, request, state).await?;
    let declared = Declared::new("", None);
    Ok(Some((named, Raw::new(file, declared, state.limits))))
}

/// Where a file is.
pub(super) enum FileAddress {
    Web { address: String, is_private: bool },
    Object(Arc<ObjectStore>, ObjectName),
}

impl FileAddress {
    fn of(address: String, state: &ServerState) -> Result<Self, Problem> {
        if ObjectName::is_named_by(&address) {
            return Ok(Self::Object(objects(state)?, address.parse()?));
        }
        let is_private = match state.check_urls {
            CheckUrls::None => {
                let detail = "this server fetches no files; send the file, or ask the administrator to set check-urls";
                return Err(Problem::new(ErrorCode::NotOffered, detail));
            }
            CheckUrls::Public => false,
            CheckUrls::Any => true,
        };
        Ok(Self::Web {
            address,
            is_private,
        })
    }

    fn fetch(&self, take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), Problem> {
        match self {
            Self::Object(objects, name) => Ok(objects.fetch(name, take)?),
            Self::Web {
                address,
                is_private,
            } => fetch(address, *is_private, take).map_err(|why| {
                let detail = format!("the file at 'url' cannot be fetched: {why}");
                Problem::new(ErrorCode::NotFetched, detail)
            }),
        }
    }
}

/// The buckets that the server may reach.
pub(super) fn objects(state: &ServerState) -> Result<Arc<ObjectStore>, Problem> {
    state.objects.clone().ok_or_else(|| {
        let detail = "this server reads no buckets; ask the administrator to set s3.buckets";
        Problem::new(ErrorCode::NotOffered, detail)
    })
}

/// Fetches a file on a thread of its own.
pub(super) async fn file(
    address: FileAddress,
    request: &HttpRequest,
    state: &Data<ServerState>,
) -> Result<Sent, Problem> {
    let permit = state.fetches.take(Guest::of(request))?;
    let (room, most) = (state.memory.room(), state.max_body);
    let (answer, answered) = oneshot::channel();
    let work = move || {
        let mut file = Arriving::new(room, most);
        let mut take = |piece: &[u8]| {
            if answer.is_closed() {
                return ControlFlow::Break(());
            }
            file.take(piece)
        };
        let fetched = address.fetch(&mut take);
        drop(permit);
        let _ = answer.send(file.whole(fetched));
    };
    thread::Builder::new()
        .name("lapidary-fetch".to_owned())
        .spawn(work)
        .map_err(|error| Problem::failed(ErrorCode::Internal, &error))?;
    answered
        .await
        .map_err(|error| Problem::failed(ErrorCode::Internal, &error))?
}

/// A file that is fetched.
struct Arriving {
    bytes: Vec<u8>,
    room: Room,
    most: usize,
    refused: Option<Problem>,
}

impl Arriving {
    fn new(room: Room, most: usize) -> Self {
        Self {
            bytes: Vec::new(),
            room,
            most,
            refused: None,
        }
    }

    fn take(&mut self, piece: &[u8]) -> ControlFlow<()> {
        let length = self.bytes.len() + piece.len();
        let granted = if length > self.most {
            Err(too_large("file", self.most, true))
        } else {
            self.room.grow_to(length)
        };
        match granted {
            Ok(()) => {
                reserve(&mut self.bytes, piece.len(), self.most);
                self.bytes.extend_from_slice(piece);
                ControlFlow::Continue(())
            }
            Err(problem) => {
                self.refused = Some(problem);
                ControlFlow::Break(())
            }
        }
    }

    fn whole(self, fetched: Result<(), Problem>) -> Result<Sent, Problem> {
        let Self {
            bytes,
            room,
            refused,
            ..
        } = self;
        if let Some(problem) = refused {
            return Err(problem);
        }
        fetched?;
        Ok(Sent { bytes, room })
    }
}
