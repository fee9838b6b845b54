//! Answers that are trusted as far as the files are.

use haft_core::artifact::{ArtifactDraft, ArtifactKind};
use haft_core::tool::{ToolFailure, ToolOutput};
use haft_core::trust::TrustLabel;
use serde::Serialize;

/// Text of a kind: at once if it is small, else as an artifact.
pub(super) fn text(text: String, kind: ArtifactKind, label: TrustLabel) -> ToolOutput {
    if text.len() < SMALL {
        return ToolOutput::Answer { text, label };
    }
    ToolOutput::Artifacts(vec![ArtifactDraft::new(kind, text).labelled(label)])
}

/// A value as JSON.
pub(super) fn json(value: &impl Serialize, label: TrustLabel) -> Result<ToolOutput, ToolFailure> {
    Ok(text(serde_json::to_string(value)?, ArtifactKind::JSON, label))
}

/// Fewer bytes are shown at once.
pub(super) const SMALL: usize = 4 * 1024;
