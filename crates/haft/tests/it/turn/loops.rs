use haft::error::codes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft::error::Coded as _;
use haft::events::DispatchStatus;
use haft::events::Usage;
use haft::executors::{Step, StepContext, StepError};
use haft::middleware::Next;
use haft::records::CallState;
use haft::stores::TurnStatus;
use haft::turn::Cancellation;
use haft::turn::{CostLimit, Deadlines, Limit, Limits, TokenPrices, TurnOutcome};
use haft::turn::{Signal, TurnContext};
use haft::{DispatchContext, Tool};

use super::{Seen, agent, call, input, say, steps};

const PLAIN: &str =
    "turnStart dispatchStart iterationStart message iterationEnd dispatchEnd turnEnd";

#[tokio::test]
async fn a_plain_turn() {
    let seen = Seen::default();
    let agent = agent(say("Hi there")).observer(seen.observer()).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    assert_eq!((report.outcome.clone(), report.text()), (TurnOutcome::Completed, "Hi there"));
    assert_eq!((report.iterations, report.calls.len()), (1, 0));
    assert_eq!(seen.names(), PLAIN);
    // Every event says whose it is and where it stands.
    let events = seen.events();
    assert!(events.iter().all(|event| *event.turn == *report.turn.as_str()));
    assert!(events.iter().zip(0..).all(|(event, n)| event.sequence == n));
}

#[tokio::test]
async fn turns_share_nothing() {
    let executor = |cx: StepContext| async move {
        assert!(cx.dispatch().stash().get("seen").is_none());
        assert_eq!(cx.dispatch().turn().messages().all().len(), 1);
        assert!(!cx.dispatch().tools().has("late"));
        cx.dispatch().stash().set("seen", 1)?;
        let late = Tool::builder("late").description("Late.").handler(|| "late").build()?;
        cx.dispatch().turn().tools().register(late)?;
        Ok(Step::done().say(cx.message("ok")?))
    };
    let agent = agent(executor).build().unwrap();
    for _ in 0..3 {
        assert_eq!(input(&agent).report().await.unwrap().outcome, TurnOutcome::Completed);
    }
    let (one, two) = tokio::join!(input(&agent).report(), input(&agent).report());
    assert_ne!(one.unwrap().turn, two.unwrap().turn);
}

#[tokio::test]
async fn what_is_wrong_is_said_before_anything_happens() {
    let seen = Seen::default();
    let agent = agent(say("x")).observer(seen.observer()).build().unwrap();
    let empty = agent.turn("").report().await.unwrap_err();
    assert_eq!(empty.code(), "E_INVALID_TURN_CONTEXT");
    let stash = input(&agent).stash(serde_json::json!([1])).report().await.unwrap_err();
    assert_eq!(stash.code(), "E_INVALID_TURN_CONTEXT");
    input(&agent).id("same").report().await.unwrap();
    let events = seen.events().len();
    let twice = input(&agent).id("same").report().await.unwrap_err();
    assert!(twice.to_string().contains("same"), "{twice}");
    assert_eq!(seen.events().len(), events);
}

#[test]
fn a_runner_is_refused_with_every_reason() {
    let tool = || Tool::builder("twice").description("Twice.").handler(|| "x").build().unwrap();
    let built = agent(say("x"))
        .tools([tool(), tool()])
        .limits(Limits::new().iterations(0))
        .deadlines(Deadlines::new().step(Duration::ZERO))
        .build();
    let error = built.unwrap_err();
    assert_eq!((error.code().as_str(), error.faults.len()), ("E_INVALID_TURN_RUNNER_CONFIG", 3));
}

