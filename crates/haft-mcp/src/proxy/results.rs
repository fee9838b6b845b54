//! Results of the servers within the limits of the client.
//!
//! A result that fits is passed on unchanged. The large texts of any other result are stored: the client gets a handle
//! for each, the beginning, and the names of the tools that query it.

use std::collections::HashMap;

use bytes::Bytes;
use haft_core::artifact::{ArtifactKind, SpooledArtifact};
use haft_core::media::encode_base64;
use haft_core::spool::{SpoolError, SpoolReader};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::catalog::Catalog;
use super::envelope::raw_line;
use crate::answer_limits::{AnswerLimits, estimate_tokens};
use crate::query_tools::{QueryTools, read_preview};
use crate::server::describe_lifetime;
use crate::transport::{PartEncoding, RawMessage, SpooledPart};

/// The maximum number of bytes of images and sounds that are passed on in one message.
const MAX_MEDIA_BYTES: u64 = 4 * 1024 * 1024;

/// How many bytes the description of a stored result has at most, without its beginning.
const NOTICE_BYTES: usize = 800;

/// Makes results fit.
pub(super) struct ResultRewriter<'p> {
    pub(super) catalog: &'p Catalog,
    pub(super) queries: &'p QueryTools,
    pub(super) limits: AnswerLimits,
}

/// A result after it was rewritten.
pub(super) struct Rewritten {
    pub(super) line: Bytes,
    /// Whether the client got a handle of something that was stored.
    pub(super) has_stored: bool,
}

/// The parts of a result that count.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultShape<'m> {
    #[serde(borrow, default)]
    content: Vec<&'m RawValue>,
    #[serde(borrow, default)]
    contents: Vec<&'m RawValue>,
    #[serde(borrow, default)]
    structured_content: Option<&'m RawValue>,
    #[serde(default)]
    is_error: bool,
}

/// An item of `content` or `contents`.
#[derive(Debug, Default, Deserialize)]
struct ItemShape {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    data: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    blob: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    resource: Option<Box<Self>>,
}

/// How much of the limits the texts of a result take.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    bytes: usize,
    tokens: usize,
}

impl Extent {
    fn add(&mut self, text: &str) {
        self.bytes += text.len();
        self.tokens += estimate_tokens(text);
    }

    fn fits(self, limits: AnswerLimits) -> bool {
        self.bytes <= limits.bytes && self.tokens <= limits.tokens
    }
}

/// A text of a result, in place or in the spool.
enum TextSource {
    Inline(String),
    Spooled(SpooledPart),
}

impl ResultRewriter<'_> {
    /// Makes the response to a call fit. `tool` is what the result is of, for the list of results.
    pub(super) async fn rewrite(
        &self,
        message: RawMessage,
        tool: &str,
    ) -> Result<Rewritten, SpoolError> {
        let RawMessage { json, parts } = message;
        let (texts, media): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|(_, part)| part.encoding() != PartEncoding::Bytes);
        let media_bytes: u64 = media.iter().map(|(_, part)| part.byte_length()).sum();
        if texts.is_empty() && media_bytes <= MAX_MEDIA_BYTES && self.fits(&json) {
            let json = insert_media(json, media).await?;
            return Ok(Rewritten { line: raw_line(json), has_stored: false });
        }
        let Ok(mut message) = serde_json::from_slice::<Value>(&json) else {
            return Ok(Rewritten { line: raw_line(json), has_stored: false });
        };
        let parts = texts.into_iter().chain(media).collect();
        let mut storing =
            Storing { rewriter: self, tool, parts, has_stored: false, limits: self.limits };
        if let Some(result) = message.get_mut("result") {
            storing.rewrite_result(result).await?;
        }
        let has_stored = storing.has_stored;
        Ok(Rewritten { line: raw_line(message.to_string().into_bytes()), has_stored })
    }

    /// Whether the client can take a message as it is.
    fn fits(&self, json: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Message<'m> {
            #[serde(borrow, default)]
            result: Option<&'m RawValue>,
        }
        let message = serde_json::from_slice::<Message<'_>>(json);
        let Some(result) = message.ok().and_then(|it| it.result) else { return true };
        let Ok(shape) = serde_json::from_str::<ResultShape<'_>>(result.get()) else { return true };
        let mut extent = Extent::default();
        for item in shape.content.iter().chain(&shape.contents) {
            match serde_json::from_str::<ItemShape>(item.get()) {
                Ok(item) => measure_item(&item, item_length(&item), &mut extent),
                Err(_) => extent.add(item.get()),
            }
        }
        if let Some(structured) = shape.structured_content {
            extent.add(structured.get());
        }
        extent.fits(self.limits_of(shape.is_error))
    }

    fn limits_of(&self, is_error: bool) -> AnswerLimits {
        match is_error {
            true => AnswerLimits {
                bytes: self.limits.error_bytes.min(self.limits.bytes),
                ..self.limits
            },
            false => self.limits,
        }
    }
}

