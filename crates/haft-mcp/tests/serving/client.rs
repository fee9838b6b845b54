//! A client that is connected to a server in this process.
#![expect(clippy::disallowed_methods, reason = "a peer on a task of its own")]

use std::sync::{Arc, Mutex};

use haft_mcp::McpServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, Implementation, ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, ErrorData, RoleClient};
use serde_json::{Value, json};

/// How far a call has got, and how far it goes.
type Progress = (f64, Option<f64>);

/// A client whose user replies to forms as the test says.
#[derive(Clone, Default)]
pub(crate) struct TestClient {
    pub(crate) reply: Option<(ElicitationAction, Value)>,
    pub(crate) asked: Arc<Mutex<Vec<ElicitRequestParams>>>,
    pub(crate) progress: Arc<Mutex<Vec<Progress>>>,
}

impl ClientHandler for TestClient {
    fn get_info(&self) -> ClientConfig {
        let capabilities = match self.reply {
            Some(_) => ClientCapabilities::builder().enable_elicitation().build(),
            None => ClientCapabilities::default(),
        };
        ClientConfig::new(capabilities, Implementation::new("test", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.asked.lock().unwrap().push(request);
        let (action, content) = self.reply.clone().unwrap();
        Ok(ElicitResult::new(action).with_content(content))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progress.lock().unwrap().push((params.progress, params.total));
    }
}

/// Both lifecycles.
pub(crate) const LIFECYCLES: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Connects a client to a server.
pub(crate) async fn connect(
    server: &McpServer,
    client: TestClient,
    lifecycle: &str,
) -> RunningService<RoleClient, TestClient> {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let server = server.clone();
    tokio::spawn(async move {
        let (input, output) = tokio::io::split(theirs);
        let _ = server.serve_stream(input, output).await;
    });
    let mode = match lifecycle {
        "2026-07-28" => ClientLifecycleMode::Discover {
            preferred_versions: vec![rmcp::model::ProtocolVersion::V_2026_07_28],
        },
        _ => ClientLifecycleMode::Initialize,
    };
    client.serve_with_lifecycle(ours, mode).await.unwrap()
}

/// Calls a tool.
pub(crate) async fn call(
    client: &RunningService<RoleClient, TestClient>,
    name: &str,
    args: Value,
) -> CallToolResult {
    let params = CallToolRequestParams::new(name.to_owned());
    client.call_tool(params.with_arguments(args.as_object().unwrap().clone())).await.unwrap()
}

/// The text of a result, block after block.
pub(crate) fn text(result: &CallToolResult) -> String {
    let blocks = result.content.iter().filter_map(|block| block.as_text());
    blocks.map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// The handle that an answer names.
pub(crate) fn handle(result: &CallToolResult) -> String {
    let text = text(result);
    let (_, rest) = text.split_once("callId `").unwrap_or_else(|| panic!("{text}"));
    rest.split('`').next().unwrap().to_owned()
}

/// No arguments.
pub(crate) fn none() -> Value {
    json!({})
}
