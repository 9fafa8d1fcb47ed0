//! How a node talks to the others on the journal.

use std::env::VarError;
use std::path::PathBuf;

use clap::{ArgAction, Args};
use cluster::{NatsCredentials, NatsSettings, NatsTls};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Period, Problem};

/// NATS, through which the nodes on one journal hear of each other at once. Passwords and tokens are taken from the
/// environment, and everything else that is secret from files.
#[derive(Clone, Debug, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "NATS (credentials: NATS_USER and NATS_PASSWORD, or NATS_TOKEN)")]
#[serde(default, deny_unknown_fields)]
pub struct NatsConfig {
    /// Address of a NATS server, nats://host:4222 or tls://host:4222; repeatable, comma-separated in the environment.
    /// Without one, nodes on the same journal learn of each other by polling
    #[arg(id = "nats.url", long = "nats-url", value_name = "URL", value_delimiter = ',', action = ArgAction::Append)]
    pub url: Vec<String>,

    /// What every NATS subject begins with. Only nodes with the same prefix hear each other
    #[arg(id = "nats.prefix", long = "nats-prefix", value_name = "PREFIX")]
    pub prefix: String,

    /// How often a node says that it is there. The others count it as gone after three such periods of silence
    #[arg(id = "nats.heartbeat", long = "nats-heartbeat", value_name = "TIME")]
    pub heartbeat: Period,

    /// Credentials file of the node: its JWT and its nkey. Read each time it connects
    #[arg(id = "nats.creds", long = "nats-creds", value_name = "PATH")]
    pub creds: Option<PathBuf>,

    /// File with the seed of the node's nkey. Read each time it connects
    #[arg(id = "nats.nkey", long = "nats-nkey", value_name = "PATH")]
    pub nkey: Option<PathBuf>,

    /// Certificates (PEM) of the authorities that servers are checked against, and nothing but TLS is spoken. For tls://
    /// without it, those of the operating system
    #[arg(id = "nats.ca", long = "nats-ca", value_name = "PATH")]
    pub ca: Option<PathBuf>,

    /// Certificate (PEM) of the node, for servers that ask for one
    #[arg(id = "nats.cert", long = "nats-cert", value_name = "PATH")]
    pub cert: Option<PathBuf>,

    /// Key (PEM) of that certificate
    #[arg(id = "nats.key", long = "nats-key", value_name = "PATH")]
    pub key: Option<PathBuf>,
}

/// The credentials for NATS in the environment cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidNatsCredentials {
    /// A variable is not text.
    #[error("{0} is not text")]
    NotText(&'static str),
    /// One half is missing.
    #[error("NATS_USER and NATS_PASSWORD need each other")]
    Half,
    /// It is not clear who the node is.
    #[error("of NATS_USER, NATS_TOKEN, nats.creds and nats.nkey only one can be used")]
    Several,
}

