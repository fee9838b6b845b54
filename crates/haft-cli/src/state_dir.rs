//! The directories of the user: home, and this program's state.

use std::path::PathBuf;

/// The directory `haft` in `XDG_STATE_HOME`, which is `~/.local/state` by default. `None` without a home directory.
pub(crate) fn state_dir() -> Option<PathBuf> {
    Some(user_dir("XDG_STATE_HOME", ".local/state")?.join("haft"))
}

/// The directory that a variable names, else a directory in the home directory. `None` without a home directory.
///
/// A relative path does not count, nor does an empty one: it would name a directory that the author of the current one chose.
pub(crate) fn user_dir(variable: &str, in_home: &str) -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(in_home)))
}
