//! Tests for what extends Haft: custom stores, readers, formats, executors, dialects and types of arguments.
//!
//! Add this crate as a development dependency, and call what fits your type in a test:
//!
//! | you wrote | call |
//! |---|---|
//! | a [`TurnStore`](haft_core::store::TurnStore) | [`store`], and [`store_with_skewed_clocks`] if processes share it |
//! | a [`SpoolStore`](haft_core::spool::SpoolStore) or its reader | [`spool_store`], [`spool_reader`] |
//! | a [`MediaReader`](haft_core::media::MediaReader) | [`media_reader`] |
//! | an [`ArtifactFormat`](haft_core::forge::ArtifactFormat) | [`artifact_format`] |
//! | a [`DispatchExecutor`](haft_core::step::DispatchExecutor) | [`executor`] |
//! | a dialect or a transport of a provider | [`dialect`], [`transport`] |
//! | [`ToolArgs`](haft_core::ToolArgs) by hand, or a schema | [`prove`], [`prove_schema`], [`prove_serde`] |
//!
//! A suite returns the first promise that is not kept as a [`ContractViolation`].
//!
//! ```
//! use haft::stores::MemorySpoolStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), haft_conformance::ContractViolation> {
//! haft_conformance::spool_store(&MemorySpoolStore::new()).await
//! # }
//! ```
#![doc = include_str!("schema_proof.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod artifact_format;
mod executor;
mod media_reader;
mod schema_proof;
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
pub use self::schema_proof::{
    Agreement, Disagreement, Generator, ProofOptions, prove, prove_schema, prove_serde,
};
pub use self::spool_reader::spool_reader;
pub use self::spool_store::spool_store;
pub use self::store::{store, store_with_skewed_clocks};
