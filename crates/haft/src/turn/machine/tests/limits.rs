//! Limits hold at exactly their number.

use haft_core::step::NextAction;
use haft_core::usage::Usage;

use super::super::effect::{Effect, StepVerdict};
use super::super::entry::{StepFacts, TurnEntry};
use super::super::state::{Phase, TurnState};
use super::*;

/// What the machine decides of a step with so many calls in the turn, the most frequent of them so often.
fn verdict(calls_made: usize, most_repeated: u32) -> StepVerdict {
    let mut machine = machine(Limits::new().tool_calls(3).identical_calls(2), true);
    machine.state = TurnState::Dispatch { iteration: 0, phase: Phase::Asking };
    let next = NextAction::Continue;
    let facts = StepFacts { next, has_calls: true, calls_made, most_repeated, can_end: false };
    let effects = machine.apply(TurnEntry::StepProposed(facts)).unwrap();
    match effects.into_iter().last() {
        Some(Effect::StoreStep(verdict)) => verdict,
        other => panic!("{other:?}"),
    }
}

#[test]
fn calls_are_refused_above_their_limits() {
    let (calls, identical) = (Limit::ToolCalls, Limit::IdenticalCalls);
    for (calls_made, most_repeated, expected) in [
        (3, 2, StepVerdict::Accepted),
        (1, 0, StepVerdict::Accepted),
        (4, 2, StepVerdict::LimitReached(calls.clone())),
        (4, 3, StepVerdict::LimitReached(calls)),
        (3, 3, StepVerdict::LimitReached(identical.clone())),
        (3, 9, StepVerdict::LimitReached(identical)),
    ] {
        assert_eq!(verdict(calls_made, most_repeated), expected, "{calls_made} {most_repeated}");
    }
}

/// Whether another iteration begins after so many, and after so many tokens.
fn begins(iteration: u32, tokens: u64) -> bool {
    let mut machine = machine(Limits::new().iterations(2).tokens(Some(10)), true);
    machine.totals.usage = Usage::new(tokens, 0);
    machine.state = TurnState::Dispatch { iteration, phase: Phase::Checking { step: None } };
    let ready = TurnEntry::IterationReady { wall_time_reached: false };
    let effects = machine.apply(ready).unwrap();
    effects.into_iter().any(|effect| matches!(effect, Effect::OpenIteration { .. }))
}

#[test]
fn iterations_and_tokens_end_at_their_limits() {
    for (iteration, tokens, expected) in
        [(0, 0, true), (1, 9, true), (2, 0, false), (1, 10, false), (0, 11, false)]
    {
        assert_eq!(begins(iteration, tokens), expected, "{iteration} {tokens}");
    }
}

#[test]
fn an_illegal_entry_is_named() {
    let refused = machine(Limits::new(), true).apply(TurnEntry::CallsFinished).unwrap_err();
    assert!(refused.to_string().ends_with("cannot take the entry `calls finished`"), "{refused}");
}
