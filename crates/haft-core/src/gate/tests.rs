use serde_json::json;

use super::*;
use crate::id::CallId;

fn args(text: &str) -> Args {
    Args::parse(text).unwrap()
}

fn gate(id: &str, tool: &str, accepted: &str) -> Gate {
    let record = RecordId::first(CallId::of_text(tool, accepted));
    let request = GateRequest::new("may I?").schema(json!({"type": "boolean"}));
    Gate::open(id.parse().unwrap(), "turn".parse().unwrap(), request, Timestamp::MIN)
        .unwrap()
        .bound_to(BoundCall::new(record, tool, &args(accepted)))
        .requiring_approval()
}

fn key() -> GateKey {
    GateKey::from_bytes([7; 32])
}

fn yes(gate: &Gate) -> GateSettlement {
    key().sign(gate, GateDecision::Resolved { value: json!(true) }, "ada", Timestamp::MIN)
}

#[test]
fn a_signed_answer_holds_for_its_gate() {
    let gate = gate("g", "delete", r#"{"path":"a"}"#);
    key().verify(&gate, &yes(&gate)).unwrap();
    // Also after both were stored and read again.
    let gate: Gate = serde_json::from_str(&serde_json::to_string(&gate).unwrap()).unwrap();
    let settlement = serde_json::to_string(&yes(&gate)).unwrap();
    key().verify(&gate, &serde_json::from_str(&settlement).unwrap()).unwrap();
}

#[test]
fn no_other_answer_holds() {
    let asked = gate("g", "delete", r#"{"path":"a"}"#);
    let mut forged = yes(&asked);
    forged.signature = None;
    let stranger = GateKey::from_bytes([8; 32]);
    let strange =
        stranger.sign(&asked, GateDecision::Resolved { value: json!(true) }, "ada", Timestamp::MIN);
    let mut edited = key().sign(
        &asked,
        GateDecision::Rejected { reason: "no".to_owned() },
        "ada",
        Timestamp::MIN,
    );
    edited.decision = GateDecision::Resolved { value: json!(true) };
    let mut renamed = yes(&asked);
    renamed.by = "eve".to_owned();
    let other_gate = yes(&gate("g2", "delete", r#"{"path":"a"}"#));
    let other_call = yes(&gate("g", "delete", r#"{"path":"b"}"#));
    let big = |n: &str| gate("g", "delete", &format!(r#"{{"id":{n}}}"#));
    for (what, settlement) in [
        ("without a signature", forged),
        ("with another key", strange),
        ("edited from no to yes", edited),
        ("in another name", renamed),
        ("of another gate", other_gate),
        ("of another call", other_call),
    ] {
        assert_eq!(key().verify(&asked, &settlement), Err(InvalidSignature), "{what}");
    }
    // Digits that a double would lose.
    let (one, two) = (big("9007199254740992"), big("9007199254740993"));
    assert_eq!(key().verify(&two, &yes(&one)), Err(InvalidSignature));
}

#[test]
fn a_no_of_the_turn_itself_needs_no_proof() {
    let gate = gate("g", "delete", "{}");
    for decision in [GateDecision::Aborted, GateDecision::Timeout] {
        key().verify(&gate, &GateSettlement::closed(decision, Timestamp::MIN)).unwrap();
    }
    let yes = GateDecision::Resolved { value: json!(true) };
    assert!(key().verify(&gate, &GateSettlement::closed(yes, Timestamp::MIN)).is_err());
}

#[test]
fn an_answer_must_meet_the_schema() {
    let gate = gate("g", "delete", "{}");
    gate.check(&json!(true)).unwrap();
    assert!(gate.check(&json!("yes")).is_err());
}

#[test]
fn gates_that_make_no_sense_are_not_opened() {
    let open = |request| {
        Gate::open("g".parse().unwrap(), "t".parse().unwrap(), request, Timestamp::MIN)
            .unwrap_err()
            .code()
    };
    let code = "E_INVALID_INITIAL_TURN_GATE_VALUE";
    assert_eq!(open(GateRequest::new(" ")), code);
    assert_eq!(open(GateRequest::new("why").timeout(Duration::ZERO)), code);
    assert_eq!(open(GateRequest::new("why").schema(json!({"type": 3}))), code);
}
