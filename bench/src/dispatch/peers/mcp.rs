//! rmcp 3.8: `ToolRouter`, as a server calls it for each request.

use rmcp::{
    RoleServer, ServerHandler,
    handler::server::{
        router::tool::{ToolRoute, ToolRouter},
        tool::ToolCallContext,
        wrapper::Parameters,
    },
    model::{CallToolRequestParams, CallToolResponse, JsonObject, NumberOrString, Tool},
    service::{Peer, RequestContext, serve_directly},
};

use super::{Measured, now};
use crate::measure::Variant;

struct Server;
impl ServerHandler for Server {}

/// Text to a JSON object, request context, `ToolRouter::call`, object to `T`.
///
/// # Errors
///
/// When the runtime for the served peer cannot be started.
pub(super) fn router<T: Measured>(text: &'static str) -> Result<Variant, String> {
    let schema = super::schema::<T>().as_object().cloned().unwrap_or_default();
    let router = ToolRouter::<Server>::new().with_route(ToolRoute::new(
        Tool::new(T::TOOL, "Measured tool", schema),
        |Parameters(args): Parameters<T>| args.handle(),
    ));
    let peer = peer()?;
    let work = move || {
        let args: JsonObject = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let params = CallToolRequestParams::new(T::TOOL).with_arguments(args);
        let request = RequestContext::new(NumberOrString::Number(1), peer.clone());
        now(router.call(ToolCallContext::new(&Server, params, request)))?
            .map_err(|error| error.to_string())
    };
    Ok(Variant::new("rmcp 3.8 ToolRouter", work, show))
}

/// A peer can only be had from a served connection; this one is never used.
fn peer() -> Result<Peer<RoleServer>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let (connection, _client) = tokio::io::duplex(64);
    let _entered = runtime.enter();
    let service = serve_directly::<RoleServer, _, _, _, _>(Server, connection, None);
    Ok(service.peer().clone())
}

fn show(result: Result<CallToolResponse, String>) -> String {
    match result {
        Ok(CallToolResponse::Complete(it)) => {
            let text = it.content.first().and_then(|it| it.as_text());
            text.map_or_else(|| format!("{it:?}"), |it| it.text.clone())
        }
        other => format!("{other:?}"),
    }
}
