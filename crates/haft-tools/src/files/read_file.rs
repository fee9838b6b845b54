//! The tool `read_file`.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use haft_core::artifact::{ArtifactDraft, ArtifactKind};
use haft_core::media::{Media, MediaFile, MediaKind, MediaReader as _, sniff_media_type};
use haft_core::tool::{InvalidTool, Tool, ToolFailure, ToolOutput};

use super::{FilesOptions, MAX_MEDIA_BYTES};
use crate::output::MAX_INLINE_BYTES;
use crate::preview;
use haft_macros::ToolArgs;

#[derive(ToolArgs)]
pub(crate) struct ReadFileArgs {
    /// File below the root
    #[arg(min_len = 1, max_len = 4096, example = "notes/todo.md")]
    path: String,
}

const DESCRIPTION: &str =
    "Reads a text file, picture, sound, video or PDF. A large text comes as a handle to query.";

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
        return media(options, (path, &file, bytes), kind, mime);
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
    let draft = ArtifactDraft::new(ArtifactKind::of_file_name(path), reader.open());
    Ok(ToolOutput::Artifacts(vec![draft.with_label(options.label())]))
}

fn media(
    options: &FilesOptions,
    (path, file, bytes): (&str, &File, u64),
    kind: MediaKind,
    mime: &str,
) -> Result<ToolOutput, ToolFailure> {
    let max_bytes = options.max_bytes.min(MAX_MEDIA_BYTES);
    if bytes > max_bytes {
        return Err(ToolFailure::new(format!(
            "`{}` ({mime}) has more than {max_bytes} bytes, too many to be shown as a whole",
            preview(path)
        )));
    }
    let reader = options.root.media_reader(path, file, max_bytes)?;
    let name = Path::new(path).file_name().map(|it| it.to_string_lossy().into_owned());
    let file = MediaFile::read_by(name.unwrap_or_default(), mime, Arc::new(reader));
    let media = Media::new(kind, options.tier, kind.default_hazard(), file)?;
    Ok(ToolOutput::Media(vec![media.with_source(path)]))
}

/// The kinds that [`ArtifactKind::of_file_name`] can return.
const KINDS: [ArtifactKind; 7] = [
    ArtifactKind::TEXT,
    ArtifactKind::JSON,
    ArtifactKind::JSONL,
    ArtifactKind::MARKDOWN,
    ArtifactKind::CSV,
    ArtifactKind::YAML,
    ArtifactKind::XML,
];

/// How many bytes are read to distinguish text from other content.
const SNIFFED_BYTES: u64 = 8 * 1024;
