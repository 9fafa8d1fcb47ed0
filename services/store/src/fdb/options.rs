//! Which cluster, and how to reach it.

use std::path::{Path, PathBuf};

use foundationdb::options::NetworkOption;

use super::OpenError;
use crate::Subspace;

/// Where an [`Fdb`](super::Fdb) store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FdbOptions {
    /// The file that says where the cluster's coordinators are. The client rewrites it when they move.
    pub cluster_file: PathBuf,
    /// Which of the cluster's keys belong to the store.
    pub subspace: Subspace,
    /// How the client proves who it is, if the cluster file says that the cluster uses TLS.
    pub tls: Tls,
}

/// Files and rules for TLS. What is not given here the client takes from its own environment variables,
/// `FDB_TLS_CERTIFICATE_FILE` and so on; the passphrase of a key is only taken from `FDB_TLS_PASSWORD`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// PEM file with the client's certificate chain.
    pub certificate: Option<PathBuf>,
    /// PEM file with its private key.
    pub key: Option<PathBuf>,
    /// PEM file with the authorities that are trusted.
    pub ca: Option<PathBuf>,
    /// What the certificates of the servers must say, as FoundationDB writes it: `Check.Valid=1,S.O=Example`.
    pub verify_peers: Option<String>,
}

impl FdbOptions {
    /// The cluster of `cluster_file`, all of its keys, without TLS.
    pub fn new(cluster_file: impl Into<PathBuf>) -> Self {
        Self { cluster_file: cluster_file.into(), subspace: Subspace::default(), tls: Tls::default() }
    }

    /// The files that must be there.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.cluster_file).chain(self.tls.files())
    }
}

impl Tls {
    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.certificate, &self.key, &self.ca].into_iter().flatten()
    }

    /// The same as the client takes it.
    pub(super) fn network_options(&self) -> Result<Vec<NetworkOption>, OpenError> {
        let file = |path: &Option<PathBuf>, option: fn(String) -> NetworkOption| {
            path.as_deref().map(|path| text(path).map(|text| option(text.to_owned()))).transpose()
        };
        let files = [
            file(&self.ca, NetworkOption::TLSCaPath)?,
            file(&self.certificate, NetworkOption::TLSCertPath)?,
            file(&self.key, NetworkOption::TLSKeyPath)?,
        ];
        let verify = self.verify_peers.as_ref().map(|rule| NetworkOption::TLSVerifyPeers(rule.clone().into_bytes()));
        Ok(files.into_iter().flatten().chain(verify).collect())
    }
}

/// A path as the client takes it.
pub(super) fn text(path: &Path) -> Result<&str, OpenError> {
    path.to_str().ok_or_else(|| OpenError::NotText(path.to_owned()))
}
