//! Names of tools.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::checked_name;

/// Longest name, in bytes. Providers allow 64; they map longer names themselves.
const MAX_LENGTH: usize = 128;

/// The name of a tool: not empty, at most 128 bytes, no white space or control characters.
///
/// Lower-case `snake_case` is what every provider takes as it is. Other names are legal and are mapped
/// by the provider.
///
/// ```
/// use haft_core::tool::ToolName;
///
/// let name: ToolName = "get_weather".parse()?;
/// assert_eq!(name, "get_weather");
/// assert!("".parse::<ToolName>().is_err() && "a b".parse::<ToolName>().is_err());
/// # Ok::<(), haft_core::error::InvalidName>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(Arc<str>);

checked_name!(
    ToolName,
    "the name of a tool",
    "has to be 1 to 128 bytes without white space and control characters",
    |text| {
        let is_short = (1..=MAX_LENGTH).contains(&text.len());
        is_short && !text.contains(|it: char| it.is_whitespace() || it.is_control())
    }
);

impl PartialEq<str> for ToolName {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for ToolName {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}
