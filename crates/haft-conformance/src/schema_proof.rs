//! The proof that a schema, its validator and its decoder agree. `schema_proof.md` says what that means.

mod compare;
mod disagreement;
mod generate;
mod prove;
mod random;
mod scalars;
mod sketch;
mod spell;
mod spoil;

#[cfg(test)]
mod tests;

pub use disagreement::Disagreement;
pub use generate::Generator;
pub use prove::{Agreement, ProofOptions, prove, prove_schema, prove_serde};
