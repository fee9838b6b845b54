//! The block of tools that the model sees in a turn.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft::artifacts::{ArtifactDraft, ArtifactKind};
use haft::executors::{DispatchExecutor, Step, StepContext, StepError};
use haft::middleware::Next;
use haft::providers::Dialect;
use haft::providers::dialect::ModelRequest;
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::ollama::Ollama;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::internals::{AssemblyOptions, assemble_prompt};
use haft::records::{CallState, Record as _, Thought};
use haft::stores::{MemorySpoolStore, MemoryStore};
use haft::trust::{EnvelopeKey, PromptRenderer};
use haft::turn::{AgentBuilder, ManualClock, Timestamp, TurnOutcome};
use haft::{CallContext, Tool, ToolArgs};
use serde::Deserialize;
use serde_json::Map;
use serde_json::value::RawValue;

use super::{agent, call, input};

const DIALECTS: [&str; 4] =
    ["chat_completions", "openai_responses", "anthropic_messages", "ollama"];

/// What the requests of a turn say, by dialect: the bytes of `tools`, and the whole body.
#[derive(Clone, Default)]
struct Requests(Arc<Mutex<Vec<ToolBlocks>>>);

/// The dialect and the tools of one request, in each dialect.
type ToolBlocks = [(String, String); 4];

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    tools: Option<Box<RawValue>>,
}

async fn encode(ctx: &StepContext, dialect: &dyn Dialect) -> (String, String) {
    let renderer = PromptRenderer::new(EnvelopeKey::from_bytes([7; 32]));
    let options = AssemblyOptions::default();
    let prompt = assemble_prompt(ctx.dispatch(), dialect, &renderer, &options).await.unwrap();
    let options = Map::new();
    let request = ModelRequest::new("claude-opus-5", &prompt.prompt, &options);
    let body = dialect.encode_request(&request).unwrap().body;
    let body = String::from_utf8(body.to_vec()).unwrap();
    let tools = serde_json::from_str::<Body>(&body).unwrap().tools;
    (tools.map(|it| it.get().to_owned()).unwrap_or_default(), body)
}

impl Requests {
    /// An executor that encodes each request in every dialect before it takes its step.
    fn around<E: DispatchExecutor + 'static>(&self, inner: E) -> impl DispatchExecutor + use<E> {
        let (requests, inner) = (self.clone(), Arc::new(inner));
        move |ctx: StepContext| {
            let (requests, inner) = (requests.clone(), Arc::clone(&inner));
            async move {
                let all = [
                    encode(&ctx, &ChatCompletions::new()).await,
                    encode(&ctx, &OpenAiResponses::new()).await,
                    encode(&ctx, &AnthropicMessages::new()).await,
                    encode(&ctx, &Ollama::new()).await,
                ];
                requests.0.lock().unwrap().push(all);
                inner.step(ctx).await
            }
        }
    }

    /// The bytes of the tools of every request in one dialect.
    fn tools(&self, dialect: usize) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|all| all[dialect].0.clone()).collect()
    }

    fn bodies(&self, dialect: usize) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|all| all[dialect].1.clone()).collect()
    }

    /// The names of the tools of each request.
    fn names(&self) -> Vec<Vec<String>> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let names = |text: &String| -> Vec<String> {
            if text.is_empty() {
                return Vec::new();
            }
            let all: Vec<Named> = serde_json::from_str(text).unwrap();
            all.into_iter().map(|it| it.name).collect()
        };
        self.tools(1).iter().map(names).collect()
    }
}

#[derive(ToolArgs)]
struct Number {
    n: u64,
}

/// Returns 100 kB of another format each time.
fn fetch() -> Tool {
    let kinds = [
        ArtifactKind::TEXT,
        ArtifactKind::JSON,
        ArtifactKind::CSV,
        ArtifactKind::MARKDOWN,
        ArtifactKind::XML,
        ArtifactKind::YAML,
    ];
    Tool::builder("fetch")
        .description("Fetches.")
        .artifact_kinds(kinds.clone())
        .effect(haft::tools::ToolEffect::ReadOnly)
        .handler(move |args: Number| {
            let kind = kinds[usize::try_from(args.n).unwrap() % kinds.len()].clone();
            ArtifactDraft::new(kind, format!("line {}\n", args.n).repeat(10_000))
        })
        .build()
        .unwrap()
}

