//! The spans of a turn and the metrics of its requests, named by the conventions of OpenTelemetry for generative AI.
//!
//! | span | what runs in it |
//! |---|---|
//! | `invoke_agent` | an attempt to run the turn |
//! | `chat` | the executor, in each iteration |
//! | `execute_tool` | the handler of a call; one whose arguments are refused has a span without duration |
//!
//! All of them have the level INFO and the target `haft`. The metrics are events of the level TRACE and the target
//! `haft::metrics`, in the form that the `MetricsLayer` of `tracing-opentelemetry` takes.

#[cfg(test)]
mod tests;

use std::time::Duration;

use haft_core::call::ToolCall;
use haft_core::context::DispatchContext;
use haft_core::error::ErrorCode;
use haft_core::event::{ErrorReport, GenerationStats};
use haft_core::schema::args::Args;
use haft_core::step::ExecutorDescription;
use haft_core::usage::Usage;
use tracing::field::Empty;
use tracing::{Level, Span, info_span, span_enabled, trace};

use super::seed::TurnSeed;
use crate::events::{
    BoundedValue, continue_trace, current_traceparent, error_with_cause, set_list,
};

/// Fields that become known while a span is open have to be named when it begins.
macro_rules! operation_span {
    ($name:literal, $of:expr, $kind:literal, $turn:expr, { $($fields:tt)* }) => {
        info_span!(
            target: "haft",
            $name,
            otel.name = span_name($name, $of),
            otel.kind = $kind,
            otel.status_code = Empty,
            gen_ai.operation.name = $name,
            error.type = Empty,
            error.message = Empty,
            haft.turn.id = $turn,
            $($fields)*
        )
    };
}

/// The operation, and what it is done to.
fn span_name(operation: &str, of: Option<&str>) -> String {
    match of {
        Some(of) => format!("{operation} {of}"),
        None => operation.to_owned(),
    }
}

/// The span of an attempt to run a turn. Its parent is the current span, or else the one in which the turn was created.
pub(super) fn turn_span(seed: &TurnSeed) -> Span {
    let agent = seed.agent.as_deref();
    let span = operation_span!("invoke_agent", agent, "internal", seed.id.as_str(), {
        gen_ai.agent.name = agent,
        gen_ai.conversation.id = seed.conversation.as_deref(),
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_creation.input_tokens = Empty,
        gen_ai.usage.reasoning.output_tokens = Empty,
    });
    if let Some(traceparent) = &seed.traceparent
        && current_traceparent().is_none()
    {
        continue_trace(&span, traceparent);
    }
    span
}

/// Says in the span of a turn what the turn cost, and why it failed.
pub(super) fn record_turn_end(span: &Span, usage: Usage, error: Option<&ErrorReport>) {
    record_usage(span, usage);
    if let Some(error) = error {
        record_error(span, error.code.as_ref(), Some(&error_with_cause(error)));
    }
}

/// The step of an executor.
pub(super) struct ChatSpan {
    pub(super) span: Span,
    /// Whom it asks, as far as that is known before.
    target: ChatTarget,
}

/// Whom a step asks.
#[derive(Debug, Default)]
struct ChatTarget {
    provider: Option<String>,
    model: Option<String>,
    address: Option<String>,
    port: Option<u16>,
}

impl ChatTarget {
    fn of(executor: ExecutorDescription) -> Self {
        let ExecutorDescription::Model { provider, model, base_url, .. } = executor else {
            return Self::default();
        };
        let (address, port) = server_of(&base_url).unzip();
        Self { provider: Some(provider_name(provider)), model: Some(model), address, port }
    }
}

/// The name of a provider as the conventions have it.
fn provider_name(name: String) -> String {
    let known = match name.as_str() {
        "azure" => "azure.ai.openai",
        "bedrock" => "aws.bedrock",
        "gemini" | "google" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        _ => return name,
    };
    known.to_owned()
}

/// The host and the port of an address of HTTP.
fn server_of(base_url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = base_url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let usual = if scheme.eq_ignore_ascii_case("http") { 80 } else { 443 };
    let named = authority.rsplit_once(':').filter(|(host, _)| {
        // A colon within the brackets of an IPv6 address names no port.
        !host.starts_with('[') || host.ends_with(']')
    });
    match named {
        Some((host, port)) => Some((host.to_owned(), port.parse().ok()?)),
        None if authority.is_empty() => None,
        None => Some((authority.to_owned(), usual)),
    }
}

impl ChatSpan {
    /// The span of a step. What the executor is, is asked only if somebody sees the span.
    pub(super) fn begin(
        ctx: &DispatchContext,
        describe: impl FnOnce() -> ExecutorDescription,
    ) -> Self {
        let target = match span_enabled!(target: "haft", Level::INFO) {
            true => ChatTarget::of(describe()),
            false => ChatTarget::default(),
        };
        let ChatTarget { provider, model, address, port } = &target;
        let span = operation_span!("chat", model.as_deref(), "client", ctx.turn_id(), {
            haft.iteration = i64::from(ctx.iteration()),
            gen_ai.conversation.id = ctx.turn().conversation(),
            gen_ai.provider.name = provider.as_deref(),
            gen_ai.request.model = model.as_deref(),
            gen_ai.response.finish_reasons = Empty,
            gen_ai.response.id = Empty,
            gen_ai.response.model = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.cache_creation.input_tokens = Empty,
            gen_ai.usage.reasoning.output_tokens = Empty,
            server.address = address.as_deref(),
            server.port = port.map(i64::from),
        });
        Self { span, target }
    }

