//! The arguments of a tool, as the agent file writes them.

use haft::schema::{self, Field, Schema};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::place::Fault;

/// One argument.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Argument {
    /// What it is.
    #[serde(rename = "type", default)]
    kind: Kind,
    /// What the model reads of it.
    description: Option<String>,
    /// Whether a call without it is refused.
    #[serde(default)]
    required: bool,
    /// What it is if a call does not say.
    default: Option<Value>,
    /// The only values that are allowed.
    values: Option<Vec<String>>,
    /// The smallest number, or the fewest characters.
    min: Option<i64>,
    /// The largest number, or the most characters.
    max: Option<i64>,
    /// A regular expression that the text must match.
    pattern: Option<String>,
    /// Lets a value begin with `-`, which a program may take for an option.
    #[serde(default)]
    pub(super) allow_dash: bool,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// A text.
    #[default]
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list of texts.
    List,
}

impl Argument {
    /// Whether every call has it.
    pub(super) const fn always(&self) -> bool {
        self.required || self.default.is_some()
    }

    /// Whether it is a list.
    pub(super) fn is_list(&self) -> bool {
        self.kind == Kind::List
    }

    /// Its schema.
    pub(super) fn field(&self) -> Result<Field, Fault> {
        let texts = matches!(self.kind, Kind::String | Kind::List);
        if !texts && (self.pattern.is_some() || self.values.is_some()) {
            let key = if self.pattern.is_some() { "pattern" } else { "values" };
            return Err(Fault::at([key], "`pattern` and `values` are for texts"));
        }
        for (key, value) in [("min", self.min), ("max", self.max)] {
            if texts && value.is_some_and(|it| it < 0) {
                return Err(Fault::at([key], "a text cannot have fewer than no characters"));
            }
        }
        if self.values.is_some()
            && (self.pattern.is_some() || self.min.is_some() || self.max.is_some())
        {
            let fault = Fault::at(["values"], "the values are all that is allowed");
            return Err(fault.hint("leave out `min`, `max` and `pattern`"));
        }
        let mut schema: Schema = match self.kind {
            Kind::String => self.text(),
            Kind::List => schema::array(self.text()).into(),
            Kind::Boolean => schema::boolean().into(),
            Kind::Integer => {
                let mut it = schema::integer();
                if let Some(min) = self.min {
                    it = it.min(min);
                }
                if let Some(max) = self.max {
                    it = it.max(max);
                }
                it.into()
            }
            Kind::Number => {
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

    fn text(&self) -> Schema {
        if let Some(values) = &self.values {
            return schema::string().valid(values.iter().cloned()).into();
        }
        let length = |it: i64| usize::try_from(it).unwrap_or_default();
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