/// Fetches twenty times, and hangs once where it is told to.
fn fetches(hang_at: Option<u32>) -> impl DispatchExecutor {
    move |ctx: StepContext| async move {
        let n = ctx.dispatch().iteration();
        if Some(n) == hang_at {
            std::future::pending::<()>().await;
        }
        if n == 20 {
            return Ok::<_, StepError>(Step::done().say(ctx.message("done")?));
        }
        let payload = serde_json::json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        let thought = Thought::new(ctx.next_id("thought"), "hm", ctx.dispatch().clock().now())
            .with_payload(payload)
            .with_replay_compatibility(AnthropicMessages::new().replay_tags()[0])
            .checked()?;
        Ok(Step::new().think(thought).call(call("fetch", &format!(r#"{{"n":{n}}}"#))))
    }
}

struct Stores {
    store: Arc<MemoryStore>,
    spools: Arc<MemorySpoolStore>,
    clock: Arc<ManualClock>,
}

impl Stores {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
        let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
        Self { store, spools: Arc::default(), clock }
    }

    fn agent(&self, executor: impl DispatchExecutor + 'static) -> AgentBuilder {
        agent(executor)
            .store(Arc::clone(&self.store) as _)
            .spools(Arc::clone(&self.spools) as _)
            .clock(Arc::clone(&self.clock) as _)
    }

    /// Lets the lease of a process that died expire.
    fn expire(&self) {
        self.clock.advance(Duration::from_secs(600));
    }
}

/// Runs a turn until it hangs, as a process that is killed does.
async fn die(builder: AgentBuilder) {
    let turn = input(&builder.build().unwrap()).id("t").report();
    let died = tokio::time::timeout(Duration::from_secs(5), turn).await;
    assert!(died.is_err(), "{died:?}");
}

#[tokio::test(start_paused = true)]
async fn twenty_large_results_leave_the_tools_as_they_are() {
    let (stores, requests) = (Stores::new(), Requests::default());
    die(stores.agent(requests.around(fetches(Some(11)))).tool(fetch())).await;
    stores.expire();
    let resumed = stores.agent(requests.around(fetches(None))).tool(fetch()).build().unwrap();
    let report = resumed.resume("t").report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    assert_eq!(report.calls.len(), 20);
    for (at, dialect) in DIALECTS.iter().enumerate() {
        let tools = requests.tools(at);
        assert_eq!(tools.len(), 22, "12 before the process died, 10 after");
        assert!(tools[0].contains("artifact_info") && tools[0].contains("artifact_query"));
        for (n, later) in tools.iter().enumerate() {
            assert_eq!(later, &tools[0], "request {n} in {dialect}");
        }
    }
}

/// The size of the query tools in each dialect, without the tool that can return something large.
async fn costs() -> String {
    let tool = Tool::builder("t").description("T.").handler(|| "x");
    let (alone, requests) = (Requests::default(), Requests::default());
    let run = async |requests: &Requests, tool: Tool| {
        let agent = agent(requests.around(super::say("done"))).tool(tool).build().unwrap();
        input(&agent).report().await.unwrap();
    };
    run(&alone, Tool::builder("t").description("T.").handler(|| "x").build().unwrap()).await;
    run(&requests, tool.artifact_kinds([ArtifactKind::TEXT]).build().unwrap()).await;
    assert_eq!(requests.names()[0][..3], ["t", "artifact_info", "artifact_read"]);
    let mut out = String::new();
    for (at, dialect) in DIALECTS.iter().enumerate() {
        let (alone, all) = (alone.tools(at).remove(0), requests.tools(at).remove(0));
        let added = all.strip_prefix(alone.strip_suffix(']').unwrap()).unwrap();
        let mut tokens = haft::artifacts::tokens::StreamCounter::new("o200k_base".parse().unwrap());
        tokens.push(added.as_bytes());
        let tokens = tokens.finish().tokens;
        out.push_str(&format!("{dialect}: {} bytes, {tokens} tokens\n", added.len()));
    }
    out
}

#[tokio::test]
async fn the_query_tools_are_small() {
    insta::assert_snapshot!(costs().await, @r"
    chat_completions: 2217 bytes, 553 tokens
    openai_responses: 2225 bytes, 561 tokens
    anthropic_messages: 2101 bytes, 533 tokens
    ollama: 2217 bytes, 553 tokens
    ");
}

/// A tool of the README's form, which declares nothing, may return something large.
#[tokio::test]
async fn tools_that_declare_nothing_bring_the_queries_with_the_first_request() {
    let requests = Requests::default();
    let text = || "a line\n".repeat(2_000);
    let tool = Tool::builder("plain").description("Plain.").handler(text).build().unwrap();
    let executor = requests.around(|ctx: StepContext| async move {
        Ok::<_, StepError>(match ctx.dispatch().iteration() {
            0..3 => Step::new().call(call("plain", "{}")),
            _ => Step::done().say(ctx.message("done")?),
        })
    });
    input(&agent(executor).tool(tool).build().unwrap()).report().await.unwrap();
    let expected = ["plain", "artifact_info", "artifact_read", "artifact_grep", "artifact_query"];
    assert!(requests.names().iter().all(|names| *names == expected), "{:?}", requests.names());
    for dialect in 0..4 {
        let tools = requests.tools(dialect);
        assert!(tools.iter().all(|it| *it == tools[0]), "{tools:?}");
    }
}

#[tokio::test]
async fn a_bounded_tool_brings_the_queries_only_if_it_breaks_its_bound() {
    let requests = Requests::default();
    let text = || "a line\n".repeat(2_000);
    let tool = Tool::builder("plain").description("Plain.").handler(text).max_bytes(100);
    let executor = requests.around(|ctx: StepContext| async move {
        Ok::<_, StepError>(match ctx.dispatch().iteration() {
            0 => Step::new().call(call("plain", "{}")),
            _ => Step::done().say(ctx.message("done")?),
        })
    });
    input(&agent(executor).tool(tool.build().unwrap()).build().unwrap()).report().await.unwrap();
    let names = requests.names();
    assert_eq!(names[0], ["plain"]);
    assert!(names[1].contains(&"artifact_grep".to_owned()));
}

#[tokio::test]
async fn a_handle_is_checked_when_the_call_is_made() {
    let executor = super::steps([
        |_| Ok(Step::new().call(call("fetch", r#"{"n":0}"#)).call(call("fetch", r#"{"n":1}"#))),
        |_| {
            let unknown = call("artifact_read", r#"{"callId":"cafe"}"#);
            Ok(Step::new().call(unknown).call(call("artifact_info", "{}")))
        },
        |ctx| {
            let calls = ctx.dispatch().turn().tool_calls().all();
            let handles = ctx.dispatch().artifacts().all();
            let text_of = |at: usize| format!("{:?}", calls[at].results);
            assert!(text_of(2).contains("no artifact with id `cafe`"), "{}", text_of(2));
            for (handle, _) in &handles {
                assert!(text_of(2).contains(handle) && text_of(3).contains(handle));
            }
            let wrong = format!(r#"{{"callId":"{}","query":"$"}}"#, handles[0].0);
            Ok(Step::new().call(call("artifact_query", &wrong)))
        },
        |ctx| {
            let calls = ctx.dispatch().turn().tool_calls().all();
            let text = format!("{:?}", calls[4].error);
            assert!(text.contains("plain text has no structure to query; artifact_grep"), "{text}");
            Ok(Step::done().say(ctx.message("done")?))
        },
    ]);
    let report = input(&agent(executor).tool(fetch()).build().unwrap()).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
}

fn named(name: &'static str) -> Tool {
    Tool::builder(name).description("A tool.").handler(move || name).build().unwrap()
}

/// A tool whose calls register and remove others.
fn changes() -> Tool {
    Tool::builder("change")
        .description("Changes the tools.")
        .handler(|args: Number, ctx: &CallContext| {
            match args.n {
                0 => ctx.tools().register(named("skill")).unwrap(),
                1 => drop(ctx.tools().unregister("other")),
                _ => drop(ctx.tools().unregister("removed")),
            }
            "changed"
        })
        .build()
        .unwrap()
}

fn change(n: u32) -> haft::executors::ProposedCall {
    call("change", &format!(r#"{{"n":{n}}}"#))
}

/// Changes the tools in three steps, hangs once, and then calls all of them.
fn changing(hang: bool) -> impl DispatchExecutor {
    move |ctx: StepContext| async move {
        Ok::<_, StepError>(match ctx.dispatch().iteration() {
            n @ 0..3 => Step::new().call(change(n)),
            3 => {
                if hang {
                    std::future::pending::<()>().await;
                }
                Step::new()
                    .call(call("skill", "{}"))
                    .call(call("other", "{}"))
                    .call(call("removed", "{}"))
            }
            _ => Step::done().say(ctx.message("done")?),
        })
    }
}

fn errors(report: &haft::turn::TurnReport) -> Vec<String> {
    let failed = report.calls.iter().filter(|it| it.state() == CallState::Failed);
    failed.map(|it| it.error.as_ref().unwrap().message.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn changes_last_for_the_turn_and_the_block_grows_at_its_end() {
    let own = || [named("removed"), named("other"), changes()];
    let requests = Requests::default();
    let built = agent(requests.around(changing(false))).tools(own()).build().unwrap();
    let report = input(&built).report().await.unwrap();
    let refused = [
        "`other` cannot be called any more: it was removed",
        "`removed` cannot be called any more: it was removed",
    ];
    assert_eq!(errors(&report), refused);
    for dialect in 0..3 {
        let tools = requests.tools(dialect);
        let start = tools[0].strip_suffix(']').unwrap();
        assert!(tools.iter().all(|later| later.starts_with(start)), "{tools:?}");
        assert_eq!(tools[2], tools[1]);
        assert_eq!(tools[4], tools[1]);
    }
    assert_eq!(requests.names()[4], ["removed", "other", "change", "skill"]);
    // Another turn of the same agent begins with the agent's own tools.
    input(&built).id("other").report().await.unwrap();
    assert_eq!(requests.names()[5], ["removed", "other", "change"]);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_turn_has_the_tools_that_their_source_registers_again() {
    for restores in [true, false] {
        let (stores, requests) = (Stores::new(), Requests::default());
        let own = || [named("removed"), named("other"), changes()];
        let restore = move |ctx: haft::turn::TurnContext, next: Next<haft::turn::TurnContext>| async move {
            if restores && ctx.is_resumed() {
                ctx.tools().register(named("skill"))?;
            }
            next.run().await
        };
        let build = |hang| {
            let builder = stores.agent(requests.around(changing(hang))).tools(own());
            builder.turn_input("restore", restore)
        };
        die(build(true)).await;
        stores.expire();
        let resumed = build(false).build().unwrap();
        let report = resumed.resume("t").report().await.unwrap();
        let refused = errors(&report);
        let names = requests.names();
        if restores {
            assert_eq!(refused.len(), 2, "{refused:?}");
            for dialect in 0..3 {
                let tools = requests.tools(dialect);
                assert_eq!(tools.last(), tools.get(1));
            }
        } else {
            assert_eq!(refused.len(), 3, "{refused:?}");
            assert!(
                refused[0].contains("was not added again after an interruption"),
                "{refused:?}"
            );
            assert_eq!(names.last().unwrap(), &["removed", "other", "change"]);
        }
    }
}

#[tokio::test]
async fn a_tool_that_is_added_under_thinking_is_loaded_deferred() {
    let requests = Requests::default();
    let executor = requests.around(|ctx: StepContext| async move {
        if ctx.dispatch().iteration() == 2 {
            return Ok::<_, StepError>(Step::done().say(ctx.message("done")?));
        }
        let payload = serde_json::json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        let thought = Thought::new(ctx.next_id("thought"), "hm", ctx.dispatch().clock().now())
            .with_payload(payload)
            .with_replay_compatibility(AnthropicMessages::new().replay_tags()[0])
            .checked()?;
        let n = ctx.dispatch().iteration();
        Ok(Step::new().think(thought).call(if n == 0 { change(0) } else { call("skill", "{}") }))
    });
    input(&agent(executor).tool(changes()).build().unwrap()).report().await.unwrap();
    let bodies = requests.bodies(2);
    let addition = r#"{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"skill"}}]}"#;
    for body in &bodies[1..] {
        assert!(body.contains(r#""defer_loading":true"#) && body.contains(addition), "{body}");
    }
    // Breakpoints of the cache move with the end of the conversation.
    let breakpoint = r#","cache_control":{"type":"ephemeral"}"#;
    let before = |body: &str| body.replace(breakpoint, "").find(addition).unwrap();
    assert_eq!(before(&bodies[1]), before(&bodies[2]), "it stays where it was added");
    assert!(!requests.bodies(0)[1].contains("defer_loading"));
}

/// A format that counts how often it is asked what it reads.
#[derive(Debug, Clone, Default)]
struct Counting(Arc<std::sync::atomic::AtomicUsize>);

impl haft::artifacts::ArtifactFormat for Counting {
    fn reads(&self, _: &ArtifactKind) -> bool {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        true
    }

    fn answer(
        &self,
        _: &haft::artifacts::Question,
        _: &haft::artifacts::QueryContext,
    ) -> Option<haft::artifacts::QueryAnswer> {
        None
    }
}

#[tokio::test]
async fn opening_an_iteration_does_not_look_at_every_artifact() {
    let mut counts = Vec::new();
    for iterations in [10_u32, 60] {
        let format = Counting::default();
        let formats = haft::artifacts::Formats::new().with(format.clone()).unwrap();
        let executor = move |ctx: StepContext| async move {
            let n = ctx.dispatch().iteration();
            if n == iterations {
                return Ok::<_, StepError>(Step::done().say(ctx.message("done")?));
            }
            Ok(Step::new().call(call("fetch", &format!(r#"{{"n":{}}}"#, n * 6))))
        };
        let limits = haft::turn::Limits::new().iterations(100).tool_calls(100);
        let built = agent(executor).tool(fetch()).formats(formats).limits(limits).build().unwrap();
        let report = input(&built).report().await.unwrap();
        assert_eq!(report.calls.len(), iterations as usize, "{:?}", report.error);
        counts.push(format.0.load(std::sync::atomic::Ordering::Relaxed));
    }
    assert_eq!(counts[0], counts[1]);
}
