//! What a server returns, as the output of a tool.

use std::sync::Arc;

use haft_core::artifact::{ArtifactDraft, ArtifactKind};
use haft_core::media::{Media, MediaFile, MediaKind, MediaStashEntry};
use haft_core::spool::{SpoolError, SpoolPayload, SpoolReader};
use haft_core::tool::{ToolFailure, ToolOutput};
use haft_core::trust::TrustTier;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use crate::transport::{PartEncoding, SpooledPart, SpooledParts, decode_base64};

/// Reads the result of one call.
pub(super) struct ResultReader<'r> {
    pub(super) server: &'r str,
    pub(super) tool: &'r str,
    pub(super) tier: TrustTier,
    pub(super) parts: &'r SpooledParts,
}

/// A piece of a result.
enum Piece {
    Text(PieceContent, ArtifactKind),
    Media(MediaKind, String, PieceContent),
}

/// The content of a piece, at hand or in the spool.
enum PieceContent {
    Text(String),
    Bytes(Vec<u8>),
    Stored(SpooledPart),
}

impl ResultReader<'_> {
    /// Makes the output: text if it is all there is and small, media if there are any, and artifacts otherwise.
    pub(super) async fn read(&self, result: CallToolResult) -> Result<ToolOutput, ToolFailure> {
        let CallToolResult { content, structured_content, is_error, .. } = result;
        if is_error == Some(true) {
            return Err(self.error(&content).await);
        }
        let structured = structured_content.map(|value| self.structured(&value));
        let mut pieces = Vec::with_capacity(content.len() + 1);
        for block in content {
            pieces.push(self.piece(block)?);
        }
        if let Some(structured) = structured {
            // Servers repeat the structured value as text, for clients that do not know it.
            let value = match &structured {
                PieceContent::Text(json) => serde_json::from_str(json).ok(),
                _ => None,
            };
            let mut others = Vec::with_capacity(pieces.len() + 1);
            for piece in pieces {
                if !repeats(&piece, &structured, value.as_ref()).await {
                    others.push(piece);
                }
            }
            others.push(Piece::Text(structured, ArtifactKind::JSON));
            pieces = others;
        }
        self.output(pieces).await
    }

    async fn output(&self, mut pieces: Vec<Piece>) -> Result<ToolOutput, ToolFailure> {
        if pieces.iter().any(|piece| matches!(piece, Piece::Media(..))) {
            return self.media_output(pieces).await;
        }
        // The turn decides whether a single text is small. A single JSON value is an artifact that can be queried as one.
        if pieces.len() == 1
            && let Some(text) = pieces.pop_if(|it| it.is_plain_text()).and_then(Piece::into_text)
        {
            return Ok(ToolOutput::Text(text));
        }
        let total: usize = pieces.iter().map(Piece::len).sum();
        if total < MAX_INLINE {
            let texts = pieces.into_iter().filter_map(Piece::into_text);
            return Ok(ToolOutput::Text(texts.collect::<Vec<_>>().join("\n\n")));
        }
        if pieces.len() > MAX_SINGLE {
            pieces = join_short(pieces);
        }
        let drafts = pieces.into_iter().filter_map(|piece| self.draft(piece)).collect();
        Ok(ToolOutput::Artifacts(drafts))
    }

    fn draft(&self, piece: Piece) -> Option<ArtifactDraft> {
        let Piece::Text(content, kind) = piece else { return None };
        let payload = match content {
            PieceContent::Text(text) => SpoolPayload::Text(text),
            PieceContent::Bytes(bytes) => SpoolPayload::Bytes(bytes.into()),
            PieceContent::Stored(part) => SpoolPayload::Stream(part.into_stream()),
        };
        Some(ArtifactDraft::new(kind, payload).with_label(self.tier))
    }

    /// A result with media. Its texts become documents, because the output of a tool is one or the other.
    async fn media_output(&self, pieces: Vec<Piece>) -> Result<ToolOutput, ToolFailure> {
        if pieces.len() > MAX_MEDIA_PIECES {
            let reason = format!("returned more than {MAX_MEDIA_PIECES} pieces with media");
            return Err(self.failure(&reason));
        }
        // All of them are in memory at the same time.
        let total = pieces.iter().map(Piece::byte_length).fold(0, u64::saturating_add);
        if total > MAX_ALL_MEDIA {
            let reason = format!("returned media of more than {MAX_ALL_MEDIA} bytes in all");
            return Err(self.failure(&reason));
        }
        let mut media = Vec::with_capacity(pieces.len());
        for (number, piece) in (1..).zip(pieces) {
            media.push(match piece {
                Piece::Media(kind, mime_type, content) => {
                    let bytes = self.bytes(content).await?;
                    let file = MediaFile::new(self.filename(number, &mime_type), mime_type, bytes);
                    self.media(kind, file)?
                }
                Piece::Text(content, _) => {
                    let bytes = self.bytes(content).await?;
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let file =
                        MediaFile::new(self.filename(number, "text/plain"), "text/plain", bytes);
                    let entry = MediaStashEntry::new(text, self.tier);
                    self.media(MediaKind::Document, file)?.with_entry("text:transcript", entry)
                }
            });
        }
        Ok(ToolOutput::Media(media))
    }

    fn media(&self, kind: MediaKind, file: MediaFile) -> Result<Media, ToolFailure> {
        let media = Media::new(kind, self.tier, kind.default_hazard(), file);
        media.map_err(|error| self.failure(&format!("returned media that cannot be used: {error}")))
    }

    fn filename(&self, number: usize, mime_type: &str) -> String {
        let subtype = mime_type.split_once('/').map_or("bin", |(_, subtype)| subtype);
        let extension = subtype.split(['+', ';', '.']).next().unwrap_or_default();
        let is_plain = |it: &char| it.is_ascii_alphanumeric();
        let extension: String = extension.chars().filter(is_plain).take(12).collect();
        let extension = if extension == "plain" { "txt".to_owned() } else { extension };
        let tool: String =
            self.tool.chars().filter(|it| is_plain(it) || "-_".contains(*it)).collect();
        format!("{tool}-{number}.{extension}")
    }

    fn piece(&self, block: ContentBlock) -> Result<Piece, ToolFailure> {
        Ok(match block {
            ContentBlock::Text(text) => Piece::Text(self.text(text.text), ArtifactKind::TEXT),
            ContentBlock::Image(image) => {
                Piece::Media(MediaKind::Image, image.mime_type, self.blob(&image.data)?)
            }
            ContentBlock::Audio(audio) => {
                Piece::Media(MediaKind::Audio, audio.mime_type, self.blob(&audio.data)?)
            }
            ContentBlock::Resource(resource) => self.resource(resource.resource)?,
            ContentBlock::ResourceLink(link) => {
                let kind = link.mime_type.unwrap_or_else(|| "unknown type".to_owned());
                let text = format!("resource {} ({kind}): {}", link.name, link.uri);
                Piece::Text(PieceContent::Text(text), ArtifactKind::TEXT)
            }
            _ => return Err(self.failure("returned content of an unknown sort")),
        })
    }

    fn resource(&self, resource: ResourceContents) -> Result<Piece, ToolFailure> {
        Ok(match resource {
            ResourceContents::TextResourceContents { text, mime_type, .. } => {
                Piece::Text(self.text(text), artifact_kind(mime_type.as_deref()))
            }
            ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
                let mime_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                let content = self.blob(&blob)?;
                let kind = match mime_type.split('/').next() {
                    Some("image") => MediaKind::Image,
                    Some("audio") => MediaKind::Audio,
                    Some("video") => MediaKind::Video,
                    Some("text") => {
                        return Ok(Piece::Text(content, artifact_kind(Some(&mime_type))));
                    }
                    _ => MediaKind::Document,
                };
                Piece::Media(kind, mime_type, content)
            }
            _ => return Err(self.failure("returned a resource of an unknown sort")),
        })
    }

    fn text(&self, text: String) -> PieceContent {
        match self.parts.take(&text) {
            Some(part) => PieceContent::Stored(part),
            None => PieceContent::Text(text),
        }
    }

    fn blob(&self, data: &str) -> Result<PieceContent, ToolFailure> {
        if let Some(part) = self.parts.take(data) {
            return Ok(PieceContent::Stored(part));
        }
        let bytes = decode_base64(data);
        let bytes = bytes.ok_or_else(|| self.failure("returned data that is not base64"))?;
        Ok(PieceContent::Bytes(bytes))
    }

    fn structured(&self, value: &Value) -> PieceContent {
        match value {
            Value::String(text) => match self.parts.take(text) {
                Some(part) if part.encoding() == PartEncoding::Json => PieceContent::Stored(part),
                _ => PieceContent::Text(value.to_string()),
            },
            _ => PieceContent::Text(value.to_string()),
        }
    }

    /// The bytes of media, which stay in memory.
    async fn bytes(&self, content: PieceContent) -> Result<Vec<u8>, ToolFailure> {
        match content {
            PieceContent::Text(text) => Ok(text.into_bytes()),
            PieceContent::Bytes(bytes) => Ok(bytes),
            PieceContent::Stored(part) if part.byte_length() > MAX_MEDIA as u64 => {
                Err(self.failure(&format!("returned media of more than {MAX_MEDIA} bytes")))
            }
            PieceContent::Stored(part) => read_start(part.reader(), MAX_MEDIA).await,
        }
    }

    /// The failure that a server reports as a result.
    async fn error(&self, content: &[ContentBlock]) -> ToolFailure {
        let mut texts = Vec::new();
        for block in content {
            let ContentBlock::Text(text) = block else { continue };
            match self.parts.take(&text.text) {
                None => texts.push(text.text.clone()),
                Some(part) => {
                    let start = read_start(part.reader(), MAX_INLINE).await.unwrap_or_default();
                    texts.push(String::from_utf8_lossy(&start).into_owned());
                }
            }
        }
        let text = texts.join("\n");
        match text.trim().is_empty() {
            true => ToolFailure::new(format!(
                "the MCP server `{}` reports that the call failed, without a reason",
                self.server
            )),
            false => ToolFailure::new(text),
        }
    }

    /// A result that cannot be used. The server has done its work before.
    fn failure(&self, what: &str) -> ToolFailure {
        ToolFailure::new(format!("the MCP server `{}` {what}", self.server)).outcome_unknown()
    }
}

