use super::{Audience, ErrorCode, codes};

/// The codes of the system this one comes from, with status and whether they are fatal.
const REFERENCE: [(&str, u16, bool); 33] = [
    ("E_INVALID_TURN_RUNNER_CONFIG", 529, true),
    ("E_INVALID_TURN_CONTEXT", 529, true),
    ("E_INPUT_PIPELINE_ERROR", 500, false),
    ("E_OUTPUT_PIPELINE_ERROR", 500, false),
    ("E_PIPELINE_SHORT_CIRCUITED", 500, false),
    ("E_INVALID_INITIAL_REGISTRY_VALUE", 500, true),
    ("E_INVALID_INITIAL_MEMORY_VALUE", 500, true),
    ("E_ARTIFACT_ID_COLLISION", 409, true),
    ("E_INVALID_INITIAL_RETRIEVABLE_VALUE", 500, true),
    ("E_INVALID_INITIAL_MESSAGE_VALUE", 500, true),
    ("E_INVALID_INITIAL_IDENTITY_VALUE", 500, true),
    ("E_INVALID_INITIAL_THOUGHT_VALUE", 500, true),
    ("E_INVALID_INITIAL_TURN_GATE_VALUE", 500, true),
    ("E_INVALID_TURN_GATE_RESOLUTION", 500, true),
    ("E_TURN_GATE_TIMEOUT", 408, false),
    ("E_TURN_GATE_ABORTED", 499, false),
    ("E_NOT_A_SPOOL_READER", 500, true),
    ("E_NOT_A_MEDIA_READER", 500, true),
    ("E_INVALID_INITIAL_MEDIA_VALUE", 500, true),
    ("E_INVALID_INITIAL_TOOL_CALL_VALUE", 500, true),
    ("E_INVALID_INITIAL_TOOL_VALUE", 500, true),
    ("E_INVALID_TOOL_ARGS", 422, false),
    ("E_TOOL_DOWNSTREAM_ERROR", 500, false),
    ("E_TOOL_ALREADY_REGISTERED", 409, true),
    ("E_INVALID_LLM_EXECUTION_CONTEXT", 529, true),
    ("E_LLM_EXECUTION_GATE_NOT_SUPPORTED", 501, false),
    ("E_LLM_EXECUTION_ALREADY_SIGNALLED", 500, true),
    ("E_INVALID_LLM_DISPATCH_INPUT", 529, true),
    ("E_DISPATCH_PIPELINE_ERROR", 500, false),
    ("E_LLM_EXECUTION_EXECUTOR_ERROR", 500, false),
    ("E_READER_NOT_DESCRIBABLE", 422, false),
    ("E_NO_READER_RESOLVER", 422, false),
    ("E_TOKENIZABLE_EVALUATOR_INVALID", 500, true),
];

#[test]
fn the_reference_codes_are_all_there() {
    for (text, status, fatal) in REFERENCE {
        let code = codes::ALL.iter().find(|code| code.as_str() == text);
        let code = code.unwrap_or_else(|| panic!("no code {text}"));
        assert_eq!((code.status(), code.fatal()), (status, fatal), "{text}");
    }
}

#[test]
fn codes_are_distinct_and_read_back() {
    for (at, code) in codes::ALL.iter().enumerate() {
        assert!(code.as_str().starts_with("E_"), "{code}");
        assert!(!codes::ALL[..at].contains(code));
        let text = serde_json::to_string(code).unwrap();
        assert_eq!(serde_json::from_str::<ErrorCode>(&text).unwrap(), *code);
    }
}

#[test]
fn a_code_of_another_program_survives_and_promises_nothing() {
    let unknown = serde_json::from_str::<ErrorCode>("\"E_NOTHING\"").unwrap();
    assert_eq!(unknown, "E_NOTHING");
    assert_eq!(serde_json::to_string(&unknown).unwrap(), "\"E_NOTHING\"");
    assert!(!unknown.fatal() && !unknown.retryable());
    assert_eq!(unknown.audience(), Audience::Operator);
    assert!(serde_json::from_str::<ErrorCode>("7").is_err());
}

#[test]
fn what_the_model_can_mend_goes_to_the_model_and_never_ends_the_loop() {
    for code in codes::ALL {
        if code.audience() == Audience::Model {
            assert!(!code.fatal(), "{code}");
        }
    }
    assert_eq!(codes::INVALID_TOOL_ARGS.audience(), Audience::Model);
    assert_eq!(codes::INVALID_INITIAL_TOOL_VALUE.audience(), Audience::Operator);
}
