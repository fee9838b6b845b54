//! What a server may ask of us, and tell us.
#![expect(
    deprecated,
    reason = "servers of earlier revisions ask for samples and roots, and send logs"
)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::CallContext;
use haft_core::event::LogLevel;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorData,
    Extensions, FormElicitationCapability, Implementation, ListRootsResult, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, RequestId,
    UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use tokio::time::Instant;

use super::elicitation::{Asker, answer_elicitation};

/// The calls of a connection that are running.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningCalls(Arc<Mutex<Vec<Arc<RunningCall>>>>);

/// A call that is running.
#[derive(Debug)]
pub(super) struct RunningCall {
    pub(super) request: RequestId,
    token: ProgressToken,
    pub(super) ctx: CallContext,
    /// When the server last sent a message.
    heard_at: Mutex<Instant>,
    /// How many questions of the server wait for a decision.
    open_questions: AtomicUsize,
}

impl RunningCalls {
    pub(super) fn insert(
        &self,
        request: RequestId,
        token: ProgressToken,
        ctx: CallContext,
    ) -> Arc<RunningCall> {
        let call = RunningCall {
            request,
            token,
            ctx,
            heard_at: Mutex::new(Instant::now()),
            open_questions: AtomicUsize::new(0),
        };
        let call = Arc::new(call);
        self.lock().push(Arc::clone(&call));
        call
    }

    pub(super) fn remove(&self, call: &Arc<RunningCall>) {
        self.lock().retain(|it| !Arc::ptr_eq(it, call));
    }

    fn by_token(&self, token: &ProgressToken) -> Option<Arc<RunningCall>> {
        self.lock().iter().find(|it| it.token == *token).cloned()
    }

    /// The call that a request of the server belongs to. Over byte streams the protocol does not say which, so that the
    /// latest one is taken.
    fn of_request(&self, extensions: &Extensions) -> Option<Arc<RunningCall>> {
        let calls = self.lock();
        match extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => {
                calls.iter().find(|it| it.request == *id).cloned()
            }
            Some(InboundStreamOrigin::Unassociated) | None => calls.last().cloned(),
        }
    }

    fn latest(&self) -> Option<Arc<RunningCall>> {
        self.lock().last().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<RunningCall>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningCall {
    /// When the server last sent a message, or `None` while it waits for a decision.
    pub(super) fn heard_at(&self) -> Option<Instant> {
        let is_waiting = self.open_questions.load(Ordering::Acquire) > 0;
        (!is_waiting).then(|| *self.heard_at.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn touch(&self) {
        *self.heard_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Notes that the server waits for a decision, until the guard is dropped.
    pub(super) fn begin_question(self: &Arc<Self>) -> QuestionGuard {
        self.open_questions.fetch_add(1, Ordering::AcqRel);
        QuestionGuard(Arc::clone(self))
    }
}

/// A question of the server that waits for a decision.
pub(super) struct QuestionGuard(Arc<RunningCall>);

impl Drop for QuestionGuard {
    fn drop(&mut self) {
        self.0.touch();
        self.0.open_questions.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The client of one connection.
#[derive(Debug)]
pub(super) struct ConnectionHandler {
    pub(super) server: Arc<str>,
    pub(super) calls: RunningCalls,
    /// Whether the server says that its list of tools has changed.
    pub(super) is_stale: Arc<AtomicBool>,
}

impl ClientHandler for ConnectionHandler {
    fn get_info(&self) -> ClientConfig {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::default())
            .with_url(UrlElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(elicitation);
        let implementation = Implementation::new("haft", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, implementation)
            .with_protocol_version(rmcp::model::ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let message = "this client does not let servers use its model (sampling)";
        Err(ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let message = "this client does not list directories (roots)";
        Err(ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        match self.calls.of_request(&context.extensions) {
            Some(call) => {
                let asker = Asker { server: &self.server, question: None };
                Ok(answer_elicitation(asker, &call, request).await)
            }
            // Outside of a call there is no user to ask.
            None => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let Some(call) = self.calls.by_token(&params.progress_token) else { return };
        call.touch();
        let message = params.message.unwrap_or_default();
        let payload = serde_json::json!({
            "server": &*self.server, "progress": params.progress, "total": params.total,
        });
        call.ctx.log(LogLevel::Info, PROGRESS, &message, Some(payload));
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let Some(call) = self.calls.latest() else { return };
        let level = match params.level {
            LoggingLevel::Debug => LogLevel::Debug,
            LoggingLevel::Info | LoggingLevel::Notice => LogLevel::Info,
            LoggingLevel::Warning => LogLevel::Warn,
            _ => LogLevel::Error,
        };
        let message = match &params.data {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let payload = serde_json::json!({"server": &*self.server, "logger": params.logger});
        call.ctx.log(level, "mcp.log", &message, Some(payload));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.is_stale.store(true, Ordering::Release);
    }
}

/// The topic of the progress of a call. `McpServer` passes messages with this topic on as progress.
const PROGRESS: &str = "progress";
