//! The executor: order of steps, events, failures as data.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{echo, search};
use crate::call::{CallState, ToolCall};
use crate::cancel::Cancellation;
use crate::clock::Timestamp;
use crate::error::Coded as _;
use crate::event::Event;
use crate::json::ValueRef;
use crate::schema::args::{Args, RawArgs};
use crate::schema::{Problem, object, string};
use crate::tool::context::{CallContext, DispatchContext};
use crate::tool::{Tool, ToolError, ToolFailure, ToolOutput};
use crate::trust::TrustTier;

/// A context that writes down the events it sees.
fn watched() -> (DispatchContext, Arc<Mutex<Vec<Value>>>) {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let observer = move |event: &Event| {
        sink.lock().unwrap().push(serde_json::to_value(event).unwrap());
    };
    (DispatchContext::builder("turn").observer(observer).build(), seen)
}

fn text(outcome: &Result<ToolOutput, ToolError>) -> &str {
    match outcome {
        Ok(ToolOutput::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_is_keyed_by_its_raw_arguments_and_runs_with_the_accepted_ones() {
    let (ctx, seen) = watched();
    let done = echo().executor(&ctx).call(r#"{"limit": "3", "query": "x"}"#).await;
    assert_eq!(text(&done.outcome), r#"{"limit":3,"query":"x"}"#);
    let raw = RawArgs::value(&json!({ "query": "x", "limit": "3" }));
    assert_eq!(done.call_id, raw.call_id("search"));
    let events = seen.lock().unwrap();
    let names: Vec<_> = events.iter().map(|it| it["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["toolExecutionStart", "toolExecutionEnd"]);
    let id = json!(done.call_id.to_string());
    assert_eq!((&events[0]["callId"], &events[1]["callId"]), (&id, &id));
    assert_eq!(events[0]["args"], json!({ "query": "x", "limit": 3 }));
    assert_eq!(events[0]["changes"], json!([{ "pointer": "/limit", "change": "number" }]));
    assert_eq!(events[0]["toolName"], "search");
    assert_eq!(events[1]["isError"], false);
    assert_eq!(events[1]["startedAt"], events[0]["startedAt"]);
}

#[tokio::test]
async fn refused_arguments_never_reach_the_handler_and_are_observed() {
    let calls = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&calls);
    let tool = search()
        .handler(move |_: Args| {
            counter.fetch_add(1, Ordering::Relaxed);
            "ran"
        })
        .build()
        .unwrap();
    let (ctx, seen) = watched();
    let done = tool.executor(&ctx).call(r#"{"limit": 99, "qery": 1}"#).await;
    let error = done.outcome.as_ref().unwrap_err();
    assert_eq!(
        (error.code().as_str(), error.status(), error.retryable()),
        ("E_INVALID_TOOL_ARGS", 422, false)
    );
    assert_eq!(
        error.to_string(),
        "the arguments of `search` were refused:\n\
         - `/limit`: expected an integer from 1 to 50, got 99; for example 10\n\
         - `/qery`: this field does not exist; did you mean `query`?\n\
         - `/query`: missing; expected a string; for example \"text\"\n\
         correct them and call `search` again"
    );
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    let events = seen.lock().unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["event"], "toolExecutionRejected");
    assert_eq!(events[0]["callId"], json!(done.call_id.to_string()));
    assert_eq!(events[0]["problems"]["list"].as_array().unwrap().len(), 3);

    let record = done.to_requested(std::num::NonZeroU32::MIN).complete(&done);
    assert_eq!(record.state(), CallState::Failed);
    assert_eq!(record.label(), TrustTier::UNTRUSTED);
    assert_eq!(record.error.unwrap().message, error.to_string());
}

#[tokio::test]
async fn trust_is_fixed_when_a_call_runs_and_never_given_to_errors() {
    let vouched = |fails: bool| {
        let answer =
            move |_: Args| if fails { Err(ToolFailure::new("quoted text")) } else { Ok("own") };
        search().trusted().handler(answer).build().unwrap()
    };
    let ctx = DispatchContext::builder("t").build();
    let label = async |tool: Tool| {
        let done = tool.executor(&ctx).call(json!({ "query": "x" })).await;
        done.to_requested(std::num::NonZeroU32::MIN).complete(&done).label()
    };
    assert!(label(vouched(false)).await.is_trusted());
    assert!(!label(vouched(true)).await.is_trusted());
    assert!(!label(echo()).await.is_trusted());
    // What a tool says of its own text does not lift it above the tool.
    let boasts = search().handler(|_: Args| ToolOutput::Answer {
        text: "mine".to_owned(),
        label: TrustTier::FirstParty,
    });
    assert!(!label(boasts.build().unwrap()).await.is_trusted());
}

#[tokio::test]
async fn a_failing_handler_is_data_with_its_cause_kept() {
    let tool = search()
        .handler(async |_: Args| -> Result<String, ToolFailure> {
            let error = std::io::Error::other("socket closed");
            Err(ToolFailure::new("the index is down, try later").with_source(error).retryable())
        })
        .build()
        .unwrap();
    let (ctx, seen) = watched();
    let done = tool.executor(&ctx).call(json!({ "query": "x" })).await;
    let error = done.outcome.unwrap_err();
    assert_eq!(error.to_string(), "`search` failed: the index is down, try later");
    assert_eq!(error.code(), "E_TOOL_DOWNSTREAM_ERROR");
    assert!(error.retryable());
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "socket closed");
    let end = seen.lock().unwrap()[1].clone();
    assert_eq!(end["isError"], true);
    assert_eq!(end["cause"], "the index is down, try later: socket closed");
}

#[tokio::test]
async fn a_panic_is_a_failure_and_the_executor_goes_on() {
    let tool = search()
        .handler(async |args: Args| {
            assert!(args.root().get("query").unwrap().as_str() != Some("boom"), "went boom");
            "fine"
        })
        .build()
        .unwrap();
    let sync = search().handler(|_: Args| -> String { panic!("at once") }).build().unwrap();
    let (ctx, seen) = watched();
    let run = tool.executor(&ctx);
    let ToolError::Panicked { panic, .. } =
        run.call(json!({ "query": "boom" })).await.outcome.unwrap_err()
    else {
        panic!("not a panic")
    };
    assert_eq!(panic.message, "went boom");
    assert_eq!(text(&run.call(json!({ "query": "ok" })).await.outcome), "fine");
    let error = sync.executor(&ctx).call(json!({ "query": "x" })).await.outcome.unwrap_err();
    assert_eq!(error.code(), "E_TOOL_DOWNSTREAM_ERROR");
    assert!(!error.to_string().contains("at once"), "the panic's text is for the operator");
    let ends: Vec<_> = seen
        .lock()
        .unwrap()
        .iter()
        .filter(|it| it["event"] == "toolExecutionEnd")
        .map(|it| it["isError"].clone())
        .collect();
    assert_eq!(ends, [json!(true), json!(false), json!(true)]);
}

#[tokio::test]
async fn missing_arguments_are_an_empty_object() {
    let tool = Tool::builder("now")
        .description("The time.")
        .input(object())
        .handler(|args: Args| args.to_string())
        .build()
        .unwrap();
    let ctx = DispatchContext::builder("t").build();
    let run = tool.executor(&ctx);
    for raw in [RawArgs::none(), RawArgs::text(""), RawArgs::text(" \n"), RawArgs::text("{}")] {
        let done = run.call(raw).await;
        assert_eq!(text(&done.outcome), "{}");
        assert_eq!(done.call_id, RawArgs::none().call_id("now"));
        assert!(done.changes.is_empty());
    }
    let null = run.call("null").await;
    assert_eq!(text(&null.outcome), "{}");
    assert_eq!(
        serde_json::to_value(&null.changes).unwrap(),
        json!([{ "pointer": "", "change": "absent" }])
    );
    assert_ne!(null.call_id, RawArgs::none().call_id("now"), "the raw argument was null");
}

#[tokio::test]
async fn a_validator_beyond_the_schema_refuses_before_the_handler() {
    let tool = search()
        .handler(|_: Args| -> String { panic!("must not run") })
        .validator(async |args: Args| match args.root().get("query").and_then(ValueRef::as_str) {
            Some("taken") => Err(Problem::new("/query", "a free name").found("taken").into()),
            _ => Ok(()),
        })
        .build()
        .unwrap();
    let (ctx, seen) = watched();
    let done = tool.executor(&ctx).call(json!({ "query": "taken" })).await;
    let error = done.outcome.unwrap_err();
    assert_eq!(error.code(), "E_INVALID_TOOL_ARGS");
    assert!(error.to_string().contains("- `/query`: expected a free name, got taken"));
    assert_eq!(seen.lock().unwrap()[0]["event"], "toolExecutionRejected");
    assert!(tool.validate(json!({ "query": "free" })).await.is_ok());
    assert!(tool.validate(json!({ "query": "taken" })).await.is_err());
}

#[tokio::test]
async fn a_validator_that_panics_refuses_and_breaks_nothing() {
    let tool = search()
        .handler(|_: Args| -> String { panic!("must not run") })
        .validator(async |_: Args| panic!("no connection"))
        .build()
        .unwrap();
    let (ctx, seen) = watched();
    let done = tool.executor(&ctx).call(json!({ "query": "x" })).await;
    let error = done.outcome.unwrap_err();
    assert_eq!(error.code(), "E_INVALID_TOOL_ARGS");
    assert!(!error.to_string().contains("no connection"), "{error}");
    let events = seen.lock().unwrap();
    assert_eq!(
        (&events[0]["message"], &events[0]["level"]),
        (&json!("no connection"), &json!("error"))
    );
    assert_eq!(events[1]["event"], "toolExecutionRejected");
}

#[tokio::test]
async fn a_cancelled_dispatch_runs_nothing_and_still_ends_the_call() {
    let token = Cancellation::new();
    let ctx = DispatchContext::builder("t").cancellation(token.clone()).build();
    let tool = search().handler(|_: Args| -> String { panic!("must not run") }).build().unwrap();
    token.cancel("the user pressed stop");
    let done = tool.executor(&ctx).call(json!({ "query": "x" })).await;
    let record = done.to_requested(std::num::NonZeroU32::MIN).complete(&done);
    assert_eq!(record.state(), CallState::Cancelled);
    let error = done.outcome.unwrap_err();
    assert_eq!(error.code(), "E_TOOL_CANCELLED");
    assert_eq!(error.to_string(), "the call of `search` was cancelled: the user pressed stop");
}

#[tokio::test]
async fn a_handler_sees_its_call_and_its_tool() {
    let tool = search()
        .meta("scope", "read")
        .handler(async |_: Args, ctx: CallContext| {
            let key = ctx.idempotency_key().to_string();
            let scope = ctx.meta().get("scope").unwrap();
            format!("{key} {scope} {}", ctx.turn_id())
        })
        .build()
        .unwrap();
    let ctx = DispatchContext::builder("t9").iteration(2).build();
    let run = tool.executor(&ctx);
    let first = run.call(json!({ "query": "x" })).await;
    let second = run.call(json!({ "query": "x" })).await;
    assert_eq!(first.call_id, second.call_id);
    assert_eq!(text(&first.outcome), format!("t9:2:0:{} \"read\" t9", first.call_id));
    assert_eq!(text(&second.outcome), format!("t9:2:1:{} \"read\" t9", first.call_id));
    assert_eq!((first.ordinal, second.ordinal), (0, 1));
}

#[tokio::test]
async fn hostile_arguments_get_a_clear_error() {
    let ctx = DispatchContext::builder("t").build();
    let tool = search()
        .input_of_any()
        .handler(|args: Args| args.root().len().to_string())
        .build()
        .unwrap();
    let run = tool.executor(&ctx);
    let deep = format!("{{\"query\": {}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let long = format!("{{\"query\": \"{}\"}}", "x".repeat(1 << 20));
    let cases = [
        ("{\"query\": ", "the text ends"),
        ("{\"query\": \"a\", \"query\": \"b\"}", "given twice"),
        ("{\"any\": {\"a\": 1, \"a\": 2}, \"query\": \"\"}", "`/any/a`: this key is given twice"),
        (deep.as_str(), "nested"),
        ("{\"query\": 1e999}", "too large"),
        ("[]", "expected an object"),
        ("{\"query\": \"a\"} trailing", "not JSON"),
    ];
    for (raw, expected) in cases {
        let error = run.call(raw).await.outcome.unwrap_err();
        assert_eq!(error.code(), "E_INVALID_TOOL_ARGS");
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
        assert!(text.len() < 1000, "{text}");
    }
    assert_eq!(text(&run.call(long.as_str()).await.outcome), "1");
    let number = run.call(r#"{"query": 7}"#).await.outcome.unwrap_err();
    assert!(number.to_string().contains("expected a string, got 7"));
}

#[tokio::test]
async fn a_message_of_a_failing_handler_is_bounded() {
    let tool = search()
        .handler(|_: Args| Err::<String, _>(ToolFailure::new("ä".repeat(100_000))))
        .build()
        .unwrap();
    let ctx = DispatchContext::builder("t").build();
    let error = tool.executor(&ctx).call(json!({ "query": "x" })).await.outcome.unwrap_err();
    assert!(error.to_string().len() < 5000);
    assert!(error.to_string().ends_with("… (200000 bytes in all)"));
}

impl crate::tool::ToolBuilder {
    /// The search schema with one more field that takes anything.
    fn input_of_any(self) -> Self {
        let _ = self;
        Self::new("search".to_owned())
            .description("Searches.")
            .input(object().field("query", string().required()).field("any", crate::schema::any()))
    }
}

#[tokio::test]
async fn the_end_of_a_call_keeps_what_its_request_says() {
    let done = echo().executor(&DispatchContext::builder("t").build()).call("{}").await;
    let second = std::num::NonZeroU32::new(2).unwrap();
    let at = Timestamp::EPOCH;
    let requested = ToolCall::requested(done.tool.name().as_str(), done.raw.clone(), second, at)
        .at_place(3, 1)
        .with_provider_id("call_abc")
        .with_payload(json!(1), "v")
        .unwrap();
    let ended = requested.clone().complete(&done);
    assert_eq!((ended.id(), ended.created_at), (requested.id(), at));
    assert_eq!((ended.iteration, ended.ordinal), (3, 1));
    assert_eq!(ended.provider_id.as_deref(), Some("call_abc"));
    assert_eq!(ended.payload(), Some(&json!(1)));
    assert!(ended.state().is_final());
}
