//! What the operator sees of a turn: causes, codes and traces.

use std::sync::{Arc, Mutex};

use haft::error::codes;
use haft::events::EventKind;
use haft::executors::{ProposedCall, Step, StepContext, StepError};
use haft::middleware::Next;
use haft::records::Record as _;
use haft::schema::object;
use haft::turn::TurnOutcome;
use haft::{Agent, Args, CallContext, Tool, ToolFailure, TurnContext};
use tracing::Subscriber;
use tracing::instrument::{Instrument as _, WithSubscriber as _};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use super::{Seen, agent, call, input, steps};

fn tool(name: &str) -> haft::tools::ToolBuilder {
    Tool::builder(name).description("For a test.").input(object())
}

fn call_both(ctx: &StepContext) -> Result<Step, StepError> {
    let _ = ctx;
    Ok(Step::new().call(call("fails", "{}")).call(call("panics", "{}")))
}

fn done(ctx: &StepContext) -> Result<Step, StepError> {
    Ok(Step::done().say(ctx.message("done")?))
}

#[tokio::test]
async fn causes_and_panics_reach_the_operator_and_not_the_model() {
    let fails = tool("fails").handler(async |_: Args| -> Result<String, ToolFailure> {
        let reset = std::io::Error::other("connection reset by 10.0.0.7");
        Err(ToolFailure::new("the index is down").with_source(reset))
    });
    let panics = tool("panics").handler(async |_: Args| -> String { panic!("index 7 of 3") });
    let seen = Seen::default();
    let built = agent(steps([call_both, done]))
        .tool(fails.build().unwrap())
        .tool(panics.build().unwrap())
        .observer(seen.observer());
    let report = input(&built.build().unwrap()).report().await.unwrap();

    let mut ends = Vec::new();
    for event in seen.events() {
        if let EventKind::ToolExecutionEnd { tool_name, cause, .. } = event.kind {
            ends.push((tool_name.to_string(), cause.unwrap().to_string()));
        }
    }
    ends.sort();
    let down = "the index is down: connection reset by 10.0.0.7";
    assert_eq!(
        ends,
        [
            ("fails".to_owned(), down.to_owned()),
            ("panics".to_owned(), "panicked: index 7 of 3".to_owned())
        ]
    );
    let [fails, panics] = report.calls.as_slice() else { panic!("{:?}", report.calls) };
    assert_eq!(fails.error.as_ref().unwrap().message, "`fails` failed: the index is down");
    assert_eq!(fails.cause(), Some(down));
    assert_eq!(panics.cause(), Some("panicked: index 7 of 3"));
    for call in [fails, panics] {
        let stored = call.to_json().unwrap();
        let loaded = haft::ToolCall::from_json(&stored).unwrap();
        assert_eq!(loaded.cause(), call.cause());
    }
}

#[tokio::test]
async fn failures_of_a_dispatch_have_codes() {
    let failed = async |step: super::StepFn| {
        let report = input(&agent(steps([step])).build().unwrap()).report().await.unwrap();
        assert!(matches!(report.outcome, TurnOutcome::Failed { .. }));
        report.error.unwrap()
    };
    let words = failed(|_| Ok(Step::failed("it is closed"))).await;
    assert_eq!((words.code, &*words.message), (Some(codes::LLM_EXECUTION_NACKED), "it is closed"));
    let nacked = failed(|ctx| {
        ctx.nack("not today")?;
        Ok(Step::new())
    });
    assert_eq!(nacked.await.code, Some(codes::LLM_EXECUTION_NACKED));
    let coded = failed(|_| {
        let error = StepError::coded(codes::LLM_RESPONSE_EMPTY, "nothing came");
        Ok(Step::failed(error.with_source(std::io::Error::other("socket closed"))))
    });
    let coded = coded.await;
    assert_eq!(coded.code, Some(codes::LLM_RESPONSE_EMPTY));
    assert!(coded.retryable);
    assert_eq!(coded.cause.as_deref(), Some("socket closed"));
    let executor = failed(|_| Err("the server is gone")?).await;
    assert_eq!(executor.code, Some(codes::LLM_EXECUTION_EXECUTOR_ERROR));
}

/// A failed step is stored with its code, and reads what version 0.1 stored.
#[test]
fn the_failure_of_a_step_is_stored_with_its_code() {
    use haft::executors::NextAction;

    let words = NextAction::failed("it is closed");
    let text = serde_json::to_string(&words).unwrap();
    assert_eq!(text, r#"{"fail":"it is closed"}"#);
    assert_eq!(serde_json::from_str::<NextAction>(&text).unwrap(), words);
    let coded = NextAction::failed(StepError::coded(codes::LLM_RESPONSE_TRUNCATED, "it broke off"));
    let text = serde_json::to_string(&coded).unwrap();
    assert_eq!(
        text,
        r#"{"fail":{"code":"E_LLM_RESPONSE_TRUNCATED","message":"it broke off","retryable":true}}"#
    );
    assert_eq!(serde_json::from_str::<NextAction>(&text).unwrap(), coded);
}

/// Collects each event of user code with the names of the spans around it.
#[derive(Clone, Default)]
struct Ancestors(Arc<Mutex<Vec<EventAncestors>>>);

/// The message of an event, and the names of the spans around it.
type EventAncestors = (String, Vec<&'static str>);

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Ancestors {
    fn on_event(&self, event: &tracing::Event<'_>, ctx: Context<'_, S>) {
        let mut message = String::new();
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            if field.name() == "message" {
                message = format!("{value:?}");
            }
        });
        let spans = ctx.event_scope(event).into_iter().flatten().map(|span| span.name()).collect();
        self.0.lock().unwrap().push((message, spans));
    }
}

