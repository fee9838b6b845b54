//! The service over a real socket, with a real client.

mod endpoints;
mod failures;
mod requests;
mod tokens;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use haft::events::EventHub;
use haft::executors::{DispatchExecutor, ExecutorDescription, ScriptExecutor};
use haft::media::{MediaFile, MediaKind};
use haft::stores::{ClaimFilter, OpenStores, StoreOptions, StoreUrl, TurnSummary};
use haft::turn::{Cancellation, GatePolicy, TurnHistory};
use haft::{Agent, BoxFuture, Media, Tool};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{NewToken, ServiceLimits, TenantScope, TenantService};
use crate::agents::{AgentError, AgentPurpose, AgentSource, HostedAgent};
use crate::{Access, Api, ApiBuilder};

/// The only agent.
const AGENT: &str = "clerk";
/// The tenants.
const TENANTS: [&str; 2] = ["shop", "bank"];

/// Reads a large file, makes a picture, and asks before it writes.
const SCRIPT: &str = r#"{"steps": [
    {"call": {"read_all": {}}},
    {"call": {"draw": {}}},
    {"call": {"write": {"text": "an order"}}},
    {"say": "Written."}
]}"#;

/// A service that runs, with one token per tenant.
struct TestService {
    url: String,
    stores: OpenStores,
    tokens: Vec<NewToken>,
    client: reqwest::Client,
    tasks: JoinSet<()>,
    _dir: tempfile::TempDir,
}

impl TestService {
    async fn start(access: Access, limits: ServiceLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let stores = open_stores(&dir).await;
        Self::start_on(stores, dir, access, limits).await
    }

    async fn start_on(
        stores: OpenStores,
        dir: tempfile::TempDir,
        access: Access,
        limits: ServiceLimits,
    ) -> Self {
        let tokens: Vec<NewToken> = TENANTS
            .iter()
            .map(|tenant| NewToken::generate(tenant, &format!("client of {tenant}")).unwrap())
            .collect();
        let build_api = move |scope: &TenantScope| build_api(scope, access);
        let service = TenantService::builder(stores.clone(), build_api).limits(limits);
        let service = tokens.iter().cloned().fold(service, super::TenantServiceBuilder::token);
        let service = service.build();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            service.serve(listener, std::future::pending()).await.unwrap();
        });
        let client = reqwest::Client::builder().no_proxy();
        let client = client.timeout(Duration::from_secs(60)).build().unwrap();
        Self { url, stores, tokens, client, tasks, _dir: dir }
    }

    fn token(&self, tenant: &str) -> &str {
        self.tokens.iter().find(|it| it.info().tenant == tenant).unwrap().token()
    }

    fn request(&self, tenant: &str, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.client.request(method, format!("{}/v1{path}", self.url));
        request.bearer_auth(self.token(tenant))
    }

    async fn get(&self, tenant: &str, path: &str) -> Value {
        let response = self.request(tenant, Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.json().await.unwrap()
    }

    async fn post(&self, tenant: &str, path: &str, body: &Value) -> (StatusCode, Value) {
        let request = self.request(tenant, Method::POST, path).json(body);
        let response = request.send().await.unwrap();
        (response.status(), response.json().await.unwrap())
    }

    /// Submits a turn and runs it until it waits at its gate.
    async fn submit_and_run(&self, tenant: &str) -> String {
        let body = json!({"agent": AGENT, "message": marker(tenant), "conversation": "talk"});
        let (status, submitted) = self.post(tenant, "/turns", &body).await;
        assert_eq!(status, StatusCode::OK, "{submitted}");
        self.run_next(tenant).await;
        submitted["turn"].as_str().unwrap().to_owned()
    }

    /// Does what a worker does once.
    async fn run_next(&self, tenant: &str) {
        assert!(self.try_run_next(tenant).await, "there is no turn to run");
    }

    /// Runs a turn if there is one that can run.
    async fn try_run_next(&self, tenant: &str) -> bool {
        let agent = TestAgent::new(tenant, self.stores.for_tenant(tenant));
        let executor = agent.executor(None, AgentPurpose::Run).unwrap();
        let built = agent.build_agent(executor, agent.tools()).unwrap();
        let report = built.run_next(ClaimFilter::default(), &Cancellation::new()).await;
        report.unwrap().is_some()
    }

    /// Ends everything that runs, so that no task outlives a test.
    async fn stop(mut self) {
        self.tasks.shutdown().await;
        self.stores.close().await;
    }
}

