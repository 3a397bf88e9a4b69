//! How connections become requests: a trusted proxy may send first whose they are (PROXY protocol, version 1 or 2), then comes TLS if
//! there is a certificate, then HTTP.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_http::{HttpService, KeepAlive, Request};
use actix_server::{GracefulShutdownSignal, ServerBuilder};
use actix_service::{
    IntoServiceFactory, Service as _, ServiceFactory, ServiceFactoryExt as _, apply_fn_factory,
    fn_service, map_config,
};
use actix_tls::accept::rustls_0_23::Acceptor;
use actix_web::body::BoxBody;
use actix_web::dev::{AppConfig, ServiceResponse};
use actix_web::rt::net::TcpStream;
use actix_web::{Error, rt};
use proxy_header::{ParseConfig, ProxyHeader};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};

use crate::server::proxies::{ProxyNetwork, is_trusted};
use crate::server::tls::Tls;

/// The maximum time to receive the head of a request.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// The maximum time for a TLS handshake.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// How long to read and discard what a client still sends after a refusal, so that it can read the refusal.
pub(crate) const LINGER: Duration = Duration::from_secs(5);
/// How a header of the PROXY protocol begins, in its second version. One of the first version begins with [`FIRST_VERSION`].
const SECOND_VERSION: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const FIRST_VERSION: &[u8] = b"PROXY ";
/// The longest header of each version. The second could be longer, but is nowhere.
const LONGEST_LINE: usize = 107;
const LONGEST: u16 = 4_096;

/// How connections are served.
#[derive(Clone)]
pub(crate) struct Connections {
    pub(crate) tls: Option<Arc<Tls>>,
    /// The proxies whose connections begin with a header of the PROXY protocol.
    pub(crate) proxies: Arc<[ProxyNetwork]>,
    pub(crate) keep_alive: KeepAlive,
}

impl Connections {
    /// Serves an application on a listener.
    pub(crate) fn listen<F, I, S>(
        self,
        server: ServerBuilder,
        listener: TcpListener,
        app: F,
    ) -> io::Result<ServerBuilder>
    where
        F: Fn() -> I + Send + Clone + 'static,
        I: IntoServiceFactory<S, Request>,
        S: ServiceFactory<
                Request,
                Config = AppConfig,
                Response = ServiceResponse<BoxBody>,
                Error = Error,
                InitError = (),
            > + 'static,
        S::Future: 'static,
    {
        let Self {
            tls,
            proxies,
            keep_alive,
        } = self;
        let stopping = server.graceful_shutdown_signal();
        match tls {
            None => server.listen("http", listener, move || {
                introduced(Arc::clone(&proxies)).and_then(http(app(), keep_alive, stopping.clone()))
            }),
            Some(tls) => server.listen("https", listener, move || {
                let mut config = tls.config();
                config.alpn_protocols = vec![b"http/1.1".to_vec()];
                let mut acceptor = Acceptor::new(config);
                acceptor.set_handshake_timeout(HANDSHAKE_PATIENCE);
                let shaken = apply_fn_factory(
                    acceptor.map_err(drop),
                    |(stream, client): (TcpStream, _), tls| {
                        let stream = tls.call(stream);
                        async move { Ok::<_, ()>((stream.await?, client)) }
                    },
                );
                let http = http(app(), keep_alive, stopping.clone());
                introduced(Arc::clone(&proxies))
                    .and_then(shaken)
                    .and_then(http)
            }),
        }
    }
}

/// Serves HTTP on a stream of a client.
fn http<I, S, T>(
    app: I,
    keep_alive: KeepAlive,
    stopping: GracefulShutdownSignal,
) -> impl ServiceFactory<(T, Option<SocketAddr>), Config = (), Response = (), Error = (), InitError = ()>
where
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<
            Request,
            Config = AppConfig,
            Response = ServiceResponse<BoxBody>,
            Error = Error,
            InitError = (),
        > + 'static,
    S::Future: 'static,
    T: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let app = app.into_factory().map_err(|error| error.error_response());
    HttpService::build()
        .graceful_shutdown_signal(move || {
            let stopping = stopping.clone();
            async move { stopping.notified().await }
        })
        .keep_alive(keep_alive)
        .client_request_timeout(HEAD_PATIENCE)
        .client_disconnect_timeout(LINGER)
        .h1(map_config(app, |()| AppConfig::default()))
        .map_err(drop)
}

/// Says of each stream whose it is.
fn introduced(
    proxies: Arc<[ProxyNetwork]>,
) -> impl ServiceFactory<
    TcpStream,
    Config = (),
    Response = (TcpStream, Option<SocketAddr>),
    Error = (),
    InitError = (),
> {
    fn_service(move |stream: TcpStream| introduction(stream, Arc::clone(&proxies)))
}

/// The client of a stream, after its header was read.
async fn introduction(
    mut stream: TcpStream,
    proxies: Arc<[ProxyNetwork]>,
) -> Result<(TcpStream, Option<SocketAddr>), ()> {
    let peer = stream.peer_addr().ok();
    let Some(proxy) = peer.filter(|peer| is_trusted(&proxies, peer.ip())) else {
        return Ok((stream, peer));
    };
    match within(HEAD_PATIENCE, header(&mut stream)).await {
        Ok(said) => Ok((stream, Some(client(proxy, said)))),
        Err(error) => {
            tracing::warn!(
                "a connection of the proxy {} is closed, because it does not begin with a header of the PROXY protocol ({error}); \
                 have the proxy send one, or turn proxy-protocol off",
                proxy.ip()
            );
            Err(())
        }
    }
}

