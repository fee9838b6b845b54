//! The outcome of a call as text.

use haft_core::artifact::SpooledArtifact;
use haft_core::call::{ToolCall, ToolResults};
use haft_core::media::Media;
use haft_core::spool::SpoolError;

/// The outcome of a call, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallText {
    pub(super) text: String,
    /// How many bytes there are beyond the text.
    pub(super) left_out: u64,
}

/// Reads the outcome of a call: its text, the beginning of its artifacts, or why it failed. There is none for a call
/// that has not ended.
pub(super) async fn read_call_text(
    call: &ToolCall,
    limit: usize,
) -> Result<Option<CallText>, SpoolError> {
    let text = match (&call.results, &call.error) {
        (Some(ToolResults::Text(text)), _) => text.clone(),
        (Some(ToolResults::Artifacts(all)), _) => {
            return read_artifact_start(all, limit).await.map(Some);
        }
        (Some(ToolResults::Media(all)), _) => {
            let names: Vec<&str> = all.iter().map(Media::filename).collect();
            format!("(media: {})", names.join(", "))
        }
        (_, Some(error)) => error.message.clone(),
        _ => return Ok(None),
    };
    Ok(Some(CallText { text, left_out: 0 }))
}

async fn read_artifact_start(
    artifacts: &[SpooledArtifact],
    limit: usize,
) -> Result<CallText, SpoolError> {
    let mut said = CallText { text: String::new(), left_out: 0 };
    for artifact in artifacts {
        let reader = artifact.reader();
        let mut at = 0;
        while at < reader.byte_length() && said.text.len() < limit {
            let bytes = reader.read_at(at, limit - said.text.len()).await?;
            if bytes.is_empty() {
                break;
            }
            at += bytes.len() as u64;
            said.text.push_str(&String::from_utf8_lossy(&bytes));
        }
        said.left_out += reader.byte_length().saturating_sub(at);
    }
    Ok(said)
}
