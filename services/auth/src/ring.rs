//! The keys that sign the tokens of a deployment, in a file (tokens.md section 6).

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use stream_session::token::{Key, KeyRing};

use crate::InvalidFile;
use crate::file::{Watched, from_toml};

/// The key ring of a deployment, as it is at each moment.
pub struct KeyRings(Source);

enum Source {
    Fixed(Arc<KeyRing>),
    File(Watched<KeyRing>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRing {
    issuer: String,
    active: WrittenKey,
    #[serde(default)]
    verify_only: Vec<WrittenKey>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenKey {
    id: String,
    /// In base64.
    secret: String,
}

impl KeyRings {
    /// A ring that never changes.
    #[must_use]
    pub fn fixed(ring: KeyRing) -> Self {
        Self(Source::Fixed(Arc::new(ring)))
    }

    /// The ring in a file, read again when the file has changed.
    ///
    /// # Errors
    /// [`InvalidFile`], also for a ring against the rules (K1).
    pub fn open(path: &Path) -> Result<Self, InvalidFile> {
        Watched::open(path, read).map(|file| Self(Source::File(file)))
    }

    /// The ring now.
    #[must_use]
    pub fn current(&self) -> Arc<KeyRing> {
        match &self.0 {
            Source::Fixed(ring) => Arc::clone(ring),
            Source::File(file) => file.current(),
        }
    }
}

fn read(text: &str) -> Result<KeyRing, String> {
    let WrittenRing { issuer, active, verify_only } = from_toml(text)?;
    let verify_only = verify_only.into_iter().map(key).collect::<Result<Vec<_>, _>>()?;
    KeyRing::new(issuer, key(active)?, verify_only).map_err(|invalid| invalid.to_string())
}

fn key(written: WrittenKey) -> Result<Key, String> {
    let secret = STANDARD.decode(&written.secret);
    let secret = secret.map_err(|_| "the secret of a key must be base64".to_owned())?;
    Ok(Key { id: written.id, secret })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(issuer: &str, active: (&str, usize), other: (&str, usize)) -> String {
        let key = |(id, bytes): (&str, usize)| format!("id = {id:?}\nsecret = {:?}\n", STANDARD.encode(vec![7; bytes]));
        format!("issuer = {issuer:?}\n[active]\n{}[[verify_only]]\n{}", key(active), key(other))
    }

    #[test]
    fn k1_rings_against_the_rules_are_refused_at_start() {
        let long = "k".repeat(65);
        for (bad, why) in [
            (ring("", ("a", 32), ("b", 32)), "issuer"),
            (ring("d", ("a", 31), ("b", 32)), "shorter"),
            (ring("d", ("a", 32), ("b", 31)), "shorter"),
            (ring("d", ("a", 32), ("a", 32)), "twice"),
            (ring("d", ("", 32), ("b", 32)), "64 bytes"),
            (ring("d", (&long, 32), ("b", 32)), "64 bytes"),
            (ring("d", ("a", 32), ("b", 32)).replace("BwcH", "!"), "base64"),
            (ring("d", ("a", 32), ("b", 32)).replace("verify_only", "other"), "other"),
            (String::new(), "issuer"),
        ] {
            let problem = read(&bad).unwrap_err();
            assert!(problem.contains(why), "{problem} for {bad}");
            assert!(!problem.contains("BwcH"), "{problem}");
        }
    }

    #[test]
    fn k2_a_key_becomes_active_without_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys.toml");
        std::fs::write(&path, ring("d", ("a", 32), ("b", 32))).unwrap();
        let rings = KeyRings::open(&path).unwrap();
        assert_eq!(rings.current().active(), "a");
        std::fs::write(&path, ring("d", ("b", 32), ("a", 33))).unwrap();
        assert_eq!(rings.current().active(), "b");
        std::fs::write(&path, ring("d", ("c", 3), ("a", 33))).unwrap();
        assert_eq!(rings.current().active(), "b", "a ring against the rules changes nothing");
    }
}