#[tokio::test]
async fn middleware_runs_in_its_place_and_every_time() {
    let order: Arc<std::sync::Mutex<Vec<&str>>> = Arc::default();
    let note = |what: &'static str| {
        let order = Arc::clone(&order);
        move || order.lock().unwrap().push(what)
    };
    let ti = note("ti");
    let to = note("to");
    let di = note("di");
    let do_ = note("do");
    let step = note("step");
    let ti = Arc::new(ti);
    let to = Arc::new(to);
    let executor = move |cx: StepContext| {
        step();
        async move {
            if cx.dispatch().iteration() == 0 {
                return Ok(Step::new());
            }
            Ok(Step::done().say(cx.message("done")?))
        }
    };
    let agent = agent(executor)
        .turn_input("ti", move |_: TurnContext, next: Next<TurnContext>| {
            ti();
            next.run()
        })
        .turn_output("to", move |_: TurnContext, next: Next<TurnContext>| {
            to();
            next.run()
        })
        .dispatch_input("di", move |_: DispatchContext, next: Next<DispatchContext>| {
            di();
            next.run()
        })
        .dispatch_output("do", move |_: DispatchContext, next: Next<DispatchContext>| {
            do_();
            next.run()
        })
        .build()
        .unwrap();
    input(&agent).report().await.unwrap();
    assert_eq!(order.lock().unwrap().join(" "), "ti di step do di step do to");
    input(&agent).report().await.unwrap();
    assert_eq!(order.lock().unwrap().len(), 16);
}

#[tokio::test]
async fn a_failing_or_broken_input_ends_the_turn_before_its_dispatch() {
    let names = "turnStart error turnEnd";
    let seen = Seen::default();
    let forget = async |_: TurnContext, _: Next<TurnContext>| Ok(());
    let built = agent(say("x")).turn_input("forget", forget).observer(seen.observer()).build();
    let report = input(&built.unwrap()).report().await.unwrap();
    assert_eq!((seen.names().as_str(), report.status()), (names, TurnStatus::Failed));
    assert_eq!(seen.errors(), ["E_PIPELINE_SHORT_CIRCUITED"]);
    assert_eq!(report.error.unwrap().stage.unwrap().as_str(), "turn-input");

    let seen = Seen::default();
    let fail = async |_: TurnContext, _: Next<TurnContext>| Err("no database".into());
    let built = agent(say("x")).turn_input("fail", fail).observer(seen.observer()).build();
    let report = input(&built.unwrap()).report().await.unwrap();
    assert_eq!(
        (seen.names().as_str(), seen.errors()),
        (names, vec!["E_INPUT_PIPELINE_ERROR".into()])
    );
    assert!(report.error.unwrap().message.as_str().contains("no database"));

    let panics = async |_: TurnContext, _: Next<TurnContext>| panic!("on purpose");
    let report =
        input(&agent(say("x")).turn_input("p", panics).build().unwrap()).report().await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Failed { .. }));
}

#[tokio::test]
async fn cancelling_in_middleware_is_no_error() {
    let seen = Seen::default();
    let stop = async |ctx: TurnContext, next: Next<TurnContext>| {
        ctx.cancellation().cancel("enough");
        next.run().await?;
        ctx.stash().set("after", true)?;
        Ok(())
    };
    let never = async |_: TurnContext, _: Next<TurnContext>| panic!("must not run");
    let built = agent(say("x")).turn_input("stop", stop).turn_input("never", never);
    let agent = built.observer(seen.observer()).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Cancelled { reason: "enough".to_owned() });
    assert_eq!(seen.names(), "turnStart turnEnd");
}

#[tokio::test]
async fn output_middleware_can_withhold_an_answer() {
    let check = async |ctx: DispatchContext, next: Next<DispatchContext>| {
        if ctx.iteration() < 2 && ctx.pending() == Some(Signal::Ack) {
            ctx.set_pending(None);
        }
        next.run().await
    };
    let seen = Seen::default();
    let built = agent(say("not yet")).dispatch_output("check", check);
    let report = input(&built.observer(seen.observer()).build().unwrap()).report().await.unwrap();
    assert_eq!((report.outcome, report.iterations), (TurnOutcome::Completed, 3));
    assert_eq!(seen.names().matches("iterationEnd").count(), 3);
}

#[tokio::test]
async fn a_nack_is_a_report_with_the_reason() {
    let seen = Seen::default();
    let ran = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&ran);
    let output = move |_: TurnContext, next: Next<TurnContext>| {
        counted.fetch_add(1, Ordering::Relaxed);
        next.run()
    };
    let built = agent(steps([|_| Ok(Step::failed("the model refused"))]));
    let agent = built.turn_output("out", output).observer(seen.observer()).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Failed { .. }));
    assert_eq!(report.error.unwrap().message.as_str(), "the model refused");
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    assert!(seen.names().contains("dispatchEnd error turnEnd"));
}