/// Handlers, middleware and executors run in the trace of the caller, also on tasks and threads of their own.
#[tokio::test]
async fn user_code_runs_in_the_trace_of_the_caller() {
    let ancestors = Ancestors::default();
    let subscriber = tracing_subscriber::registry().with(ancestors.clone());
    let waits = tool("waits").handler(async |_: Args| {
        tokio::task::yield_now().await;
        tracing::info!("waits");
        "done"
    });
    let blocks = tool("blocks").handler(|_: Args, _: &CallContext| {
        tracing::info!("blocks");
        "done"
    });
    let executor = async |ctx: StepContext| -> Result<Step, StepError> {
        tokio::task::yield_now().await;
        tracing::info!("executor");
        match ctx.dispatch().iteration() {
            0 => Ok(Step::new()
                .call(ProposedCall::new("waits", "{}"))
                .call(ProposedCall::new("blocks", "{}"))),
            1 => Ok(Step::new().call(ProposedCall::new("waits", "{}"))),
            _ => Ok(Step::done().say(ctx.message("done")?)),
        }
    };
    let middleware = async |_: TurnContext, next: Next<TurnContext>| {
        tokio::task::yield_now().await;
        tracing::info!("middleware");
        next.run().await
    };
    let built = agent(executor)
        .tool(waits.build().unwrap())
        .tool(blocks.build().unwrap())
        .turn_input("middleware", middleware);
    let turn = input(&built.build().unwrap()).report();
    let request = async {
        tracing::info!("before");
        let span = tracing::info_span!("http_request");
        turn.instrument(span).await.unwrap()
    };
    request.with_subscriber(subscriber).await;
    let seen = ancestors.0.lock().unwrap().clone();
    let expected = |inner: &'static str| match inner {
        "" => vec!["invoke_agent", "http_request"],
        _ => vec![inner, "invoke_agent", "http_request"],
    };
    for (message, spans) in &seen {
        match message.as_str() {
            "a request to a model" => {}
            "before" => assert!(spans.is_empty()),
            "middleware" => assert_eq!(*spans, expected("")),
            "executor" => assert_eq!(*spans, expected("chat")),
            _ => assert_eq!(*spans, expected("execute_tool"), "{message}"),
        }
    }
    let count = |name: &str| seen.iter().filter(|(message, _)| message == name).count();
    assert_eq!(
        (count("waits"), count("blocks"), count("executor"), count("middleware")),
        (2, 1, 3, 1)
    );
}

#[cfg(feature = "tokio-util")]
#[tokio::test]
async fn a_cancellation_token_cancels_a_turn_and_reaches_handlers() {
    use haft::turn::with_cancellation_token;
    use tokio_util::sync::CancellationToken;

    let token = CancellationToken::new();
    let stop = token.clone();
    let crawl = tool("crawl").handler(async move |_: Args, ctx: CallContext| {
        stop.cancel();
        with_cancellation_token(ctx.cancellation(), async |inner: CancellationToken| {
            inner.cancelled().await;
            "stopped"
        })
        .await
    });
    let executor = async |_: StepContext| Ok::<_, StepError>(Step::new().call(call("crawl", "{}")));
    let agent = agent(executor).tool(crawl.build().unwrap()).build().unwrap();
    let report = input(&agent).cancel_on(token.clone().cancelled_owned()).report().await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Cancelled { .. }), "{:?}", report.outcome);
    assert_eq!(report.calls.len(), 1);
    let again = input(&agent).cancel_on(token.cancelled_owned()).report().await.unwrap();
    assert!(again.calls.is_empty(), "it was cancelled before");
}

/// What a program prints whose `main` returns the error, or that prints the report.
#[tokio::test]
async fn a_turn_that_did_not_complete_is_an_error_with_its_reason() {
    let failing = |_: StepContext| async {
        let source = std::io::Error::other("the cable is unplugged");
        Err::<Step, _>(StepError::new("no response").with_source(source))
    };
    let agent = Agent::builder(failing).build().unwrap();
    let report = input(&agent).id("t-1").report().await.unwrap();
    let outcome = report.outcome.to_string();
    assert_eq!(outcome, "failed: the executor failed: no response");
    let printed = report.to_string();
    let stopped = report.into_result().unwrap_err();
    assert_eq!(stopped.to_string(), "turn `t-1` failed: the executor failed: no response");
    let whole = "turn `t-1` failed: the executor failed: no response: the cable is unplugged";
    assert_eq!((printed.as_str(), format!("{stopped:?}").as_str()), (whole, whole));
    assert_eq!(format!("{:?}", haft::Error::from(stopped.clone())), whole);
    assert_eq!(stopped.report.turn.as_str(), "t-1");
    assert!(!haft::error::Coded::retryable(&stopped));
}
