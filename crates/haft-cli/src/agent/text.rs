//! The texts that an agent is made of.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::folder;
use super::place::Fault;
use crate::failure::Failure;

/// Longest text that an agent is made of, in bytes.
const MAX_TEXT: u64 = 1024 * 1024;

/// Reads a text of moderate length. What is not a regular file is refused, and nothing is waited for.
pub(super) fn text_file(path: &Path) -> Result<String> {
    let shown = path.display();
    let cannot = || format!("cannot read `{shown}`");
    // Before it is opened, because opening alone makes some devices act; and after, because it may be
    // another file by then.
    regular(path, &std::fs::metadata(path).with_context(cannot)?)?;
    let file = open(path).with_context(cannot)?;
    regular(path, &file.metadata().with_context(cannot)?)?;
    let mut text = Vec::new();
    file.take(MAX_TEXT + 1).read_to_end(&mut text).with_context(cannot)?;
    if text.len() as u64 > MAX_TEXT {
        return Err(too_long(path, &format!("more than {MAX_TEXT}")).into());
    }
    String::from_utf8(text).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        let failure = Failure::new(format!("{shown}:{line}: this is not text in UTF-8"));
        failure.hint("is this the right file?").into()
    })
}

/// Does not wait for the other end of a pipe.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn regular(path: &Path, found: &std::fs::Metadata) -> Result<()> {
    if !found.is_file() {
        let what = if found.is_dir() { "a folder" } else { "no regular file" };
        let failure = Failure::new(format!("`{}` is {what}", path.display()));
        return Err(failure.hint("name a file with text in it").into());
    }
    if found.len() > MAX_TEXT {
        return Err(too_long(path, &found.len().to_string()).into());
    }
    Ok(())
}

fn too_long(path: &Path, length: &str) -> Failure {
    let failure = Failure::new(format!("`{}` has {length} bytes", path.display()));
    failure.hint(format!("at most {MAX_TEXT} are read: is this the right file?"))
}

/// The file of an agent that a key names. No path leads out of the agent's folder, also not by a link: who
/// runs the agent of somebody else does not show it other files.
pub(super) fn inside(agent: &Path, name: &Path, key: &str) -> Result<PathBuf, Fault> {
    let shown = name.display();
    let outside = || {
        let fault = Fault::at([key], format!("`{shown}` leads out of the agent's folder"));
        fault.hint("put the file into the folder, and name it from there")
    };
    if !folder::goes_down(name) {
        return Err(outside());
    }
    let path = agent.join(name);
    let missing = |error: std::io::Error| {
        let fault = Fault::at([key], format!("`{shown}` cannot be read: {error}"));
        fault.hint("paths start from the folder of the agent file")
    };
    match folder::holds(agent, &path).map_err(missing)? {
        true => Ok(path),
        false => Err(outside()),
    }
}
