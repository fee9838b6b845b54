//! What `artifact_info` says: the facts about one artifact, or the list of all of them.

use crate::artifact::{ArtifactKind, Budget, SpooledArtifact};
use crate::schema::excerpt;
use crate::tool::context::CallContext;
use crate::tool::{ArtifactSet, LiveArtifact, ToolOutput};
use crate::trust::TrustTier;

/// How many handles a refusal names.
const MAX_NAMED: usize = 20;

/// The kind and the size of an artifact, in a line.
pub(super) async fn describe_size(handle: &str, artifact: &SpooledArtifact) -> String {
    let (kind, bytes) = (artifact.kind(), artifact.reader().byte_length());
    let mut line = format!("{handle}: {kind}, {bytes} bytes (about {} tokens)", bytes.div_ceil(4));
    // A line count that cannot be had is left out; other queries say why.
    if let Ok(lines) = artifact.count_lines().await {
        line.push_str(&format!(", {lines} lines"));
    }
    line
}

/// Lists the artifacts of the turn without the first `skip`, one a line, with the call that made each.
pub(super) fn list_artifacts(skip: u64, ctx: &CallContext, budget: Budget) -> ToolOutput {
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    let live = ctx.artifacts().live();
    let mut text = String::new();
    let mut shown = skip;
    for artifact in live.iter().skip(skip) {
        let line = describe_origin(artifact, ctx);
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

fn describe_origin(live: &LiveArtifact, ctx: &CallContext) -> String {
    let LiveArtifact { handle, artifact, call, .. } = live;
    let origin = match call.and_then(|id| ctx.turn().tool_calls().get(&id)) {
        Some(call) => format!("{} {}", excerpt(call.tool()), excerpt(&call.raw().to_text())),
        None => "retrieved".to_owned(),
    };
    let kind = artifact.kind();
    let bytes = artifact.reader().byte_length();
    format!("{handle} {kind} {bytes} bytes, {origin}\n")
}

/// The artifacts that a query can be asked about, for a refusal.
pub(super) fn name_artifacts(
    artifacts: &ArtifactSet,
    reads: impl Fn(&ArtifactKind) -> bool,
) -> String {
    let live = artifacts.live();
    let live: Vec<_> = live.iter().filter(|it| reads(it.artifact.kind())).collect();
    if live.is_empty() {
        return "there are none that this tool reads now".to_owned();
    }
    let named = live.iter().rev().take(MAX_NAMED).map(|it| {
        let kind = it.artifact.kind();
        let bytes = it.artifact.reader().byte_length();
        format!("`{}` ({kind}, {bytes} bytes)", it.handle)
    });
    let named: Vec<String> = named.collect();
    let rest = match live.len() - named.len() {
        0 => String::new(),
        rest => format!(", and {rest} more that `artifact_info` lists"),
    };
    format!("this tool can be asked about {}{rest}", named.join(", "))
}
