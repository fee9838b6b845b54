//! The executor of turns that have one call, which a client requested.

use haft_core::BoxFuture;
use haft_core::step::{
    DispatchExecutor, ExecutorDescription, ProposedCall, Step, StepContext, StepError,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A call as the message of its turn has it. The turn can be resumed by another process because of it.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct RequestedCall<'t> {
    pub(super) tool: std::borrow::Cow<'t, str>,
    #[serde(borrow)]
    pub(super) arguments: &'t RawValue,
}

/// Proposes the call that the message of the turn describes, and ends the turn after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestedCallExecutor;

impl DispatchExecutor for RequestedCallExecutor {
    fn step(&self, ctx: StepContext) -> BoxFuture<'_, Result<Step, StepError>> {
        Box::pin(async move {
            let messages = ctx.dispatch().turn().messages().all();
            let text = messages.first().and_then(|message| message.content());
            let text = text.ok_or_else(|| StepError::new("the turn has no message with a call"))?;
            let call: RequestedCall<'_> = serde_json::from_str(text.as_str()).map_err(|error| {
                StepError::new("the message of the turn is no call").with_source(error)
            })?;
            let call = ProposedCall::new(call.tool.into_owned(), call.arguments.get());
            Ok(Step::done().call(call))
        })
    }

    fn description(&self) -> ExecutorDescription {
        ExecutorDescription::custom("mcp-call")
    }
}
