//! Checks that custom implementations keep the contracts. Run them in your tests:
//!
//! ```
//! use haft::testing::conformance;
//! use haft::stores::MemorySpoolStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), conformance::ContractViolation> {
//! conformance::spool_store(&MemorySpoolStore::new()).await
//! # }
//! ```

mod artifact_format;
mod executor;
mod media_reader;
mod spool_reader;
mod spool_store;
mod store;

#[doc(inline)]
pub use haft_core::contract::ContractViolation;
#[doc(inline)]
pub use haft_providers::conformance::{DialectSample, dialect, transport};

pub use self::artifact_format::{FormatSample, artifact_format};
pub use self::executor::executor;
pub use self::media_reader::media_reader;
pub use self::spool_reader::spool_reader;
pub use self::spool_store::spool_store;
pub use self::store::{store, store_with_skewed_clocks};
