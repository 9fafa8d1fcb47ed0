//! Placements of registered harnesses.

use std::sync::Arc;

use controller::ports::{Placements, Runtime, Unservable};
use wire::harness_spec::Placement;

use crate::remote::{HarnessAddress, Remote, RemoteOptions};

/// Places registered harnesses at their addresses. No runtime is built in that could start one from a template.
#[derive(Clone, Debug)]
pub struct RegisteredPlacements {
    has_model: bool,
    options: RemoteOptions,
}

impl RegisteredPlacements {
    /// The placements of a host with or without a model, whose harnesses are dialed with `options`.
    #[must_use]
    pub fn new(has_model: bool, options: RemoteOptions) -> Self {
        Self { has_model, options }
    }
}

impl Placements for RegisteredPlacements {
    fn place(&self, placement: &Placement) -> Result<Arc<dyn Runtime>, Unservable> {
        match placement {
            Placement::Remote(_) if !self.has_model => {
                Err(Unservable("a remote harness needs a model, and this host has none configured".to_owned()))
            }
            Placement::Remote(remote) => {
                let address: HarnessAddress = remote.address.parse().map_err(|error| Unservable(format!("{error}")))?;
                Ok(Arc::new(Remote::new(address, self.options.clone())))
            }
            Placement::Substrate(_) => Err(Unservable("this build has no substrate backend".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::{RemotePlacement, SubstratePlacement};

    use super::*;

    fn place(has_model: bool, placement: &Placement) -> Result<(), String> {
        let placements = RegisteredPlacements::new(has_model, RemoteOptions::default());
        placements.place(placement).map(drop).map_err(|unservable| unservable.0)
    }

    fn remote(address: &str) -> Placement {
        Placement::Remote(RemotePlacement { address: address.to_owned() })
    }

    #[test]
    fn addresses_are_served_by_hosts_with_a_model() {
        assert_eq!(place(true, &remote("127.0.0.1:9000")), Ok(()));
        assert!(place(false, &remote("127.0.0.1:9000")).unwrap_err().contains("model"));
        assert!(place(true, &remote("http://h:1")).unwrap_err().contains("host:port"));
    }

    #[test]
    fn templates_are_not_served() {
        assert!(place(true, &Placement::Substrate(SubstratePlacement::default())).unwrap_err().contains("substrate"));
    }
}
