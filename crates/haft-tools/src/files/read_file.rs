//! The tool `read_file`.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use haft_core::artifact::{ArtifactDraft, ArtifactKind};
use haft_core::media::{Media, MediaFile, MediaKind, MediaReader as _};
use haft_core::tool::{InvalidTool, Tool, ToolFailure, ToolOutput};

use super::FilesOptions;
use crate::output::MAX_INLINE_BYTES;
use crate::preview;
use haft_macros::ToolArgs;

#[derive(ToolArgs)]
pub(crate) struct ReadFileArgs {
    /// The path of the file, below the root
    #[arg(min_len = 1, max_len = 4096, example = "notes/todo.md")]
    path: String,
}

const DESCRIPTION: &str = "Reads a file. A small text is returned as it is; a large one as an artifact of its \
format (JSON, Markdown, CSV, YAML, XML or text), which you query by its handle instead of reading it whole. \
Pictures, sound, video and PDF are shown as such. Other files that are not text are refused.";

pub(super) fn read_file(options: &FilesOptions) -> Result<Tool, InvalidTool> {
    let shared = options.clone();
    let read = move |args: ReadFileArgs| read(&shared, &args.path);
    let tool = options.read_only_tool("read_file").description(DESCRIPTION);
    tool.artifact_kinds(KINDS).handler(read).build()
}

fn read(options: &FilesOptions, path: &str) -> Result<ToolOutput, ToolFailure> {
    let (mut file, bytes) = options.root.open_file(path)?;
    let mut start = Vec::new();
    (&mut file)
        .take(SNIFFED_BYTES)
        .read_to_end(&mut start)
        .map_err(|error| super::root_dir::io_failure(path, "file", error))?;
    if let Some((kind, mime)) = sniff_media_type(&start) {
        return media(options, (path, &file), kind, mime);
    }
    if memchr::memchr(0, &start).is_some() {
        return Err(ToolFailure::new(format!(
            "`{}` is not text ({bytes} bytes), and not a picture, sound, video or PDF either; it cannot be read",
            preview(path)
        )));
    }
    // The whole file has been read.
    if start.len() < MAX_INLINE_BYTES
        && let Ok(text) = String::from_utf8(start)
    {
        return Ok(ToolOutput::Answer { text, label: options.label() });
    }
    let reader = options.root.media_reader(path, &file, options.max_bytes)?;
    let draft = ArtifactDraft::new(kind_by_extension(path), reader.open());
    Ok(ToolOutput::Artifacts(vec![draft.with_label(options.label())]))
}

fn media(
    options: &FilesOptions,
    (path, file): (&str, &File),
    kind: MediaKind,
    mime: &str,
) -> Result<ToolOutput, ToolFailure> {
    let reader = options.root.media_reader(path, file, options.max_bytes)?;
    let name = Path::new(path).file_name().map(|it| it.to_string_lossy().into_owned());
    let file = MediaFile::read_by(name.unwrap_or_default(), mime, Arc::new(reader));
    let media = Media::new(kind, options.tier, kind.default_hazard(), file)?;
    Ok(ToolOutput::Media(vec![media.with_source(path)]))
}

/// The kinds that [`kind_by_extension`] can return.
const KINDS: [ArtifactKind; 8] = [
    ArtifactKind::TEXT,
    ArtifactKind::JSON,
    ArtifactKind::JSONL,
    ArtifactKind::JSON5,
    ArtifactKind::MARKDOWN,
    ArtifactKind::CSV,
    ArtifactKind::YAML,
    ArtifactKind::XML,
];

/// The format by the extension of the file name.
fn kind_by_extension(path: &str) -> ArtifactKind {
    let end = Path::new(path).extension().and_then(|it| it.to_str()).unwrap_or_default();
    match end.to_ascii_lowercase().as_str() {
        "json" | "geojson" | "ipynb" => ArtifactKind::JSON,
        "jsonl" | "ndjson" => ArtifactKind::JSONL,
        "json5" | "jsonc" => ArtifactKind::JSON5,
        "md" | "markdown" | "mdx" => ArtifactKind::MARKDOWN,
        "csv" | "tsv" => ArtifactKind::CSV,
        "yaml" | "yml" => ArtifactKind::YAML,
        "xml" | "svg" | "rss" | "atom" | "xhtml" => ArtifactKind::XML,
        _ => ArtifactKind::TEXT,
    }
}

/// The media type by the first bytes of a file, which are more reliable than its name.
fn sniff_media_type(start: &[u8]) -> Option<(MediaKind, &'static str)> {
    let at = |from: usize, bytes: &[u8]| start.get(from..).is_some_and(|it| it.starts_with(bytes));
    Some(match start {
        _ if at(0, b"\x89PNG\r\n\x1a\n") => (MediaKind::Image, "image/png"),
        _ if at(0, b"\xFF\xD8\xFF") => (MediaKind::Image, "image/jpeg"),
        _ if at(0, b"GIF87a") || at(0, b"GIF89a") => (MediaKind::Image, "image/gif"),
        _ if at(0, b"RIFF") && at(8, b"WEBP") => (MediaKind::Image, "image/webp"),
        _ if at(0, b"RIFF") && at(8, b"WAVE") => (MediaKind::Audio, "audio/wav"),
        _ if at(0, b"ID3") || at(0, b"\xFF\xFB") => (MediaKind::Audio, "audio/mpeg"),
        _ if at(0, b"OggS") => (MediaKind::Audio, "audio/ogg"),
        _ if at(0, b"fLaC") => (MediaKind::Audio, "audio/flac"),
        _ if at(4, b"ftyp") => (MediaKind::Video, "video/mp4"),
        _ if at(0, b"\x1A\x45\xDF\xA3") => (MediaKind::Video, "video/webm"),
        _ if at(0, b"%PDF-") => (MediaKind::Document, "application/pdf"),
        _ => return None,
    })
}

/// How many bytes are read to distinguish text from other content.
const SNIFFED_BYTES: u64 = 8 * 1024;
