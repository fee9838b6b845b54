//! What has run when a turn is returned because it waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft::executors::{Step, StepContext, StepError};
use haft::records::CallState;
use haft::stores::{MemoryStore, TurnStatus, TurnStore as _};
use haft::tools::{Concurrency, ToolEffect};
use haft::turn::{
    Gate, GateDecision, GateKey, GatePolicy, GateRequest, Limits, ManualClock, Signal, Timestamp,
    TurnOutcome, TurnReport,
};
use haft::{Args, CallContext, Tool, ToolFailure};
use serde_json::json;

use super::gates::{SECRET, done};
use super::points::{Fate, Guarded, Judge, Side};
use super::{agent, call, input, pass, steps};

fn deploy() -> Tool {
    let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    deploy.handler(|| "deployed").build().unwrap()
}

/// A tool that takes a second, and how often it ran to its end.
fn work(concurrency: Concurrency) -> (Tool, Arc<AtomicU32>) {
    let ran = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&ran);
    let schema = haft::schema::object().field("n", haft::schema::integer().required());
    let work = Tool::builder("work").description("Works.").concurrency(concurrency).input(schema);
    let work = work.handler(move |_: Args| {
        let count = Arc::clone(&count);
        async move {
            tokio::task::yield_now().await;
            count.fetch_add(1, Ordering::SeqCst);
            "done"
        }
    });
    (work.build().unwrap(), ran)
}

#[track_caller]
fn assert_waits(report: &TurnReport, gates: usize) {
    let TurnOutcome::Waiting { gates: open } = &report.outcome else {
        panic!("{:?} {:?}", report.outcome, report.error)
    };
    assert_eq!(open.len(), gates);
}

/// Many calls that wait for each other and for slots, next to one that waits for its approval.
async fn run_all_that_can_run(concurrency: Concurrency) {
    for fan_out in [1, 2, 100] {
        let (work, ran) = work(concurrency.clone());
        let many = |_: &StepContext| -> Result<Step, StepError> {
            let step = Step::new().call(call("deploy", "{}"));
            Ok((0..20).fold(step, |step, n| step.call(call("work", &format!("{{\"n\":{n}}}")))))
        };
        let limits = Limits::new().fan_out(std::num::NonZeroUsize::new(fan_out).unwrap());
        let built = agent(steps([many, done])).tools([deploy(), work]).limits(limits);
        let built = built.gate_policy(GatePolicy::Suspend).build().unwrap();
        let report = input(&built).report().await.unwrap();
        assert_waits(&report, 1);
        assert_eq!(ran.load(Ordering::SeqCst), 20, "{concurrency:?} {fan_out}");
        let unfinished = report.calls.iter().filter(|call| !call.state().is_final()).count();
        assert_eq!(unfinished, 1, "{concurrency:?} {fan_out}");
    }
}

