//! Ending calls that have no result of a handler.

use haft_core::call::{CallError, CallState, ToolCall};
use haft_core::error::{Coded as _, codes};
use haft_core::event::{ErrorReport, EventKind};
use haft_core::gate::GateError;
use haft_core::tool::{Tool, ToolEffect, ToolError};

use super::super::deadline::WaitError;
use super::CallRunner;

impl CallRunner {
    pub(super) fn end_failed_call(&self, call: &ToolCall, error: CallError) -> ToolCall {
        call.clone().ended(CallState::Failed, error, self.ctx.clock().now())
    }

    /// Ends a call whose approval was used before, by an attempt that the store does not know of.
    pub(super) fn end_spent_call(&self, call: &ToolCall) -> ToolCall {
        let message = format!(
            "the approval of this call of `{}` was already used, and what that attempt did is not known; do not repeat \
             it blindly",
            call.tool()
        );
        let error = CallError::new(codes::TOOL_OUTCOME_UNKNOWN, message, false);
        call.clone().ended(CallState::Unknown, error, self.ctx.clock().now())
    }

    /// Ends a call that was not approved.
    pub(super) fn end_refused_call(&self, call: &ToolCall, error: &GateError) -> ToolCall {
        let tool = call.tool();
        let message = match error {
            GateError::Rejected { reason, .. } => {
                format!("the call of `{tool}` was not allowed: {reason}")
            }
            GateError::Timeout => format!("the call of `{tool}` was not allowed in time"),
            GateError::Aborted => {
                format!("the call of `{tool}` was cancelled before it was allowed")
            }
            _ => format!("the call of `{tool}` could not be allowed"),
        };
        let state = match error {
            GateError::Aborted => CallState::Cancelled,
            _ => CallState::Failed,
        };
        if !matches!(error, GateError::Rejected { .. } | GateError::Timeout | GateError::Aborted) {
            self.ctx.emit_with(|| EventKind::Error(ErrorReport::of(error)));
        }
        let cause = ErrorReport::of(error);
        let cause = cause
            .cause
            .map_or(cause.message.to_string(), |causes| format!("{}: {causes}", cause.message));
        let error = CallError::new(error.code(), message, false);
        call.clone().ended(state, error, self.ctx.clock().now()).with_cause(Some(cause))
    }

    /// Ends a call whose work has no result. What the work did that must not be repeated is not known then.
    pub(super) fn end_without_result(
        &self,
        call: &ToolCall,
        tool: &Tool,
        error: WaitError,
        effect: ToolEffect,
    ) -> ToolCall {
        let name = call.tool().to_owned();
        let (state, error) = match error {
            WaitError::Panicked(panic) => {
                let error = ToolError::Panicked { tool: name, panic };
                let ended = self.end_failed_call(call, CallError::of(&error));
                return ended.with_cause(error.operator_cause());
            }
            WaitError::Cancelled(reason) => {
                let error = ToolError::Cancelled { tool: name, reason };
                (CallState::Cancelled, CallError::of(&error))
            }
            WaitError::Deadline => {
                let limit = self.time_limit(tool);
                let message = format!("`{name}` did not finish within {limit:?}");
                (CallState::Failed, CallError::new(codes::DEADLINE_EXCEEDED, message, true))
            }
        };
        if effect == ToolEffect::Once {
            let message =
                format!("{}; what it did is not known, do not repeat it blindly", error.message);
            let error = CallError::new(codes::TOOL_OUTCOME_UNKNOWN, message, false);
            return call.clone().ended(CallState::Unknown, error, self.ctx.clock().now());
        }
        call.clone().ended(state, error, self.ctx.clock().now())
    }
}
