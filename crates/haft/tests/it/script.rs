//! Scripts as somebody writes them.

mod mistakes;
mod transcripts;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haft::events::EventKind;
use haft::executors::{Script, ScriptExecutor};
use haft::stores::MemoryStore;
use haft::tools::ToolEffect;
use haft::turn::Cancellation;
use haft::turn::{Agent, TurnOutcome, TurnReport};
use haft::turn::{ManualClock, Timestamp};
use haft::{Args, Tool};
use serde_json::json;

use super::turn::{Seen, agent, input, pass};

/// A tool that gives a text.
pub(crate) fn gives(name: &str, text: impl Into<String>) -> Tool {
    let text = text.into();
    let tool = Tool::builder(name).description("Gives.");
    let tool = tool.input(haft::schema::object().allow_unknown());
    tool.handler(move |_: Args| text.clone()).build().unwrap()
}

pub(crate) fn fails(name: &str) -> Tool {
    let handler = || Err::<String, _>(haft::ToolFailure::new("no such user"));
    Tool::builder(name).description("Fails.").handler(handler).build().unwrap()
}

pub(crate) fn scripted(script: &str) -> ScriptExecutor {
    ScriptExecutor::parse(script).unwrap_or_else(|error| panic!("{error}"))
}

async fn run(script: &str, tools: impl IntoIterator<Item = Tool>) -> TurnReport {
    input(&agent(scripted(script)).tools(tools).build().unwrap()).report().await.unwrap()
}

fn failure(report: &TurnReport) -> &str {
    assert!(matches!(report.outcome, TurnOutcome::Failed { .. }));
    report.error.as_ref().unwrap().message.as_str()
}

