//! What the command line says of parameters.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use client::stream::{Graph, Invoker, StreamRef, Type, Value, plain};
use stream_session::graph::{Field, Shape};
use stream_session::json::Json;

/// The parameters of a method, or of an agent.
pub struct Arguments {
    /// A record.
    pub parameters: Value,
    /// What its streams are fed from, in their order.
    pub sources: Vec<Source>,
}

/// What feeds an input.
#[derive(Debug)]
pub struct Source {
    /// Name of the parameter.
    pub name: String,
    /// Where its items come from.
    pub from: Place,
}

/// Where items come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    File(PathBuf),
    Stdin,
}

/// What is given for a parameter.
#[derive(Debug, PartialEq, Eq)]
enum Given {
    Json(String),
    From(Place),
}

impl Source {
    /// Whether it can be read, as far as that shows without reading: once something is invoked, it is too late to say no. A
    /// pipe would wait for its other end to be opened.
    pub fn check(&self) -> anyhow::Result<()> {
        let Place::File(path) = &self.from else { return Ok(()) };
        let readable = fs::metadata(path).and_then(|found| match found.is_dir() {
            true => Err(ErrorKind::IsADirectory.into()),
            false if found.is_file() => File::open(path).map(drop),
            false => Ok(()),
        });
        readable.with_context(|| format!("{}: {}", self.name, path.display()))
    }
}

impl Arguments {
    /// Reads `NAME=VALUE`s for the record that `graph` is.
    pub fn read(graph: &Graph, given: &[String], invoker: &Invoker) -> anyhow::Result<Self> {
        let Some(Type { shape: Shape::Record(fields), .. }) = graph.resolve(graph.root()) else {
            bail!("the parameters are not a record");
        };
        let mut given = split(given)?;
        let mut sources = Vec::new();
        let mut values = Vec::new();
        for field in fields {
            let is_stream = matches!(graph.resolve(&field.body), Some(Type { shape: Shape::Stream(_), .. }));
            let value = match (is_stream, given.remove(&field.name)) {
                (true, Some(Given::From(from))) => {
                    sources.push(Source { name: field.name.clone(), from });
                    Value::Stream(StreamRef::Provisional(invoker.reference()))
                }
                (true, _) => bail!("{name} is a stream: feed it by {name}=@FILE or {name}=-", name = field.name),
                (false, given) => value(graph, field, given)?,
            };
            values.push(value);
        }
        if let Some(name) = given.keys().next() {
            let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
            bail!("there is no parameter {name}; there are: {}", names.join(", "));
        }
        if sources.iter().filter(|source| source.from == Place::Stdin).count() > 1 {
            bail!("standard input can feed one stream only");
        }
        Ok(Self { parameters: Value::Record(values), sources })
    }
}

fn split(given: &[String]) -> anyhow::Result<BTreeMap<String, Given>> {
    let mut split = BTreeMap::new();
    for argument in given {
        let Some((name, value)) = argument.split_once('=') else { bail!("{argument:?} is not of the form NAME=VALUE") };
        let value = match (value, value.strip_prefix('@')) {
            ("-", _) => Given::From(Place::Stdin),
            (_, Some(path)) => Given::From(Place::File(path.into())),
            (json, None) => Given::Json(json.to_owned()),
        };
        if split.insert(name.to_owned(), value).is_some() {
            bail!("{name} is given twice");
        }
    }
    Ok(split)
}

fn value(graph: &Graph, field: &Field, given: Option<Given>) -> anyhow::Result<Value> {
    let name = &field.name;
    let text = match given {
        Some(Given::Json(text)) => text,
        Some(Given::From(Place::File(path))) => {
            fs::read_to_string(&path).with_context(|| format!("{name}: {}", path.display()))?
        }
        Some(Given::From(Place::Stdin)) => bail!("{name} is no stream: only streams are fed from standard input"),
        // Only an option takes it.
        None => {
            let missing = plain::read(graph, &field.body, &Json::Null);
            return missing.ok().with_context(|| format!("{name} is missing: give {name}=JSON"));
        }
    };
    let json = Json::parse(text.as_bytes()).map_err(|_| anyhow::anyhow!("{name}: {text} is not JSON"))?;
    plain::read(graph, &field.body, &json).with_context(|| name.clone())
}

/// A setting: names separated by dots, and JSON.
pub fn setting(entry: &str) -> anyhow::Result<(Vec<String>, String)> {
    let Some((path, json)) = entry.split_once('=') else { bail!("--config: {entry:?} is not of the form PATH=JSON") };
    if Json::parse(json.as_bytes()).is_err() {
        bail!("--config {path}: {json} is not JSON");
    }
    Ok((path.split('.').map(str::to_owned).collect(), json.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_json_files_or_standard_input() {
        let given = ["a=1", "b=@in.txt", "c=-", r#"d="x=y""#].map(str::to_owned);
        let split = split(&given).unwrap();
        assert_eq!(split["a"], Given::Json("1".into()));
        assert_eq!(split["b"], Given::From(Place::File("in.txt".into())));
        assert_eq!(split["c"], Given::From(Place::Stdin));
        assert_eq!(split["d"], Given::Json(r#""x=y""#.into()));
        for bad in [&["a"][..], &["a=1", "a=2"]] {
            let bad: Vec<_> = bad.iter().map(|text| (*text).to_owned()).collect();
            assert!(super::split(&bad).is_err());
        }
    }

    #[test]
    fn a_setting_is_a_path_and_json() {
        assert_eq!(setting("a.b=[1]").unwrap(), (vec!["a".to_owned(), "b".to_owned()], "[1]".to_owned()));
        assert!(setting("a").is_err() && setting("a=b").is_err());
    }
}
