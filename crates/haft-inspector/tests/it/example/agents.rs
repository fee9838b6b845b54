//! The agents of the example.

use std::sync::Arc;
use std::time::Duration;

use haft::executors::{
    DispatchExecutor, ExecutorDescription, ProposedCall, Step, StepContext, StepError, StreamPart,
};
use haft::stores::TurnSummary;
use haft::turn::TurnHistory;
use haft::{Agent, BoxFuture, Tool, Turn};
use haft_server::{AgentError, AgentPurpose, AgentSource, HostedAgent};

use super::{Example, model, named_turn, tools};

const NAMES: [&str; 7] =
    ["approval flow", "data desk", "gardener", "hostile", "live", "log detective", "out of order"];

/// Finds agents of the example.
pub(super) struct ExampleAgents(pub(super) Example);

struct ExampleAgent {
    example: Example,
    name: String,
}

impl AgentSource for ExampleAgents {
    fn list_agents(&self) -> BoxFuture<'_, Result<Vec<String>, AgentError>> {
        Box::pin(async { Ok(NAMES.map(str::to_owned).into()) })
    }

    fn load_agent<'a>(
        &'a self,
        name: &'a str,
        _: AgentPurpose,
    ) -> BoxFuture<'a, Result<Arc<dyn HostedAgent>, AgentError>> {
        let agent = ExampleAgent { example: self.0.clone(), name: name.to_owned() };
        Box::pin(async move { Ok(Arc::new(agent) as Arc<dyn HostedAgent>) })
    }

    fn agent_of_turn(&self, _: &TurnSummary, history: &TurnHistory) -> Option<String> {
        history.stash.get("agent")?.as_str().map(str::to_owned)
    }
}

impl HostedAgent for ExampleAgent {
    fn description(&self) -> Option<String> {
        Some(format!("examples/{}", self.name.replace(' ', "-")))
    }

    fn prepare_turn(&self, turn: Turn) -> Result<Turn, AgentError> {
        Ok(prepare(turn, &self.name))
    }

    fn system_prompt(&self) -> String {
        system_prompt(&self.name)
    }

    fn tools(&self) -> Vec<Tool> {
        parts(&self.example, &self.name).1
    }

    fn executor(
        &self,
        _begun_by: Option<&ExecutorDescription>,
        _purpose: AgentPurpose,
    ) -> Result<Arc<dyn DispatchExecutor>, AgentError> {
        Ok(parts(&self.example, &self.name).0)
    }

    fn build_agent(
        &self,
        executor: Arc<dyn DispatchExecutor>,
        tools: Vec<Tool>,
    ) -> Result<Agent, AgentError> {
        let builder = self.example.configure(Agent::builder(executor), tools);
        builder.name(self.name.as_str()).build().map_err(|error| AgentError::new(error.to_string()))
    }
}

fn system_prompt(agent: &str) -> String {
    format!(
        "You are the agent `{agent}`. Look before you answer, and say what you found in plain words."
    )
}

/// A turn of an agent of the example.
pub(super) fn turn(built: &Agent, agent: &str, words: &str) -> Turn {
    prepare(built.turn(words), agent)
}

fn prepare(turn: Turn, agent: &str) -> Turn {
    let turn = named_turn(turn, agent, &system_prompt(agent));
    if agent == "gardener" { turn.conversation("garden-0199-4f2a") } else { turn }
}

/// The executor and the tools of an agent.
pub(super) fn parts(example: &Example, agent: &str) -> (Arc<dyn DispatchExecutor>, Vec<Tool>) {
    let executor: Arc<dyn DispatchExecutor> = match agent {
        "log detective" => Arc::new(model::provider(example, model::LOG_DETECTIVE)),
        "approval flow" => Arc::new(model::provider(example, model::APPROVAL_FLOW)),
        "data desk" => Arc::new(data_desk(example)),
        "gardener" => Arc::new(model::provider(example, model::GARDENER)),
        "hostile" => Arc::new(hostile(example)),
        "naughty" => {
            let words = tools::naughty_text();
            Arc::new(call_each(example, &[("fetch_naughty", "{}")], words))
        }
        "live" => Arc::new(live(example)),
        "many" => Arc::new(many(example)),
        "parallel" => Arc::new(parallel(example)),
        _ => Arc::new(|_: StepContext| async {
            Err::<Step, _>(StepError::new(
                "no connection to 127.0.0.1:8979 in 3 attempts: connection refused (os error 111)",
            ))
        }),
    };
    (executor, tools::all(example, agent))
}

