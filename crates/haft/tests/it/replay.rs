//! Turns that are recorded, and given back without their handlers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use haft::artifacts::ArtifactDraft;
use haft::artifacts::ArtifactKind;
use haft::error::Coded as _;
use haft::executors::{Recording, RecordingExecutor, ReplayExecutor};
use haft::media::{Media, MediaFile, MediaKind};
use haft::records::ToolResults;
use haft::turn::{TurnOutcome, TurnReport};
use haft::{Args, Tool, ToolFailure};

use super::script::scripted;
use super::turn::{agent, input};

const SCRIPT: &str = r#"
steps:
  - think: Let me see.
    say: One moment.
    call:
      - get: {id: 12345678901234567890123}
      - get: "{'id': 2,}"
      - get: {id: 2}
      - get: {id: 2}
      - log:
      - chart:
      - blob:
      - fail:
      - nobody: {}
    usage: {prompt: 10, completion: 5}
  - call: {artifact_grep: {callId: "{{ handle.log }}", pattern: "line 1234"}}
  - say: "Found {{ last.artifact_grep }}"
"#;

/// Tools, and how often their handlers ran.
fn tools() -> (Vec<Tool>, Arc<AtomicU32>) {
    let ran = Arc::new(AtomicU32::new(0));
    let counted = |name: &str| {
        let ran = Arc::clone(&ran);
        let tool = Tool::builder(name).description("T.");
        (tool, move || ran.fetch_add(1, Ordering::SeqCst))
    };
    let (get, count) = counted("get");
    let schema = haft::schema::object().field("id", haft::schema::any().required());
    let get = get.input(schema).requires_approval("May I?").handler(move |args: Args| {
        let n = count();
        format!("{n}: {args}")
    });
    let (log, count) = counted("log");
    let log = log.handler(move || {
        count();
        (0..2000).map(|n| format!("line {n}\n")).collect::<String>()
    });
    let (chart, count) = counted("chart");
    let chart = chart.handler(move || {
        count();
        let file = MediaFile::new("chart.png", "image/png", &b"\x89PNG"[..]);
        Media::tool_generated(MediaKind::Image, file)
    });
    let (blob, count) = counted("blob");
    let blob = blob.handler(move || {
        count();
        vec![
            ArtifactDraft::new(ArtifactKind::JSON, "{\"a\": 1}"),
            ArtifactDraft::new(ArtifactKind::TEXT, Bytes::from_static(&[0xff, 0x00, 0xfe])),
        ]
    });
    let (fail, count) = counted("fail");
    let fail = fail.handler(move || {
        count();
        Err::<String, _>(ToolFailure::new("disk full").retryable())
    });
    let (idle, count) = counted("idle");
    let idle = idle.handler(move || count().to_string());
    let all = [get, log, chart, blob, fail, idle];
    (all.into_iter().map(|it| it.build().unwrap()).collect(), ran)
}

/// Runs the script with a recorder, and allows what asks for leave.
async fn recorded() -> (TurnReport, Recording) {
    let recorder = RecordingExecutor::new(scripted(SCRIPT));
    let agent = agent(recorder.clone()).tools(tools().0).build().unwrap();
    let mut turn = std::pin::pin!(input(&agent).report());
    let report = loop {
        tokio::select! {
            biased;
            report = &mut turn => break report.unwrap(),
            () = tokio::task::yield_now() => {}
        }
        for gate in agent.gates().open_gates(None).await.unwrap() {
            agent.gates().resolve(&gate.id, true.into(), "ada").await.unwrap();
        }
    };
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    let recording = recorder.finish(&report).await.unwrap();
    assert!(recorder.finish(&report).await.is_err(), "it forgets the turn");
    (report, recording)
}

/// What a model sees of calls: everything but times and leave.
async fn seen(report: &TurnReport) -> Vec<String> {
    let mut all = Vec::new();
    for call in &report.calls {
        let results = match &call.results {
            Some(ToolResults::Artifacts(parts)) => {
                let mut texts = Vec::new();
                for part in parts {
                    let bytes = part.reader().read_at(0, 1 << 20).await.unwrap();
                    texts.push(format!("{} {:?} {bytes:?}", part.kind(), part.label()));
                }
                texts.join("\n")
            }
            Some(ToolResults::Media(media)) => {
                let bytes = media[0].bytes(100).await.unwrap();
                format!("{} {:?} {bytes:?}", media[0].filename(), media[0].trust_tier())
            }
            results => format!("{results:?}"),
        };
        let error = call.error.as_ref().map(|it| (it.message.clone(), it.retryable));
        all.push(format!(
            "{} {} {} {results} {error:?}",
            call.id(),
            call.tool(),
            call.raw().to_text()
        ));
    }
    all.extend(report.messages.iter().map(|it| it.content().unwrap().to_string()));
    all
}

async fn replayed(replay: &ReplayExecutor, tools: Vec<Tool>) -> TurnReport {
    input(&agent(replay.clone()).tools(tools).build().unwrap()).report().await.unwrap()
}

