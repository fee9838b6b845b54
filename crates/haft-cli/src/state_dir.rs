//! The directories of the user: home, and this program's state.

use std::io::{self, ErrorKind};
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

/// Whether a file of the user is not there. A home directory that is no directory, as that of many system users, has none.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A hint for the error of a file in a directory of the user that cannot be used; nothing for other errors.
pub(crate) fn find_dir_hint(error: &anyhow::Error) -> Option<String> {
    let is_unusable = error.chain().filter_map(|it| it.downcast_ref::<io::Error>()).any(|it| {
        use ErrorKind::{NotADirectory, PermissionDenied, ReadOnlyFilesystem};
        matches!(it.kind(), NotADirectory | PermissionDenied | ReadOnlyFilesystem)
    });
    let text = format!("{error:#}");
    let dirs = [
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_CACHE_HOME", ".cache"),
    ];
    let (variable, _) = dirs.into_iter().find(|(variable, in_home)| {
        let dir = user_dir(variable, in_home).map(|dir| dir.join("haft"));
        is_unusable && dir.is_some_and(|dir| text.contains(&*dir.to_string_lossy()))
    })?;
    Some(format!("set {variable} to a directory that you may write to"))
}