#[tokio::test]
async fn everything_that_can_run_has_run() {
    run_all_that_can_run(Concurrency::Parallel).await;
    run_all_that_can_run(Concurrency::Keyed("/none".to_owned())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn everything_that_can_run_has_run_on_many_threads() {
    for _ in 0..20 {
        run_all_that_can_run(Concurrency::Parallel).await;
        run_all_that_can_run(Concurrency::Keyed("/none".to_owned())).await;
    }
}

/// Handlers that hold all slots wait at gates: the calls that wait for a slot wait as well.
#[tokio::test]
async fn calls_that_wait_for_a_slot_do_not_keep_a_turn_from_waiting() {
    let ask = Tool::builder("ask").description("Asks.").input(haft::schema::object());
    let ask = ask.effect(ToolEffect::Idempotent);
    let ask = ask.handler(async |_: Args, ctx: CallContext| {
        let color = ctx.ask(GateRequest::new("Which color?")).await?;
        Ok::<_, ToolFailure>(color.to_string())
    });
    let (work, ran) = work(Concurrency::Parallel);
    let step = |_: &StepContext| -> Result<Step, StepError> {
        let step = Step::new().call(call("ask", "{}"));
        Ok(step.call(call("work", "{\"n\":1}")).call(call("work", "{\"n\":2}")))
    };
    let limits = Limits::new().fan_out(std::num::NonZeroUsize::MIN);
    let built = agent(steps([step, done])).tools([ask.build().unwrap(), work]).limits(limits);
    let built = built.gate_policy(GatePolicy::Suspend).build().unwrap();
    let report = input(&built).report().await.unwrap();
    assert_waits(&report, 1);
    assert_eq!(ran.load(Ordering::SeqCst), 0, "there was no slot");
    let TurnOutcome::Waiting { gates } = &report.outcome else { unreachable!() };
    built.gates().resolve(&gates[0], json!("red"), "Ada").await.unwrap();
    let report = built.resume(&report.turn).report().await.unwrap();
    assert_eq!((report.outcome, ran.load(Ordering::SeqCst)), (TurnOutcome::Completed, 2));
}

/// A handler that waits at two gates is one call that waits.
#[tokio::test(start_paused = true)]
async fn two_gates_of_one_handler_do_not_stop_another_call() {
    let both = Tool::builder("both").description("Asks twice.").input(haft::schema::object());
    let both = both.effect(ToolEffect::Idempotent).handler(async |_: Args, ctx: CallContext| {
        let (one, two) =
            tokio::join!(ctx.ask(GateRequest::new("One?")), ctx.ask(GateRequest::new("Two?")),);
        Ok::<_, ToolFailure>(format!("{} {}", one?, two?))
    });
    let slow = Tool::builder("slow").description("Takes time.").handler(async || {
        pass(Duration::from_secs(5)).await;
        "seen"
    });
    let step = |_: &StepContext| -> Result<Step, StepError> {
        Ok(Step::new().call(call("both", "{}")).call(call("slow", "{}")))
    };
    let tools = [both.build().unwrap(), slow.build().unwrap()];
    let built = agent(steps([step, done])).tools(tools).gate_policy(GatePolicy::Suspend);
    let built = built.build().unwrap();
    let report = input(&built).report().await.unwrap();
    assert_waits(&report, 2);
    assert_eq!(report.calls[1].text(), Some("seen"), "what can run has run");
}

/// The status of a turn says that it waits as long as one gate is open.
#[tokio::test(start_paused = true)]
async fn a_turn_with_an_open_gate_is_stored_as_waiting() {
    let store = Arc::new(MemoryStore::new());
    let numbered = || {
        let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
        let deploy = deploy.input(haft::schema::object().allow_unknown());
        deploy.handler(|_: Args| "deployed").build().unwrap()
    };
    let step = |_: &StepContext| -> Result<Step, StepError> {
        Ok(Step::new().call(call("deploy", "{\"n\":1}")).call(call("deploy", "{\"n\":2}")))
    };
    let built = agent(steps([step, done])).tool(numbered()).store(Arc::clone(&store) as _).build();
    let built = built.unwrap();
    let status = async || store.load("t".parse().unwrap()).await.unwrap().unwrap().summary.status;
    let (report, ()) = tokio::join!(input(&built).id("t").report(), async {
        for open in [2, 1] {
            pass(Duration::from_secs(60)).await;
            let gates = built.gates().open_gates(None).await.unwrap();
            assert_eq!((gates.len(), status().await), (open, TurnStatus::Waiting));
            built.gates().resolve(&gates[0].id, json!(true), "Ada").await.unwrap();
        }
    });
    assert_eq!(report.unwrap().outcome, TurnOutcome::Completed);
    assert_eq!(status().await, TurnStatus::Completed);
}

/// What a handler wants counts also if the turn waits for another call.
#[tokio::test]
async fn a_pending_signal_survives_a_suspension() {
    for signal in [Signal::Ack, Signal::nack("it is closed")] {
        let store = Arc::new(MemoryStore::new());
        let wanted = signal.clone();
        let finish = Tool::builder("finish").description("Ends.").input(haft::schema::object());
        let finish = finish.handler(move |_: Args, ctx: &CallContext| {
            ctx.end_dispatch(wanted.clone());
            "finished"
        });
        let step = |_: &StepContext| -> Result<Step, StepError> {
            Ok(Step::new().call(call("finish", "{}")).call(call("deploy", "{}")))
        };
        let built = agent(steps([step, done])).tools([finish.build().unwrap(), deploy()]);
        let built = built.store(store).gate_policy(GatePolicy::Suspend).build().unwrap();
        let report = input(&built).report().await.unwrap();
        assert_waits(&report, 1);
        let TurnOutcome::Waiting { gates } = &report.outcome else { unreachable!() };
        built.gates().resolve(&gates[0], json!(true), "Ada").await.unwrap();
        let report = built.resume(&report.turn).report().await.unwrap();
        let outcome = match signal {
            Signal::Ack => TurnStatus::Completed,
            _ => TurnStatus::Failed,
        };
        assert_eq!((report.status(), report.iterations), (outcome, 1), "{:?}", report.error);
    }
}

/// A store that fails for a moment is told; the approver is asked again when the turn is resumed.
#[tokio::test(start_paused = true)]
async fn a_decision_of_the_approver_that_cannot_be_stored_ends_the_attempt() {
    for (side, policy) in [
        (Side::Before, GatePolicy::Wait),
        (Side::After, GatePolicy::Wait),
        (Side::Before, GatePolicy::Suspend),
    ] {
        let settled = AtomicU32::new(0);
        let judge: Judge = Arc::new(move |moment| {
            let is_first = moment.what == "settle"
                && moment.side == side
                && settled.fetch_add(1, Ordering::SeqCst) == 0;
            if is_first { Fate::Fail } else { Fate::Pass }
        });
        let store = Guarded::new(Arc::new(MemoryStore::new()), judge);
        let step = |_: &StepContext| -> Result<Step, StepError> {
            Ok(Step::new().call(call("deploy", "{}")))
        };
        let built = agent(steps([step, done])).tool(deploy()).store(store).gate_policy(policy);
        let built = built.approver(async |_: Gate| false).build().unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(3600), input(&built).report()).await;
        let report = ended.expect("the turn does not hang").unwrap();
        assert!(report.is_resumable, "{report:?}");
        assert_eq!(report.error.unwrap().code.unwrap(), "E_STORE");
        let report = built.resume(&report.turn).report().await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed);
        assert_eq!(report.calls[0].state(), CallState::Failed);
    }
}

