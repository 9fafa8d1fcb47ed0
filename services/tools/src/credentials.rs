//! Credentials: read from the environment, shown to nobody.

use std::ffi::OsString;

pub use env::Variables;
use reqwest::header::{HeaderMap, HeaderValue};

use crate::config::{Fault, Program, Remote};

/// The headers that a service is sent; none of them can be printed.
pub(crate) fn headers(remote: &Remote, variables: &Variables) -> Result<HeaderMap, Vec<Fault>> {
    let mut headers = HeaderMap::new();
    let mut faults = Vec::new();
    for (name, variable) in &remote.headers {
        match header_value(variable, variables) {
            Ok(value) => drop(headers.insert(name.clone(), value)),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(headers) } else { Err(faults) }
}

/// The environment that a program is given.
pub(crate) fn environment(program: &Program, variables: &Variables) -> Result<Vec<(String, OsString)>, Vec<Fault>> {
    env::program_environment(&program.env, variables).map_err(|unset| unset.into_iter().map(Fault::Unset).collect())
}

fn header_value(variable: &str, variables: &Variables) -> Result<HeaderValue, Fault> {
    let text = set(variable, variables)?;
    let value = text.to_str().and_then(|text| HeaderValue::from_str(text).ok());
    let mut value = value.ok_or_else(|| Fault::Unsendable(variable.to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// An empty variable counts as unset.
fn set(variable: &str, variables: &Variables) -> Result<OsString, Fault> {
    variables(variable).filter(|value| !value.is_empty()).ok_or_else(|| Fault::Unset(variable.to_owned()))
}

#[cfg(test)]
mod tests {
    use egress::Endpoint;
    use reqwest::header::HeaderName;

    use super::*;

    fn variables(name: &str) -> Option<OsString> {
        let value = match name {
            "TOKEN" => "Bearer s3cret",
            "EMPTY" => "",
            "BROKEN" => "a\nb",
            "PATH" => "/bin",
            "MODEL_API_KEY" => "sk-model",
            _ => return None,
        };
        Some(value.into())
    }

    fn remote(headers: &[(&'static str, &str)]) -> Remote {
        let headers = headers.iter().map(|(name, variable)| (HeaderName::from_static(name), (*variable).to_owned()));
        Remote { endpoint: Endpoint::parse("http://h").unwrap(), headers: headers.collect() }
    }

    #[test]
    fn headers_hold_what_their_variables_hold_and_do_not_print_it() {
        let headers = headers(&remote(&[("authorization", "TOKEN")]), &variables).unwrap();
        assert_eq!(headers["authorization"], "Bearer s3cret");
        assert!(!format!("{headers:?}").contains("s3cret"));
    }

    #[test]
    fn all_variables_that_are_missing_or_unusable_are_told() {
        let faults = headers(&remote(&[("a", "EMPTY"), ("b", "BROKEN"), ("c", "NOWHERE")]), &variables).unwrap_err();
        assert_eq!(
            faults,
            [Fault::Unset("EMPTY".into()), Fault::Unsendable("BROKEN".into()), Fault::Unset("NOWHERE".into())]
        );
    }

    #[test]
    fn a_program_is_given_what_is_named_and_no_other_credential() {
        let program = Program { command: String::new(), args: Vec::new(), env: vec!["TOKEN".into()] };
        let given = environment(&program, &variables).unwrap();
        assert_eq!(given, [("PATH".into(), "/bin".into()), ("TOKEN".into(), "Bearer s3cret".into())]);
    }
}
