//! Errors are for someone.
//!
//! Every error has a stable code, a status in HTTP's terms, and says whether the loop must stop,
//! whether trying again can help, and who can do something about it: the model or the operator. All of
//! that stands in one table, [`Code`]; an error type only names its code.

use std::fmt;

#[cfg(test)]
mod tests;

/// Who can act on an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Audience {
    /// The model: it sees the message and can call again, better.
    Model,
    /// Whoever runs or writes the agent.
    Operator,
}

/// What every error of Haft can say about itself.
pub trait Coded {
    /// The row of the table.
    fn error_code(&self) -> Code;

    /// The stable code, `E_…`.
    fn code(&self) -> &'static str {
        self.error_code().as_str()
    }

    /// The status in HTTP's terms.
    fn status(&self) -> u16 {
        self.error_code().status()
    }

    /// Whether the loop must stop.
    fn fatal(&self) -> bool {
        self.error_code().fatal()
    }

    /// Who can act on it.
    fn audience(&self) -> Audience {
        self.error_code().audience()
    }

    /// Whether the same thing, tried again, may succeed.
    fn retryable(&self) -> bool {
        self.error_code().retryable()
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal, $fatal:ident, $audience:ident, $retry:ident;)*) => {
        /// Every error code, with its status, whether it is fatal, whom it is for and whether trying
        /// again can help.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All codes, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The code as it is written in records and events.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The status in HTTP's terms.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }

            /// Whether the loop must stop.
            #[must_use]
            pub const fn fatal(self) -> bool {
                match self { $(Self::$name => codes!(@ $fatal),)* }
            }

            /// Who can act on it.
            #[must_use]
            pub const fn audience(self) -> Audience {
                match self { $(Self::$name => Audience::$audience,)* }
            }

            /// Whether the same thing, tried again, may succeed.
            #[must_use]
            pub const fn retryable(self) -> bool {
                match self { $(Self::$name => codes!(@ $retry),)* }
            }
        }
    };
    (@ fatal) => { true };
    (@ goes_on) => { false };
    (@ retry) => { true };
    (@ final_) => { false };
}

