//! Standing instructions.

use crate::error::codes;
use serde::{Deserialize, Serialize};

use crate::record::{
    InvalidRecord, LoadError, NotStorable, Record, RecordFaults, RecordLoader, RecordName, Text,
    read_stored, write_stored,
};
use crate::store::RowKind;
use crate::trust::DeveloperText;

/// A standing instruction of the developer or the operator, which the model obeys.
///
/// ```
/// use haft_core::context::Instruction;
///
/// let tone = Instruction::from_developer("tone", "Answer in one sentence.")?;
/// assert_eq!(tone.text().as_str(), "Answer in one sentence.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    id: RecordName,
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
        let text = text.into();
        let mut faults = RecordFaults::default();
        let id = faults.name("id", id.as_ref());
        faults.check_not_empty("text", text.as_str());
        match id {
            Some(id) if faults.is_empty() => Ok(Self { id, text }),
            _ => Err(faults.of("standing instruction", codes::INVALID_TURN_CONTEXT)),
        }
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

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredInstruction {
    id: String,
    text: String,
}

impl Record for Instruction {
    type Id = RecordName;

    const KIND: RowKind = RowKind::Instruction;

    fn key(&self) -> RecordName {
        self.id.clone()
    }

    fn to_stored(&self) -> Result<String, NotStorable> {
        let stored = StoredInstruction { id: self.id.to_string(), text: self.text.to_string() };
        write_stored(Self::KIND, &stored)
    }

    async fn from_stored(json: &str, _: &RecordLoader) -> Result<Self, LoadError> {
        let stored: StoredInstruction = read_stored(Self::KIND, json)?;
        Ok(Self::from_developer(stored.id, stored.text)?)
    }
}
