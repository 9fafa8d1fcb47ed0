//! The harnesses that a host's own configuration names (registry.md §7.1).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use controller::ports::{HarnessDirectory, HarnessSource, Runtime, ServedHarness, StaticHarnesses};
use thiserror::Error;
use wire::Resumability;

use crate::remote::{HarnessAddress, InvalidAddress, Remote, RemoteOptions};
use crate::{Chat, Echo, InProcess, Process, Program};

/// Names that this build may use for harnesses of its own, configured or not.
const RESERVED_NAMES: [&str; 2] = [Echo::NAME, Chat::NAME];

/// The static harnesses of a host: `echo`, which is the default; `chat` where there is a model; and those outside of this
/// process.
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

/// A program that is started for each turn, and its name in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedProcess {
    /// The registry name.
    pub name: String,
    /// The program: its path, or its name if it is in a directory of `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The environment variables that it is given, beside a few that name places and languages.
    pub env: Vec<String>,
    /// Directory of the states of its sessions.
    pub states: PathBuf,
    /// What the harness will say of itself.
    pub resumability: Resumability,
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
    /// A process without a program.
    #[error("harness {0} has no command")]
    NoCommand(String),
    /// A program would miss an environment variable.
    #[error("harness {name} needs environment variable {variable}, which is not set")]
    Unset {
        /// The harness.
        name: String,
        /// The variable.
        variable: String,
    },
    /// Its model requests could not be answered.
    #[error("harness {0} needs a model to be configured")]
    NeedsModel(String),
}

impl Directory {
    /// The directory of a host with this model, and these harnesses outside of its process.
    ///
    /// # Errors
    /// Everything that is wrong with the configuration.
    pub fn new(
        model: Option<&str>,
        remotes: Vec<NamedAddress>,
        processes: Vec<NamedProcess>,
        options: &RemoteOptions,
    ) -> Result<Self, Vec<DirectoryProblem>> {
        let mut harnesses = built_in(model);
        let mut problems = Vec::new();
        let remotes = remotes.into_iter().map(|NamedAddress { name, address }| {
            Ok((name, served(Remote::new(address, options.clone()), Resumability::Unspecified)))
        });
        let processes = processes.into_iter().map(|process| process.served(options));
        for outside in remotes.chain(processes) {
            let (name, harness) = match outside {
                Ok(served) => served,
                Err(found) => {
                    problems.extend(found);
                    continue;
                }
            };
            if model.is_none() {
                problems.push(DirectoryProblem::NeedsModel(name.clone()));
            }
            match harnesses.entry(name) {
                Entry::Occupied(taken) => problems.push(DirectoryProblem::taken(taken.key())),
                Entry::Vacant(free) => drop(free.insert(harness)),
            }
        }
        if problems.is_empty() { Ok(Self { harnesses }) } else { Err(problems) }
    }
}

impl NamedProcess {
    fn served(self, options: &RemoteOptions) -> Result<(String, ServedHarness), Vec<DirectoryProblem>> {
        let Self { name, command, args, env, states, resumability } = self;
        if command.is_empty() {
            return Err(vec![DirectoryProblem::NoCommand(name)]);
        }
        let environment = env::program_environment(&env, &|variable| std::env::var_os(variable))
            .map_err(|unset| unset.into_iter().map(|variable| DirectoryProblem::Unset { name: name.clone(), variable }))
            .map_err(Vec::from_iter)?;
        let process = Process::new(Program { command, args, environment }, states, options.clone());
        Ok((name, served(process, resumability)))
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

    fn names(&self) -> Vec<String> {
        self.harnesses.keys().cloned().collect()
    }
}

impl StaticHarnesses for Directory {
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
        Directory::new(model, remotes, Vec::new(), &RemoteOptions::default())
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

    fn process(name: &str, command: &str, env: &[&str]) -> NamedProcess {
        NamedProcess {
            name: name.to_owned(),
            command: command.to_owned(),
            args: Vec::new(),
            env: env.iter().map(|&name| name.to_owned()).collect(),
            states: "states".into(),
            resumability: Resumability::RequiresMemorySnapshot,
        }
    }

    #[test]
    fn processes_say_what_they_need_and_keep_memory() {
        let with = |processes| Directory::new(Some("m"), Vec::new(), processes, &RemoteOptions::default());
        let directory = with(vec![process("p", "program", &[])]).unwrap_or_else(|problems| panic!("{problems:?}"));
        let found = directory.find("p").unwrap();
        assert_eq!(found.resumability, Resumability::RequiresMemorySnapshot);
        assert!(found.runtime.capabilities().memory_snapshot);

        let processes =
            vec![process("a", "", &[]), process("b", "p", &["NOT_SET_1", "NOT_SET_2"]), process("echo", "p", &[])];
        let unset = |variable: &str| DirectoryProblem::Unset { name: "b".to_owned(), variable: variable.to_owned() };
        let expected = [
            DirectoryProblem::NoCommand("a".to_owned()),
            unset("NOT_SET_1"),
            unset("NOT_SET_2"),
            DirectoryProblem::BuiltIn("echo".to_owned()),
        ];
        assert_eq!(with(processes).err().unwrap(), expected);
    }

    #[test]
    fn named_address_needs_both_parts() {
        assert_eq!("=h:1".parse::<NamedAddress>(), Err(InvalidNamedAddress::NoName));
        assert_eq!("h:1".parse::<NamedAddress>(), Err(InvalidNamedAddress::NoName));
        assert!(matches!("a=".parse::<NamedAddress>(), Err(InvalidNamedAddress::Address(_))));
    }
}
