use haft_core::usage::Usage;

use super::super::report::TurnOutcome;
use super::{Limit, Limits};

#[test]
fn calls_are_refused_above_their_limits() {
    let limits = Limits::new().tool_calls(3).identical_calls(2);
    for (calls_made, most_repeated, expected) in [
        (3, 2, None),
        (1, 0, None),
        (4, 2, Some(Limit::ToolCalls)),
        (4, 3, Some(Limit::ToolCalls)),
        (3, 3, Some(Limit::IdenticalCalls)),
        (3, 9, Some(Limit::IdenticalCalls)),
    ] {
        let reached = limits.of_calls(calls_made, most_repeated);
        assert_eq!(reached, expected, "{calls_made} {most_repeated}");
    }
}

#[test]
fn iterations_tokens_and_time_end_at_their_limits() {
    let limits = Limits::new().iterations(2).tokens(Some(10));
    for (iteration, tokens, is_late, expected) in [
        (0, 0, false, None),
        (1, 9, false, None),
        (1, 9, true, Some(Limit::WallTime)),
        (2, 0, false, Some(Limit::Iterations)),
        (1, 10, false, Some(Limit::Tokens)),
        (0, 11, true, Some(Limit::Tokens)),
    ] {
        let reached = limits.before_iteration(iteration, Usage::new(tokens, 0), is_late);
        assert_eq!(reached, expected, "{iteration} {tokens} {is_late}");
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
