//! What a loop of this kind has always done and goes on doing, line by line, and the test that holds it.
//! Lines without a test elsewhere have theirs here.
//!
//! | behaviour | held by |
//! |---|---|
//! | 1 an agent or an input that is refused is refused before any event | `turn::loops::what_is_wrong_is_said_before_anything_happens`, `turn::loops::a_runner_is_refused_with_every_reason`, `turn::mistakes::two_records_of_the_input_with_one_id_are_refused` |
//! | 2 registry, records and pipelines are fresh in every turn; an agent can be used again | `turn::loops::turns_share_nothing`, `turn::loops::middleware_runs_in_its_place_and_every_time` |
//! | 3 the order of events; each outer one exactly once | `turn::loops::a_plain_turn`, `script::transcripts` |
//! | 4 an input that fails or is cut short: one error, no dispatch, one end | `turn::loops::a_failing_or_broken_input_ends_the_turn_before_its_dispatch` |
//! | 5 cancelled in input middleware: no error, later bodies are passed over, what comes after `next` runs | `turn::loops::cancelling_in_middleware_is_no_error`, `line_5_what_comes_after_next_runs` |
//! | 6 a forgotten `next` is reported with its stage; a signal or a cancellation makes that silent | `turn::mistakes::middleware_that_calls_nothing_is_named`, `line_6_a_signal_or_a_cancellation_excuses_a_forgotten_next` |
//! | 7 dispatch pipelines run in every iteration, with all members | `turn::loops::middleware_runs_in_its_place_and_every_time` |
//! | 8 output middleware can withhold an answer | `turn::loops::output_middleware_can_withhold_an_answer` |
//! | 9 a nack is a report and not an error of `run`; the dispatch ends with that very error; no output pipeline | `turn::loops::a_nack_is_a_report_with_the_reason`, `line_9_the_dispatch_ends_with_the_reason_of_the_nack` |
//! | 10 a failing executor keeps its cause and names it | `turn::loops::a_failing_executor_names_its_cause` |
//! | 11 callbacks of an ack: in order, removable, not on nack, each by itself | `haft_core::context::tests::ack_runs_callbacks_once_in_order_and_nack_runs_none`, `turn::loops::acks_and_ends_are_told_to_who_waits`, `line_11_a_callback_that_panics_takes_nothing_from_others` |
//! | 12 a second signal is an error | `line_12_a_second_signal_is_an_error` |
//! | 13 streams: by id, sealed once, across iterations, apart by kind | `haft_core::stream::tests::an_ended_stream_takes_no_more_and_other_channels_do_not_care`, `haft_core::stream::tests::pieces_say_where_they_begin_and_the_last_one_has_all` |
//! | 14 a call is announced and completed; one id in all its events; the order of keys does not matter | `turn::calls::a_call_is_announced_and_completed`, `haft_core::call::id::tests::spelling_does_not_matter` |
//! | 15 a failing tool is data | `turn::calls::every_call_ends_as_one_record_in_the_order_asked` |
//! | 16 gates: settled once, open after a wrong answer, four results, codes, closed before the turn goes on | `turn::gates` |
//! | 17 a changed record stands in its place; counts follow (one record for each id: changed on purpose) | `haft_core::record::tests::shelf::there_is_one_record_for_each_id`, `haft_core::record::tests::shelf::calls_are_counted_by_what_they_are` |
//! | 18 long retrieved texts go to the spool by rule, equal ids are refused before any write, stored once | `haft_core::record::tests::rules::what_goes_to_a_spool`, `turn::mistakes::two_records_of_the_input_with_one_id_are_refused`, `line_18_a_text_that_is_stored_is_not_stored_again` |
//! | 19 a call and a retrieved record never share an id | `artifacts::forge::an_id_names_one_thing` |
//! | 20 storing bytes changes no records | `line_20_storing_bytes_changes_no_records` |
//! | 21 tools on artifacts are there for dispatch input middleware, as many in every iteration | `turn::calls::a_large_result_is_queried_in_the_next_iteration`, `line_21_tools_on_artifacts_are_there_before_the_model` |
//! | 22 tokens: special ones are text, the rule of thumb, failures say so (a count tells how exact it is: changed on purpose) | `haft::artifacts::tokens::tests::special_tokens_are_text`, `haft_core::tokens::tests::rules_of_thumb`, `haft_core::tokens::tests::a_counter_that_fails_says_so` |
//! | 23 rules of records: payload and tag, something in a message, scores from 0 to 1, tiers | `haft_core::record::tests::rules` |
//! | 24 log entries say their dispatch and iteration, and have no payload when there is none | `haft_core::context::tests::events_carry_turn_dispatch_iteration_sequence_and_time`, `line_24_a_log_entry_says_where_it_was_made` |

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft::DispatchContext;
use haft::error::Coded as _;
use haft::events::{DispatchStatus, EventKind, LogLevel};
use haft::executors::{Step, StepContext, StepError};
use haft::middleware::Next;
use haft::stores::{MemorySpoolStore, MemoryStore};
use haft::stores::{SpoolKey, SpoolStore as _};
use haft::turn::TurnContext;
use haft::turn::TurnOutcome;
use haft::turn::{ManualClock, Timestamp};

