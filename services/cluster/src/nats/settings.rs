//! How this node reaches NATS.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::ServerAddr;
use thiserror::Error;

use super::subjects;

/// Shortest and longest time between two heartbeats.
const HEARTBEATS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(60));

/// How this node reaches NATS, and what it says there.
#[derive(Clone, Debug)]
pub struct NatsSettings {
    /// Addresses of servers of one cluster: `nats://host:port`, or `tls://host:port` to insist on TLS. One is enough if it
    /// can be reached: the servers name each other.
    pub servers: Vec<String>,
    /// What every subject begins with. Only nodes with the same prefix hear each other.
    pub prefix: String,
    /// How often this node says that it is there. It counts others as gone after three such periods of silence.
    pub heartbeat: Duration,
    /// How this node shows who it is.
    pub credentials: NatsCredentials,
    /// How the connection is encrypted.
    pub tls: NatsTls,
}

/// How a node shows NATS who it is. Files are read each time that it connects, so that they can be replaced.
#[derive(Clone, Default)]
pub enum NatsCredentials {
    /// It does not.
    #[default]
    None,
    /// By a name and a password.
    Password {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// By a token.
    Token(String),
    /// By the nkey whose seed is in this file.
    Nkey(PathBuf),
    /// By the JWT and the nkey in this credentials file.
    Creds(PathBuf),
}

/// TLS towards NATS. All files are PEM.
#[derive(Clone, Debug, Default)]
pub struct NatsTls {
    /// Certificates of the authorities that servers are checked against, and nothing but TLS is spoken; without it, those
    /// of the operating system.
    pub ca: Option<PathBuf>,
    /// Certificate and key of this node.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Why settings cannot be used.
#[derive(Debug, Error)]
pub enum NatsProblem {
    /// There is nowhere to connect to.
    #[error("no server is named")]
    NoServer,
    /// An address is none. Its text is not repeated: it may hold a password.
    #[error("server {number} is not an address such as nats://host:4222 or tls://host:4222")]
    Address {
        /// Its place in the list, from 1.
        number: usize,
    },
    /// An address holds a user, a password or a token, and addresses are shown to everybody.
    #[error("server {number} is given with credentials in its address; put them where only the node reads them")]
    Credentials {
        /// Its place in the list, from 1.
        number: usize,
    },
    /// The prefix cannot begin a subject.
    #[error("prefix {0:?} is not made of letters, digits, - and _, with dots in between")]
    Prefix(String),
    /// The heartbeat is too fast or too slow.
    #[error("the heartbeat must be between {} ms and {} s", HEARTBEATS.0.as_millis(), HEARTBEATS.1.as_secs())]
    Heartbeat,
    /// A file cannot be read.
    #[error("{path} cannot be read: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// A file holds something else than it should.
    #[error("{path} does not hold {expected}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What should be in it.
        expected: &'static str,
    },
}

impl Default for NatsSettings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            prefix: "agentsessions".to_owned(),
            heartbeat: Duration::from_millis(500),
            credentials: NatsCredentials::None,
            tls: NatsTls::default(),
        }
    }
}

impl NatsSettings {
    /// What is wrong with the values alone. No file is looked at.
    #[must_use]
    pub fn problems(&self) -> Vec<NatsProblem> {
        let no_server = self.servers.is_empty().then_some(NatsProblem::NoServer);
        let servers = self.servers.iter().zip(1..).filter_map(|(server, number)| address_problem(server, number));
        let prefix = (!subjects::is_prefix(&self.prefix)).then(|| NatsProblem::Prefix(self.prefix.clone()));
        let heartbeat = (HEARTBEATS.0..=HEARTBEATS.1).contains(&self.heartbeat);
        let heartbeat = (!heartbeat).then_some(NatsProblem::Heartbeat);
        no_server.into_iter().chain(servers).chain(prefix).chain(heartbeat).collect()
    }

    /// What is wrong with the files that are named.
    ///
    /// # Errors
    /// The first problem.
    pub fn check_files(&self) -> Result<(), NatsProblem> {
        let identity = self.tls.identity.iter().flat_map(|(certificate, key)| [certificate, key]);
        for path in self.tls.ca.iter().chain(identity) {
            read(path)?;
        }
        self.credentials.authenticated().map(drop)
    }

    /// The servers.
    pub(super) fn addresses(&self) -> Vec<ServerAddr> {
        self.servers.iter().filter_map(|server| server.parse().ok()).collect()
    }

    /// Silence after which another node counts as gone.
    pub(super) fn silence(&self) -> Duration {
        self.heartbeat * 3
    }
}

