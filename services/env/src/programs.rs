//! The environment of programs that a node starts.

use std::ffi::OsString;

/// Variables that every program is given if they are there: where things are, and in which language. None of them holds
/// a credential; the node's own, such as the key of its model provider, stay with the node.
const ALWAYS_GIVEN: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ"];

/// The environment of a node.
pub type Variables = dyn Fn(&str) -> Option<OsString>;

/// The environment that a program is given: places and languages, and the variables that the operator names for it. An
/// empty variable counts as unset.
///
/// # Errors
/// The named variables that are not set.
pub fn program_environment(named: &[String], variables: &Variables) -> Result<Vec<(String, OsString)>, Vec<String>> {
    let always = ALWAYS_GIVEN.iter().filter_map(|name| Some(((*name).to_owned(), variables(name)?)));
    let mut given: Vec<_> = always.collect();
    let mut unset = Vec::new();
    for name in named {
        match variables(name).filter(|value| !value.is_empty()) {
            Some(value) => given.push((name.clone(), value)),
            None => unset.push(name.clone()),
        }
    }
    if unset.is_empty() { Ok(given) } else { Err(unset) }
}