use super::errand::Errand;
use super::points::{Fate, Guarded, Judge, Moment, Side};
use super::{Seen, agent, call, input, say, steps};

#[tokio::test]
async fn line_5_what_comes_after_next_runs() {
    let after = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&after);
    let stop = move |ctx: TurnContext, next: Next<TurnContext>| {
        let count = Arc::clone(&count);
        async move {
            ctx.cancellation().cancel("enough");
            next.run().await?;
            count.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    };
    let report = input(&agent(say("x")).turn_input("stop", stop).build().unwrap()).report().await;
    assert!(matches!(report.unwrap().outcome, TurnOutcome::Cancelled { .. }));
    assert_eq!(after.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn line_6_a_signal_or_a_cancellation_excuses_a_forgotten_next() {
    let acks = async |_: DispatchContext, next: Next<DispatchContext>| Ok(next.ack()?);
    let cancels = async |ctx: DispatchContext, _: Next<DispatchContext>| {
        ctx.turn().cancellation().cancel("enough");
        Ok(())
    };
    let seen = Seen::default();
    let built = agent(say("x")).dispatch_input("acks", acks).observer(seen.observer());
    let report = input(&built.build().unwrap()).report().await.unwrap();
    assert_eq!((report.outcome, report.messages.len()), (TurnOutcome::Completed, 0));
    let built = agent(say("x")).dispatch_input("cancels", cancels).observer(seen.observer());
    let report = input(&built.build().unwrap()).report().await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Cancelled { .. }), "{:?}", report.outcome);
    assert_eq!(seen.errors(), Vec::<String>::new());
}

#[tokio::test]
async fn line_9_the_dispatch_ends_with_the_reason_of_the_nack() {
    let seen = Seen::default();
    let built = agent(steps([|_| Ok(Step::failed("it is closed"))])).observer(seen.observer());
    let report = input(&built.build().unwrap()).report().await.unwrap();
    let ends: Vec<_> = seen
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::DispatchEnd { status, error, .. } => Some((status, error)),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [(DispatchStatus::Nack, report.error)]);
}

#[tokio::test]
async fn line_11_a_callback_that_panics_takes_nothing_from_others() {
    let told: Arc<Mutex<Vec<u32>>> = Arc::default();
    let waits = Arc::clone(&told);
    let watch = move |ctx: DispatchContext, next: Next<DispatchContext>| {
        for n in 0..4 {
            let told = Arc::clone(&waits);
            let waiting = ctx.on_ack(move || {
                assert_ne!(n, 1, "on purpose");
                told.lock().unwrap().push(n);
            });
            if n == 2 {
                waiting.cancel();
            }
        }
        next.run()
    };
    let built = agent(say("x")).dispatch_input("watch", watch).build().unwrap();
    assert_eq!(input(&built).report().await.unwrap().outcome, TurnOutcome::Completed);
    assert_eq!(*told.lock().unwrap(), [0, 3]);
}

#[tokio::test]
async fn line_12_a_second_signal_is_an_error() {
    let executor = |ctx: StepContext| async move {
        ctx.ack()?;
        let again = ctx.nack("changed my mind").unwrap_err();
        assert_eq!(again.code(), "E_LLM_EXECUTION_ALREADY_SIGNALLED");
        Ok::<_, StepError>(Step::new().say(ctx.message("once")?))
    };
    let report = input(&agent(executor).build().unwrap()).report().await.unwrap();
    assert_eq!((report.outcome.clone(), report.text()), (TurnOutcome::Completed, "once"));
}

