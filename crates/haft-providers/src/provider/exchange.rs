//! Requests a response and reads it to its end. A response that breaks off is requested again.

use haft_core::error::Coded as _;
use haft_core::event::LogLevel;
use haft_core::step::StepContext;
use http::header::{HeaderMap, HeaderValue};
use serde_json::json;

use super::excerpt::RequestOrigin;
use super::response::{FinishedResponse, ResponseReader};
use super::{ProviderError, ProviderState};
use crate::dialect::{EncodedRequest, ModelRequest};
use crate::options::ControlOptions;
use crate::retry::{RetryNotice, RetryProgress, RetryReason};
use crate::transport::HttpError;

/// An encoded request, and what is needed to read its response.
pub(super) struct Exchange<'r> {
    pub(super) ctx: &'r StepContext,
    pub(super) control: &'r ControlOptions,
    pub(super) request: &'r ModelRequest<'r>,
    pub(super) encoded: EncodedRequest,
    /// Whether observers see the response as it arrives.
    pub(super) is_observed: bool,
}

impl ProviderState {
    /// Sends a request, and reads the response to its end. A response that breaks off, stalls or cannot be read is
    /// requested again within the retry policy: none of its calls was made.
    pub(super) async fn request_response(
        &self,
        exchange: Exchange<'_>,
    ) -> Result<FinishedResponse, ProviderError> {
        let Exchange { ctx, control, request, encoded, is_observed } = exchange;
        self.check_key_exposure(control)?;
        let (client, mut progress) = (self.retry_client(control), RetryProgress::start());
        let cancellation = ctx.dispatch().cancellation();
        let observe = |notice| log_retry(ctx, &notice);
        loop {
            let reader = ResponseReader::new(ctx, control, &*self.dialect, request);
            let reader = if is_observed { reader } else { reader.unobserved() };
            let sent = self.build_request(control, &encoded);
            let mut sent = sent.map_err(|source| self.malformed_request(source))?;
            add_trace(ctx, sent.headers_mut());
            let origin = RequestOrigin::of(&sent);
            let response = client.send_attempts(sent, &mut progress, cancellation, &observe).await;
            let response = response.map_err(|error| self.send_error(error))?;
            let error = match self.read_response((response, &origin), control, reader).await {
                Ok(response) => return Ok(response),
                Err(error) if error.retryable() => error,
                Err(error) => return Err(error),
            };
            let reason = error.to_string();
            let retry = client.await_retry(&mut progress, reason, cancellation, &observe).await;
            if !retry.map_err(|error| self.send_error(error))? {
                return Err(error);
            }
            ctx.supersede_reports();
        }
    }
}

/// Sends the span of the step along, so that a gateway continues its trace. A header of the options takes precedence.
fn add_trace(ctx: &StepContext, headers: &mut HeaderMap) {
    let traceparent = ctx.dispatch().turn().traceparent();
    if let Some(traceparent) = traceparent.and_then(|it| HeaderValue::try_from(it).ok()) {
        headers.entry("traceparent").or_insert(traceparent);
    }
}

/// Logs that a request is sent again, so that the operator sees why nothing arrives.
fn log_retry(ctx: &StepContext, notice: &RetryNotice) {
    let (reason, status) = match &notice.reason {
        RetryReason::Status { status, .. } => ("http-status", Some(*status)),
        RetryReason::Transport(HttpError::Timeout { .. }) => ("request-timeout", None),
        RetryReason::Transport(_) => ("transport-error", None),
        RetryReason::Response(_) => ("broken-response", None),
    };
    let payload = json!({
        "reason": reason, "status": status, "attempt": notice.attempt,
        "maxAttempts": notice.max_attempts, "delayMs": notice.delay.as_millis(),
    });
    let message = format!(
        "{}; the request is sent again in {:.1} s (attempt {} of {})",
        notice.reason,
        notice.delay.as_secs_f64(),
        notice.attempt.saturating_add(1),
        notice.max_attempts,
    );
    ctx.dispatch().log(LogLevel::Warn, "retry-attempt", &message, Some(payload));
}