    /// Says in the span what the model answered or why it did not, and emits the metrics of the request.
    pub(super) fn end(
        mut self,
        generation: Option<&GenerationStats>,
        error: Option<&ErrorReport>,
        duration: Duration,
    ) {
        if let Some(error) = error {
            record_error(&self.span, error.code.as_ref(), Some(&error_with_cause(error)));
        }
        if let Some(generation) = generation {
            self.record_generation(generation);
        }
        self.span.in_scope(|| self.emit_metrics(generation, error, duration));
    }

    fn record_generation(&mut self, generation: &GenerationStats) {
        let Self { span, target } = self;
        record_usage(span, generation.usage);
        if target.provider.is_none()
            && let Some(provider) = &generation.provider
        {
            span.record("gen_ai.provider.name", provider.as_str());
            target.provider = Some(provider.to_string());
        }
        if let Some(model) = &generation.model {
            span.record("gen_ai.response.model", model.as_str());
        }
        if let Some(id) = &generation.response_id {
            span.record("gen_ai.response.id", id.as_str());
        }
        if let Some(reason) = &generation.finish_reason
            && !set_list(span, "gen_ai.response.finish_reasons", reason)
        {
            span.record("gen_ai.response.finish_reasons", reason.as_str());
        }
    }

    fn emit_metrics(
        &self,
        generation: Option<&GenerationStats>,
        error: Option<&ErrorReport>,
        duration: Duration,
    ) {
        let ChatTarget { provider, model, address, port } = &self.target;
        let response_model = generation.and_then(|it| it.model.as_deref());
        let usage = generation.map(|it| it.usage).unwrap_or_default();
        macro_rules! emit {
            ($($fields:tt)*) => {
                trace!(
                    target: "haft::metrics",
                    {
                        gen_ai.operation.name = "chat",
                        gen_ai.provider.name = provider.as_deref(),
                        gen_ai.request.model = model.as_deref(),
                        gen_ai.response.model = response_model,
                        server.address = address.as_deref(),
                        server.port = port.map(i64::from),
                        $($fields)*
                    },
                    "a request to a model"
                )
            };
        }
        emit!(
            histogram.gen_ai.client.operation.duration = duration.as_secs_f64(),
            error.type = error.map(|it| error_type(it.code.as_ref())),
        );
        if usage.prompt > 0 {
            emit!(
                histogram.gen_ai.client.token.usage = usage.prompt,
                gen_ai.token.type = "input",
            );
        }
        if usage.completion > 0 {
            emit!(
                histogram.gen_ai.client.token.usage = usage.completion,
                gen_ai.token.type = "output",
            );
        }
    }
}

/// The span of a call. The arguments are part of it only if they may be shown.
pub(super) fn call_span(ctx: &DispatchContext, call: &ToolCall, shown: Option<&Args>) -> Span {
    let own_id = || call.id().call_id().to_string();
    operation_span!("execute_tool", Some(call.tool()), "internal", ctx.turn_id(), {
        haft.iteration = i64::from(call.iteration),
        gen_ai.conversation.id = ctx.turn().conversation(),
        gen_ai.tool.name = call.tool(),
        gen_ai.tool.type = "function",
        gen_ai.tool.call.id = call.provider_id.clone().unwrap_or_else(own_id),
        gen_ai.tool.call.arguments = shown.map(|it| BoundedValue::from(it).to_string()),
    })
}

/// Says in the span of a call why the call failed. The cause is for the operator; the message is content.
pub(super) fn record_call_end(span: &Span, call: &ToolCall, shows_content: bool) {
    if let Some(error) = &call.error {
        let message = shows_content.then_some(error.message.as_str());
        record_error(span, Some(&error.code), call.cause().or(message));
    }
}

fn record_error(span: &Span, code: Option<&ErrorCode>, message: Option<&str>) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", error_type(code));
    if let Some(message) = message {
        span.record("error.message", message);
    }
}

fn error_type(code: Option<&ErrorCode>) -> &str {
    code.map_or("_OTHER", ErrorCode::as_str)
}

fn record_usage(span: &Span, usage: Usage) {
    for (key, count) in [
        ("gen_ai.usage.input_tokens", usage.prompt),
        ("gen_ai.usage.output_tokens", usage.completion),
        ("gen_ai.usage.cache_read.input_tokens", usage.cached),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_creation),
        ("gen_ai.usage.reasoning.output_tokens", usage.reasoning),
    ] {
        if count > 0 {
            // The integers of OpenTelemetry are signed.
            span.record(key, i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}
