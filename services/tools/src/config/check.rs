//! From what the operator wrote to what can be made.

use std::collections::BTreeMap;
use std::time::Duration;

use egress::Endpoint;
use reqwest::header::HeaderName;

use super::{ExecutorConfig, Fault, Kind, Problem};

/// Headers that say how a request is to be read; beside them, those that begin with `mcp-`.
const RESERVED: [&str; 8] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "idempotency-key",
    "transfer-encoding",
    "x-session",
];

/// An executor whose configuration is sound.
#[derive(Debug)]
pub(crate) struct Plan {
    pub name: String,
    pub target: Target,
    pub tools: Vec<String>,
    pub timeout: Duration,
    pub max_response: usize,
}

/// Where its calls go.
#[derive(Debug)]
pub(crate) enum Target {
    Http(Remote),
    McpHttp(Remote),
    McpStdio(Program),
}

/// A service elsewhere.
#[derive(Debug)]
pub(crate) struct Remote {
    pub endpoint: Endpoint,
    /// Names, each with the variable that holds the value.
    pub headers: Vec<(HeaderName, String)>,
}

/// A program to start.
#[derive(Debug)]
pub(crate) struct Program {
    pub command: String,
    pub args: Vec<String>,
    /// Names of variables.
    pub env: Vec<String>,
}

/// The sound ones, and everything that is wrong with the others.
pub(crate) fn check(configs: &[ExecutorConfig]) -> (Vec<Plan>, Vec<Problem>) {
    let mut plans = Vec::new();
    let mut problems = Vec::new();
    let mut taken = BTreeMap::new();
    for config in configs {
        let mut faults = Vec::new();
        config.check_bounds(&mut faults);
        config.check_keys(&mut faults);
        config.check_variables(&mut faults);
        config.check_tools(&mut taken, &mut faults);
        match config.target(&mut faults) {
            Some(target) if faults.is_empty() => plans.push(config.plan(target)),
            _ => {}
        }
        problems.extend(faults.into_iter().map(|fault| Problem { executor: config.name.clone(), fault }));
    }
    (plans, problems)
}

impl ExecutorConfig {
    fn plan(&self, target: Target) -> Plan {
        Plan {
            name: self.name.clone(),
            target,
            tools: self.tools.clone(),
            timeout: self.timeout,
            max_response: self.max_response,
        }
    }

    fn check_bounds(&self, faults: &mut Vec<Fault>) {
        let bounds = [("timeout", self.timeout.is_zero()), ("max_response", self.max_response == 0)];
        faults.extend(bounds.into_iter().filter(|(_, zero)| *zero).map(|(key, _)| Fault::Zero(key)));
    }

    /// Every kind has keys of its own.
    fn check_keys(&self, faults: &mut Vec<Fault>) {
        let remote = [("url", self.url.is_empty()), ("headers", self.headers.is_empty())];
        let program =
            [("command", self.command.is_empty()), ("args", self.args.is_empty()), ("env", self.env.is_empty())];
        let (own, foreign) = match self.kind {
            Kind::Http | Kind::McpHttp => (remote[0], &program[..]),
            Kind::McpStdio => (program[0], &remote[..]),
        };
        faults.extend(own.1.then_some(Fault::Missing(own.0)));
        faults.extend(foreign.iter().filter(|(_, empty)| !empty).map(|(key, _)| Fault::Foreign(key)));
    }

    fn check_variables(&self, faults: &mut Vec<Fault>) {
        let lists = [
            ("headers", self.headers.values().all(|name| is_variable(name))),
            ("env", self.env.iter().all(|name| is_variable(name))),
        ];
        faults.extend(lists.into_iter().filter(|(_, sound)| !sound).map(|(key, _)| Fault::Variable(key)));
    }

    fn check_tools<'a>(&'a self, taken: &mut BTreeMap<&'a str, &'a str>, faults: &mut Vec<Fault>) {
        if self.tools.is_empty() {
            faults.push(Fault::NoTools);
        }
        for tool in &self.tools {
            if tool.is_empty() {
                faults.push(Fault::EmptyTool);
            } else if let Some(other) = taken.insert(tool, &self.name) {
                faults.push(Fault::Taken { tool: tool.clone(), other: other.to_owned() });
            }
        }
    }

    fn target(&self, faults: &mut Vec<Fault>) -> Option<Target> {
        match self.kind {
            Kind::Http => self.remote(faults).map(Target::Http),
            Kind::McpHttp => self.remote(faults).map(Target::McpHttp),
            Kind::McpStdio => {
                let (command, args, env) = (self.command.clone(), self.args.clone(), self.env.clone());
                Some(Target::McpStdio(Program { command, args, env }))
            }
        }
    }

    fn remote(&self, faults: &mut Vec<Fault>) -> Option<Remote> {
        let mut headers = Vec::new();
        for (name, variable) in &self.headers {
            match header_name(name) {
                Ok(name) => headers.push((name, variable.clone())),
                Err(fault) => faults.push(fault),
            }
        }
        // An address that is missing has been told already.
        let given = (!self.url.is_empty()).then(|| Endpoint::parse(&self.url))?;
        let endpoint = given.map_err(|invalid| faults.push(invalid.into())).ok()?;
        Some(Remote { endpoint, headers })
    }
}

