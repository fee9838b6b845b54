//! Why nothing was started.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A program cannot be confined as the policy says. It did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The system lacks something.
    #[error("{missing}, so that nothing can be confined")]
    Unavailable {
        /// What is missing.
        missing: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A path of the policy cannot be used.
    #[error("`{}` {reason}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The program that is to be confined does not exist.
    #[error("there is no program `{}`", .0.display())]
    NoProgram(PathBuf),
    /// The system refused something.
    #[error("{doing} failed")]
    Io {
        /// What was tried.
        doing: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl SandboxError {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is tried there"))]
    pub(crate) fn path(path: impl Into<PathBuf>, reason: impl fmt::Display) -> Self {
        Self::Path { path: path.into(), reason: reason.to_string() }
    }

    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is tried there"))]
    pub(crate) fn io(doing: &str, source: io::Error) -> Self {
        Self::Io { doing: doing.to_owned(), source }
    }

    /// What the user can do, if this is known.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unavailable { hint, .. } => Some(hint),
            _ => None,
        }
    }
}
