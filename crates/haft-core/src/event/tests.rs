use crate::error::codes;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::{
    BoundedText, BoundedValue, DispatchStatus, ErrorReport, Event, EventKind, EventName,
    GateResult, GenerationStats, LogLevel, Observer, ResultKind, ToolCallReport,
};
use crate::call::{CallId, CallState, ToolCall, ToolResults};
use crate::clock::Timestamp;
use crate::schema::args::{Args, RawArgs};
use crate::schema::{Problem, Problems, array, integer, object};
use crate::store::TurnStatus;
use crate::stream::{StreamPart, StreamTracker};
use crate::tool::context::DispatchContext;
use crate::tool::{Tool, ToolName};
use crate::usage::Usage;

/// One of each, in the order of the names.
fn kinds() -> Vec<EventKind> {
    let now = Timestamp::EPOCH;
    let mut streams = StreamTracker::default();
    let tool_name: ToolName = "search".parse().unwrap();
    let call_id = CallId::of_text("search", "x");
    let usage = Some(Usage::new(3, 4));
    let duration = Duration::from_micros(1500);
    let error = Some(ErrorReport::coded(codes::STORE, "disk full").at("store"));
    let raw = RawArgs::text(r#"{"q": "x"}"#);
    let call = ToolCall::requested("search", raw, NonZeroU32::MIN, now);
    let stats = GenerationStats::new(Usage::new(10, 5).with_reasoning(2).with_cached(8));
    let mut stats = stats.model("small").raw(json!({ "id": 1 }));
    stats.eval_duration = Some(Duration::from_nanos(123_456_789));
    vec![
        streams.report_message("m", "hi", StreamPart::Last, now).unwrap().into(),
        streams.report_thought("t", "hm", StreamPart::More, now).unwrap().into(),
        EventKind::ToolCall(ToolCallReport::of(&call, None)),
        EventKind::TurnStart {},
        EventKind::TurnEnd {
            status: TurnStatus::LimitReached,
            error: error.clone(),
            resumable: true,
            iterations: 2,
            usage,
            started_at: now,
            duration,
        },
        EventKind::DispatchStart {},
        EventKind::DispatchEnd {
            status: DispatchStatus::Nack,
            error,
            iterations: 1,
            usage: None,
            started_at: now,
            duration,
        },
        EventKind::IterationStart {},
        EventKind::IterationEnd { usage, started_at: now, duration },
        EventKind::ToolExecutionStart {
            tool_name: tool_name.clone(),
            call_id,
            args: (&Args::parse(r#"{"n": 12345678901234567890}"#).unwrap()).into(),
            changes: Vec::new(),
            changes_left_out: 0,
            started_at: now,
        },
        EventKind::ToolExecutionEnd {
            tool_name: tool_name.clone(),
            call_id,
            started_at: now,
            duration,
            is_error: true,
            error: Some(codes::TOOL_DOWNSTREAM_ERROR),
            cause: Some("the socket is closed: connection reset".into()),
        },
        EventKind::ToolExecutionRejected {
            tool_name,
            call_id,
            problems: Problem::new("/q", "a string").into(),
        },
        EventKind::TurnGateOpen {
            gate_id: "g".into(),
            reason: "may it?".into(),
            payload: json!(null).into(),
            schema: Some(json!({ "type": "boolean" }).into()),
            timeout: Some(Duration::from_secs(60)),
        },
        EventKind::TurnGateClosed { gate_id: "g".into(), result: GateResult::Timeout, grant: None },
        EventKind::GenerationStats(stats),
        EventKind::Log {
            level: LogLevel::Trace,
            topic: "step".into(),
            message: "one".into(),
            payload: None,
        },
        EventKind::Warning {
            source: "turn-runner".into(),
            topic: "token-estimation-degraded".into(),
            message: "guessed".into(),
            payload: Some(json!({ "encoding": "x" }).into()),
        },
        EventKind::Error(ErrorReport::reason("no answer")),
    ]
}

#[test]
fn every_event_has_its_name_and_survives_the_wire() {
    let kinds = kinds();
    let names: Vec<_> = kinds.iter().map(EventKind::name).collect();
    assert_eq!(names, EventName::ALL);
    for (sequence, kind) in (0..).zip(kinds) {
        let name = kind.name();
        let event = Event::new("t", sequence, Timestamp::EPOCH, kind).within("d", 7);
        let text = serde_json::to_value(&event).unwrap();
        assert_eq!(text["event"], name.as_str(), "{text}");
        assert_eq!(serde_json::to_value(name).unwrap(), name.as_str());
        for (key, expect) in [
            ("turn", json!("t")),
            ("dispatch", json!("d")),
            ("iteration", json!(7)),
            ("sequence", json!(sequence)),
            ("at", json!("1970-01-01T00:00:00.000000Z")),
        ] {
            assert_eq!(text[key], expect, "{text}");
        }
        let back: Event = serde_json::from_str(&text.to_string()).unwrap();
        assert_eq!(back, event);
    }
}

#[test]
fn names_on_the_wire_are_those_of_the_contract() {
    #[track_caller]
    fn check(name: EventName, expect: &Value) {
        let kind = kinds().into_iter().find(|it| it.name() == name).unwrap();
        assert_eq!(serde_json::to_value(kind).unwrap(), *expect);
    }
    let epoch = Timestamp::EPOCH;
    check(
        EventName::TurnEnd,
        &json!({
            "event": "turnEnd", "status": "limit-reached", "resumable": true, "iterations": 2,
            "error": { "code": "E_STORE", "message": "disk full", "stage": "store", "retryable": true },
            "usage": { "promptTokens": 3, "completionTokens": 4, "totalTokens": 7 },
            "startedAt": epoch, "durationMs": 1.5,
        }),
    );
    check(
        EventName::GenerationStats,
        &json!({
            "event": "generationStats", "promptTokens": 10, "completionTokens": 5, "totalTokens": 15,
            "reasoningTokens": 2, "cachedTokens": 8, "evalDurationNs": 123_456_789,
            "model": "small", "raw": { "id": 1 },
        }),
    );
    check(
        EventName::TurnGateOpen,
        &json!({
            "event": "turnGateOpen", "gateId": "g", "reason": "may it?", "payload": null,
            "schema": { "type": "boolean" }, "timeoutMs": 60_000,
        }),
    );
    check(EventName::Error, &json!({ "event": "error", "message": "no answer" }));
    check(EventName::TurnStart, &json!({ "event": "turnStart" }));
}

#[test]
fn texts_are_cut_at_a_character_and_say_so() {
    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(BoundedText::from(text), expect);
        assert_eq!(BoundedText::from(text.to_owned()), expect);
    }
    check("", "");
    let most = "x".repeat(4096);
    check(&most, &most);
    check(&format!("{most}y"), &format!("{most}… (4097 bytes in all)"));
    let umlauts = format!("x{}", "ü".repeat(2048));
    let kept = umlauts.strip_suffix('ü').unwrap();
    check(&umlauts, &format!("{kept}… (4097 bytes in all)"));
    assert_eq!(BoundedText::display(&most), most.as_str());
    assert_eq!(BoundedText::display(&umlauts), format!("{kept}… (cut)").as_str());
}

#[test]
fn data_is_whole_or_a_string_with_its_beginning() {
    let fits = json!(["x".repeat(16 * 1024 - 4)]);
    assert_eq!(*BoundedValue::from(fits.clone()).value(), fits);
    let large = BoundedValue::from(json!({ "k": "x".repeat(16 * 1024) }));
    let text = large.value().as_str().unwrap();
    assert!(text.starts_with(r#"{"k":"xxx"#) && text.ends_with("… (cut)"), "{text}");
    assert!(text.len() < 5000);
}

#[test]
fn arguments_are_whole_or_a_string_with_their_beginning() {
    let small = Args::parse(r#"{"q": "x"}"#).unwrap();
    assert_eq!(*BoundedValue::from(&small).value(), json!({ "q": "x" }));
    let large = Args::parse(&json!({ "q": "x".repeat(20_000) }).to_string()).unwrap();
    let shown = BoundedValue::from(&large);
    let text = shown.value().as_str().unwrap();
    assert!(text.starts_with(r#"{"q":"xxx"#) && text.ends_with("… (cut)"), "{text}");
    assert!(text.len() < 5000);
}

#[test]
fn the_report_of_a_call_says_everything_but_the_content() {
    let at = |micros| Timestamp::from_micros(micros).unwrap();
    let raw = RawArgs::text(r#"{"city": "Paris"}"#);
    let mut call = ToolCall::requested("weather", raw, NonZeroU32::MIN, at(1));
    let announced = ToolCallReport::of(&call, None);
    assert_eq!((announced.is_complete, &announced.results), (false, &None));
    assert_eq!(announced.checksum, Some(call.call_id()));

    for state in [CallState::Approved, CallState::Running, CallState::Succeeded] {
        call.advance(state, at(2)).unwrap();
    }
    call.results = Some(ToolResults::Text("the secret is 21".into()));
    let done = ToolCallReport::of(&call, None);
    let summary = done.results.as_ref().unwrap();
    assert_eq!((summary.kind, summary.bytes, summary.count), (ResultKind::Text, Some(16), 1));
    assert_eq!((done.is_complete, done.is_error), (true, false));
    assert!(!serde_json::to_string(&done).unwrap().contains("secret"));
}

#[test]
fn problems_and_changes_are_bounded() {
    let mut problems: Problems = Problem::new("/".repeat(10_000), "y".repeat(10_000)).into();
    problems.list[0].found = "z".repeat(10_000);
    problems.list[0].example = Some(json!("x".repeat(100_000)));
    problems.left_out = 3;
    let listed = super::listed_problems(&problems);
    assert!(serde_json::to_string(&listed).unwrap().len() < 20_000);
    assert_eq!((listed.left_out, listed.list[0].rule), (3, problems.list[0].rule));
}

#[tokio::test(flavor = "current_thread")]
async fn a_thousand_mended_numbers_do_not_make_a_thousand_entries() {
    let seen: Arc<Mutex<Vec<Event>>> = Arc::default();
    let events = Arc::clone(&seen);
    let ctx = DispatchContext::builder("t")
        .observer(move |event: &Event| events.lock().unwrap().push(event.clone()))
        .build();
    let tool = Tool::builder("sum")
        .description("Adds.")
        .input(object().field("numbers", array(integer())))
        .handler(|args: Args| args.to_string())
        .build()
        .unwrap();
    let numbers = vec!["7"; 1000];
    tool.executor(&ctx).call(&json!({ "numbers": numbers })).await;
    let seen = seen.lock().unwrap();
    let EventKind::ToolExecutionStart { changes, changes_left_out, .. } = &seen[0].kind else {
        panic!("{seen:?}")
    };
    assert_eq!((changes.len(), *changes_left_out), (64, 936));
}

#[test]
fn an_event_that_only_idle_observers_could_see_is_not_made() {
    struct Idle;
    impl Observer for Idle {
        fn observe(&self, event: &Event) {
            panic!("{event:?}")
        }
        fn is_idle(&self) -> bool {
            true
        }
    }
    let ctx = DispatchContext::builder("t").observer(Idle).observer(Idle).build();
    ctx.emit_with(|| -> EventKind { panic!("made for nobody") });
}