async fn open_stores(dir: &tempfile::TempDir) -> OpenStores {
    let url = StoreUrl::Dir(dir.path().join("turns"));
    OpenStores::open(&url, StoreOptions::default()).await.unwrap()
}

/// Lets some time pass before something is looked at again.
async fn pause() {
    let until = tokio::time::Instant::now() + Duration::from_millis(20);
    tokio::time::sleep_until(until).await;
}

/// A text that only the turns of one tenant have.
fn marker(tenant: &str) -> String {
    format!("secret-of-{tenant}")
}

fn build_api(scope: &TenantScope, access: Access) -> Result<ApiBuilder, AgentError> {
    let agent = TestAgent::new(scope.tenant(), scope.stores().clone());
    let built = agent.build_agent(agent.executor(None, AgentPurpose::Run)?, agent.tools())?;
    let hub = agent.hub.clone();
    Ok(Api::builder(built.stored_turns().clone())
        .agent(built)
        .hub(hub)
        .agents(Arc::new(agent))
        .access(access))
}

/// An agent whose tools tell the tenant apart.
#[derive(Clone)]
struct TestAgent {
    tenant: String,
    stores: OpenStores,
    hub: EventHub,
}

impl TestAgent {
    fn new(tenant: &str, stores: OpenStores) -> Self {
        Self { tenant: tenant.to_owned(), stores, hub: EventHub::new() }
    }
}

impl AgentSource for TestAgent {
    fn list_agents(&self) -> BoxFuture<'_, Result<Vec<String>, AgentError>> {
        Box::pin(async { Ok(vec![AGENT.to_owned()]) })
    }

    fn load_agent<'a>(
        &'a self,
        _: &'a str,
        _: AgentPurpose,
    ) -> BoxFuture<'a, Result<Arc<dyn HostedAgent>, AgentError>> {
        Box::pin(async { Ok(Arc::new(self.clone()) as Arc<dyn HostedAgent>) })
    }

    fn agent_of_turn(&self, turn: &TurnSummary, _: &TurnHistory) -> Option<String> {
        turn.agent.clone()
    }
}

impl HostedAgent for TestAgent {
    fn system_prompt(&self) -> String {
        "You are a clerk.".to_owned()
    }

    fn tools(&self) -> Vec<Tool> {
        let line = marker(&self.tenant);
        let read_all = Tool::builder("read_all").description("Reads everything.");
        let read_all = read_all.handler(move || {
            (0..1000).map(|number| format!("{number} {line}\n")).collect::<String>()
        });
        let draw = Tool::builder("draw").description("Draws.").handler(|| {
            Media::tool_generated(MediaKind::Image, MediaFile::new("a.png", "image/png", "png"))
        });
        let write = Tool::builder("write").description("Writes.");
        let write = write.requires_approval("Write {text}?");
        let write = write.handler(|args: WriteArgs| args.text);
        [read_all.build(), draw.build(), write.build()].map(Result::unwrap).into()
    }

    fn executor(
        &self,
        _: Option<&ExecutorDescription>,
        _: AgentPurpose,
    ) -> Result<Arc<dyn DispatchExecutor>, AgentError> {
        Ok(Arc::new(ScriptExecutor::parse(SCRIPT).unwrap()))
    }

    fn build_agent(
        &self,
        executor: Arc<dyn DispatchExecutor>,
        tools: Vec<Tool>,
    ) -> Result<Agent, AgentError> {
        let builder = Agent::builder(executor).stores(&self.stores).tools(tools);
        let builder = builder.gate_policy(GatePolicy::Suspend).observer(self.hub.clone());
        Ok(builder.build().unwrap())
    }
}

#[derive(haft::ToolArgs)]
struct WriteArgs {
    /// The text
    text: String,
}
