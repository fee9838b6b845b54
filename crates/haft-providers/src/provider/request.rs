//! Builds the requests of a provider, and the errors of requests that fail.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use haft_core::BoxFuture;
use haft_core::step::StepRequest;
use haft_http::redact::is_credential_header;
use haft_http::uri;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Request};
use tokio::time::timeout;

use super::{KeyExposure, ProviderError, ProviderState};
use crate::dialect::{EncodedRequest, Framing, ModelRequest};
use crate::options::{ControlOptions, RetryOptions};
use crate::retry::{RetryClient, RetryPolicy, SendError};
use crate::transport::{Body, Response};
use crate::transport::{HttpError, HttpPhase, Secret, Transport, post};

impl ProviderState {
    /// The request of an encoded body, with all headers.
    pub(super) fn build_request(
        &self,
        control: &ControlOptions,
        encoded: &EncodedRequest,
    ) -> Result<Request<Bytes>, HttpError> {
        let path = self.dialect.path(&control.model, control.delivery);
        let accept = match self.dialect.framing() {
            _ if !control.delivery.is_streamed() => "application/json",
            Framing::Sse => "text/event-stream",
            Framing::Ndjson => "application/x-ndjson",
        };
        let mut request = post(&format!("{}{path}", self.base_url), encoded.body.clone())?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let auth = self.key.as_ref().map(|key| self.dialect.auth_headers(key.expose()));
        for (name, value) in auth.unwrap_or_default().into_iter().chain(self.dialect.headers()) {
            let (name, value) = sensitive_header(name, &value)?;
            headers.insert(name, value);
        }
        for (name, value) in &control.headers {
            let (name, value) = sensitive_header(name, value)?;
            headers.insert(name, value);
        }
        // In addition to those of the options, which may list features too.
        for (name, value) in &encoded.headers {
            let (name, value) = sensitive_header(name, value)?;
            headers.append(name, value);
        }
        Ok(request)
    }

    /// Refuses to send a key where others can read it, be it the key of the provider or one in a header of the options.
    pub(super) fn check_key_exposure(&self, control: &ControlOptions) -> Result<(), ProviderError> {
        let has_key =
            self.key.is_some() || control.headers.keys().any(|name| is_credential_header(name));
        let is_refused = self.exposure == KeyExposure::Refused;
        if has_key && is_refused && uri::is_exposed(&self.base_url) {
            return Err(ProviderError::PlainHttp { host: uri::host(&self.base_url) });
        }
        Ok(())
    }

    pub(super) fn retry_client(&self, control: &ControlOptions) -> RetryClient {
        let inner = Arc::clone(&self.transport);
        let transport = match control.request_timeout {
            Some(limit) => Arc::new(TimeLimitedTransport { inner, limit }),
            None => inner,
        };
        RetryClient::new(transport).policy(apply_options(self.retry.clone(), &control.retry))
    }

    /// The error of a request whose URL or headers cannot be sent.
    pub(super) fn malformed_request(&self, source: HttpError) -> ProviderError {
        self.send_error(SendError::Transport { source, attempts: 1 })
    }

    pub(super) fn send_error(&self, error: SendError) -> ProviderError {
        match &error {
            SendError::Status(status)
                if self.dialect.is_context_overflow(status.status, &status.body) =>
            {
                ProviderError::Overflow { what: error.to_string() }
            }
            _ => ProviderError::Request { source: Box::new(error) },
        }
    }
}

/// Describes a request that was encoded to these bytes.
pub(super) fn describe_request(request: &ModelRequest<'_>, body: Bytes) -> StepRequest {
    let tools = request.prompt.tools.iter().map(|offered| {
        let tool = &offered.tool;
        [&*offered.wire_name, tool.description(), tool.input_schema().json_schema_text()]
    });
    StepRequest::new(request.model, body).options(request.options.clone()).tools(tools)
}

/// A header that is never printed. The error does not quote the value.
fn sensitive_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), HttpError> {
    let malformed = |part| HttpError::Malformed {
        reason: format!("the {part} of the header `{}`", name.escape_debug()),
    };
    let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| malformed("name"))?;
    let value = Secret::from(value).to_header_value().map_err(|_| malformed("value"))?;
    Ok((key, value))
}

fn apply_options(mut policy: RetryPolicy, options: &RetryOptions) -> RetryPolicy {
    let RetryOptions { max_attempts, base_delay_ms, max_delay_ms } = options;
    policy.max_attempts = max_attempts.unwrap_or(policy.max_attempts);
    let time = |ms: &Option<u64>, default| ms.map_or(default, Duration::from_millis);
    policy.base_delay = time(base_delay_ms, policy.base_delay);
    policy.max_delay = time(max_delay_ms, policy.max_delay);
    policy
}

/// A transport whose responses have to begin in time.
struct TimeLimitedTransport {
    inner: Arc<dyn Transport>,
    limit: Duration,
}

impl Transport for TimeLimitedTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Body>, HttpError>> {
        Box::pin(async move {
            let (limit, phase) = (self.limit, HttpPhase::Headers);
            let host = || "the provider".to_owned();
            let late = |_| HttpError::Timeout { host: host(), phase, limit };
            timeout(limit, self.inner.send(request)).await.map_err(late)?
        })
    }
}

impl fmt::Debug for TimeLimitedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeLimitedTransport")
            .field("inner", &self.inner)
            .field("limit", &self.limit)
            .finish()
    }
}
