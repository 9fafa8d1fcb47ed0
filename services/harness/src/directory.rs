//! The harnesses that a host's own configuration names (registry.md §7.1).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::str::FromStr;
use std::sync::Arc;

use controller::ports::{HarnessDirectory, HarnessSource, Runtime, ServedHarness, StaticHarnesses};
use thiserror::Error;
use wire::Resumability;

use crate::remote::{HarnessAddress, InvalidAddress, Remote, RemoteOptions};
use crate::{Chat, Echo, InProcess};

/// Names that this build may use for harnesses of its own, configured or not.
const RESERVED_NAMES: [&str; 2] = [Echo::NAME, Chat::NAME];

/// The static harnesses of a host: `echo`, which is the default; `chat` where there is a model; and remote ones.
///
/// Registered harnesses are not in it: [`controller::Registry`] has those, and asks here first, because a static name
/// wins.
pub struct Directory {
    harnesses: BTreeMap<String, ServedHarness>,
}

/// A `name=address` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedAddress {
    /// The registry name.
    pub name: String,
    /// Where it is.
    pub address: HarnessAddress,
}

/// Why a text is not a [`NamedAddress`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidNamedAddress {
    /// No `=`, or nothing before it.
    #[error("write a harness as name=address")]
    NoName,
    /// The part after the `=`.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
}

/// Why a configuration names no directory.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DirectoryProblem {
    /// The name is that of a built-in harness.
    #[error("harness {0} is built in")]
    BuiltIn(String),
    /// The name is given twice.
    #[error("harness {0} is configured twice")]
    Duplicate(String),
    /// Its model requests could not be answered.
    #[error("harness {0} needs a model to be configured")]
    NeedsModel(String),
}

impl Directory {
    /// The directory of a host with this model and these remote harnesses.
    ///
    /// # Errors
    /// Everything that is wrong with the configuration.
    pub fn new(
        model: Option<&str>,
        remotes: Vec<NamedAddress>,
        options: &RemoteOptions,
    ) -> Result<Self, Vec<DirectoryProblem>> {
        let mut harnesses = built_in(model);
        let mut problems = Vec::new();
        for NamedAddress { name, address } in remotes {
            if model.is_none() {
                problems.push(DirectoryProblem::NeedsModel(name.clone()));
            }
            match harnesses.entry(name) {
                Entry::Occupied(taken) => problems.push(DirectoryProblem::taken(taken.key())),
                Entry::Vacant(free) => {
                    free.insert(served(Remote::new(address, options.clone()), Resumability::Unspecified));
                }
            }
        }
        if problems.is_empty() { Ok(Self { harnesses }) } else { Err(problems) }
    }
}

impl DirectoryProblem {
    fn taken(name: &str) -> Self {
        if RESERVED_NAMES.contains(&name) { Self::BuiltIn(name.to_owned()) } else { Self::Duplicate(name.to_owned()) }
    }
}

impl HarnessDirectory for Directory {
    fn default_name(&self) -> &str {
        Echo::NAME
    }

    fn find(&self, name: &str) -> Option<ServedHarness> {
        self.harnesses.get(name).cloned()
    }
}

impl StaticHarnesses for Directory {
    fn names(&self) -> Vec<String> {
        self.harnesses.keys().cloned().collect()
    }

    fn reserved_names(&self) -> Vec<String> {
        RESERVED_NAMES.map(str::to_owned).into()
    }
}

fn built_in(model: Option<&str>) -> BTreeMap<String, ServedHarness> {
    let echo = served(InProcess::new(Echo), Resumability::StatelessReplay);
    let chat = model.map(|model| served(InProcess::new(Chat::new(model)), Resumability::StatelessReplay));
    [(Echo::NAME, Some(echo)), (Chat::NAME, chat)]
        .into_iter()
        .filter_map(|(name, harness)| Some((name.to_owned(), harness?)))
        .collect()
}

fn served(runtime: impl Runtime, resumability: Resumability) -> ServedHarness {
    ServedHarness {
        source: HarnessSource::Static,
        descriptor_id: String::new(),
        resumability,
        runtime: Arc::new(runtime),
    }
}

impl FromStr for NamedAddress {
    type Err = InvalidNamedAddress;

    fn from_str(text: &str) -> Result<Self, InvalidNamedAddress> {
        match text.split_once('=') {
            Some((name, address)) if !name.is_empty() => Ok(Self { name: name.to_owned(), address: address.parse()? }),
            _ => Err(InvalidNamedAddress::NoName),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(model: Option<&str>, remotes: &[&str]) -> Result<Directory, Vec<DirectoryProblem>> {
        let remotes = remotes.iter().map(|text| text.parse().unwrap()).collect();
        Directory::new(model, remotes, &RemoteOptions::default())
    }

    #[test]
    fn echo_is_always_there_and_the_default() {
        let directory = directory(None, &[]).unwrap_or_else(|problems| panic!("{problems:?}"));
        assert_eq!((directory.names(), directory.default_name()), (vec!["echo".to_owned()], "echo"));
        assert!(directory.find("chat").is_none());
    }

    #[test]
    fn model_brings_chat_and_lets_remote_harnesses_in() {
        let remotes = ["b=127.0.0.1:1", "a=unix:/s"];
        let directory = directory(Some("m"), &remotes).unwrap_or_else(|problems| panic!("{problems:?}"));
        assert_eq!(directory.names(), ["a", "b", "chat", "echo"]);
        assert_eq!(directory.find("a").unwrap().source, HarnessSource::Static);
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let remotes = ["echo=h:1", "a=h:1", "a=h:2", "chat=h:3"];
        let of = |name: &str| name.to_owned();
        let problems = directory(Some("m"), &remotes).err().unwrap();
        assert_eq!(
            problems,
            [
                DirectoryProblem::BuiltIn(of("echo")),
                DirectoryProblem::Duplicate(of("a")),
                DirectoryProblem::BuiltIn(of("chat")),
            ]
        );
        let problems = directory(None, &["a=h:1"]).err().unwrap();
        assert_eq!(problems, [DirectoryProblem::NeedsModel(of("a"))]);
    }

    #[test]
    fn named_address_needs_both_parts() {
        assert_eq!("=h:1".parse::<NamedAddress>(), Err(InvalidNamedAddress::NoName));
        assert_eq!("h:1".parse::<NamedAddress>(), Err(InvalidNamedAddress::NoName));
        assert!(matches!("a=".parse::<NamedAddress>(), Err(InvalidNamedAddress::Address(_))));
    }
}