#[tokio::test]
async fn a_script_thinks_says_and_calls() {
    let script = "
name: weather
steps:
  - think: I should look it up.
    say: Let me look.
    call:
      get_weather: {city: Paris}
    usage: {prompt: 100, completion: 20}
  - expect:
      get_weather: {contains: '21'}
    say:
      - It is {{ last.get_weather }}.
      - 'You said: {{user}}, in \\{{ braces }}'
";
    assert_eq!(Script::parse(script).unwrap().name(), Some("weather"));
    let report = run(script, [gives("get_weather", "21 degrees, not {{ user }}")]).await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    let said: Vec<_> = report.messages.iter().map(|it| it.content().unwrap().as_str()).collect();
    // What was put in is not read again.
    let it_is = "It is 21 degrees, not {{ user }}.";
    assert_eq!(said, ["Let me look.", it_is, "You said: hello, in {{ braces }}"]);
    assert_eq!((report.usage.total, report.iterations), (120, 2));
    assert_eq!(report.calls[0].raw().to_text(), r#"{"city":"Paris"}"#);
}

/// JSON is read like YAML, and a value like text.
#[tokio::test]
async fn a_script_has_one_meaning_in_every_form() {
    let yaml = "steps: [{call: {t: {n: 9007199254740993, f: 1.50}}}, {say: ok}]";
    let json = r#"{"steps": [{"call": {"t": {"n": 9007199254740993, "f": 1.50}}}, {"say": "ok"}]}"#;
    let value =
        json!({"steps": [{"call": {"t": {"n": 9007199254740993_u64, "f": 1.5}}}, {"say": "ok"}]});
    let mut ids = Vec::new();
    for script in [Script::parse(yaml), Script::parse(json), Script::from_value(&value)] {
        let built =
            agent(ScriptExecutor::new(script.unwrap())).tool(gives("t", "x")).build().unwrap();
        let report = input(&built).report().await.unwrap();
        assert_eq!(report.text(), "ok");
        ids.push(report.calls[0].id());
    }
    assert!(ids.windows(2).all(|two| two[0] == two[1]), "{ids:?}");
}

#[tokio::test]
async fn calls_can_be_many_repeated_and_sloppy() {
    let report = run(
        r#"
steps:
  - call:
      - a:
      - a: {}
      - b: "{'city': 'Paris',}"
      - nobody: {}
  - expect:
      - a: x
      - a: x
      - b: {matches: '^y+$'}
      - nobody: {error: E_UNKNOWN_TOOL, contains: [no tool, nobody]}
    say: done
"#,
        [gives("a", "x"), gives("b", "yyy")],
    )
    .await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    let calls: Vec<_> = report.calls.iter().map(|call| call.raw().to_text().into_owned()).collect();
    assert_eq!(calls, ["{}", "{}", "{'city': 'Paris',}", "{}"]);
    assert_eq!(report.calls[1].id().occurrence().get(), 2);
}

/// A placeholder ends as shells end the output of a command, and what it leaves out is said.
#[tokio::test]
async fn placeholders_lose_the_last_line_end_and_nothing_else_in_silence() {
    let script = "steps:\n  - call: {get: {}}\n  - say: 'It is {{ last.get }}.'\n";
    for (given, said) in [("late\n", "late"), ("late\r\n", "late"), ("a\n\n", "a\n"), ("x ", "x ")]
    {
        let report = run(script, [gives("get", given)]).await;
        assert_eq!(report.text(), format!("It is {said}."));
    }
    let seen = Seen::default();
    let log = "line\n".repeat(20_000);
    let agent = agent(scripted(script)).tool(gives("get", log)).observer(seen.observer());
    let report = input(&agent.build().unwrap()).report().await.unwrap();
    assert_eq!(report.text().len(), "It is .".len() + 64 * 1024);
    let warnings = seen.events().into_iter().filter_map(|event| match event.kind {
        EventKind::Warning { message, .. } => Some(message.as_str().to_owned()),
        _ => None,
    });
    assert_eq!(
        warnings.collect::<Vec<_>>(),
        [
            "`{{ last.get }}` has only the first 65536 bytes of the result; 34464 bytes are left out; query its \
          artifact with `{{ handle.get }}` instead"
        ]
    );
}

#[tokio::test]
async fn artifacts_are_queried_by_their_handle() {
    let log: String = (0..2000).map(|n| format!("line {n}\n")).collect();
    let script = r#"
steps:
  - call: {get_log: {}}
  - expect: {get_log: {contains: line 1999}}
    call: {artifact_grep: {callId: "{{ handle.get_log }}", pattern: "line 19{{ last.two }}9"}}
  - say: "Found {{ last.artifact_grep }}"
"#;
    // `last.two` needs a call of it first.
    assert!(ScriptExecutor::parse(script).is_err());
    let script = script.replace("call: {get_log: {}}", "call: {get_log: {}, two: {}}");
    let report = run(&script, [gives("get_log", log), gives("two", "9")]).await;
    assert_eq!(report.text(), "Found 2000:line 1999", "{:?}", report.error);
    let small = script.replace("expect: {get_log: {contains: line 1999}}", "think: small");
    let report = run(&small, [gives("get_log", "small"), gives("two", "9")]).await;
    let expected = "the executor failed: step 2 of the script: `{{ handle.get_log }}`: what `get_log` gave \
                    is no artifact; small results are shown in full";
    assert_eq!(failure(&report), expected);
}

#[tokio::test]
async fn what_is_not_as_expected_ends_the_turn_with_the_difference() {
    async fn check(expect: &str, expected: &str) {
        let script =
            format!("steps: [{{call: {{get: {{}}, bad: {{}}}}}}, {{expect: {expect}, say: ok}}]");
        let json = "{\"id\": 7, \"tags\": [\"a\", \"b\"]}";
        let report = run(&script, [gives("get", json), fails("bad")]).await;
        let Some(error) = &report.error else {
            assert_eq!((report.text(), expected), ("ok", ""));
            return;
        };
        let message = error.message.strip_prefix("the executor failed: step 2 of the script: ");
        assert_eq!(message, Some(expected));
    }
    check("{get: {equals: {tags: [a, b], id: 7}}}", "").await;
    check("{get: {matches: 'id.: \\d'}, bad: {error: true}}", "").await;
    check("{bad: {error: E_TOOL_DOWNSTREAM_ERROR, contains: no such user}}", "").await;
    check(
        "{get: {contains: '9'}}",
        "`get` gave something else than expected\nexpected: text that contains \"9\"\n     \
         got: \"{\\\"id\\\": 7, \\\"tags\\\": [\\\"a\\\", \\\"b\\\"]}\"",
    )
    .await;
    check(
        "{get: {equals: {id: 8, tags: [a]}}}",
        "`get` gave something else than expected\n`/id`: expected 8, got 7\n`/tags/1`: expected nothing, \
         got \"b\"",
    )
    .await;
    check("{get: {error: true}}", "expected `get` to fail, and it did not").await;
    check(
        "{bad: x}",
        "expected a result of `bad`, and the call failed with E_TOOL_DOWNSTREAM_ERROR: `bad` failed: no such \
         user",
    )
    .await;
    check(
        "{bad: {error: E_INVALID_TOOL_ARGS}}",
        "expected `bad` to fail with E_INVALID_TOOL_ARGS; got: E_TOOL_DOWNSTREAM_ERROR",
    )
    .await;
    check(
        "[get: {error: false}, get: {error: false}]",
        "expected 2 results of `get`, and it was called 1 times",
    )
    .await;
}

#[tokio::test]
async fn a_difference_of_many_lines_names_the_first() {
    let script = "steps: [{call: {get: {}}}, {expect: {get: \"a\\nb\\nc\"}, say: ok}]";
    let report = run(script, [gives("get", "a\nB\nc")]).await;
    assert!(failure(&report).ends_with("they differ at line 2: expected \"b\", got \"B\""));
}

#[tokio::test]
async fn a_script_can_fail_in_both_ways_and_end() {
    let report = run("steps: [{fail: the provider is down}]", []).await;
    assert_eq!(failure(&report), "the executor failed: the provider is down");
    assert!(report.messages.is_empty());
    let report = run("steps: [{say: I will not., nack: refused}]", []).await;
    assert_eq!((failure(&report), report.text()), ("refused", "I will not."));
    let report = run("steps: [{call: {t: {}}, then: done}]", [gives("t", "x")]).await;
    assert_eq!((report.outcome, report.calls.len()), (TurnOutcome::Completed, 1));
    let report = run("steps: [{say: hm, then: continue}]", []).await;
    let over =
        "the executor failed: the script is over: it has 1 steps, and a step 2 was asked for";
    assert_eq!(failure(&report), over);
}

#[tokio::test(start_paused = true)]
async fn stalling_takes_time_and_gives_way_to_cancelling() {
    let began = tokio::time::Instant::now();
    run("steps: [{stall: 5s}, {stall: 1m, say: ok}]", []).await;
    assert_eq!(began.elapsed(), Duration::from_secs(65));
    let built = agent(scripted("steps: [{stall: forever}]")).build().unwrap();
    let token = Cancellation::new();
    let cancel = token.clone();
    let (report, ()) = tokio::join!(input(&built).cancellation(&token).report(), async move {
        pass(Duration::from_secs(5)).await;
        cancel.cancel("enough");
    });
    assert_eq!(report.unwrap().outcome, TurnOutcome::Cancelled { reason: "enough".to_owned() });
}

/// The step is picked by its iteration, also by another process.
#[tokio::test(start_paused = true)]
async fn a_resumed_turn_goes_on_with_the_right_step() {
    let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
    let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
    let hangs = Arc::new(AtomicBool::new(true));
    let process = || -> Agent {
        let hangs = Arc::clone(&hangs);
        let work = Tool::builder("work").description("W.").effect(ToolEffect::ReadOnly);
        let work = work.handler(move || {
            let hangs = Arc::clone(&hangs);
            async move {
                if hangs.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                "worked"
            }
        });
        let script =
            "steps: [{say: one, call: {t: {}}}, {say: two, call: {work: {}}}, {say: three}]";
        let built = agent(scripted(script)).tools([gives("t", "x"), work.build().unwrap()]);
        built.store(Arc::clone(&store) as _).clock(Arc::clone(&clock) as _).build().unwrap()
    };
    let dies = process();
    let died = tokio::time::timeout(Duration::from_secs(1), input(&dies).id("t").report()).await;
    assert!(died.is_err());
    hangs.store(false, Ordering::SeqCst);
    clock.advance(Duration::from_secs(60));
    let report = process().resume("t").report().await.unwrap();
    let said: Vec<_> = report.messages.iter().map(|it| it.content().unwrap().as_str()).collect();
    assert_eq!((report.outcome, said), (TurnOutcome::Completed, vec!["one", "two", "three"]));
}

#[tokio::test]
async fn what_is_said_comes_in_pieces_that_add_up() {
    async fn check(step: &str, expected: &[&str]) {
        let seen = Seen::default();
        let built = agent(scripted(&format!("steps: [{step}]"))).observer(seen.observer());
        input(&built.build().unwrap()).report().await.unwrap();
        let pieces: Vec<_> = seen
            .events()
            .into_iter()
            .filter_map(|event| match event.kind {
                EventKind::Message(it) | EventKind::Thought(it) => {
                    Some(format!("{}@{} {:?} {:?}", it.delta, it.offset, it.state, it.full))
                }
                _ => None,
            })
            .collect();
        assert_eq!(pieces, expected);
    }
    check(
        "{think: Hm, say: Grüße!, stream: 3}",
        &[
            "H@0 Open None",
            "m@1 Sealed Some(\"Hm\")",
            "Gr@0 Open None",
            "üß@2 Open None",
            "e!@6 Sealed Some(\"Grüße!\")",
        ],
    )
    .await;
    check("{say: [a, b]}", &["a@0 Sealed Some(\"a\")", "b@0 Sealed Some(\"b\")"]).await;
    check("{say: I see, fail: down}", &["I see@0 Open None", "@5 Aborted Some(\"I see\")"]).await;
}
