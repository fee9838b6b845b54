//! What a prompt cache can reuse: the beginning of consecutive requests is the same, byte by byte.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use haft::artifacts::{ArtifactDraft, ArtifactKind};
use haft::events::Usage;
use haft::executors::{Recording, RecordingExecutor};
use haft::middleware::{Next, hydrate_conversation};
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::transport::{Body, HttpError, Response, Transport};
use haft::providers::{Dialect, Options, Provider};
use haft::records::{Identity, Memory, Message, MessageRole, Record as _};
use haft::schema::{integer, object};
use haft::stores::{MemorySpoolStore, MemoryStore, TurnId};
use haft::turn::{ManualClock, Timestamp, TurnHistory, TurnOutcome};
use haft::{Agent, Args, BoxFuture, DispatchContext, Tool, Turn};
use serde_json::{Value, json};

use super::{SentRequest, WithHeader as _, respond};

/// Answers with these bodies, one after the other, and then not at all.
#[derive(Debug, Default)]
struct Answers {
    left: Mutex<VecDeque<Value>>,
    sent: Mutex<Vec<Bytes>>,
}

impl Answers {
    fn new(answers: impl IntoIterator<Item = Value>) -> Arc<Self> {
        let left = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { left, sent: Mutex::default() })
    }

    fn sent(&self) -> Vec<Bytes> {
        self.sent.lock().unwrap().clone()
    }
}

impl Transport for Answers {
    fn send(&self, request: SentRequest) -> BoxFuture<'_, Result<Response<Body>, HttpError>> {
        self.sent.lock().unwrap().push(request.into_body());
        let answer = self.left.lock().unwrap().pop_front();
        Box::pin(async move {
            let Some(answer) = answer else { return std::future::pending().await };
            let body = Body::from_chunks([Bytes::from(answer.to_string())]);
            Ok(respond(200, body).with_header("content-type", "application/json"))
        })
    }
}

/// A dialect, and how a model answers in it.
trait Answering: Dialect + Clone {
    /// Thinks, and calls `produce` with these numbers.
    fn calls(&self, numbers: &[u32]) -> Value;
    fn says(&self, text: &str) -> Value;
    fn options(&self) -> Value {
        json!({})
    }
}

fn thought(number: u32) -> String {
    format!("Result {number} comes next. {}", "I have to look at it closely. ".repeat(5))
}