/// Wherever the store fails once while a gate is closed that nothing can settle, the turn does not hang.
#[tokio::test(start_paused = true)]
async fn a_gate_that_cannot_be_closed_does_not_hang_the_turn() {
    for number in 0.. {
        let met = AtomicU32::new(0);
        let judge: Judge = Arc::new(move |moment| {
            let is_commit = moment.what == "commit" && moment.side == Side::Before;
            let fails = is_commit && met.fetch_add(1, Ordering::SeqCst) == number;
            if fails { Fate::Fail } else { Fate::Pass }
        });
        let store = Guarded::new(Arc::new(MemoryStore::new()), judge);
        let ask = Tool::builder("ask").description("Asks.").effect(ToolEffect::Once);
        let ask = ask.input(haft::schema::object());
        let ask = ask.handler(async |_: Args, ctx: CallContext| {
            let color = ctx.ask(GateRequest::new("Which color?")).await?;
            Ok::<_, ToolFailure>(color.to_string())
        });
        let step = |_: &StepContext| -> Result<Step, StepError> {
            Ok(Step::new().call(call("ask", "{}")))
        };
        let built = agent(steps([step, done])).tool(ask.build().unwrap()).store(store);
        let built = built.gate_policy(GatePolicy::Suspend).build().unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(3600), input(&built).report()).await;
        let report = ended.unwrap_or_else(|_| panic!("commit {number} hangs")).unwrap();
        if report.outcome == TurnOutcome::Completed && report.calls[0].error.is_some() && number > 4
        {
            break;
        }
    }
}

/// A decision that comes when the time of its gate is up does not count, whoever wrote it.
#[tokio::test]
async fn a_gate_expires_while_its_turn_is_suspended() {
    let store = Arc::new(MemoryStore::new());
    let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
    let ask = Tool::builder("ask").description("Asks.").input(haft::schema::object());
    let ask = ask.effect(ToolEffect::Idempotent);
    let ask = ask.handler(async |_: Args, ctx: CallContext| {
        let request = GateRequest::new("Which color?").timeout(Duration::from_secs(60));
        let color = ctx.ask(request).await?;
        Ok::<_, ToolFailure>(color.to_string())
    });
    let step =
        |_: &StepContext| -> Result<Step, StepError> { Ok(Step::new().call(call("ask", "{}"))) };
    let built =
        agent(steps([step, done])).tool(ask.build().unwrap()).store(Arc::clone(&store) as _);
    let built = built.clock(Arc::clone(&clock) as _).secret(SECRET);
    let built = built.gate_policy(GatePolicy::Suspend).build().unwrap();
    for forced in [false, true] {
        let report = input(&built).report().await.unwrap();
        assert_waits(&report, 1);
        let TurnOutcome::Waiting { gates } = &report.outcome else { unreachable!() };
        let gate = built.gates().open_gates(Some(report.turn.clone())).await.unwrap().remove(0);
        clock.advance(Duration::from_secs(60));
        let late = built.gates().resolve(&gates[0], json!("red"), "Ada").await.unwrap_err();
        assert_eq!(haft::error::Coded::code(&late), "E_TURN_GATE_TIMEOUT", "{late}");
        if forced {
            // A program of an earlier version does not look at the time.
            let decision = GateDecision::Resolved { value: json!("red") };
            let key = GateKey::from_bytes(SECRET);
            let settlement = key.sign(&gate, decision, "Ada", haft::turn::Clock::now(&*clock));
            let text = serde_json::to_string(&settlement).unwrap();
            assert!(store.settle(gate.id.clone(), text).await.unwrap().first);
        }
        let report = built.resume(&report.turn).report().await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed, "it does not wait for ever");
        let error = report.calls[0].error.as_ref().unwrap();
        assert!(error.message.contains("in time"), "{error:?}");
    }
}