#[tokio::test]
async fn a_failing_executor_names_its_cause() {
    let built = agent(steps([|_| Err(StepError::new("status 529 from the provider"))]));
    let report = input(&built.build().unwrap()).report().await.unwrap();
    let error = report.error.unwrap();
    assert_eq!(error.code.as_ref().unwrap().as_str(), "E_LLM_EXECUTION_EXECUTOR_ERROR");
    assert!(error.message.as_str().contains("status 529"), "{error:?}");
    let built = agent(|_: StepContext| async { panic!("on purpose") });
    let report = input(&built.build().unwrap()).report().await.unwrap();
    assert_eq!(report.status(), TurnStatus::Failed);
}

#[tokio::test]
async fn acks_and_ends_are_told_to_who_waits() {
    let told: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let waits = Arc::clone(&told);
    let watch = move |ctx: DispatchContext, next: Next<DispatchContext>| {
        let ack = Arc::clone(&waits);
        let end = Arc::clone(&waits);
        let _kept = ctx.on_ack(move || ack.lock().unwrap().push("ack".to_owned()));
        ctx.on_settled(move |status| end.lock().unwrap().push(format!("{status:?}")));
        next.run()
    };
    let ok = agent(say("x")).dispatch_input("watch", watch.clone()).build().unwrap();
    input(&ok).report().await.unwrap();
    assert_eq!(*told.lock().unwrap(), ["ack", "Ack"]);
    let bad = agent(steps([|_| Ok(Step::failed("no"))])).dispatch_input("watch", watch);
    input(&bad.build().unwrap()).report().await.unwrap();
    assert_eq!(*told.lock().unwrap(), ["ack", "Ack", "Nack"]);
    assert_eq!(format!("{:?}", DispatchStatus::Nack), "Nack");
}

#[tokio::test]
async fn every_limit_ends_a_turn_that_would_not_end() {
    let forever = || |_: StepContext| async { Ok::<_, StepError>(Step::new()) };
    let limits = Limits::new();
    let report = agent(forever()).limits(limits.iterations(3)).build().unwrap();
    let report = input(&report).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::LimitReached { limit: Limit::Iterations });
    assert_eq!(report.iterations, 3);

    let costly =
        |_: StepContext| async { Ok::<_, StepError>(Step::new().usage(Usage::new(60, 40))) };
    let report = agent(costly).limits(limits.tokens(Some(250))).build().unwrap();
    let report = input(&report).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::LimitReached { limit: Limit::Tokens });
    assert_eq!((report.usage.total, report.iterations), (300, 3));

    // A step costs 100 millionths.
    let prices = TokenPrices::per_million(1.0, 1.0);
    let cost = |max| limits.cost(Some(CostLimit::new(max, prices)));
    let report = agent(costly).limits(cost(0.00015)).build().unwrap();
    let report = input(&report).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::LimitReached { limit: Limit::Cost });
    assert_eq!((report.usage.total, report.iterations), (200, 2));
    assert!(agent(costly).limits(cost(0.0)).build().is_err());

    let tool = Tool::builder("t").description("T.").handler(|| "x").build().unwrap();
    let repeat = |_: StepContext| async { Ok::<_, StepError>(Step::new().call(call("t", "{}"))) };
    let report =
        agent(repeat).tool(tool.clone()).limits(limits.identical_calls(2)).build().unwrap();
    let report = input(&report).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::LimitReached { limit: Limit::IdenticalCalls });
    let states: Vec<CallState> = report.calls.iter().map(|call| call.state()).collect();
    assert_eq!(states, [CallState::Succeeded, CallState::Succeeded, CallState::Cancelled]);
    let error = report.calls.last().unwrap().error.as_ref().unwrap();
    assert_eq!(error.code, codes::LIMIT_REACHED);

    let report = agent(repeat).tool(tool).limits(limits.tool_calls(1)).build().unwrap();
    let report = input(&report).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::LimitReached { limit: Limit::ToolCalls });
    let states: Vec<CallState> = report.calls.iter().map(|call| call.state()).collect();
    assert_eq!(states, [CallState::Succeeded, CallState::Cancelled]);
}

