//! Opening a catalogue while those who ask already are told to wait.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{io, thread};

use actix_web::http::KeepAlive;
use actix_web::{App, HttpServer, rt, web};

use super::tls::Tls;
use super::{HANDSHAKE_PATIENCE, Server, ServerError, Settings, health};
use crate::catalogue::{Catalogue, CatalogueError};

/// How long answering those who were let in last may take.
const LAST_ANSWERS: Duration = Duration::from_millis(20);

/// A server that has its address, but no catalogue yet.
pub struct Opening {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<Tls>>,
    settings: Settings,
}

impl Opening {
    /// Takes the address; who connects from now on is answered when the catalogue is opened.
    ///
    /// # Errors
    /// [`ServerError::Bind`], [`ServerError::Certificate`].
    pub fn bind(settings: Settings) -> Result<Self, ServerError> {
        let tls = settings.tls.clone().map(Tls::load).transpose()?;
        let failed = |source| ServerError::Bind { address: settings.listen, source };
        let listener = TcpListener::bind(settings.listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, tls, settings })
    }

    /// The address it listens on, with the real port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens the catalogue, which after a crash takes a while. Until then every request is answered with 503 and
    /// `starting`, but for whether it lives.
    ///
    /// # Errors
    /// Those of `open`, and [`ServerError::Open`].
    pub fn open(self, open: impl FnOnce() -> Result<Catalogue, CatalogueError>) -> Result<Server, ServerError> {
        let (opened, wait) = mpsc::channel::<()>();
        let listener = self.listener.try_clone()?;
        let tls = self.tls.clone();
        let waiting_room = thread::spawn(move || answer_until(listener, tls, wait));
        let catalogue = open();
        drop(opened);
        waiting_room.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        self.serve(Arc::new(catalogue?))
    }

    pub(super) fn serve(self, catalogue: Arc<Catalogue>) -> Result<Server, ServerError> {
        Server::new(self.listener, self.address, self.tls, catalogue, &self.settings)
    }
}

/// Where it is heard that the process is told to read its settings anew. Once asked for, the signal never ends the process.
#[cfg(unix)]
pub(super) fn hangups() -> Option<rt::signal::unix::Signal> {
    rt::signal::unix::signal(rt::signal::unix::SignalKind::hangup()).ok()
}

/// Answers until the other end of the channel is gone.
fn answer_until(listener: TcpListener, tls: Option<Arc<Tls>>, over: mpsc::Receiver<()>) -> io::Result<()> {
    rt::System::new().block_on(async move {
        #[cfg(unix)]
        drop(hangups());
        let server = HttpServer::new(|| {
            let app = App::new().route("/healthz", web::get().to(health::alive));
            app.default_service(web::to(health::starting))
        })
        .workers(1)
        // A connection that stayed would not see the server behind.
        .keep_alive(KeepAlive::Disabled)
        .shutdown_timeout(1)
        .tls_handshake_timeout(HANDSHAKE_PATIENCE)
        .disable_signals();
        let server = match tls {
            None => server.listen(listener)?,
            Some(tls) => server.listen_rustls_0_23(listener, tls.config())?,
        };
        let server = server.run();
        let handle = server.handle();
        rt::spawn(async move {
            let _ = rt::task::spawn_blocking(move || over.recv()).await;
            // Who was let in is answered; who waits at the door stays there for the server behind.
            handle.pause().await;
            rt::time::sleep(LAST_ANSWERS).await;
            handle.stop(true).await;
        });
        server.await
    })
}
