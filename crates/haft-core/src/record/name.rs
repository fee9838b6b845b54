//! The names of records.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{checked_name, is_plain_text};

/// Longest name, in characters. There is room for the longest id of a turn, with which the names of its own records begin.
const MAX_LENGTH: usize = 256;

/// The id of a message, memory, thought, retrieved record or instruction: 1 to 256 characters, none of
/// them a control character. The application gives it.
///
/// ```
/// use haft_core::record::RecordName;
///
/// let name: RecordName = "msg-1".parse()?;
/// assert_eq!(name.as_str(), "msg-1");
/// assert!("".parse::<RecordName>().is_err());
/// assert!("msg\n1".parse::<RecordName>().is_err());
/// assert!("é".repeat(256).parse::<RecordName>().is_ok());
/// assert!("e".repeat(257).parse::<RecordName>().is_err());
/// # Ok::<(), haft_core::error::InvalidName>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecordName(Arc<str>);

checked_name!(
    RecordName,
    "the id of a record",
    "has to be 1 to 256 characters without control characters",
    |text| is_plain_text(text, MAX_LENGTH)
);

impl RecordName {
    /// A name that [`Record::check`](super::Record::check) checks.
    pub(crate) fn unchecked(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Its text, shared.
    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}
