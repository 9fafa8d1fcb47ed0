//! What a spec must say (registry.md §2).

use wire::canonical::Canonical;
use wire::harness_spec::Placement;
use wire::strict::{self, Unknown};
use wire::{HarnessSpec, Resumability};

use super::InvalidSpec;

/// Most bytes of the canonical form of a spec that is registered.
const MAX_BYTES: usize = 4_096;

/// A spec that says what it must.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CheckedSpec {
    pub(super) spec: HarnessSpec,
    pub(super) placement: Placement,
    pub(super) resumability: Resumability,
    pub(super) digest: String,
}

impl CheckedSpec {
    /// The spec of a request, and its canonical form.
    pub(super) fn of_request(
        spec: Option<HarnessSpec>,
        unknown: Option<Unknown>,
    ) -> Result<(Self, String), InvalidSpec> {
        let spec = spec.ok_or(InvalidSpec::Missing)?;
        if let Some(unknown) = unknown {
            return Err(unknown.into());
        }
        let canonical = spec.canonical_json()?;
        if canonical.len() > MAX_BYTES {
            return Err(InvalidSpec::TooLarge { size: canonical.len(), limit: MAX_BYTES });
        }
        Ok((Self::check(spec)?, canonical))
    }

    /// The spec of a registration, whichever version of the host wrote it. The error is for the operator.
    pub(super) fn of_registration(text: &str, digest: &str) -> Result<Self, String> {
        let checked = decode(text).map_err(|error| {
            format!("its spec cannot be read: {error}; was it registered through a newer version of this host?")
        })?;
        // What this version would leave out of the digest, it would leave out of what runs.
        if checked.digest != digest {
            return Err("its spec does not have its digest; was it registered through a newer version?".to_owned());
        }
        Ok(checked)
    }

    fn check(spec: HarnessSpec) -> Result<Self, InvalidSpec> {
        let placement = spec.placement.clone().ok_or(InvalidSpec::NoPlacement)?;
        let filled = |field: &'static str, value: &str| match value {
            "" => Err(InvalidSpec::Empty(field)),
            _ => Ok(()),
        };
        match &placement {
            Placement::Remote(remote) => filled("remote.address", &remote.address)?,
            Placement::Substrate(substrate) => {
                filled("substrate.atespace", &substrate.atespace)?;
                filled("substrate.template", &substrate.template)?;
            }
        }
        let resumability = spec.capabilities.as_ref().map(wire::Capabilities::resumability).unwrap_or_default();
        if resumability == Resumability::Unspecified {
            return Err(InvalidSpec::Empty("capabilities.resumability"));
        }
        let digest = wire::spec_digest(&spec)?;
        Ok(Self { spec, placement, resumability, digest })
    }
}

fn decode(text: &str) -> Result<CheckedSpec, InvalidSpec> {
    // The reader refuses members that it does not know.
    let spec: HarnessSpec = serde_json::from_str(text).map_err(|error| InvalidSpec::Text(error.to_string()))?;
    strict::check_known(&spec)?;
    CheckedSpec::check(spec)
}

#[cfg(test)]
mod tests {
    use wire::{Capabilities, RemotePlacement, SubstratePlacement};

    use super::*;

    fn remote(address: &str) -> Option<Placement> {
        Some(Placement::Remote(RemotePlacement { address: address.to_owned() }))
    }

    fn substrate(atespace: &str, template: &str) -> Option<Placement> {
        Some(Placement::Substrate(SubstratePlacement { atespace: atespace.to_owned(), template: template.to_owned() }))
    }

    fn spec(placement: Option<Placement>, resumability: Resumability) -> HarnessSpec {
        let capabilities = Capabilities { resumability: resumability.into(), ..Capabilities::default() };
        HarnessSpec { placement, capabilities: Some(capabilities), descriptor_id: String::new() }
    }

    fn problem(spec: HarnessSpec) -> Option<InvalidSpec> {
        CheckedSpec::of_request(Some(spec), None).err()
    }

    #[test]
    fn a_spec_needs_one_placement_with_its_fields_and_resumability() {
        let stateless = Resumability::StatelessReplay;
        assert_eq!(problem(spec(remote("h:1"), stateless)), None);
        assert_eq!(problem(spec(substrate("a", "t"), Resumability::RequiresMemorySnapshot)), None);
        assert_eq!(CheckedSpec::of_request(None, None).err(), Some(InvalidSpec::Missing));
        assert_eq!(problem(spec(None, stateless)), Some(InvalidSpec::NoPlacement));
        assert_eq!(problem(spec(remote(""), stateless)), Some(InvalidSpec::Empty("remote.address")));
        assert_eq!(problem(spec(substrate("", "t"), stateless)), Some(InvalidSpec::Empty("substrate.atespace")));
        assert_eq!(problem(spec(substrate("a", ""), stateless)), Some(InvalidSpec::Empty("substrate.template")));
        let unspecified = Some(InvalidSpec::Empty("capabilities.resumability"));
        assert_eq!(problem(spec(remote("h:1"), Resumability::Unspecified)), unspecified);
        assert_eq!(problem(HarnessSpec { capabilities: None, ..spec(remote("h:1"), stateless) }), unspecified);
    }

    #[test]
    fn the_canonical_form_has_at_most_4096_bytes() {
        let with = |id: usize| HarnessSpec {
            descriptor_id: "x".repeat(id),
            ..spec(remote("h:1"), Resumability::StatelessReplay)
        };
        let frame = with(1).canonical_json().unwrap().len() - 1;
        assert_eq!(problem(with(MAX_BYTES - frame)), None);
        assert!(matches!(problem(with(MAX_BYTES - frame + 1)), Some(InvalidSpec::TooLarge { size: 4097, .. })));
    }

    #[test]
    fn a_stored_spec_reads_back_in_either_spelling_of_its_members() {
        let known = spec(remote("h:1"), Resumability::StatelessReplay);
        let (checked, text) = CheckedSpec::of_request(Some(known), None).unwrap();
        assert_eq!(CheckedSpec::of_registration(&text, &checked.digest), Ok(checked.clone()));
        let foreign = r#"{ "remote": {"address": "h:1"}, "capabilities": {"resumability": 1, "fork_safe": false} }"#;
        assert_eq!(CheckedSpec::of_registration(foreign, &checked.digest), Ok(checked));
    }

    #[test]
    fn a_stored_spec_of_a_newer_schema_is_refused_with_a_hint() {
        let newer = [
            r#"{"capabilities":{"resumability":"RESUMABILITY_STATELESS_REPLAY"},"remote":{"address":"h:1"},"zone":"b"}"#,
            r#"{"capabilities":{"resumability":"RESUMABILITY_TELEPATHY"},"remote":{"address":"h:1"}}"#,
            r#"{"capabilities":{"resumability":9},"remote":{"address":"h:1"}}"#,
            r#"{"capabilities":{"resumability":"RESUMABILITY_STATELESS_REPLAY"},"cloud":{"region":"x"}}"#,
            r#"{"capabilities":{"resumability":"RESUMABILITY_STATELESS_REPLAY"}}"#,
            "not json",
        ];
        for text in newer {
            let reason = CheckedSpec::of_registration(text, "sha256:any").unwrap_err();
            assert!(reason.contains("newer version"), "{reason}");
        }
        let text = r#"{"capabilities":{"resumability":"RESUMABILITY_STATELESS_REPLAY"},"remote":{"address":"h:1"}}"#;
        assert!(CheckedSpec::of_registration(text, "sha256:other").unwrap_err().contains("digest"));
    }
}
