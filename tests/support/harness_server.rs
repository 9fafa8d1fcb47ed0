//! A harness on loopback, in the process of the test.

use std::future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use env::{TaskKind, Tasks};
use sdk::{Failure, Harness, Sink, Turn};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use wire::{Capabilities, HarnessDescriptor, Message, Resumability};

use crate::BOUND;

/// A harness that says `done` in each of its turns. Stops when the test's runtime ends.
#[derive(Clone)]
pub struct HarnessServer {
    address: String,
    behaviour: Arc<Behaviour>,
}

struct Behaviour {
    id: String,
    failing: AtomicBool,
    waiting: Semaphore,
    released: Semaphore,
}

impl HarnessServer {
    /// Starts one that describes itself as `id`, on a free port.
    pub async fn start(id: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let address = listener.local_addr().expect("a bound listener has an address").to_string();
        let behaviour = Arc::new(Behaviour {
            id: id.into(),
            failing: AtomicBool::new(false),
            waiting: Semaphore::new(0),
            released: Semaphore::new(0),
        });
        let harness = Scripted(Arc::clone(&behaviour));
        Tasks::default().spawn("harness server", TaskKind::Background, async move {
            sdk::serve(harness, listener, future::pending()).await.expect("the harness server runs");
        });
        Self { address, behaviour }
    }

    /// `host:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Whether turns fail from now on.
    pub fn set_failing(&self, failing: bool) {
        self.behaviour.failing.store(failing, Ordering::SeqCst);
    }

    /// Waits until a turn with the input `wait` waits.
    pub async fn waiting(&self) {
        bounded(&self.behaviour.waiting).await;
    }

    /// Lets a turn go on that waits.
    pub fn release(&self) {
        self.behaviour.released.add_permits(1);
    }
}

async fn bounded(semaphore: &Semaphore) {
    let permit = tokio::time::timeout(BOUND, semaphore.acquire()).await.expect("it happens in time");
    permit.expect("nobody closes it").forget();
}

struct Scripted(Arc<Behaviour>);

#[sdk::async_trait]
impl Harness for Scripted {
    fn describe(&self) -> HarnessDescriptor {
        let resumability = Resumability::StatelessReplay.into();
        HarnessDescriptor {
            id: self.0.id.clone(),
            version: "1".into(),
            capabilities: Some(Capabilities { resumability, fork_safe: true, ..Capabilities::default() }),
            ..HarnessDescriptor::default()
        }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        if self.0.failing.load(Ordering::SeqCst) {
            return Err(Failure::new("told to fail"));
        }
        if turn.inputs().iter().any(|input| input.text_content() == "wait") {
            self.0.waiting.add_permits(1);
            bounded(&self.0.released).await;
        }
        sink.output(Message::text("assistant", "done")).await?;
        Ok(())
    }
}
