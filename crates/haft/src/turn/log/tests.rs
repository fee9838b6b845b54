use std::fmt::Write as _;
use std::sync::Arc;

use haft_core::clock::Timestamp;
use haft_core::context::Hydration;
use haft_core::event::ErrorReport;
use haft_core::step::NextAction;
use haft_core::store::{StoreError, TurnId};
use haft_core::usage::Usage;
use serde_json::json;

use super::super::journal::{JournalEntry, StepEntry, StepTime, VERSION};
use super::super::limits::Limit;
use super::super::report::{Conclusion, TurnOutcome};
use super::{Position, StoredLog, StoredStep, TurnLog};

fn started() -> JournalEntry {
    JournalEntry::Started {
        version: VERSION,
        system_prompt: Arc::from("You help."),
        stash: json!({}),
        at: Timestamp::EPOCH,
        executor: Box::default(),
        nonce: None,
        memory_scope: None,
        definition: None,
        traceparent: None,
    }
}

fn resumed() -> JournalEntry {
    let by = "a test".to_owned();
    JournalEntry::Resumed { by, at: Timestamp::EPOCH, executor: None, definition: None }
}

fn step(iteration: u32, next: NextAction, limit: Option<Limit>) -> JournalEntry {
    JournalEntry::Step(StepEntry {
        iteration,
        thoughts: Box::default(),
        messages: vec![format!("m-{iteration}").parse().unwrap()],
        calls: "0".repeat(64).parse().into_iter().collect(),
        then: next,
        usage: Usage::new(8, 2),
        limit,
        request: None,
        model: None,
        options: None,
        tools: None,
        time: StepTime { at: Timestamp::EPOCH, wait: 0, write: 0 },
    })
}

fn iterated(iteration: u32, done: bool) -> JournalEntry {
    JournalEntry::Iterated { iteration, done, unchecked: false, storing: 0 }
}

fn ended(outcome: TurnOutcome, error: Option<ErrorReport>) -> JournalEntry {
    let usage = Usage::new(8, 2);
    JournalEntry::Ended { outcome, error, iterations: 1, usage, at: Timestamp::EPOCH, storing: 0 }
}

fn stopped() -> JournalEntry {
    let error = ErrorReport::reason("the model is away");
    JournalEntry::Stopped { error, at: Timestamp::EPOCH, storing: 0 }
}

fn stash(n: u32) -> JournalEntry {
    JournalEntry::Stash { stash: json!({ "n": n }) }
}

fn read(entries: &[JournalEntry]) -> Result<StoredLog, StoreError> {
    let turn: TurnId = "turn".parse().unwrap();
    let text = |entry: &JournalEntry| serde_json::to_string(entry).unwrap();
    let texts: Vec<_> = entries.iter().map(text).collect();
    StoredLog::read(&turn, &texts)
}

fn positions() -> Vec<(&'static str, Position)> {
    let step = StoredStep { next: NextAction::Continue, limit: None };
    vec![
        ("new", Position::New),
        ("iteration 1", Position::Iteration(1)),
        ("calls 1", Position::Calls { iteration: 1, step }),
        ("output", Position::Output),
        ("ended", Position::Ended(Conclusion::completed())),
    ]
}

fn entries() -> Vec<(&'static str, JournalEntry)> {
    let pending = JournalEntry::Pending { iteration: 1, then: NextAction::Done };
    vec![
        ("started", started()),
        ("resumed", resumed()),
        ("stash", stash(1)),
        ("hydrated", JournalEntry::Hydrated(Hydration::default())),
        ("pending", pending),
        ("step 1", step(1, NextAction::Done, None)),
        ("step 1 at a limit", step(1, NextAction::Done, Some(Limit::ToolCalls))),
        ("step 2", step(2, NextAction::Done, None)),
        ("iterated 0", iterated(0, false)),
        ("iterated 0 done", iterated(0, true)),
        ("iterated 1", iterated(1, false)),
        ("iterated 1 done", iterated(1, true)),
        ("iterated 2", iterated(2, false)),
        ("stopped", stopped()),
        ("ended", ended(TurnOutcome::Completed, None)),
    ]
}

fn show(position: &Position) -> String {
    match position {
        Position::New => "new".to_owned(),
        Position::Iteration(iteration) => format!("iteration {iteration}"),
        Position::Calls { iteration, step } => {
            let limit = step.limit.as_ref().map_or_else(String::new, |it| format!(" limit {it}"));
            format!("calls {iteration} {:?}{limit}", step.next)
        }
        Position::Output => "output".to_owned(),
        Position::Ended(conclusion) => format!("ended {}", conclusion.outcome),
    }
}

