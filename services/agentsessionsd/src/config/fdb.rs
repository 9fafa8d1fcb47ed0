//! The FoundationDB cluster that the journal is in.

#[cfg(feature = "fdb")]
use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
#[cfg(feature = "fdb")]
use store::fdb::{FdbOptions, Tls};

use super::Subspace;

/// A journal in a FoundationDB cluster. The passphrase of the key is taken from FDB_TLS_PASSWORD.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "FoundationDB (for --journal fdb:CLUSTER_FILE)")]
#[serde(default, deny_unknown_fields)]
pub struct FdbConfig {
    /// Name that the journal's keys begin with, so that several journals can share a cluster; all nodes of a journal give
    /// the same. Without it the keys are as they are
    #[arg(id = "fdb.subspace", long = "fdb-subspace", value_name = "NAME")]
    pub subspace: Option<Subspace>,

    /// PEM file with this node's certificate chain, for a cluster that uses TLS
    #[arg(id = "fdb.tls_certificate", long = "fdb-tls-certificate", value_name = "PATH")]
    pub tls_certificate: Option<PathBuf>,

    /// PEM file with the private key of that certificate
    #[arg(id = "fdb.tls_key", long = "fdb-tls-key", value_name = "PATH")]
    pub tls_key: Option<PathBuf>,

    /// PEM file with the certificate authorities that the cluster's servers are checked against
    #[arg(id = "fdb.tls_ca", long = "fdb-tls-ca", value_name = "PATH")]
    pub tls_ca: Option<PathBuf>,

    /// What the certificates of the cluster's servers must say, such as Check.Valid=1,S.O=Example
    #[arg(id = "fdb.tls_verify_peers", long = "fdb-tls-verify-peers", value_name = "RULE")]
    pub tls_verify_peers: Option<String>,
}

#[cfg(feature = "fdb")]
impl FdbConfig {
    /// What the engine needs for the cluster of `cluster_file`.
    pub(crate) fn options(&self, cluster_file: &Path) -> FdbOptions {
        let mut options = FdbOptions::new(cluster_file);
        options.subspace = self.subspace.as_ref().map(|subspace| subspace.get().clone()).unwrap_or_default();
        options.tls = Tls {
            certificate: self.tls_certificate.clone(),
            key: self.tls_key.clone(),
            ca: self.tls_ca.clone(),
            verify_peers: self.tls_verify_peers.clone(),
        };
        options
    }
}
