//! Results that output middleware did not look at, in later turns.

use std::sync::Arc;
use std::time::Duration;

use haft::executors::{Step, StepContext, StepError};
use haft::middleware::{Next, Verdict, hydrate_conversation, safety_veto};
use haft::records::{CallState, Message};
use haft::stores::MemoryStore;
use haft::turn::{AgentBuilder, Cancellation, GatePolicy, Limits, Timestamp, TurnOutcome};
use haft::{Agent, DispatchContext, Tool, Turn};

use super::{call, pass, steps};

const SECRET: &str = "hunter2";

fn secret() -> Tool {
    Tool::builder("secret").description("Tells.").handler(|| SECRET).build().unwrap()
}

fn slow() -> Tool {
    let slow = Tool::builder("slow").description("Waits.");
    slow.handler(async || std::future::pending::<String>().await).build().unwrap()
}

fn deploy() -> Tool {
    let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    deploy.handler(|| "done").build().unwrap()
}

fn message(agent: &Agent, turn: &str) -> Turn {
    let message = Message::user_at(format!("{turn}-prompt"), "Well?", Timestamp::EPOCH).unwrap();
    agent.turn(message).system("You help.").id(turn).conversation("c")
}

/// An agent of the first turn, which calls two tools.
fn first(store: &Arc<MemoryStore>, second: &'static str) -> AgentBuilder {
    let executor = move |ctx: StepContext| async move {
        Ok::<_, StepError>(match ctx.dispatch().iteration() {
            0 => Step::new().call(call("secret", "{}")).call(call(second, "{}")),
            _ => Step::done().say(ctx.message("done")?),
        })
    };
    let built = Agent::builder(executor).tools([secret(), slow(), deploy()]);
    built.store(Arc::clone(store) as _)
}

/// What the next turn of the conversation shows of the result of `secret`.
async fn shown(store: &Arc<MemoryStore>) -> String {
    let executor = steps([|ctx| {
        let calls = ctx.dispatch().turn().tool_calls().all();
        let call = calls.iter().find(|call| call.tool() == "secret").unwrap();
        Ok(Step::done().say(ctx.message(format!("{:?} {:?}", call.results, call.error))?))
    }]);
    let next = Agent::builder(executor).store(Arc::clone(store) as _);
    let next = next.turn_input("history", hydrate_conversation()).build().unwrap();
    let report = message(&next, "second").report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    report.text().to_owned()
}

#[track_caller]
fn assert_withheld(shown: &str) {
    assert!(!shown.contains(SECRET) && shown.contains("was not checked"), "{shown}");
}

#[tokio::test]
async fn a_check_that_fails_withholds_the_result_from_later_turns() {
    let store = Arc::default();
    let veto = safety_veto(|_| async { Err("the check is away".into()) });
    let built = first(&store, "secret").dispatch_output("veto", veto).build().unwrap();
    let report = message(&built, "first").report().await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Failed { .. }));
    assert_eq!(report.calls[0].text(), Some(SECRET), "the operator sees it");
    assert_withheld(&shown(&store).await);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_cancelled_withholds_results_before_their_check() {
    let pass_all = || safety_veto(|_| async { Ok(Verdict::Pass) });
    let limits = Limits::new().wall_time(Duration::from_secs(10));
    for built in [
        // Ctrl-C, and the limit on working time.
        first(&Arc::default(), "slow"),
        first(&Arc::default(), "slow").limits(limits),
    ] {
        let store = Arc::default();
        let built = built.store(Arc::clone(&store) as _).dispatch_output("veto", pass_all());
        let (agent, token) = (built.build().unwrap(), Cancellation::new());
        let (report, ()) =
            tokio::join!(message(&agent, "first").cancellation(&token).report(), async {
                pass(Duration::from_secs(60)).await;
                token.cancel("stop");
            });
        let report = report.unwrap();
        assert_eq!(report.calls[0].state(), CallState::Succeeded, "{:?}", report.outcome);
        assert_withheld(&shown(&store).await);
    }
}

#[tokio::test]
async fn a_turn_that_is_cancelled_while_it_waits_withholds_results_before_their_check() {
    let store = Arc::default();
    let veto = safety_veto(|_| async { Ok(Verdict::Pass) });
    let built = first(&store, "deploy").dispatch_output("veto", veto);
    let built = built.gate_policy(GatePolicy::Suspend).build().unwrap();
    let report = message(&built, "first").report().await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Waiting { .. }), "{:?}", report.outcome);
    built.stored_turns().cancel_turn(&report.turn, "not needed").await.unwrap();
    assert_withheld(&shown(&store).await);
}

#[tokio::test]
async fn a_middleware_that_ends_the_dispatch_first_withholds_what_the_check_did_not_see() {
    let ends = async |_: DispatchContext, next: Next<DispatchContext>| Ok(next.ack()?);
    let runs = async |_: DispatchContext, next: Next<DispatchContext>| {
        next.ack()?;
        next.run().await
    };
    let veto = || safety_veto(|_| async { Ok(Verdict::Pass) });
    let store = Arc::default();
    let built =
        first(&store, "secret").dispatch_output("ends", ends).dispatch_output("veto", veto());
    let report = message(&built.build().unwrap(), "first").report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_withheld(&shown(&store).await);

    let store = Arc::default();
    let built =
        first(&store, "secret").dispatch_output("runs", runs).dispatch_output("veto", veto());
    let report = message(&built.build().unwrap(), "first").report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert!(shown(&store).await.contains(SECRET), "every middleware ran");
}

#[tokio::test(start_paused = true)]
async fn results_that_nothing_was_to_check_are_shown() {
    let store = Arc::default();
    let (agent, token) = (first(&store, "slow").build().unwrap(), Cancellation::new());
    let (report, ()) =
        tokio::join!(message(&agent, "first").cancellation(&token).report(), async {
            pass(Duration::from_secs(60)).await;
            token.cancel("stop");
        });
    assert!(matches!(report.unwrap().outcome, TurnOutcome::Cancelled { .. }));
    assert!(shown(&store).await.contains(SECRET));
}
