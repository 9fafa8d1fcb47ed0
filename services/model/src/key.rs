//! The provider's key: read from the environment, shown to nobody.

use std::env::VarError;
use std::fmt;

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue, InvalidHeaderValue};
use thiserror::Error;

/// The environment variables that may hold the key, in order of preference. An empty one counts as unset.
const VARIABLES: [&str; 2] = ["MODEL_API_KEY", "OPENAI_API_KEY"];

/// What stands in a message in place of a key.
const REDACTED: &str = "[redacted]";

/// A word that begins like the key is taken for a masked key: providers quote keys as `sk-abcd****wxyz`.
const TELLING_PREFIX: usize = 6;

/// A provider's key. There is no way to print it.
#[derive(Clone)]
pub struct ApiKey {
    text: String,
    bare: HeaderValue,
    bearer: HeaderValue,
}

/// The key in the environment cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{variable} holds a character that a header cannot carry, such as a line break")]
pub struct InvalidApiKey {
    variable: &'static str,
}

impl ApiKey {
    /// The key in `MODEL_API_KEY`, or else in `OPENAI_API_KEY`, if any.
    ///
    /// # Errors
    /// [`InvalidApiKey`] if it cannot be sent.
    pub fn from_environment() -> Result<Option<Self>, InvalidApiKey> {
        Self::from_variables(std::env::var)
    }

    /// The same, out of the variables that `read` knows.
    ///
    /// # Errors
    /// [`InvalidApiKey`] if it cannot be sent.
    pub fn from_variables(
        read: impl Fn(&'static str) -> Result<String, VarError>,
    ) -> Result<Option<Self>, InvalidApiKey> {
        for variable in VARIABLES {
            match read(variable) {
                Err(VarError::NotPresent) => {}
                Ok(text) if text.is_empty() => {}
                Ok(text) => return Self::new(text).map(Some).map_err(|_| InvalidApiKey { variable }),
                Err(VarError::NotUnicode(_)) => return Err(InvalidApiKey { variable }),
            }
        }
        Ok(None)
    }

    fn new(text: String) -> Result<Self, InvalidHeaderValue> {
        let mut bare = HeaderValue::from_str(&text)?;
        let mut bearer = HeaderValue::from_str(&format!("Bearer {text}"))?;
        bare.set_sensitive(true);
        bearer.set_sensitive(true);
        Ok(Self { text, bare, bearer })
    }

    /// The value of the header `name` that carries this key: `Authorization` names the scheme, others hold the bare key.
    pub(crate) fn header_value(&self, name: &HeaderName) -> &HeaderValue {
        if *name == AUTHORIZATION { &self.bearer } else { &self.bare }
    }

    /// `text` without the key and without any word that looks like a masked form of it, in whatever case.
    pub(crate) fn redact(&self, text: &str) -> String {
        let text = text.replace(&self.text, REDACTED);
        let prefix: String = self.text.chars().take(TELLING_PREFIX).collect::<String>().to_ascii_lowercase();
        let tells = |word: &str| word.contains("***") || word.to_ascii_lowercase().contains(&prefix);
        text.split_inclusive(char::is_whitespace).map(|word| if tells(word) { "[redacted] " } else { word }).collect()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> ApiKey {
        ApiKey::new(text.to_owned()).unwrap()
    }

    fn read(model: Option<&str>, openai: Option<&str>) -> Result<Option<String>, InvalidApiKey> {
        let found = ApiKey::from_variables(|name| {
            let value = if name == "MODEL_API_KEY" { model } else { openai };
            value.map(str::to_owned).ok_or(VarError::NotPresent)
        });
        Ok(found?.map(|key| key.text))
    }

    #[test]
    fn model_api_key_goes_before_openai_api_key() {
        assert_eq!(read(None, None), Ok(None));
        assert_eq!(read(Some("a"), Some("b")), Ok(Some("a".into())));
        assert_eq!(read(None, Some("b")), Ok(Some("b".into())));
        assert_eq!(read(Some(""), Some("b")), Ok(Some("b".into())));
        assert_eq!(read(Some("a\n"), Some("b")), Err(InvalidApiKey { variable: "MODEL_API_KEY" }));
    }

    #[test]
    fn authorization_of_any_case_names_the_scheme_and_other_headers_hold_the_bare_key() {
        for (name, expected) in [("aUTHORIZATION", "Bearer k"), ("api-key", "k"), ("X-Goog-Api-Key", "k")] {
            let name: HeaderName = name.parse().unwrap();
            let key = key("k");
            let value = key.header_value(&name);
            assert_eq!(value, expected);
            assert!(value.is_sensitive());
        }
    }

    #[test]
    fn debug_output_shows_nothing_of_the_key() {
        assert_eq!(format!("{:?}", Some(key("sk-secret-1234"))), "Some(ApiKey(..))");
    }

    #[test]
    fn keys_are_redacted_whole_masked_and_inside_words() {
        let cases = [
            ("wrong key sk-secret-1234.", "wrong key [redacted]."),
            ("wrong key \"sk-secret-1234\" given", "wrong key \"[redacted]\" given"),
            ("wrong key sk-sec********1234, see docs", "wrong key [redacted] see docs"),
            ("wrong key ***1234", "wrong key [redacted]"),
            ("WRONG KEY: SK-SECRET-1234", "WRONG KEY: [redacted]"),
            ("no key", "no key"),
        ];
        for (text, expected) in cases {
            assert_eq!(key("sk-secret-1234").redact(text).trim_end(), expected, "{text}");
        }
    }
}
