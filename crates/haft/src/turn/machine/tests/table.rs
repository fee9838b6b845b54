//! Every state with every entry.

use std::fmt::Write as _;

use haft_core::context::Signal;

use super::super::super::report::Conclusion;
use super::super::state::{Phase, ResumePoint, StoredStep, TurnState};
use super::super::{Effect, Effects, Interruption, StepFacts, StepVerdict, TurnEntry, TurnTotals};
use super::*;

fn stored_step(next: NextAction) -> StoredStep {
    StoredStep { next, limit: None }
}

fn failure() -> ErrorReport {
    ErrorReport::reason("it broke")
}

fn states() -> Vec<(&'static str, TurnState)> {
    let dispatch = |phase| TurnState::Dispatch { iteration: 1, phase };
    let start = ResumePoint::Iteration { iteration: 1 };
    let calls = ResumePoint::Calls { iteration: 1, step: stored_step(NextAction::Continue) };
    let limited = StoredStep { next: NextAction::Continue, limit: Some(Limit::ToolCalls) };
    let stored = || Some(stored_step(NextAction::Continue));
    let completed = Conclusion::completed;
    vec![
        ("new", TurnState::New),
        ("stored", TurnState::Stored { resume_at: start.clone() }),
        ("stored (step)", TurnState::Stored { resume_at: calls.clone() }),
        ("stored (output)", TurnState::Stored { resume_at: ResumePoint::Output }),
        ("opening", TurnState::Opening { resume_at: start.clone() }),
        ("input", TurnState::Input { resume_at: start }),
        ("input (step)", TurnState::Input { resume_at: calls }),
        ("input (output)", TurnState::Input { resume_at: ResumePoint::Output }),
        ("1 checking", dispatch(Phase::Checking { step: None })),
        ("1 checking (step)", dispatch(Phase::Checking { step: stored() })),
        ("1 opening", dispatch(Phase::Opening { step: None })),
        ("1 opening (step)", dispatch(Phase::Opening { step: stored() })),
        ("1 input", dispatch(Phase::Input)),
        ("1 asking", dispatch(Phase::Asking)),
        ("1 storing", dispatch(Phase::Storing { ends_turn: false })),
        ("1 storing (end)", dispatch(Phase::Storing { ends_turn: true })),
        ("1 completing", dispatch(Phase::Completing)),
        ("1 calls", dispatch(Phase::Calls { step: stored_step(NextAction::Done) })),
        ("1 calls (limit)", dispatch(Phase::Calls { step: limited })),
        ("1 output", dispatch(Phase::Output)),
        ("1 signalling", dispatch(Phase::Signalling)),
        ("1 closing", dispatch(Phase::Closing { conclusion: None })),
        ("1 closing (ack)", dispatch(Phase::Closing { conclusion: Some(completed()) })),
        (
            "1 closing (failed)",
            dispatch(Phase::Closing { conclusion: Some(Conclusion::failed(failure())) }),
        ),
        ("acknowledging", TurnState::Acknowledging),
        ("output", TurnState::Output),
        ("ending", TurnState::Ending { conclusion: completed().into() }),
        ("ended", TurnState::Ended { conclusion: completed().into() }),
        ("suspended", TurnState::Suspended { conclusion: completed().into() }),
    ]
}