impl Answering for ChatCompletions {
    fn calls(&self, numbers: &[u32]) -> Value {
        let calls = numbers.iter().map(|n| {
            let function = json!({ "name": "produce", "arguments": format!("{{\"n\":{n}}}") });
            json!({ "id": format!("call_{n}"), "type": "function", "function": function })
        });
        let message = json!({ "role": "assistant", "reasoning": thought(numbers[0]),
            "tool_calls": calls.collect::<Vec<_>>() });
        json!({ "id": "c", "model": "m", "usage": { "prompt_tokens": 10, "completion_tokens": 2 },
            "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }] })
    }

    fn says(&self, text: &str) -> Value {
        let message = json!({ "role": "assistant", "content": text });
        json!({ "id": "c", "model": "m", "usage": { "prompt_tokens": 10, "completion_tokens": 2 },
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] })
    }
}

impl Answering for AnthropicMessages {
    fn calls(&self, numbers: &[u32]) -> Value {
        let thinking = json!({ "type": "thinking", "thinking": thought(numbers[0]),
            "signature": format!("signature-{}", numbers[0]) });
        let calls = numbers.iter().map(|n| {
            json!({ "type": "tool_use", "id": format!("toolu_{n}"), "name": "produce",
                "input": { "n": n } })
        });
        let content: Vec<Value> = std::iter::once(thinking).chain(calls).collect();
        json!({ "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "tool_use", "usage": { "input_tokens": 10, "output_tokens": 2 } })
    }

    fn says(&self, text: &str) -> Value {
        json!({ "type": "message", "role": "assistant", "model": "m",
            "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn",
            "usage": { "input_tokens": 10, "output_tokens": 2 } })
    }

    fn options(&self) -> Value {
        json!({ "thinking": { "type": "enabled", "budget_tokens": 1024 } })
    }
}

impl Answering for OpenAiResponses {
    fn calls(&self, numbers: &[u32]) -> Value {
        let reasoning = json!({ "type": "reasoning", "id": format!("rs_{}", numbers[0]),
            "summary": [{ "type": "summary_text", "text": thought(numbers[0]) }],
            "encrypted_content": "c2VjcmV0".repeat(20) });
        let calls = numbers.iter().map(|n| {
            json!({ "type": "function_call", "id": format!("fc_{n}"), "call_id": format!("call_{n}"),
                "name": "produce", "arguments": format!("{{\"n\":{n}}}"), "status": "completed" })
        });
        let output: Vec<Value> = std::iter::once(reasoning).chain(calls).collect();
        json!({ "id": "r", "object": "response", "status": "completed", "model": "m",
            "output": output, "usage": { "input_tokens": 10, "output_tokens": 2 } })
    }

    fn says(&self, text: &str) -> Value {
        let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
        let message = json!({ "type": "message", "id": "msg", "role": "assistant",
            "status": "completed", "content": content });
        json!({ "id": "r", "object": "response", "status": "completed", "model": "m",
            "output": [message], "usage": { "input_tokens": 10, "output_tokens": 2 } })
    }
}

/// The number that a tool is called with.
fn number(args: &Args) -> u64 {
    let n = args.document().root().get("n");
    n.and_then(|n| n.as_u64().filter(|n| *n < 1_000)).unwrap_or_default()
}

/// Large results of every format, by number.
fn produce() -> Tool {
    let tool = Tool::builder("produce").description("Produces a report.");
    let handler = |args: Args| {
        let n = number(&args);
        let (kind, text) = match n % 6 {
            0 => (ArtifactKind::TEXT, format!("line {n}\n").repeat(1_000)),
            1 => (ArtifactKind::CSV, format!("a,b\n{}", format!("{n},x\n").repeat(1_000))),
            2 => (ArtifactKind::JSON, format!("[{}{n}]", format!("{n},").repeat(2_000))),
            3 => (ArtifactKind::MARKDOWN, format!("# Title {n}\n\ntext\n\n").repeat(500)),
            4 => (ArtifactKind::YAML, format!("- item: {n}\n").repeat(800)),
            _ => (ArtifactKind::XML, format!("<a>{}</a>", format!("<b>{n}</b>").repeat(800))),
        };
        ArtifactDraft::new(kind, text)
    };
    let kinds = [
        ArtifactKind::TEXT,
        ArtifactKind::CSV,
        ArtifactKind::JSON,
        ArtifactKind::MARKDOWN,
        ArtifactKind::YAML,
        ArtifactKind::XML,
    ];
    let tool = tool.artifact_kinds(kinds);
    tool.input(object().field("n", integer())).handler(handler).build().unwrap()
}

/// What a provider caches of a request, in its order: the tools, the system text and the messages, without marks of the
/// cache.
fn cached_text(body: &Bytes) -> String {
    let mut body: Value = serde_json::from_slice(body).unwrap();
    remove_marks(&mut body);
    assert!(body["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{body}");
    let tools = body["tools"].to_string();
    let system = [&body["system"], &body["instructions"]].map(Value::to_string).concat();
    let messages = [&body["messages"], &body["input"]];
    let messages = messages.into_iter().filter_map(Value::as_array).flatten();
    tools + &system + &messages.map(Value::to_string).collect::<String>()
}

fn remove_marks(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("cache_control");
            members.values_mut().for_each(remove_marks);
        }
        Value::Array(list) => list.iter_mut().for_each(remove_marks),
        _ => {}
    }
}

/// Checks that at least 95 % of the shorter one of two consecutive requests is the beginning of both.
#[track_caller]
fn assert_prefixes(dialect: &str, bodies: &[Bytes]) {
    let texts: Vec<String> = bodies.iter().map(cached_text).collect();
    for (n, pair) in texts.windows(2).enumerate() {
        let common = pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
        let shorter = pair[0].len().min(pair[1].len());
        let rest = |text: &str| {
            text.get(common.saturating_sub(80)..).map(|it| it.chars().take(200).collect::<String>())
        };
        assert!(
            common * 100 >= shorter * 95,
            "{dialect}: {common} of {shorter} bytes of request {n} are in the next one: {:?} and {:?}",
            rest(&pair[0]),
            rest(&pair[1]),
        );
    }
}

/// Where turns are stored, and the secret that their processes share.
struct World {
    store: Arc<MemoryStore>,
    spools: Arc<MemorySpoolStore>,
    clock: Arc<ManualClock>,
}

impl Default for World {
    fn default() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
        let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
        Self { store, spools: Arc::default(), clock }
    }
}

impl World {
    /// An agent of a new process: nothing of an earlier one is left but the store and the secret.
    fn agent<D: Answering>(&self, dialect: &D, answers: &Arc<Answers>) -> Agent {
        let provider = Provider::builder(dialect.clone(), "m")
            .key("k")
            .base_url("http://localhost:1/v1")
            .options(Options::from(dialect.options()))
            .transport(Arc::clone(answers))
            .build();
        Agent::builder(provider.unwrap())
            .tool(produce())
            .store(Arc::clone(&self.store) as _)
            .spools(Arc::clone(&self.spools) as _)
            .clock(Arc::clone(&self.clock) as _)
            .envelope_secret([9; 32])
            .turn_input("history", hydrate_conversation())
            .build()
            .unwrap()
    }
}

/// A message whose envelope has a nonce.
fn named(id: &str, text: &str) -> Message {
    let message = Message::new(id, MessageRole::User, Timestamp::EPOCH).with_content(text);
    message.with_identity(Identity::named("Ada").unwrap()).checked().unwrap()
}

fn input(agent: &Agent) -> Turn {
    let memory = Memory::new("likes", "Ada likes tables. ".repeat(20), Timestamp::EPOCH);
    let memory = memory.with_confidence(1.0).with_importance(1.0).checked().unwrap();
    agent.turn([]).system("You produce reports. ".repeat(10)).memory(memory)
}

/// Twenty calls in eleven steps, and the last word.
fn long_turn<D: Answering>(dialect: &D) -> Vec<Value> {
    let pairs = (0..9).map(|n| dialect.calls(&[2 * n, 2 * n + 1]));
    let singles = (18..20).map(|n| dialect.calls(&[n]));
    pairs.chain(singles).chain([dialect.says("Done.")]).collect()
}

async fn check_long_turn<D: Answering>(dialect: D) {
    let answers = Answers::new(long_turn(&dialect));
    let world = World::default();
    let agent = world.agent(&dialect, &answers);
    let report = input(&agent).message(named("m-1", "Begin.")).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    assert_eq!((report.calls.len(), report.iterations), (20, 12));
    let sent = answers.sent();
    assert_prefixes(dialect.name(), &sent);
    let thoughts = String::from_utf8_lossy(&sent[11]).matches("comes next").count();
    assert!(
        thoughts >= 11 || dialect.name() == "openai-responses",
        "{thoughts} thoughts went back"
    );
    check_stored_requests(&agent, &report.turn, &sent).await;
}

/// Checks what the journal says about the requests, and that they are rendered again byte by byte.
async fn check_stored_requests(agent: &Agent, turn: &TurnId, sent: &[Bytes]) {
    let stored = agent.stored_turns().load_turn(turn).await.unwrap().unwrap();
    let history = TurnHistory::read(&stored).unwrap();
    assert_eq!(history.steps.len(), sent.len());
    for (step, body) in history.steps.iter().zip(sent) {
        let rendered = agent.render_request(turn, step.iteration).await.unwrap().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&rendered.request.body),
            String::from_utf8_lossy(body),
            "request {}",
            step.iteration
        );
        assert_eq!((rendered.is_identical(), rendered.has_same_tools), (Some(true), Some(true)));
        let request = step.request.as_ref().unwrap();
        assert_eq!((request.bytes, step.model.as_deref()), (body.len() as u64, Some("m")));
        assert_eq!(request.prefix.is_none(), step.iteration == 0);
        assert!(step.options.is_some() && step.usage != Usage::default());
    }
    let last = u32::try_from(sent.len()).unwrap();
    assert!(agent.render_request(turn, last).await.is_err(), "the turn has no further step");
}

