//! The tool that lists the artifacts of a turn.

use crate::artifact::{ArtifactKind, Budget};
use crate::json::ValueRef;
use crate::schema::args::Args;
use crate::schema::{excerpt, integer, object};
use crate::tool::context::DispatchContext;
use crate::tool::{
    ArtifactSet, InvalidTool, LiveArtifact, OnCollision, Tool, ToolEffect, ToolOutput,
};
use crate::trust::TrustTier;

/// The name of the tool that lists the artifacts.
const NAME: &str = "artifact_list";

/// How many handles a refusal names.
const MAX_NAMED: usize = 20;

/// Builds the tool that lists the artifacts of the turn.
pub(super) fn artifact_list(budget: Budget) -> Result<Tool, InvalidTool> {
    Tool::builder(NAME)
        .description("Lists the artifacts: callId, kind, bytes, and the call that made each.")
        .input(object().field("skip", integer().min(0).optional()))
        .artifact_query()
        .ephemeral()
        .on_collision(OnCollision::Replace)
        .effect(ToolEffect::ReadOnly)
        .handler(move |args: Args, ctx: &DispatchContext| list_artifacts(&args, ctx, budget))
        .build()
}

fn list_artifacts(args: &Args, ctx: &DispatchContext, budget: Budget) -> ToolOutput {
    let skip = args.root().get("skip").and_then(ValueRef::as_u64);
    let skip = skip.and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
    let live = ctx.artifacts().live();
    let mut text = String::new();
    let mut shown = skip;
    for artifact in live.iter().skip(skip) {
        let line = describe(artifact, ctx);
        let is_full = shown - skip >= budget.lines.get() || text.len() + line.len() > budget.bytes;
        if is_full && shown > skip {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    if text.is_empty() {
        text.push_str("(no artifacts)");
    }
    if shown < live.len() {
        text.push_str(&format!("[{} more; go on with skip {shown}]", live.len() - shown));
    }
    // The arguments of calls may quote text from anywhere.
    ToolOutput::Answer { text: text.trim_end().to_owned(), label: TrustTier::UNTRUSTED }
}

/// One artifact in a line.
fn describe(live: &LiveArtifact, ctx: &DispatchContext) -> String {
    let LiveArtifact { handle, artifact, call, .. } = live;
    let origin = match call.and_then(|id| ctx.turn().tool_calls().get(&id)) {
        Some(call) => format!("{} {}", excerpt(call.tool()), excerpt(&call.raw().to_text())),
        None => "retrieved".to_owned(),
    };
    let (kind, bytes) = (artifact.kind(), artifact.reader().byte_length());
    format!("{handle} {kind} {bytes} bytes, {origin}\n")
}

/// The artifacts that a query can be asked about, for a refusal.
pub(super) fn live_handles(
    artifacts: &ArtifactSet,
    reads: impl Fn(&ArtifactKind) -> bool,
) -> String {
    let live = artifacts.live();
    let live: Vec<_> = live.iter().filter(|it| reads(it.artifact.kind())).collect();
    if live.is_empty() {
        return "there are none that this tool reads now".to_owned();
    }
    let named = live.iter().rev().take(MAX_NAMED).map(|it| {
        let (kind, bytes) = (it.artifact.kind(), it.artifact.reader().byte_length());
        format!("`{}` ({kind}, {bytes} bytes)", it.handle)
    });
    let named: Vec<String> = named.collect();
    let rest = match live.len() - named.len() {
        0 => String::new(),
        rest => format!(", and {rest} more that `{NAME}` lists"),
    };
    format!("this tool can be asked about {}{rest}", named.join(", "))
}
