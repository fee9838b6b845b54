//! How reading a file fails.

use haft_core::error::codes;
use std::io;
use std::path::{Path, PathBuf};

use haft_core::error::{Coded, ErrorCode};

/// A file could not be read as a medium.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file system failed.
    #[error("could not {doing} {path:?}: {}", .source.kind())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done: `open`, `read`, …
        doing: &'static str,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// A folder, a device, a pipe or a socket.
    #[error("{path:?} is not a regular file; only regular files can be read as media")]
    NotAFile {
        /// What was to be read.
        path: PathBuf,
    },
    /// A path that does not lead below one of the allowed roots, or not in a plain way.
    #[error(
        "{path:?} is not below a folder that may be read; use an absolute path below one of the `FileRoots`, without `..`"
    )]
    OutsideRoots {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The file is not the one that the reader was made for any more.
    #[error("{path:?} was changed since it was opened: {how}; open it again")]
    Changed {
        /// The file.
        path: PathBuf,
        /// What is not as it was.
        how: &'static str,
    },
    /// The file is larger than the reader may read.
    #[error("{path:?} has more than {limit} bytes; use a smaller file or raise `max_bytes`")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most bytes that may be read.
        limit: u64,
    },
    /// A stored locator is not one of a file.
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
