use std::sync::Arc;

use async_trait::async_trait;

use super::*;
use crate::ports::{HarnessChannel, HarnessPlacement, HarnessUnavailable};

/// Harnesses named after what they are: `static`, `memory`, `loaded`, ...
struct Names;

impl HarnessDirectory for Names {
    fn default_name(&self) -> &str {
        "static"
    }

    fn find(&self, name: &str) -> Option<ServedHarness> {
        let source = match name {
            "static" | "other" | "memory" => HarnessSource::Static,
            "contested" => HarnessSource::Contested,
            "loaded" => HarnessSource::Registered(Registered::Loaded),
            "isolated" => HarnessSource::Registered(Registered::Isolated("why".to_owned())),
            _ => return None,
        };
        let resumability =
            if name == "memory" { Resumability::RequiresMemorySnapshot } else { Resumability::StatelessReplay };
        Some(ServedHarness { source, descriptor_id: String::new(), resumability, runtime: Arc::new(Nowhere) })
    }

    fn names(&self) -> Vec<String> {
        ["loaded", "memory", "other", "static"].map(str::to_owned).into()
    }
}

struct Nowhere;

#[async_trait]
impl HarnessPlacement for Nowhere {
    async fn acquire(&self) -> Result<Box<dyn HarnessChannel>, HarnessUnavailable> {
        Err(HarnessUnavailable("nowhere".to_owned()))
    }
}

/// The name that runs, or the kind of refusal.
fn routed(stored: &str, override_name: &str) -> Result<String, &'static str> {
    route(&Names, stored, override_name).map(|route| route.name).map_err(|error| match error {
        HostError::UnknownHarness(_) => "unknown",
        HostError::HarnessIsolated { .. } => "isolated",
        HostError::HarnessCollision(_) => "collision",
        HostError::HarnessPinned { .. } => "pinned",
        HostError::HarnessStateless(_) => "stateless",
        _ => "other",
    })
}

/// execution.md §2.2, without an override.
#[test]
fn stored_harness_runs_unless_it_is_isolated_contested_or_unknown() {
    assert_eq!(routed("", ""), Ok("static".to_owned()));
    assert_eq!(routed("loaded", "loaded"), Ok("loaded".to_owned()));
    assert_eq!(routed("isolated", ""), Err("isolated"));
    assert_eq!(routed("contested", ""), Err("collision"));
    assert_eq!(routed("nowhere", ""), Err("unknown"));
}

/// execution.md §2.2, with an override.
#[test]
fn override_runs_between_static_harnesses_only() {
    assert_eq!(routed("static", "other"), Ok("other".to_owned()));
    assert_eq!(routed("static", "loaded"), Err("pinned"));
    assert_eq!(routed("static", "isolated"), Err("pinned"));
    assert_eq!(routed("loaded", "static"), Err("pinned"));
    assert_eq!(routed("loaded", "nowhere"), Err("pinned"), "before the override is resolved");
    assert_eq!(routed("static", "nowhere"), Err("unknown"));
    assert_eq!(routed("static", "contested"), Err("collision"));
    assert_eq!(routed("contested", "static"), Err("collision"));
    assert_eq!(routed("contested", "nowhere"), Err("collision"), "before the override is looked at");
    assert_eq!(routed("contested", "loaded"), Err("collision"));
    assert_eq!(routed("memory", "static"), Err("stateless"));
    assert_eq!(routed("static", "memory"), Ok("memory".to_owned()));
}

/// execution.md §7.2, 4 and 5.
#[test]
fn recorded_harness_that_is_unknown_is_told_apart() {
    let refused = |name| resolve_recorded(&Names, name).unwrap_err();
    assert!(matches!(refused("nowhere"), HostError::RecordedHarnessNotServed(_)));
    assert!(matches!(refused("isolated"), HostError::HarnessIsolated { .. }));
    assert!(matches!(refused("contested"), HostError::HarnessCollision(_)));
}