fn entries() -> Vec<(&'static str, TurnEntry)> {
    let journal = TurnEntry::from;
    let passed = |signal, pending| TurnEntry::StagePassed { signal, pending };
    let nack = || Signal::nack("no");
    let facts = |has_calls, calls_made| {
        TurnEntry::StepProposed(StepFacts {
            next: NextAction::Done,
            has_calls,
            calls_made,
            most_repeated: u32::from(has_calls),
            can_end: true,
        })
    };
    let failed = |resumable| {
        TurnEntry::Interrupted(Interruption::Failed { error: failure().into(), resumable })
    };
    vec![
        ("started", journal(started())),
        ("resumed", journal(resumed())),
        ("stash", journal(JournalEntry::Stash { stash: json!({}) })),
        ("hydrated", journal(JournalEntry::Hydrated(Hydration::default()))),
        ("step 1", journal(step(1, NextAction::Continue, 0, None))),
        ("step 1 with a call", journal(step(1, NextAction::Continue, 1, None))),
        ("step 1 at a limit", journal(step(1, NextAction::Done, 1, Some(Limit::ToolCalls)))),
        ("step 1, the last", journal(step(1, NextAction::Done, 0, None))),
        ("step 2", journal(step(2, NextAction::Done, 0, None))),
        ("iterated 0", journal(iterated(0, false))),
        ("iterated 1", journal(iterated(1, false))),
        ("iterated 1 done", journal(iterated(1, true))),
        ("iterated 2", journal(iterated(2, false))),
        ("ended", journal(ended(TurnOutcome::Completed, None, 2))),
        ("begun", TurnEntry::Begun),
        ("spooled", TurnEntry::InputSpooled),
        ("passed", passed(None, None)),
        ("passed, ack pending", passed(None, Some(Signal::Ack))),
        ("passed, nack given", passed(Some(nack()), Some(Signal::Ack))),
        ("ready", TurnEntry::IterationReady { wall_time_reached: false }),
        ("ready, late", TurnEntry::IterationReady { wall_time_reached: true }),
        ("opened", TurnEntry::IterationOpened),
        ("proposed", facts(false, 1)),
        ("proposed a call", facts(true, 1)),
        ("proposed too many calls", facts(true, 3)),
        ("calls finished", TurnEntry::CallsFinished),
        ("acked", TurnEntry::Signalled(Signal::Ack)),
        ("nacked", TurnEntry::Signalled(nack())),
        ("end not stored", TurnEntry::EndNotStored(failure().into())),
        ("failed", failed(false)),
        ("store failed", failed(true)),
        ("cancelled", TurnEntry::Interrupted(Interruption::cancelled("enough"))),
        ("wall time", TurnEntry::WallTimeReached),
    ]
}

/// The state in short, with what it remembers.
fn show_state(state: &TurnState) -> String {
    let step = |step: &StoredStep| {
        let limit = step.limit.as_ref().map_or_else(String::new, |it| format!(" limit {it}"));
        format!("{:?}{limit}", step.next).to_lowercase()
    };
    let point = |point: &ResumePoint| match point {
        ResumePoint::Iteration { iteration } => format!("at {iteration}"),
        ResumePoint::Calls { iteration, step: stored } => {
            format!("after step {iteration} {}", step(stored))
        }
        ResumePoint::Output => "at output".to_owned(),
    };
    match state {
        TurnState::New | TurnState::Acknowledging | TurnState::Output => state.name().to_owned(),
        TurnState::Stored { resume_at }
        | TurnState::Opening { resume_at }
        | TurnState::Input { resume_at } => format!("{} {}", state.name(), point(resume_at)),
        TurnState::Dispatch { iteration, phase } => {
            let rest = match phase {
                Phase::Checking { step: Some(stored) } | Phase::Opening { step: Some(stored) } => {
                    format!(" {}", step(stored))
                }
                Phase::Calls { step: stored } => format!(" {}", step(stored)),
                Phase::Closing { conclusion: Some(conclusion) } => {
                    format!(" {}", show_conclusion(conclusion))
                }
                _ => String::new(),
            };
            format!("{iteration} {}{rest}", state.name())
        }
        TurnState::Ending { conclusion }
        | TurnState::Ended { conclusion }
        | TurnState::Suspended { conclusion } => {
            format!("{} {}", state.name(), show_conclusion(conclusion))
        }
    }
}

fn show_conclusion(conclusion: &Conclusion) -> String {
    match &conclusion.outcome {
        TurnOutcome::Completed => "completed".to_owned(),
        TurnOutcome::Failed => "failed".to_owned(),
        TurnOutcome::Cancelled { .. } => "cancelled".to_owned(),
        TurnOutcome::LimitReached { limit } => format!("limit {limit}"),
        TurnOutcome::Waiting { .. } => "waiting".to_owned(),
    }
}

