//! The contracts and the pure logic of Haft.
//!
//! This crate defines what a tool, a call, a record, a store and a step of a model are, and implements everything about
//! them that needs no I/O: JSON, schemas, validation, call ids, artifacts, trust tiers, events and contexts. Programs
//! use it through the crate `haft`; a crate with tools, stores, artifact formats or executors depends on this one alone.
//!
//! *This crate depends only on small crates for data structures, hashing and JSON, and on no other crate of Haft. It
//! has no runtime, reads no files, opens no sockets, writes no logs, and builds for `wasm32-unknown-unknown`.
//!
//! # Example
//!
//! A tool is a name, a description, a schema and a handler. An executor validates the arguments and runs the handler:
//!
//! ```
//! use haft_core::context::DispatchContext;
//! use haft_core::schema::{object, string};
//! use haft_core::tool::ToolOutput;
//! use haft_core::{Args, Tool};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let greet = Tool::builder("greet")
//!     .description("Greets a person by name.")
//!     .input(object().field("name", string().required()))
//!     .handler(async |args: Args| {
//!         let name = args.root().get("name").and_then(|it| it.as_str()).unwrap_or_default();
//!         format!("Hello, {name}!")
//!     })
//!     .build()?;
//!
//! let ctx = DispatchContext::builder("turn-1").build();
//! let done = greet.executor(&ctx).call(r#"{"name": "Ada"}"#).await;
//! assert!(matches!(done.outcome, Ok(ToolOutput::Text(text)) if text == "Hello, Ada!"));
//!
//! // Arguments that break the schema never reach the handler; the error tells the model what to send instead.
//! let refused = greet.executor(&ctx).call(r#"{"nam": "Ada"}"#).await;
//! assert!(refused.outcome.is_err());
//! # Ok(())
//! # }
//! ```
//!
//! # Layers
//!
//! A module imports only modules from earlier rows of this table, or modules to its left in the same row:
//!
//! | layer | modules |
//! |---|---|
//! | 1. base types | [`cancel`], [`contract`] (findings of conformance suites), [`error`] (error codes), [`invariant`], [`usage`], [`clock`], [`json`], [`stash`]; private: `tier`, `mac`, `descriptor`, `failure`, `byte_stream`, `id` |
//! | 2. schema and arguments | [`schema`] with [`args`] |
//! | 3. content | [`tokens`], [`spool`], [`media`] |
//! | 4. records and stores | [`store`], [`artifact`], [`record`], [`call`], [`event`], [`stream`] |
//! | 5. trust | [`trust`], which renders records |
//! | 6. turns | [`pipeline`], [`gate`], [`tool`] with [`registry`] and [`context`], [`forge`], [`step`] |
//!
//! # Features
//!
//! | feature | default | content |
//! |---|---|---|
//! | `foreign-schemas` | yes | validation by JSON Schemas from outside, such as those of MCP servers |
//! | `schemars` | no | JSON Schemas of what is stored, printed and sent: events, summaries of turns, media |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod answer;
pub mod artifact;
mod byte_stream;
pub mod call;
pub mod cancel;
pub mod clock;
pub mod contract;
mod descriptor;
pub mod error;
pub mod event;
mod failure;
pub mod forge;
mod future;
pub mod gate;
mod id;
pub mod invariant;
pub mod json;
#[cfg(feature = "schemars")]
mod json_schema;
mod mac;
pub mod media;
pub mod pipeline;
mod preview;
pub mod record;
pub mod schema;
pub mod spool;
pub mod stash;
pub mod step;
pub mod store;
pub mod stream;
mod tier;
pub mod tokens;
pub mod tool;
pub mod trust;
pub mod usage;

pub use call::CallId;
pub use error::{Coded, ErrorCode};
pub use future::BoxFuture;
pub use schema::args::{self, ArgValue, Args, FromArgs, RawArgs, ToolArgs};
pub use tool::context::{self, CallContext, DispatchContext};
pub use tool::registry::{self, ToolRegistry};
pub use tool::{IntoToolOutput, State, Tool, ToolFailure, ToolOutput};

/// What the expansions of the macros refer to. Not part of the public API.
#[doc(hidden)]
pub mod __macro {
    pub use crate::artifact::ArtifactKind;
    pub use crate::json::{JsonWriter, UnrepresentableValue, ValueKind, ValueRef};
    pub use crate::schema::args::{
        ArgDefinitions, ArgValue, Args, DecodeError, IntegerArg, LengthArg, ListArg, NumericArg,
        TextArg, ToolArgs,
    };
    pub use crate::schema::{Field, ObjectSchema, Presence, Schema, object, one_of, tuple, union};
    pub use crate::tool::context::CallContext;
    pub use crate::tool::{
        Concurrency, IntoToolOutput, OnCollision, State, Tool, ToolBuilder, ToolEffect,
        shared_state, signature,
    };
}