impl Piece {
    fn is_plain_text(&self) -> bool {
        matches!(self, Self::Text(PieceContent::Text(_), kind) if *kind == ArtifactKind::TEXT)
    }

    fn len(&self) -> usize {
        match self {
            Self::Text(PieceContent::Text(text), _) => text.len(),
            Self::Text(PieceContent::Bytes(bytes), _) => bytes.len(),
            Self::Text(PieceContent::Stored(_), _) | Self::Media(..) => usize::MAX / 1024,
        }
    }

    fn byte_length(&self) -> u64 {
        let (Self::Text(content, _) | Self::Media(_, _, content)) = self;
        match content {
            PieceContent::Text(text) => text.len() as u64,
            PieceContent::Bytes(bytes) => bytes.len() as u64,
            PieceContent::Stored(part) => part.byte_length(),
        }
    }

    fn is_short(&self) -> bool {
        matches!(self, Self::Text(PieceContent::Text(_) | PieceContent::Bytes(_), _))
    }

    fn into_text(self) -> Option<String> {
        match self {
            Self::Text(PieceContent::Text(text), _) => Some(text),
            Self::Text(PieceContent::Bytes(bytes), _) => {
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
            Self::Text(PieceContent::Stored(_), _) | Self::Media(..) => None,
        }
    }
}

/// Joins the short texts between long ones, whatever their kinds are: each artifact is a file of its own.
fn join_short(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined = Vec::new();
    let mut texts = Vec::new();
    for piece in pieces {
        if piece.is_short() {
            texts.extend(piece.into_text());
            continue;
        }
        joined.extend(join_texts(&mut texts));
        joined.push(piece);
    }
    joined.extend(join_texts(&mut texts));
    joined
}

fn join_texts(texts: &mut Vec<String>) -> Option<Piece> {
    let texts = std::mem::take(texts);
    let text = (!texts.is_empty()).then(|| texts.join("\n\n"))?;
    Some(Piece::Text(PieceContent::Text(text), ArtifactKind::TEXT))
}

/// Whether a text says what the structured value says. `value` is the structured value if it is not in the spool.
async fn repeats(piece: &Piece, structured: &PieceContent, value: Option<&Value>) -> bool {
    match (piece, structured) {
        (Piece::Text(PieceContent::Text(text), _), PieceContent::Text(json)) => {
            text == json
                || value.is_some_and(|value| {
                    serde_json::from_str::<Value>(text).is_ok_and(|it| it == *value)
                })
        }
        (Piece::Text(PieceContent::Stored(text), _), PieceContent::Stored(json)) => {
            is_same_json(text.reader(), json.reader()).await
        }
        _ => false,
    }
}

/// Whether two stored texts are the same JSON, with other white space at most.
async fn is_same_json(first: &Arc<dyn SpoolReader>, second: &Arc<dyn SpoolReader>) -> bool {
    let mut first = CompactReader::new(first);
    let mut second = CompactReader::new(second);
    loop {
        match (first.next().await, second.next().await) {
            (Ok(None), Ok(None)) => return true,
            (Ok(one), Ok(other)) if one == other => {}
            // What cannot be read is not known to be the same.
            _ => return false,
        }
    }
}

/// Reads JSON without the white space between its tokens.
struct CompactReader<'r> {
    reader: &'r Arc<dyn SpoolReader>,
    offset: u64,
    block: bytes::Bytes,
    is_in_string: bool,
    is_escaped: bool,
}