/// Calls every tool once, and then says something.
fn call_each(
    example: &Example,
    calls: &'static [(&'static str, &'static str)],
    last: String,
) -> impl DispatchExecutor + use<> {
    let example = example.clone();
    move |ctx: StepContext| async move {
        example.pass_time(120);
        let at = ctx.dispatch().iteration() as usize;
        let Some((tool, args)) = calls.get(at) else {
            return Ok(Step::done().say(ctx.message(last)?));
        };
        Ok::<_, StepError>(Step::new().call(ProposedCall::new(*tool, *args)))
    }
}

fn data_desk(example: &Example) -> impl DispatchExecutor + use<> {
    let calls =
        &[("get_orders", "{}"), ("get_prices", "{}"), ("read_manual", "{}"), ("draw_chart", "{}")];
    call_each(
        example,
        calls,
        "Nine large orders are open. Together they are worth 14 031.04.".to_owned(),
    )
}

fn hostile(example: &Example) -> impl DispatchExecutor + use<> {
    let calls = &[("fetch_page", "{\"url\":\"<b onmouseover=alert(3)>\"}"), ("fetch_log", "{}")];
    call_each(example, calls, format!("The page says: {}", tools::hostile_text()))
}

/// Writes a message piece by piece, calls a tool, and writes another one.
fn live(example: &Example) -> impl DispatchExecutor + use<> {
    let example = example.clone();
    move |ctx: StepContext| async move {
        let words = ["I look ", "at the ", "sensor ", "now."];
        let id = ctx.next_id("message");
        let mut said = String::new();
        for word in words {
            // A permit is a piece that the test asks for; without the test the turn stops.
            let wait = tokio::time::timeout(Duration::from_secs(60), example.pieces.acquire());
            wait.await
                .map_err(|_| StepError::new("the test did not go on"))?
                .map_err(|_| StepError::new("closed"))?
                .forget();
            ctx.report_message(&id, word, StreamPart::More)
                .map_err(|error| StepError::new(error.to_string()))?;
            said.push_str(word);
        }
        let message = haft::Message::assistant_at(id, said, ctx.dispatch().clock().now())?;
        let step = if ctx.dispatch().iteration() == 0 {
            Step::new().call(ProposedCall::new(
                "read_sensor",
                "{\"room\": \"cellar\", \"samples\": \"3\"}",
            ))
        } else {
            Step::done()
        };
        Ok::<_, StepError>(step.say(message))
    }
}

/// How many sensors the agent `parallel` waits for at once.
const PARALLEL: u32 = 12;

/// Waits for many sensors and for an approval at the same time.
fn parallel(example: &Example) -> impl DispatchExecutor + use<> {
    let example = example.clone();
    move |ctx: StepContext| async move {
        example.pass_time(150);
        if ctx.dispatch().iteration() > 0 {
            return Ok(Step::done().say(ctx.message("All rooms are warm.")?));
        }
        let write = ProposedCall::new(
            "write_file",
            "{\"path\": \"rooms.md\", \"content\": \"- cellar\\n- roof\\n\"}",
        );
        let rooms = (0..PARALLEL).map(|n| {
            ProposedCall::new("wait_for_sensor", format!("{{\"room\": \"room {n}\"}}").as_str())
        });
        let step = rooms.fold(Step::new().call(write), Step::call);
        Ok::<_, StepError>(step.say(ctx.message("I ask all sensors at once.")?))
    }
}

/// How many steps the agent `many` takes, and how many calls each of them has.
const MANY: (u32, u32) = (250, 39);

/// Makes 9 750 calls.
fn many(example: &Example) -> impl DispatchExecutor + use<> {
    let example = example.clone();
    move |ctx: StepContext| async move {
        example.pass_time(100);
        let iteration = ctx.dispatch().iteration();
        if iteration == MANY.0 {
            return Ok(Step::done().say(ctx.message("All sensors are read.")?));
        }
        let calls = (0..MANY.1).map(|n| {
            let args = format!("{{\"room\": \"{iteration}-{n}\", \"samples\": 1}}");
            ProposedCall::new("read_sensor", args.as_str())
        });
        let step = calls.fold(Step::new(), Step::call);
        Ok::<_, StepError>(step.say(ctx.message(format!("Floor {iteration}."))?))
    }
}
