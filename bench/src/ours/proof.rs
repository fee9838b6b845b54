//! The proof of `haft_conformance`, over many values of every shape.

#[cfg(test)]
mod tests;

use haft::ToolArgs;
use haft_conformance::{Agreement, Disagreement, ProofOptions};

use super::shapes::{CALLS, SHAPES, Shape};

/// Draws this many values from this seed.
pub(super) type Prove = fn(ProofOptions) -> Result<Agreement, Disagreement>;

pub(super) fn prove<T: ToolArgs>(options: ProofOptions) -> Result<Agreement, Disagreement> {
    haft_conformance::prove::<T>(options)
}

/// Values that are drawn from one seed: a proof ends at its first disagreement, and the next one
/// goes on from another seed.
const CHUNK: usize = 2_000;

/// Fewest values per shape: with less a proof can miss one of the two verdicts.
const FEWEST: usize = 100;

/// What the proofs of one shape have found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) shape: &'static str,
    /// Values drawn by proofs that held.
    pub(crate) values: usize,
    pub(crate) accepted: usize,
    pub(crate) refused: usize,
    /// Proofs that did not hold.
    pub(crate) disagreements: usize,
    /// What the first of them says.
    pub(crate) first: Option<String>,
}

/// Proves every shape, with `values` spread over all of them.
pub(crate) fn proofs(values: usize) -> impl Iterator<Item = Proof> {
    let each = values.div_ceil(SHAPES.len() + CALLS.len()).max(FEWEST);
    SHAPES.iter().chain(&CALLS).zip(0..).map(move |(shape, index)| run(shape, index, each))
}

/// Seeds of different shapes do not meet.
fn run(shape: &Shape, index: u64, values: usize) -> Proof {
    let mut proof = Proof { shape: shape.name, ..Proof::default() };
    for (values, seed) in chunks(values).zip(index << 32..) {
        match (shape.prove)(ProofOptions::default().values(values).seed(seed)) {
            Ok(agreement) => {
                proof.values += agreement.values;
                proof.accepted += agreement.accepted;
                proof.refused += agreement.refused;
            }
            Err(disagreement) => {
                proof.disagreements += 1;
                proof.first.get_or_insert_with(|| format!("seed {seed}: {disagreement}"));
            }
        }
    }
    proof
}

/// `values` in chunks of [`CHUNK`]; what is left over is part of the last one.
fn chunks(values: usize) -> impl Iterator<Item = usize> {
    let full = (values / CHUNK).max(1);
    let last = values - CHUNK * (full - 1);
    std::iter::repeat_n(CHUNK, full - 1).chain([last])
}
