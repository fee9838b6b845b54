//! Proofs and conformance suites for custom types, stores and readers.

#[cfg(feature = "conformance")]
pub mod conformance;

#[cfg(feature = "testing")]
#[doc(inline)]
pub use haft_core::testing::{
    Agreement, Disagreement, Generator, ProofOptions, prove, prove_schema, prove_serde,
};
