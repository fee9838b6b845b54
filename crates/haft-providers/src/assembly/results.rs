//! The outcomes of calls.

use std::sync::Arc;

use haft_core::artifact::{ArtifactKind, SpooledArtifact};
use haft_core::call::{CallState, ToolCall, ToolResults};
use haft_core::media::Media;
use haft_core::spool::SpoolError;
use haft_core::tool::{BlockTool, Tool, ToolRole};
use haft_core::trust::{ArtifactHandle, PartOrigin};

use super::media::MediaPlacement;
use super::render_cache::QueryDefinitions;
use super::{AssembleError, Funnel};
use crate::dialect::{NoteTopic, RequestNote};
use crate::prompt::{ContentPart, MediaPosition};
use crate::wire_names::WireNames;

/// The tools that query artifacts, and which ones.
pub(super) struct ArtifactQueries(Vec<ArtifactQuery>);

struct ArtifactQuery {
    wire_name: Arc<str>,
    tool: Tool,
}

impl ArtifactQueries {
    pub(super) fn new(block: &[BlockTool], names: &WireNames) -> Self {
        let tools = block.iter().map(|it| &it.tool);
        let queries = tools.filter(|tool| *tool.role() == ToolRole::ArtifactQuery);
        let queries = queries.map(|tool| ArtifactQuery {
            wire_name: names.wire_name(tool.name().as_str()),
            tool: tool.clone(),
        });
        Self(queries.collect())
    }

    /// The names of the tools on the wire, and their definitions.
    pub(super) fn definitions(&self) -> QueryDefinitions {
        let of =
            |query: &ArtifactQuery| (Arc::clone(&query.wire_name), query.tool.definition_digest());
        self.0.iter().map(of).collect()
    }

    /// The names of the tools that an artifact can be queried with.
    pub(super) fn for_handle(&self, handle: &str, kind: &ArtifactKind) -> Vec<&str> {
        let of = self.0.iter().filter(|query| query.tool.queries_artifact(handle, kind));
        of.map(|query| &*query.wire_name).collect()
    }
}

/// The handles of a call's artifacts.
#[derive(Clone, Copy)]
pub(super) struct ShownHandles<'a> {
    pub(super) all: &'a [String],
    /// Whether no result before them in the same step has one. What they have in common is said once.
    pub(super) are_first: bool,
}

/// What is shown of a call's end.
#[derive(Default)]
pub(super) struct ShownResult {
    pub(super) content: Vec<ContentPart>,
    /// What follows in a message behind the results.
    pub(super) below: Vec<ContentPart>,
    pub(super) is_error: bool,
    /// Whether another request may show something else, although the record is the same.
    pub(super) may_change: bool,
}