#[tokio::test]
async fn a_long_turn_only_grows_at_its_end() {
    check_long_turn(ChatCompletions::new()).await;
    check_long_turn(AnthropicMessages::new()).await;
    check_long_turn(OpenAiResponses::new()).await;
}

async fn check_second_turn<D: Answering>(dialect: D) {
    let world = World::default();
    let first = [dialect.calls(&[0, 1]), dialect.says("Hello, Ada.")];
    let second = [dialect.calls(&[2]), dialect.says("Sure.")];
    let answers = Answers::new(first.into_iter().chain(second));
    let question = named("m-1", &"What can you do? ".repeat(30));
    let first = input(&world.agent(&dialect, &answers)).conversation("c-1").message(question);
    first.report().await.unwrap();
    let second = input(&world.agent(&dialect, &answers)).conversation("c-1");
    let report = second.message(named("m-2", "Then do it.")).report().await.unwrap();
    assert_eq!(report.text(), "Sure.", "{:?}", report.error);
    assert_eq!(answers.sent().len(), 4);
    assert_prefixes(dialect.name(), &answers.sent());
}

#[tokio::test]
async fn the_second_turn_of_a_conversation_begins_as_the_first() {
    check_second_turn(ChatCompletions::new()).await;
    check_second_turn(AnthropicMessages::new()).await;
    check_second_turn(OpenAiResponses::new()).await;
}