/// Narrower than the system is, so that a credential put here by mistake is refused before anything shows it.
fn is_variable(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    !name.is_empty() && name.bytes().all(allowed)
}

fn header_name(text: &str) -> Result<HeaderName, Fault> {
    let name: HeaderName = text.parse().map_err(|_| Fault::Header(text.to_owned()))?;
    if RESERVED.contains(&name.as_str()) || name.as_str().starts_with("mcp-") {
        return Err(Fault::ReservedHeader(name.to_string()));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use egress::InvalidUrl;

    use super::*;

    fn http(name: &str, tools: &[&str]) -> ExecutorConfig {
        ExecutorConfig {
            name: name.into(),
            kind: Kind::Http,
            url: "http://127.0.0.1:1/run".into(),
            headers: BTreeMap::new(),
            command: String::new(),
            args: Vec::new(),
            env: Vec::new(),
            tools: tools.iter().map(ToString::to_string).collect(),
            timeout: Duration::from_secs(1),
            max_response: 1,
        }
    }

    fn stdio(name: &str, tools: &[&str]) -> ExecutorConfig {
        ExecutorConfig { kind: Kind::McpStdio, url: String::new(), command: "server".into(), ..http(name, tools) }
    }

    fn faults(configs: &[ExecutorConfig]) -> Vec<Fault> {
        let (plans, problems) = check(configs);
        assert_eq!(plans.len() < configs.len(), !problems.is_empty());
        problems.into_iter().map(|problem| problem.fault).collect()
    }

    #[test]
    fn executors_of_every_kind_are_sound_with_their_own_keys() {
        let mcp = ExecutorConfig { kind: Kind::McpHttp, ..http("b", &["y"]) };
        assert_eq!(faults(&[http("a", &["x"]), mcp, stdio("c", &["z"])]), []);
    }

    #[test]
    fn a_tool_has_one_executor_and_an_executor_has_tools() {
        let taken = Fault::Taken { tool: "x".into(), other: "a".into() };
        assert_eq!(faults(&[http("a", &["x"]), stdio("b", &["y", "x"])]), [taken]);
        assert_eq!(faults(&[http("a", &[])]), [Fault::NoTools]);
        assert_eq!(faults(&[http("a", &[""])]), [Fault::EmptyTool]);
    }

    #[test]
    fn keys_of_another_kind_are_refused_rather_than_ignored() {
        let both = ExecutorConfig { command: "server".into(), env: vec!["A".into()], ..http("a", &["x"]) };
        assert_eq!(faults(&[both]), [Fault::Foreign("command"), Fault::Foreign("env")]);
        let neither = ExecutorConfig { url: String::new(), ..http("a", &["x"]) };
        assert_eq!(faults(&[neither]), [Fault::Missing("url")]);
        let neither = ExecutorConfig { command: String::new(), ..stdio("a", &["x"]) };
        assert_eq!(faults(&[neither]), [Fault::Missing("command")]);
    }

    #[test]
    fn a_credential_in_place_of_a_variable_is_refused_and_not_repeated() {
        for value in ["Bearer s3cret", "ghp_s3cret", ""] {
            let headers = [("authorization".into(), value.into())].into();
            assert_eq!(faults(&[ExecutorConfig { headers, ..http("a", &["x"]) }]), [Fault::Variable("headers")]);
            let env = vec![value.into()];
            assert_eq!(faults(&[ExecutorConfig { env, ..stdio("a", &["x"]) }]), [Fault::Variable("env")]);
        }
    }

    #[test]
    fn all_faults_are_told_at_once_and_repeat_no_credentials() {
        let headers = ["idempotency-key", "Mcp-Session-Id", "no header"].map(|name| (name.into(), "VARIABLE".into()));
        let config = ExecutorConfig {
            url: "http://me:pass-word@host".into(),
            headers: headers.into(),
            timeout: Duration::ZERO,
            max_response: 0,
            ..http("a", &[])
        };
        let (_, problems) = check(&[config]);
        let text = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(!text.contains("pass-word"), "{text}");
        let expected = [
            Fault::Zero("timeout"),
            Fault::Zero("max_response"),
            Fault::NoTools,
            Fault::ReservedHeader("mcp-session-id".into()),
            Fault::ReservedHeader("idempotency-key".into()),
            Fault::Header("no header".into()),
            Fault::Url(InvalidUrl::UserInfo),
        ];
        assert_eq!(problems.into_iter().map(|problem| problem.fault).collect::<Vec<_>>(), expected);
    }
}