/// Reads a variable of the environment.
type Read<'a> = &'a dyn Fn(&'static str) -> Result<String, VarError>;

impl Default for NatsConfig {
    fn default() -> Self {
        let NatsSettings { prefix, heartbeat, .. } = NatsSettings::default();
        let heartbeat = Period::of(heartbeat);
        Self { url: Vec::new(), prefix, heartbeat, creds: None, nkey: None, ca: None, cert: None, key: None }
    }
}

impl NatsConfig {
    /// What is wrong, whatever the environment and the files hold.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let values = if self.url.is_empty() { Vec::new() } else { self.without_credentials().problems() };
        let values = values.into_iter().map(|problem| problem.to_string());
        let halves = (self.cert.is_some() != self.key.is_some()).then(|| "cert and key need each other".to_owned());
        let several = (self.creds.is_some() && self.nkey.is_some()).then(|| "only one of creds and nkey".to_owned());
        values.chain(halves).chain(several).map(|message| Problem::new("nats", message)).collect()
    }

    /// What a node needs to reach NATS, if it is to, with credentials from the variables that `read` knows.
    ///
    /// # Errors
    /// [`InvalidNatsCredentials`].
    pub(crate) fn settings(&self, read: Read<'_>) -> Result<Option<NatsSettings>, InvalidNatsCredentials> {
        if self.url.is_empty() {
            return Ok(None);
        }
        let files = self.creds.clone().map(NatsCredentials::Creds);
        let files = files.into_iter().chain(self.nkey.clone().map(NatsCredentials::Nkey));
        let mut given: Vec<_> = files.chain(password(read)?).chain(token(read)?).collect();
        if given.len() > 1 {
            return Err(InvalidNatsCredentials::Several);
        }
        let credentials = given.pop().unwrap_or_default();
        Ok(Some(NatsSettings { credentials, ..self.without_credentials() }))
    }

    fn without_credentials(&self) -> NatsSettings {
        NatsSettings {
            servers: self.url.clone(),
            prefix: self.prefix.clone(),
            heartbeat: self.heartbeat.get(),
            credentials: NatsCredentials::None,
            tls: NatsTls { ca: self.ca.clone(), identity: self.cert.clone().zip(self.key.clone()) },
        }
    }
}

fn password(read: Read<'_>) -> Result<Option<NatsCredentials>, InvalidNatsCredentials> {
    match (variable(read, "NATS_USER")?, variable(read, "NATS_PASSWORD")?) {
        (None, None) => Ok(None),
        (Some(user), Some(password)) => Ok(Some(NatsCredentials::Password { user, password })),
        _ => Err(InvalidNatsCredentials::Half),
    }
}

fn token(read: Read<'_>) -> Result<Option<NatsCredentials>, InvalidNatsCredentials> {
    Ok(variable(read, "NATS_TOKEN")?.map(NatsCredentials::Token))
}

/// An empty variable counts as unset.
fn variable(read: Read<'_>, name: &'static str) -> Result<Option<String>, InvalidNatsCredentials> {
    match read(name) {
        Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(InvalidNatsCredentials::NotText(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(
        config: &NatsConfig,
        variables: &[(&str, &str)],
    ) -> Result<Option<NatsSettings>, InvalidNatsCredentials> {
        config.settings(&|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned()).ok_or(VarError::NotPresent)
        })
    }

    fn credentials(config: &NatsConfig, variables: &[(&str, &str)]) -> Result<String, InvalidNatsCredentials> {
        settings(config, variables).map(|settings| format!("{:?}", settings.unwrap().credentials))
    }

    #[test]
    fn without_an_address_there_is_no_nats() {
        assert!(settings(&NatsConfig::default(), &[("NATS_TOKEN", "t")]).unwrap().is_none());
    }

    #[test]
    fn credentials_come_from_one_place() {
        let open = NatsConfig { url: vec!["nats://h:4222".into()], ..NatsConfig::default() };
        let keyed = NatsConfig { nkey: Some("seed".into()), ..open.clone() };
        let (user, password, token) = (("NATS_USER", "me"), ("NATS_PASSWORD", "secret"), ("NATS_TOKEN", "secret"));
        assert_eq!(credentials(&open, &[]).unwrap(), "None");
        assert_eq!(credentials(&open, &[("NATS_TOKEN", "")]).unwrap(), "None");
        assert_eq!(credentials(&open, &[user, password]).unwrap(), "Password(..)");
        assert_eq!(credentials(&open, &[token]).unwrap(), "Token(..)");
        assert_eq!(credentials(&keyed, &[]).unwrap(), "Nkey(..)");
        assert_eq!(credentials(&open, &[user]), Err(InvalidNatsCredentials::Half));
        assert_eq!(credentials(&open, &[user, password, token]), Err(InvalidNatsCredentials::Several));
        assert_eq!(credentials(&keyed, &[token]), Err(InvalidNatsCredentials::Several));
    }
}
