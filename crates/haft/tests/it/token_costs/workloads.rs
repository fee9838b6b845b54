//! Six tasks, and the requests that a model would get for each. The model is a script, so that the requests are the same
//! every time. `haft-bench tokens` has this file too.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use haft::artifacts::ArtifactKind;
use haft::artifacts::tokens::{Encoding, ExactCounter, TokenCounter as _};
use haft::executors::{ScriptExecutor, StepContext};
use haft::middleware::hydrate_conversation;
use haft::providers::Provider;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::stores::{MemorySpoolStore, MemoryStore};
use haft::tools::{ByteStream, FilesOptions, ToolBuilder, ToolEffect, ToolFailure, files};
use haft::trust::{ForeignText, TrustTier};
use haft::turn::{Agent, Limits, ManualClock, Timestamp, TurnOutcome};
use haft::{Args, DispatchExecutor, Tool};
use serde_json::{Value, json};

/// A task: what an agent is given, and what its model does.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    tools: Vec<Tool>,
    /// The messages of the user, with the script of the turn that each begins.
    turns: Vec<(String, Value)>,
}

/// What is done with large results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LargeResults {
    /// They are queried.
    Queried,
    /// They are shown in full, and the model queries nothing.
    Shown,
}

/// What a task cost.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    pub(crate) requests: u64,
    /// Tokens of the first request.
    pub(crate) first: u64,
    /// The tokens of an envelope around a result that is shown in full, at most.
    pub(crate) envelope: u64,
    /// Tokens of all requests.
    pub(crate) total: u64,
    /// How much of a request the next one begins with, in thousandths.
    pub(crate) reusable: u64,
}

/// The system prompt of every task.
const SYSTEM: &str = "You are a careful assistant. Use the tools, and answer in one paragraph.";

/// All tasks. The log has this many lines of 80 bytes; the files are created in this empty directory.
pub(crate) fn workloads(log_lines: u64, dir: &Path) -> Result<Vec<Workload>, String> {
    Ok(vec![
        file_task(dir).map_err(|error| error.to_string())?,
        log_task(log_lines)?,
        table_task()?,
        server_task()?,
        chat()?,
        long_task()?,
    ])
}

impl Workload {
    /// Takes the turns, and returns the bodies of the requests that a model would get.
    pub(crate) async fn requests(&self, large: LargeResults) -> Result<Vec<String>, String> {
        let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
        let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
        let spools = Arc::new(MemorySpoolStore::new());
        let bodies = Arc::new(Mutex::new(Vec::new()));
        for (n, (said, script)) in self.turns.iter().enumerate() {
            let script = match large {
                LargeResults::Queried => script.clone(),
                LargeResults::Shown => without_queries(script),
            };
            let script = ScriptExecutor::parse(&script.to_string());
            let script = script.map_err(|error| error.to_string())?;
            let model = Provider::builder(ChatCompletions::new(), "model");
            let model = model.envelope_secret([7; 32]).key("none").build();
            let model = model.map_err(|error| error.to_string())?;
            let agent = Agent::builder(recording(model, script, Arc::clone(&bodies)))
                .tools(self.tools.iter().cloned())
                .limits(Limits::new().iterations(100).identical_calls(100))
                .store(Arc::clone(&store) as _)
                .spools(Arc::clone(&spools) as _)
                .clock(Arc::clone(&clock) as _)
                .envelope_secret([7; 32])
                .turn_input("history", hydrate_conversation());
            let agent = match large {
                LargeResults::Queried => agent,
                LargeResults::Shown => agent.inline_below(usize::MAX),
            };
            let agent = agent.build().map_err(|error| error.to_string())?;
            let turn = agent.turn(said.as_str()).system(SYSTEM);
            let report = turn.id(format!("turn-{n}")).conversation("c").report().await;
            let report = report.map_err(|error| error.to_string())?;
            if report.outcome != TurnOutcome::Completed {
                return Err(format!("{}: {:?}, {:?}", self.name, report.outcome, report.error));
            }
        }
        let bodies = bodies.lock().map_err(|error| error.to_string())?;
        Ok(bodies.clone())
    }
}

/// The steps of a script that query nothing.
fn without_queries(script: &Value) -> Value {
    let queries = |step: &&Value| step["call"].to_string().contains("\"artifact_");
    let steps = script["steps"].as_array().into_iter().flatten();
    json!({"steps": steps.filter(|step| !queries(step)).collect::<Vec<_>>()})
}

/// Renders what the model would be sent in each step, and does what the script says.
fn recording(
    model: Provider,
    script: ScriptExecutor,
    bodies: Arc<Mutex<Vec<String>>>,
) -> impl DispatchExecutor {
    let model = Arc::new(model);
    let script = Arc::new(script);
    move |ctx: StepContext| async move {
        if let Some(request) = model.render_request(ctx.clone()).await? {
            let body = String::from_utf8_lossy(&request.body).into_owned();
            bodies.lock().unwrap_or_else(PoisonError::into_inner).push(body);
        }
        script.step(ctx).await
    }
}

