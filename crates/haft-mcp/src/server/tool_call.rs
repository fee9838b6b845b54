//! Running a call as the only call of a turn.

use std::borrow::Cow;
use std::sync::Arc;

use haft::events::EventFilter;
use haft::turn::{TurnError, TurnOutcome, TurnReport};
use haft_core::call::{CallId, ToolResults};
use haft_core::event::EventName;
use haft_core::gate::Gate;
use haft_core::store::{GateId, TurnId};
use haft_core::tool::ArtifactSet;
use haft_core::{RawArgs, Tool};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    ElicitationCapability, InputRequiredResult,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::value::RawValue;
use tracing::Instrument as _;

use super::artifacts::StoredResults;
use super::events::CallObserver;
use super::executor::RequestedCall;
use super::gates::input_request;
use super::pending::{PendingCall, QuestionChannel};
use super::{McpServer, ServerShared};
use crate::query_tools::{handle_of, is_list};
use crate::request_span::{record_failure, server_span};

/// How many rounds of questions a call may have.
const MAX_ROUNDS: u32 = 100;

/// A call that a client requested.
struct ClientCall {
    tool: String,
    /// The arguments as JSON text.
    args: String,
    id: CallId,
    /// The turn that runs it, and how often it was asked for input.
    turn: TurnId,
    round: u32,
}

impl McpServer {
    /// Answers `tools/call`.
    pub(super) async fn handle_call(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = serde_json::to_string(&params.arguments.unwrap_or_default());
        let args = args.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let name = params.name.as_ref();
        if let Some(query) = self.shared.queries.find(name) {
            let query = query.clone();
            return Ok(self.answer_query(&query, args.into(), context).await?.into());
        }
        if !self.shared.tools.has(name) {
            return Err(ErrorData::invalid_params(format!("unknown tool `{name}`"), None));
        }
        let (id, tool) = (CallId::of_text(name, &args), name.to_owned());
        let opened = params.request_state.map(|state| self.shared.states.open(&state, id));
        let (call, is_continued) = match opened.transpose()? {
            Some((turn, round)) => (ClientCall { tool, args, id, turn, round }, true),
            None => {
                let turn = StoredResults::new_turn()?;
                (ClientCall { tool, args, id, turn, round: 0 }, false)
            }
        };
        let pending = PendingCall::new(&context, params.input_responses, is_continued);
        let shared = Arc::clone(&self.shared);
        let level = self.log_level.load(std::sync::atomic::Ordering::Relaxed);
        let observer = CallObserver::new(&context, level);
        let span = server_span("tools/call", Some(&params.name), context.meta.get_traceparent());
        let work = Box::pin(shared.run_call(call, pending, observer, context));
        let answer = work.instrument(span.clone()).await;
        match &answer {
            Ok(CallToolResponse::Complete(it)) if it.is_error == Some(true) => {
                record_failure(&span, "tool_error");
            }
            Ok(_) => {}
            Err(_) => record_failure(&span, "_OTHER"),
        }
        answer
    }

    /// Answers a query about a stored result. Clients that may not list results can ask about those they can name.
    async fn answer_query(
        &self,
        tool: &Tool,
        args: RawArgs,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let shared = &self.shared;
        let lists = is_list(tool, &args);
        if lists && !self.lists_artifacts {
            let why = "results are not listed here; name one by its `callId`";
            return Err(ErrorData::invalid_params(why, None));
        }
        let artifacts =
            if self.lists_artifacts { shared.results.all() } else { ArtifactSet::new() };
        if !lists && let Some(handle) = handle_of(&args) {
            match shared.results.find(&handle).await {
                Ok(Some(artifact)) => {
                    let _ = artifacts.put_retrieved(&handle, artifact);
                }
                Ok(None) => return Ok(shared.unknown_handle(&handle)),
                Err(error) => return Err(internal(&error)),
            }
        }
        let cancellation = haft_core::cancel::Cancellation::new();
        let query = shared.queries.run(tool, args, Arc::new(artifacts), cancellation.clone());
        let answer = tokio::select! {
            answer = query => answer,
            () = context.ct.cancelled() => {
                cancellation.cancel("the client cancelled the query");
                shared.queries.refuse("the query was cancelled")
            }
        };
        let content = vec![ContentBlock::text(answer.text)];
        Ok(if answer.is_error {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        })
    }
}