impl NatsCredentials {
    /// What a connection begins with.
    pub(super) fn authenticated(&self) -> Result<async_nats::ConnectOptions, NatsProblem> {
        let options = async_nats::ConnectOptions::new();
        Ok(match self {
            Self::None => options,
            Self::Password { user, password } => options.user_and_password(user.clone(), password.clone()),
            Self::Token(token) => options.token(token.clone()),
            Self::Nkey(path) => {
                let seed = read(path)?.trim().to_owned();
                let expected = "the seed of an nkey";
                nkeys::KeyPair::from_seed(&seed).map_err(|_| NatsProblem::Content { path: path.clone(), expected })?;
                options.nkey(seed)
            }
            Self::Creds(path) => {
                let expected = "a JWT and an nkey as in a credentials file";
                let wrong = |_| NatsProblem::Content { path: path.clone(), expected };
                options.credentials(&read(path)?).map_err(wrong)?
            }
        })
    }
}

impl fmt::Debug for NatsCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Password { .. } => "Password(..)",
            Self::Token(_) => "Token(..)",
            Self::Nkey(_) => "Nkey(..)",
            Self::Creds(_) => "Creds(..)",
        })
    }
}

fn address_problem(server: &str, number: usize) -> Option<NatsProblem> {
    let Ok(address) = server.parse::<ServerAddr>() else { return Some(NatsProblem::Address { number }) };
    let url = address.into_inner();
    if !matches!(url.scheme(), "nats" | "tls") || url.host().is_none() {
        return Some(NatsProblem::Address { number });
    }
    let telling = !url.username().is_empty() || url.password().is_some() || url.query().is_some();
    telling.then_some(NatsProblem::Credentials { number })
}

fn read(path: &Path) -> Result<String, NatsProblem> {
    std::fs::read_to_string(path).map_err(|source| NatsProblem::File { path: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(servers: &[&str]) -> NatsSettings {
        NatsSettings { servers: servers.iter().map(|text| (*text).to_owned()).collect(), ..NatsSettings::default() }
    }

    #[test]
    fn addresses_are_nats_or_tls_without_credentials() {
        let good = servers(&["nats://127.0.0.1:4222", "tls://nats.example.com", "localhost:4223", "nats://[::1]:4222"]);
        assert!(good.problems().is_empty());
        assert!(matches!(servers(&[]).problems()[..], [NatsProblem::NoServer]));
        for bad in ["http://127.0.0.1:4222", "ws://127.0.0.1:80", "nats://", ""] {
            assert!(matches!(servers(&[bad]).problems()[..], [NatsProblem::Address { number: 1 }]), "{bad:?}");
        }
        for telling in ["nats://me:secret@127.0.0.1:4222", "nats://secret@127.0.0.1:4222", "secret@127.0.0.1"] {
            let problems = servers(&["127.0.0.1", telling]).problems();
            assert!(matches!(problems[..], [NatsProblem::Credentials { number: 2 }]), "{telling:?}");
            assert!(!problems[0].to_string().contains("secret"));
        }
    }

    #[test]
    fn every_problem_is_found() {
        let settings = NatsSettings { prefix: "a b".into(), heartbeat: Duration::ZERO, ..servers(&["nats://"]) };
        let problems = settings.problems();
        assert!(matches!(problems[..], [NatsProblem::Address { .. }, NatsProblem::Prefix(_), NatsProblem::Heartbeat]));
    }

    #[test]
    fn files_are_looked_at_and_secrets_are_not_shown() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        let with = |credentials| NatsSettings { credentials, ..servers(&["localhost"]) };
        let nkey = with(NatsCredentials::Nkey(file.clone()));
        assert!(matches!(nkey.check_files(), Err(NatsProblem::File { .. })));
        std::fs::write(&file, "SECRET").unwrap();
        let creds = with(NatsCredentials::Creds(file.clone()));
        for settings in [&nkey, &creds] {
            let problem = settings.check_files().unwrap_err();
            assert!(matches!(problem, NatsProblem::Content { .. }) && !problem.to_string().contains("SECRET"));
        }
        let seed = nkeys::KeyPair::new_user().seed().unwrap();
        std::fs::write(&file, format!("{seed}\n")).unwrap();
        nkey.check_files().unwrap();
        let password = NatsCredentials::Password { user: "me".into(), password: "secret".into() };
        for credentials in [password, NatsCredentials::Token("secret".into())] {
            assert!(!format!("{:?}", with(credentials)).contains("secret"));
        }
    }
}
