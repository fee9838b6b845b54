use super::{ErrorCode, codes};

/// The codes of the system this one comes from, with their status.
const REFERENCE: [(&str, u16); 30] = [
    ("E_INVALID_TURN_RUNNER_CONFIG", 529),
    ("E_INVALID_TURN_CONTEXT", 529),
    ("E_INPUT_PIPELINE_ERROR", 500),
    ("E_OUTPUT_PIPELINE_ERROR", 500),
    ("E_PIPELINE_SHORT_CIRCUITED", 500),
    ("E_INVALID_INITIAL_REGISTRY_VALUE", 500),
    ("E_INVALID_INITIAL_MEMORY_VALUE", 500),
    ("E_ARTIFACT_ID_COLLISION", 409),
    ("E_INVALID_INITIAL_RETRIEVABLE_VALUE", 500),
    ("E_INVALID_INITIAL_MESSAGE_VALUE", 500),
    ("E_INVALID_INITIAL_IDENTITY_VALUE", 500),
    ("E_INVALID_INITIAL_THOUGHT_VALUE", 500),
    ("E_INVALID_INITIAL_TURN_GATE_VALUE", 500),
    ("E_INVALID_TURN_GATE_RESOLUTION", 500),
    ("E_TURN_GATE_TIMEOUT", 408),
    ("E_TURN_GATE_ABORTED", 499),
    ("E_NOT_A_MEDIA_READER", 500),
    ("E_INVALID_INITIAL_MEDIA_VALUE", 500),
    ("E_INVALID_INITIAL_TOOL_CALL_VALUE", 500),
    ("E_INVALID_INITIAL_TOOL_VALUE", 500),
    ("E_INVALID_TOOL_ARGS", 422),
    ("E_TOOL_DOWNSTREAM_ERROR", 500),
    ("E_TOOL_ALREADY_REGISTERED", 409),
    ("E_INVALID_LLM_EXECUTION_CONTEXT", 529),
    ("E_LLM_EXECUTION_GATE_NOT_SUPPORTED", 501),
    ("E_LLM_EXECUTION_ALREADY_SIGNALLED", 500),
    ("E_DISPATCH_PIPELINE_ERROR", 500),
    ("E_LLM_EXECUTION_EXECUTOR_ERROR", 500),
    ("E_READER_NOT_DESCRIBABLE", 422),
    ("E_NO_READER_RESOLVER", 422),
];

#[test]
fn the_reference_codes_are_all_there() {
    for (text, status) in REFERENCE {
        let code = codes::ALL.iter().find(|code| code.as_str() == text);
        let code = code.unwrap_or_else(|| panic!("no code {text}"));
        assert_eq!(code.status(), status, "{text}");
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
    assert!(!unknown.retryable());
    assert!(serde_json::from_str::<ErrorCode>("7").is_err());
}