/// What an item without a text counts.
fn item_length(item: &ItemShape) -> usize {
    if item.data.is_some() || item.blob.is_some() { 0 } else { 200 }
}

fn measure_item(item: &ItemShape, other: usize, extent: &mut Extent) {
    match (&item.text, &item.resource) {
        (Some(text), _) => extent.add(text),
        (None, Some(resource)) => measure_item(resource, item_length(resource), extent),
        (None, None) => extent.bytes += other,
    }
}

/// Stores the large parts of one result.
struct Storing<'p> {
    rewriter: &'p ResultRewriter<'p>,
    tool: &'p str,
    parts: HashMap<String, SpooledPart>,
    has_stored: bool,
    limits: AnswerLimits,
}

impl Storing<'_> {
    async fn rewrite_result(&mut self, result: &mut Value) -> Result<(), SpoolError> {
        let Some(fields) = result.as_object_mut() else { return Ok(()) };
        let is_error = fields.get("isError").and_then(Value::as_bool).unwrap_or(false);
        self.limits = self.rewriter.limits_of(is_error);
        // The structured value says the same as the text in most results, and clients count both.
        let structured = fields.remove("structuredContent");
        for key in ["content", "contents"] {
            let Some(Value::Array(items)) = fields.remove(key) else { continue };
            let mut items = items;
            let has_text = items.iter().any(|item| text_place(item).is_some());
            if !has_text
                && key == "content"
                && let Some(value) = &structured
            {
                items.push(self.structured_text(value));
            }
            let items = self.rewrite_items(items, key == "contents").await?;
            fields.insert(key.to_owned(), Value::Array(items));
        }
        Ok(())
    }

    /// The structured value of a result without text, as an item.
    fn structured_text(&self, value: &Value) -> Value {
        let text = match value.as_str() {
            Some(placeholder) if self.parts.contains_key(placeholder) => placeholder.to_owned(),
            _ => value.to_string(),
        };
        json!({"type": "text", "text": text})
    }

    async fn rewrite_items(
        &mut self,
        items: Vec<Value>,
        is_resource: bool,
    ) -> Result<Vec<Value>, SpoolError> {
        let mut inline = Extent::default();
        let mut stored = 0;
        for item in &items {
            match text_place(item) {
                Some(text) if self.parts.contains_key(text) => stored += 1,
                Some(text) => inline.add(text),
                None => inline.bytes += 200,
            }
        }
        let room = match stored {
            0 => self.limits,
            _ => self.limits.bytes(self.limits.bytes / 4).tokens(self.limits.tokens / 4),
        };
        let joins = !inline.fits(room) && !is_resource;
        let mut described =
            Described { left: self.limits.bytes / 4 / NOTICE_BYTES, omitted: 0, parts: stored + 1 };
        let mut joined: Vec<String> = Vec::new();
        let mut rewritten = Vec::with_capacity(items.len());
        for mut item in items {
            match self.take_text(&item) {
                Some(TextSource::Inline(text)) if joins => joined.push(text),
                Some(TextSource::Inline(text)) if inline.fits(room) => {
                    set_text(&mut item, text);
                    rewritten.push(item);
                }
                Some(source) => {
                    let kind = kind_of(&item, &source).await;
                    let notice = self.store(source, kind, &mut described).await?;
                    rewritten.extend(notice.map(|notice| place_notice(item, notice, is_resource)));
                }
                None if self.is_large_media(&item) => rewritten.push(self.omit_media(&item)),
                None if joins && rewritten.len() > MAX_ITEMS => described.omitted += 1,
                None => rewritten.push(self.insert_item_media(item).await?),
            }
        }
        if !joined.is_empty() {
            let text = TextSource::Inline(joined.join("\n"));
            let kind = ArtifactKind::TEXT;
            let notice = self.store(text, kind, &mut described).await?;
            let notice = notice.map(|text| json!({"type": "text", "text": text}));
            rewritten.splice(0..0, notice);
        }
        if described.omitted > 0 && !is_resource {
            let text = format!(
                "[{} more parts; artifact_info lists those that are stored]",
                described.omitted
            );
            rewritten.push(json!({"type": "text", "text": text}));
        }
        Ok(rewritten)
    }

    /// Takes the text of an item. Returns `None` if it has none.
    fn take_text(&mut self, item: &Value) -> Option<TextSource> {
        let text = text_place(item)?.to_owned();
        Some(match self.parts.remove(&text) {
            Some(part) => TextSource::Spooled(part),
            None => TextSource::Inline(text),
        })
    }

    /// Stores a text and describes it. Returns `None` if there is no room for a description.
    async fn store(
        &mut self,
        source: TextSource,
        kind: ArtifactKind,
        described: &mut Described,
    ) -> Result<Option<String>, SpoolError> {
        let catalog = self.rewriter.catalog;
        let content = match source {
            TextSource::Inline(text) => Some(catalog.store_text(text).await?),
            TextSource::Spooled(part) => part.keep(),
        };
        let Some(content) = content else { return Ok(None) };
        let (handle, artifact) = catalog.put(self.tool, kind, content).await?;
        self.has_stored = true;
        if described.left == 0 {
            described.omitted += 1;
            return Ok(None);
        }
        described.left -= 1;
        Ok(Some(self.describe(&handle, &artifact, described.parts).await))
    }

    async fn describe(&self, handle: &str, artifact: &SpooledArtifact, parts: usize) -> String {
        let (bytes, kind) = (artifact.reader().byte_length(), artifact.kind());
        let names = self.rewriter.queries.names_for(artifact).join(", ");
        let lifetime = describe_lifetime(self.rewriter.catalog.lifetime());
        let limits =
            self.limits.bytes(self.limits.bytes / parts).tokens(self.limits.tokens / parts);
        let preview = read_preview(artifact, limits).await;
        let incomplete = match is_incomplete(artifact, &preview).await {
            true => " The server says that this is not all there is.",
            false => "",
        };
        let notice = format!(
            "The result has {bytes} bytes of {kind}, more than one answer can hold. It is stored for {lifetime} as \
             callId `{handle}`; ask about it with {names}.{incomplete}"
        );
        let notice = crate::answer_limits::start_of(&notice, NOTICE_BYTES);
        match preview.is_empty() {
            true => notice.to_owned(),
            false => format!("{notice} It begins:\n{preview}"),
        }
    }

    /// Whether an item is an image, a sound or a blob that is too large to be passed on.
    fn is_large_media(&self, item: &Value) -> bool {
        let part = media_place(item).and_then(|it| self.parts.get(it));
        part.is_some_and(|part| part.byte_length() > MAX_MEDIA_BYTES)
    }

    fn omit_media(&mut self, item: &Value) -> Value {
        let part = media_place(item).and_then(|it| self.parts.remove(it));
        let bytes = part.map_or(0, |part| part.byte_length());
        let mime = item.get("mimeType").or_else(|| item.pointer("/resource/mimeType"));
        let mime = mime.and_then(Value::as_str).unwrap_or("unknown type");
        let mime = crate::answer_limits::start_of(mime, 64);
        json!({"type": "text", "text": format!("[{bytes} bytes of {mime}, more than an answer can hold]")})
    }

    /// Puts media that were read into the spool back into their item.
    async fn insert_item_media(&mut self, mut item: Value) -> Result<Value, SpoolError> {
        let part = media_place(&item).and_then(|it| self.parts.remove(it));
        if let Some(part) = part {
            let data = Value::String(encode_base64(&read_all(part.reader().as_ref()).await?));
            for (pointer, key) in [("", "data"), ("", "blob"), ("/resource", "blob")] {
                let slot = item.pointer_mut(pointer).and_then(|it| it.get_mut(key));
                if let Some(slot) = slot {
                    *slot = data.clone();
                }
            }
        }
        Ok(item)
    }
}

