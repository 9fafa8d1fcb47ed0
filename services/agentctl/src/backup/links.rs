//! Which record of which holder forks go on from.

use std::collections::{HashMap, HashSet};

use super::entry::{HolderEntry, InheritedEntry};

/// Collects what forks say of their ancestors, and then tells what the ancestors must have. Grows with the number of forks.
#[derive(Debug, Default)]
pub struct Links {
    /// What comes before the first own record of each holder that has something before it.
    bases: HashMap<String, (i64, String)>,
    lineages: Vec<(String, Vec<HolderEntry>)>,
}

/// The hash that a holder's record must have, and the fork that says so.
#[derive(Debug, Default)]
pub struct Expected(HashMap<(String, i64), Vec<(String, String)>>);

impl Links {
    /// Notes what the holder `uid` says of its ancestors.
    pub fn note(&mut self, uid: &str, inherited: &InheritedEntry) {
        self.bases.insert(uid.to_owned(), (inherited.last_seq, inherited.hash.clone()));
        if !inherited.lineage.is_empty() {
            self.lineages.push((uid.to_owned(), inherited.lineage.clone()));
        }
    }

    /// What the ancestors must have, for all forks that are not `dropped`.
    ///
    /// # Errors
    /// The fork whose lineage has a gap, and the seq of that.
    pub fn expected(self, dropped: &HashSet<String>) -> Result<Expected, (String, i64)> {
        let mut expected = Expected::default();
        for (uid, lineage) in self.lineages.iter().filter(|(uid, _)| !dropped.contains(uid)) {
            let next = lineage.iter().skip(1).map(|holder| holder.uid.as_str()).chain([uid.as_str()]);
            for (holder, next) in lineage.iter().zip(next) {
                let base = self.bases.get(next).filter(|(last, _)| *last == holder.up_to);
                let (last, hash) = base.ok_or_else(|| (uid.clone(), holder.up_to.saturating_add(1)))?;
                let at = (holder.uid.clone(), *last);
                expected.0.entry(at).or_default().push((uid.clone(), hash.clone()));
            }
        }
        Ok(expected)
    }
}

impl Expected {
    /// Takes note of a record. Returns the fork that goes on from another one.
    pub fn meet(&mut self, holder: &str, seq: i64, hash: &str) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let expected = self.0.remove(&(holder.to_owned(), seq))?;
        expected.into_iter().find(|(_, expected)| expected != hash).map(|(fork, _)| fork)
    }

    /// A fork that goes on from a record that has not been met.
    pub fn unmet(&self) -> Option<(&str, i64)> {
        self.0.iter().find_map(|((_, seq), forks)| Some((forks.first()?.0.as_str(), *seq)))
    }
}
