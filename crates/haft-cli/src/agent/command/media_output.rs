//! Commands whose output is media: an image, audio, video or a document.

use std::future::poll_fn;
use std::pin::Pin;

use futures_core::Stream as _;
use haft::media::{Media, MediaFile, MediaKind};
use haft::tools::ByteStream;
use haft::{ToolFailure, ToolOutput};

/// The media type and the file name of a command's output.
#[derive(Debug)]
pub(super) struct MediaOutput {
    kind: MediaKind,
    media_type: String,
    filename: String,
}

/// Maximum size of media, in bytes.
const MAX_BYTES: usize = 16 * 1024 * 1024;

impl MediaOutput {
    /// The output of the tool with this name.
    pub(super) fn new(tool: &str, media_type: &str) -> Result<Self, String> {
        let parts = media_type.split_once('/').filter(|(_, subtype)| !subtype.is_empty());
        let Some((top_level, subtype)) = parts else {
            return Err(format!("`{media_type}` is not a media type such as `image/png`"));
        };
        let kind = match top_level {
            "image" => MediaKind::Image,
            "audio" => MediaKind::Audio,
            "video" => MediaKind::Video,
            _ => MediaKind::Document,
        };
        let extension = subtype.split(['+', ';', '.']).next().unwrap_or_default();
        let filename = format!("{tool}.{extension}");
        Ok(Self { kind, media_type: media_type.to_owned(), filename })
    }

    /// Reads the output of a command as media.
    pub(super) async fn read_output(
        &self,
        mut output: ByteStream,
    ) -> Result<ToolOutput, ToolFailure> {
        let mut bytes = Vec::new();
        while let Some(chunk) = poll_fn(|cx| Pin::new(&mut output).poll_next(cx)).await {
            bytes.extend_from_slice(&chunk?);
            if bytes.len() > MAX_BYTES {
                let what = format!("the program wrote more than {MAX_BYTES} bytes");
                return Err(ToolFailure::new(what));
            }
        }
        let file = MediaFile::new(self.filename.as_str(), self.media_type.as_str(), bytes);
        // As little trusted as the text of a command: who wrote what a program prints is not known.
        Ok(ToolOutput::Media(vec![Media::retrieved_public(self.kind, file)]))
    }
}
