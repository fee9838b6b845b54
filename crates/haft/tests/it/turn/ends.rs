//! What is written when a turn ends.

use haft::error::codes;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft::DispatchContext;
use haft::middleware::Next;
use haft::records::{CallError, CallState, ToolCall};
use haft::schema::RawArgs;
use haft::stores::MemoryStore;
use haft::stores::{TurnId, TurnStatus, TurnStore as _};
use haft::turn::TurnContext;
use haft::turn::{AgentBuilder, Limit, Limits, TurnOutcome};

use super::points::{Fate, Guarded, Judge, Side};
use super::{agent, input, say};

/// A store, and how many commits are done.
fn counted() -> (Arc<MemoryStore>, Arc<Guarded<MemoryStore>>, Arc<AtomicUsize>) {
    let store = Arc::new(MemoryStore::new());
    let commits = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&commits);
    let judge: Judge = Arc::new(move |moment| {
        let done = moment.what == "commit" && moment.side == Side::After;
        count.fetch_add(usize::from(done), Ordering::SeqCst);
        Fate::Pass
    });
    (Arc::clone(&store), Guarded::new(store, judge), commits)
}

/// How often a turn that answers at once writes after its beginning.
async fn commits(build: impl FnOnce(AgentBuilder) -> AgentBuilder) -> usize {
    let (store, guarded, commits) = counted();
    let agent = build(agent(say("Hello!")).store(guarded)).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    assert_eq!((&report.outcome, report.text()), (&TurnOutcome::Completed, "Hello!"));
    let stored = store.load(report.turn.clone()).await.unwrap().unwrap();
    assert_eq!(stored.summary.status, TurnStatus::Completed);
    // Who asks again, in this process or another, is told the same.
    let again = agent.resume(&report.turn).report().await.unwrap();
    assert_eq!((again.outcome, again.messages), (report.outcome, report.messages));
    assert_eq!((again.iterations, again.usage), (report.iterations, report.usage));
    commits.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_written_together_with_the_end_unless_somebody_has_a_say() {
    let pass = async |_: TurnContext, next: Next<TurnContext>| next.run().await;
    let look = async |_: DispatchContext, next: Next<DispatchContext>| next.run().await;
    assert_eq!(commits(|it| it).await, 1);
    assert_eq!(commits(|it| it.turn_input("pass", pass).dispatch_input("look", look)).await, 1);
    assert_eq!(commits(|it| it.turn_output("pass", pass)).await, 2);
    assert_eq!(commits(|it| it.dispatch_output("look", look)).await, 2);
}

#[tokio::test(start_paused = true)]
async fn an_ack_comes_after_the_answer_was_kept_and_what_it_notes_is_kept_too() {
    let (store, guarded, commits) = counted();
    let at_ack = Arc::new(AtomicUsize::new(usize::MAX));
    let noted = Arc::clone(&at_ack);
    let wait = move |ctx: DispatchContext, next: Next<DispatchContext>| {
        let commits = Arc::clone(&commits);
        let noted = Arc::clone(&noted);
        let turn = ctx.turn().clone();
        ctx.on_ack(move || {
            noted.store(commits.load(Ordering::SeqCst), Ordering::SeqCst);
            turn.stash().set("told", true).unwrap();
        });
        async move { next.run().await }
    };
    let agent = agent(say("Hello!")).store(guarded).dispatch_input("wait", wait);
    let agent = agent.build().unwrap();
    let turn: TurnId = "t".parse().unwrap();
    input(&agent).id(turn.as_str()).report().await.unwrap();
    assert_eq!(at_ack.load(Ordering::SeqCst), 1, "the answer was kept first");
    let stored = store.load(turn).await.unwrap().unwrap();
    assert_eq!(stored.summary.status, TurnStatus::Completed);
    assert!(stored.journal.last().unwrap().contains("\"told\":true"), "{:?}", stored.journal);
}

/// A step that goes past a limit without a call of its own: the store says what the report says.
#[tokio::test(start_paused = true)]
async fn an_answer_beyond_a_limit_is_kept_as_that() {
    let (store, guarded, _) = counted();
    let foreign = async |ctx: DispatchContext, next: Next<DispatchContext>| {
        let now = ctx.clock().now();
        let call = ToolCall::requested("past", RawArgs::text("{}"), NonZeroU32::MIN, now);
        let error = CallError::new(codes::TOOL_CANCELLED, "long ago", false);
        ctx.turn().store_tool_call(call.ended(CallState::Cancelled, error, now)).await?;
        next.run().await
    };
    let agent = agent(say("Hello!")).store(guarded).dispatch_input("foreign", foreign);
    let agent = agent.limits(Limits::new().tool_calls(0)).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::LimitReached { limit: Limit::ToolCalls });
    let stored = store.load(report.turn.clone()).await.unwrap().unwrap();
    assert_ne!(stored.summary.status, TurnStatus::Completed);
    assert_eq!(agent.resume(&report.turn).report().await.unwrap().outcome, report.outcome);
}
