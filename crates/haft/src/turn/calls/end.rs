//! Ending calls that have no result of a handler.

use std::time::Duration;

use haft_core::call::{CallError, CallState, ToolCall};
use haft_core::cancel::CancelReason;
use haft_core::error::{Coded as _, codes};
use haft_core::event::{ErrorReport, EventKind};
use haft_core::gate::GateError;
use haft_core::tool::{PanicError, Tool, ToolEffect, ToolError};

use super::{CallRunner, WorkKind};

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

    pub(super) fn end_panicked_call(&self, call: &ToolCall, panic: &str) -> ToolCall {
        let (tool, panic) = (call.tool().to_owned(), PanicError::new(panic));
        let error = ToolError::Panicked { tool, panic };
        self.end_failed_call(call, CallError::of(&error)).with_cause(error.operator_cause())
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

    pub(super) fn end_cancelled_call(
        &self,
        call: &ToolCall,
        tool: &Tool,
        reason: &CancelReason,
        work: WorkKind,
    ) -> ToolCall {
        let error = ToolError::Cancelled { tool: call.tool().to_owned(), reason: reason.clone() };
        let error = CallError::of(&error);
        if work == WorkKind::Handler && tool.effect() == ToolEffect::Once {
            return self.end_unknown_call(call, &error.message);
        }
        call.clone().ended(CallState::Cancelled, error, self.ctx.clock().now())
    }

    pub(super) fn end_late_call(
        &self,
        call: &ToolCall,
        tool: &Tool,
        limit: Duration,
        work: WorkKind,
    ) -> ToolCall {
        let message = format!("`{}` did not finish within {limit:?}", call.tool());
        if work == WorkKind::Handler && tool.effect() == ToolEffect::Once {
            return self.end_unknown_call(call, &message);
        }
        self.end_failed_call(call, CallError::new(codes::DEADLINE_EXCEEDED, message, true))
    }

    /// Ends a call whose handler was interrupted and must not be repeated.
    pub(super) fn end_unknown_call(&self, call: &ToolCall, reason: &str) -> ToolCall {
        let message = format!("{reason}; what it did is not known, do not repeat it blindly");
        let error = CallError::new(codes::TOOL_OUTCOME_UNKNOWN, message, false);
        call.clone().ended(CallState::Unknown, error, self.ctx.clock().now())
    }
}