fn show_effect(effect: &Effect, totals: &TurnTotals) -> String {
    match effect {
        Effect::RunStage(stage) => format!("run {stage}"),
        Effect::StoreStep(StepVerdict::Accepted) => "store step".to_owned(),
        Effect::StoreStep(StepVerdict::LimitReached(limit)) => {
            format!("store step at limit {limit}")
        }
        Effect::StoreStep(StepVerdict::EndsTurn { iterations }) => {
            format!("store step and end after {iterations}")
        }
        Effect::OpenIteration { iteration } => format!("open iteration {iteration}"),
        Effect::JournalIteration { iteration, done } => {
            format!("journal iteration {iteration}{}", if *done { " done" } else { "" })
        }
        Effect::SignalDispatch(Signal::Ack) => "ack".to_owned(),
        Effect::SignalDispatch(_) => "nack".to_owned(),
        Effect::SetPendingSignal(None) => "nothing pending".to_owned(),
        Effect::SetPendingSignal(Some(Signal::Ack)) => "ack pending".to_owned(),
        Effect::SetPendingSignal(Some(_)) => "nack pending".to_owned(),
        Effect::CloseDispatch { conclusion } => {
            format!("close dispatch {}", show_conclusion(conclusion))
        }
        Effect::StoreEnd { conclusion, .. } => format!("store end {}", show_conclusion(conclusion)),
        Effect::AnnounceEnd { conclusion } => {
            let iterations = totals.iterations;
            format!("announce end {} after {iterations}", show_conclusion(conclusion))
        }
        Effect::CloseIteration => "close iteration".to_owned(),
        Effect::ReportError(_) => "report error".to_owned(),
        other => {
            let mut words = String::new();
            for letter in format!("{other:?}").chars() {
                if letter.is_uppercase() && !words.is_empty() {
                    words.push(' ');
                }
                words.extend(letter.to_lowercase());
            }
            words
        }
    }
}

/// All transitions: one line for each entry that a state allows. Every other pair is refused and changes nothing.
fn transitions() -> String {
    let mut table = String::new();
    for (name, state) in states() {
        writeln!(table, "{name}").unwrap();
        for (entry_name, entry) in entries() {
            let mut machine = machine(Limits::new().tool_calls(2), false);
            machine.state = state.clone();
            let before = machine.clone();
            match machine.apply(entry) {
                Ok(effects) => {
                    let state = show_state(&machine.state);
                    write!(table, "  {entry_name} -> {state}").unwrap();
                    if effects.last.is_some() {
                        let effects: Vec<_> =
                            effects.iter().map(|it| show_effect(it, machine.totals())).collect();
                        write!(table, ": {}", effects.join(", ")).unwrap();
                    }
                    table.push('\n');
                }
                Err(illegal) => {
                    assert_eq!(machine, before, "{name} with {entry_name}");
                    assert_eq!(illegal.state, state.name());
                }
            }
        }
    }
    table
}

