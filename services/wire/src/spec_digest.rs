//! The digest that addresses a harness registration by its content.

use sha2::{Digest, Sha256};

use crate::HarnessSpec;
use crate::canonical::{Canonical, NotCanonical};

/// `sha256:` and the lowercase hex SHA-256 of the canonical form of `spec`.
///
/// It covers every field that this build knows. A spec with fields it does not know must be refused before, or they would
/// not be covered.
///
/// # Errors
/// [`NotCanonical`].
pub fn spec_digest(spec: &HarnessSpec) -> Result<String, NotCanonical> {
    let mut text = Vec::new();
    spec.write_canonical(&mut text)?;
    Ok(format!("sha256:{}", hex::encode(Sha256::digest(&text))))
}