impl Funnel<'_> {
    /// Whether the result of a call is left out.
    pub(super) fn omits_result(&self, call: &ToolCall) -> bool {
        self.options.omissions.results.contains(&call.id())
    }

    /// What is shown of a call's end.
    pub(super) async fn call_result(
        &self,
        call: &ToolCall,
        handles: ShownHandles<'_>,
        notes: &mut Vec<RequestNote>,
    ) -> Result<ShownResult, AssembleError> {
        let mut shown = ShownResult::default();
        if self.omits_result(call) {
            shown.content.push(ContentPart::Text(self.renderer.tool_note(call, 0, OMITTED_RESULT)));
            return Ok(shown);
        }
        match &call.results {
            Some(ToolResults::Text(text)) => {
                shown.content.push(ContentPart::Text(self.renderer.tool_result(call, 0, text)));
            }
            Some(ToolResults::Artifacts(all)) => {
                self.show_artifacts(call, (all, handles), &mut shown, notes).await?;
            }
            Some(ToolResults::Media(all)) => self.show_media(call, all, &mut shown).await?,
            _ => {}
        }
        if let Some(edited) = call.edited.as_ref().filter(|_| !shown.content.is_empty()) {
            // Behind the results, whose parts are counted from zero.
            let part = u32::try_from(shown.content.len()).unwrap_or(u32::MAX);
            let text = format!(
                "The person who approved this call changed its arguments to {}",
                edited.to_text()
            );
            shown.content.push(ContentPart::Text(self.renderer.tool_note(call, part, &text)));
        }
        if shown.content.is_empty() {
            shown.is_error = true;
            let text = self.renderer.tool_error(call, error_message(call, notes));
            shown.content.push(ContentPart::Text(text));
        }
        Ok(shown)
    }

    /// Shows artifacts by their handles, and those without a handle in full.
    async fn show_artifacts(
        &self,
        call: &ToolCall,
        (all, handles): (&[SpooledArtifact], ShownHandles<'_>),
        shown: &mut ShownResult,
        notes: &mut Vec<RequestNote>,
    ) -> Result<(), AssembleError> {
        for (part, artifact) in (0..).zip(all) {
            let handle = usize::try_from(part).ok().and_then(|at| handles.all.get(at));
            shown.content.push(match handle {
                Some(handle) => {
                    let lines = artifact.count_lines().await;
                    // A line count that cannot be had is left out; the queries will say why.
                    shown.may_change |= lines.is_err();
                    let line_count = lines.ok();
                    let tools = match handles.are_first && part == 0 {
                        true => self.queries.for_handle(handle, artifact.kind()),
                        false => Vec::new(),
                    };
                    let preview = &self.read_preview(artifact).await;
                    let text =
                        ArtifactHandle { handle, artifact, line_count, tools: &tools, preview };
                    let origin = PartOrigin::Call(call);
                    ContentPart::Text(self.renderer.handle(origin, part, &text))
                }
                None => {
                    let text = read_inline_text(artifact, call.tool(), notes).await?;
                    ContentPart::Text(self.renderer.tool_result(call, part, &text))
                }
            });
        }
        Ok(())
    }

    /// Shows media where the provider supports them, or below the results.
    async fn show_media(
        &self,
        call: &ToolCall,
        all: &[Media],
        shown: &mut ShownResult,
    ) -> Result<(), AssembleError> {
        shown.may_change = true;
        let origin = PartOrigin::Call(call);
        for (part, media) in (0..).zip(all) {
            let placement = self.place_media((origin, part), media, MediaPosition::ToolResult);
            match placement.await? {
                MediaPlacement::Inline(content) => shown.content.push(content),
                MediaPlacement::Below(stub, content) => {
                    shown.content.push(ContentPart::Text(stub));
                    shown.below.push(content);
                }
            }
        }
        Ok(())
    }

    /// How the content of an artifact begins, as much as is shown with a handle.
    pub(super) async fn read_preview(&self, artifact: &SpooledArtifact) -> String {
        let tokens = usize::try_from(self.ctx.turn().preview_tokens()).unwrap_or(usize::MAX);
        match tokens.saturating_mul(BYTES_PER_TOKEN) {
            0 => String::new(),
            bytes => artifact.read_preview(bytes).await,
        }
    }
}

/// About how many bytes of text a tokenizer takes as one token.
const BYTES_PER_TOKEN: usize = 4;

/// Says why a call has no result.
fn error_message<'c>(call: &'c ToolCall, notes: &mut Vec<RequestNote>) -> &'c str {
    match (&call.error, call.state()) {
        (Some(error), _) => error.message.as_str(),
        (None, CallState::Cancelled) => "The call was cancelled.",
        (None, CallState::Unknown) => "What came of the call is not known.",
        (None, CallState::Succeeded) => "The call gave no result.",
        (None, _) => {
            let message = format!("the call `{}` has not ended", call.id());
            notes.push(RequestNote::new(NoteTopic::CallWithoutResult, message));
            "The call has not ended."
        }
    }
}

/// The text in place of a result that was left out.
const OMITTED_RESULT: &str =
    "This result was left out to save room. If you still need it, make the call again.";

/// The maximum number of bytes of an artifact that is shown in full.
const MAX_INLINE: usize = 1024 * 1024;

/// The content of an artifact that is to be shown in full.
pub(super) async fn read_inline_text(
    artifact: &SpooledArtifact,
    of: &str,
    notes: &mut Vec<RequestNote>,
) -> Result<String, SpoolError> {
    let reader = artifact.reader();
    let bytes = reader.read_at(0, MAX_INLINE).await?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    let all = reader.byte_length();
    if all > bytes.len() as u64 {
        let message = format!("of the content of `{of}`, {} of {all} bytes are shown", bytes.len());
        text.push_str(&format!("\n[{} of {all} bytes are shown]", bytes.len()));
        notes.push(RequestNote::new(NoteTopic::ContentCut, message));
    }
    Ok(text)
}
