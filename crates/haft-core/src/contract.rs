//! The finding of a conformance suite.

use std::fmt;

/// A contract that an implementation does not keep.
///
/// ```
/// use haft_core::contract::ContractViolation;
///
/// let violation = ContractViolation::new("a stored row can be read", "no row");
/// assert_eq!(violation.to_string(), "a stored row can be read: no row");
/// assert!(ContractViolation::ensure_equal("the length is the same", &3, &3).is_ok());
/// ```
#[derive(Debug, thiserror::Error)]
#[error("{promise}: {found}")]
#[non_exhaustive]
pub struct ContractViolation {
    /// What the contract says.
    pub promise: &'static str,
    /// What was found instead.
    pub found: String,
}

impl ContractViolation {
    /// A promise, and what was found instead.
    pub fn new(promise: &'static str, found: impl fmt::Display) -> Self {
        Self { promise, found: found.to_string() }
    }

    /// Compares what was found with what was promised.
    ///
    /// # Errors
    ///
    /// They differ.
    pub fn ensure_equal<T: PartialEq + fmt::Debug>(
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
