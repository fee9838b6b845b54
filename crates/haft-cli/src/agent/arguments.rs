//! The arguments of a tool in the agent file.

use std::collections::BTreeMap;

use haft::schema::{self, Field, Schema};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::source::AgentFileError;

/// The arguments of a tool, by name.
pub(super) type Arguments = BTreeMap<String, Argument>;

/// An argument of a tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Argument {
    /// Type of the argument; default: `string`.
    #[serde(rename = "type", default)]
    kind: ArgumentType,
    /// Description that the model reads.
    description: Option<String>,
    /// Whether a call without this argument is rejected.
    #[serde(default)]
    required: bool,
    /// Value if a call does not set the argument.
    default: Option<Value>,
    /// The allowed values.
    values: Option<Vec<String>>,
    /// Minimum of a number, or minimum length of a string.
    min: Option<i64>,
    /// Maximum of a number, or maximum length of a string.
    max: Option<i64>,
    /// Regular expression that the string must match.
    pattern: Option<String>,
    /// Allows values that start with `-`, which a command may interpret as an option.
    #[serde(default)]
    pub(super) allow_dash: bool,
}

/// Type of an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ArgumentType {
    /// A string.
    #[default]
    String,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list of strings.
    List,
}

impl Argument {
    /// Whether every call has a value for it.
    pub(super) const fn is_always_set(&self) -> bool {
        self.required || self.default.is_some()
    }

    /// Whether it is a list.
    pub(super) fn is_list(&self) -> bool {
        self.kind == ArgumentType::List
    }

    /// Whether it is a number, whose minus sign starts no option.
    pub(super) fn is_number(&self) -> bool {
        matches!(self.kind, ArgumentType::Integer | ArgumentType::Number)
    }

    /// The schema of the argument.
    pub(super) fn field(&self) -> Result<Field, AgentFileError> {
        self.check_rules()?;
        let mut schema: Schema = match self.kind {
            ArgumentType::String => self.text_schema(),
            ArgumentType::List => schema::array(self.text_schema()).into(),
            ArgumentType::Boolean => schema::boolean().into(),
            ArgumentType::Integer => {
                let mut it = schema::integer();
                if let Some(min) = self.min {
                    it = it.min(min);
                }
                if let Some(max) = self.max {
                    it = it.max(max);
                }
                it.into()
            }
            ArgumentType::Number => {
                let mut it = schema::number();
                #[expect(clippy::cast_precision_loss, reason = "a bound that large is no bound")]
                if let Some(min) = self.min {
                    it = it.min(min as f64);
                }
                #[expect(clippy::cast_precision_loss, reason = "a bound that large is no bound")]
                if let Some(max) = self.max {
                    it = it.max(max as f64);
                }
                it.into()
            }
        };
        schema.annotations.description.clone_from(&self.description);
        schema.annotations.default.clone_from(&self.default);
        Ok(if self.required { Field::required(schema) } else { Field::optional(schema) })
    }

    /// Refuses rules that do not fit the type, or each other.
    fn check_rules(&self) -> Result<(), AgentFileError> {
        let is_text = matches!(self.kind, ArgumentType::String | ArgumentType::List);
        if !is_text && (self.pattern.is_some() || self.values.is_some()) {
            let key = if self.pattern.is_some() { "pattern" } else { "values" };
            return Err(AgentFileError::at(
                [key],
                "`pattern` and `values` apply only to strings and lists",
            ));
        }
        for (key, value) in [("min", self.min), ("max", self.max)] {
            if is_text && value.is_some_and(|it| it < 0) {
                return Err(AgentFileError::at([key], "the length of a string cannot be negative"));
            }
        }
        if self.values.is_some()
            && (self.pattern.is_some() || self.min.is_some() || self.max.is_some())
        {
            let message = "`values` excludes `min`, `max` and `pattern`";
            return Err(AgentFileError::at(["values"], message).hint("keep only `values`"));
        }
        Ok(())
    }

    fn text_schema(&self) -> Schema {
        if let Some(values) = &self.values {
            return schema::string().valid(values.iter().cloned()).into();
        }
        // Negative lengths were refused before. A length beyond `usize` is one that no string reaches.
        let length = |it: i64| it.unsigned_abs().min(usize::MAX as u64) as usize;
        let mut text = schema::string();
        if let Some(min) = self.min {
            text = text.min_length(length(min));
        }
        if let Some(max) = self.max {
            text = text.max_length(length(max));
        }
        if let Some(pattern) = &self.pattern {
            text = text.pattern(pattern);
        }
        text.into()
    }
}
