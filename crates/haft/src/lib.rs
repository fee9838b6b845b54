//! An agent development kit: the model gets a handle on every tool.
//!
//! The central idea is one signature. A function with this signature becomes a tool, and the schema that the model sees
//! is the schema that validates its calls:
//!
//! ```text
//! async fn(A, &CallContext) -> Result<impl IntoToolOutput, ToolFailure>
//! ```
//!
//! # A program
//!
//! ```
//! use haft::{CallContext, ToolArgs, ToolFailure, tool};
//!
//! #[derive(ToolArgs)]
//! struct Weather {
//!     /// The city name
//!     city: String,
//!     /// Unit of the answer
//!     #[arg(default = "celsius")]
//!     units: Units,
//! }
//!
//! #[derive(ToolArgs)]
//! enum Units {
//!     Celsius,
//!     Fahrenheit,
//! }
//!
//! /// Returns the current weather for a given city.
//! #[tool(read_only)]
//! async fn get_weather(args: Weather, ctx: &CallContext) -> Result<String, ToolFailure> {
//!     ctx.stash().set("last.city", &args.city)?;
//!     let degrees = match args.units {
//!         Units::Celsius => 21,
//!         Units::Fahrenheit => 70,
//!     };
//!     Ok(format!("{degrees} degrees in {}", args.city))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let weather = get_weather().build()?;
//! let call = weather.call(r#"{"city": "Paris"}"#).await;
//! assert_eq!(call.text(), Some("21 degrees in Paris"));
//!
//! // Arguments that do not fit never reach the function, and the model is told why.
//! let call = weather.call(r#"{"city": "Paris", "units": "kelvin"}"#).await;
//! let refusal = call.outcome.unwrap_err().to_string();
//! assert!(refusal.contains("/units"), "{refusal}");
//! # Ok(())
//! # }
//! ```
//!
//! # The nouns
//!
//! - [`Tool`]: a name, a description, a schema and a handler, built once and never changed.
//! - [`ToolRegistry`]: the tools of a turn.
//! - [`CallContext`]: what a handler receives besides its arguments.
//! - [`ToolCall`]: the record of a call. Failed calls have records too.
//! - [`ToolArgs`]: types that can be the arguments of a tool.
//! - [`Agent`]: runs turns, and resumes turns that a crash interrupted.
//!
//! # By task
//!
//! | task | where |
//! |---|---|
//! | run a turn with a model | [`Provider`] with a dialect of [`providers::dialects`], [`Agent`], [`Turn`] |
//! | run it without a model | [`executors`]: scripts, recordings, closures |
//! | stop for approvals | [`turn`]: `requires_approval` on a tool, an approver or gates on the agent |
//! | keep large results out of the prompt | [`artifacts`] |
//! | mark where content comes from | [`trust`] |
//! | survive a crash | [`stores`]; [`Worker`] for turns that many processes share |
//! | follow turns in a terminal, a browser or metrics | [`events`] |
//! | act before and after every step | [`middleware`] |
//! | use custom arguments, schemas and checks | [`schema`] |
//! | use ready-made tools, or choose tools by purpose | [`mod@tools`] |
//! | test custom stores, readers, formats and dialects | the crate `haft-conformance` |
//!
//! The binary `haft` of the crate `haft-cli` runs agents that are defined in a file; `agent-file.md` in its
//! documentation lists the keys.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `macros` | yes | `#[tool]` and `#[derive(ToolArgs)]` |
//! | `foreign-schemas` | yes | tools and gates with JSON Schemas from outside, such as those of MCP servers |
//! | `schemars` | no | `SerdeArgs`: types that derive serde and schemars as arguments; JSON Schemas of events and recordings |
//! | `formats` | yes | artifacts in Markdown, YAML, XML and CSV |
//! | `sqlite` | no | `stores::SqliteStore` and `stores::TurnDir`: turns in a file; links the SQLite library of the system |
//! | `sqlite-bundled` | no | `sqlite` with a SQLite that is compiled and linked statically |
//! | `postgres` | no | `stores::PostgresStore`: turns in a database server that processes on many machines share |
//! | `object-store` | no | `stores::ObjectSpoolStore`: large results in S3 and compatible services |
//! | `azure`, `gcp` | no | `object-store`, also for addresses of Azure Blob Storage and Google Cloud Storage |
//! | `opentelemetry` | no | `traceparent` for models, MCP servers and workers, so that traces continue there |
//! | `tokens` | no | `tokens::ExactCounter` and `tokens::StreamCounter`: exact token counts |
//! | `http` | no | `providers::transport::HttpTransport`: models behind HTTP; `readers::HttpReader`: media from the network |
//! | `tokio-util` | no | `CancellationToken` to cancel turns, and for handlers |
//! | `tools` | no | `tools`: packs of ready-made tools: files, time, math, text, data, memory, web |
#![cfg_attr(docsrs, feature(doc_cfg))]

mod answer;
pub mod artifacts;
pub mod error;
pub mod events;
pub mod executors;
pub mod media;
pub mod middleware;
pub mod records;
pub mod schema;
mod secret;
#[cfg(feature = "schemars")]
mod serde_args;
pub mod stores;
mod sync;
pub mod tools;
pub mod turn;
pub mod worker;

#[doc(inline)]
pub use haft_core::trust;
#[doc(inline)]
pub use haft_providers as providers;

#[doc(hidden)]
pub use haft_core::__macro;

pub use answer::Answer;
pub use error::{Error, Result};
#[doc(inline)]
pub use haft_core::context::TurnContext;
pub use haft_core::error_codes;
#[doc(inline)]
pub use haft_core::media::Media;
#[doc(inline)]
pub use haft_core::record::Message;
#[doc(inline)]
pub use haft_core::step::{DispatchExecutor, Step};
#[doc(inline)]
pub use haft_core::{
    Args, BoxFuture, CallContext, DispatchContext, State, Tool, ToolArgs, ToolFailure, ToolOutput,
    ToolRegistry, call::ToolCall, tool::Json,
};
#[doc(inline)]
pub use haft_providers::Provider;
#[doc(inline)]
pub use turn::{Agent, Turn, TurnReport};
#[doc(inline)]
pub use worker::Worker;

#[cfg(feature = "macros")]
#[doc = include_str!("../docs/tool_args.md")]
pub use haft_macros::ToolArgs;

#[cfg(feature = "macros")]
#[doc = include_str!("../docs/tool.md")]
pub use haft_macros::tool;
