//! The agent's directory: reads its files and rejects paths that lead out of it.

use std::io;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;

use super::source::AgentFileError;
use crate::text_file::{MAX_TEXT_BYTES, read_regular_text};
use crate::user_error::UserError;

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

/// Rejects the path of an agent that is not Unicode: a turn stores it as JSON, and memories belong to it.
pub(super) fn check_encoding(agent: &Path) -> Result<(), UserError> {
    // A file that is not there is reported when it is read.
    let resolved = agent.canonicalize().unwrap_or_default();
    match resolved.to_str() {
        Some(_) => Ok(()),
        None => {
            let message =
                format!("the path of the agent is not valid UTF-8: {}", resolved.display());
            Err(UserError::new(message)
                .hint("rename the directory that has the replaced characters"))
        }
    }
}

/// Reads a text file of at most 1 MiB. Only regular files are read, and opening never blocks.
pub(super) fn read_text_file(path: &Path) -> Result<String> {
    read_regular_text(path, MAX_TEXT_BYTES)
}
