//! Reading journals.

use haft_core::store::{StoreError, StoredText, TurnId};

use super::super::super::journal::{ReplayedTurn, replay_journal};
use super::super::super::report::Conclusion;
use super::super::state::{ResumePoint, StoredStep, TurnState};
use super::*;

fn replay(entries: &[JournalEntry]) -> Result<ReplayedTurn, StoreError> {
    let turn: TurnId = "turn".parse().unwrap();
    let text = |entry: &JournalEntry| StoredText::from(serde_json::to_string(entry).unwrap());
    let texts: Vec<_> = entries.iter().map(text).collect();
    replay_journal(machine(Limits::new(), true), &turn, &texts)
}

#[track_caller]
fn check(entries: &[JournalEntry], expect: ResumePoint) {
    let replayed = replay(entries).unwrap();
    assert_eq!(replayed.machine.state, TurnState::Stored { resume_at: expect });
}

#[test]
fn a_turn_resumes_at_the_first_thing_that_is_not_journaled() {
    let calls = |iteration, limit| {
        let step = StoredStep { next: NextAction::Continue, limit };
        ResumePoint::Calls { iteration, step }
    };
    check(&[started()], ResumePoint::Iteration { iteration: 0 });
    check(&[started(), resumed()], ResumePoint::Iteration { iteration: 0 });
    let first = step(0, NextAction::Continue, 2, None);
    check(&[started(), first.clone()], calls(0, None));
    let limited = step(0, NextAction::Continue, 2, Some(Limit::IdenticalCalls));
    check(&[started(), limited], calls(0, Some(Limit::IdenticalCalls)));
    let over = [started(), first.clone(), iterated(0, false)];
    check(&over, ResumePoint::Iteration { iteration: 1 });
    check(&[started(), first.clone(), iterated(0, true)], ResumePoint::Output);
    // Middleware may end an iteration before the executor is asked.
    check(&[started(), iterated(0, true)], ResumePoint::Output);
    // A commit that failed may have been written all the same, and is repeated.
    let twice = [started(), first.clone(), iterated(0, false), resumed(), iterated(0, false)];
    check(&twice, ResumePoint::Iteration { iteration: 1 });
    let twice = [started(), first, iterated(0, true), iterated(0, true)];
    check(&twice, ResumePoint::Output);
}

#[test]
fn totals_and_messages_are_those_of_the_journal() {
    let entries = [
        started(),
        step(0, NextAction::Continue, 1, None),
        iterated(0, false),
        step(1, NextAction::Continue, 1, None),
    ];
    let machine = replay(&entries).unwrap().machine;
    assert_eq!(machine.totals().iterations, 1);
    assert_eq!(machine.totals().usage, Usage::new(16, 4));
    let messages: Vec<_> = machine.messages().iter().map(|it| it.as_str().to_owned()).collect();
    assert_eq!(messages, ["m-0", "m-1"]);
}

#[test]
fn the_last_stash_counts() {
    let stash = |n: u32| JournalEntry::Stash { stash: json!({ "n": n }) };
    let replayed = replay(&[started(), stash(1), stash(2)]).unwrap();
    assert_eq!(replayed.stash, json!({ "n": 2 }));
    assert_eq!(&*replayed.system_prompt, "You help.");
}

#[test]
fn a_turn_that_has_ended_keeps_its_end() {
    let end = ended(TurnOutcome::LimitReached { limit: Limit::Tokens }, None, 1);
    // The stash may be stored after the end.
    let stash = JournalEntry::Stash { stash: json!({ "late": true }) };
    let entries = [started(), step(0, NextAction::Done, 0, None), end, stash];
    let machine = replay(&entries).unwrap().machine;
    let outcome = TurnOutcome::LimitReached { limit: Limit::Tokens };
    assert_eq!(machine.end(), Some(&Conclusion::stored(outcome, None)));
    assert_eq!(machine.totals().iterations, 1);
}

#[test]
fn a_journal_in_an_impossible_order_is_damaged() {
    let impossible: [&[JournalEntry]; 7] = [
        &[],
        &[resumed()],
        &[started(), started()],
        &[started(), step(1, NextAction::Done, 0, None)],
        &[started(), step(0, NextAction::Done, 0, None), step(0, NextAction::Done, 0, None)],
        &[started(), iterated(3, false)],
        &[started(), ended(TurnOutcome::Completed, None, 1), step(0, NextAction::Done, 0, None)],
    ];
    for entries in impossible {
        let error = replay(entries).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{entries:?}: {error}");
    }
}

/// A word that a newer program stored survives, and is shown as it is.
#[test]
fn an_unknown_limit_survives() {
    let limit = Limit::from("energy");
    assert_eq!(limit, Limit::Other("energy".into()));
    assert_eq!(limit.to_string(), "energy");
    let text = serde_json::to_string(&TurnOutcome::LimitReached { limit }).unwrap();
    assert_eq!(text, r#"{"limit-reached":{"limit":"energy"}}"#);
    let again: TurnOutcome = serde_json::from_str(&text).unwrap();
    assert_eq!(again, TurnOutcome::LimitReached { limit: Limit::Other("energy".into()) });
}

#[test]
fn every_known_limit_is_stored_by_its_word() {
    for word in ["iterations", "identical-calls", "tool-calls", "tokens", "cost", "wall-time"] {
        let limit = Limit::from(word);
        assert!(!matches!(limit, Limit::Other(_)), "{word}");
        assert_eq!(limit.as_str(), word);
        assert_eq!(serde_json::to_string(&limit).unwrap(), format!("\"{word}\""));
    }
}

#[test]
fn a_newer_journal_is_refused_as_newer() {
    let mut newer = resumed();
    if let JournalEntry::Resumed { version, .. } = &mut newer {
        *version = 99;
    }
    let error = replay(&[started(), newer]).unwrap_err();
    assert!(matches!(error, StoreError::NewerVersion { found: 99, .. }), "{error}");
}
