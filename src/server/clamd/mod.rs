//! Answers clients of `clamd`, the daemon of `ClamAV`, such as mail gateways and file platforms: a copy of a protected book is
//! what they call infected. Each file is a call of `POST /v1/checks` from within the process, so it has the same access rules,
//! limits, turns and log lines.

mod command;
mod connection;

use std::fmt;
#[cfg(unix)]
use std::fs::{self, Permissions};
use std::io;
#[cfg(unix)]
use std::net::Ipv4Addr;
use std::net::{SocketAddr, TcpListener};
#[cfg(unix)]
use std::os::unix::{
    fs::{FileTypeExt as _, PermissionsExt as _},
    net::{UnixListener, UnixStream as StdUnixStream},
};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use actix_http::BoxedPayloadStream;
use actix_server::{GracefulShutdownSignal, ServerBuilder};
use actix_service::fn_service;
use actix_web::body::to_bytes;
use actix_web::dev::Payload;
use actix_web::http::header::{ACCEPT, HeaderMap, HeaderValue};
use actix_web::http::{Method, Uri};
use actix_web::rt::net::TcpStream;
#[cfg(unix)]
use actix_web::rt::net::UnixStream;
use actix_web::web::Data;
use serde::Deserialize;
use tokio::sync::Semaphore;

use self::connection::Connection;
use crate::server::connection::opening::listen;
use crate::server::inside::{Inside, InsideCall, Insider};
use crate::server::settings::SocketAddress;
use crate::server::{ServerError, ServerState};
use lapidary_catalogue::{Catalogue, CatalogueError};
use lapidary_common::error::ErrorCode;
use lapidary_store::Rights;

/// How many connections are served at once. Clients keep few, and HTTP needs the files.
const SESSIONS: usize = 128;
/// The call that checks a file. Only its verdict is told.
const CHECK: &str = "/v1/checks?limit=0&detail=false";
/// Who may connect to a socket: the server's user and its group.
#[cfg(unix)]
const SOCKET_MODE: u32 = 0o660;

/// Where clients connect.
pub(crate) enum Listener {
    Tcp(Vec<TcpListener>),
    #[cfg(unix)]
    Unix(UnixListener),
}

impl Listener {
    /// # Errors
    /// [`ServerError::Clamd`].
    pub(crate) fn bind(address: &SocketAddress) -> Result<Self, ServerError> {
        let bound = match address {
            SocketAddress::Tcp(address) => match listen(&address.addresses) {
                Err(ServerError::Bind { source, .. }) => Err(source),
                bound => return Ok(Self::Tcp(bound?.0)),
            },
            SocketAddress::Unix(path) => bind_socket(path),
        };
        bound.map_err(|source| ServerError::Clamd {
            address: address.to_string(),
            source,
        })
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(listeners) => {
                let clones = listeners.iter().map(TcpListener::try_clone);
                Self::Tcp(clones.collect::<io::Result<_>>()?)
            }
            #[cfg(unix)]
            Self::Unix(listener) => Self::Unix(listener.try_clone()?),
        })
    }

    /// Serves clients with the rights of this key.
    pub(crate) fn serve(
        self,
        server: ServerBuilder,
        state: Data<ServerState>,
        key: Option<String>,
    ) -> io::Result<ServerBuilder> {
        let doors = Doors {
            state,
            key,
            places: Arc::new(Semaphore::new(SESSIONS)),
            stopping: server.graceful_shutdown_signal(),
        };
        match self {
            Self::Tcp(listeners) => listeners.into_iter().try_fold(server, |server, listener| {
                let doors = doors.clone();
                server.listen("clamd", listener, move || {
                    let door = doors.of_worker();
                    fn_service(move |stream: TcpStream| admit_remote(stream, Rc::clone(&door)))
                })
            }),
            #[cfg(unix)]
            Self::Unix(listener) => server.listen_uds("clamd", listener, move || {
                let door = doors.of_worker();
                fn_service(move |stream: UnixStream| admit_local(stream, Rc::clone(&door)))
            }),
        }
    }
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(listeners) => {
                let addresses = listeners
                    .iter()
                    .filter_map(|listener| listener.local_addr().ok());
                let addresses: Vec<_> = addresses.map(|address| address.to_string()).collect();
                f.write_str(&addresses.join(" and "))
            }
            #[cfg(unix)]
            Self::Unix(listener) => {
                let address = listener.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname());
                write!(f, "{}", path.unwrap_or(Path::new("")).display())
            }
        }
    }
}

/// Listens on a socket. One that nobody answers at was left behind by a process that was killed.
#[cfg(unix)]
fn bind_socket(path: &Path) -> io::Result<Listener> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket && StdUnixStream::connect(path).is_err() {
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(SOCKET_MODE))?;
    Ok(Listener::Unix(listener))
}

#[cfg(not(unix))]
fn bind_socket(_: &Path) -> io::Result<Listener> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Logs why files will not be checked, if they will not be.
pub(crate) fn warn_of_key(key: Option<&str>, catalogue: &Catalogue) -> Result<(), CatalogueError> {
    let keys = catalogue.keys();
    match key {
        _ if keys.is_open()? => {}
        None => tracing::warn!(
            "clients of ClamAV get errors, because the catalogue has keys: set clamd-key to the name of one that may check"
        ),
        Some(name) if keys.named(name)?.is_none() => tracing::warn!(
            "clients of ClamAV get errors, because there is no key {name:?}: add it (lapidary keys add), or change clamd-key"
        ),
        Some(_) => {}
    }
    Ok(())
}