/// How many stored parts are described.
struct Described {
    /// How many more there is room for.
    left: usize,
    /// How many there was no room for.
    omitted: usize,
    /// How many parts share the room.
    parts: usize,
}

/// How many items without text are passed on with a result that was too large.
const MAX_ITEMS: usize = 20;

/// The text of an item: its own, or that of its resource.
fn text_place(item: &Value) -> Option<&str> {
    item.get("text").or_else(|| item.pointer("/resource/text")).and_then(Value::as_str)
}

fn set_text(item: &mut Value, text: String) {
    let place = match item.get("text") {
        Some(_) => item.get_mut("text"),
        None => item.pointer_mut("/resource/text"),
    };
    if let Some(place) = place {
        *place = Value::String(text);
    }
}

fn media_place(item: &Value) -> Option<&str> {
    let place = item.get("data").or_else(|| item.get("blob"));
    place.or_else(|| item.pointer("/resource/blob")).and_then(Value::as_str)
}

/// The item that describes a stored text. A resource stays a resource.
fn place_notice(mut item: Value, notice: String, is_resource: bool) -> Value {
    if is_resource {
        set_text(&mut item, notice);
        return item;
    }
    json!({"type": "text", "text": notice})
}

/// The kind of a text: what its media type says, or JSON if it begins as an object or a list.
async fn kind_of(item: &Value, source: &TextSource) -> ArtifactKind {
    let mime = item.get("mimeType").or_else(|| item.pointer("/resource/mimeType"));
    if mime.and_then(Value::as_str).is_some_and(|it| it.contains("ndjson") || it.contains("jsonl"))
    {
        return ArtifactKind::JSONL;
    }
    let is_json = match source {
        TextSource::Inline(text) => begins_as_json(text.as_bytes()),
        TextSource::Spooled(part) if part.encoding() == PartEncoding::Json => true,
        TextSource::Spooled(part) => {
            part.reader().read_at(0, 64).await.is_ok_and(|start| begins_as_json(&start))
        }
    };
    if is_json { ArtifactKind::JSON } else { ArtifactKind::TEXT }
}

