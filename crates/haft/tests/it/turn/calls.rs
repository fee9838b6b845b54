use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft::executors::{Step, StepContext};
use haft::records::{CallState, ToolResults};
use haft::tools::{Concurrency, ToolEffect, ToolRole};
use haft::turn::Cancellation;
use haft::turn::{Deadlines, TurnOutcome, TurnReport};
use haft::{Args, CallContext, Tool, ToolFailure};

use super::{Seen, agent, call, input, pass, steps};

fn done(ctx: &StepContext) -> Result<Step, haft::executors::StepError> {
    Ok(Step::done().say(ctx.message("done")?))
}

async fn run(
    tools: Vec<Tool>,
    step: fn(&StepContext) -> Result<Step, haft::executors::StepError>,
) -> TurnReport {
    input(&agent(steps([step, done])).tools(tools).build().unwrap()).report().await.unwrap()
}

#[tokio::test]
async fn every_call_ends_as_one_record_in_the_order_asked() {
    let tools = vec![
        Tool::builder("good").description("G.").handler(|| "fine").build().unwrap(),
        Tool::builder("bad")
            .description("B.")
            .handler(|| Err::<String, _>(ToolFailure::new("out of paper")))
            .build()
            .unwrap(),
        Tool::builder("panics")
            .description("P.")
            .handler(|| -> String { panic!("x") })
            .build()
            .unwrap(),
    ];
    let report = run(tools, |_| {
        Ok(Step::new()
            .call(call("good", "{}"))
            .call(call("bad", "{}"))
            .call(call("panics", "{}"))
            .call(call("god", "{}"))
            .call(call("good", "{\"x\":1}"))
            .call(call("good", "not json"))
            .call(call("good", "{}")))
    })
    .await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let ended: Vec<_> = report.calls.iter().map(|call| (call.tool(), call.state())).collect();
    use CallState::{Failed, Succeeded};
    assert_eq!(
        ended,
        [
            ("good", Succeeded),
            ("bad", Failed),
            ("panics", Failed),
            ("god", Failed),
            ("good", Failed),
            ("good", Failed),
            ("good", Succeeded),
        ]
    );
    let said = |n: usize| report.calls[n].error.as_ref().unwrap().message.clone();
    assert!(said(1).contains("out of paper"));
    assert!(said(3).contains("did you mean `good`"));
    assert!(said(4).contains("/x"));
    let ids: BTreeSet<_> = report.calls.iter().map(|call| call.id().to_string()).collect();
    assert_eq!(ids.len(), 7);
    assert_eq!(report.calls[6].id().occurrence().get(), 2);
}

#[tokio::test]
async fn a_call_is_announced_and_completed() {
    let seen = Seen::default();
    let tool = Tool::builder("t").description("T.").handler(|| "x").build().unwrap();
    let built = agent(steps([|_| Ok(Step::new().call(call("t", "{\"b\":1}"))), done])).tool(tool);
    input(&built.observer(seen.observer()).build().unwrap()).report().await.unwrap();
    let tool_events: Vec<_> =
        seen.names().split(' ').filter(|it| it.starts_with("tool")).map(str::to_owned).collect();
    assert_eq!(tool_events, ["toolCall", "toolExecutionRejected", "toolCall"]);
    let reports: Vec<_> = seen
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            haft::events::EventKind::ToolCall(report) => Some(report),
            _ => None,
        })
        .collect();
    assert_eq!(reports[0].checksum, reports[1].checksum);
    assert_eq!((reports[0].is_complete, reports[1].is_complete), (false, true));
    assert!(reports[1].is_error);
}

