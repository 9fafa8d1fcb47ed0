//! Who presents a credential.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use crate::InvalidFile;
use crate::file::{Watched, from_toml};
use crate::issuer::{Issuer, IssuerSettings};
use crate::static_keys::{self, StaticKey};

/// Who invokes agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Whom the sessions belong to.
    pub account: String,
    /// Who acts, as policies name it.
    pub principal: String,
}

/// Tells who presents a credential.
pub struct Authenticator(Source);

enum Source {
    /// Everybody is the same caller.
    Development,
    File(Watched<Credentials>),
}

/// What the file says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, rename = "key")]
    keys: Vec<StaticKey>,
    #[serde(default, rename = "issuer")]
    issuers: Vec<IssuerSettings>,
}

struct Credentials {
    keys: Vec<StaticKey>,
    issuers: Vec<Arc<Issuer>>,
}

impl Authenticator {
    /// Takes whoever comes for the developer. For a listener that nobody else can reach.
    #[must_use]
    pub fn development() -> Self {
        Self(Source::Development)
    }

    /// Knows the keys and trusts the issuers that `path` names, as the file is at each moment.
    ///
    /// # Errors
    /// [`InvalidFile`].
    pub fn open(path: &Path) -> Result<Self, InvalidFile> {
        Watched::open(path, read).map(|file| Self(Source::File(file)))
    }

    /// Who presents `credential`; `None` if it is not valid. May ask an issuer for its keys, which has a bound of
    /// seconds.
    pub async fn caller(&self, credential: &str) -> Option<Caller> {
        let credentials = match &self.0 {
            Source::Development => return Some(Caller::developer()),
            Source::File(file) => file.current(),
        };
        if let Some(holder) = static_keys::holder(&credentials.keys, credential) {
            return Some(holder);
        }
        let named = Issuer::named_by(credential)?;
        let issuer = credentials.issuers.iter().find(|issuer| issuer.name() == named)?;
        issuer.caller(credential).await
    }
}

impl Caller {
    fn developer() -> Self {
        Self { account: "development".to_owned(), principal: "development".to_owned() }
    }
}

fn read(text: &str) -> Result<Credentials, String> {
    let Written { keys, issuers } = from_toml(text)?;
    if let Some(problem) = keys.iter().find_map(StaticKey::problem) {
        return Err(problem.to_owned());
    }
    if let Some((first, second)) = repeated(&keys, StaticKey::is_same_key) {
        return Err(format!("keys {first} and {second} have the same sha256: a key has one account and one principal"));
    }
    let issuers = issuers.into_iter().map(|settings| Issuer::new(settings).map(Arc::new));
    let issuers = issuers.collect::<Result<Vec<_>, _>>()?;
    if let Some((first, second)) = repeated(&issuers, |one, other| one.name() == other.name()) {
        return Err(format!("issuers {first} and {second} have the same name: each is given once"));
    }
    Ok(Credentials { keys, issuers })
}

/// The places, counted from 1, of two that are the same.
fn repeated<T>(all: &[T], same: impl Fn(&T, &T) -> bool) -> Option<(usize, usize)> {
    all.iter().enumerate().find_map(|(place, one)| {
        let before = all[..place].iter().position(|other| same(one, other))?;
        Some((before + 1, place + 1))
    })
}

#[cfg(test)]
mod tests;
