//! Write an agent ("harness") that any session host can run.
//!
//! A harness is a value with two methods. [`Harness::describe`] says what it is. [`Harness::run`] runs one turn: it reads
//! the [`Turn`] (inputs, history, configuration), asks for effects through the [`Sink`], and returns. The host records
//! each effect before anybody sees it, so a turn that is cut short by a crash is run again and gets the recorded answers
//! until it reaches the point where it stopped:
//!
//! ```text
//! struct Greeter;
//!
//! #[sdk::async_trait]
//! impl Harness for Greeter {
//!     fn describe(&self) -> HarnessDescriptor {
//!         HarnessDescriptor { id: "greeter".into(), version: "1".into(), ..Default::default() }
//!     }
//!
//!     async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
//!         let question = ModelCall { messages: turn.inputs().to_vec(), ..Default::default() };
//!         let answer = sink.model(question).await?;          // recorded, then answered
//!         sink.output(answer).await?;                        // recorded
//!         Ok(())                                             // END COMPLETED
//!     }
//! }
//!
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:9000").await?;
//! sdk::serve(Greeter, listener, stop).await?;
//! ```
//!
//! `examples/greeter.rs` is this program in full; docs/harness-rust.md is a tutorial. The effects:
//!
//! | method | the host | answer |
//! |---|---|---|
//! | [`Sink::model`] | completes a model request | the message |
//! | [`Sink::output`] | records what the assistant says | none |
//! | [`Sink::usage`], [`Sink::report`] | records what the harness did by itself | none |
//! | [`Sink::tool`] | runs a tool | its result |
//! | [`Sink::gated`] | runs a tool once somebody approved it | the decision and the result |
//!
//! # What a harness must keep to
//!
//! * Same turn, same effects: everything that decides what comes next is in the turn or was answered by the sink.
//! * An idempotency key is the same each time the turn is run, and different for every call that shall happen once.
//! * A call that needs approval is never made by the harness itself.
//! * [`Sink::gated`] may never return: until there is a decision the turn is parked, this run is dropped at that await, and
//!   the turn is run again later. Hold nothing across it that must be given back by hand.
//! * A run may be dropped at any await: the client went away, or the host stops it.
//!
//! # What the library does
//!
//! It speaks the harness side of the protocol: it checks every frame of the host, answers a park, and turns the way
//! [`Harness::run`] ends into the END event. A host that breaks the protocol fails the turn, even if the harness ignores
//! the error. [`Run`] is that state machine without a transport: a stream of events that is fed with frames. A host in the
//! same process polls it directly, and [`serve`] puts it behind a socket, so both run the very same code.

mod agent;
mod data;
mod error;
mod frame;
mod harness;
mod run;
pub mod schema;
mod server;
mod sink;
mod streams;
mod turn;

pub use async_trait::async_trait;
pub use bytes::Bytes;
pub use stream_session::value::Value;

pub use agent::{Agent, Agents, Call, InvalidAgent, Method};
pub use data::{Binary, Decode, Encode, Mismatch, Record, Scope};
pub use error::{Refusal, SinkError, StreamFault, Violation};
pub use harness::{Failure, Harness};
pub use run::{Inlet, Run};
pub use server::{HarnessService, Listener, MAX_MESSAGE_BYTES, router, serve};
pub use sink::{Decided, Sink};
pub use streams::{Cancelled, Input, Outlet, Output, Streams};
pub use turn::Turn;
