//! Calls a tool of a server.

use std::sync::Arc;

use haft_core::tool::{ToolEffect, ToolFailure, ToolOutput};
use haft_core::{Args, CallContext};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam,
    ClientRequest, ErrorCode, InputRequest, InputRequiredResult, InputResponses, RequestId,
    RequestMetaObject, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use tokio::time::{Instant, sleep_until};
use tracing::Instrument as _;

use super::arguments;
use super::connection::{Connection, LiveConnection, challenge_of, error_text};
use super::elicitation::{Asker, answer_elicitation, input_response};
use super::error::McpClientError;
use super::handler::{RunningCall, RunningCalls};
use super::results::ResultReader;
use crate::request_span::{client_span, record_failure};
use crate::transport::SpooledParts;

/// What is needed to call a tool of a server.
#[derive(Clone, Debug)]
pub(super) struct RemoteTool {
    /// The name that the server gives it.
    pub(super) name: Arc<str>,
    pub(super) effect: ToolEffect,
}

/// Why a call has no result.
enum CallFailure {
    /// The connection was lost before the result arrived.
    Lost(ServiceError),
    Failed(ToolFailure),
}

impl From<ToolFailure> for CallFailure {
    fn from(failure: ToolFailure) -> Self {
        Self::Failed(failure)
    }
}

impl Connection {
    /// Calls a tool. A call that may be repeated is repeated once if the connection was lost.
    pub(super) async fn call_tool(
        &self,
        tool: &RemoteTool,
        args: &Args,
        ctx: &CallContext,
    ) -> Result<ToolOutput, ToolFailure> {
        let mut may_repeat = tool.effect != ToolEffect::Once;
        loop {
            let live = self.live().await.map_err(McpClientError::into_failure)?;
            match self.call_once(&live, tool, args, ctx).await {
                Ok(output) => return Ok(output),
                Err(CallFailure::Failed(failure)) => return Err(failure),
                Err(CallFailure::Lost(error)) => {
                    self.disconnect();
                    if !std::mem::take(&mut may_repeat) {
                        return Err(self.lost_failure(tool, &error));
                    }
                }
            }
        }
    }

    fn lost_failure(&self, tool: &RemoteTool, error: &ServiceError) -> ToolFailure {
        let server = &self.server;
        let advice = match tool.effect {
            ToolEffect::Once => "it may have had its effect: find out before you repeat the call",
            _ => "try again later, or go on without it",
        };
        ToolFailure::new(format!(
            "the connection to the MCP server `{server}` was lost during the call; {advice}"
        ))
        .with_source(error_text(error))
        .outcome_unknown()
    }

    async fn call_once(
        &self,
        live: &Arc<LiveConnection>,
        tool: &RemoteTool,
        args: &Args,
        ctx: &CallContext,
    ) -> Result<ToolOutput, CallFailure> {
        let mut params = CallToolRequestParams::new(tool.name.to_string())
            .with_arguments(arguments::to_object(args));
        for _ in 0..MAX_ROUNDS {
            let (result, call) = self.send_call(live, params.clone(), ctx).await?;
            match result {
                ServerResult::CallToolResult(result) => {
                    return Ok(self.read_result(live, tool, result).await?);
                }
                ServerResult::InputRequiredResult(required) => {
                    params = self.answer_requests(&call, params, required).await?;
                }
                ServerResult::CreateTaskResult(_) => {
                    // The task may go on and have its effect.
                    let failure = self.failure("answered with a task, which Haft does not support");
                    return Err(failure.outcome_unknown().into());
                }
                _ => {
                    let failure = self.failure("answered with something else than a result");
                    return Err(failure.outcome_unknown().into());
                }
            }
        }
        Err(self.failure("asked for input again and again").into())
    }

    /// Sends a call and waits for what the server responds.
    async fn send_call(
        &self,
        live: &Arc<LiveConnection>,
        params: CallToolRequestParams,
        ctx: &CallContext,
    ) -> Result<(ServerResult, Arc<RunningCall>), CallFailure> {
        let span = client_span("tools/call", Some(&params.name), &self.server);
        let result = self.exchange_call(live, params, ctx).instrument(span.clone()).await;
        match &result {
            // The conventions say that a result which is an error has this type.
            Ok((ServerResult::CallToolResult(it), _)) if it.is_error == Some(true) => {
                record_failure(&span, "tool_error");
            }
            Ok(_) => {}
            Err(_) => record_failure(&span, "_OTHER"),
        }
        result
    }

