//! The errors of the core in one enum.

pub use crate::code::{Audience, Code, Coded};

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
    fn error_code(&self) -> Code {
        match self {
            Self::InvalidTool(error) => error.error_code(),
            Self::Tool(error) => error.error_code(),
            Self::ToolRegistry(error) => error.error_code(),
            Self::Registry(error) => error.error_code(),
            Self::Signal(error) => error.error_code(),
            Self::Store(error) => error.error_code(),
            Self::Transition(error) => error.error_code(),
            Self::InvalidRecord(error) => error.error_code(),
            Self::NotStorable(error) => error.error_code(),
            Self::Load(error) => error.error_code(),
            Self::InvalidMedia(error) => error.error_code(),
            Self::Media(error) => error.error_code(),
            Self::Spool(error) => error.error_code(),
            Self::Tokens(error) => error.error_code(),
        }
    }
}
