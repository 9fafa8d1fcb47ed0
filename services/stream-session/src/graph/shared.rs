//! One graph for all who need the same: the sessions of a method have it in common.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use super::Graph;
use crate::Refusal;
use crate::json::Json;

/// Those that are in use, by their texts.
static SHARED: LazyLock<Mutex<HashMap<Box<str>, Weak<Graph>>>> = LazyLock::new(Mutex::default);

impl Graph {
    /// The graph in this text: the same for everybody who asks while it is in use.
    ///
    /// # Errors
    /// As for [`read`](Self::read), and if the text is no JSON.
    pub fn shared(text: &str) -> Result<Arc<Self>, Refusal> {
        if let Some(graph) = with(|shared| shared.get(text).and_then(Weak::upgrade)) {
            return Ok(graph);
        }
        let graph = Arc::new(Self::read(&Json::parse(text.as_bytes())?)?);
        with(|shared| {
            shared.retain(|_, graph| graph.strong_count() > 0);
            shared.insert(text.into(), Arc::downgrade(&graph));
        });
        Ok(graph)
    }
}

fn with<T>(change: impl FnOnce(&mut HashMap<Box<str>, Weak<Graph>>) -> T) -> T {
    // Each change is whole, and a graph that is missing is only read again.
    change(&mut SHARED.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_shared_while_it_is_in_use_and_forgotten_afterwards() {
        let text = r#"{"root":{"kind":"record","value":{"fields":[]}}}"#;
        let graph = Graph::shared(text).expect("a graph");
        assert!(Arc::ptr_eq(&graph, &Graph::shared(text).expect("a graph")));
        drop(graph);
        Graph::shared(r#"{"root":{"kind":"bool","value":{}}}"#).expect("a graph");
        assert!(with(|shared| !shared.contains_key(text)));
    }
}