/// One line for each entry that can come at a position. Every other one is refused and changes nothing.
fn table() -> String {
    let mut table = String::new();
    for (name, position) in positions() {
        writeln!(table, "{name}").unwrap();
        for (entry_name, entry) in entries() {
            let mut log = TurnLog { position: position.clone(), ..TurnLog::new() };
            let before = log.clone();
            match log.advance(&entry) {
                Ok(()) => writeln!(table, "  {entry_name} -> {}", show(&log.position)).unwrap(),
                Err(illegal) => {
                    assert_eq!(log, before, "{name} with {entry_name}");
                    assert!(illegal.to_string().contains(entry.name()), "{illegal}");
                }
            }
        }
    }
    table
}

#[test]
fn every_position_with_every_entry() {
    insta::assert_snapshot!(table(), @r"
    new
      started -> iteration 0
    iteration 1
      resumed -> iteration 1
      stash -> iteration 1
      hydrated -> iteration 1
      pending -> iteration 1
      step 1 -> calls 1 Done
      step 1 at a limit -> calls 1 Done limit tool-calls
      iterated 0 -> iteration 1
      iterated 1 -> iteration 2
      iterated 1 done -> output
      stopped -> iteration 1
      ended -> ended completed
    calls 1
      resumed -> calls 1 Continue
      stash -> calls 1 Continue
      hydrated -> calls 1 Continue
      pending -> calls 1 Continue
      iterated 1 -> iteration 2
      iterated 1 done -> output
      stopped -> calls 1 Continue
      ended -> ended completed
    output
      resumed -> output
      stash -> output
      hydrated -> output
      pending -> output
      iterated 0 done -> output
      iterated 1 done -> output
      stopped -> output
      ended -> ended completed
    ended
      stash -> ended completed
      hydrated -> ended completed
      stopped -> ended completed
    ");
}

#[test]
fn totals_and_messages_are_those_of_the_journal() {
    let next = || NextAction::Continue;
    let entries = [started(), step(0, next(), None), iterated(0, false), step(1, next(), None)];
    let log = read(&entries).unwrap().log;
    assert_eq!(log.totals().iterations, 1);
    assert_eq!(log.totals().usage, Usage::new(16, 4));
    let messages: Vec<_> = log.messages().iter().map(|it| it.as_str().to_owned()).collect();
    assert_eq!(messages, ["m-0", "m-1"]);
}

#[test]
fn what_an_iteration_wanted_is_forgotten_with_it() {
    let pending = |iteration| JournalEntry::Pending { iteration, then: NextAction::Done };
    let mut log = read(&[started(), pending(0)]).unwrap().log;
    assert_eq!(log.clone().take_pending(1), None);
    assert_eq!(log.take_pending(0), Some(NextAction::Done));
    let mut log = read(&[started(), pending(0), iterated(0, false)]).unwrap().log;
    assert_eq!(log.take_pending(0), None);
}

#[test]
fn the_last_stash_counts() {
    let read = read(&[started(), stash(1), stash(2)]).unwrap();
    assert_eq!(read.stash, json!({ "n": 2 }));
    assert_eq!(&*read.system_prompt, "You help.");
}

#[test]
fn results_are_unchecked_until_their_iteration_has_ended() {
    let first = [started(), step(0, NextAction::Continue, None)];
    assert_eq!(read(&first).unwrap().unchecked, [0].into());
    let checked = [&first[..], &[iterated(0, false)]].concat();
    assert!(read(&checked).unwrap().unchecked.is_empty());
    let end = JournalEntry::Iterated { iteration: 0, done: false, unchecked: true, storing: 0 };
    assert_eq!(read(&[&first[..], &[end]].concat()).unwrap().unchecked, [0].into());
}

#[test]
fn a_turn_that_has_ended_keeps_its_end() {
    let outcome = TurnOutcome::LimitReached { limit: Limit::Tokens };
    // The stash may be stored after the end.
    let step = step(0, NextAction::Done, None);
    let entries = [started(), step, ended(outcome.clone(), None), stash(1)];
    let log = read(&entries).unwrap().log;
    assert_eq!(log.end(), Some(&Conclusion::stored(outcome, None)));
    assert_eq!(log.totals().iterations, 1);
}

#[test]
fn a_journal_in_an_impossible_order_is_damaged() {
    let done = || step(0, NextAction::Done, None);
    let impossible: [&[JournalEntry]; 7] = [
        &[],
        &[resumed()],
        &[started(), started()],
        &[started(), step(1, NextAction::Done, None)],
        &[started(), done(), done()],
        &[started(), iterated(3, false)],
        &[started(), ended(TurnOutcome::Completed, None), done()],
    ];
    for entries in impossible {
        let error = read(entries).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{entries:?}: {error}");
    }
}

#[test]
fn a_journal_of_another_version_is_refused() {
    for other in [0, 99] {
        let mut started = started();
        if let JournalEntry::Started { version, .. } = &mut started {
            *version = other;
        }
        let error = read(&[started]).unwrap_err();
        assert!(
            matches!(error, StoreError::OtherVersion { found, .. } if found == other),
            "{error}"
        );
    }
}