/// Counts what requests cost.
pub(crate) fn count_costs(bodies: &[String], encoding: Encoding) -> Result<Costs, String> {
    let count = |text: &str| {
        ExactCounter.count(encoding, text).map(|it| it.tokens).map_err(|error| error.to_string())
    };
    let mut costs = Costs { requests: 0, first: 0, envelope: 0, total: 0, reusable: 0 };
    let mut kept = 0;
    let mut cached = 0;
    let mut previous: Option<&String> = None;
    for body in bodies {
        let tokens = count(body)?;
        costs.requests += 1;
        costs.total += tokens;
        match previous.replace(body) {
            None => costs.first = tokens,
            Some(before) => {
                let same = before.bytes().zip(body.bytes()).take_while(|(a, b)| a == b);
                kept += same.count() as u64;
                cached += before.len() as u64;
            }
        }
    }
    costs.reusable = (kept * 1_000).checked_div(cached).unwrap_or_default();
    let last: Value = serde_json::from_str(previous.map_or("{}", |it| it.as_str()))
        .map_err(|error| error.to_string())?;
    let results = last["messages"].as_array().into_iter().flatten();
    for result in results.filter(|it| it["role"] == "tool") {
        let text = result["content"].as_str().unwrap_or_default();
        // A handle says more than its envelope, and other toolkits have none.
        if !text.starts_with("<untrusted_content_") || text.contains(" kind=\"artifact-handle\"") {
            continue;
        }
        let inside = text.split_once('\n').and_then(|(_, rest)| rest.rsplit_once('\n'));
        let inside = inside.map_or(text, |(inside, _)| inside);
        costs.envelope = costs.envelope.max(count(text)?.saturating_sub(count(inside)?));
    }
    Ok(costs)
}

/// An agent with the pack for files looks for a number in a small project.
fn file_task(dir: &Path) -> Result<Workload, Box<dyn std::error::Error>> {
    for n in 0..20 {
        let text = format!("# Part {n}\n\nport = {}\ntimeout = {n}\n", 8_000 + n);
        std::fs::write(dir.join(format!("part-{n:02}.md")), text)?;
    }
    let script = json!({"steps": [
        {"call": {"list_files": {}}},
        {"call": {"search_files": {"pattern": "port = 80(07|12)"}}},
        {"call": [{"read_file": {"path": "part-07.md"}}, {"read_file": {"path": "part-12.md"}}]},
        {"say": "The ports are 8007 and 8012."},
    ]});
    Ok(Workload {
        name: "files",
        tools: files(FilesOptions::new(dir)?)?,
        turns: vec![("Which ports have the parts 7 and 12?".to_owned(), script)],
    })
}

/// An agent finds the first failure in a log of any length.
fn log_task(lines: u64) -> Result<Workload, String> {
    let log = Tool::builder("get_log").description("Returns the log of the service.");
    let log = log.effect(ToolEffect::ReadOnly).artifact(ArtifactKind::TEXT);
    let log = log.handler(move || ByteStream::new(LogStream { next: 0, lines }));
    let log = log.build().map_err(|error| error.to_string())?;
    let handle = "{{ handle.get_log }}";
    let failed = "status=5\\d\\d .*host";
    let script = json!({"steps": [
        {"call": {"get_log": {}}},
        {"call": {"artifact_grep": {"callId": handle, "pattern": "ERROR", "limit": 3}}},
        {"call": {"artifact_read": {"callId": handle, "start": -5}}},
        {"call": {"artifact_grep": {"callId": handle, "pattern": failed, "limit": 2}}},
        {"say": "The checkout failed first."},
    ]});
    Ok(Workload { name: "log", tools: vec![log], turns: vec![("What failed?".to_owned(), script)] })
}

/// Lines of 80 bytes, of which the one in the middle is a failure.
struct LogStream {
    next: u64,
    lines: u64,
}

impl Stream for LogStream {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let last = (self.next + LINES_PER_CHUNK).min(self.lines);
        let lines = self.next..last;
        if lines.is_empty() {
            return Poll::Ready(None);
        }
        let failed = self.lines / 2;
        let text: String = lines.map(|n| log_line(n, n == failed)).collect();
        self.next = last;
        Poll::Ready(Some(Ok(text.into())))
    }
}

const LINES_PER_CHUNK: u64 = 4_096;

/// The bytes of a line of the log.
pub(crate) const LOG_LINE_BYTES: u64 = 80;

fn log_line(n: u64, has_failed: bool) -> String {
    let (level, status) = if has_failed { ("ERROR", 503) } else { ("INFO ", 200) };
    let request = n * 2_654_435_761 % 4_294_967_296;
    let took = n % 1_000;
    format!(
        "{n:012} {level} checkout request={request:08x} status={status} took={took:03}ms host=web-a1b\n"
    )
}

