//! TLS to a server whose certificate is signed by a private authority, or is itself trusted.
//!
//! `openssl req -x509` makes a certificate that is marked as an authority's and need not name the server. No chain can be
//! verified for such a server certificate, so it is compared with the trusted ones directly.

use std::fmt;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore,
    SignatureScheme, StreamOwned,
};
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectProxyConnector, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout,
    TcpConnector, Transport, TransportAdapter,
};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

/// Connects to servers with one of the certificates in a PEM file, or with one signed by them.
pub(super) fn connector(file: &Path) -> Result<impl Connector, String> {
    let config = config(file).map_err(|why| format!("{}: {why}", file.display()))?;
    Ok(ConnectProxyConnector::default()
        .chain(TcpConnector::default())
        .chain(TlsConnector(Arc::new(config))))
}

fn config(file: &Path) -> Result<ClientConfig, Box<dyn std::error::Error>> {
    let trusted: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&fs::read(file)?).collect::<Result<_, _>>()?;
    if trusted.is_empty() {
        return Err(
            "no certificate in it; give the authorities' certificates, or the server's own, as PEM"
                .into(),
        );
    }
    let (provider, mut roots) = (Arc::new(default_provider()), RootCertStore::empty());
    roots.add_parsable_certificates(trusted.iter().cloned());
    let by_signature =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let verifier = Trusted {
        certificates: trusted,
        by_signature: by_signature?,
    };
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    Ok(config.with_no_client_auth())
}

/// The trusted certificates.
#[derive(Debug)]
struct Trusted {
    certificates: Vec<CertificateDer<'static>>,
    by_signature: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self
            .certificates
            .iter()
            .any(|trusted| trusted == certificate)
        {
            return holds(certificate, now)
                .map(|()| ServerCertVerified::assertion())
                .map_err(Into::into);
        }
        self.by_signature
            .verify_server_cert(certificate, between, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.by_signature
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.by_signature
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by_signature.supported_verify_schemes()
    }
}

/// Checks a certificate's validity period.
fn holds(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), CertificateError> {
    let certificate =
        Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let validity = certificate.tbs_certificate().validity();
    if now.as_secs() < seconds(&validity.not_before) {
        Err(CertificateError::NotValidYet)
    } else if now.as_secs() > seconds(&validity.not_after) {
        Err(CertificateError::Expired)
    } else {
        Ok(())
    }
}

fn seconds(time: &x509_cert::time::Time) -> u64 {
    time.to_unix_duration().as_secs()
}

/// The last connector of the chain: adds TLS if the URL requires it.
struct TlsConnector(Arc<ClientConfig>);

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = Either<In, Encrypted>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        below: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        let Some(below) = below else { return Ok(None) };
        if !details.needs_tls() || below.is_tls() {
            return Ok(Some(Either::A(below)));
        }
        let host = details
            .uri
            .host()
            .unwrap_or_default()
            .trim_matches(['[', ']'])
            .to_owned();
        let name = ServerName::try_from(host).map_err(|_| Error::HostNotFound)?;
        let mut connection = ClientConnection::new(Arc::clone(&self.0), name)?;
        let mut below = TransportAdapter::new(below.boxed(), details.current_time.clone());
        below.set_timeout(details.timeout);
        connection.complete_io(&mut below)?;
        let buffers = LazyBuffers::new(
            details.config.input_buffer_size(),
            details.config.output_buffer_size(),
        );
        Ok(Some(Either::B(Encrypted {
            buffers,
            stream: StreamOwned::new(connection, below),
        })))
    }
}

/// A TLS connection.
struct Encrypted {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl fmt::Debug for Encrypted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Encrypted")
    }
}

impl Transport for Encrypted {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.sock.set_timeout(timeout);
        self.stream.write_all(&self.buffers.output()[..amount])?;
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.sock.set_timeout(timeout);
        let amount = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.sock.get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn a_certificate_holds_for_its_time() {
        let mut about = CertificateParams::default();
        (about.not_before, about.not_after) =
            (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
        let certificate = about
            .self_signed(&KeyPair::generate().expect("a key"))
            .expect("a certificate");
        let at = |seconds| {
            holds(
                certificate.der(),
                UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds)),
            )
        };
        assert_eq!(at(978_307_199), Err(CertificateError::NotValidYet));
        assert_eq!((at(978_307_200), at(1_009_843_200)), (Ok(()), Ok(())));
        assert_eq!(at(1_009_843_201), Err(CertificateError::Expired));
        assert_eq!(
            holds(&b"no certificate"[..].into(), UnixTime::now()),
            Err(CertificateError::BadEncoding)
        );
    }
}