async fn check_resumed_turn<D: Answering>(dialect: D) {
    let world = World::default();
    let all = long_turn(&dialect);
    let (before, after) = all.split_at(5);
    let first = Answers::new(before.to_vec());
    let agent = world.agent(&dialect, &first);
    let turn = input(&agent).id("t").message(named("m-1", "Begin.")).report();
    // The process dies while the sixth answer is awaited.
    assert!(tokio::time::timeout(Duration::from_secs(1), turn).await.is_err());
    world.clock.advance(Duration::from_secs(60));
    let second = Answers::new(after.to_vec());
    let agent = world.agent(&dialect, &second);
    let turn: TurnId = "t".parse().unwrap();
    let next = agent.render_request(&turn, 5).await.unwrap().unwrap();
    assert_eq!((next.is_identical(), &next.request.body), (None, &first.sent()[5]));
    let report = agent.resume(&turn).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    let (first, second) = (first.sent(), second.sent());
    assert_eq!(first[5], second[0], "{}: the request that was lost is sent again", dialect.name());
    let bodies = [&first[..5], &second[..]].concat();
    assert_prefixes(dialect.name(), &bodies);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_turn_goes_on_with_the_same_bytes() {
    check_resumed_turn(ChatCompletions::new()).await;
    check_resumed_turn(AnthropicMessages::new()).await;
    check_resumed_turn(OpenAiResponses::new()).await;
}

#[tokio::test]
async fn requests_are_rendered_before_a_turn_exists() {
    let world = World::default();
    let answers = Answers::new([ChatCompletions::new().says("Hello.")]);
    let agent = world.agent(&ChatCompletions::new(), &answers);
    let turn = || input(&agent).id("t").message(named("m-1", "Hi."));
    let shown = turn().render_request().await.unwrap().unwrap();
    assert!(answers.sent().is_empty());
    assert!(agent.stored_turns().load_turn(&"t".parse().unwrap()).await.unwrap().is_none());
    turn().report().await.unwrap();
    assert_eq!(shown.body, answers.sent()[0]);
    assert_eq!(shown.tools[..2], ["produce", "artifact_info"]);
}

#[tokio::test]
async fn another_secret_renders_other_bytes_and_that_is_said() {
    let world = World::default();
    let answers = Answers::new([ChatCompletions::new().says("Hello.")]);
    let agent = world.agent(&ChatCompletions::new(), &answers);
    let turn = input(&agent).message(named("m-1", "Hi.")).report().await.unwrap().turn;
    let provider = Provider::builder(ChatCompletions::new(), "m").build().unwrap();
    let other = Agent::builder(provider)
        .tool(produce())
        .store(Arc::clone(&world.store) as _)
        .envelope_secret([8; 32])
        .build()
        .unwrap();
    let rendered = other.render_request(&turn, 0).await.unwrap().unwrap();
    assert_eq!((rendered.is_identical(), rendered.has_same_tools), (Some(false), Some(true)));
    assert_eq!(rendered.request.body.len(), answers.sent()[0].len(), "only nonces differ");
}

#[tokio::test]
async fn artifacts_of_a_stored_turn_are_opened_by_their_handles() {
    let world = World::default();
    let dialect = ChatCompletions::new();
    let answers = Answers::new([dialect.calls(&[0]), dialect.says("Done.")]);
    let agent = world.agent(&dialect, &answers);
    let report = input(&agent).message(named("m-1", "Hi.")).report().await.unwrap();
    let id = report.calls[0].id().to_string();
    let handle = id.get(..8).unwrap();
    assert!(String::from_utf8_lossy(&answers.sent()[1]).contains(handle), "the model sees it");
    let artifact = agent.stored_turns().open_artifact(&report.turn, handle).await.unwrap().unwrap();
    let bytes = artifact.reader().read_at(0, 7).await.unwrap();
    assert_eq!(&bytes[..], b"line 0\n");
    assert!(agent.stored_turns().open_artifact(&report.turn, "nothing").await.unwrap().is_none());
    assert!(agent.stored_turns().open_artifact(&"no-turn".parse().unwrap(), handle).await.is_err());
}

#[tokio::test]
async fn a_recording_has_the_requests() {
    let dialect = ChatCompletions::new();
    let answers = Answers::new([dialect.calls(&[0]), dialect.calls(&[1]), dialect.says("Done.")]);
    let provider = Provider::builder(dialect, "m").transport(Arc::clone(&answers)).build().unwrap();
    let recorder = RecordingExecutor::new(provider);
    let agent = Agent::builder(recorder.clone()).tool(produce_small()).build().unwrap();
    let report = input(&agent).message(named("m-1", "Grüße.")).report().await.unwrap();
    let text = recorder.finish(&report).await.unwrap().to_json();
    let recording = Recording::from_json(&text).unwrap();
    for (n, body) in answers.sent().iter().enumerate() {
        assert_eq!(recording.request(n).unwrap().as_bytes(), body, "request {n}");
    }
    assert_eq!(recording.request(3), None);
    assert_eq!(text.matches("You produce reports.").count(), 10, "what is shared is there once");
}

#[tokio::test]
async fn what_is_remembered_on_the_way_stands_behind_the_timeline() {
    let dialect = ChatCompletions::new();
    let answers = Answers::new((0..4).map(|n| dialect.calls(&[n])).chain([dialect.says("Done.")]));
    let remember = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        let text = format!("Fact {} was found. ", ctx.iteration()).repeat(10);
        let memory = Memory::new(format!("fact-{}", ctx.iteration()), text, Timestamp::EPOCH);
        let memory = memory.with_confidence(1.0).with_importance(1.0).checked().unwrap();
        ctx.turn().store_memory(memory).await.unwrap();
        next.run().await
    };
    let provider = Provider::builder(dialect, "m").transport(Arc::clone(&answers)).build().unwrap();
    let agent = Agent::builder(provider).tool(produce()).envelope_secret([9; 32]);
    let agent = agent.dispatch_output("remember", remember).build().unwrap();
    let report = input(&agent).message(named("m-1", "Begin.")).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    let sent: Vec<Value> =
        answers.sent().iter().map(|body| serde_json::from_slice(body).unwrap()).collect();
    for (n, body) in sent.iter().enumerate() {
        let messages = body["messages"].as_array().unwrap();
        assert_eq!(messages[0], sent[0]["messages"][0], "the system text stays as it was");
        let last = messages.last().unwrap().to_string();
        assert_eq!(last.contains("was found."), n > 0, "{last}");
        for fact in 0..n {
            assert!(last.contains(&format!("Fact {fact} was found.")), "request {n}: {last}");
        }
    }
}

