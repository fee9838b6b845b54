//! Standing instructions.

use serde::{Deserialize, Serialize};

use crate::error::codes;
use crate::record::{InvalidRecord, Record, RecordFaults, RecordName, Text};
use crate::store::RowKind;
use crate::tier::stored_only;
use crate::trust::DeveloperText;

/// A standing instruction of the developer or the operator, which the model obeys. It is read from what a store returned
/// and from nothing else.
///
/// ```
/// use haft_core::context::Instruction;
///
/// let tone = Instruction::from_developer("tone", "Answer in one sentence.")?;
/// assert_eq!(tone.text().as_str(), "Answer in one sentence.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Instruction {
    id: RecordName,
    #[serde(deserialize_with = "stored_only")]
    text: Text,
}

impl Instruction {
    /// **Vouches** for a text: the caller states that the developer or the operator of the
    /// agent wrote it.
    ///
    /// # Errors
    ///
    /// The id is refused, or the text is empty.
    pub fn from_developer(
        id: impl AsRef<str>,
        text: impl Into<Text>,
    ) -> Result<Self, InvalidRecord> {
        let instruction = Self { id: RecordName::unchecked(id.as_ref()), text: text.into() };
        instruction.checked()
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> &RecordName {
        &self.id
    }

    /// Its text.
    #[must_use]
    pub const fn text(&self) -> &Text {
        &self.text
    }

    /// Its text for the prompt.
    #[must_use]
    pub fn developer_text(&self) -> DeveloperText {
        DeveloperText::from_developer(self.text.as_str())
    }
}

impl Record for Instruction {
    type Id = RecordName;

    const KIND: RowKind = RowKind::Instruction;

    fn key(&self) -> RecordName {
        self.id.clone()
    }

    fn check(&self) -> Result<(), InvalidRecord> {
        let mut faults = RecordFaults::default();
        faults.check_name("id", &self.id);
        faults.check_not_empty("text", self.text.as_str());
        faults.end("standing instruction", codes::INVALID_TURN_CONTEXT)
    }
}
