//! What callers may invoke.

use std::path::Path;

use serde::Deserialize;
use thiserror::Error;

use crate::file::{Watched, from_toml};
use crate::{Caller, InvalidFile};

/// Stands for everything.
const ANY: &str = "*";

/// Decides what callers may invoke.
pub struct Policy(Source);

enum Source {
    /// Everybody may invoke everything.
    Open,
    File(Watched<Rules>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    #[serde(default, rename = "rule")]
    rules: Vec<Rule>,
}

/// Lets these principals invoke these methods. Names are exact, or `*`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// Whose principals: two accounts may have principals of one name.
    #[serde(default = "any")]
    accounts: Vec<String>,
    principals: Vec<String>,
    applications: Vec<String>,
    environments: Vec<String>,
    agent_types: Vec<String>,
    methods: Vec<String>,
}

/// What a caller wants to invoke.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the contract's own words")]
pub struct Wanted<'w> {
    pub application: &'w str,
    pub environment: &'w str,
    pub agent_type: &'w str,
    pub method: &'w str,
}

/// Why a caller may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Denied {
    /// No rule knows the application and the environment.
    #[error("there is no such application or environment")]
    NotFound,
    /// No rule covers the caller.
    #[error("the caller may not invoke this")]
    Unauthorized,
}

impl Policy {
    /// Lets everybody invoke everything. For a listener that nobody but the developer can reach.
    #[must_use]
    pub fn open_to_all() -> Self {
        Self(Source::Open)
    }

    /// Decides by the rules in a file, as it is at each moment.
    ///
    /// # Errors
    /// [`InvalidFile`].
    pub fn open(path: &Path) -> Result<Self, InvalidFile> {
        Watched::open(path, read).map(|file| Self(Source::File(file)))
    }

    /// Whether application and environment are there, for anybody.
    #[must_use]
    pub fn knows(&self, application: &str, environment: &str) -> bool {
        match &self.0 {
            Source::Open => true,
            Source::File(file) => file.current().rules.iter().any(|rule| rule.names(application, environment)),
        }
    }

    /// Whether `caller` may invoke what it wants.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn check(&self, caller: &Caller, wanted: Wanted<'_>) -> Result<(), Denied> {
        let Source::File(file) = &self.0 else { return Ok(()) };
        let rules = file.current();
        let mut named = rules.rules.iter().filter(|rule| rule.names(wanted.application, wanted.environment)).peekable();
        if named.peek().is_none() {
            return Err(Denied::NotFound);
        }
        if named.any(|rule| rule.covers(caller, wanted)) { Ok(()) } else { Err(Denied::Unauthorized) }
    }
}

impl Rule {
    /// The list that names nothing, or has an empty name; such a rule would never hold.
    fn lists_nothing(&self) -> Option<&'static str> {
        let lists = [
            ("accounts", &self.accounts),
            ("principals", &self.principals),
            ("applications", &self.applications),
            ("environments", &self.environments),
            ("agent_types", &self.agent_types),
            ("methods", &self.methods),
        ];
        let empty = |(_, names): &(_, &Vec<String>)| names.is_empty() || names.iter().any(String::is_empty);
        lists.into_iter().find(empty).map(|(list, _)| list)
    }

    fn names(&self, application: &str, environment: &str) -> bool {
        holds(&self.applications, application) && holds(&self.environments, environment)
    }

    fn covers(&self, caller: &Caller, wanted: Wanted<'_>) -> bool {
        holds(&self.accounts, &caller.account)
            && holds(&self.principals, &caller.principal)
            && holds(&self.agent_types, wanted.agent_type)
            && holds(&self.methods, wanted.method)
    }
}

fn any() -> Vec<String> {
    vec![ANY.to_owned()]
}

fn holds(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name || known == ANY)
}

