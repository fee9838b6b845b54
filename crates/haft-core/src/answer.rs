//! The answer that a turn must end with: JSON that fits a schema.
//!
//! An [`AnswerFormat`] is part of the input of a turn. The model is told about it by an instruction, providers that can
//! enforce a schema are asked to, and the last message of the model is always checked, whatever the provider promises.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::{DecodeError, FromArgs, RawArgs, ToolArgs};
use crate::error::{Coded, ErrorCode, codes};
use crate::schema::args::Strictness;
use crate::schema::{AcceptedArgs, ForeignSchemaError, InputSchema, Problems, SchemaFault};

/// The format of the answer of a turn.
///
/// ```
/// use haft_core::answer::AnswerFormat;
/// use serde_json::json;
///
/// let format = AnswerFormat::from_json_schema(json!({
///     "type": "object",
///     "properties": {"total": {"type": "number"}},
///     "required": ["total"],
/// }))?;
/// assert_eq!(format.check(r#"{"total": 12.5}"#)?.to_value(), json!({"total": 12.5}));
/// assert!(format.check("It is twelve and a half.").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a format does nothing until a turn has it"]
pub struct AnswerFormat {
    name: Arc<str>,
    schema: Arc<InputSchema>,
    attempts: NonZeroU32,
}

/// The stored form of a format.
#[derive(Serialize, Deserialize)]
struct StoredFormat {
    name: String,
    schema: Value,
    attempts: NonZeroU32,
}

/// An answer that fits its format.
#[derive(Clone, Debug)]
pub struct AcceptedAnswer(AcceptedArgs);

/// Why a turn has no answer of the expected type.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The turn did not complete, so its last message is not an answer.
    #[error("the turn has no answer: it {status}")]
    NotCompleted {
        /// How the turn ended, or that it has not ended.
        status: String,
    },
    /// The last message does not fit the schema.
    #[error("the answer does not fit its schema:\n{}", .problems.to_text("the answer"))]
    Invalid {
        /// Every problem that was found.
        problems: Problems,
    },
    /// The schema of the type is wrong.
    #[error("the schema of the answer is wrong: {0}")]
    Schema(String),
    /// The schema accepts the answer but the type does not. That cannot happen for types that derive `ToolArgs`.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl Coded for AnswerError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotCompleted { .. } | Self::Invalid { .. } | Self::Decode(_) => {
                codes::LLM_RESPONSE_INVALID
            }
            Self::Schema(_) => codes::INVALID_TURN_CONTEXT,
        }
    }
}

/// How often the model may answer by default: once, and twice more after it was told the problems of its answer.
const DEFAULT_ATTEMPTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(2);

impl AnswerFormat {
    /// The key of the stash under which a turn stores its format.
    pub const STASH_KEY: &'static str = "haftAnswer";

    /// The format of a type that derives `ToolArgs`.
    ///
    /// # Errors
    ///
    /// Every fault of the schema.
    pub fn of<T: ToolArgs>() -> Result<Self, Vec<SchemaFault>> {
        InputSchema::of::<T>().map(Self::new)
    }

    /// A format with this schema.
    pub fn new(schema: InputSchema) -> Self {
        Self { name: "answer".into(), schema: Arc::new(schema), attempts: DEFAULT_ATTEMPTS }
    }

    /// A format with a JSON Schema, whose root must be an object.
    ///
    /// # Errors
    ///
    /// As [`InputSchema::from_json_schema`].
    pub fn from_json_schema(schema: Value) -> Result<Self, ForeignSchemaError> {
        InputSchema::from_json_schema(schema).map(Self::new)
    }

    /// The name of the schema in requests to providers (default: `answer`).
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use haft_core::answer::AnswerFormat;
    /// use haft_core::schema::{InputSchema, object, string};
    ///
    /// let schema = InputSchema::new(object().field("city", string().required())).unwrap();
    /// let format = AnswerFormat::new(schema).with_name("city").with_attempts(NonZeroU32::MIN);
    /// assert_eq!((format.name(), format.attempts().get()), ("city", 1));
    /// ```
    pub fn with_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// How often the model may answer before the turn fails (default: 3).
    pub fn with_attempts(mut self, attempts: NonZeroU32) -> Self {
        self.attempts = attempts;
        self
    }

