//! The agent's directory: reads its files and rejects paths that lead out of it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};

use super::source::AgentFileError;
use crate::user_error::UserError;

/// Maximum size of the text files of an agent, in bytes.
const MAX_TEXT_BYTES: u64 = 1024 * 1024;

/// Whether the components of a path contain no `..` and no root.
pub(super) fn is_descending(path: &Path) -> bool {
    path.components().all(|it| matches!(it, Component::Normal(_) | Component::CurDir))
}

/// Checks whether an existing path lies in a directory after all links are resolved.
pub(super) fn contains_resolved(dir: &Path, path: &Path) -> io::Result<bool> {
    Ok(path.canonicalize()?.starts_with(openable_dir(dir).canonicalize()?))
}

/// A directory path that can be opened: the empty path stands for the current directory.
pub(super) fn openable_dir(dir: &Path) -> &Path {
    if dir.as_os_str().is_empty() { Path::new(".") } else { dir }
}

/// Resolves the path of a file that a key of the agent file names.
///
/// The path must not lead out of the agent's directory, not even through a link: running an untrusted agent must not
/// show it other files.
pub(super) fn resolve_inside(
    agent_dir: &Path,
    name: &Path,
    key: &str,
) -> Result<PathBuf, AgentFileError> {
    let shown = name.display();
    let outside = || {
        let error =
            AgentFileError::at([key], format!("`{shown}` is outside the agent's directory"));
        error.hint("move the file into the directory and use a relative path")
    };
    if !is_descending(name) {
        return Err(outside());
    }
    let path = agent_dir.join(name);
    let unreadable = |error: io::Error| {
        let error = AgentFileError::at([key], format!("cannot read `{shown}`: {error}"));
        error.hint("paths are relative to the directory of the agent file")
    };
    match contains_resolved(agent_dir, &path).map_err(unreadable)? {
        true => Ok(path),
        false => Err(outside()),
    }
}

/// Reads a text file of at most 1 MiB. Only regular files are read, and opening never blocks.
pub(super) fn read_text_file(path: &Path) -> Result<String> {
    let shown = path.display();
    let cannot_read = || format!("cannot read `{shown}`");
    // Checked before the file is opened, because opening alone triggers some devices, and again afterwards, because
    // the path may name another file by then.
    require_regular_file(path, &std::fs::metadata(path).with_context(cannot_read)?)?;
    let file = open_without_blocking(path).with_context(cannot_read)?;
    require_regular_file(path, &file.metadata().with_context(cannot_read)?)?;
    let mut text = Vec::new();
    file.take(MAX_TEXT_BYTES + 1).read_to_end(&mut text).with_context(cannot_read)?;
    if text.len() as u64 > MAX_TEXT_BYTES {
        return Err(too_large(path, &format!("more than {MAX_TEXT_BYTES}")).into());
    }
    String::from_utf8(text).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        let error = UserError::new(format!("{shown}:{line}: the text is not valid UTF-8"));
        error.hint("is this the right file?").into()
    })
}

/// Opens a file without waiting for the other end of a pipe.
fn open_without_blocking(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

fn require_regular_file(path: &Path, metadata: &std::fs::Metadata) -> Result<()> {
    if !metadata.is_file() {
        let kind = if metadata.is_dir() { "a directory" } else { "not a regular file" };
        let error = UserError::new(format!("`{}` is {kind}", path.display()));
        return Err(error.hint("use the path of a text file").into());
    }
    if metadata.len() > MAX_TEXT_BYTES {
        return Err(too_large(path, &metadata.len().to_string()).into());
    }
    Ok(())
}

fn too_large(path: &Path, length: &str) -> UserError {
    let error = UserError::new(format!("`{}` has {length} bytes", path.display()));
    error.hint(format!("the maximum is {MAX_TEXT_BYTES} bytes; is this the right file?"))
}
