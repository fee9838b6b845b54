//! Turns of Haft as virtual objects of [Restate](https://restate.dev).
//!
//! A [`ConversationObject`] is a virtual object whose key is a conversation. Its handler `submit` stores a turn and
//! drives it to its end; Restate runs one such handler per conversation at a time. When the turn waits at gates, the
//! handler waits for an awakeable or a durable timer, and no process is needed meanwhile. `decide` settles a gate;
//! [`forward_settlements`] notifies the objects of gates that were settled elsewhere, such as by `haft approve`.
//!
//! Turns are stored in Haft's own store: the journal, the records, the leases and the gates are there, and Restate has
//! one entry per attempt. An attempt that Restate repeats after a crash continues where the journal of the turn ends,
//! so that effects keep the promises that Haft makes about them.
//!
//! ```no_run
//! use haft::executors::ScriptExecutor;
//! use haft::turn::GatePolicy;
//! use haft::Agent;
//! use haft_restate::ConversationObject;
//! use restate_sdk::prelude::{Endpoint, HttpServer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
//! let agent = Agent::builder(script).system("Be polite.").gate_policy(GatePolicy::Suspend).build()?;
//! let object = ConversationObject::new(agent);
//! let endpoint = Endpoint::builder().bind(object).build();
//! HttpServer::new(endpoint).listen_and_serve("127.0.0.1:9080".parse()?).await;
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod conversation;
mod settlements;
mod wire;

pub use self::conversation::ConversationObject;
pub use self::settlements::{ForwardError, forward_settlements};
pub use self::wire::{CancelTurn, GateChoice, GateDecision, TurnRequest, TurnResult};
