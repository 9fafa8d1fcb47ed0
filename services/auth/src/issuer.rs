//! Bearer tokens of an OpenID Connect provider.

use std::time::Duration;

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Caller;
use crate::key_set::KeySet;

/// Clocks that differ by more than this are not forgiven.
const MOST_SKEW: Duration = Duration::from_secs(300);

/// An issuer, as the operator describes it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IssuerSettings {
    /// `iss` of its tokens.
    issuer: String,
    /// What must be in `aud`.
    audience: String,
    /// Where its keys are: an `https` URL, an `http` URL of this machine, or the path of a file.
    jwks: String,
    /// What its tokens may be signed with.
    #[serde(default = "default_algorithms")]
    algorithms: Vec<Algorithm>,
    /// The claim that names the account.
    #[serde(default = "subject")]
    account_claim: String,
    /// The claim that names the principal.
    #[serde(default = "subject")]
    principal_claim: String,
    /// What principals begin with, so that those of two issuers are not taken for one another.
    #[serde(default)]
    principal_prefix: String,
    /// Seconds that the issuer's clock may differ from ours.
    #[serde(default = "default_skew")]
    clock_skew_seconds: u64,
}

/// Verifies what an issuer has signed.
pub(crate) struct Issuer {
    settings: IssuerSettings,
    validation: Validation,
    keys: KeySet,
}

impl Issuer {
    /// # Errors
    /// What is wrong with the settings.
    pub(crate) fn new(settings: IssuerSettings) -> Result<Self, String> {
        let IssuerSettings { issuer, audience, algorithms, clock_skew_seconds, .. } = &settings;
        if issuer.is_empty() || audience.is_empty() {
            return Err("issuer and audience must not be empty".to_owned());
        }
        // Whoever can read a public key could sign with it as a shared secret.
        if algorithms.is_empty() || algorithms.iter().any(|algorithm| algorithm.family() == AlgorithmFamily::Hmac) {
            return Err("algorithms must be asymmetric ones, at least one".to_owned());
        }
        if *clock_skew_seconds > MOST_SKEW.as_secs() {
            return Err(format!("clock_skew_seconds must be at most {}", MOST_SKEW.as_secs()));
        }
        let mut validation = Validation::new(algorithms[0]);
        validation.algorithms.clone_from(algorithms);
        validation.leeway = *clock_skew_seconds;
        validation.validate_nbf = true;
        validation.set_issuer(&[issuer]);
        validation.set_audience(&[audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        let keys = KeySet::new(&settings.jwks)?;
        Ok(Self { settings, validation, keys })
    }

    /// Who claims to have issued `credential`, if it looks like a token at all.
    pub(crate) fn named_by(credential: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Claims {
            iss: String,
        }
        insecure_decode_claims::<Claims>(credential).ok().map(|claims| claims.iss)
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.issuer
    }

    /// Who presents the token; `None` if it is not valid.
    pub(crate) async fn caller(&self, token: &str) -> Option<Caller> {
        let header = decode_header(token).ok()?;
        if !self.validation.algorithms.contains(&header.alg) {
            return None;
        }
        let key = self.keys.find(header.kid.as_deref(), header.alg).await?;
        let key = DecodingKey::from_jwk(&key).ok()?;
        let validation = Validation { algorithms: vec![header.alg], ..self.validation.clone() };
        let claims = decode::<Map<String, Value>>(token, &key, &validation).ok()?.claims;
        let text = |claim: &str| claims.get(claim)?.as_str().filter(|text| !text.is_empty());
        let principal = text(&self.settings.principal_claim)?;
        Some(Caller {
            account: text(&self.settings.account_claim)?.to_owned(),
            principal: format!("{}{principal}", self.settings.principal_prefix),
        })
    }
}

fn default_algorithms() -> Vec<Algorithm> {
    vec![Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA]
}

fn subject() -> String {
    "sub".to_owned()
}

fn default_skew() -> u64 {
    60
}