fn begins_as_json(text: &[u8]) -> bool {
    text.iter().find(|it| !it.is_ascii_whitespace()).is_some_and(|it| b"{[".contains(it))
}

/// Whether the server says that it left something out: at the beginning or at the end of its result.
async fn is_incomplete(artifact: &SpooledArtifact, start: &str) -> bool {
    let length = artifact.reader().byte_length();
    let end = artifact.reader().read_at(length.saturating_sub(512), 512).await.unwrap_or_default();
    let end = String::from_utf8_lossy(&end);
    [start, &end].into_iter().any(|text| {
        let compact: String = text.chars().filter(|ch| !ch.is_whitespace()).collect();
        let compact = compact.to_lowercase();
        [
            "\"has_more\":true",
            "\"hasmore\":true",
            "\"truncated\":true",
            "\"istruncated\":true",
            "\"nextcursor\":\"",
            "\"next_cursor\":\"",
        ]
        .iter()
        .any(|sign| compact.contains(sign))
            || compact.contains("moreitems)")
            || compact.contains("[truncated")
    })
}

/// Puts media back where their placeholders are.
async fn insert_media(
    mut json: Vec<u8>,
    media: Vec<(String, SpooledPart)>,
) -> Result<Vec<u8>, SpoolError> {
    for (placeholder, part) in media {
        let data = encode_base64(&read_all(part.reader().as_ref()).await?);
        if let Some(at) = memchr::memmem::find(&json, placeholder.as_bytes()) {
            json.splice(at..at + placeholder.len(), data.into_bytes());
        }
    }
    Ok(json)
}

/// Reads content that is known to be small enough.
async fn read_all(reader: &dyn SpoolReader) -> Result<Vec<u8>, SpoolError> {
    let length = reader.byte_length();
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < length {
        let piece = reader.read_at(bytes.len() as u64, 256 * 1024).await?;
        if piece.is_empty() {
            break;
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}