impl ServerShared {
    /// Runs a call until it has ended or needs input.
    async fn run_call(
        &self,
        call: ClientCall,
        pending: PendingCall,
        mut observer: CallObserver,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let slot = tokio::select! {
            slot = self.slots.acquire() => slot.map_err(|_| internal(&"the server stops"))?,
            () = context.ct.cancelled() => return Ok(self.error_result("the call was cancelled").into()),
        };
        let is_continued =
            matches!(pending.channel, QuestionChannel::InputRequired { is_continued: true, .. });
        let Some(guard) = self.pending.register(&call.turn, pending) else {
            return Err(ErrorData::invalid_request("this call is being continued already", None));
        };
        if let Err(error) = self.results.remove_expired().await {
            tracing::warn!(%error, "old results of MCP calls could not be removed");
        }
        let filter = EventFilter::turn(call.turn.as_str()).only([EventName::Log]);
        let mut events = self.hub.subscribe(filter);
        let turn = Box::pin(self.run_turn(&call, is_continued, &context));
        tokio::pin!(turn);
        let report = loop {
            tokio::select! {
                biased;
                Some(received) = events.next() => {
                    if let Some(event) = received.event() {
                        observer.notify(&event).await;
                    }
                }
                report = &mut turn => break report,
            }
        };
        while let Some(received) = events.try_next() {
            if let Some(event) = received.event() {
                observer.notify(&event).await;
            }
        }
        drop(slot);
        let report = report.map_err(|error| internal(&error))?;
        match &report.outcome {
            TurnOutcome::Waiting { gates } => {
                let can_ask = guard.call.has_forms
                    && matches!(guard.call.channel, QuestionChannel::InputRequired { .. });
                self.require_input(&call, gates, can_ask).await
            }
            _ => Ok(self.report_result(&report).await.into()),
        }
    }

    async fn run_turn(
        &self,
        call: &ClientCall,
        is_continued: bool,
        context: &RequestContext<RoleServer>,
    ) -> Result<TurnReport, TurnError> {
        if is_continued {
            let turn = self.agent.resume(&call.turn);
            return turn.cancel_on(context.ct.clone().cancelled_owned()).report().await;
        }
        let turn = self.agent.turn(message_of(call)).id(call.turn.as_str());
        let turn = turn.system("A client of the Model Context Protocol requested this call.");
        turn.cancel_on(context.ct.clone().cancelled_owned()).report().await
    }

    /// The result of a turn that has ended.
    async fn report_result(&self, report: &TurnReport) -> CallToolResult {
        let Some(call) = report.calls.first() else {
            let why = report.error.as_ref().map(|error| error.message.to_string());
            return self
                .error_result(&why.unwrap_or_else(|| format!("the call {}", report.outcome)));
        };
        let handles = match &call.results {
            Some(ToolResults::Artifacts(artifacts)) => self.results.put(&report.turn, artifacts),
            _ => Vec::new(),
        };
        self.call_result(call, &handles).await
    }

    /// Asks the client for what a call waits for.
    async fn require_input(
        &self,
        call: &ClientCall,
        gates: &[GateId],
        can_ask: bool,
    ) -> Result<CallToolResponse, ErrorData> {
        if !can_ask || call.round >= MAX_ROUNDS {
            let why = "the client cannot ask its user for the input that the call needs";
            self.agent
                .stored_turns()
                .cancel_turn(&call.turn, why)
                .await
                .map_err(|error| internal(&error))?;
            let required = ElicitationCapability::new();
            let required = ClientCapabilities::builder().enable_elicitation_with(required).build();
            return Err(ErrorData::missing_required_client_capability(required));
        }
        let open = self.agent.gates().open_gates(Some(call.turn.clone())).await;
        let open = open.map_err(|error| internal(&error))?;
        let asked = open.iter().filter(|gate: &&Gate| gates.contains(&gate.id));
        let requests = asked.map(input_request).collect();
        let state = self.states.seal(&call.turn, call.id, call.round + 1);
        Ok(InputRequiredResult::new(Some(requests), Some(state)).into())
    }

    /// The refusal of a query about a result that is not there.
    pub(super) fn unknown_handle(&self, handle: &str) -> CallToolResult {
        let lifetime = super::definitions::describe_lifetime(self.results.lifetime());
        let shown: String = handle.chars().take(64).collect();
        self.error_result(&format!(
            "there is no result with callId `{shown}`: it never existed, or its lifetime of {lifetime} is over; call \
             the tool again"
        ))
    }
}

/// The message of a turn that runs a call.
fn message_of(call: &ClientCall) -> String {
    let tool = Cow::Borrowed(call.tool.as_str());
    let arguments: Result<&RawValue, _> = serde_json::from_str(&call.args);
    let text =
        arguments.and_then(|arguments| serde_json::to_string(&RequestedCall { tool, arguments }));
    text.unwrap_or_default()
}

/// An error of the server itself. Its cause is for the operator, so that clients see only what happened.
pub(super) fn internal(error: &dyn std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(format!("the call could not be made: {error}"), None)
}
