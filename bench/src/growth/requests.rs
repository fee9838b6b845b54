//! Requests of turns with a long history.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use haft::BoxFuture;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::transport::{Body, HttpError, Request, Response, Transport, response};
use haft::providers::{Options, Provider};
use haft::tools::ToolEffect;
use haft::turn::{Agent, Limits, Timestamp, Turn, TurnOutcome};
use haft::{Message, Tool};
use serde_json::{Value, json};

use super::{cpu_time, runtime, text};
use crate::stream::ours::{BRIEF, Canned};

/// Everything is sent.
pub(super) fn whole(exchanges: usize) -> Result<f64, String> {
    measure(exchanges, json!({}))
}

/// Most of it has to be left out.
pub(super) fn shed(exchanges: usize) -> Result<f64, String> {
    let window = json!({"contextWindow": 3000, "tokenEncoding": "claude", "contextShedding": true});
    measure(exchanges, window)
}

fn measure(exchanges: usize, options: Value) -> Result<f64, String> {
    let transport = Arc::new(Canned(vec![Bytes::from_static(BRIEF.as_bytes())]));
    let model = Provider::builder(ChatCompletions::new(), "m").base_url("http://localhost");
    let model = model.transport(transport).options(Options::from(options)).build().map_err(text)?;
    let (agent, runtime) = (Agent::builder(model).build().map_err(text)?, runtime()?);
    cpu_time(|| complete(&runtime, &agent, exchanges))
}

/// How many records a later request of a turn renders at most.
pub(super) fn rendered_later(exchanges: usize) -> Result<f64, String> {
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let agent = calling_runner(LATER, move |iteration, rendered| {
        if iteration > 0 {
            seen.fetch_max(rendered, Ordering::Relaxed);
        }
    })?;
    complete(&runtime()?, &agent, exchanges)?;
    Ok(most.load(Ordering::Relaxed) as f64)
}

/// What a further iteration of a turn costs: the difference of turns with few and with many of them.
pub(super) fn later(exchanges: usize) -> Result<f64, String> {
    let runtime = runtime()?;
    let cost = |calls: usize| {
        let agent = calling_runner(calls, |_, _| {})?;
        cpu_time(|| complete(&runtime, &agent, exchanges))
    };
    let (few, many) = (cost(LATER)?, cost(4 * LATER)?);
    Ok((many - few).max(0.0) / (3 * LATER) as f64)
}

const LATER: usize = 10;

/// An agent whose model calls a tool so many times before it answers.
fn calling_runner(
    calls: usize,
    observer: impl Fn(u32, usize) + Send + Sync + 'static,
) -> Result<Agent, String> {
    let transport = Arc::new(Calling { calls, asked: AtomicUsize::new(0) });
    let model = Provider::builder(ChatCompletions::new(), "m").base_url("http://localhost");
    let model = model.transport(transport);
    let model = model.on_prompt(move |it| observer(it.iteration, it.rendered_parts));
    let tool = Tool::builder("log").description("Says little.").effect(ToolEffect::ReadOnly);
    let tool = tool.handler(|| "nothing").build().map_err(text)?;
    let most = u32::try_from(calls + 1).map_err(text)?;
    let limits = Limits::new().iterations(most).tool_calls(most).identical_calls(most);
    let agent = Agent::builder(model.build().map_err(text)?).tool(tool).limits(limits);
    agent.build().map_err(text)
}

fn complete(
    runtime: &tokio::runtime::Runtime,
    agent: &Agent,
    exchanges: usize,
) -> Result<(), String> {
    let report = runtime.block_on(input(&agent, exchanges)?.report()).map_err(text)?;
    match report.outcome {
        TurnOutcome::Completed => Ok(()),
        outcome => Err(format!("the turn ended as {outcome:?}: {:?}", report.error)),
    }
}

/// A model that calls a tool some times in each turn. Turns run one after the other.
#[derive(Debug)]
struct Calling {
    calls: usize,
    asked: AtomicUsize,
}

impl Transport for Calling {
    fn send(&self, _: Request<Bytes>) -> BoxFuture<'_, Result<Response<Body>, HttpError>> {
        let step = self.asked.fetch_add(1, Ordering::Relaxed) % (self.calls + 1);
        let said = if step < self.calls { CALL } else { BRIEF };
        Box::pin(async move {
            let mut response =
                response(200, Body::from_chunks([Bytes::from_static(said.as_bytes())]))?;
            let kind = http::HeaderValue::from_static("text/event-stream");
            response.headers_mut().insert("content-type", kind);
            Ok(response)
        })
    }
}

const CALL: &str = concat!(
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","#,
    r#""function":{"name":"log","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
    "\n\ndata: [DONE]\n\n"
);

fn input(agent: &Agent, exchanges: usize) -> Result<Turn, String> {
    let at = Timestamp::EPOCH;
    let mut input = agent.turn([]).system("You help.");
    for n in 0..exchanges {
        let asked = format!("Question {n}: is there anything wrong in the log of this day?");
        input = input.message(Message::user_at(format!("q-{n}"), asked, at).map_err(text)?);
        let said = "The log has a hundred lines, and nothing in it is wrong.";
        input = input.message(Message::assistant_at(format!("a-{n}"), said, at).map_err(text)?);
    }
    Ok(input.message(Message::user_at("last", "And now?", at).map_err(text)?))
}
