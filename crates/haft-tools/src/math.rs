//! Numbers: expressions and units of measure, exact where that is possible.

pub(super) mod calculate;
pub(super) mod convert_unit;
mod expression;
mod rational;
mod units;

#[cfg(test)]
mod tests;

use haft_core::tool::{InvalidTool, Tool};

/// `calculate` and `convert_unit`.
///
/// # Errors
///
/// None is expected: the definitions are fixed.
pub fn math() -> Result<Vec<Tool>, InvalidTool> {
    [calculate::calculate(), convert_unit::convert_unit()].into_iter().collect()
}
