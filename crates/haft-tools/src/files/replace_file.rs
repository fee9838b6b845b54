//! Replaces the content of a file atomically.

use std::io::{self, Write as _};
use std::path::Path;

use cap_std::fs::{Dir, OpenOptions};
use haft_core::tool::ToolFailure;

use super::root_dir::{RootDir, io_failure};
use crate::preview;

/// Writes a temporary file and renames it, so that no reader sees partial content. Refuses to replace anything but a
/// regular file.
pub(super) fn replace_file(root: &RootDir, path: &str, content: &[u8]) -> Result<(), ToolFailure> {
    let (dir, name) = root.open_parent(path)?;
    let io = |error| io_failure(path, "file", error);
    let permissions = match dir.symlink_metadata(&name) {
        Ok(existing) if existing.is_file() => Some(existing.permissions()),
        Ok(existing) => {
            let what = if existing.is_dir() { "a folder" } else { "a link or a device" };
            let text = format!(
                "`{}` is {what}, which is not written over; use another path",
                preview(path)
            );
            return Err(ToolFailure::new(text));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(io(error)),
    };
    let temporary = format!(".haft-{}.tmp", uuid::Uuid::new_v4().simple());
    let written = write(&dir, &temporary, content).and_then(|file| {
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        dir.rename(&temporary, &dir, &name)
    });
    if written.is_err() {
        // The write may have failed before or after the file was created.
        let _ = dir.remove_file(&temporary);
    }
    written.map_err(|error| {
        ToolFailure::new(format!("`{}` could not be written ({})", preview(path), error.kind()))
            .with_source(error)
    })
}

fn write(dir: &Dir, name: &str, content: &[u8]) -> io::Result<cap_std::fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = dir.open_with(Path::new(name), &options)?;
    file.write_all(content)?;
    Ok(file)
}
