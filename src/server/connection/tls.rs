//! TLS with a certificate and a private key from files, which are reloaded when they are renewed.
//!
//! HTTP/1.1 only: HTTP/2 would need limits of its own on streams and heads.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SigningKey};
use x509_cert::Certificate;
use x509_cert::der::Decode;

use lapidary_catalogue::metrics::METRICS;

/// The two PEM files that TLS needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The server's certificate first, followed by any intermediate certificates.
    pub certificate: PathBuf,
    /// The private key of the server's certificate.
    pub private_key: PathBuf,
}

/// Why a certificate or its key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("{path}: {source}; it must be a file that this user can read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file contains no certificate.
    #[error("{0}: contains no certificate; give the chain as PEM (-----BEGIN CERTIFICATE-----)")]
    NoCertificate(PathBuf),
    /// The file contains no private key.
    #[error(
        "{0}: contains no private key; give one as PEM, without a passphrase (-----BEGIN PRIVATE KEY-----)"
    )]
    NoKey(PathBuf),
    /// The certificate or key cannot be used.
    #[error("{path}: {why}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The certificate and key do not match.
    #[error("the key in {key} does not belong to the first certificate in {certificate}")]
    Mismatch {
        /// The certificate file.
        certificate: PathBuf,
        /// The key file.
        key: PathBuf,
    },
    /// The certificate has expired, or is not valid yet.
    #[error(
        "{path}: the certificate is valid from {from} until {until}, which is not now; renew it"
    )]
    NotNow {
        /// The certificate file.
        path: PathBuf,
        /// The start of its validity.
        from: Timestamp,
        /// The end of its validity.
        until: Timestamp,
    },
}

impl CertificateFiles {
    /// Reads and checks both files.
    ///
    /// # Errors
    /// Any error that a client would run into.
    pub fn verify(&self) -> Result<(), CertificateError> {
        Loaded::new(self, &self.read()?)?.holds_now(self)
    }

    fn read(&self) -> Result<Files, CertificateError> {
        Ok(Files {
            certificate: read(&self.certificate)?,
            private_key: read(&self.private_key)?,
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    fs::read(path).map_err(|source| CertificateError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

/// The content of the files.
#[derive(PartialEq, Eq)]
struct Files {
    certificate: Vec<u8>,
    private_key: Vec<u8>,
}

/// A certificate that can be served.
struct Loaded {
    pair: Arc<CertifiedKey>,
    from: Timestamp,
    until: Timestamp,
}

impl Loaded {
    fn new(paths: &CertificateFiles, files: &Files) -> Result<Self, CertificateError> {
        let CertificateFiles {
            certificate,
            private_key,
        } = paths;
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(&files.certificate)
                .collect::<Result<_, _>>()
                .map_err(|_| unusable(certificate, "the PEM is damaged; export it again"))?;
        let first = chain
            .first()
            .ok_or_else(|| CertificateError::NoCertificate(certificate.clone()))?;
        let first = Certificate::from_der(first).map_err(|_| not_x509(certificate))?;
        let validity = first.tbs_certificate().validity();
        let from = instant(&validity.not_before).map_err(|_| not_x509(certificate))?;
        let until = instant(&validity.not_after).map_err(|_| not_x509(certificate))?;
        let pair = CertifiedKey::new(chain, signing_key(private_key, &files.private_key)?);
        pair.keys_match().map_err(|e| match e {
            rustls::Error::InconsistentKeys(_) => CertificateError::Mismatch {
                certificate: certificate.clone(),
                key: private_key.clone(),
            },
            _ => not_x509(certificate),
        })?;
        Ok(Self {
            pair: Arc::new(pair),
            from,
            until,
        })
    }

    fn holds_now(&self, paths: &CertificateFiles) -> Result<(), CertificateError> {
        let Self { from, until, .. } = *self;
        if (from..=until).contains(&Timestamp::now()) {
            return Ok(());
        }
        Err(CertificateError::NotNow {
            path: paths.certificate.clone(),
            from,
            until,
        })
    }
}

fn unusable(path: &Path, why: &'static str) -> CertificateError {
    CertificateError::Unusable {
        path: path.to_owned(),
        why,
    }
}

fn not_x509(certificate: &Path) -> CertificateError {
    unusable(
        certificate,
        "not a valid X.509 certificate; export it again",
    )
}

fn instant(time: &x509_cert::time::Time) -> Result<Timestamp, jiff::Error> {
    // The time is not before 1970, so the sign is not lost.
    Timestamp::from_second(time.to_unix_duration().as_secs().cast_signed())
}

fn signing_key(path: &Path, pem: &[u8]) -> Result<Arc<dyn SigningKey>, CertificateError> {
    let key =
        PrivateKeyDer::from_pem_slice(pem).map_err(|_| CertificateError::NoKey(path.to_owned()))?;
    default_provider().key_provider.load_private_key(key).map_err(|_| {
        let why = "the key is damaged or of an unknown kind; use RSA (2048 bits or more), ECDSA (P-256, P-384) or Ed25519";
        unusable(path, why)
    })
}

/// The certificate being served.
pub(crate) struct Tls {
    paths: CertificateFiles,
    current: RwLock<Current>,
}

struct Current {
    /// The last content found, which may not be usable.
    found: Result<Files, String>,
    served: Arc<CertifiedKey>,
    /// The end of its validity.
    until: Timestamp,
}

impl Tls {
    /// Loads the certificate. An expired one is served too, with a warning in the log.
    pub(crate) fn load(paths: CertificateFiles) -> Result<Arc<Self>, CertificateError> {
        let files = paths.read()?;
        let loaded = Loaded::new(&paths, &files)?;
        loaded.tell(&paths);
        let current = RwLock::new(Current {
            found: Ok(files),
            served: loaded.pair,
            until: loaded.until,
        });
        Ok(Arc::new(Self { paths, current }))
    }

    /// Serves the current content of the files. Unusable content, such as two files of which only one has been
    /// renewed so far, does not replace a working certificate.
    pub(crate) fn renew(&self) {
        let found = self.paths.read().map_err(|error| error.to_string());
        if found == self.current.read().found {
            return;
        }
        let loaded = found
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|files| Loaded::new(&self.paths, files).map_err(|error| error.to_string()));
        let mut current = self.current.write();
        current.found = found;
        match loaded {
            Ok(loaded) => {
                loaded.tell(&self.paths);
                (current.served, current.until) = (loaded.pair, loaded.until);
            }
            Err(error) => tracing::warn!("still serving the old certificate: {error}"),
        }
    }

    /// When the certificate being served expires.
    pub(crate) fn until(&self) -> Timestamp {
        self.current.read().until
    }

    /// The TLS configuration for this certificate.
    pub(crate) fn config(self: &Arc<Self>) -> ServerConfig {
        let versions = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has what TLS 1.2 and 1.3 need");
        versions
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as _)
    }
}

impl Loaded {
    fn tell(&self, paths: &CertificateFiles) {
        METRICS.certificate(self.until);
        match self.holds_now(paths) {
            Ok(()) => tracing::info!("serving a certificate that is valid until {}", self.until),
            Err(error) => tracing::error!("{error}"),
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.paths.fmt(f)
    }
}

impl ResolvesServerCert for Tls {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read().served))
    }
}
