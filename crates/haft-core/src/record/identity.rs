//! The participants of a conversation.

use crate::error::codes;
use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use super::{InvalidRecord, RecordFaults};

/// A participant: the name that the application uses, and the name that the model sees.
///
/// ```
/// use haft_core::record::Identity;
///
/// let ada = Identity::new(42, "Ada")?;
/// assert_eq!(ada.representation(), "Ada");
/// assert!(Identity::named("").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "IdentityForm")]
pub struct Identity {
    identifier: Identifier,
    representation: Arc<str>,
}

/// How the application identifies a participant: by a text or a number. Never shown to the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Identifier {
    /// A number.
    Number(i64),
    /// A text.
    Text(Arc<str>),
}

impl Identity {
    /// A participant whom the application knows by `identifier` and the model by `representation`.
    ///
    /// # Errors
    ///
    /// A text is empty.
    pub fn new(
        identifier: impl Into<Identifier>,
        representation: impl Into<Arc<str>>,
    ) -> Result<Self, InvalidRecord> {
        let identity =
            Self { identifier: identifier.into(), representation: representation.into() };
        let mut faults = RecordFaults::default();
        if let Identifier::Text(text) = &identity.identifier {
            faults.check_not_empty("identifier", text);
        }
        faults.check_not_empty("representation", &identity.representation);
        faults.end("identity", codes::INVALID_INITIAL_IDENTITY_VALUE)?;
        Ok(identity)
    }

    /// A participant whom both know by the same name.
    ///
    /// # Errors
    ///
    /// The name is empty.
    pub fn named(name: impl Into<Arc<str>>) -> Result<Self, InvalidRecord> {
        let name = name.into();
        Self::new(Identifier::Text(Arc::clone(&name)), name)
    }

    /// A word of this crate, which is not empty.
    fn of_word(word: &'static str) -> Self {
        let word = Arc::<str>::from(word);
        Self { identifier: Identifier::Text(Arc::clone(&word)), representation: word }
    }

    /// A user without a name. All of them share one text.
    pub(super) fn user() -> Self {
        static USER: LazyLock<Identity> = LazyLock::new(|| Identity::of_word("user"));
        USER.clone()
    }

    /// The agent without a name. All of them share one text.
    pub(super) fn assistant() -> Self {
        static ASSISTANT: LazyLock<Identity> = LazyLock::new(|| Identity::of_word("assistant"));
        ASSISTANT.clone()
    }

    /// Whom the application means.
    #[must_use]
    pub const fn identifier(&self) -> &Identifier {
        &self.identifier
    }

    /// The name that the model sees.
    #[must_use]
    pub fn representation(&self) -> &str {
        &self.representation
    }
}

/// What is read of a participant, before it is checked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct IdentityForm {
    identifier: Identifier,
    representation: Arc<str>,
}

impl TryFrom<IdentityForm> for Identity {
    type Error = InvalidRecord;

    fn try_from(form: IdentityForm) -> Result<Self, InvalidRecord> {
        Self::new(form.identifier, form.representation)
    }
}

impl From<&str> for Identifier {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Identifier {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<i64> for Identifier {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => fmt::Display::fmt(number, f),
            Self::Text(text) => f.pad(text),
        }
    }
}