#[tokio::test(start_paused = true)]
async fn line_18_a_text_that_is_stored_is_not_stored_again() {
    let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
    let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
    let spools = Arc::new(MemorySpoolStore::new());
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    let judge: Judge = Arc::new(move |moment: Moment| {
        let counts = moment.what == "spool" && moment.side == Side::After;
        count.fetch_add(usize::from(counts), Ordering::SeqCst);
        Fate::Pass
    });
    let executor = |ctx: StepContext| async move {
        if !ctx.dispatch().turn().is_resumed() {
            std::future::pending::<()>().await;
        }
        assert_eq!(ctx.dispatch().turn().retrievables().all().len(), 1);
        assert_eq!(ctx.dispatch().artifacts().all().len(), 1);
        Ok::<_, StepError>(Step::done().say(ctx.message("seen")?))
    };
    let built = agent(executor).store(store).spools(Guarded::new(spools, judge));
    let agent = built.clock(Arc::clone(&clock) as _).build().unwrap();
    let run = Errand::input(&agent).report();
    assert!(tokio::time::timeout(Duration::from_secs(1), run).await.is_err());
    clock.advance(Duration::from_secs(3600));
    let report = agent.resume(Errand::id()).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    assert_eq!(written.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn line_20_storing_bytes_changes_no_records() {
    let spools = Arc::new(MemorySpoolStore::new());
    let store = async |ctx: TurnContext, next: Next<TurnContext>| {
        let key = SpoolKey::of_turn(ctx.turn_id(), "picture");
        ctx.spooler().unwrap().store().write(key, "bytes".into()).await?;
        assert_eq!((ctx.messages().all().len(), ctx.retrievables().all().len()), (1, 0));
        assert!(ctx.tool_calls().all().is_empty() && ctx.artifacts().all().is_empty());
        next.run().await
    };
    let built = agent(say("x")).spools(Arc::clone(&spools) as _).turn_input("store", store);
    let report = input(&built.build().unwrap()).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    assert_eq!(spools.list().await.unwrap().len(), 1);
}

#[tokio::test]
async fn line_21_tools_on_artifacts_are_there_before_the_model() {
    let counts: Arc<Mutex<Vec<usize>>> = Arc::default();
    let noted = Arc::clone(&counts);
    let look = move |ctx: DispatchContext, next: Next<DispatchContext>| {
        let tools = ctx.tools().all();
        let forged = tools.iter().filter(|it| it.name().as_str().starts_with("artifact_"));
        noted.lock().unwrap().push(forged.count());
        next.run()
    };
    let large = haft::Tool::builder("large").description("L.").handler(|| "x".repeat(9000));
    let built = agent(steps([
        |_| Ok(Step::new().call(call("large", "{}"))),
        |_| Ok(Step::new()),
        |ctx| Ok(Step::done().say(ctx.message("done")?)),
    ]));
    let built = built.tool(large.build().unwrap()).dispatch_input("look", look);
    assert_eq!(
        input(&built.build().unwrap()).report().await.unwrap().outcome,
        TurnOutcome::Completed
    );
    let counts = counts.lock().unwrap();
    assert!(counts[0] > 0 && counts.iter().all(|it| *it == counts[0]), "{counts:?}");
}

#[tokio::test]
async fn line_24_a_log_entry_says_where_it_was_made() {
    let seen = Seen::default();
    let executor = |ctx: StepContext| async move {
        ctx.dispatch().log(LogLevel::Info, "look", "here", None);
        let step = if ctx.dispatch().iteration() == 0 { Step::new() } else { Step::done() };
        Ok::<_, StepError>(step.say(ctx.message("x")?))
    };
    let built = agent(executor).observer(seen.observer()).build().unwrap();
    input(&built).id("t").report().await.unwrap();
    let events = seen.events();
    let logs: Vec<_> = events.iter().filter(|it| it.kind.name().as_str() == "log").collect();
    let places: Vec<_> = logs.iter().map(|it| (&*it.dispatch, it.iteration)).collect();
    assert_eq!(places, [("t/dispatch", 0), ("t/dispatch", 1)]);
    let json = serde_json::to_value(logs[0]).unwrap();
    assert!(!json.to_string().contains("\"payload\":null"), "{json}");
}
