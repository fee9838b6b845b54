//! The errors of the core in one enum.

#[doc(hidden)]
pub use crate::code::CodeTraits;
pub use crate::code::{Audience, Coded, ErrorCode, codes};

/// Any error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A tool definition was refused.
    #[error(transparent)]
    InvalidTool(#[from] crate::tool::InvalidTool),
    /// A call failed.
    #[error(transparent)]
    Tool(#[from] crate::tool::ToolError),
    /// A tool registry refused something.
    #[error(transparent)]
    ToolRegistry(#[from] crate::tool::registry::ToolRegistryError),
    /// A dot-path store refused something.
    #[error(transparent)]
    Registry(#[from] crate::stash::RegistryError),
    /// A dispatch was signalled twice.
    #[error(transparent)]
    Signal(#[from] crate::tool::context::AlreadySignalled),
    /// A record could not be stored.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    /// A record of a call cannot go on like this.
    #[error(transparent)]
    Transition(#[from] crate::call::IllegalTransition),
    /// A record was refused.
    #[error(transparent)]
    InvalidRecord(#[from] crate::record::InvalidRecord),
    /// A record has no stored form.
    #[error(transparent)]
    NotStorable(#[from] crate::record::NotStorable),
    /// A stored record could not be loaded.
    #[error(transparent)]
    Load(#[from] crate::record::LoadError),
    /// A medium was refused.
    #[error(transparent)]
    InvalidMedia(#[from] crate::media::InvalidMedia),
    /// A medium could not be read or stored.
    #[error(transparent)]
    Media(#[from] crate::media::MediaError),
    /// Spooled content could not be written or read.
    #[error(transparent)]
    Spool(#[from] crate::spool::SpoolError),
    /// Tokens could not be counted.
    #[error(transparent)]
    Tokens(#[from] crate::tokens::TokenError),
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidTool(error) => error.code(),
            Self::Tool(error) => error.code(),
            Self::ToolRegistry(error) => error.code(),
            Self::Registry(error) => error.code(),
            Self::Signal(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Transition(error) => error.code(),
            Self::InvalidRecord(error) => error.code(),
            Self::NotStorable(error) => error.code(),
            Self::Load(error) => error.code(),
            Self::InvalidMedia(error) => error.code(),
            Self::Media(error) => error.code(),
            Self::Spool(error) => error.code(),
            Self::Tokens(error) => error.code(),
        }
    }
}