#[tokio::test]
async fn what_was_left_out_stays_out() {
    let dialect = ChatCompletions::new();
    let steps = 12;
    let answers = (0..steps).map(|n| dialect.calls(&[n])).chain([dialect.says("Done.")]);
    let answers = Answers::new(answers);
    let options =
        json!({ "contextWindow": 4_000, "tokenEncoding": "claude", "contextShedding": true });
    let provider = Provider::builder(dialect, "m")
        .options(Options::from(options))
        .transport(Arc::clone(&answers))
        .build()
        .unwrap();
    let agent = Agent::builder(provider).tool(produce_small()).envelope_secret([9; 32]);
    let report =
        input(&agent.build().unwrap()).message(named("m-1", "Begin.")).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    let texts: Vec<String> = answers.sent().iter().map(cached_text).collect();
    let moved = texts.windows(2).filter(|pair| {
        let common = pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
        common * 100 < pair[0].len().min(pair[1].len()) * 95
    });
    let moved = moved.count();
    assert!((1..=6).contains(&moved), "{moved} of {steps} requests begin otherwise than the last");
}

/// Results that are shown in full.
fn produce_small() -> Tool {
    let tool = Tool::builder("produce").description("Produces a report.").trusted();
    let handler = |args: Args| {
        let n = number(&args);
        format!("{n} is a number. ").repeat(90)
    };
    tool.input(object().field("n", integer())).handler(handler).build().unwrap()
}