#[tokio::test(start_paused = true)]
async fn time_is_bounded_everywhere() {
    let hangs = || |_: StepContext| std::future::pending::<Result<Step, StepError>>();
    let limits = Limits::new().wall_time(Duration::from_secs(60));
    let report = input(&agent(hangs()).limits(limits).build().unwrap()).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::LimitReached { limit: Limit::WallTime });
    let report = input(&agent(hangs()).build().unwrap()).report().await.unwrap();
    assert_eq!(report.error.unwrap().code.unwrap().as_str(), "E_DEADLINE_EXCEEDED");
    let stuck = async |_: TurnContext, _: Next<TurnContext>| std::future::pending().await;
    let report = agent(say("x")).turn_input("stuck", stuck).build().unwrap();
    let report = input(&report).report().await.unwrap();
    assert_eq!(report.error.unwrap().code.unwrap().as_str(), "E_DEADLINE_EXCEEDED");
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_turn_that_hangs() {
    let hangs = |_: StepContext| std::future::pending::<Result<Step, StepError>>();
    let agent = agent(hangs).build().unwrap();
    let token = Cancellation::new();
    let cancel = token.clone();
    let (report, ()) = tokio::join!(input(&agent).cancellation(&token).report(), async move {
        tokio::task::yield_now().await;
        cancel.cancel("the user left");
    });
    let expected = TurnOutcome::Cancelled { reason: "the user left".to_owned() };
    assert_eq!(report.unwrap().outcome, expected);
}

#[tokio::test]
async fn tools_are_fetched_only_when_somebody_asks() {
    let fetched = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&fetched);
    let source = move |_: TurnContext| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Ok(vec![Tool::builder("found").description("F.").handler(|| "found it").build()?]) }
    };
    let plain = agent(say("x")).fetch_tools(source.clone()).build().unwrap();
    input(&plain).report().await.unwrap();
    assert_eq!(fetched.load(Ordering::Relaxed), 0);
    let fetch = async |ctx: TurnContext, next: Next<TurnContext>| {
        for tool in ctx.fetch_tools().await? {
            ctx.tools().register(tool)?;
        }
        next.run().await
    };
    let built = agent(steps([
        |_| Ok(Step::new().call(call("found", "{}"))),
        |cx| Ok(Step::done().say(cx.message("ok")?)),
    ]));
    let report = built.fetch_tools(source).turn_input("fetch", fetch).build().unwrap();
    let report = input(&report).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!(report.calls[0].error, None);
}

#[tokio::test]
async fn an_observer_that_panics_breaks_nothing() {
    let built = agent(say("x")).observer(|_: &haft::events::Event| panic!("on purpose"));
    assert_eq!(
        input(&built.build().unwrap()).report().await.unwrap().outcome,
        TurnOutcome::Completed
    );
}

/// What the model said in one step stands in the order of a transcript: thoughts, messages, calls.
#[tokio::test]
async fn a_step_has_an_order_among_records_of_all_kinds() {
    let tool = Tool::builder("t").description("T.").handler(|| "x").build().unwrap();
    let built = agent(steps([
        |cx| {
            let step = Step::new().call(call("t", "{}")).say(cx.message("one")?);
            Ok(step.say(cx.message("two")?).think(cx.thought("hm")?))
        },
        |cx| {
            let mut all: Vec<(u64, String)> = Vec::new();
            let messages = cx.dispatch().turn().messages().numbered();
            all.extend(messages.into_iter().map(|(n, it)| (n, it.id().to_string())));
            let thoughts = cx.dispatch().turn().thoughts().numbered();
            all.extend(thoughts.into_iter().map(|(n, it)| (n, it.id().to_string())));
            let calls = cx.dispatch().turn().tool_calls().numbered();
            all.extend(calls.into_iter().map(|(n, it)| (n, it.tool().to_owned())));
            all.sort();
            let order: Vec<_> = all.iter().map(|(_, id)| id.rsplit('/').next().unwrap()).collect();
            Ok(Step::done().say(cx.message(order.join(" "))?))
        },
    ]));
    let report = input(&built.tool(tool).build().unwrap()).report().await.unwrap();
    assert_eq!(report.text(), "m-1 thought-2 message-0 message-1 t");
}