codes! {
    /// The configuration of a turn runner was refused.
    InvalidTurnRunnerConfig = "E_INVALID_TURN_RUNNER_CONFIG", 529, fatal, Operator, final_;
    /// A turn context was refused before the turn began.
    InvalidTurnContext = "E_INVALID_TURN_CONTEXT", 529, fatal, Operator, final_;
    /// Input middleware failed.
    InputPipelineError = "E_INPUT_PIPELINE_ERROR", 500, goes_on, Operator, final_;
    /// Output middleware failed.
    OutputPipelineError = "E_OUTPUT_PIPELINE_ERROR", 500, goes_on, Operator, final_;
    /// A pipeline ended without reaching its end.
    PipelineShortCircuited = "E_PIPELINE_SHORT_CIRCUITED", 500, goes_on, Operator, final_;
    /// A registry was seeded with something that is not an object.
    InvalidInitialRegistryValue = "E_INVALID_INITIAL_REGISTRY_VALUE", 500, fatal, Operator, final_;
    /// A path of a registry leads nowhere.
    RegistryPath = "E_REGISTRY_PATH", 422, goes_on, Operator, final_;
    /// A write to a registry would have to go through a scalar.
    RegistryNotAContainer = "E_REGISTRY_NOT_A_CONTAINER", 422, goes_on, Operator, final_;
    /// A value of a registry would be nested too deeply.
    RegistryTooDeep = "E_REGISTRY_TOO_DEEP", 422, goes_on, Operator, final_;
    /// A value has no JSON form.
    RegistryNotJson = "E_REGISTRY_NOT_JSON", 422, goes_on, Operator, final_;
    /// A value of a registry is not of the type that was asked for.
    RegistryWrongType = "E_REGISTRY_WRONG_TYPE", 422, goes_on, Operator, final_;
    /// A memory record was refused.
    InvalidInitialMemoryValue = "E_INVALID_INITIAL_MEMORY_VALUE", 500, fatal, Operator, final_;
    /// Two things of a turn share an artifact id.
    ArtifactIdCollision = "E_ARTIFACT_ID_COLLISION", 409, fatal, Operator, final_;
    /// A retrievable record was refused.
    InvalidInitialRetrievableValue = "E_INVALID_INITIAL_RETRIEVABLE_VALUE", 500, fatal, Operator, final_;
    /// A message record was refused.
    InvalidInitialMessageValue = "E_INVALID_INITIAL_MESSAGE_VALUE", 500, fatal, Operator, final_;
    /// An identity record was refused.
    InvalidInitialIdentityValue = "E_INVALID_INITIAL_IDENTITY_VALUE", 500, fatal, Operator, final_;
    /// A thought record was refused.
    InvalidInitialThoughtValue = "E_INVALID_INITIAL_THOUGHT_VALUE", 500, fatal, Operator, final_;
    /// A gate record was refused.
    InvalidInitialTurnGateValue = "E_INVALID_INITIAL_TURN_GATE_VALUE", 500, fatal, Operator, final_;
    /// A gate was settled with a value that its schema refuses; it stays open.
    InvalidTurnGateResolution = "E_INVALID_TURN_GATE_RESOLUTION", 500, fatal, Operator, final_;
    /// A gate was not settled in time.
    TurnGateTimeout = "E_TURN_GATE_TIMEOUT", 408, goes_on, Model, retry;
    /// A gate was aborted.
    TurnGateAborted = "E_TURN_GATE_ABORTED", 499, goes_on, Model, final_;
    /// A gate was answered with a no.
    TurnGateRejected = "E_TURN_GATE_REJECTED", 403, goes_on, Model, final_;
    /// An answer to a gate was forged, edited, or meant for another gate.
    TurnGateForged = "E_TURN_GATE_FORGED", 403, goes_on, Operator, final_;
    /// Something that is not a spool reader stood where one was needed.
    NotASpoolReader = "E_NOT_A_SPOOL_READER", 500, fatal, Operator, final_;
    /// Something that is not a media reader stood where one was needed.
    NotAMediaReader = "E_NOT_A_MEDIA_READER", 500, fatal, Operator, final_;
    /// A media record was refused.
    InvalidInitialMediaValue = "E_INVALID_INITIAL_MEDIA_VALUE", 500, fatal, Operator, final_;
    /// A tool-call record was refused.
    InvalidInitialToolCallValue = "E_INVALID_INITIAL_TOOL_CALL_VALUE", 500, fatal, Operator, final_;
    /// A tool definition was refused.
    InvalidInitialToolValue = "E_INVALID_INITIAL_TOOL_VALUE", 500, fatal, Operator, final_;
    /// Arguments broke the tool's schema; the handler was not called.
    InvalidToolArgs = "E_INVALID_TOOL_ARGS", 422, goes_on, Model, final_;
    /// A handler failed.
    ToolDownstreamError = "E_TOOL_DOWNSTREAM_ERROR", 500, goes_on, Model, final_;
    /// A call was cancelled before or while its handler ran.
    ToolCancelled = "E_TOOL_CANCELLED", 499, goes_on, Model, final_;
    /// The model called a tool that does not exist.
    UnknownTool = "E_UNKNOWN_TOOL", 404, goes_on, Model, final_;
    /// A tool of that name is registered already.
    ToolAlreadyRegistered = "E_TOOL_ALREADY_REGISTERED", 409, fatal, Operator, final_;
    /// A dispatch context was refused.
    InvalidLlmExecutionContext = "E_INVALID_LLM_EXECUTION_CONTEXT", 529, fatal, Operator, final_;
    /// A gate was waited for in a context that has none.
    LlmExecutionGateNotSupported = "E_LLM_EXECUTION_GATE_NOT_SUPPORTED", 501, goes_on, Operator, final_;
    /// A dispatch was signalled a second time.
    LlmExecutionAlreadySignalled = "E_LLM_EXECUTION_ALREADY_SIGNALLED", 500, fatal, Operator, final_;
    /// The input of a dispatch was refused.
    InvalidLlmDispatchInput = "E_INVALID_LLM_DISPATCH_INPUT", 529, fatal, Operator, final_;
    /// Dispatch middleware failed.
    DispatchPipelineError = "E_DISPATCH_PIPELINE_ERROR", 500, goes_on, Operator, final_;
    /// An executor failed.
    LlmExecutionExecutorError = "E_LLM_EXECUTION_EXECUTOR_ERROR", 500, goes_on, Operator, retry;
    /// A value cannot be serialised because its reader has no descriptor.
    ReaderNotDescribable = "E_READER_NOT_DESCRIBABLE", 422, goes_on, Operator, final_;
    /// No resolver knows the tag of a reader.
    NoReaderResolver = "E_NO_READER_RESOLVER", 422, goes_on, Operator, final_;
    /// The evaluator of a dynamic text failed.
    TokenizableEvaluatorInvalid = "E_TOKENIZABLE_EVALUATOR_INVALID", 500, fatal, Operator, final_;
    /// A token estimator has the name of a built-in one.
    TokenEstimatorShadowsBuiltin = "E_TOKEN_ESTIMATOR_SHADOWS_BUILTIN", 409, fatal, Operator, final_;
    /// Nothing counts tokens under that name.
    UnknownEncoding = "E_UNKNOWN_ENCODING", 422, goes_on, Model, final_;
    /// A token counter failed.
    TokenCounterFailed = "E_TOKEN_COUNTER_FAILED", 500, goes_on, Operator, final_;
    /// A turn came to one of its limits.
    LimitReached = "E_LIMIT_REACHED", 429, goes_on, Operator, final_;
    /// Something took longer than its deadline.
    DeadlineExceeded = "E_DEADLINE_EXCEEDED", 408, goes_on, Operator, retry;
    /// What a call did before the process died is not known.
    ToolOutcomeUnknown = "E_TOOL_OUTCOME_UNKNOWN", 500, goes_on, Model, final_;
    /// A record could not be stored.
    Store = "E_STORE", 500, goes_on, Operator, retry;
    /// The options of a Chat Completions provider were refused.
    InvalidOpenAiChatCompletionsOptions = "E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS", 529, fatal, Operator, final_;
    /// A Chat Completions request does not fit into the context window.
    OpenAiChatCompletionsContextOverflow = "E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW", 529, fatal, Operator, final_;
    /// A Chat Completions request was answered with an error, or not at all.
    OpenAiChatCompletionsHttpError = "E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR", 502, goes_on, Operator, retry;
    /// A Chat Completions answer cannot be read, or reports an error.
    OpenAiChatCompletionsStreamError = "E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR", 502, goes_on, Operator, retry;
    /// A Chat Completions answer stopped coming.
    OpenAiChatCompletionsStreamStalled = "E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED", 504, goes_on, Operator, retry;
    /// A Chat Completions request took too long.
    OpenAiChatCompletionsRequestTimeout = "E_OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT", 504, goes_on, Operator, retry;
    /// The options of a Responses provider were refused.
    InvalidOpenAiResponsesOptions = "E_INVALID_OPENAI_RESPONSES_OPTIONS", 529, fatal, Operator, final_;
    /// A Responses request does not fit into the context window.
    OpenAiResponsesContextOverflow = "E_OPENAI_RESPONSES_CONTEXT_OVERFLOW", 529, fatal, Operator, final_;
    /// A Responses request was answered with an error, or not at all.
    OpenAiResponsesHttpError = "E_OPENAI_RESPONSES_HTTP_ERROR", 502, goes_on, Operator, retry;
    /// A Responses answer cannot be read, or reports an error.
    OpenAiResponsesStreamError = "E_OPENAI_RESPONSES_STREAM_ERROR", 502, goes_on, Operator, retry;
    /// A Responses answer stopped coming.
    OpenAiResponsesStreamStalled = "E_OPENAI_RESPONSES_STREAM_STALLED", 504, goes_on, Operator, retry;
    /// A Responses request took too long.
    OpenAiResponsesRequestTimeout = "E_OPENAI_RESPONSES_REQUEST_TIMEOUT", 504, goes_on, Operator, retry;
    /// The options of a Messages provider were refused.
    InvalidAnthropicMessagesOptions = "E_INVALID_ANTHROPIC_MESSAGES_OPTIONS", 529, fatal, Operator, final_;
    /// A Messages request does not fit into the context window.
    AnthropicMessagesContextOverflow = "E_ANTHROPIC_MESSAGES_CONTEXT_OVERFLOW", 529, fatal, Operator, final_;
    /// A Messages request was answered with an error, or not at all.
    AnthropicMessagesHttpError = "E_ANTHROPIC_MESSAGES_HTTP_ERROR", 502, goes_on, Operator, retry;
    /// A Messages answer cannot be read, or reports an error.
    AnthropicMessagesStreamError = "E_ANTHROPIC_MESSAGES_STREAM_ERROR", 502, goes_on, Operator, retry;
    /// A Messages answer stopped coming.
    AnthropicMessagesStreamStalled = "E_ANTHROPIC_MESSAGES_STREAM_STALLED", 504, goes_on, Operator, retry;
    /// A Messages request took too long.
    AnthropicMessagesRequestTimeout = "E_ANTHROPIC_MESSAGES_REQUEST_TIMEOUT", 504, goes_on, Operator, retry;
    /// A medium cannot be shown to the model, and nothing may stand for it.
    UnsupportedMediaModality = "E_UNSUPPORTED_MEDIA_MODALITY", 422, fatal, Operator, final_;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let found = Self::ALL.iter().find(|code| code.as_str() == text);
        found.copied().ok_or_else(|| serde::de::Error::custom(format!("no error code `{text}`")))
    }
}
