//! The status of every failure.

use haft::executors::ExecutorDescription;
use haft::schema::{InputSchema, Problems, RawArgs, Strictness, integer, object};
use haft::stores::{SpoolError, StoreError};
use haft::turn::{InvalidEdit, SettleError, Timestamp, TurnError};

use super::ApiError;

/// What is wrong with arguments that lack a field.
fn problems() -> Problems {
    let schema = InputSchema::new(object().field("days", integer().required())).unwrap();
    schema.accept("tool", &RawArgs::text("{}"), Strictness::Strict).unwrap_err()
}

/// A held turn, as a store reports it.
fn held() -> StoreError {
    let turn = "t".parse().unwrap();
    StoreError::Held { turn, holder: "worker".into(), until: Timestamp::EPOCH }
}

fn backend() -> StoreError {
    StoreError::backend("commit", std::io::Error::other("the disk is full"))
}

#[track_caller]
fn check(error: impl Into<ApiError>, status: u16, code: &str, message: &str) {
    let error = error.into();
    assert_eq!(
        (error.status.as_u16(), error.code.as_str(), error.message.as_str()),
        (status, code, message)
    );
    // Only a failure of the server is worth an alarm.
    assert_eq!(error.status.is_server_error(), status >= 500);
}

const HELD: &str = "the turn `t` is run by `worker`, whose lease ends at 1970-01-01T00:00:00.000000Z unless it is renewed; \
                    wait for that process, or resume the turn after that time if the process has died";

#[test]
fn errors_of_a_store_have_their_statuses() {
    let turn = "t".parse().unwrap();
    let lost = StoreError::LeaseLost { turn };
    let turn = "t".parse().unwrap();
    let lost_text = "the lease on the turn `t` was taken over or given back; nothing was written";
    let invalid = StoreError::Invalid { what: "the input", reason: "it is too large" };
    check(StoreError::unknown_turn(&turn), 404, "E_STORE", "there is no turn `t`");
    check(StoreError::turn_exists(&turn), 409, "E_STORE", "there is a turn `t` already");
    check(held(), 409, "E_STORE", HELD);
    check(lost, 409, "E_STORE", lost_text);
    check(invalid, 422, "E_STORE", "the input cannot be kept: it is too large");
    check(backend(), 500, "E_STORE", "could not commit: the disk is full");
    let other = "the store belongs to another key; give this process the key or the secret that \
                 the store was made with, or use another store";
    check(StoreError::OtherSecret, 500, "E_STORE", other);
}

#[test]
fn a_held_turn_says_what_can_be_done() {
    let hint = "another process runs the turn; stop it there, or wait until its lease has expired";
    assert_eq!(ApiError::from(held()).hint.as_deref(), Some(hint));
    assert_eq!(ApiError::from(TurnError::Store(held())).hint.as_deref(), Some(hint));
    assert_eq!(ApiError::from(backend()).hint, None);
}

#[test]
fn errors_of_a_turn_have_their_statuses() {
    let invalid = TurnError::Invalid { field: "user", reason: "it is empty".to_owned() };
    let refused = "the turn was refused: `user`: it is empty";
    check(invalid, 400, "E_INVALID_TURN_CONTEXT", refused);
    check(TurnError::Store(held()), 409, "E_STORE", HELD);
    check(TurnError::Store(backend()), 500, "E_STORE", "could not commit: the disk is full");
    let executor = |name: &str| Box::new(ExecutorDescription::model(name, "m", ""));
    let other = TurnError::OtherExecutor {
        turn: "t".parse().unwrap(),
        stored: executor("a"),
        given: executor("b"),
        differences: vec!["the name".to_owned()],
    };
    let message = other.to_string();
    check(other, 409, "E_INVALID_TURN_RUNNER_CONFIG", &message);
    // The code has a status that HTTP does not know.
    let no_agent = TurnError::no_agent(&"t".parse().unwrap(), "no agent `a`");
    let message = "turn `t` cannot be run: no agent `a`";
    check(no_agent, 500, "E_INVALID_TURN_RUNNER_CONFIG", message);
}

#[test]
fn errors_of_a_decision_have_their_statuses() {
    let resolution = "E_INVALID_TURN_GATE_RESOLUTION";
    let not_an_approval =
        "the gate does not wait for the approval of a call, so no later call can be approved at it";
    let no_edit =
        "the gate does not wait for the approval of a call, so there are no arguments to edit";
    check(SettleError::NotAnApproval, 422, resolution, not_an_approval);
    for error in [
        SettleError::Invalid { problems: problems() },
        SettleError::Edit(InvalidEdit::Problems(problems())),
    ] {
        let message = error.to_string();
        check(error, 422, resolution, &message);
    }
    check(SettleError::Edit(InvalidEdit::NotAnApproval), 422, resolution, no_edit);
    let closed = SettleError::Closed { settlement: "approved by Ada".to_owned() };
    let text = "the gate was settled before: approved by Ada";
    check(closed, 409, "E_TURN_GATE_ALREADY_SETTLED", text);
    let expired = SettleError::Expired { at: Timestamp::EPOCH };
    let text =
        "the gate expired at 1970-01-01T00:00:00.000000Z, and the turn does not wait any more";
    check(expired, 409, "E_TURN_GATE_TIMEOUT", text);
    let unknown = StoreError::unknown_gate(&"g".parse().unwrap());
    check(SettleError::Store(unknown), 404, "E_STORE", "there is no gate `g`");
    check(SettleError::Store(held()), 409, "E_STORE", HELD);
    check(SettleError::Store(backend()), 500, "E_STORE", "could not commit: the disk is full");
}

#[test]
fn problems_of_a_decision_name_their_fields() {
    for error in [
        SettleError::Invalid { problems: problems() },
        SettleError::Edit(InvalidEdit::Problems(problems())),
    ] {
        let error = ApiError::from(error);
        let fields: Vec<&str> = error.problems.iter().map(|it| it.pointer.as_str()).collect();
        assert_eq!(fields, ["/days"]);
    }
}

#[test]
fn errors_of_stored_content_are_failures_of_the_server() {
    let read_only = SpoolError::ReadOnly { doing: "delete" };
    let text = "could not delete: the spool store is open for reading only";
    check(read_only, 500, "E_STORE", text);
    let store = SpoolError::Store { doing: "open", source: std::io::Error::other("denied") };
    check(store, 500, "E_STORE", "could not open the spool store: denied");
}
