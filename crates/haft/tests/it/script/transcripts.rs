//! Turns as observers see them: what happens, in which order, in which iteration.
//!
//! Deliberate choices that show here: output middleware and the end of an iteration come in every
//! iteration, also in the one that is done or fails; a call that is refused is observed; every call that
//! was announced is completed, also in a turn that is cancelled.

use std::fmt::Write as _;
use std::time::Duration;

use haft::events::{ErrorReport, Event, EventKind};
use haft::middleware::Next;
use haft::records::CallId;
use haft::turn::Cancellation;
use haft::turn::GateRequest;
use haft::turn::TurnContext;
use haft::turn::{Agent, AgentBuilder};
use haft::{Args, CallContext, DispatchContext, Tool};
use serde_json::json;

use super::super::turn::{Seen, agent, input, pass};
use super::{fails, gives, scripted};

/// One line for every event: iteration, name, and what matters of it. Calls are numbered, times left out.
fn transcript(events: &[Event]) -> String {
    let mut calls: Vec<CallId> = Vec::new();
    let mut number = |id: CallId| {
        let at = calls.iter().position(|known| *known == id).unwrap_or_else(|| {
            calls.push(id);
            calls.len() - 1
        });
        format!("c{}", at + 1)
    };
    let error = |it: &Option<ErrorReport>| it.as_ref().map_or_else(String::new, shown);
    let mut out = String::new();
    for event in events {
        let what = match &event.kind {
            EventKind::Message(it) | EventKind::Thought(it) => {
                format!("{:?} complete={}", it.delta, it.is_complete)
            }
            EventKind::ToolCall(it) => {
                let id = it.checksum.map_or_else(|| "c?".to_owned(), &mut number);
                let result = it.results.as_ref().map_or_else(String::new, |it| {
                    let code = it
                        .error
                        .as_ref()
                        .map_or_else(String::new, |code| format!(" {}", code.as_str()));
                    format!(" {:?}{code}", it.kind)
                });
                format!("{id} {} complete={}{result}", it.tool, it.is_complete)
            }
            EventKind::ToolExecutionStart { call_id, args, .. } => {
                format!("{} {}", number(*call_id), args)
            }
            EventKind::ToolExecutionEnd { call_id, is_error, .. } => {
                format!("{} error={is_error}", number(*call_id))
            }
            EventKind::ToolExecutionRejected { call_id, problems, .. } => {
                let pointers: Vec<_> = problems.list.iter().map(|it| it.pointer.as_str()).collect();
                format!("{} {}", number(*call_id), pointers.join(" "))
            }
            EventKind::TurnGateOpen { reason, .. } => reason.to_string(),
            EventKind::TurnGateClosed { result, .. } => format!("{result:?}"),
            EventKind::DispatchEnd { status, iterations, error: it, .. } => {
                format!("{status:?} iterations={iterations} {}", error(it))
            }
            EventKind::TurnEnd { status, iterations, error: it, .. } => {
                format!("{status:?} iterations={iterations} {}", error(it))
            }
            EventKind::Error(it) => shown(it),
            EventKind::Log { message, .. } => message.to_string(),
            _ => String::new(),
        };
        let line = format!("{} {} {what}", event.iteration, event.kind.name());
        writeln!(out, "{}", line.trim_end()).unwrap();
    }
    out
}

fn shown(error: &ErrorReport) -> String {
    let code = error.code.as_ref().map_or("-", |code| code.as_str());
    let stage = error.stage.as_ref().map_or("-", |it| it.as_str());
    format!("{code} at {stage}")
}

/// Shows when output middleware runs.
fn watched(builder: AgentBuilder, seen: &Seen) -> Agent {
    let dispatch_output = |ctx: DispatchContext, next: Next<DispatchContext>| {
        let pending = format!("dispatch output, {:?}", ctx.pending());
        ctx.log(haft::events::LogLevel::Info, "test", &pending, None);
        next.run()
    };
    let turn_output = |ctx: TurnContext, next: Next<TurnContext>| {
        ctx.log(haft::events::LogLevel::Info, "test", "turn output", None);
        next.run()
    };
    let builder =
        builder.dispatch_output("watch", dispatch_output).turn_output("watch", turn_output);
    builder.observer(seen.observer()).build().unwrap()
}

async fn played(script: &str, tools: Vec<Tool>) -> String {
    let seen = Seen::default();
    let agent = watched(agent(scripted(script)).tools(tools), &seen);
    input(&agent).report().await.unwrap();
    transcript(&seen.events())
}

