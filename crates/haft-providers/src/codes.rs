//! The error codes of the dialects in this crate.

haft_core::error_codes! {
    /// The options of a Chat Completions provider were refused.
    INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS: 529, permanent;
    /// The options of a Responses provider were refused.
    INVALID_OPENAI_RESPONSES_OPTIONS: 529, permanent;
    /// The options of a Messages provider were refused.
    INVALID_ANTHROPIC_MESSAGES_OPTIONS: 529, permanent;
    /// The options of an Ollama provider were refused.
    INVALID_OLLAMA_OPTIONS: 529, permanent;
    /// A Chat Completions request does not fit into the context window.
    OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW: 529, permanent;
    /// A Chat Completions request failed: an error status, or no response.
    OPENAI_CHAT_COMPLETIONS_HTTP_ERROR: 502, retryable;
    /// A Chat Completions response cannot be decoded, or reports an error.
    OPENAI_CHAT_COMPLETIONS_STREAM_ERROR: 502, retryable;
    /// A Chat Completions response stalled.
    OPENAI_CHAT_COMPLETIONS_STREAM_STALLED: 504, retryable;
    /// A Chat Completions request took too long.
    OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT: 504, retryable;
    /// A Responses request does not fit into the context window.
    OPENAI_RESPONSES_CONTEXT_OVERFLOW: 529, permanent;
    /// A Responses request failed: an error status, or no response.
    OPENAI_RESPONSES_HTTP_ERROR: 502, retryable;
    /// A Responses response cannot be decoded, or reports an error.
    OPENAI_RESPONSES_STREAM_ERROR: 502, retryable;
    /// A Responses response stalled.
    OPENAI_RESPONSES_STREAM_STALLED: 504, retryable;
    /// A Responses request took too long.
    OPENAI_RESPONSES_REQUEST_TIMEOUT: 504, retryable;
    /// An Ollama request does not fit into the context window.
    OLLAMA_CONTEXT_OVERFLOW: 529, permanent;
    /// An Ollama request failed: an error status, or no response.
    OLLAMA_HTTP_ERROR: 502, retryable;
    /// An Ollama response cannot be decoded, or reports an error.
    OLLAMA_STREAM_ERROR: 502, retryable;
    /// An Ollama response stalled.
    OLLAMA_STREAM_STALLED: 504, retryable;
    /// An Ollama request took too long.
    OLLAMA_REQUEST_TIMEOUT: 504, retryable;
    /// A Messages request does not fit into the context window.
    ANTHROPIC_MESSAGES_CONTEXT_OVERFLOW: 529, permanent;
    /// A Messages request failed: an error status, or no response.
    ANTHROPIC_MESSAGES_HTTP_ERROR: 502, retryable;
    /// A Messages response cannot be decoded, or reports an error.
    ANTHROPIC_MESSAGES_STREAM_ERROR: 502, retryable;
    /// A Messages response stalled.
    ANTHROPIC_MESSAGES_STREAM_STALLED: 504, retryable;
    /// A Messages request took too long.
    ANTHROPIC_MESSAGES_REQUEST_TIMEOUT: 504, retryable;
}
