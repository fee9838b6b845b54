//! The directory with this program's state of the user.

use std::path::{Path, PathBuf};

/// The directory `haft` in `XDG_STATE_HOME`, which is `~/.local/state` by default. `None` without a home directory.
pub(crate) fn state_dir() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/state"));
    Some(state.filter(|it| it.is_absolute()).or_else(home)?.join("haft"))
}
