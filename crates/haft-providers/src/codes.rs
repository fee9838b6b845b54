//! The error codes of providers.

haft_core::error_codes! {
    /// The options of a provider were refused.
    INVALID_PROVIDER_OPTIONS: 529, permanent;
    /// A request does not fit into the context window.
    PROVIDER_CONTEXT_OVERFLOW: 529, permanent;
    /// A request failed: an error status, or no response.
    PROVIDER_HTTP_ERROR: 502, retryable;
    /// A response cannot be decoded, or reports an error.
    PROVIDER_STREAM_ERROR: 502, retryable;
    /// A response stalled.
    PROVIDER_STREAM_STALLED: 504, retryable;
    /// A request took too long.
    PROVIDER_REQUEST_TIMEOUT: 504, retryable;
}
