//! What a call would change, for the person who approves it.

use std::time::Duration;

use haft_core::args::Args;
use haft_core::gate::Gate;
use haft_core::tool::{CallPreview, Tool};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long a tool may take to say what a call would change. A person waits for it.
const PREVIEW_TIME: Duration = Duration::from_secs(5);

/// Asks the tool what the call of a gate would change. A tool that fails to tell is no reason not to ask for the approval.
pub(super) async fn make_preview(tool: &Tool, gate: &Gate) -> Option<CallPreview> {
    let call = gate.call.as_ref().filter(|_| tool.has_preview())?;
    let args = Args::parse(&call.accepted).ok()?;
    let tool = tool.clone();
    let made = timeout(PREVIEW_TIME, spawn_blocking(move || tool.preview_call(&args))).await;
    let reason = match made {
        Ok(Ok(Some(Ok(preview)))) => return Some(preview),
        Ok(Ok(Some(Err(failure)))) => failure.to_string(),
        Ok(Ok(None)) => return None,
        Ok(Err(_)) => "the tool panicked".to_owned(),
        Err(_) => "the tool took too long".to_owned(),
    };
    Some(CallPreview::text(format!("it cannot be said what would change: {reason}\n")))
}
