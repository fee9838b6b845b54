//! Middleware that most applications want.
//!
//! ```
//! use haft::executors::ScriptExecutor;
//! use haft::middleware::{
//!     Verdict, audit_log, fetch_and_register_tools, hydrate_conversation, repetition_guard, safety_veto,
//! };
//! use haft::turn::Agent;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let model = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
//! let no_keys = async |call: std::sync::Arc<haft::ToolCall>| {
//!     let text = format!("{:?}", call.results);
//!     Ok(if text.contains("PRIVATE KEY") { Verdict::veto("it has a key in it") } else { Verdict::Pass })
//! };
//! let agent = Agent::builder(model)
//!     .turn_input("history", hydrate_conversation())
//!     .turn_input("tools", fetch_and_register_tools())
//!     .dispatch_output("veto", safety_veto(no_keys))
//!     .dispatch_output("repetition", repetition_guard(3))
//!     .dispatch_output("audit", audit_log(|line| { eprintln!("{line}"); Ok(()) }))
//!     .build()?;
//! # let _ = agent;
//! # Ok(())
//! # }
//! ```
//!
//! No middleware runs a handler.

mod audit;
mod fetch;
mod hydrate;
mod repetition;
mod veto;

use std::sync::Arc;

use haft_core::call::{ToolCall, ToolResults};
use haft_core::clock::Timestamp;
use haft_core::context::DispatchContext;

#[doc(inline)]
pub use haft_core::pipeline::{
    BoxError, Middleware, MiddlewareError, Next, NextNotRun, Pipeline, PipelineContext,
    PipelineError, Stage,
};

pub use self::audit::{AuditLog, audit_log};
pub use self::fetch::{FetchTools, fetch_and_register_tools};
pub use self::hydrate::{HydrateConversation, hydrate_conversation};
pub use self::repetition::{OnRepetition, RepetitionGuard, repetition_guard};
pub use self::veto::{SafetyVeto, Verdict, safety_veto};

/// The calls of this iteration that are over, in order.
fn completed_calls(ctx: &DispatchContext) -> impl Iterator<Item = Arc<ToolCall>> {
    let iteration = ctx.iteration();
    let calls = ctx.turn().tool_calls().of_turn().into_iter();
    calls.filter(move |call| call.iteration == iteration && call.state().is_final())
}

/// The call with a notice for the model in place of its results. Its artifacts can no longer be queried.
fn with_notice(call: &ToolCall, notice: String, at: Timestamp) -> ToolCall {
    let mut call = call.clone();
    match &mut call.error {
        Some(error) => error.message = notice,
        None => call.results = Some(ToolResults::Text(notice)),
    }
    call.updated_at = at;
    call
}
