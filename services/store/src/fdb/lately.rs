//! What this process has written lately, and at which version: what is presumed of that need not be read.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

/// How long a version serves. FoundationDB knows for five seconds what was written since.
const AGE: Duration = Duration::from_secs(3);
/// Most keys that are remembered.
const MOST_KEYS: usize = 4_096;
/// Largest value that is.
const MOST_BYTES: usize = 4 << 10;

/// Values of keys, each with the version of the commit that wrote it. What is not remembered is read.
#[derive(Default)]
pub(super) struct Lately {
    written: HashMap<Vec<u8>, Written>,
    /// When those that are too old were last looked for.
    looked: Option<Instant>,
}

struct Written {
    value: Bytes,
    version: i64,
    at: Instant,
}

impl Lately {
    /// Notes that the commit of `version` has set `key` to `value`.
    pub(super) fn note(&mut self, key: Vec<u8>, value: Bytes, version: i64, now: Instant) {
        if value.len() <= MOST_BYTES && (self.written.contains_key(&key) || self.has_room(now)) {
            self.written.insert(key, Written { value, version, at: now });
        }
    }

    /// A version at which `key` had this value, if there is one that serves.
    pub(super) fn version(&self, key: &[u8], value: &Bytes, now: Instant) -> Option<i64> {
        let written = self.written.get(key).filter(|written| written.value == value)?;
        (now - written.at < AGE).then_some(written.version)
    }

    /// Whether anything is remembered of `key`.
    pub(super) fn knows(&self, key: &[u8]) -> bool {
        self.written.contains_key(key)
    }

    fn has_room(&mut self, now: Instant) -> bool {
        let look = self.looked.is_none_or(|looked| now - looked >= AGE);
        if self.written.len() >= MOST_KEYS && look {
            self.looked = Some(now);
            self.written.retain(|_, written| now - written.at < AGE);
        }
        self.written.len() < MOST_KEYS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: Bytes = Bytes::from_static(b"value");

    #[test]
    fn a_version_serves_for_its_value_and_not_for_long() {
        let (mut lately, now) = (Lately::default(), Instant::now());
        lately.note(b"key".to_vec(), VALUE, 7, now);
        assert_eq!(lately.version(b"key", &VALUE, now), Some(7));
        assert_eq!(lately.version(b"key", &Bytes::from_static(b"other"), now), None);
        assert_eq!(lately.version(b"yek", &VALUE, now), None);
        assert_eq!(lately.version(b"key", &VALUE, now + AGE), None);
        lately.note(b"key".to_vec(), VALUE, 8, now + AGE);
        assert_eq!(lately.version(b"key", &VALUE, now + AGE), Some(8));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_makes_room_once_it_is_old() {
        let (mut lately, now) = (Lately::default(), Instant::now());
        for number in 0..2 * MOST_KEYS {
            lately.note(number.to_le_bytes().to_vec(), VALUE, 1, now);
        }
        lately.note(b"large".to_vec(), Bytes::from(vec![0; MOST_BYTES + 1]), 1, now + AGE);
        assert_eq!(lately.written.len(), MOST_KEYS);
        lately.note(b"key".to_vec(), VALUE, 2, now + AGE);
        assert_eq!((lately.written.len(), lately.version(b"key", &VALUE, now + AGE)), (1, Some(2)));
    }
}
