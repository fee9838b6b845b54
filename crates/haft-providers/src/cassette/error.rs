//! How recordings fail.

use std::path::PathBuf;

/// A recording cannot be written or read, or differs from what happened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The file cannot be read or written.
    #[error("`{}` cannot be read or written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is not a recording.
    #[error("`{}` is not a recording: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Something that was to be recorded failed or is still under way; nothing was written.
    #[error("`{}` was not written: {reason}", path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// What failed.
        reason: String,
    },
    /// Recorded exchanges were not used.
    #[error("`{}` has unused exchanges: {}", path.display(), left.join("; "))]
    Unused {
        /// The file.
        path: PathBuf,
        /// Number, method and path of each.
        left: Vec<String>,
    },
}
