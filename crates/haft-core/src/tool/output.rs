//! What a handler can return.

use bytes::Bytes;
use serde::Serialize;

use crate::artifact::{ArtifactDraft, SpooledArtifact};
use crate::byte_stream::ByteStream;
use crate::failure::ToolFailure;
use crate::media::Media;
use crate::trust::TrustTier;

/// The result of a handler, before anything is wrapped or stored.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolOutput {
    /// Text; wrapped by the tool's artifact kind.
    Text(String),
    /// Bytes; wrapped by the tool's artifact kind.
    Bytes(Bytes),
    /// Bytes that come bit by bit; they go into the spool and are never whole in memory.
    Stream(ByteStream),
    /// Media, shown to the model natively. Never empty.
    Media(Vec<Media>),
    /// Artifacts whose kind the tool chose itself. Never empty.
    Artifacts(Vec<ArtifactDraft>),
    /// The result of a query on an artifact, trusted as much as the artifact. Never wrapped again.
    Answer {
        /// The text for the model.
        text: String,
        /// How much it may be trusted.
        label: TrustTier,
    },
}

impl ToolOutput {
    /// The stream with which the output ends, if it is streamed.
    pub(super) fn stream(&mut self) -> Option<&mut ByteStream> {
        match self {
            Self::Stream(stream) => Some(stream),
            Self::Artifacts(drafts) => drafts.iter_mut().rev().find_map(ArtifactDraft::stream),
            _ => None,
        }
    }
}

/// A value that is returned as JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper that callers build and match")]
pub struct Json<T>(pub T);

/// What a handler may return: text, bytes, a stream, media, an artifact, a list of either, [`Json`] of
/// anything serialisable, nothing, or a `Result` of any of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "not a tool result",
    note = "return String, Vec<u8>, Bytes, ByteStream, Media, Vec<Media>, ArtifactDraft, SpooledArtifact, a list of these, Json<T>, or a Result of one of them with an error that converts to `ToolFailure`"
)]
pub trait IntoToolOutput {
    /// Whether values of this type are never large text: nothing, a text of the program, media. Where a tool can return
    /// anything else, the tools that query large results are offered from the first request on.
    const IS_SMALL: bool = false;

    /// Makes the output.
    ///
    /// # Errors
    ///
    /// The handler failed, or its value cannot be a result.
    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure>;
}

impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
        Ok(self)
    }
}

impl<T: IntoToolOutput, E: Into<ToolFailure>> IntoToolOutput for Result<T, E> {
    const IS_SMALL: bool = T::IS_SMALL;

    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
        self.map_err(Into::into)?.into_tool_output()
    }
}

impl<T: Serialize> IntoToolOutput for Json<T> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
        Ok(ToolOutput::Text(serde_json::to_string(&self.0)?))
    }
}

impl IntoToolOutput for Media {
    const IS_SMALL: bool = true;

    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
        vec![self].into_tool_output()
    }
}

impl IntoToolOutput for Vec<ArtifactDraft> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
        if self.is_empty() {
            return Err(ToolFailure::new("the tool returned an empty list of artifacts"));
        }
        Ok(ToolOutput::Artifacts(self))
    }
}

impl IntoToolOutput for Vec<SpooledArtifact> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
        self.into_iter().map(ArtifactDraft::from).collect::<Vec<_>>().into_tool_output()
    }
}

impl IntoToolOutput for Vec<Media> {
    const IS_SMALL: bool = true;

    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
        if self.is_empty() {
            return Err(ToolFailure::new("the tool returned an empty list of media"));
        }
        for media in &self {
            media.check()?;
        }
        Ok(ToolOutput::Media(self))
    }
}

macro_rules! outputs {
    ($($type:ty, $is_small:literal => |$value:ident| $output:expr;)*) => {$(
        impl IntoToolOutput for $type {
            const IS_SMALL: bool = $is_small;

            fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
                let $value = self;
                Ok($output)
            }
        }
    )*};
}

outputs! {
    (), true => |_nothing| ToolOutput::Text(String::new());
    String, false => |text| ToolOutput::Text(text);
    &'static str, true => |text| ToolOutput::Text(text.to_owned());
    Vec<u8>, false => |bytes| ToolOutput::Bytes(bytes.into());
    Bytes, false => |bytes| ToolOutput::Bytes(bytes);
    ByteStream, false => |stream| ToolOutput::Stream(stream);
    SpooledArtifact, false => |artifact| ToolOutput::Artifacts(vec![artifact.into()]);
    ArtifactDraft, false => |draft| ToolOutput::Artifacts(vec![draft]);
}
