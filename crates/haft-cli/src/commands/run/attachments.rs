//! Files that the user attaches to a message.
//!
//! Images, audio, video and PDF documents, recognized by their first bytes, are media of the message. Everything else must
//! be UTF-8 text: a short text is shown to the model in full, a longer one is an artifact that the model queries. All of it
//! is content of a third party: the model sees it marked as untrusted.

use std::fs::{File, metadata};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use haft::artifacts::ArtifactKind;
use haft::media::{Media, MediaFile, sniff_media_type};
use haft::records::{Message, MessageRole, Record as _, Retrievable};
use haft::trust::TrustTier;
use haft::turn::{Clock as _, SystemClock, Turn};

use crate::commands::format_count;
use crate::text_file::file_error;
use crate::user_error::UserError;

/// How many bytes media and texts may have.
const MAX_MEDIA: u64 = 16 * 1024 * 1024;
const MAX_TEXT: u64 = 32 * 1024 * 1024;

/// How many bytes all attachments of a message may have.
const MAX_TOTAL: u64 = 48 * 1024 * 1024;

/// How many bytes of text the model sees in full.
const MAX_INLINE: usize = 16 * 1024;

/// The attachments of one message.
#[derive(Debug, Default)]
pub(super) struct Attachments {
    media: Vec<Media>,
    texts: Vec<Retrievable>,
    descriptions: Vec<String>,
}

impl Attachments {
    /// Reads files.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self> {
        let mut attachments = Self::default();
        let mut total = 0;
        for path in paths {
            let bytes = read_file(path)?;
            total += bytes.len() as u64;
            if total > MAX_TOTAL {
                let limit = format_count(MAX_TOTAL);
                let error = UserError::new(format!("the attachments have more than {limit} bytes"));
                return Err(error.hint(LARGE_FILES).into());
            }
            attachments.add(path, bytes)?;
        }
        Ok(attachments)
    }

    fn add(&mut self, path: &Path, bytes: Vec<u8>) -> Result<()> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let size = format_count(bytes.len() as u64);
        if let Some((kind, media_type)) = sniff_media_type(&bytes) {
            check_size(path, &bytes, MAX_MEDIA)?;
            let file = MediaFile::new(name.as_str(), media_type, bytes);
            self.media.push(Media::user_attachment(kind, file).with_source(name.as_str()));
            self.descriptions.push(format!("attached {name}: {media_type}, {size} bytes"));
            return Ok(());
        }
        check_size(path, &bytes, MAX_TEXT)?;
        let text = match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => text,
            _ => {
                let message = format!("`{}` is neither UTF-8 text nor media", path.display());
                return Err(UserError::new(message).hint(KNOWN_MEDIA).into());
            }
        };
        if text.trim().is_empty() {
            let message = format!("`{}` is empty", path.display());
            return Err(UserError::new(message).into());
        }
        let kind = ArtifactKind::of_file_name(&name);
        let is_inline = text.len() <= MAX_INLINE;
        let id = format!("attachment-{}", self.texts.len() + 1);
        let now = SystemClock::new().now();
        let record = Retrievable::new(id, text, TrustTier::ThirdPartyPrivate, now);
        let record = record
            .with_source(name.as_str())
            .with_kind("attachment")
            .with_artifact_kind(kind.clone());
        let record = if is_inline { record.shown_inline() } else { record };
        self.texts.push(record.checked()?);
        let shown = if is_inline { "shown in full" } else { "an artifact" };
        self.descriptions.push(format!("attached {name}: {kind}, {size} bytes, {shown}"));
        Ok(())
    }

    /// What is attached, one line for each file, and how far it is trusted.
    pub(super) fn descriptions(&self) -> impl Iterator<Item = String> {
        let lines = self.descriptions.iter();
        lines.map(|line| format!("{line} (untrusted: third-party-private)"))
    }

    /// Adds the message of the user with the attachments.
    pub(super) fn add_to(self, turn: Turn, id: &str, prompt: String) -> Result<Turn> {
        let message = Message::new(id, MessageRole::User, SystemClock::new().now())
            .with_content(prompt)
            .with_attachments(self.media)
            .checked()?;
        let turn = self.texts.into_iter().fold(turn, Turn::retrieved);
        Ok(turn.message(message))
    }
}

const LARGE_FILES: &str = "a tool can read files of any size: `[tools.files]` in the agent file";
const KNOWN_MEDIA: &str = "known media are PNG, JPEG, GIF, WebP, TIFF, HEIC and AVIF images, WAV, MP3, OGG, FLAC and M4A \
                           audio, MP4 and WebM video, and PDF documents";

/// Reads a regular file of at most the largest size.
fn read_file(path: &Path) -> Result<Vec<u8>> {
    let shown = path.display();
    let cannot_attach = |error| file_error(format!("cannot attach `{shown}`"), path, error);
    let found = metadata(path).map_err(cannot_attach)?;
    if !found.is_file() {
        let error = UserError::new(format!("cannot attach `{shown}`: it is not a file"));
        return Err(error.hint("attach its files one by one: --attach FILE --attach FILE").into());
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_TEXT + 1).read_to_end(&mut bytes))
        .map_err(cannot_attach)?;
    check_size(path, &bytes, MAX_TEXT)?;
    Ok(bytes)
}

fn check_size(path: &Path, bytes: &[u8], limit: u64) -> Result<()> {
    if bytes.len() as u64 <= limit {
        return Ok(());
    }
    let (shown, limit) = (path.display(), format_count(limit));
    let error = UserError::new(format!("cannot attach `{shown}`: it has more than {limit} bytes"));
    Err(error.hint(LARGE_FILES).into())
}