#[tokio::test]
async fn a_replay_is_the_same_turn_and_no_handler_runs() {
    let (report, recording) = recorded().await;
    assert_eq!((recording.n_steps(), recording.n_calls()), (3, 10));
    let text = recording.to_json();
    let read = Recording::from_json(&text).unwrap();
    assert_eq!(read, recording);
    // Exact digits, and text as sloppy as it came.
    assert!(text.contains(r#""{\"id\":12345678901234567890123}""#), "{text}");
    assert!(text.contains(r#""{'id': 2,}""#), "{text}");

    let (live, ran) = tools();
    let replay = read.replay(live.clone()).unwrap();
    let expected = seen(&report).await;
    let again = replayed(&replay, replay.tools()).await;
    assert_eq!(again.outcome, TurnOutcome::Completed, "{:?}", again.error);
    assert_eq!(seen(&again).await, expected);
    assert_eq!(again.usage, report.usage);
    // Also if the agent was built with the tools themselves.
    let again = replayed(&replay, live).await;
    assert_eq!(seen(&again).await, expected);
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

fn get_with(schema: haft::schema::ObjectSchema) -> Tool {
    let tool = Tool::builder("get").description("T.").input(schema);
    tool.handler(|_: Args| "live").build().unwrap()
}

#[tokio::test]
async fn tools_that_changed_are_named_with_what_changed() {
    let (_, recording) = recorded().await;
    let (mut tools, _) = tools();
    let integer = haft::schema::integer().min(1).required();
    tools[0] = get_with(haft::schema::object().field("id", integer));
    tools.remove(3);
    let error = recording.replay(tools).unwrap_err();
    assert_eq!(error.code(), "E_INVALID_TURN_RUNNER_CONFIG");
    insta::assert_snapshot!(error, @r##"
    these are not the tools of the recording
    - `blob`: it was called, and there is no such tool now
    - `get`: its input schema has changed
      `/properties/id/type`: recorded nothing, now "integer"
      `/properties/id/minimum`: recorded nothing, now 1
    "##);
}

/// Another model on the recorded tools.
async fn other(script: &str) -> TurnReport {
    let (_, recording) = recorded().await;
    let (live, ran) = tools();
    let replay = recording.replay(live).unwrap();
    let agent = agent(scripted(script)).tools(replay.tools()).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    report
}

#[tokio::test]
async fn a_call_is_found_by_what_it_is_and_not_by_when_it_comes() {
    let script = "steps: [{call: {fail: {}}}, {call: {get: {id: 2.0}}}, {say: '{{ last.get }}'}]";
    let report = other(script).await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    assert!(report.text().ends_with(": {\"id\":2}"), "{}", report.text());
    assert_eq!(report.calls[0].error.as_ref().unwrap().message, "`fail` failed: disk full");
}

#[tokio::test]
async fn a_call_that_was_not_recorded_ends_the_turn_with_the_difference() {
    async fn check(script: &str, expected: &str) {
        let report = other(script).await;
        assert!(matches!(report.outcome, TurnOutcome::Failed { .. }));
        assert_eq!(report.error.unwrap().message.as_str(), expected);
    }
    check(
        "steps: [{call: {get: {id: 3}}}, {say: x}]",
        "this call of `get` is not in the recording; what is different from the nearest one:\n`/id`: recorded \
         2, now 3",
    )
    .await;
    check(
        "steps: [{call: {fail: }}, {call: {fail: {}}}, {say: x}]",
        "`fail` was called 1 times with these arguments when it was recorded, and this is time 2",
    )
    .await;
    check("steps: [{call: {idle: }}, {say: x}]", "the recording has no call of `idle`").await;
}

#[tokio::test]
async fn what_queries_answer_is_compared() {
    let (_, recording) = recorded().await;
    let text = recording.to_json().replace("1235:line 1234\"", "1235:line 4321\"");
    let replay = Recording::from_json(&text).unwrap().replay(tools().0).unwrap();
    let report = replayed(&replay, replay.tools()).await;
    insta::assert_snapshot!(report.error.unwrap().message, @r"
    the executor failed: `artifact_grep` gave something else than when it was recorded
    recorded: 1235:line 4321
         now: 1235:line 1234
    ");
}

#[tokio::test]
async fn a_step_that_failed_fails_again() {
    let recorder = RecordingExecutor::new(scripted(
        "steps: [{say: a, then: continue}, {fail: {reason: down, retryable: true}}]",
    ));
    let agent = agent(recorder.clone()).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    let recording = recorder.finish(&report).await.unwrap();
    let replay = Recording::from_json(&recording.to_json()).unwrap().replay([]).unwrap();
    let again = replayed(&replay, vec![]).await;
    assert_eq!(again.error, report.error);
    assert_eq!(again.text(), "a");
}

#[tokio::test]
async fn texts_that_are_no_recordings_say_why() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let error = Recording::from_json(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    check("hello", "this is not a recording: expected value");
    check(r#"{"format":"other","version":1}"#, "this is not a recording: its format is `other`");
    check(
        r#"{"format":"haft-recording","version":3,"new":true}"#,
        "the recording has version 3, and this program reads version 1: record it again",
    );
    let empty = r#"{"format":"haft-recording","version":1,"tools":[],"steps":[],"calls":[]"#;
    check(&format!("{empty},\"x\":1}}"), "this is not a recording: unknown field `x`");
    let (_, recording) = recorded().await;
    let edited = recording.to_json().replace(r#"{\"id\":2}"#, r#"{\"id\":3}"#);
    let error = Recording::from_json(&edited).unwrap_err().to_string();
    assert!(error.starts_with("the recording is damaged: the call `"), "{error}");
}

#[tokio::test]
async fn a_recording_has_a_limit_and_misses_nothing() {
    let recorder =
        RecordingExecutor::new(scripted("steps: [{call: {log: {}}}, {say: x}]")).limit(1000);
    let agent = agent(recorder.clone()).tools(tools().0).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    assert_eq!(recorder.finish(&report).await.unwrap_err().code(), "E_LIMIT_REACHED");
    let other = RecordingExecutor::new(scripted("steps: [{say: x}]"));
    let error = other.finish(&report).await.unwrap_err().to_string();
    assert!(error.starts_with("step 0 of the turn"), "{error}");
}
