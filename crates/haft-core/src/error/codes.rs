//! The error codes of the core.

crate::error_codes! {
    /// The configuration of a turn runner was refused.
    INVALID_TURN_RUNNER_CONFIG: 529, permanent;
    /// A turn context was refused before the turn began.
    INVALID_TURN_CONTEXT: 529, permanent;
    /// Input middleware failed.
    INPUT_PIPELINE_ERROR: 500, permanent;
    /// Output middleware failed.
    OUTPUT_PIPELINE_ERROR: 500, permanent;
    /// A pipeline ended without reaching its end.
    PIPELINE_SHORT_CIRCUITED: 500, permanent;
    /// A registry was seeded with something that is not an object.
    INVALID_INITIAL_REGISTRY_VALUE: 500, permanent;
    /// A path of a registry leads nowhere.
    REGISTRY_PATH: 422, permanent;
    /// A write to a registry would have to go through a scalar.
    REGISTRY_NOT_A_CONTAINER: 422, permanent;
    /// A value of a registry would be nested too deeply.
    REGISTRY_TOO_DEEP: 422, permanent;
    /// A value has no JSON form.
    REGISTRY_NOT_JSON: 422, permanent;
    /// A value of a registry is not of the type that was asked for.
    REGISTRY_WRONG_TYPE: 422, permanent;
    /// A memory record was refused.
    INVALID_INITIAL_MEMORY_VALUE: 500, permanent;
    /// Two things of a turn share an artifact id.
    ARTIFACT_ID_COLLISION: 409, permanent;
    /// A retrievable record was refused.
    INVALID_INITIAL_RETRIEVABLE_VALUE: 500, permanent;
    /// A message record was refused.
    INVALID_INITIAL_MESSAGE_VALUE: 500, permanent;
    /// An identity record was refused.
    INVALID_INITIAL_IDENTITY_VALUE: 500, permanent;
    /// A thought record was refused.
    INVALID_INITIAL_THOUGHT_VALUE: 500, permanent;
    /// A gate record was refused.
    INVALID_INITIAL_TURN_GATE_VALUE: 500, permanent;
    /// A gate was settled with a value that its schema refuses; it stays open.
    INVALID_TURN_GATE_RESOLUTION: 500, permanent;
    /// A gate was not settled in time.
    TURN_GATE_TIMEOUT: 408, retryable;
    /// A gate was aborted.
    TURN_GATE_ABORTED: 499, permanent;
    /// A decision arrived for a gate that was already settled.
    TURN_GATE_ALREADY_SETTLED: 409, permanent;
    /// A gate was answered with a no.
    TURN_GATE_REJECTED: 403, permanent;
    /// An answer to a gate was forged, edited, or meant for another gate.
    TURN_GATE_FORGED: 403, permanent;
    /// Something that is not a media reader stood where one was needed.
    NOT_A_MEDIA_READER: 500, permanent;
    /// A media record was refused.
    INVALID_INITIAL_MEDIA_VALUE: 500, permanent;
    /// A tool-call record was refused.
    INVALID_INITIAL_TOOL_CALL_VALUE: 500, permanent;
    /// A tool definition was refused.
    INVALID_INITIAL_TOOL_VALUE: 500, permanent;
    /// Arguments broke the tool's schema; the handler was not called.
    INVALID_TOOL_ARGS: 422, permanent;
    /// A handler failed.
    TOOL_DOWNSTREAM_ERROR: 500, permanent;
    /// A call was cancelled before or while its handler ran.
    TOOL_CANCELLED: 499, permanent;
    /// The model called a tool that does not exist.
    UNKNOWN_TOOL: 404, permanent;
    /// A tool of that name is registered already.
    TOOL_ALREADY_REGISTERED: 409, permanent;
    /// A dispatch context was refused.
    INVALID_LLM_EXECUTION_CONTEXT: 529, permanent;
    /// Code waited at a gate in a context that has no gates.
    LLM_EXECUTION_GATE_NOT_SUPPORTED: 501, permanent;
    /// A dispatch was signalled a second time.
    LLM_EXECUTION_ALREADY_SIGNALLED: 500, permanent;
    /// A handler tried to signal the dispatch that its call belongs to.
    /// Dispatch middleware failed.
    DISPATCH_PIPELINE_ERROR: 500, permanent;
    /// An executor failed.
    LLM_EXECUTION_EXECUTOR_ERROR: 500, retryable;
    /// A dispatch was refused with a reason in words: by a nack, or by a step that failed.
    LLM_EXECUTION_NACKED: 500, permanent;
    /// The response of the model was interrupted before its end.
    LLM_RESPONSE_TRUNCATED: 502, retryable;
    /// The response of the model is longer than the limit on output tokens.
    LLM_RESPONSE_TOO_LONG: 422, permanent;
    /// The model refused to respond.
    LLM_RESPONSE_REFUSED: 403, permanent;
    /// The provider filtered the response of the model.
    LLM_RESPONSE_FILTERED: 403, permanent;
    /// The model responded with nothing.
    LLM_RESPONSE_EMPTY: 502, retryable;
    /// The model gave no answer that fits the schema of the turn.
    LLM_RESPONSE_INVALID: 422, permanent;
    /// A value cannot be serialised because its reader has no descriptor.
    READER_NOT_DESCRIBABLE: 422, permanent;
    /// No resolver is registered for the tag of a reader.
    NO_READER_RESOLVER: 422, permanent;
    /// A token estimator has the name of a built-in one.
    TOKEN_ESTIMATOR_SHADOWS_BUILTIN: 409, permanent;
    /// Nothing counts tokens under that name.
    UNKNOWN_ENCODING: 422, permanent;
    /// A token counter failed.
    TOKEN_COUNTER_FAILED: 500, permanent;
    /// A turn reached one of its limits.
    LIMIT_REACHED: 429, permanent;
    /// Something took longer than its deadline.
    DEADLINE_EXCEEDED: 408, retryable;
    /// A turn failed for a reason that has no code of its own.
    TURN_FAILED: 500, permanent;
    /// A turn was cancelled.
    TURN_CANCELLED: 499, permanent;
    /// A turn waits for a decision.
    TURN_WAITING: 409, permanent;
    /// What a call did before the process died is not known.
    TOOL_OUTCOME_UNKNOWN: 500, permanent;
    /// A record could not be stored.
    STORE: 500, retryable;
    /// No media item of the turn has the id that was given.
    UNKNOWN_MEDIA: 404, permanent;
    /// A media item cannot be shown to the model, and nothing may stand for it.
    UNSUPPORTED_MEDIA_MODALITY: 422, permanent;
}