fn read(text: &str) -> Result<Rules, String> {
    let rules: Rules = from_toml(text)?;
    for (rule, place) in rules.rules.iter().zip(1..) {
        if let Some(list) = rule.lists_nothing() {
            return Err(format!("{list} of rule {place} must name something, each name at least one character long"));
        }
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> (tempfile::TempDir, Policy) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("policy.toml");
        std::fs::write(&path, text).unwrap();
        let policy = Policy::open(&path).unwrap();
        (directory, policy)
    }

    fn check(policy: &Policy, principal: &str, wanted: [&str; 4]) -> Result<(), Denied> {
        check_of(policy, "any", principal, wanted)
    }

    fn check_of(policy: &Policy, account: &str, principal: &str, wanted: [&str; 4]) -> Result<(), Denied> {
        let caller = Caller { account: account.into(), principal: principal.into() };
        let [application, environment, agent_type, method] = wanted;
        policy.check(&caller, Wanted { application, environment, agent_type, method })
    }

    const RULES: &str = r#"
        [[rule]]
        principals = ["alice"]
        applications = ["lab"]
        environments = ["dev", "test"]
        agent_types = ["probe"]
        methods = ["echo"]

        [[rule]]
        principals = ["*"]
        applications = ["open"]
        environments = ["dev"]
        agent_types = ["*"]
        methods = ["*"]
    "#;

    #[test]
    fn a_caller_may_what_one_rule_says() {
        let (_directory, policy) = policy(RULES);
        assert_eq!(check(&policy, "alice", ["lab", "dev", "probe", "echo"]), Ok(()));
        assert_eq!(check(&policy, "alice", ["lab", "test", "probe", "echo"]), Ok(()));
        assert_eq!(check(&policy, "bob", ["open", "dev", "x", "y"]), Ok(()));
        for denied in [["lab", "dev", "probe", "other"], ["lab", "dev", "other", "echo"]] {
            assert_eq!(check(&policy, "alice", denied), Err(Denied::Unauthorized), "{denied:?}");
        }
        assert_eq!(check(&policy, "bob", ["lab", "dev", "probe", "echo"]), Err(Denied::Unauthorized));
    }

    #[test]
    fn a_rule_may_be_for_principals_of_some_accounts() {
        let wanted = ["lab", "dev", "probe", "echo"];
        let (_directory, acme) = policy(&RULES.replacen("principals", "accounts = [\"acme\"]\nprincipals", 1));
        assert_eq!(check_of(&acme, "acme", "alice", wanted), Ok(()));
        assert_eq!(check_of(&acme, "other", "alice", wanted), Err(Denied::Unauthorized));
        assert_eq!(check_of(&acme, "acme", "bob", wanted), Err(Denied::Unauthorized));
        let (_directory, every) = policy(&RULES.replacen("principals", "accounts = [\"*\"]\nprincipals", 1));
        assert_eq!(check_of(&every, "other", "alice", wanted), Ok(()));
    }

    #[test]
    fn what_no_rule_names_is_not_there() {
        let (_directory, policy) = policy(RULES);
        for unknown in [["other", "dev", "probe", "echo"], ["open", "test", "probe", "echo"]] {
            assert_eq!(check(&policy, "alice", unknown), Err(Denied::NotFound), "{unknown:?}");
            assert!(!policy.knows(unknown[0], unknown[1]));
        }
        assert!(policy.knows("lab", "dev"));
    }

    #[test]
    fn a_change_holds_from_the_next_check_on() {
        let (directory, policy) = policy(RULES);
        std::fs::write(directory.path().join("policy.toml"), RULES.replace("alice", "carol")).unwrap();
        assert_eq!(check(&policy, "alice", ["lab", "dev", "probe", "echo"]), Err(Denied::Unauthorized));
        assert_eq!(check(&policy, "carol", ["lab", "dev", "probe", "echo"]), Ok(()));
    }

    #[test]
    fn rules_that_name_nothing_are_refused() {
        for bad in [
            RULES.replace(r#"["lab"]"#, "[]"),
            RULES.replace("lab", ""),
            RULES.replace("methods", "method"),
            RULES.replacen("principals", "accounts = []\nprincipals", 1),
            RULES.replacen("principals", "accounts = [\"\"]\nprincipals", 1),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
    }
}