/// What the doors of all workers share.
#[derive(Clone)]
struct Doors {
    state: Data<ServerState>,
    key: Option<String>,
    places: Arc<Semaphore>,
    stopping: GracefulShutdownSignal,
}

impl Doors {
    fn of_worker(&self) -> Rc<Door> {
        Rc::new(Door {
            inside: Inside::new(self.state.clone()),
            key: self.key.clone(),
            places: Arc::clone(&self.places),
            stopping: self.stopping.clone(),
        })
    }
}

/// Where the connections of one worker enter.
struct Door {
    inside: Rc<Inside>,
    /// The name of the key that checks are made with.
    key: Option<String>,
    places: Arc<Semaphore>,
    stopping: GracefulShutdownSignal,
}

async fn admit_remote(stream: TcpStream, door: Rc<Door>) -> Result<(), ()> {
    let peer = stream.peer_addr().map_err(drop)?;
    Connection::new(stream, peer, &door)
        .run()
        .await
        .map_err(drop)
}

/// Whoever reaches a socket is on this machine.
#[cfg(unix)]
async fn admit_local(stream: UnixStream, door: Rc<Door>) -> Result<(), ()> {
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Connection::new(stream, peer, &door)
        .run()
        .await
        .map_err(drop)
}

impl Door {
    /// Checks a file, and returns what to say of it.
    async fn check(&self, file: BoxedPayloadStream, peer: SocketAddr) -> String {
        let by = match self.insider().await {
            Ok(by) => by,
            Err(code) => return failed(&code),
        };
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let asked = InsideCall {
            method: Method::POST,
            uri: Uri::from_static(CHECK),
            headers,
            payload: Payload::from(file),
            peer: Some(peer),
            by,
            as_part: false,
        };
        let (head, body) = self.inside.call(asked).await.into_parts();
        let body = to_bytes(body).await.unwrap_or_default();
        if head.status().is_success() {
            found(&body)
        } else {
            unchecked(&body)
        }
    }

    /// Whose rights count. The key is looked up for each file, so that a revoked one checks nothing more.
    async fn insider(&self) -> Result<Insider, String> {
        let Some(name) = self.key.clone() else {
            return Ok(Insider::Anyone);
        };
        let key = self.inside.ask(move |catalogue| {
            if catalogue.keys().is_open()? {
                return Ok(Some(Insider::Anyone));
            }
            let key = catalogue.keys().named(&name)?;
            Ok(key.map(|key| Insider::Key(key.id.clone())))
        });
        match key.await {
            Ok(Some(by)) => Ok(by),
            Ok(None) => Err(ErrorCode::NoSuchKey.as_str().to_owned()),
            Err(problem) => Err(problem.code),
        }
    }
}

/// What a report says of a file.
fn found(report: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Verdict {
        verdict: Rights,
    }
    match serde_json::from_slice(report) {
        Ok(Verdict {
            verdict: Rights::Protected,
        }) => "stream: Lapidary.Protected FOUND".to_owned(),
        Ok(Verdict {
            verdict: Rights::Forbidden,
        }) => "stream: Lapidary.Forbidden FOUND".to_owned(),
        Ok(_) => CLEAN.to_owned(),
        Err(_) => failed(ErrorCode::Internal.as_str()),
    }
}

const CLEAN: &str = "stream: OK";

/// What a problem says of a file. What is no text cannot be a copy of one; what may be, and was not checked, is not clean.
fn unchecked(problem: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Coded {
        code: String,
    }
    let Ok(Coded { code }) = serde_json::from_slice(problem) else {
        return failed(ErrorCode::Internal.as_str());
    };
    match ErrorCode::named(&code) {
        Some(ErrorCode::NotText | ErrorCode::NoText) => CLEAN.to_owned(),
        Some(ErrorCode::BodyTooLarge) => "INSTREAM size limit exceeded. ERROR".to_owned(),
        _ => failed(&code),
    }
}

/// Clients take the last colon for the end of a file's name, so there is no sentence here.
fn failed(code: &str) -> String {
    format!("stream: {code} ERROR")
}

#[cfg(test)]
mod tests {
    use super::{found, unchecked};

    #[test]
    fn a_file_is_clean_if_it_was_checked_or_is_no_text() {
        for (verdict, said) in [
            ("protected", "stream: Lapidary.Protected FOUND"),
            ("forbidden", "stream: Lapidary.Forbidden FOUND"),
            ("free", "stream: OK"),
            ("public_domain", "stream: OK"),
            ("unknown", "stream: OK"),
        ] {
            let report = format!("{{\"verdict\":\"{verdict}\",\"total\":1}}");
            assert_eq!(found(report.as_bytes()), said);
        }
        for (code, said) in [
            ("not_text", "stream: OK"),
            ("no_text", "stream: OK"),
            ("body_too_large", "INSTREAM size limit exceeded. ERROR"),
            ("not_readable", "stream: not_readable ERROR"),
            ("overloaded", "stream: overloaded ERROR"),
        ] {
            let problem = format!("{{\"code\":\"{code}\",\"status\":422}}");
            assert_eq!(unchecked(problem.as_bytes()), said);
        }
        assert_eq!(found(b""), "stream: internal ERROR");
        assert_eq!(unchecked(b""), "stream: internal ERROR");
    }
}
