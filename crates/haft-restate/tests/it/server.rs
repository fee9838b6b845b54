//! Workers, decisions and conversations.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft::executors::ScriptExecutor;
use haft::stores::{OpenStores, StoreOptions, TurnStoreExt as _};
use haft::stores::{StoreUrl, TurnQuery};
use haft::tools::ToolEffect;
use haft::turn::{Deadlines, GatePolicy, GateRequest};
use haft::{Agent, Args, CallContext, Tool};
use haft_restate::{ConversationObject, GateChoice, GateDecision, TurnRequest, TurnResult};
use haft_testkit::RestateServer;
use restate_sdk::prelude::{Endpoint, HttpServer};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// How long a test waits for something that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A tool that requires approval and writes a line into a file each time it runs.
const SCRIPT: &str = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "{{ last.deploy }}"}]}"#;

/// What the workers of a test share.
struct TestCase {
    server: RestateServer,
    client: reqwest::Client,
    stores: OpenStores,
    ledger: PathBuf,
    address: SocketAddr,
    dir: tempfile::TempDir,
}

impl TestCase {
    async fn start() -> Option<Self> {
        let server = RestateServer::start()?;
        let dir = tempfile::tempdir().unwrap();
        let url = StoreUrl::Dir(dir.path().join("turns"));
        let stores = OpenStores::open(&url, StoreOptions::default()).await.unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        let ledger = dir.path().join("ledger");
        Some(Self { server, client, stores, ledger, address, dir })
    }

    fn agent(&self) -> Agent {
        let ledger = self.ledger.clone();
        let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
        let deploy = deploy.handler(move || append_line(&ledger)).build().unwrap();
        self.build_agent(deploy)
    }

    /// Runs a tool that asks, and says so when its gate has expired.
    fn runner_that_asks(&self) -> Agent {
        let ledger = self.ledger.clone();
        let deploy = Tool::builder("deploy").description("Asks.").input(haft::schema::object());
        let deploy = deploy.effect(ToolEffect::Idempotent);
        let deploy = deploy.handler(async move |_: Args, ctx: CallContext| {
            let request = GateRequest::new("Which color?").timeout(Duration::from_secs(2));
            match ctx.ask(request).await {
                Ok(color) => color.to_string(),
                Err(error) => {
                    append_line(&ledger);
                    format!("no color: {error}")
                }
            }
        });
        self.build_agent(deploy.build().unwrap())
    }

    fn build_agent(&self, deploy: Tool) -> Agent {
        Agent::builder(ScriptExecutor::parse(SCRIPT).unwrap())
            .system("You deploy.")
            .stores(&self.stores)
            .tool(deploy)
            .gate_policy(GatePolicy::Suspend)
            .deadlines(Deadlines::new().lease(Duration::from_secs(2)))
            .build()
            .unwrap()
    }

    /// A worker, which ends when it is dropped.
    async fn start_worker(&self) -> JoinSet<()> {
        self.start_worker_with(self.agent()).await
    }

    async fn start_worker_with(&self, agent: Agent) -> JoinSet<()> {
        let object = ConversationObject::new(agent);
        let endpoint = Endpoint::builder().bind(object).build();
        // The listener of a worker that was dropped is closed a moment later.
        let begun = Instant::now();
        let listener = loop {
            match tokio::net::TcpListener::bind(self.address).await {
                Ok(listener) => break listener,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{}: {error}", self.address),
            }
            pause().await;
        };
        let mut tasks = JoinSet::new();
        let never = std::future::pending::<()>();
        tasks.spawn(HttpServer::new(endpoint).serve_with_cancel(listener, never));
        tasks
    }

    async fn register(&self) {
        let url = format!("{}/deployments", self.server.admin());
        let body = json!({"uri": format!("http://{}", self.address)});
        let begun = Instant::now();
        loop {
            let sent = self.client.post(&url).json(&body).send().await;
            if sent.is_ok_and(|it| it.status().is_success()) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "the deployment is not accepted");
            pause().await;
        }
    }

    fn handler(&self, conversation: &str, name: &str) -> String {
        format!("{}/HaftConversation/{conversation}/{name}", self.server.ingress())
    }

    /// Starts a turn in the background.
    fn submit(&self, conversation: &str, tasks: &mut JoinSet<TurnResult>) {
        let url = self.handler(conversation, "submit");
        let request = self.client.post(url).json(&TurnRequest::new(conversation));
        tasks.spawn(async move {
            let response = request.send().await.unwrap();
            assert!(response.status().is_success(), "{}", response.text().await.unwrap());
            response.json().await.unwrap()
        });
    }

    /// Waits for the open gate of a conversation.
    async fn await_gate(&self, conversation: &str) -> String {
        let begun = Instant::now();
        loop {
            let query = TurnQuery::default().conversation(conversation);
            for turn in self.stores.turns().turns(query).await.unwrap() {
                let gates = self.stores.turns().open_gates(Some(turn.id)).await.unwrap();
                if let Some(gate) = gates.first() {
                    return gate.id.to_string();
                }
            }
            assert!(begun.elapsed() < PATIENCE, "no gate is open");
            pause().await;
        }
    }

    fn effects(&self) -> usize {
        std::fs::read_to_string(&self.ledger).unwrap_or_default().lines().count()
    }
}

fn append_line(path: &Path) -> String {
    use std::io::Write as _;
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    writeln!(file, "deployed").unwrap();
    "Deployed.".to_owned()
}

