//! The arguments of a tool, as the agent file writes them.

use anyhow::Result;
use haft::schema::{self, Field, Schema};
use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;

/// One argument.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Argument {
    #[serde(rename = "type", default)]
    kind: Kind,
    description: Option<String>,
    #[serde(default)]
    required: bool,
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    String,
    Integer,
    Number,
    Boolean,
    /// A list of texts.
    List,
}

impl Argument {
    /// The schema of the field `name`.
    pub(super) fn field(&self, name: &str) -> Result<Field> {
        let wrong = |what: &str| Failure::new(format!("argument `{name}`: {what}"));
        let texts = matches!(self.kind, Kind::String | Kind::List);
        if !texts && (self.pattern.is_some() || self.values.is_some()) {
            return Err(wrong("`pattern` and `values` are for texts").into());
        }
        let negative = [self.min, self.max].into_iter().flatten().any(|it| it < 0);
        if texts && negative {
            return Err(wrong("a text cannot have fewer than no characters").into());
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
