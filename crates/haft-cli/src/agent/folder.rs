//! The folder of an agent, which its paths start from and do not lead out of.

use std::io;
use std::path::{Component, Path};

/// Whether a path goes down only, as it is written.
pub(super) fn goes_down(path: &Path) -> bool {
    path.components().all(|it| matches!(it, Component::Normal(_) | Component::CurDir))
}

/// Whether something that is there lies in the folder, past all links.
pub(super) fn holds(folder: &Path, there: &Path) -> io::Result<bool> {
    Ok(there.canonicalize()?.starts_with(home(folder).canonicalize()?))
}

/// The folder as something that can be opened: it has no name if `haft` runs in it.
pub(super) fn home(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}
