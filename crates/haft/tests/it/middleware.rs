//! The middleware in the box, in turns.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft::middleware::{
    AuditLog, OnRepetition, Verdict, audit_log, fetch_and_register_tools, repetition_guard,
    safety_veto,
};
use haft::records::{CallState, ToolResults};
use haft::stores::{MemoryStore, TurnStatus};
use haft::tools::{OnCollision, ToolEffect};
use haft::turn::Cancellation;
use haft::turn::TurnContext;
use haft::turn::TurnOutcome;
use haft::turn::{ManualClock, Timestamp};
use haft::{Args, Tool};
use serde_json::Value;

use super::script::{fails, gives, scripted};
use super::turn::{Seen, agent, input, pass};

#[tokio::test]
async fn fetched_tools_are_registered_by_their_policy() {
    let source = |policy| {
        move |_: TurnContext| async move {
            let tool = Tool::builder("t").description("T.").on_collision(policy);
            let new = Tool::builder("new").description("N.").handler(|| "new").build()?;
            Ok(vec![new, tool.handler(|| "fetched").build()?])
        }
    };
    for (policy, expected) in [
        (OnCollision::Replace, Some("fetched new")),
        (OnCollision::Keep, Some("own new")),
        (OnCollision::Throw, None),
    ] {
        let script = "steps: [{call: {t: {}, new: {}}}, {say: '{{ last.t }} {{ last.new }}'}]";
        let built = agent(scripted(script)).tool(gives("t", "own")).fetch_tools(source(policy));
        let agent = built.turn_input("tools", fetch_and_register_tools()).build().unwrap();
        let report = input(&agent).report().await.unwrap();
        match expected {
            Some(expected) => assert_eq!(report.text(), expected),
            None => {
                let error = report.error.unwrap();
                assert!(error.message.contains("`t` is registered already"), "{error:?}");
            }
        }
        // The next turn begins anew.
        assert_eq!(
            input(&agent).report().await.unwrap().outcome == TurnOutcome::Completed,
            expected.is_some()
        );
    }
}

fn counted(name: &str) -> (Tool, Arc<AtomicU32>) {
    let ran = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&ran);
    let tool = Tool::builder(name).description("C.").input(haft::schema::object().allow_unknown());
    let tool = tool.handler(move |_: Args| {
        count.fetch_add(1, Ordering::SeqCst);
        "secret: 42"
    });
    (tool.build().unwrap(), ran)
}

const REPEATS: &str = "
steps:
  - call: [get: {a: 1, b: 2}, get: {a: 2}]
  - call: {get: '{\"b\": 2.0, \"a\": 1}'}
  - call: {get: {a: 1, b: 2}}
  - say: Done.
";

#[tokio::test]
async fn a_repetition_ends_the_turn_with_the_call_and_its_count() {
    let (get, ran) = counted("get");
    let built = agent(scripted(REPEATS)).tool(get).dispatch_output("guard", repetition_guard(2));
    let report = input(&built.build().unwrap()).report().await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Failed { .. }));
    let expected = "`get` was called 3 times with the same arguments, at most 2 are of use";
    assert_eq!(report.error.unwrap().message.as_str(), expected);
    assert_eq!((report.iterations, ran.load(Ordering::SeqCst)), (3, 4));
}

