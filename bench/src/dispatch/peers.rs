//! The peers' ways of running one tool. None of them checks constraints or makes a content key.
//!
//! Every future here is ready at once, so that no runtime is measured.

mod adk;
mod mcp;
pub(crate) mod rig;

use super::{Measured, now};
use crate::measure::Variant;

/// One variant per peer.
///
/// # Errors
///
/// When a peer cannot be set up.
pub(super) fn variants<T: Measured>(text: &'static str) -> Result<Vec<Variant>, String> {
    Ok(vec![
        rig::erased::<T>(text),
        rig::tool_set::<T>(text),
        adk::function::<T>(text),
        mcp::router::<T>(text)?,
    ])
}

/// The input schema a peer shows to the model.
fn schema<T: Measured>() -> serde_json::Value {
    schemars::schema_for!(T).to_value()
}