impl<'r> CompactReader<'r> {
    fn new(reader: &'r Arc<dyn SpoolReader>) -> Self {
        let block = bytes::Bytes::new();
        Self { reader, offset: 0, block, is_in_string: false, is_escaped: false }
    }

    /// The next byte that counts; nothing at the end.
    async fn next(&mut self) -> Result<Option<u8>, SpoolError> {
        loop {
            if self.block.is_empty() {
                self.block = self.reader.read_at(self.offset, READ_BLOCK).await?;
                self.offset = self.offset.saturating_add(self.block.len() as u64);
            }
            let Some(byte) = self.block.first().copied() else { return Ok(None) };
            bytes::Buf::advance(&mut self.block, 1);
            if !self.is_in_string && byte.is_ascii_whitespace() {
                continue;
            }
            if byte == b'"' && !self.is_escaped {
                self.is_in_string = !self.is_in_string;
            }
            self.is_escaped = byte == b'\\' && self.is_in_string && !self.is_escaped;
            return Ok(Some(byte));
        }
    }
}

/// The kind of artifact of a media type.
fn artifact_kind(mime_type: Option<&str>) -> ArtifactKind {
    let essence = mime_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    match essence {
        "application/json" => ArtifactKind::JSON,
        "text/markdown" => ArtifactKind::MARKDOWN,
        "text/csv" => ArtifactKind::CSV,
        "application/yaml" | "text/yaml" => ArtifactKind::YAML,
        "application/xml" | "text/xml" => ArtifactKind::XML,
        _ => ArtifactKind::TEXT,
    }
}

/// The first bytes of stored content.
async fn read_start(reader: &Arc<dyn SpoolReader>, limit: usize) -> Result<Vec<u8>, ToolFailure> {
    let mut bytes = Vec::new();
    while bytes.len() < limit {
        let chunk = reader.read_at(bytes.len() as u64, limit - bytes.len()).await;
        let chunk = chunk.map_err(|error| {
            ToolFailure::new("the stored result cannot be read")
                .with_source(error)
                .outcome_unknown()
        })?;
        if chunk.is_empty() {
            break;
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// How much of a stored value is read at once, in bytes.
const READ_BLOCK: usize = 256 * 1024;
/// Below this size a result of several texts is one text, in bytes.
const MAX_INLINE: usize = 4 * 1024;
/// The maximum number of bytes of media.
const MAX_MEDIA: usize = 16 * 1024 * 1024;
/// The maximum number of bytes of all media of a result.
const MAX_ALL_MEDIA: u64 = 32 * 1024 * 1024;
/// The maximum number of pieces of a result with media.
const MAX_MEDIA_PIECES: usize = 256;
/// The maximum number of pieces of which each is an artifact of its own, however short it is.
const MAX_SINGLE: usize = 32;
