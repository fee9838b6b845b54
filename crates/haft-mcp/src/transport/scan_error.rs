//! Why a message of a server cannot be used.

/// Why a message of a server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScanError {
    #[error("it is not JSON: {0}")]
    Syntax(&'static str),
    #[error("it is not UTF-8")]
    Utf8,
    #[error("its data is not base64")]
    Base64,
    #[error("it is nested more than {0} levels deep")]
    TooDeep(usize),
    #[error("it has more than {0} bytes besides its large parts")]
    TooLarge(usize),
    #[error("it has more than {0} large parts")]
    TooManyParts(usize),
    #[error("one of its parts has more than {0} bytes")]
    PartTooLarge(u64),
    #[error("a part of it could not be stored")]
    NotStored,
    #[error("no request waits for it")]
    NotRequested,
}
