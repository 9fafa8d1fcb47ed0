//! Where a page of a listing of harnesses starts (journal.md §10).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::InvalidPageToken;

/// The name that a page starts after. No harness need have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HarnessToken(String);

impl HarnessToken {
    /// The token of the page after a harness.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// Reads a token that a caller sent back.
    ///
    /// # Errors
    /// [`InvalidPageToken`].
    pub fn decode(token: &str) -> Result<Self, InvalidPageToken> {
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| InvalidPageToken)?;
        match String::from_utf8(bytes) {
            Ok(name) if !name.is_empty() => Ok(Self(name)),
            _ => Err(InvalidPageToken),
        }
    }

    /// The token as callers see it.
    #[must_use]
    pub fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.0)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn malformed_tokens_are_refused() {
        for bad in ["", "*", "YQ==", "+/+/", "a", "_w"] {
            assert_eq!(HarnessToken::decode(bad), Err(InvalidPageToken), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn tokens_read_back(name in "\\PC{1,40}") {
            let token = HarnessToken::new(&name);
            prop_assert_eq!(HarnessToken::decode(&token.encode()), Ok(token));
        }
    }
}
