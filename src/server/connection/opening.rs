//! Opens a catalogue while telling clients to wait.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{io, thread};

use actix_http::KeepAlive;
use actix_web::{App, rt, web};
use rustix::io::Errno;

use crate::server::clamd;
use crate::server::connections::Connections;
use crate::server::tls::Tls;
use crate::server::{Server, ServerError, Settings, health};
use lapidary_catalogue::{Catalogue, CatalogueError};

/// How long the last requests may take to be answered.
const LAST_ANSWERS: Duration = Duration::from_millis(20);

/// A server that has bound its addresses, but has no catalogue yet.
pub struct Opening {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    clamd: Option<clamd::Listener>,
    tls: Option<Arc<Tls>>,
    settings: Settings,
}

impl Opening {
    /// Binds the addresses. Connections made from now on are answered when the catalogue is opened.
    ///
    /// # Errors
    /// [`ServerError::Bind`], [`ServerError::Clamd`], [`ServerError::Certificate`].
    pub fn bind(settings: Settings) -> Result<Self, ServerError> {
        let tls = settings.tls().map(Tls::load).transpose()?;
        let (listeners, addresses) = listen(&settings.listen.addresses)?;
        let others = addresses.iter().find(|address| !address.ip().is_loopback());
        if let Some(&address) = others.filter(|_| settings.open) {
            return Err(ServerError::OpenToOthers(address));
        }
        let clamd = settings.clamd.as_ref().map(clamd::Listener::bind);
        Ok(Self {
            listeners,
            addresses,
            clamd: clamd.transpose()?,
            tls,
            settings,
        })
    }

    /// The addresses it listens on, with the actual port.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// A duplicate, for reopening the catalogue later.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        let Self {
            listeners,
            addresses,
            clamd,
            tls,
            settings,
        } = self;
        let clamd = clamd.as_ref().map(clamd::Listener::try_clone);
        let listeners = listeners
            .iter()
            .map(TcpListener::try_clone)
            .collect::<io::Result<_>>()?;
        Ok(Self {
            listeners,
            addresses: addresses.clone(),
            clamd: clamd.transpose()?,
            tls: tls.clone(),
            settings: settings.clone(),
        })
    }

    /// Opens the catalogue, which can take a while after a crash. Until then, every request is answered with 503 and
    /// `starting`, except for the liveness check.
    ///
    /// # Errors
    /// Those of `open`, and [`ServerError::Open`].
    pub fn open(
        self,
        open: impl FnOnce() -> Result<Catalogue, CatalogueError>,
    ) -> Result<Server, ServerError> {
        let (opened, wait) = mpsc::channel::<()>();
        let listeners = self
            .listeners
            .iter()
            .map(TcpListener::try_clone)
            .collect::<io::Result<_>>()?;
        // A connection kept alive would not reach the real server.
        let connections = Connections {
            keep_alive: KeepAlive::Disabled,
            ..self.connections()
        };
        let waiting_room = thread::spawn(move || answer_until(listeners, &connections, wait));
        let catalogue = open();
        drop(opened);
        waiting_room
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        self.serve(Arc::new(catalogue?))
    }

    pub(crate) fn serve(self, catalogue: Arc<Catalogue>) -> Result<Server, ServerError> {
        let connections = self.connections();
        Server::new(
            self.listeners,
            self.addresses,
            self.clamd,
            connections,
            catalogue,
            &self.settings,
        )
    }

    fn connections(&self) -> Connections {
        let Settings {
            trusted_proxies,
            proxy_protocol,
            ..
        } = &self.settings;
        let proxies = if *proxy_protocol {
            trusted_proxies.as_slice().into()
        } else {
            [].into()
        };
        Connections {
            tls: self.tls.clone(),
            proxies,
            keep_alive: KeepAlive::default(),
        }
    }
}

/// A stream of SIGHUP signals. Once it has been requested, the signal no longer ends the process.
#[cfg(unix)]
pub(crate) fn hangups() -> Option<rt::signal::unix::Signal> {
    rt::signal::unix::signal(rt::signal::unix::SignalKind::hangup()).ok()
}

/// Listens on all of the addresses that this machine has.
pub(crate) fn listen(
    addresses: &[SocketAddr],
) -> Result<(Vec<TcpListener>, Vec<SocketAddr>), ServerError> {
    let (mut listeners, mut taken, mut lacking) = (Vec::new(), Vec::<SocketAddr>::new(), None);
    for &(mut address) in addresses {
        if address.port() == 0 {
            address.set_port(taken.first().map_or(0, SocketAddr::port));
        }
        let bound =
            TcpListener::bind(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
        match bound {
            Ok((address, listener)) => {
                taken.push(address);
                listeners.push(listener);
            }
            Err(source) if is_not_here(&source) => {
                lacking = Some(ServerError::Bind { address, source });
            }
            Err(source) => return Err(ServerError::Bind { address, source }),
        }
    }
    match lacking {
        Some(error) if listeners.is_empty() => Err(error),
        _ => Ok((listeners, taken)),
    }
}

/// Whether the error means that this machine lacks the address or its address family.
fn is_not_here(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || Errno::from_io_error(error) == Some(Errno::AFNOSUPPORT)
}

/// Responds until the other end of the channel is dropped.
fn answer_until(
    listeners: Vec<TcpListener>,
    connections: &Connections,
    over: mpsc::Receiver<()>,
) -> io::Result<()> {
    rt::System::new().block_on(async move {
        #[cfg(unix)]
        drop(hangups());
        let mut server = actix_server::Server::build()
            .workers(1)
            .shutdown_timeout(1)
            .disable_signals();
        for listener in listeners {
            server = connections.clone().listen(server, listener, || {
                let app = App::new().route("/healthz", web::get().to(health::alive));
                app.default_service(web::to(health::starting))
            })?;
        }
        let server = server.run();
        let handle = server.handle();
        rt::spawn(async move {
            let _ = rt::task::spawn_blocking(move || over.recv()).await;
            // Accepted connections are answered; pending ones wait for the real server.
            handle.pause().await;
            rt::time::sleep(LAST_ANSWERS).await;
            handle.stop(true).await;
        });
        server.await
    })
}
