//! The public keys of an issuer (RFC 7517), cached.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use egress::{Endpoint, Failure};
use jsonwebtoken::Algorithm;
use jsonwebtoken::jwk::{Jwk, JwkSet, PublicKeyUse};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::file::Watched;

/// Shortest time between two requests for the keys: whoever makes up key ids must not make us ask for each.
const REFRESH_PAUSE: Duration = Duration::from_secs(30);
/// Keys are asked for anew after this time, so that one that was withdrawn is not accepted forever.
const MAX_AGE: Duration = Duration::from_secs(600);
/// Longest time for a request.
const REQUEST_BOUND: Duration = Duration::from_secs(5);
/// Largest answer that is read, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// The keys of an issuer.
pub(crate) struct KeySet(Place);

enum Place {
    File(Watched<JwkSet>),
    Url(Box<Remote>),
}

struct Remote {
    endpoint: Endpoint,
    client: reqwest::Client,
    /// Held while the keys are asked for, so that one request serves all who wait.
    cached: Mutex<Cached>,
}

#[derive(Default)]
struct Cached {
    keys: Arc<JwkSet>,
    /// When they were asked for last, whether in vain or not.
    asked: Option<Instant>,
    /// When they were got last.
    got: Option<Instant>,
}

impl KeySet {
    /// The keys at a URL or in a file. A file is read now, a URL when it is needed.
    ///
    /// # Errors
    /// What is wrong with the place.
    pub(crate) fn new(place: &str) -> Result<Self, String> {
        if !place.contains("://") {
            let file = Watched::open(&PathBuf::from(place), read).map_err(|invalid| invalid.to_string())?;
            return Ok(Self(Place::File(file)));
        }
        let endpoint = Endpoint::parse(place).map_err(|invalid| format!("jwks {invalid}"))?;
        // Whoever can change them on the way can sign tokens.
        if endpoint.is_cleartext() && !endpoint.is_loopback() {
            return Err("jwks must be an https URL, a file, or an http URL of this machine".to_owned());
        }
        let client = egress::builder(&endpoint, REQUEST_BOUND).timeout(REQUEST_BOUND).build();
        let client = client.map_err(|error| format!("jwks: {}", egress::root_cause(&error)))?;
        Ok(Self(Place::Url(Box::new(Remote { endpoint, client, cached: Mutex::default() }))))
    }

    /// The key of this id, for signatures of this algorithm. Without an id, the only such key there is.
    pub(crate) async fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<Jwk> {
        match &self.0 {
            Place::File(file) => select(&file.current(), id, algorithm),
            Place::Url(remote) => remote.find(id, algorithm).await,
        }
    }
}

impl Remote {
    async fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<Jwk> {
        let mut cached = self.cached.lock().await;
        let known = select(&cached.keys, id, algorithm);
        let fresh = cached.got.is_some_and(|got| got.elapsed() < MAX_AGE);
        if (known.is_some() && fresh) || cached.asked.is_some_and(|asked| asked.elapsed() < REFRESH_PAUSE) {
            return known;
        }
        cached.asked = Some(Instant::now());
        match self.fetch().await {
            Ok(keys) => {
                cached.keys = Arc::new(keys);
                cached.got = Some(Instant::now());
            }
            Err(problem) => tracing::warn!(problem, "keys of an issuer cannot be read, those read last still hold"),
        }
        select(&cached.keys, id, algorithm)
    }

    async fn fetch(&self) -> Result<JwkSet, String> {
        let failed = |error: reqwest::Error| Failure::from(&error).to_string();
        let request = self.client.get(self.endpoint.url().clone()).send().await;
        let mut answer = request.and_then(reqwest::Response::error_for_status).map_err(failed)?;
        let mut text = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(failed)? {
            text.extend_from_slice(&part);
            if text.len() > MOST_BYTES {
                return Err("the answer is too long".to_owned());
            }
        }
        read(&String::from_utf8_lossy(&text))
    }
}

fn select(keys: &JwkSet, id: Option<&str>, algorithm: Algorithm) -> Option<Jwk> {
    let mut fitting = keys.keys.iter().filter(|key| {
        let common = &key.common;
        let named = id.is_none_or(|id| common.key_id.as_deref() == Some(id));
        let signs = common.public_key_use.as_ref().is_none_or(|of| *of == PublicKeyUse::Signature);
        // A key says with which algorithm it is used, or its kind does, which is looked at with the signature.
        let same = common.key_algorithm.is_none_or(|of| of.to_string().parse() == Ok(algorithm));
        named && signs && same
    });
    let found = fitting.next()?;
    (id.is_some() || fitting.next().is_none()).then(|| found.clone())
}

/// Keys of kinds that are not known are left out: an issuer may have more than we need.
fn read(text: &str) -> Result<JwkSet, String> {
    #[derive(serde::Deserialize)]
    struct Written {
        keys: Vec<serde_json::Value>,
    }
    let written: Written = serde_json::from_str(text).map_err(|_| "not a set of keys".to_owned())?;
    let keys = written.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok()).collect();
    Ok(JwkSet { keys })
}