#[test]
fn every_state_with_every_entry() {
    insta::assert_snapshot!(transitions(), @r##"
    new
      started -> stored at 0
    stored
      resumed -> stored at 1
      stash -> stored at 1
      hydrated -> stored at 1
      step 1 -> stored after step 1 continue
      step 1 with a call -> stored after step 1 continue
      step 1 at a limit -> stored after step 1 done limit tool-calls
      step 1, the last -> stored after step 1 done
      iterated 0 -> stored at 1
      iterated 1 -> stored at 2
      iterated 1 done -> stored at output
      ended -> ended completed
      begun -> opening at 1: announce turn, spool input
    stored (step)
      resumed -> stored after step 1 continue
      stash -> stored after step 1 continue
      hydrated -> stored after step 1 continue
      iterated 1 -> stored at 2
      iterated 1 done -> stored at output
      ended -> ended completed
      begun -> opening after step 1 continue: announce turn, spool input
    stored (output)
      resumed -> stored at output
      stash -> stored at output
      hydrated -> stored at output
      iterated 1 done -> stored at output
      ended -> ended completed
      begun -> opening at output: announce turn, spool input
    opening
      stash -> opening at 1
      hydrated -> opening at 1
      spooled -> in its input pipeline at 1: run turn-input
      failed -> ending failed: report error, store end failed
      store failed -> suspended failed: report error, release lease, announce end failed after 0
      cancelled -> ending cancelled: store end cancelled
      wall time -> opening at 1: cancel work
    input
      stash -> in its input pipeline at 1
      hydrated -> in its input pipeline at 1
      passed -> 1 checking an iteration: announce dispatch, bind tools, check iteration
      passed, ack pending -> 1 checking an iteration: announce dispatch, bind tools, check iteration
      passed, nack given -> 1 checking an iteration: announce dispatch, bind tools, check iteration
      failed -> ending failed: report error, store end failed
      store failed -> suspended failed: report error, release lease, announce end failed after 0
      cancelled -> ending cancelled: store end cancelled
      wall time -> in its input pipeline at 1: cancel work
    input (step)
      stash -> in its input pipeline after step 1 continue
      hydrated -> in its input pipeline after step 1 continue
      passed -> 1 checking an iteration continue: announce dispatch, bind tools, check iteration
      passed, ack pending -> 1 checking an iteration continue: announce dispatch, bind tools, check iteration
      passed, nack given -> 1 checking an iteration continue: announce dispatch, bind tools, check iteration
      failed -> ending failed: report error, store end failed
      store failed -> suspended failed: report error, release lease, announce end failed after 0
      cancelled -> ending cancelled: store end cancelled
      wall time -> in its input pipeline after step 1 continue: cancel work
    input (output)
      stash -> in its input pipeline at output
      hydrated -> in its input pipeline at output
      passed -> acknowledging: announce dispatch, ack
      passed, ack pending -> acknowledging: announce dispatch, ack
      passed, nack given -> acknowledging: announce dispatch, ack
      failed -> ending failed: report error, store end failed
      store failed -> suspended failed: report error, release lease, announce end failed after 0
      cancelled -> ending cancelled: store end cancelled
      wall time -> in its input pipeline at output: cancel work
    1 checking
      stash -> 1 checking an iteration
      hydrated -> 1 checking an iteration
      ready -> 1 opening an iteration: open iteration 1
      ready, late -> ending limit wall-time: close dispatch limit wall-time, store end limit wall-time
      failed -> ending failed: close dispatch failed, store end failed
      store failed -> suspended failed: close dispatch failed, release lease, announce end failed after 0
      cancelled -> ending cancelled: close dispatch cancelled, store end cancelled
      wall time -> 1 checking an iteration: cancel work
    1 checking (step)
      stash -> 1 checking an iteration continue
      hydrated -> 1 checking an iteration continue
      ready -> 1 opening an iteration continue: open iteration 1
      ready, late -> 1 opening an iteration continue: open iteration 1
      failed -> ending failed: close dispatch failed, store end failed
      store failed -> suspended failed: close dispatch failed, release lease, announce end failed after 0
      cancelled -> ending cancelled: close dispatch cancelled, store end cancelled
      wall time -> 1 checking an iteration continue: cancel work
    1 opening
      stash -> 1 opening an iteration
      hydrated -> 1 opening an iteration
      opened -> 1 in the input pipeline of an iteration: run dispatch-input
      failed -> ending failed: close dispatch failed, store end failed
      store failed -> suspended failed: close dispatch failed, release lease, announce end failed after 0
      cancelled -> ending cancelled: close dispatch cancelled, store end cancelled
      wall time -> 1 opening an iteration: cancel work
    1 opening (step)
      stash -> 1 opening an iteration continue
      hydrated -> 1 opening an iteration continue
      opened -> 1 executing calls continue: finish calls
      failed -> ending failed: close dispatch failed, store end failed
      store failed -> suspended failed: close dispatch failed, release lease, announce end failed after 0
      cancelled -> ending cancelled: close dispatch cancelled, store end cancelled
      wall time -> 1 opening an iteration continue: cancel work
    1 input
      stash -> 1 in the input pipeline of an iteration
      hydrated -> 1 in the input pipeline of an iteration
      passed -> 1 asking the executor: ask executor
      passed, ack pending -> 1 asking the executor: ask executor
      passed, nack given -> 1 closing an iteration failed: journal iteration 1
      failed -> 1 closing an iteration failed: journal iteration 1
      store failed -> suspended failed: close iteration, close dispatch failed, release lease, announce end failed after 0
      cancelled -> 1 closing an iteration cancelled: journal iteration 1
      wall time -> 1 in the input pipeline of an iteration: cancel work
    1 asking
      stash -> 1 asking the executor
      hydrated -> 1 asking the executor
      proposed -> 1 storing a step: store step and end after 2
      proposed a call -> 1 storing a step: store step
      proposed too many calls -> 1 storing a step: store step at limit tool-calls
      failed -> 1 closing an iteration failed: journal iteration 1
      store failed -> suspended failed: close iteration, close dispatch failed, release lease, announce end failed after 0
      cancelled -> 1 closing an iteration cancelled: journal iteration 1
      wall time -> 1 asking the executor: cancel work
    1 storing
      stash -> 1 storing a step
      hydrated -> 1 storing a step
      step 1 -> 1 in the output pipeline of an iteration: nothing pending, run dispatch-output
      step 1 with a call -> 1 executing calls continue: execute calls
      step 1 at a limit -> 1 closing an iteration limit tool-calls: journal iteration 1
      step 1, the last -> 1 in the output pipeline of an iteration: ack pending, run dispatch-output
      failed -> 1 closing an iteration failed: journal iteration 1
      store failed -> suspended failed: close iteration, close dispatch failed, release lease, announce end failed after 0
      cancelled -> 1 closing an iteration cancelled: journal iteration 1
      wall time -> 1 storing a step: cancel work
    1 storing (end)
      stash -> 1 storing a step
      hydrated -> 1 storing a step
      step 1, the last -> 1 completing with a step
      failed -> 1 closing an iteration failed: journal iteration 1
      store failed -> suspended failed: close iteration, close dispatch failed, release lease, announce end failed after 0
      cancelled -> 1 closing an iteration cancelled: journal iteration 1
      wall time -> 1 storing a step: cancel work
    1 completing
      stash -> 1 completing with a step
      hydrated -> 1 completing with a step
      ended -> ended completed: acknowledge, close iteration, close dispatch completed, flush deferred, release lease, announce end completed after 2
      wall time -> 1 completing with a step: cancel work
    1 calls
      stash -> 1 executing calls done
      hydrated -> 1 executing calls done
      calls finished -> 1 in the output pipeline of an iteration: ack pending, run dispatch-output
      failed -> 1 closing an iteration failed: journal iteration 1
      store failed -> suspended failed: close iteration, close dispatch failed, release lease, announce end failed after 0
      cancelled -> 1 closing an iteration cancelled: journal iteration 1
      wall time -> 1 executing calls done: cancel work
    1 calls (limit)
      stash -> 1 executing calls continue limit tool-calls
      hydrated -> 1 executing calls continue limit tool-calls
      calls finished -> 1 closing an iteration limit tool-calls: journal iteration 1
      failed -> 1 closing an iteration failed: journal iteration 1
      store failed -> suspended failed: close iteration, close dispatch failed, release lease, announce end failed after 0
      cancelled -> 1 closing an iteration cancelled: journal iteration 1
      wall time -> 1 executing calls continue limit tool-calls: cancel work
    1 output
      stash -> 1 in the output pipeline of an iteration
      hydrated -> 1 in the output pipeline of an iteration
      passed -> 1 closing an iteration: journal iteration 1
      passed, ack pending -> 1 signalling the dispatch: ack
      passed, nack given -> 1 closing an iteration failed: journal iteration 1
      failed -> 1 closing an iteration failed: journal iteration 1
      store failed -> suspended failed: close iteration, close dispatch failed, release lease, announce end failed after 0
      cancelled -> 1 closing an iteration cancelled: journal iteration 1
      wall time -> 1 in the output pipeline of an iteration: cancel work
    1 signalling
      stash -> 1 signalling the dispatch
      hydrated -> 1 signalling the dispatch
      acked -> 1 closing an iteration completed: journal iteration 1 done
      nacked -> 1 closing an iteration failed: journal iteration 1
      wall time -> 1 signalling the dispatch: cancel work
    1 closing
      stash -> 1 closing an iteration
      hydrated -> 1 closing an iteration
      iterated 1 -> 2 checking an iteration: close iteration, check iteration
      wall time -> 1 closing an iteration: cancel work
    1 closing (ack)
      stash -> 1 closing an iteration completed
      hydrated -> 1 closing an iteration completed
      iterated 1 done -> in its output pipeline: close iteration, close dispatch completed, run turn-output
      wall time -> 1 closing an iteration completed: cancel work
    1 closing (failed)
      stash -> 1 closing an iteration failed
      hydrated -> 1 closing an iteration failed
      iterated 1 -> ending failed: close iteration, close dispatch failed, store end failed
      wall time -> 1 closing an iteration failed: cancel work
    acknowledging
      stash -> acknowledging
      hydrated -> acknowledging
      acked -> in its output pipeline: close dispatch completed, run turn-output
      nacked -> ending failed: close dispatch failed, store end failed
      wall time -> acknowledging: cancel work
    output
      stash -> in its output pipeline
      hydrated -> in its output pipeline
      passed -> ending completed: store end completed
      passed, ack pending -> ending completed: store end completed
      passed, nack given -> ending completed: store end completed
      failed -> ending failed: report error, store end failed
      store failed -> suspended failed: report error, release lease, announce end failed after 0
      cancelled -> ending cancelled: store end cancelled
      wall time -> in its output pipeline: cancel work
    ending
      stash -> ending completed
      hydrated -> ending completed
      ended -> ended completed: release lease, announce end completed after 2
      end not stored -> suspended failed: report error, release lease, announce end failed after 0
    ended
      stash -> ended completed
      hydrated -> ended completed
    suspended
      stash -> suspended completed
      hydrated -> suspended completed
    "##);
}

/// At most the last effect is answered by an entry: nothing follows it until the answer is there.
#[test]
fn only_the_last_effect_is_answered() {
    let is_answered = |effect: &Effect| {
        matches!(
            effect,
            Effect::SpoolInput
                | Effect::RunStage(_)
                | Effect::CheckIteration
                | Effect::OpenIteration { .. }
                | Effect::AskExecutor
                | Effect::StoreStep(_)
                | Effect::ExecuteCalls
                | Effect::FinishCalls
                | Effect::SignalDispatch(_)
                | Effect::JournalIteration { .. }
                | Effect::StoreEnd { .. }
        )
    };
    for (name, state) in states() {
        for (entry_name, entry) in entries() {
            let mut machine = machine(Limits::new(), false);
            machine.state = state.clone();
            let Ok(effects) = machine.apply(entry) else { continue };
            let answered = effects.iter().filter(|it| is_answered(it)).count();
            assert!(answered <= 1, "{name} with {entry_name}: {effects:?}");
            if answered == 1 {
                assert!(is_answered(effects.last.as_ref().unwrap()), "{name} with {entry_name}");
            }
        }
    }
}

/// Whatever number of effects there is, they are taken in the order in which they were added, also if others are added
/// between.
#[test]
fn effects_are_taken_in_order() {
    let numbered = |iteration| Effect::OpenIteration { iteration };
    for count in 0..8 {
        let all: Vec<Effect> = (0..count).map(numbered).collect();
        let effects: Effects = all.iter().cloned().collect();
        assert_eq!(effects.iter().cloned().collect::<Vec<_>>(), all);
        assert_eq!(effects.clone().into_iter().collect::<Vec<_>>(), all);
        for taken in 0..count {
            let mut effects = effects.clone();
            let mut found: Vec<Effect> = (0..taken).filter_map(|_| effects.pop_first()).collect();
            effects.push(numbered(count));
            found.extend(effects);
            assert_eq!(found, (0..=count).map(numbered).collect::<Vec<_>>());
        }
    }
}

/// A turn that was cancelled because it had worked for too long has reached a limit.
#[test]
fn cancelled_work_has_reached_the_wall_time() {
    let mut machine = machine(Limits::new(), false);
    machine.state = TurnState::Output;
    assert_eq!(machine.apply(TurnEntry::WallTimeReached), Ok(Effect::CancelWork.into()));
    assert!(!machine.is_working(), "the time is reached once");
    let cancelled = TurnEntry::Interrupted(Interruption::cancelled("deadline"));
    machine.apply(cancelled).unwrap();
    let conclusion = Conclusion::limit_reached(Limit::WallTime).into();
    assert_eq!(machine.state, TurnState::Ending { conclusion });
}

/// An end that could not be stored did not happen.
#[test]
fn an_end_that_is_not_stored_suspends_the_turn() {
    let mut machine = machine(Limits::new(), false);
    machine.state = TurnState::Ending { conclusion: Conclusion::completed().into() };
    machine.apply(TurnEntry::EndNotStored(failure().into())).unwrap();
    assert!(machine.end().is_none());
    let conclusion = machine.into_conclusion();
    assert_eq!((conclusion.outcome, conclusion.is_final), (TurnOutcome::Failed, false));
    assert_eq!(conclusion.error, Some(failure().into()));
}

/// An attempt can end between two entries: at gates, or because the driver broke an invariant.
#[test]
fn an_attempt_that_ends_closes_what_is_open_and_leaves_the_turn_resumable() {
    #[track_caller]
    fn check(name: &str, suspend: fn(&mut TurnMachine) -> Effects, expected: &str) {
        let mut machine = machine(Limits::new(), false);
        (_, machine.state) = states().into_iter().find(|(it, _)| *it == name).unwrap();
        let effects = suspend(&mut machine);
        let effects: Vec<_> = effects.iter().map(|it| show_effect(it, machine.totals())).collect();
        let shown = format!("{}: {}", show_state(&machine.state), effects.join(", "));
        assert_eq!(shown, expected, "{name}");
        assert!(machine.end().is_none());
        assert!(!machine.into_conclusion().is_final);
    }
    let waiting = |machine: &mut TurnMachine| machine.suspend_waiting(Conclusion::waiting(vec![]));
    let free = "suspended waiting: release lease, announce end waiting after 0";
    let inside = "suspended waiting: close iteration, close dispatch waiting, release lease, \
                  announce end waiting after 0";
    check("input", waiting, free);
    check("output", waiting, free);
    check("1 input", waiting, inside);
    check("1 calls", waiting, inside);
    let broken =
        |machine: &mut TurnMachine| machine.suspend(Conclusion::failed(failure()).resumable());
    let expected = "suspended failed: release lease, announce end failed after 0";
    check("output", broken, expected);
    check("1 calls", broken, expected);
}

/// A few effects are kept without an allocation, more of them with one. The order is that in which they were added.
#[test]
fn effects_are_taken_in_the_order_in_which_they_were_added() {
    let all = [Effect::AskExecutor, Effect::ExecuteCalls, Effect::FinishCalls, Effect::Acknowledge];
    for count in 0..=all.len() {
        let expected = all.get(..count).unwrap();
        let mut taken = expected.iter().cloned().collect::<Effects>();
        assert_eq!(taken.is_empty(), count == 0);
        assert_eq!(taken.iter().cloned().collect::<Vec<_>>(), expected);
        assert_eq!(std::iter::from_fn(|| taken.pop_first()).collect::<Vec<_>>(), expected);
        assert!(taken.is_empty());
        for first in 0..=count {
            let (before, behind) = expected.split_at(first);
            let mut joined = before.iter().cloned().collect::<Effects>();
            joined.append(behind.iter().cloned().collect());
            assert_eq!(joined.into_iter().collect::<Vec<_>>(), expected, "{first} of {count}");
            let mut rest = expected.iter().cloned().collect::<Effects>();
            (0..first).for_each(|_| drop(rest.pop_first()));
            rest.push(Effect::BindTools);
            let expected = [behind, &[Effect::BindTools]].concat();
            assert_eq!(rest.into_iter().collect::<Vec<_>>(), expected, "{first} of {count}");
        }
    }
}