async fn pause() {
    sleep_until(Instant::now() + Duration::from_millis(50)).await;
}

async fn join(tasks: &mut JoinSet<TurnResult>) -> TurnResult {
    let joined = tokio::time::timeout(PATIENCE, tasks.join_next()).await;
    joined.unwrap().unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_is_settled_without_a_worker_and_another_worker_continues() {
    let Some(case) = TestCase::start().await else { return };
    let worker = case.start_worker().await;
    case.register().await;
    let mut turns = JoinSet::new();
    case.submit("dies", &mut turns);
    let gate = case.await_gate("dies").await;
    drop(worker);
    // No worker is alive. The decision stands in the store, and Restate keeps the call of `wake`.
    let gates = case.agent().gates();
    gates.resolve(&gate.parse().unwrap(), Value::Bool(true), "Ada").await.unwrap();
    let turn = case.stores.turns().gate(gate.parse().unwrap()).await.unwrap().unwrap().turn;
    let wake = case.client.post(case.handler("dies", "wake/send")).json(turn.as_str());
    assert!(wake.send().await.unwrap().status().is_success());
    assert_eq!(case.effects(), 0);
    let worker = case.start_worker().await;
    let result = join(&mut turns).await;
    assert_eq!((result.status.as_str(), result.text.as_str()), ("completed", "Deployed."));
    assert_eq!(case.effects(), 1, "the effect happened once");
    drop(worker);
    case.stores.close().await;
    drop(case.dir);
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_wake_turns_and_a_conversation_has_one_turn_at_a_time() {
    let Some(case) = TestCase::start().await else { return };
    let _worker = case.start_worker().await;
    case.register().await;
    let mut forwarder = JoinSet::new();
    let (store, ingress) = (Arc::clone(case.stores.turns()), case.server.ingress());
    forwarder.spawn(async move {
        haft_restate::forward_settlements(store, &ingress).await.unwrap();
    });
    // Through the handler, with two turns of one conversation.
    let mut turns = JoinSet::new();
    case.submit("talk", &mut turns);
    case.submit("talk", &mut turns);
    for effects in 1..=2 {
        let gate = case.await_gate("talk").await;
        let query = TurnQuery::default().conversation("talk").unfinished();
        let unfinished = case.stores.turns().turns(query).await.unwrap();
        assert_eq!(unfinished.len(), 1, "the second turn begins when the first has ended");
        let decision = GateDecision::new(gate, GateChoice::Approve, "Ada");
        let decide = case.client.post(case.handler("talk", "decide")).json(&decision);
        assert!(decide.send().await.unwrap().status().is_success());
        assert_eq!(join(&mut turns).await.status, "completed");
        assert_eq!(case.effects(), effects);
        // A request that is repeated because its response was lost gets the same response, and changes nothing.
        let decide = async |decision: &GateDecision| {
            let request = case.client.post(case.handler("talk", "decide")).json(decision);
            request.send().await.unwrap().status().as_u16()
        };
        assert!((200..300).contains(&decide(&decision).await), "the same decision");
        let mut other = decision.clone();
        other.by = "Bob".to_owned();
        assert_eq!(decide(&other).await, 409, "the gate was settled by another person");
        other = GateDecision::new(decision.gate.as_str(), GateChoice::Deny, "Ada");
        assert_eq!(decide(&other).await, 409, "the gate was settled in another way");
        assert_eq!(case.effects(), effects);
    }
    // By another program that knows nothing of Restate.
    case.submit("elsewhere", &mut turns);
    let gate = case.await_gate("elsewhere").await;
    let gates = case.agent().gates();
    gates.reject(&gate.parse().unwrap(), "Not today.", "Bob").await.unwrap();
    let result = join(&mut turns).await;
    assert_eq!(result.status, "completed");
    assert_eq!(case.effects(), 2, "what was denied did not happen");
    // A turn that waits is cancelled.
    case.submit("cancelled", &mut turns);
    let gate = case.await_gate("cancelled").await;
    let turn = case.stores.turns().gate(gate.parse().unwrap()).await.unwrap().unwrap().turn;
    let request = json!({"turn": turn.as_str(), "by": "Ada", "reason": "no longer needed"});
    let cancel = case.client.post(case.handler("cancelled", "cancel")).json(&request);
    assert!(cancel.send().await.unwrap().status().is_success());
    assert_eq!(join(&mut turns).await.status, "cancelled");
    case.stores.close().await;
}

/// No decision comes, and no worker is alive when the gate expires: the durable timer of the handler wakes the turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_expires_wakes_its_turn_by_a_durable_timer() {
    let Some(case) = TestCase::start().await else { return };
    let worker = case.start_worker_with(case.runner_that_asks()).await;
    case.register().await;
    let mut turns = JoinSet::new();
    case.submit("quiet", &mut turns);
    let gate = case.await_gate("quiet").await;
    drop(worker);
    let _worker = case.start_worker_with(case.runner_that_asks()).await;
    let result = join(&mut turns).await;
    assert_eq!(result.status, "completed");
    assert!(result.text.starts_with("no color: "), "{}", result.text);
    assert_eq!(case.effects(), 1);
    // A decision that comes too late is refused.
    let decision = GateDecision::new(gate, GateChoice::Approve, "Ada");
    let decide = case.client.post(case.handler("quiet", "decide")).json(&decision);
    assert_eq!(decide.send().await.unwrap().status().as_u16(), 409);
    case.stores.close().await;
}
