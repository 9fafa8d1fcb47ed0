//! Reads a [`Config`]: defaults, then the file, then the environment, then flags, each over the one before.

use std::fmt;
use std::path::Path;

use clap::builder::{Resettable, StringValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command};
use figment::error::Kind;
use figment::providers::{Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};
use thiserror::Error;

use super::Config;

/// Prefix of the environment variables: the rest is the flag's name. Variables with the prefix that name no flag are
/// left alone: a Kubernetes service called `agentsessions` puts some of its own into every pod.
const ENV_PREFIX: &str = "AGENTSESSIONS_";

/// One thing wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{origin}: {message}")]
pub struct Problem {
    origin: String,
    message: String,
}

impl Problem {
    pub(super) fn new(origin: impl Into<String>, message: impl Into<String>) -> Self {
        Self { origin: origin.into(), message: message.into() }
    }
}

/// Everything wrong with the configuration; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("configuration is invalid: ")?;
        for (index, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl Config {
    /// Adds the flags of a configuration to `command`, and an environment variable to every flag it then has.
    #[must_use]
    pub fn declare(command: Command) -> Command {
        let defaults = Value::serialize(Self::default()).ok();
        let default = |arg: &Arg| text(defaults.as_ref()?.find_ref(arg.get_id().as_str())?);
        Self::augment_args(command).mut_args(|arg| {
            let default = default(&arg).map_or(Resettable::Reset, |text| Resettable::Value(text.into()));
            let env = env_name(&arg);
            // Values are read as text and parsed in one place, so that all problems are reported, not the first.
            arg.global(true)
                .required(false)
                .env(env)
                .hide_env_values(true)
                .value_parser(StringValueParser::new())
                .default_value(default)
        })
    }

    /// Reads the configuration from `file`, if there is one, and from the environment and the flags in `matches`, which
    /// come from a command with all of the [declared](Self::declare) flags, or some of them.
    ///
    /// # Errors
    /// [`Problems`], all of them.
    pub fn load(file: Option<&Path>, matches: &ArgMatches) -> Result<Self, Problems> {
        let settings = Self::declare(Command::default());
        let mut problems = Vec::new();
        let mut figment = Figment::new();
        if let Some(path) = file {
            match std::fs::metadata(path) {
                Ok(_) => figment = figment.merge(Toml::file_exact(path)),
                // Apart, because it must not hide what is wrong with the flags.
                Err(error) => problems.push(Problem::new(path.display().to_string(), error.to_string())),
            }
        }
        let sources = [(ENVIRONMENT, ValueSource::EnvVariable), (FLAGS, ValueSource::CommandLine)];
        for (name, source) in sources {
            figment = figment.merge(Layer { name, values: given(&settings, matches, source) });
        }
        extract(&figment, &settings, problems)
    }
}

const ENVIRONMENT: &str = "environment";
const FLAGS: &str = "flags";

fn env_name(arg: &Arg) -> String {
    let flag = arg.get_long().unwrap_or_default();
    format!("{ENV_PREFIX}{}", flag.replace('-', "_").to_ascii_uppercase())
}

/// The text of a scalar that is not empty.
fn text(value: &Value) -> Option<String> {
    let text = value.as_str().map(str::to_owned).or_else(|| value.to_u128().map(|number| number.to_string()));
    let text = text.or_else(|| value.to_bool().map(|on| on.to_string()));
    text.filter(|text| !text.is_empty())
}

/// Texts by key path.
struct Layer {
    name: &'static str,
    values: Dict,
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Map::from([(Profile::Default, self.values.clone())]))
    }
}

/// What `source` says, as a tree.
fn given(settings: &Command, matches: &ArgMatches, source: ValueSource) -> Dict {
    let mut tree = Dict::new();
    for arg in settings.get_arguments() {
        let id = arg.get_id().as_str();
        // A program that runs a node in its own process declares only some of the flags.
        if !matches.ids().any(|known| known == id) || matches.value_source(id) != Some(source) {
            continue;
        }
        let mut texts = matches.get_many::<String>(id).into_iter().flatten().cloned().map(Value::from);
        let value = match arg.get_action() {
            ArgAction::Append => Value::from(texts.collect::<Vec<_>>()),
            _ => texts.next_back().unwrap_or_else(|| Value::from("")),
        };
        match id.split_once('.') {
            None => drop(tree.insert(id.to_owned(), value)),
            Some((section, key)) => {
                let entry = tree.entry(section.to_owned()).or_insert_with(|| Value::from(Dict::new()));
                if let Value::Dict(_, section) = entry {
                    section.insert(key.to_owned(), value);
                }
            }
        }
    }
    tree
}

/// Extracts the configuration. A value that is refused is taken out, which leaves the default, and the rest is looked
/// at again: so every problem is found. They are added to `problems`.
fn extract(figment: &Figment, settings: &Command, mut problems: Vec<Problem>) -> Result<Config, Problems> {
    let mut tree = match figment.find_value("") {
        Ok(tree) => tree,
        Err(error) => return Err(Problems(error.into_iter().map(|error| unreadable(&error)).collect())),
    };
    loop {
        match tree.deserialize::<Config>() {
            Ok(config) => {
                problems.extend(config.contradictions());
                return if problems.is_empty() { Ok(config) } else { Err(Problems(problems)) };
            }
            Err(error) => {
                let removed = remove(&mut tree, &error.path);
                let origin = origin(figment, settings, &error.path, removed.as_ref());
                problems.push(Problem::new(origin, message(&error.kind)));
                if removed.is_none() {
                    return Err(Problems(problems));
                }
            }
        }
    }
}

/// A file that is not TOML.
fn unreadable(error: &figment::Error) -> Problem {
    let path = error.metadata.as_ref().and_then(|metadata| metadata.source.as_ref()?.file_path());
    let origin = path.map_or_else(|| "configuration".to_owned(), |path| path.display().to_string());
    // What follows the first line quotes the file, which may hold what nobody should see; the last line says why.
    let told = message(&error.kind);
    let mut lines = told.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let told = lines.next_back().map_or_else(|| first.to_owned(), |last| format!("{first}: {last}"));
    Problem::new(origin, told)
}

/// Takes the value at `path` out, or the list that holds it.
fn remove(tree: &mut Value, path: &[String]) -> Option<Value> {
    let Value::Dict(_, dict) = tree else { return None };
    match path {
        [] => None,
        [key] => dict.remove(key),
        [key, rest @ ..] => match dict.get_mut(key)? {
            inner @ Value::Dict(..) => remove(inner, rest),
            _ => dict.remove(key),
        },
    }
}

/// Where the operator finds the value at `path`.
fn origin(figment: &Figment, settings: &Command, path: &[String], value: Option<&Value>) -> String {
    let key = path.join(".");
    let Some(metadata) = value.and_then(|value| figment.get_metadata(value.tag())) else { return key };
    let arg = settings.get_arguments().find(|arg| key.starts_with(arg.get_id().as_str()));
    match (&*metadata.name, arg, metadata.source.as_ref().and_then(|source| source.file_path())) {
        (FLAGS, Some(arg), _) => format!("--{}", arg.get_long().unwrap_or_default()),
        (ENVIRONMENT, Some(arg), _) => env_name(arg),
        (_, _, Some(file)) => format!("{}: {key}", file.display()),
        _ => key,
    }
}

fn message(kind: &Kind) -> String {
    match kind {
        Kind::UnknownField(_, known) => format!("no such key; known here are {}", known.join(", ")),
        other => other.to_string(),
    }
}