/// A tool whose calls are counted while they run.
fn counted(
    name: &str,
    class: Concurrency,
    at_once: &Arc<AtomicU32>,
    most: &Arc<AtomicU32>,
) -> Tool {
    let (at_once, most) = (Arc::clone(at_once), Arc::clone(most));
    let handler = move |_: Args| {
        let (at_once, most) = (Arc::clone(&at_once), Arc::clone(&most));
        async move {
            let now = at_once.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            pass(Duration::from_millis(50)).await;
            at_once.fetch_sub(1, Ordering::SeqCst);
            "ok"
        }
    };
    let schema = haft::schema::object().field("k", haft::schema::string().optional());
    Tool::builder(name)
        .description("C.")
        .input(schema)
        .concurrency(class)
        .handler(handler)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side_as_their_tools_allow() {
    for (class, expected) in [
        (Concurrency::Parallel, 3),
        (Concurrency::Exclusive, 1),
        (Concurrency::Keyed("/k".to_owned()), 2),
    ] {
        let (at_once, most) = (Arc::default(), Arc::default());
        let tool = counted("t", class, &at_once, &most);
        let report = run(vec![tool], |_| {
            Ok(Step::new()
                .call(call("t", r#"{"k":"a"}"#))
                .call(call("t", r#"{"k":"a"}"#))
                .call(call("t", r#"{"k":"b"}"#)))
        })
        .await;
        assert_eq!(report.calls.len(), 3);
        assert_eq!(most.load(Ordering::SeqCst), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn fan_out_is_bounded() {
    let (at_once, most) = (Arc::default(), Arc::default());
    let tool = counted("t", Concurrency::Parallel, &at_once, &most);
    let many = |_: &StepContext| {
        Ok((0..20).fold(Step::new(), |step, n| step.call(call("t", &format!(r#"{{"k":"{n}"}}"#)))))
    };
    let limits = haft::turn::Limits::new().fan_out(std::num::NonZeroUsize::new(3).unwrap());
    let built = agent(steps([many, done])).tool(tool).limits(limits).build().unwrap();
    input(&built).report().await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_ends_in_time_and_its_siblings_do_not_mind() {
    let hang = |effect| {
        Tool::builder(if effect == ToolEffect::Once { "once" } else { "read" })
            .description("H.")
            .effect(effect)
            .timeout(Duration::from_secs(5))
            .handler(async || std::future::pending::<String>().await)
            .build()
            .unwrap()
    };
    let fine = Tool::builder("fine").description("F.").handler(async || "fine").build().unwrap();
    let report = run(vec![hang(ToolEffect::ReadOnly), hang(ToolEffect::Once), fine], |_| {
        Ok(Step::new().call(call("read", "{}")).call(call("once", "{}")).call(call("fine", "{}")))
    })
    .await;
    let states: Vec<_> = report.calls.iter().map(|call| call.state()).collect();
    assert_eq!(states, [CallState::Failed, CallState::Unknown, CallState::Succeeded]);
    assert_eq!(report.unknown_calls().count(), 1);
    assert_eq!(report.calls[0].error.as_ref().unwrap().code.as_str(), "E_DEADLINE_EXCEEDED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_stalls_nobody() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let blocks = Tool::builder("blocks")
        .description("B.")
        .effect(ToolEffect::ReadOnly)
        .handler(move || {
            let _ = wait.lock().unwrap().recv();
            "late"
        })
        .build()
        .unwrap();
    let deadlines = Deadlines::new().call(Duration::from_millis(50));
    let built = agent(steps([|_| Ok(Step::new().call(call("blocks", "{}"))), done])).tool(blocks);
    let report = input(&built.deadlines(deadlines).build().unwrap()).report().await.unwrap();
    assert_eq!(report.calls[0].error.as_ref().unwrap().code.as_str(), "E_DEADLINE_EXCEEDED");
    assert_eq!(report.outcome, TurnOutcome::Completed);
    drop(release);
}

#[tokio::test(start_paused = true)]
async fn cancelling_reaches_the_handlers_and_leaves_records() {
    let cancelled = Arc::new(AtomicU32::new(0));
    let noticed = Arc::clone(&cancelled);
    let listens = Tool::builder("listens")
        .description("L.")
        .handler(move |_: Args, ctx: CallContext| {
            let noticed = Arc::clone(&noticed);
            async move {
                ctx.cancellation().cancelled().await;
                noticed.fetch_add(1, Ordering::SeqCst);
                "stopped"
            }
        })
        .input(haft::schema::object())
        .build()
        .unwrap();
    let deaf = Tool::builder("deaf")
        .description("D.")
        .handler(async || std::future::pending::<String>().await)
        .build()
        .unwrap();
    let step =
        |_: &StepContext| Ok(Step::new().call(call("listens", "{}")).call(call("deaf", "{}")));
    let agent = agent(steps([step, done])).tools([listens, deaf]).build().unwrap();
    let token = Cancellation::new();
    let cancel = token.clone();
    let (report, ()) = tokio::join!(input(&agent).cancellation(&token).report(), async move {
        pass(Duration::from_secs(1)).await;
        cancel.cancel("stop");
    });
    let report = report.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Cancelled { reason: "stop".to_owned() });
    let states: Vec<_> = report.calls.iter().map(|call| call.state()).collect();
    assert_eq!(states, [CallState::Succeeded, CallState::Unknown]);
    assert_eq!(cancelled.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_large_result_is_queried_in_the_next_iteration() {
    let log: String = (0..2000).map(|n| format!("line {n}\n")).collect();
    let fetch =
        Tool::builder("fetch").description("F.").handler(move || log.clone()).build().unwrap();
    let seen = Seen::default();
    let built = agent(steps([
        |ctx| {
            assert!(ctx.dispatch().tools().has("artifact_grep"));
            Ok(Step::new().call(call("fetch", "{}")))
        },
        |ctx| {
            assert!(ctx.dispatch().tools().has("artifact_grep"));
            let handle = ctx.dispatch().artifacts().all().remove(0).0;
            let args = format!(r#"{{"callId":"{handle}","pattern":"line 1999"}}"#);
            Ok(Step::new().call(call("artifact_grep", &args)))
        },
        |ctx| {
            let own = |tool: &Tool| *tool.role() != ToolRole::ArtifactQuery;
            assert_eq!(ctx.dispatch().tools().all().iter().filter(|tool| own(tool)).count(), 1);
            done(ctx)
        },
    ]));
    let report = input(&built.tool(fetch).observer(seen.observer()).build().unwrap())
        .report()
        .await
        .unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    assert!(matches!(report.calls[0].results, Some(ToolResults::Artifacts(_))));
    assert_eq!(report.calls[1].results, Some(ToolResults::Text("2000:line 1999".to_owned())));
}

#[tokio::test]
async fn handlers_get_keys_that_tell_equal_calls_apart() {
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&keys);
    let tool = Tool::builder("pay")
        .description("P.")
        .input(haft::schema::object())
        .handler(move |_: Args, ctx: &CallContext| {
            seen.lock().unwrap().push(ctx.idempotency_key().to_string());
            "paid"
        })
        .build()
        .unwrap();
    let report =
        run(vec![tool], |_| Ok(Step::new().call(call("pay", "{}")).call(call("pay", "{}")))).await;
    let keys: BTreeSet<_> = keys.lock().unwrap().iter().cloned().collect();
    assert_eq!(keys.len(), 2);
    let turn = report.turn.to_string();
    assert!(keys.iter().all(|key| key.starts_with(&turn)));
}

/// Arguments that mean the same have the same key, however the model writes them.
#[tokio::test(start_paused = true)]
async fn keys_are_those_of_the_accepted_arguments() {
    let (at_once, most): (Arc<AtomicU32>, Arc<AtomicU32>) = (Arc::default(), Arc::default());
    let (now, max) = (Arc::clone(&at_once), Arc::clone(&most));
    let schema = haft::schema::object().field("id", haft::schema::integer().default(7));
    let tool =
        Tool::builder("t").description("T.").concurrency(Concurrency::Keyed("/id".to_owned()));
    let tool = tool.input(schema).handler(move |_: Args| {
        let (now, max) = (Arc::clone(&now), Arc::clone(&max));
        async move {
            max.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            pass(Duration::from_secs(1)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            "done"
        }
    });
    let report = run(vec![tool.build().unwrap()], |_| {
        Ok(Step::new()
            .call(call("t", r#"{"id":7}"#))
            .call(call("t", r#"{"id":"7"}"#))
            .call(call("t", r#"{"id": 7.0}"#))
            .call(call("t", "{'id': 7,}"))
            .call(call("t", "{}")))
    })
    .await;
    let succeeded = report.calls.iter().filter(|call| call.state() == CallState::Succeeded).count();
    assert!(succeeded >= 3, "{:?}", report.calls);
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

/// What a handler did that must not be repeated is not known if it does not end when the turn is cancelled.
#[tokio::test(start_paused = true)]
async fn a_cancelled_handler_that_must_not_be_repeated_has_an_unknown_outcome() {
    for (effect, expected, code) in [
        (ToolEffect::Once, CallState::Unknown, "E_TOOL_OUTCOME_UNKNOWN"),
        (ToolEffect::Idempotent, CallState::Cancelled, "E_TOOL_CANCELLED"),
    ] {
        let tool = Tool::builder("t").description("T.").effect(effect);
        let tool = tool.handler(async || std::future::pending::<String>().await).build().unwrap();
        let built = agent(steps([|_| Ok(Step::new().call(call("t", "{}"))), done])).tool(tool);
        let (built, token) = (built.build().unwrap(), Cancellation::new());
        let (report, ()) = tokio::join!(input(&built).cancellation(&token).report(), async {
            pass(Duration::from_secs(1)).await;
            token.cancel("stop");
        });
        let report = report.unwrap();
        assert_eq!(report.calls[0].state(), expected);
        let error = report.calls[0].error.as_ref().unwrap();
        assert_eq!((error.code.as_str(), error.retryable), (code, false), "{error:?}");
        assert_eq!(report.unknown_calls().count(), usize::from(effect == ToolEffect::Once));
    }
}
