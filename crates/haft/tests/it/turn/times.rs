//! What the time of a turn is booked to.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use haft::events::EventKind;
use haft::executors::{DispatchExecutor, Step, StepContext, StepError, StreamPart};
use haft::records::{CallState, ToolCall};
use haft::stores::{MemoryStore, TurnStore as _};
use haft::tools::ByteStream;
use haft::turn::{GatePolicy, ManualClock, TurnHistory, TurnOutcome};
use haft::{Tool, ToolFailure};
use serde_json::json;

use super::gates::SECRET;
use super::{Seen, agent, call, input};

const MODEL_WAITS: Duration = Duration::from_millis(300);
const MODEL_WRITES: Duration = Duration::from_millis(200);
const HANDLER_WORKS: Duration = Duration::from_secs(2);
const RESULT_STREAMS: Duration = Duration::from_secs(3);
const PERSON_DECIDES: Duration = Duration::from_secs(600);

/// Asks for one call, and then ends. The model begins to write after a while.
fn model(clock: Arc<ManualClock>) -> impl DispatchExecutor {
    move |ctx: StepContext| {
        let clock = Arc::clone(&clock);
        async move {
            clock.advance(MODEL_WAITS);
            let message = ctx.message("Let me look.")?;
            let _ = ctx.report_message(message.id().as_str(), "Let me", StreamPart::More);
            clock.advance(MODEL_WRITES);
            let step = if ctx.dispatch().iteration() == 0 {
                Step::new().call(call("look", "{}"))
            } else {
                Step::done()
            };
            Ok::<_, StepError>(step.say(message))
        }
    }
}

/// A result that takes its time.
struct SlowResult(Arc<ManualClock>, Option<Bytes>);

impl Stream for SlowResult {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = self.1.take();
        if piece.is_some() {
            self.0.advance(RESULT_STREAMS);
        }
        Poll::Ready(piece.map(Ok))
    }
}

/// Runs a turn whose only call waits ten minutes for a person. Returns its history and the call.
async fn run_decided(is_approved: bool, seen: &Seen) -> (TurnHistory, ToolCall) {
    let clock = Arc::new(ManualClock::default());
    let store = Arc::new(MemoryStore::new());
    let working = Arc::clone(&clock);
    let look = Tool::builder("look").description("Looks.").requires_approval("May I look?");
    let look = look.handler(move || {
        working.advance(HANDLER_WORKS);
        ByteStream::new(SlowResult(Arc::clone(&working), Some(Bytes::from_static(b"found"))))
    });
    let built = agent(model(Arc::clone(&clock))).tool(look.build().unwrap());
    let built = built.store(Arc::clone(&store) as _).secret(SECRET).clock(Arc::clone(&clock) as _);
    let built = built.gate_policy(GatePolicy::Suspend).observer(seen.observer()).build().unwrap();
    let waiting = input(&built).report().await.unwrap();
    let TurnOutcome::Waiting { gates } = &waiting.outcome else { panic!("{waiting:?}") };
    clock.advance(PERSON_DECIDES);
    match is_approved {
        true => built.gates().resolve(&gates[0], json!(true), "ada").await.unwrap(),
        false => built.gates().reject(&gates[0], "Not now.", "ada").await.unwrap(),
    };
    clock.advance(Duration::from_secs(3600));
    let report = built.resume(&waiting.turn).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    let stored = store.load(report.turn.clone()).await.unwrap().unwrap();
    (TurnHistory::read(&stored).unwrap(), ToolCall::clone(&report.calls[0]))
}

#[tokio::test]
async fn every_part_of_the_time_is_booked_to_what_took_it() {
    let seen = Seen::default();
    let (history, call) = run_decided(true, &seen).await;
    for step in &history.steps {
        assert_eq!((step.wait, step.write), (MODEL_WAITS, MODEL_WRITES), "{step:?}");
    }
    let tool = HANDLER_WORKS + RESULT_STREAMS;
    assert_eq!(Duration::from_millis(call.time.tool), tool);
    assert_eq!(Duration::from_millis(call.time.person), PERSON_DECIDES);
    let began = call.started_at.unwrap();
    assert_eq!(call.completed_at.unwrap().duration_since(began), tool);
    let time = history.time([&call]);
    assert_eq!((time.model_wait, time.model_write), (MODEL_WAITS * 2, MODEL_WRITES * 2));
    assert_eq!((time.tools, time.people), (tool, PERSON_DECIDES));
    let ends = seen.events().into_iter().filter_map(|event| match event.kind {
        EventKind::ToolExecutionEnd { duration, is_error, .. } => Some((duration, is_error)),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [(tool, false)], "a call ends with its stream");
}

#[tokio::test]
async fn a_call_that_was_denied_has_not_run() {
    let (history, call) = run_decided(false, &Seen::default()).await;
    assert_eq!((call.state(), call.started_at, call.time.tool), (CallState::Failed, None, 0));
    assert_eq!(history.time([&call]).people, PERSON_DECIDES);
}
