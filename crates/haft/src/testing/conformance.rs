//! Checks that parts of your own keep the contracts. Run them in your tests:
//!
//! ```
//! use haft::testing::conformance;
//! use haft::stores::MemorySpoolStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), conformance::Violation> {
//! conformance::spool_store(&MemorySpoolStore::new()).await
//! # }
//! ```

mod artifact_format;
mod executor;
mod media_reader;
mod spool_reader;
mod spool_store;
mod store;

use std::fmt;

#[doc(inline)]
pub use haft_providers::conformance::{ContractViolation, DialectSample, dialect, transport};

pub use self::artifact_format::{FormatSample, artifact_format};
pub use self::executor::executor;
pub use self::media_reader::media_reader;
pub use self::spool_reader::spool_reader;
pub use self::spool_store::spool_store;
pub use self::store::store;

/// A contract that was not kept.
#[derive(Debug, thiserror::Error)]
#[error("{promise}: {found}")]
#[non_exhaustive]
pub struct Violation {
    /// What the contract says.
    pub promise: &'static str,
    /// What was found instead.
    pub found: String,
}

impl Violation {
    fn new(promise: &'static str, found: impl fmt::Display) -> Self {
        Self { promise, found: found.to_string() }
    }

    /// Compares what was found with what was promised.
    fn unless<T: PartialEq + fmt::Debug>(
        promise: &'static str,
        found: &T,
        expected: &T,
    ) -> Result<(), Self> {
        if found == expected {
            return Ok(());
        }
        Err(Self::new(promise, format_args!("{found:?} instead of {expected:?}")))
    }
}