    /// The name of the schema in requests to providers.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &InputSchema {
        &self.schema
    }

    /// How often the model may answer before the turn fails.
    #[must_use]
    pub const fn attempts(&self) -> NonZeroU32 {
        self.attempts
    }

    /// Checks the text of an answer. Near misses are coerced in the same way as the arguments of a call.
    ///
    /// # Errors
    ///
    /// Every problem that was found.
    pub fn check(&self, text: &str) -> Result<AcceptedAnswer, Problems> {
        let raw = RawArgs::from(text.trim());
        self.schema.accept(&self.name, &raw, Strictness::Coerce).map(AcceptedAnswer)
    }

    /// The instruction that tells a model about the format.
    #[must_use]
    pub fn instruction(&self) -> String {
        format!(
            "Your final message must be one JSON object that fits this JSON Schema, and nothing else: no explanation and \
             no code fence. You can call tools before it.\n{}",
            self.schema.json_schema_text()
        )
    }

    /// The message that tells a model why its answer does not fit.
    #[must_use]
    pub fn correction(problems: &Problems) -> String {
        format!(
            "The answer does not fit the required JSON Schema:\n{}\nAnswer again with one JSON object that fits it, and \
             nothing else.",
            problems.to_text("the answer")
        )
    }

    /// The form in which a stash stores the format.
    #[must_use]
    pub fn to_stored(&self) -> Value {
        let name = self.name.to_string();
        let schema = self.schema.json_schema();
        let stored = StoredFormat { name, schema, attempts: self.attempts };
        serde_json::to_value(stored).unwrap_or_default()
    }

    /// Reads the form that a stash stores.
    ///
    /// # Errors
    ///
    /// The value is no stored format, or its schema is wrong.
    pub fn from_stored(stored: Value) -> Result<Self, InvalidAnswerFormat> {
        let invalid = |error: &dyn fmt::Display| InvalidAnswerFormat(error.to_string());
        let stored: StoredFormat =
            serde_json::from_value(stored).map_err(|error| invalid(&error))?;
        let format = Self::from_json_schema(stored.schema).map_err(|error| invalid(&error))?;
        Ok(format.with_name(stored.name).with_attempts(stored.attempts))
    }
}

/// A stored format of an answer cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored format of the answer cannot be read: {0}")]
pub struct InvalidAnswerFormat(String);

impl AcceptedAnswer {
    /// The answer as a JSON value.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.0.args.to_value()
    }

    /// Decodes the answer.
    ///
    /// # Errors
    ///
    /// The type and the schema disagree.
    pub fn decode<T: FromArgs>(&self) -> Result<T, DecodeError> {
        T::from_args(&self.0.args)
    }
}

/// Decodes the text of an answer as a type.
///
/// ```
/// use haft_core::answer::decode_answer;
///
/// let value: serde_json::Value = decode_answer(r#"{"city": "Paris"}"#)?;
/// assert_eq!(value["city"], "Paris");
/// # Ok::<(), haft_core::answer::AnswerError>(())
/// ```
///
/// # Errors
///
/// The text does not fit the schema of the type.
pub fn decode_answer<T: FromArgs>(text: &str) -> Result<T, AnswerError> {
    let schema = match T::input_schema() {
        Some(schema) => schema.map_err(|faults| schema_error(&faults))?,
        None => InputSchema::from_json_schema(serde_json::json!({"type": "object"}))
            .map_err(|error| AnswerError::Schema(error.to_string()))?,
    };
    let accepted = AnswerFormat::new(schema).check(text);
    Ok(accepted.map_err(|problems| AnswerError::Invalid { problems })?.decode()?)
}

fn schema_error(faults: &[SchemaFault]) -> AnswerError {
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    AnswerError::Schema(faults.join("; "))
}