/// The client that a proxy names. Loopback of another machine is not this one's, and stands for that machine.
fn client(proxy: SocketAddr, said: Option<SocketAddr>) -> SocketAddr {
    said.filter(|said| is_loopback(proxy) || !is_loopback(*said))
        .unwrap_or(proxy)
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

async fn within<T>(time: Duration, reading: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    rt::time::timeout(time, reading)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn invalid() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// Reads a header, and nothing that follows. `None` if the proxy itself is the client.
async fn header(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<SocketAddr>> {
    let mut bytes = vec![0; SECOND_VERSION.len()];
    stream.read_exact(&mut bytes).await?;
    if bytes == SECOND_VERSION {
        let (version, family, length) = (
            stream.read_u8().await?,
            stream.read_u8().await?,
            stream.read_u16().await?,
        );
        if length > LONGEST {
            return Err(invalid());
        }
        bytes.extend([version, family]);
        bytes.extend(length.to_be_bytes());
        let head = bytes.len();
        bytes.resize(head + usize::from(length), 0);
        stream.read_exact(&mut bytes[head..]).await?;
    } else if bytes.starts_with(FIRST_VERSION) {
        while bytes.last() != Some(&b'\n') && bytes.len() < LONGEST_LINE {
            bytes.push(stream.read_u8().await?);
        }
    } else {
        return Err(invalid());
    }
    let (header, length) =
        ProxyHeader::parse(&bytes, ParseConfig::default()).map_err(|_| invalid())?;
    if length != bytes.len() {
        return Err(invalid());
    }
    Ok(header.proxied_address().map(|addresses| addresses.source))
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};

    use super::*;

    fn read(bytes: &[u8]) -> (Result<String, io::ErrorKind>, Vec<u8>) {
        rt::System::new().block_on(async {
            let mut rest = bytes;
            let client = header(&mut rest).await;
            let client =
                client.map(|client| client.map_or_else(String::new, |client| client.to_string()));
            (client.map_err(|error| error.kind()), rest.to_vec())
        })
    }

    #[test]
    fn loopback_of_another_machine_is_that_machine() {
        let [here, there, v4, v6, mapped] = [
            "127.0.0.1:1",
            "10.0.0.1:1",
            "192.0.2.1:1",
            "[::1]:1",
            "[::ffff:127.0.0.1]:1",
        ]
        .map(|at| at.parse().unwrap());
        for (proxy, said, expected) in [
            (here, Some(v4), v4),
            (there, Some(v4), v4),
            (there, None, there),
            (here, Some(v6), v6),
            (there, Some(here), there),
            (there, Some(v6), there),
            (there, Some(mapped), there),
        ] {
            assert_eq!(client(proxy, said), expected);
        }
    }

    fn second(version: u8, family: u8, addresses: &[u8], length: usize) -> Vec<u8> {
        let length = u16::try_from(length).unwrap().to_be_bytes();
        [SECOND_VERSION, &[version, family][..], &length, addresses].concat()
    }

    #[test]
    fn a_header_says_whose_a_connection_is() {
        let v4 = [192, 0, 2, 1, 10, 0, 0, 1, 0x12, 0x34, 0, 80];
        let mut v6 = [0; 36];
        (v6[0], v6[1], v6[15], v6[33]) = (0x20, 0x01, 7, 9);
        let with_more = [&v4[..], b"\x04\0\x01x"].concat();
        let table: [(Vec<u8>, &str); 9] = [
            (
                b"PROXY TCP4 192.0.2.1 10.0.0.1 4660 80\r\n".to_vec(),
                "192.0.2.1:4660",
            ),
            (
                b"PROXY TCP6 2001:db8::1 fd00::1 4660 80\r\n".to_vec(),
                "[2001:db8::1]:4660",
            ),
            (b"PROXY UNKNOWN\r\n".to_vec(), ""),
            (b"PROXY UNKNOWN and more\r\n".to_vec(), ""),
            (second(0x21, 0x11, &v4, 12), "192.0.2.1:4660"),
            (second(0x21, 0x11, &with_more, 16), "192.0.2.1:4660"),
            (second(0x21, 0x21, &v6, 36), "[2001::7]:9"),
            (second(0x20, 0x00, &[], 0), ""),
            (second(0x21, 0x31, &[0; 216], 216), ""),
        ];
        for (bytes, client) in table {
            let request = b"GET / HTTP/1.1\r\n".to_vec();
            let (found, rest) = read(&[bytes.clone(), request.clone()].concat());
            assert_eq!((found, rest), (Ok(client.to_owned()), request), "{bytes:?}");
            assert_eq!(
                read(&bytes[..bytes.len() - 1]).0,
                Err(UnexpectedEof),
                "{bytes:?}"
            );
        }
        let wrong = [
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
            b"PROXY TCP4 192.0.2.1 10.0.0.1 4660\r\n".to_vec(),
            b"PROXY TCP4 2001:db8::1 fd00::1 4660 80\r\n".to_vec(),
            b"PROXY TCP4 192.0.2.1 10.0.0.1 4660 80\n".to_vec(),
            [b"PROXY TCP4 ", &[b'1'; 200][..]].concat(),
            second(0x11, 0x11, &v4, 12),
            second(0x21, 0x11, &v4[..8], 8),
            second(0x21, 0x11, &[0; 5_000], 5_000),
        ];
        for bytes in wrong {
            assert_eq!(read(&bytes).0, Err(InvalidData), "{bytes:?}");
        }
    }
}
