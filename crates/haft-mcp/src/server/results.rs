//! Records of calls as results for clients.

use haft_core::artifact::SpooledArtifact;
use haft_core::call::{CallState, ToolCall, ToolResults};
use haft_core::media::{Media, MediaKind, encode_base64};
use haft_core::trust::TrustTier;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource, ResourceContents};
use serde_json::Value;

use super::ServerShared;
use super::definitions::describe_lifetime;
use crate::query_tools::read_preview;

/// How many bytes of media one answer may hold.
const MAX_MEDIA_BYTES: u64 = 4 * 1024 * 1024;

impl ServerShared {
    /// The result of a finished call. `handles` are those of its artifacts.
    pub(super) async fn call_result(&self, call: &ToolCall, handles: &[String]) -> CallToolResult {
        let mut result = match (&call.error, &call.results) {
            (Some(error), _) => self.error_result(&error.message),
            (None, Some(ToolResults::Text(text))) => {
                CallToolResult::success(vec![ContentBlock::text(text.as_str())])
            }
            (None, Some(ToolResults::Media(media))) => {
                let mut blocks = Vec::with_capacity(media.len());
                let mut room = MAX_MEDIA_BYTES;
                for item in media {
                    blocks.push(self.media_block(item, &mut room).await);
                }
                CallToolResult::success(blocks)
            }
            (None, Some(ToolResults::Artifacts(artifacts))) => {
                let mut blocks = Vec::new();
                for (artifact, handle) in artifacts.iter().zip(handles) {
                    self.describe_artifact(artifact, handle, &mut blocks).await;
                }
                CallToolResult::success(blocks)
            }
            _ if call.state() == CallState::Succeeded => CallToolResult::success(Vec::new()),
            _ => self.error_result("the call did not end"),
        };
        result.meta = Some(metadata(call));
        result
    }

    /// An error that the model of the client can read.
    pub(super) fn error_result(&self, message: &str) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(self.limits.cut_error(message))])
    }

    /// A media item as a block of content, or a note if there is no room for it. A text that stands between media is a
    /// text for clients too.
    async fn media_block(&self, media: &Media, room: &mut u64) -> ContentBlock {
        let name = media.filename();
        let mime = media.mime_type();
        let bytes = match media.bytes(*room).await {
            Ok(bytes) => bytes,
            Err(error) => {
                return ContentBlock::text(format!("`{name}` ({mime}) cannot be shown: {error}"));
            }
        };
        *room = room.saturating_sub(bytes.len() as u64);
        if mime == "text/plain"
            && let Ok(text) = std::str::from_utf8(&bytes)
            && self.limits.fits(text)
        {
            return ContentBlock::text(text);
        }
        let data = encode_base64(&bytes);
        match media.kind() {
            MediaKind::Image => ContentBlock::image(data, mime),
            MediaKind::Audio => ContentBlock::audio(data, mime),
            _ => {
                let contents = ResourceContents::blob(data, format!("haft://media/{name}"));
                ContentBlock::resource(contents.with_mime_type(mime))
            }
        }
    }

    /// Describes a large result: what it is and how to query it, and in a block of its own how it begins.
    async fn describe_artifact(
        &self,
        artifact: &SpooledArtifact,
        handle: &str,
        blocks: &mut Vec<ContentBlock>,
    ) {
        let bytes = artifact.reader().byte_length();
        let names = self.queries.names_for(artifact).join(", ");
        let lifetime = describe_lifetime(self.results.lifetime());
        let preview = read_preview(artifact, self.limits).await;
        let begins = if preview.is_empty() { "" } else { " It begins:" };
        blocks.push(ContentBlock::text(format!(
            "The result has {bytes} bytes of {}, more than one answer can hold. It is stored for {lifetime} as callId \
             `{handle}`; ask about it with {names}.{begins}",
            artifact.kind()
        )));
        if !preview.is_empty() {
            blocks.push(ContentBlock::text(preview));
        }
        if self.resource_links {
            let link = Resource::new(artifact_uri(handle), format!("result {handle}"));
            let size = bytes;
            blocks.push(ContentBlock::resource_link(
                link.with_mime_type("text/plain").with_size(size),
            ));
        }
    }
}

/// The address of a stored result.
pub(super) fn artifact_uri(handle: &str) -> String {
    format!("{ARTIFACT_URI}{handle}")
}

/// How the addresses of stored results begin.
pub(super) const ARTIFACT_URI: &str = "haft://artifact/";

/// What clients may know about a call: its content key, and how much its result may be trusted.
fn metadata(call: &ToolCall) -> MetaObject {
    let mut meta = MetaObject::new();
    let tier = match call.label() {
        TrustTier::FirstParty => "first-party",
        TrustTier::ThirdPartyPrivate => "third-party-private",
        TrustTier::ThirdPartyPublic => "third-party-public",
    };
    meta.insert("haft/callId".to_owned(), Value::String(call.call_id().to_string()));
    meta.insert("haft/trust".to_owned(), Value::String(tier.to_owned()));
    meta
}
