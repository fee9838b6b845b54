//! The spans of requests, named by the conventions of OpenTelemetry for MCP.

use tracing::field::Empty;
use tracing::{Span, info_span};

/// The fields that both sides have. Fields that become known while the span is open have to be named when it begins.
macro_rules! request_span {
    ($method:expr, $tool:expr, $kind:literal, { $($fields:tt)* }) => {
        info_span!(
            target: "haft",
            "mcp",
            otel.name = match $tool {
                Some(tool) => format!("{} {tool}", $method),
                None => $method.to_owned(),
            },
            otel.kind = $kind,
            otel.status_code = Empty,
            mcp.method.name = $method,
            gen_ai.operation.name = $tool.map(|_| "execute_tool"),
            gen_ai.tool.name = $tool,
            error.type = Empty,
            $($fields)*
        )
    };
}

/// The span of a request to a server.
#[cfg(feature = "client")]
pub(crate) fn client_span(method: &str, tool: Option<&str>, server: &str) -> Span {
    request_span!(method, tool, "client", { haft.mcp.server = server, })
}

/// The span of a request of a client, which continues the client's trace.
#[cfg(feature = "server")]
pub(crate) fn server_span(method: &str, tool: Option<&str>, traceparent: Option<&str>) -> Span {
    let span = request_span!(method, tool, "server", {});
    if let Some(traceparent) = traceparent {
        haft::events::continue_trace(&span, traceparent);
    }
    span
}

/// Says in a span that its request failed.
pub(crate) fn record_failure(span: &Span, kind: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", kind);
}
