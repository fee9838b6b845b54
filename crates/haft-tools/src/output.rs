//! Results of tools that carry a trust label.

use haft_core::artifact::{ArtifactDraft, ArtifactKind};
use haft_core::tool::{ToolFailure, ToolOutput};
use haft_core::trust::TrustTier;
use serde::Serialize;

/// Text of a kind: inline if it is short, otherwise an artifact.
pub(crate) fn text_output(text: String, kind: ArtifactKind, label: TrustTier) -> ToolOutput {
    if text.len() < MAX_INLINE_BYTES {
        return ToolOutput::Answer { text, label };
    }
    ToolOutput::Artifacts(vec![ArtifactDraft::new(kind, text).with_label(label)])
}

/// A value as JSON.
pub(crate) fn json_output(
    value: &impl Serialize,
    label: TrustTier,
) -> Result<ToolOutput, ToolFailure> {
    Ok(text_output(serde_json::to_string(value)?, ArtifactKind::JSON, label))
}

/// Text with fewer bytes is returned inline.
pub(crate) const MAX_INLINE_BYTES: usize = 4 * 1024;