/// An agent adds up orders: a table and a tree of records.
fn table_task() -> Result<Workload, String> {
    let orders = Tool::builder("get_orders").description("Returns all orders as a table.");
    let orders = orders.effect(ToolEffect::ReadOnly).artifact(ArtifactKind::CSV).handler(|| {
        let rows =
            (0..4_000).map(|n| format!("{n},{},{}\n", ["north", "south", "west"][n % 3], n % 97));
        format!("id,region,total\n{}", rows.collect::<String>())
    });
    let customers = Tool::builder("get_customers").description("Returns all customers.");
    let customers =
        customers.effect(ToolEffect::ReadOnly).artifact(ArtifactKind::JSON).handler(|| {
            let rows = (0..2_000)
                .map(|n| json!({"id": n, "name": format!("customer {n}"), "open": n % 7 == 0}));
            json!({"customers": rows.collect::<Vec<_>>()}).to_string()
        });
    let tools = [orders, customers].map(ToolBuilder::build).into_iter().collect::<Result<_, _>>();
    let orders = "{{ handle.get_orders }}";
    let customers = "{{ handle.get_customers }}";
    let sum = "SELECT region, sum(total) FROM data GROUP BY region ORDER BY region";
    let script = json!({"steps": [
        {"call": [{"get_orders": {}}, {"get_customers": {}}]},
        {"call": [{"artifact_info": {"callId": orders}}, {"artifact_info": {"callId": customers}}]},
        {"call": {"artifact_query": {"callId": orders, "query": sum}}},
        {"call": {"artifact_query": {"callId": customers, "query": "$.customers[?@.id == 1400].name"}}},
        {"call": {"artifact_query": {"callId": orders, "query": "SELECT count(*) FROM data WHERE total > 90"}}},
        {"say": "The south sold most."},
    ]});
    let said = "Which region sold most?".to_owned();
    Ok(Workload {
        name: "tables",
        tools: tools.map_err(|error| error.to_string())?,
        turns: vec![(said, script)],
    })
}

/// An agent with the tools of three MCP servers, which describe them themselves.
fn server_task() -> Result<Workload, String> {
    let mut tools = Vec::new();
    for server in ["issues", "calendar", "storage"] {
        for verb in ["list", "get", "search", "create", "update", "delete"] {
            let schema = json!({"type": "object", "required": ["id"], "properties": {
                "id": {"type": "string", "description": format!("The id in {server}")},
                "filter": {"type": "string", "description": "An expression such as state:open"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100}}});
            let text = format!("Performs `{verb}` on {server} and returns what was found as JSON.");
            let text = ForeignText::new(&text, TrustTier::ThirdPartyPublic);
            let tool = Tool::builder(format!("{server}_{verb}")).foreign_description(text);
            let tool = tool.json_schema(schema).handler(|args: Args| {
                let id = args.root().get("id").map(|it| it.to_string()).unwrap_or_default();
                format!("{{\"id\": {id}, \"state\": \"open\", \"owner\": \"ann\"}}")
            });
            tools.push(tool.build().map_err(|error| error.to_string())?);
        }
    }
    let script = json!({"steps": [
        {"call": [{"issues_list": {"id": "all"}}, {"calendar_list": {"id": "week"}}]},
        {"call": {"issues_get": {"id": "17"}}},
        {"call": {"storage_search": {"id": "report"}}},
        {"call": {"issues_update": {"id": "17"}}},
        {"say": "Issue 17 is up to date."},
    ]});
    let said = "Bring issue 17 up to date.".to_owned();
    Ok(Workload { name: "three MCP servers", tools, turns: vec![(said, script)] })
}

/// A conversation of 30 turns; every third looks something up.
fn chat() -> Result<Workload, String> {
    let turns = (0..30).map(|n| {
        let answer = json!({"say": format!("Order {n} is on its way and comes on Friday.")});
        let steps = match n % 3 {
            0 => vec![json!({"call": {"find_order": {"id": n.to_string()}}}), answer],
            _ => vec![answer],
        };
        (format!("Where is my order {n}, please?"), json!({"steps": steps}))
    });
    Ok(Workload { name: "chat of 30 turns", tools: vec![find_order()?], turns: turns.collect() })
}

/// A turn of 30 calls, one after the other.
fn long_task() -> Result<Workload, String> {
    let mut steps: Vec<Value> =
        (0..30).map(|n| json!({"call": {"find_order": {"id": n.to_string()}}})).collect();
    steps.push(json!({"say": "All of them are on their way."}));
    let turns = vec![("Where are the orders 0 to 29?".to_owned(), json!({"steps": steps}))];
    Ok(Workload { name: "30 calls", tools: vec![find_order()?], turns })
}

fn find_order() -> Result<Tool, String> {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["id"],
        "properties": {"id": {"type": "string", "description": "The number of the order"}}});
    let tool = Tool::builder("find_order").description("Finds an order and says where it is.");
    let tool = tool.effect(ToolEffect::ReadOnly).json_schema(schema).handler(|args: Args| {
        let id = args
            .root()
            .get("id")
            .and_then(haft_core::json::ValueRef::as_str)
            .unwrap_or_default()
            .to_owned();
        format!("order {id}: shipped, due on Friday")
    });
    tool.build().map_err(|error| error.to_string())
}
