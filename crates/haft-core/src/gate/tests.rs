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
        .bound_to(BoundCall::new(record, tool, &args(accepted), definition()))
        .requiring_approval()
}

fn definition() -> Digest {
    "a".repeat(64).parse().unwrap()
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
fn a_signed_answer_says_who_answered_and_what() {
    let asked = gate("g", "delete", r#"{"path":"a"}"#);
    let (_, grant) = granted();
    let edited = key().sign_edited(&asked, &json!({"path": "b"}), "ada", at(1));
    assert_eq!(edited.edited.as_deref(), Some(r#"{"path":"b"}"#));
    let always = key().sign_always(&asked, StandingApproval::for_agent(), "ada", at(1));
    assert_eq!(always.always, Some(StandingApproval::for_agent()));
    let by_grant = key().sign_granted(&asked, &grant, at(1));
    assert_eq!(by_grant.grant, Some(grant.id));
    for settlement in [yes(&asked), edited, always, by_grant] {
        assert_eq!(settlement.by, "ada");
        assert_eq!(settlement.decision, GateDecision::Resolved { value: json!(true) });
        key().verify(&asked, &settlement).unwrap();
    }
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

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap()
}

fn granted() -> (Gate, Grant) {
    let mut gate = gate("g-1", "wipe", r#"{"b": 1, "a": 2}"#);
    let call = gate.call.take().unwrap();
    let always = StandingApproval::for_agent().until(at(10));
    let subject = GrantSubject { turn: &gate.turn, agent: Some("shop"), call: &call, at: at(0) };
    let grant = Grant::new(&gate.id, &always, &subject, "ada").unwrap();
    (gate.bound_to(call), grant)
}

#[test]
fn a_grant_covers_what_it_was_given_for() {
    let (gate, grant) = granted();
    let call = gate.call.clone().unwrap();
    let check = |grant: &Grant, agent: Option<&str>, call: &BoundCall, micros: i64| {
        grant.check(&GrantSubject { turn: &gate.turn, agent, call, at: at(micros) })
    };
    assert_eq!(grant.arguments.as_deref(), Some(r#"{"a":2,"b":1}"#));
    assert_eq!(check(&grant, Some("shop"), &call, 9), Ok(()));
    assert_eq!(check(&grant, Some("shop"), &call, 10), Err(GrantRefusal::Expired));
    assert_eq!(check(&grant, Some("other"), &call, 9), Err(GrantRefusal::OtherScope));
    assert_eq!(check(&grant, None, &call, 9), Err(GrantRefusal::OtherScope));
    let other = BoundCall { tool: "read".to_owned(), ..call.clone() };
    assert_eq!(check(&grant, Some("shop"), &other, 9), Err(GrantRefusal::OtherTool));
    let other = BoundCall { accepted: "{}".to_owned(), ..call.clone() };
    assert_eq!(check(&grant, Some("shop"), &other, 9), Err(GrantRefusal::OtherArguments));
    let any = Grant { arguments: None, ..grant.clone() };
    assert_eq!(check(&any, Some("shop"), &other, 9), Ok(()));
    let other = BoundCall { definition: "b".repeat(64).parse().unwrap(), ..call.clone() };
    assert_eq!(check(&grant, Some("shop"), &other, 9), Err(GrantRefusal::OtherDefinition));
    let of_turn =
        |turn: &str| Grant { scope: GrantScope::Turn, holder: turn.to_owned(), ..grant.clone() };
    assert_eq!(check(&of_turn("turn"), None, &call, 9), Ok(()));
    assert_eq!(check(&of_turn("other"), None, &call, 9), Err(GrantRefusal::OtherScope));
}

#[test]
fn a_grant_for_an_agent_needs_an_agent() {
    let (gate, _) = granted();
    let (call, at) = (gate.call.clone().unwrap(), at(0));
    let give = |agent, call: &BoundCall, always: &StandingApproval| {
        Grant::new(&gate.id, always, &GrantSubject { turn: &gate.turn, agent, call, at }, "ada")
    };
    assert!(give(None, &call, &StandingApproval::for_agent()).is_none());
    assert!(give(None, &call, &StandingApproval::in_turn()).is_some());
    let any = give(Some("shop"), &call, &StandingApproval::for_agent().any_arguments()).unwrap();
    assert_eq!((any.arguments, any.expires_at), (None, None));
}

#[test]
fn a_grant_is_signed_as_it_is() {
    let (_, grant) = granted();
    let key = key();
    assert!(key.verify_grant(&grant).is_err(), "it is not signed yet");
    let signed = key.sign_grant(grant);
    assert!(key.verify_grant(&signed).is_ok());
    assert_eq!(key.sign_grant(signed.clone()), signed);
    assert!(GateKey::from_bytes([8; 32]).verify_grant(&signed).is_err());
    let json = serde_json::to_value(&signed).unwrap();
    let edits = [
        ("id", json!("0123456789abcdef")),
        ("scope", json!("turn")),
        ("holder", json!("other")),
        ("tool", json!("read")),
        ("definition", json!("b".repeat(64))),
        ("arguments", Value::Null),
        ("by", json!("eve")),
        ("at", json!(at(1))),
        ("expiresAt", Value::Null),
    ];
    for (name, value) in edits {
        let mut edited = json.clone();
        edited[name] = value;
        let edited: Grant = serde_json::from_value(edited).unwrap();
        assert!(key.verify_grant(&edited).is_err(), "{name}");
    }
}

#[test]
fn ids_of_grants_are_sixteen_digits() {
    let id = GrantId::of(&"g-1".parse().unwrap());
    assert_eq!(id.to_string().len(), 16);
    assert_eq!(id.to_string().parse(), Ok(id));
    assert_ne!(id, GrantId::of(&"g-2".parse().unwrap()));
    for text in
        ["", "0", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "+123456789abcdef"]
    {
        assert!(text.parse::<GrantId>().is_err(), "{text}");
    }
    assert_eq!("0000000000000001".parse::<GrantId>().unwrap().to_string(), "0000000000000001");
}

/// Only the same decision of the same person, with the same arguments, is a repetition.
#[test]
fn a_decision_that_is_made_again_is_recognized() {
    let asked = gate("g", "delete", r#"{"path":"a"}"#);
    let (_, grant) = granted();
    let (approved, edit) = (GateDecision::Resolved { value: json!(true) }, json!({"path": "b"}));
    let edited = key().sign_edited(&asked, &edit, "ada", at(1));
    assert!(yes(&asked).repeats(&approved, None, "ada"));
    assert!(edited.repeats(&approved, Some(&edit), "ada"));
    let rejected = GateDecision::Rejected { reason: "no".to_owned() };
    assert!(!yes(&asked).repeats(&rejected, None, "ada"));
    assert!(!yes(&asked).repeats(&approved, None, "eve"));
    assert!(!yes(&asked).repeats(&approved, Some(&edit), "ada"));
    assert!(!edited.repeats(&approved, None, "ada"));
    assert!(!edited.repeats(&approved, Some(&json!({"path": "c"})), "ada"));
    let by_grant = key().sign_granted(&asked, &grant, at(1));
    assert!(!by_grant.repeats(&approved, None, &by_grant.by), "no person decided");
}

#[test]
fn edited_arguments_meet_the_schema_of_the_tool() {
    let asked = gate("g", "delete", r#"{"path":"a"}"#);
    let edit = json!({"path": "b"});
    assert!(matches!(asked.check_arguments(&edit), Err(InvalidEdit::NotAnApproval)));
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let asked = asked.with_argument_schema(schema);
    asked.check_arguments(&edit).unwrap();
    let refused = asked.check_arguments(&json!({"path": 1}));
    assert!(matches!(refused, Err(InvalidEdit::Problems(_))), "{refused:?}");
    let broken = asked.with_argument_schema(json!({"type": "nothing"}));
    assert!(broken.check_arguments(&edit).is_err());
}

#[test]
fn a_key_is_not_printed() {
    assert_eq!(format!("{:?}", key()), "GateKey(…)");
    let id: GrantId = "0123456789abcdef".parse().unwrap();
    assert_eq!(format!("{id:?}"), "GrantId(0123456789abcdef)");
}