    /// Sends a call in its span, and waits for what the server responds.
    async fn exchange_call(
        &self,
        live: &Arc<LiveConnection>,
        params: CallToolRequestParams,
        ctx: &CallContext,
    ) -> Result<(ServerResult, Arc<RunningCall>), CallFailure> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mut options = PeerRequestOptions::default();
        if let Some(traceparent) = ctx.turn().traceparent() {
            let mut meta = RequestMetaObject::default();
            meta.set_traceparent(traceparent);
            options.meta = Some(meta);
        }
        let sent = live.peer.send_request_with_option(request, options).await;
        let handle = sent.map_err(CallFailure::Lost)?;
        let call = live.calls.insert(handle.id.clone(), handle.progress_token.clone(), ctx.clone());
        let mut guard = CallGuard {
            peer: live.peer.clone(),
            parts: live.parts.clone(),
            calls: live.calls.clone(),
            call: Arc::clone(&call),
            reason: Some("the call was cancelled"),
        };
        let result = tokio::select! {
            result = handle.await_response() => result,
            limit = self.await_deadline(&call) => {
                guard.reason = Some("the deadline of the call has passed");
                return Err(self.failure(limit).outcome_unknown().into());
            }
            reason = ctx.cancellation().cancelled() => {
                let failure = ToolFailure::new(format!("the call was cancelled: {reason}"));
                return Err(failure.outcome_unknown().into());
            }
        };
        guard.reason = None;
        match result {
            Ok(result) => Ok((result, call)),
            Err(error) => Err(self.call_failure(error)),
        }
    }

    /// The failure of a call that was sent and has no result.
    fn call_failure(&self, error: ServiceError) -> CallFailure {
        match error {
            ServiceError::McpError(error) => {
                let message = format!("reports an error: {}", error.message);
                let failure = self.failure(&message);
                // Also the error of a response that cannot be read: the server may have done its work before.
                match error.code {
                    ErrorCode::INTERNAL_ERROR => failure.outcome_unknown().into(),
                    _ => failure.into(),
                }
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                match challenge_of(&error) {
                    Some(challenge) => {
                        let server = self.server.to_string();
                        McpClientError::Unauthorized { server, challenge }.into_failure().into()
                    }
                    None => CallFailure::Lost(error),
                }
            }
            error => self.failure(&error_text(&error)).outcome_unknown().into(),
        }
    }

    /// Waits until the server has used up its time.
    async fn await_deadline(&self, call: &RunningCall) -> &'static str {
        let mut last_heard = Instant::now();
        let mut ends_at = last_heard + self.options.max_call_time;
        loop {
            let now = Instant::now();
            match call.heard_at() {
                // Time at a gate does not count.
                None => {
                    ends_at += now.saturating_duration_since(last_heard);
                    last_heard = now;
                }
                Some(at) => last_heard = last_heard.max(at),
            }
            if now >= ends_at {
                return "did not finish the call in time";
            }
            let idle_at = last_heard + self.options.call_timeout;
            if call.heard_at().is_some() && now >= idle_at {
                return "did not respond in time";
            }
            let wake_at = idle_at.max(now + MIN_CHECK).min(ends_at.max(now + MIN_CHECK));
            sleep_until(wake_at).await;
        }
    }

    /// Answers the questions of a server, and returns the call with the answers.
    async fn answer_requests(
        &self,
        call: &Arc<RunningCall>,
        params: CallToolRequestParams,
        required: InputRequiredResult,
    ) -> Result<CallToolRequestParams, ToolFailure> {
        let mut responses = InputResponses::new();
        for (key, request) in required.input_requests.unwrap_or_default() {
            let response = match request {
                InputRequest::Elicitation(request) => {
                    let asker = Asker { server: &self.server, question: Some(&key) };
                    let result = answer_elicitation(asker, call, request.params).await;
                    input_response(&result)
                }
                InputRequest::CreateMessage(_) => {
                    return Err(self.failure("asks for the model (sampling), which Haft refuses"));
                }
                InputRequest::ListRoots(_) => {
                    return Err(self.failure("asks for directories (roots), which Haft refuses"));
                }
                _ => return Err(self.failure("asks for input of an unknown sort")),
            };
            responses.insert(key, response);
        }
        let mut params = params;
        params.input_responses = (!responses.is_empty()).then_some(responses);
        params.request_state = required.request_state;
        Ok(params)
    }

    async fn read_result(
        &self,
        live: &LiveConnection,
        tool: &RemoteTool,
        result: CallToolResult,
    ) -> Result<ToolOutput, ToolFailure> {
        let reader = ResultReader {
            server: &self.server,
            tool: &tool.name,
            tier: self.options.tier,
            parts: &live.parts,
        };
        reader.read(result).await
    }

    fn failure(&self, what: &str) -> ToolFailure {
        ToolFailure::new(format!("the MCP server `{}` {what}", self.server))
    }
}

/// A call that is running. If it is dropped with a reason, the server is told that the result is no longer needed.
struct CallGuard {
    peer: Peer<RoleClient>,
    parts: SpooledParts,
    calls: RunningCalls,
    call: Arc<RunningCall>,
    reason: Option<&'static str>,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.calls.remove(&self.call);
        let Some(reason) = self.reason else { return };
        let request: RequestId = self.call.request.clone();
        self.parts.discard(&request);
        // Without a runtime the program ends, and with it the connection.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let peer = self.peer.clone();
            let params = CancelledNotificationParam::new(Some(request), Some(reason.to_owned()));
            runtime.spawn(async move { peer.notify_cancelled(params).await });
        }
    }
}

/// How often a server may ask for input during one call.
const MAX_ROUNDS: usize = 10;
/// How often a call that waits at a gate is looked at.
const MIN_CHECK: std::time::Duration = std::time::Duration::from_millis(250);