#[tokio::test]
async fn a_plain_turn() {
    insta::assert_snapshot!(played("steps: [{think: Polite., say: Hello, stream: 2}]", vec![]).await, @r##"
    0 turnStart
    0 dispatchStart
    0 iterationStart
    0 thought "Poli" complete=false
    0 thought "te." complete=true
    0 message "Hel" complete=false
    0 message "lo" complete=true
    0 log dispatch output, Some(Ack)
    0 iterationEnd
    0 dispatchEnd Ack iterations=1
    0 log turn output
    0 turnEnd Completed iterations=1
    "##);
}

#[tokio::test]
async fn two_iterations_with_tools_and_then_an_answer() {
    let script = "
steps:
  - call: {get_log: {}}
  - call: {artifact_read: {callId: '{{ handle.get_log }}', end: 1}}
  - say: '{{ last.artifact_read }}'
";
    let log = "a line\n".repeat(1000);
    let text = played(script, vec![gives("get_log", log)]).await;
    let handle = text.split("callId\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    insta::assert_snapshot!(text.replace(handle, "HANDLE"), @r##"
    0 turnStart
    0 dispatchStart
    0 iterationStart
    0 toolCall c1 get_log complete=false
    0 toolExecutionStart c1 {}
    0 toolExecutionEnd c1 error=false
    0 toolCall c1 get_log complete=true Artifacts
    0 log dispatch output, None
    0 iterationEnd
    1 iterationStart
    1 toolCall c2 artifact_read complete=false
    1 toolExecutionStart c2 {"callId":"HANDLE","end":1}
    1 toolExecutionEnd c2 error=false
    1 toolCall c2 artifact_read complete=true Text
    1 log dispatch output, None
    1 iterationEnd
    2 iterationStart
    2 message "a line" complete=true
    2 log dispatch output, Some(Ack)
    2 iterationEnd
    0 dispatchEnd Ack iterations=3
    0 log turn output
    0 turnEnd Completed iterations=3
    "##);
}

fn asks() -> Tool {
    let handler = |_: Args, ctx: CallContext| async move {
        let request = GateRequest::new("Delete it?").schema(json!({"type": "boolean"}));
        let answer = ctx.ask(request).await?;
        Ok::<_, haft::ToolFailure>(format!("answered {answer}"))
    };
    let tool = Tool::builder("ask").description("Asks.").input(haft::schema::object());
    tool.handler(handler).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_gate_inside_a_handler() {
    let seen = Seen::default();
    let script = "steps: [{call: {ask: {}}}, {expect: {ask: answered true}, say: Done}]";
    let agent = watched(agent(scripted(script)).tool(asks()), &seen);
    let (report, ()) = tokio::join!(input(&agent).report(), async {
        pass(Duration::from_secs(60)).await;
        let gate = agent.gates().open_gates(None).await.unwrap().remove(0);
        // What does not fit the question leaves the gate open.
        agent.gates().resolve(&gate.id, json!("yes"), "ada").await.unwrap_err();
        agent.gates().resolve(&gate.id, json!(true), "ada").await.unwrap();
    });
    report.unwrap();
    insta::assert_snapshot!(transcript(&seen.events()), @r##"
    0 turnStart
    0 dispatchStart
    0 iterationStart
    0 toolCall c1 ask complete=false
    0 toolExecutionStart c1 {}
    0 turnGateOpen Delete it?
    0 turnGateClosed Resolved
    0 toolExecutionEnd c1 error=false
    0 toolCall c1 ask complete=true Text
    0 log dispatch output, None
    0 iterationEnd
    1 iterationStart
    1 message "Done" complete=true
    1 log dispatch output, Some(Ack)
    1 iterationEnd
    0 dispatchEnd Ack iterations=2
    0 log turn output
    0 turnEnd Completed iterations=2
    "##);
}

#[tokio::test]
async fn a_failing_tool() {
    let schema = haft::schema::object().field("n", haft::schema::integer().required());
    let strict = Tool::builder("strict").description("S.").input(schema).handler(|_: Args| "x");
    let script = "
steps:
  - call: {fails: {}}
  - expect: {fails: {error: true}}
    call: {strict: {n: many}}
  - call: {nobody: {}}
  - say: I could not do it.
";
    let text = played(script, vec![fails("fails"), strict.build().unwrap()]).await;
    insta::assert_snapshot!(text, @r##"
    0 turnStart
    0 dispatchStart
    0 iterationStart
    0 toolCall c1 fails complete=false
    0 toolExecutionStart c1 {}
    0 toolExecutionEnd c1 error=true
    0 toolCall c1 fails complete=true Error E_TOOL_DOWNSTREAM_ERROR
    0 log dispatch output, None
    0 iterationEnd
    1 iterationStart
    1 toolCall c2 strict complete=false
    1 toolExecutionRejected c2 /n
    1 toolCall c2 strict complete=true Error E_INVALID_TOOL_ARGS
    1 log dispatch output, None
    1 iterationEnd
    2 iterationStart
    2 toolCall c3 nobody complete=false
    2 toolCall c3 nobody complete=true Error E_UNKNOWN_TOOL
    2 log dispatch output, None
    2 iterationEnd
    3 iterationStart
    3 message "I could not do it." complete=true
    3 log dispatch output, Some(Ack)
    3 iterationEnd
    0 dispatchEnd Ack iterations=4
    0 log turn output
    0 turnEnd Completed iterations=4
    "##);
}

#[tokio::test]
async fn a_failing_executor() {
    let script = "steps: [{say: One moment., call: {t: {}}}, {fail: the provider is down}]";
    insta::assert_snapshot!(played(script, vec![gives("t", "x")]).await, @r##"
    0 turnStart
    0 dispatchStart
    0 iterationStart
    0 message "One moment." complete=true
    0 toolCall c1 t complete=false
    0 toolExecutionStart c1 {}
    0 toolExecutionEnd c1 error=false
    0 toolCall c1 t complete=true Text
    0 log dispatch output, None
    0 iterationEnd
    1 iterationStart
    1 iterationEnd
    0 dispatchEnd Nack iterations=2 E_LLM_EXECUTION_EXECUTOR_ERROR at executor
    0 error E_LLM_EXECUTION_EXECUTOR_ERROR at executor
    0 turnEnd Failed iterations=2 E_LLM_EXECUTION_EXECUTOR_ERROR at executor
    "##);
}

async fn cancelled(script: &str, tools: Vec<Tool>) -> String {
    let seen = Seen::default();
    let agent = watched(agent(scripted(script)).tools(tools), &seen);
    let token = Cancellation::new();
    let cancel = token.clone();
    let (report, ()) = tokio::join!(input(&agent).cancellation(&token).report(), async move {
        pass(Duration::from_secs(5)).await;
        cancel.cancel("the user left");
    });
    report.unwrap();
    transcript(&seen.events())
}

#[tokio::test(start_paused = true)]
async fn an_aborted_turn() {
    insta::assert_snapshot!(cancelled("steps: [{stall: forever}]", vec![]).await, @r"
    0 turnStart
    0 dispatchStart
    0 iterationStart
    0 iterationEnd
    0 dispatchEnd Aborted iterations=1
    0 turnEnd Cancelled iterations=1
    ");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_aborted_at_a_gate() {
    let script = "steps: [{call: {ask: {}}}, {say: never}]";
    insta::assert_snapshot!(cancelled(script, vec![asks()]).await, @r"
    0 turnStart
    0 dispatchStart
    0 iterationStart
    0 toolCall c1 ask complete=false
    0 toolExecutionStart c1 {}
    0 turnGateOpen Delete it?
    0 turnGateClosed Aborted
    0 toolExecutionEnd c1 error=true
    0 toolCall c1 ask complete=true Error E_TOOL_DOWNSTREAM_ERROR
    0 iterationEnd
    0 dispatchEnd Aborted iterations=1
    0 turnEnd Cancelled iterations=1
    ");
}

#[tokio::test]
async fn a_short_circuit() {
    let seen = Seen::default();
    let built = agent(scripted("steps: [{say: never}]"));
    let built = built.turn_input("forgets", async |_: TurnContext, _: Next<TurnContext>| Ok(()));
    input(&watched(built, &seen)).report().await.unwrap();
    let at_turn = transcript(&seen.events());

    let seen = Seen::default();
    let built = agent(scripted("steps: [{say: never}]"));
    let forgets = async |_: DispatchContext, _: Next<DispatchContext>| Ok(());
    input(&watched(built.dispatch_input("forgets", forgets), &seen)).report().await.unwrap();
    insta::assert_snapshot!(format!("{at_turn}\n{}", transcript(&seen.events())), @r"
    0 turnStart
    0 error E_PIPELINE_SHORT_CIRCUITED at turn-input
    0 turnEnd Failed iterations=0 E_PIPELINE_SHORT_CIRCUITED at turn-input

    0 turnStart
    0 dispatchStart
    0 iterationStart
    0 iterationEnd
    0 dispatchEnd Nack iterations=1 E_PIPELINE_SHORT_CIRCUITED at dispatch-input
    0 error E_PIPELINE_SHORT_CIRCUITED at dispatch-input
    0 turnEnd Failed iterations=1 E_PIPELINE_SHORT_CIRCUITED at dispatch-input
    ");
}