#[tokio::test]
async fn a_repetition_can_be_explained_to_the_model() {
    let (get, ran) = counted("get");
    let seen = Seen::default();
    let guard = repetition_guard(1).then(OnRepetition::Explain);
    let built = agent(scripted(REPEATS)).tool(get).dispatch_output("guard", guard);
    let report = input(&built.observer(seen.observer()).build().unwrap()).report().await.unwrap();
    assert_eq!((report.outcome, report.iterations), (TurnOutcome::Completed, 4));
    let texts: Vec<_> = report
        .calls
        .iter()
        .map(|call| match &call.results {
            Some(ToolResults::Text(text)) => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts[..2], ["secret: 42", "secret: 42"]);
    assert!(texts[2].starts_with("`get` was called 2 times"), "{texts:?}");
    assert!(texts[3].ends_with("do something else"), "{texts:?}");
    assert_eq!((ran.load(Ordering::SeqCst), seen.names().matches("log").count()), (4, 2));
}

#[tokio::test]
async fn what_is_vetoed_is_never_seen_and_never_run_again() {
    let (get, ran) = counted("get");
    let large = gives("large", "secret: 43\n".repeat(1000));
    let script = "
steps:
  - call: {get: {}, large: {}, fine: {}, bad: {}}
  - expect:
      get: 'what `get` gave was withheld: no numbers'
      fine: ok
      bad: {error: E_TOOL_DOWNSTREAM_ERROR, contains: withheld}
    call: {artifact_read: {callId: 'x'}}
  - expect: {artifact_read: {contains: no artifact with id}}
    say: '{{ last.large }}'
";
    let check = async |call: Arc<haft::ToolCall>| {
        let bad = !matches!(&call.results, Some(ToolResults::Text(text)) if text == "ok");
        let ours = call.tool() != "artifact_read";
        Ok(if bad && ours { Verdict::veto("no numbers") } else { Verdict::Pass })
    };
    let tools = [get, large, gives("fine", "ok"), fails("bad")];
    let built = agent(scripted(script)).tools(tools).dispatch_output("veto", safety_veto(check));
    let report = input(&built.build().unwrap()).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    assert_eq!(report.text(), "what `large` gave was withheld: no numbers");
    assert_eq!(report.calls[0].state(), CallState::Succeeded);
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_check_that_fails_shows_nothing() {
    let broken = async |_: Arc<haft::ToolCall>| Err("the classifier is down".into());
    let script = "steps: [{call: {get: {}}}, {say: '{{ last.get }}'}]";
    let built = agent(scripted(script)).tool(counted("get").0);
    let agent = built.dispatch_output("veto", safety_veto(broken)).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    assert_eq!((report.text(), report.status()), ("", TurnStatus::Failed));
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn log(&self) -> AuditLog {
        let lines = Arc::clone(&self.0);
        audit_log(move |line| {
            lines.lock().unwrap().push(line.to_owned());
            Ok(())
        })
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn iterations(&self) -> Vec<u64> {
        self.values().iter().map(|line| line["iteration"].as_u64().unwrap()).collect()
    }

    fn values(&self) -> Vec<Value> {
        self.all().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[tokio::test]
async fn every_call_is_audited_once_and_in_bounds() {
    let lines = Lines::default();
    let long = "x".repeat(100_000);
    let script = format!(
        "
steps:
  - call: [get: {{a: {long}}}, bad: {{}}, big: {{}}]
  - call: {{get: {{a: 1}}}}
  - say: Done.
    call: {{bad: {{}}}}
    then: done
"
    );
    let big = gives("big", "y".repeat(100_000));
    let built = agent(scripted(&script)).tools([counted("get").0, fails("bad"), big]);
    let log = lines.log();
    let built = built.dispatch_output("audit", log.clone()).dispatch_input("audit", log);
    input(&built.build().unwrap()).id("t").report().await.unwrap();
    let values = lines.values();
    let tools: Vec<_> = values.iter().map(|line| line["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["get", "bad", "big", "get", "bad"]);
    let ids: BTreeSet<_> = values.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 5);
    assert!(lines.all().iter().all(|line| line.len() < 24_000 && !line.contains('\n')));
    assert!(values.iter().all(|line| line["turn"] == "t"));
    assert_eq!(values[1]["result"]["error"], "E_TOOL_DOWNSTREAM_ERROR");
    assert_eq!(values[1]["error"], "`bad` failed: no such user");
    assert_eq!(values[2]["result"]["bytes"], 100_000);
    assert_eq!(values[3]["args"], serde_json::json!({"a": 1}));
}

#[tokio::test]
async fn a_log_that_cannot_be_written_ends_the_turn() {
    let full = audit_log(|_| Err("disk full".into()));
    let script = "steps: [{call: {get: {}}}, {say: x}]";
    let built = agent(scripted(script)).tool(counted("get").0).dispatch_output("audit", full);
    let report = input(&built.build().unwrap()).report().await.unwrap();
    assert!(report.error.unwrap().message.contains("disk full"));
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_cancelled_turn_are_audited_too() {
    let lines = Lines::default();
    let hangs = |name: &str, effect: ToolEffect| {
        let hangs = Tool::builder(name).description("H.").effect(effect);
        hangs.handler(async || std::future::pending::<String>().await).build().unwrap()
    };
    let tools = [hangs("reads", ToolEffect::ReadOnly), hangs("pays", ToolEffect::Once)];
    let script = "steps: [{call: {reads: {}, pays: {}}}, {say: x}]";
    let built = agent(scripted(script)).tools(tools).dispatch_input("audit", lines.log());
    let agent = built.build().unwrap();
    let token = Cancellation::new();
    let cancel = token.clone();
    let (report, ()) = tokio::join!(input(&agent).cancellation(&token).report(), async move {
        pass(Duration::from_secs(5)).await;
        cancel.cancel("stop");
    });
    assert!(matches!(report.unwrap().outcome, TurnOutcome::Cancelled { .. }));
    let states: Vec<_> = lines
        .values()
        .iter()
        .map(|line| line["result"]["state"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(states, ["cancelled", "unknown"]);
}

/// A process dies after the calls of its second step were audited, and another goes on.
async fn audited_twice(first: &Lines, second: impl FnOnce() -> AuditLog) {
    let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
    let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
    let process = |log: AuditLog, third: &str| {
        let script = "
steps:
  - call: {get: {a: 1}}
  - call: {get: {a: 2}}
  - THIRD
  - say: Done.
    call: {get: {a: 3}}
    then: done
";
        let get = Tool::builder("get").description("G.").effect(ToolEffect::ReadOnly);
        let get = get.input(haft::schema::object().allow_unknown()).handler(async |_: Args| "got");
        let built = agent(scripted(&script.replace("THIRD", third))).tool(get.build().unwrap());
        // The script of the second process does not stall.
        let built = built.dispatch_output("audit", log).allow_executor_change();
        built.store(Arc::clone(&store) as _).clock(Arc::clone(&clock) as _).build().unwrap()
    };
    let dies = process(first.log(), "stall: forever");
    let died = tokio::time::timeout(Duration::from_secs(1), input(&dies).id("t").report()).await;
    assert!(died.is_err());
    assert_eq!(first.iterations(), [0, 1]);
    clock.advance(Duration::from_secs(60));
    let again = process(second(), "think: I am back.");
    let report = again.resume("t").report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_turn_is_audited_once() {
    let lines = Lines::default();
    let log = || {
        let known = lines.all();
        lines.log().after(known.iter().map(String::as_str).chain(["not a line"]))
    };
    audited_twice(&lines, log).await;
    assert_eq!(lines.iterations(), [0, 1, 3]);
}

/// Whether the last iteration was written down is not known then; the others were.
#[tokio::test(start_paused = true)]
async fn without_the_log_only_the_last_iteration_is_audited_again() {
    let (first, second) = (Lines::default(), Lines::default());
    audited_twice(&first, || second.log()).await;
    assert_eq!(second.iterations(), [1, 3]);
    assert_eq!(first.values()[1]["id"], second.values()[0]["id"]);
}
