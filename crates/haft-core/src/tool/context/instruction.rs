//! Standing instructions.

use crate::error::codes;
use serde::{Deserialize, Serialize};

use super::{DispatchContext, Tokenizable};
use crate::record::{
    InvalidRecord, LoadError, NotStorable, Record, RecordFaults, RecordLoader, RecordName,
    read_stored, write_stored,
};
use crate::store::RowKind;
use crate::tokens::EvaluatorInvalid;
use crate::trust::DeveloperText;

/// A standing instruction of the developer or the operator, which the model obeys.
///
/// Its text can be computed in each context. Such an instruction cannot be stored, so the program that resumes the turn
/// must supply it again.
///
/// ```
/// use haft_core::context::Instruction;
///
/// let tone = Instruction::from_developer("tone", "Answer in one sentence.")?;
/// assert_eq!(tone.render(None)?.as_str(), "Answer in one sentence.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Instruction {
    id: RecordName,
    text: Tokenizable,
}

impl Instruction {
    /// **Vouches** for a text: the caller states that the developer or the operator of the
    /// agent wrote it, or the function that makes it.
    ///
    /// # Errors
    ///
    /// The id is refused, or the text is fixed and empty.
    pub fn from_developer(
        id: impl AsRef<str>,
        text: impl Into<Tokenizable>,
    ) -> Result<Self, InvalidRecord> {
        let text = text.into();
        let mut faults = RecordFaults::default();
        let id = faults.name("id", id.as_ref());
        if !text.is_dynamic()
            && let Ok(fixed) = text.render(None)
        {
            faults.check_not_empty("text", &fixed);
        }
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

    /// Its text, or what makes it.
    #[must_use]
    pub const fn text(&self) -> &Tokenizable {
        &self.text
    }

    /// Whether a function makes its text.
    #[must_use]
    pub const fn is_dynamic(&self) -> bool {
        self.text.is_dynamic()
    }

    /// Its text as it is in a context, for the prompt.
    ///
    /// # Errors
    ///
    /// The function that makes it failed.
    pub fn render(&self, ctx: Option<&DispatchContext>) -> Result<DeveloperText, EvaluatorInvalid> {
        let text = self.text.render(ctx)?;
        Ok(DeveloperText::from_developer(text.as_ref()))
    }
}

/// Two are equal if they have the same id and the same fixed text. A text that a function makes is
/// equal to none.
impl PartialEq for Instruction {
    fn eq(&self, other: &Self) -> bool {
        let fixed = |it: &Self| it.text.render(None).ok().filter(|_| !it.is_dynamic());
        self.id == other.id && fixed(self).is_some_and(|text| fixed(other) == Some(text))
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
        let id = self.id.to_string();
        match self.text.render(None) {
            Ok(text) if !self.is_dynamic() => {
                write_stored(Self::KIND, &StoredInstruction { id, text: text.as_ref().to_owned() })
            }
            _ => Err(NotStorable::Dynamic { id }),
        }
    }

    async fn from_stored(json: &str, _: &RecordLoader) -> Result<Self, LoadError> {
        let stored: StoredInstruction = read_stored(Self::KIND, json)?;
        Ok(Self::from_developer(stored.id, stored.text)?)
    }
}
