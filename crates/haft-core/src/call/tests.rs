mod stored;

use std::num::NonZeroU32;

use serde_json::json;

use super::{CallError, CallState, OccurrenceCounter, ToolCall};
use crate::clock::Timestamp;
use crate::error::{Coded as _, codes};
use crate::schema::args::RawArgs;

const STATES: [CallState; 7] = [
    CallState::Requested,
    CallState::Approved,
    CallState::Running,
    CallState::Succeeded,
    CallState::Failed,
    CallState::Cancelled,
    CallState::Unknown,
];

fn requested() -> ToolCall {
    let raw = RawArgs::value(&json!({ "city": "Paris" }));
    ToolCall::requested("get_weather", raw, NonZeroU32::MIN, Timestamp::EPOCH)
}

#[test]
fn a_record_computes_its_own_key() {
    let call = requested();
    let expected = "ba8075d61fa9a60d8b504b7fcec9a91adfad0e874c1855362f45934e19646342";
    assert_eq!(call.call_id().to_string(), expected);
    assert_eq!(call.id().to_string(), expected);
    assert!(!call.from_artifact_tool && !call.inline);
    assert_eq!(call.completed_at, None);
}

#[test]
fn states_go_one_way_and_end() {
    let allowed: Vec<_> = STATES
        .iter()
        .flat_map(|from| STATES.iter().map(move |to| (*from, *to)))
        .filter(|(from, to)| from.may_become(*to))
        .collect();
    use CallState as S;
    assert_eq!(
        allowed,
        [
            (S::Requested, S::Approved),
            (S::Requested, S::Failed),
            (S::Requested, S::Cancelled),
            (S::Approved, S::Running),
            (S::Approved, S::Failed),
            (S::Approved, S::Cancelled),
            (S::Running, S::Succeeded),
            (S::Running, S::Failed),
            (S::Running, S::Cancelled),
            (S::Running, S::Unknown),
        ]
    );
}

#[test]
fn an_impossible_step_is_refused_and_changes_nothing() {
    let mut call = requested();
    let error = call.advance(CallState::Succeeded, Timestamp::MAX).unwrap_err();
    assert_eq!(error.code(), "E_INVALID_INITIAL_TOOL_CALL_VALUE");
    assert_eq!((call.state(), call.updated_at), (CallState::Requested, Timestamp::EPOCH));
    for state in [CallState::Approved, CallState::Running, CallState::Succeeded] {
        call.advance(state, Timestamp::MAX).unwrap();
    }
    assert_eq!(call.completed_at, Some(Timestamp::MAX));
}

#[test]
fn repeats_of_a_call_have_records_of_their_own() {
    let mut turn = OccurrenceCounter::default();
    let id = requested().call_id();
    let first = turn.next(id);
    let second = turn.next(id);
    assert_eq!(first.to_string(), id.to_string());
    assert_eq!(second.to_string(), format!("{id}#2"));
    assert_eq!(second.call_id(), first.call_id());
}

#[test]
fn states_have_the_words_that_are_stored() {
    let words: Vec<_> = STATES.iter().map(ToString::to_string).collect();
    let expected =
        ["requested", "approved", "running", "succeeded", "failed", "cancelled", "unknown"];
    assert_eq!(words, expected);
    assert_eq!(format!("{:>10}", CallState::Failed), "    failed");
}

#[test]
fn a_call_proposes_its_edited_arguments() {
    let call = requested();
    assert_eq!(call.proposed().to_text(), r#"{"city":"Paris"}"#);
    let call = call.with_edited(r#"{"city":"Rome"}"#);
    assert_eq!(call.proposed().to_text(), r#"{"city":"Rome"}"#);
}

#[test]
fn a_call_ends_once_and_only_without_a_result() {
    let error = || CallError { code: codes::STORE, message: "m".into(), retryable: true };
    let end = |call: ToolCall, state| call.ended(state, error(), Timestamp::EPOCH);
    for state in STATES {
        let ended = end(requested(), state);
        let can_end = state.is_final() && state != CallState::Succeeded;
        let expected = if can_end { state } else { CallState::Requested };
        assert_eq!((ended.state(), ended.error.is_some()), (expected, can_end), "{state}");
    }
    let failed = end(end(requested(), CallState::Failed), CallState::Cancelled);
    assert_eq!(failed.state(), CallState::Failed);
}