/// A handler may stop waiting at a gate. Its turn ends with the gate closed.
#[tokio::test(start_paused = true)]
async fn a_turn_that_ends_leaves_no_gate_open() {
    for has_output in [false, true] {
        let store = Arc::new(MemoryStore::new());
        let ask = Tool::builder("ask").description("Asks.").input(haft::schema::object());
        let ask = ask.handler(async |_: Args, ctx: CallContext| {
            let asked = ctx.ask(GateRequest::new("Which color?"));
            let color = tokio::time::timeout(Duration::from_secs(5), asked).await;
            if color.is_err() { "any" } else { "that" }
        });
        let step = |_: &StepContext| -> Result<Step, StepError> {
            Ok(Step::new().call(call("ask", "{}")))
        };
        let built = agent(steps([step, done])).tool(ask.build().unwrap());
        let built = built.store(Arc::clone(&store) as _);
        let built = match has_output {
            true => built
                .turn_output("pass", async |_, next: haft::middleware::Next<_>| next.run().await),
            false => built,
        };
        let built = built.build().unwrap();
        let report = input(&built).report().await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed);
        assert_eq!(report.calls[0].text(), Some("any"));
        let open = built.gates().open_gates(None).await.unwrap();
        assert!(open.is_empty(), "{has_output}: {open:?}");
        let stored = store.load(report.turn).await.unwrap().unwrap();
        assert!(stored.gates[0].settlement.as_ref().unwrap().contains("aborted"));
        assert_eq!(stored.summary.status, TurnStatus::Completed);
    }
}

/// Journal entries that wait for a commit keep their order, also if the commit that carries them fails late.
#[tokio::test(start_paused = true)]
async fn a_commit_that_fails_late_does_not_undo_a_later_one() {
    let store = Arc::new(MemoryStore::new());
    let commits = AtomicU32::new(0);
    let judge: Judge = Arc::new(move |moment| {
        let is_commit = moment.what == "commit" && moment.side == Side::Before;
        // The first commit after the step is the result of the first call, with the stash that it changed.
        let fails = is_commit && commits.fetch_add(1, Ordering::SeqCst) == 1;
        if fails { Fate::FailAfter(Duration::from_secs(5)) } else { Fate::Pass }
    });
    let schema = haft::schema::object().field("n", haft::schema::integer().required());
    let note = Tool::builder("note").description("Notes.").input(schema);
    let note = note.effect(ToolEffect::Idempotent);
    let note = note.handler(async |args: Args, ctx: CallContext| {
        let n = args.to_value()["n"].as_u64().unwrap();
        pass(Duration::from_secs(n)).await;
        ctx.stash().set("last", n)?;
        // The third call stores its record when the first commit has failed.
        pass(Duration::from_secs(if n == 3 { 10 } else { 0 })).await;
        Ok::<_, ToolFailure>(n.to_string())
    });
    let step = |_: &StepContext| -> Result<Step, StepError> {
        let step = Step::new().call(call("note", "{\"n\":1}"));
        Ok(step.call(call("note", "{\"n\":2}")).call(call("note", "{\"n\":3}")))
    };
    let built = agent(steps([step, done])).tool(note.build().unwrap());
    let built = built.store(Guarded::new(Arc::clone(&store), judge)).build().unwrap();
    let report = input(&built).report().await.unwrap();
    assert!(report.is_resumable, "{report:?}");
    let stored = store.load(report.turn.clone()).await.unwrap().unwrap();
    let mut stash = stored.journal.iter().filter(|text| text.contains("\"entry\":\"stash\""));
    let last: serde_json::Value = serde_json::from_str(stash.next_back().unwrap()).unwrap();
    assert_eq!(last["stash"]["last"], 3, "{:#?}", stored.journal);
    let report = built.resume(&report.turn).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
}
