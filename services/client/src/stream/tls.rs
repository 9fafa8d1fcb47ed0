//! Whom to believe that it is the server.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;

/// The authorities whose certificates are believed. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Trust(Arc<ClientConfig>);

/// Certificates of authorities cannot be used.
#[derive(Debug, Error)]
pub enum BadCertificates {
    /// A file cannot be read, or holds no certificates in PEM.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The system has none.
    #[error("the system has no certificates of authorities: {0}")]
    System(String),
    /// TLS itself cannot be set up.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

impl Trust {
    /// The authorities of the system.
    ///
    /// # Errors
    /// [`BadCertificates::System`].
    pub fn system() -> Result<Self, BadCertificates> {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (sound, _) = roots.add_parsable_certificates(found.certs);
        if sound == 0 {
            let reasons: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
            return Err(BadCertificates::System(reasons.join("; ")));
        }
        Self::of(roots)
    }

    /// Those in a file of PEM, and no others.
    ///
    /// # Errors
    /// [`BadCertificates::File`].
    pub fn file(path: &Path) -> Result<Self, BadCertificates> {
        let bad = |reason: String| BadCertificates::File { path: path.to_owned(), reason };
        let text = std::fs::read(path).map_err(|error: io::Error| bad(error.to_string()))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&text) {
            let certificate = certificate.map_err(|error| bad(error.to_string()))?;
            roots.add(certificate).map_err(|error| bad(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(bad("there is no certificate in it".to_owned()));
        }
        Self::of(roots)
    }

    fn of(roots: RootCertStore) -> Result<Self, BadCertificates> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(Self(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
    }

    pub(super) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }
}
