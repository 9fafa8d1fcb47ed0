//! The subjects of one cluster.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use journal::{Incarnation, SessionUid};

/// Names the subjects under a prefix. Clusters with different prefixes share NATS without hearing each other.
pub(super) struct Subjects {
    root: String,
}

impl Subjects {
    /// The version in the name is that of the protocol: messages that change so that older nodes would misread them move
    /// under another one.
    pub(super) fn under(prefix: &str) -> Self {
        Self { root: format!("{prefix}.v1") }
    }

    /// Heartbeats.
    pub(super) fn beats(&self) -> String {
        format!("{}.nodes", self.root)
    }

    /// What one run of a node is asked and told.
    pub(super) fn run(&self, incarnation: Incarnation) -> String {
        format!("{}.run.{incarnation}", self.root)
    }

    /// News of a session. A uid may hold any character; of these, base64url uses only what a subject may hold.
    pub(super) fn session(&self, session: &SessionUid) -> String {
        format!("{}.session.{}", self.root, URL_SAFE_NO_PAD.encode(session.as_str()))
    }

    /// Says that the registry of harnesses has changed.
    pub(super) fn registry(&self) -> String {
        format!("{}.registry", self.root)
    }

    /// Under which answers come back.
    pub(super) fn answers(&self) -> String {
        format!("{}.answer", self.root)
    }
}

/// Whether subjects can begin like this: words of letters, digits, `-` and `_`, with dots in between.
pub(super) fn is_prefix(text: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    text.len() <= MAX_PREFIX && text.split('.').all(word)
}

/// Far from the longest subject that servers take, with the longest uid behind it.
const MAX_PREFIX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_uid_is_one_word_of_a_subject_and_no_two_are_the_same() {
        let subjects = Subjects::under("agentsessions");
        let longest = "\u{10ffff}".repeat(SessionUid::MAX_BYTES / 4);
        let uids = ["sess-1", "SESS-1", "a.b", "a", ">", "*", " ", "\r\n", "é", longest.as_str()];
        let named = uids.map(|uid| subjects.session(&SessionUid::parse(uid).unwrap()));
        for (uid, subject) in uids.iter().zip(&named) {
            let word = subject.strip_prefix("agentsessions.v1.session.").unwrap();
            assert!(is_prefix(word) || word.len() > MAX_PREFIX, "{uid:?}");
            assert!(subject.len() < 1024 && !word.contains(['.', ' ', '*', '>', '\r', '\n']), "{uid:?}");
            assert_eq!(named.iter().filter(|other| *other == subject).count(), 1, "{uid:?}");
        }
    }

    #[test]
    fn prefixes_are_words_with_dots_in_between() {
        for good in ["agentsessions", "prod.agents-2", "a_b"] {
            assert!(is_prefix(good), "{good:?}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", "a b", "a.*", "a.>", "$SYS", "é", "\n"] {
            assert!(!is_prefix(bad), "{bad:?}");
        }
        assert!(!is_prefix(&"a".repeat(MAX_PREFIX + 1)));
    }
}
