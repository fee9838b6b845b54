//! Output of programs that is no text.

use std::future::poll_fn;
use std::pin::Pin;

use futures_core::Stream as _;
use haft::media::{Media, MediaFile, MediaKind};
use haft::tool::ByteStream;
use haft::{ToolFailure, ToolOutput};

/// What a program's output is.
#[derive(Debug)]
pub(super) struct Medium {
    kind: MediaKind,
    mime: String,
    filename: String,
}

/// Most bytes of a medium.
const MAX_BYTES: usize = 16 * 1024 * 1024;

impl Medium {
    /// What the tool of this name makes.
    pub(super) fn new(tool: &str, mime: &str) -> Result<Self, String> {
        let Some((family, form)) = mime.split_once('/').filter(|(_, form)| !form.is_empty()) else {
            return Err(format!("`{mime}` is no MIME type, such as `image/png`"));
        };
        let kind = match family {
            "image" => MediaKind::Image,
            "audio" => MediaKind::Audio,
            "video" => MediaKind::Video,
            _ => MediaKind::Document,
        };
        let form = form.split(['+', ';', '.']).next().unwrap_or_default();
        Ok(Self { kind, mime: mime.to_owned(), filename: format!("{tool}.{form}") })
    }

    /// The medium that a program has written.
    pub(super) async fn made_of(&self, mut output: ByteStream) -> Result<ToolOutput, ToolFailure> {
        let mut bytes = Vec::new();
        while let Some(piece) = poll_fn(|cx| Pin::new(&mut output).poll_next(cx)).await {
            bytes.extend_from_slice(&piece?);
            if bytes.len() > MAX_BYTES {
                let what = format!("the program wrote more than {MAX_BYTES} bytes");
                return Err(ToolFailure::new(what));
            }
        }
        let file = MediaFile::new(self.filename.as_str(), self.mime.as_str(), bytes);
        Ok(ToolOutput::Media(vec![Media::tool_generated(self.kind, file)]))
    }
}
