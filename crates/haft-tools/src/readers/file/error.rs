//! Errors of reading files.

use haft_core::error::codes;
use std::io;
use std::path::{Path, PathBuf};

use haft_core::error::{Coded, ErrorCode};

/// A file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file system failed.
    #[error("could not {doing} {path:?}: {}", .source.kind())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operation: `open`, `read`, …
        doing: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The path is a directory, a device, a pipe or a socket.
    #[error("{path:?} is not a regular file; only regular files can be read as media")]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The path does not lead below one of the allowed roots, or contains `..`.
    #[error(
        "{path:?} is not below a folder that may be read; use an absolute path below one of the `FileRoots`, without `..`"
    )]
    OutsideRoots {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The file has changed since the reader was created.
    #[error("{path:?} was changed since it was opened: {how}; open it again")]
    Changed {
        /// The file.
        path: PathBuf,
        /// The difference.
        how: &'static str,
    },
    /// The file is larger than allowed.
    #[error("{path:?} has more than {limit} bytes; use a smaller file or raise `max_bytes`")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The maximum number of bytes.
        limit: u64,
    },
    /// A stored locator does not name a file.
    #[error("the locator of a file is {{\"path\": \"…\"}} and nothing else")]
    Locator,
}

impl FileError {
    pub(super) fn io(path: &Path, doing: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), doing, source }
    }
}

impl Coded for FileError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotAFile { .. } | Self::OutsideRoots { .. } | Self::Locator => {
                codes::NOT_A_MEDIA_READER
            }
            Self::Io { .. } | Self::Changed { .. } | Self::TooLarge { .. } => {
                codes::TOOL_DOWNSTREAM_ERROR
            }
        }
    }
}
