//! What was wrong with arguments, and what was coerced, in words a model can act on.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::capped_list::CappedList;
use crate::invariant::OrReport as _;
use crate::json::Repair;

/// How many problems one refusal lists.
pub(super) const MAX_LISTED: usize = 24;

/// Longest excerpt of a value in a message, in characters.
const MAX_EXCERPT: usize = 80;

/// One reason why arguments were refused.
///
/// ```
/// use haft_core::schema::Problem;
///
/// let problem = Problem::new("/city", "a city that exists").found("Atlantis").example("Paris");
/// assert_eq!(problem.pointer, "/city");
/// let text = problem.to_string();
/// assert!(text.contains("a city that exists") && text.contains("Atlantis"), "{text}");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Problem {
    /// JSON pointer to the value; empty for the arguments as a whole.
    pub pointer: String,
    /// Which rule it broke.
    pub rule: Rule,
    /// What would have been accepted.
    pub expected: String,
    /// The value that was found instead, shortened.
    pub found: String,
    /// A value that would be accepted here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
}

/// The rules that arguments can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rule {
    /// The text is not JSON.
    Syntax,
    /// The value is of another type.
    Type,
    /// The value is not in the list of allowed ones.
    Enum,
    /// A number is out of range or no multiple of the step.
    Range,
    /// A string, list or map is too short or too long.
    Length,
    /// A string does not match the pattern.
    Pattern,
    /// Two elements are equal.
    Unique,
    /// A required field is absent.
    Missing,
    /// A key is not a field.
    Unknown,
    /// A key occurs twice.
    Duplicate,
    /// A foreign schema refused it.
    Foreign,
    /// A validator of the tool refused it.
    External,
}

impl Problem {
    /// A problem with the value at `pointer`, for validators outside the schema.
    #[must_use]
    pub fn new(pointer: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            rule: Rule::External,
            expected: expected.into(),
            found: String::new(),
            example: None,
        }
    }

    /// The value that was found instead.
    #[must_use]
    pub fn found(mut self, found: impl AsRef<str>) -> Self {
        self.found = excerpt(found.as_ref());
        self
    }

    /// A value that would be accepted.
    #[must_use]
    pub fn example(mut self, value: impl Into<Value>) -> Self {
        self.example = Some(value.into());
        self
    }

    pub(crate) fn of(rule: Rule, pointer: String, expected: String, found: String) -> Self {
        Self { pointer, rule, expected, found, example: None }
    }
}

/// `` `/days`: expected an integer from 1 to 14, got 99; for example 3 ``
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_text("the arguments", f)
    }
}

impl Problem {
    /// Writes the problem, with a name for the value as a whole.
    fn write_text(&self, whole: &str, f: &mut dyn fmt::Write) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "{whole}: ")?,
            pointer => write!(f, "`{}`: ", excerpt(pointer))?,
        }
        match self.rule {
            Rule::Unknown | Rule::Duplicate => write!(f, "{}; {}", self.found, self.expected)?,
            Rule::Foreign => write!(f, "{}; expected {}", self.found, self.expected)?,
            Rule::Missing => write!(f, "missing; expected {}", self.expected)?,
            _ if self.found.is_empty() => write!(f, "expected {}", self.expected)?,
            _ => write!(f, "expected {}, got {}", self.expected, self.found)?,
        }
        if let Some(example) = &self.example {
            write!(f, "; for example {}", excerpt(&example.to_string()))?;
        }
        Ok(())
    }
}

/// Every reason why the arguments of one call were refused.
///
/// Its text is meant for the model: one line per problem, each with a JSON pointer, the expected and the found value
/// and, if one is known, an example.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Problems {
    /// The problems in document order; never more than two dozen.
    pub list: Vec<Problem>,
    /// How many more there were.
    pub left_out: usize,
}

impl Problems {
    pub(in crate::schema) fn new(found: CappedList<Problem, MAX_LISTED>) -> Self {
        let (list, left_out) = found.into_parts();
        Self { list, left_out }
    }

    /// The text of the problems of something that is not the arguments of a call, with a name for the value
    /// as a whole.
    ///
    /// ```
    /// use haft_core::schema::{Problem, Problems};
    ///
    /// let problems = Problems::from(Problem::new("", "true or false").found("\"yes\""));
    /// assert_eq!(problems.to_text("the decision"), "- the decision: expected true or false, got \"yes\"");
    /// ```
    #[must_use]
    pub fn to_text(&self, whole: &str) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_text(whole, &mut text);
        text
    }

    fn write_text(&self, whole: &str, f: &mut dyn fmt::Write) -> fmt::Result {
        for (at, problem) in self.list.iter().enumerate() {
            f.write_str(if at > 0 { "\n- " } else { "- " })?;
            problem.write_text(whole, f)?;
        }
        if self.left_out > 0 {
            write!(f, "\n- and {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self { list: vec![problem], left_out: 0 }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_text("the arguments", f)
    }
}

impl std::error::Error for Problems {}

/// One change that coercion made to the arguments. The record of a call contains the changes, next to the raw and the
/// accepted arguments, as evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Change {
    /// JSON pointer to the value that was changed, in the arguments as they were received.
    pub pointer: String,
    /// What was done.
    #[serde(flatten)]
    pub kind: ChangeKind,
}

/// The ways in which coercion changes arguments. Every one of them is lossless and guided by the
/// schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "change", content = "detail", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ChangeKind {
    /// The text was not JSON and had one reading.
    Repaired(Repair),
    /// There were no arguments: they became `{}`.
    Absent,
    /// An absent field got its default.
    Default,
    /// A string that spells a number became that number.
    Number,
    /// A string that spells a boolean became that boolean.
    Boolean,
    /// The string `null` became `null`.
    Null,
    /// A string that holds JSON became what it holds.
    Json,
    /// A single value became a list of one.
    Wrapped,
    /// A string that differs from an allowed one only by case became the allowed one.
    Case,
    /// An empty value for an optional field was taken as absent.
    Dropped,
    /// The arguments stood inside a wrapper object under this key.
    Unwrapped(String),
    /// A key was an alias of this field.
    Renamed(String),
    /// There were this many further changes, which are not listed.
    Further(usize),
}

/// `` `/units`: the case of a letter was changed ``
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() {
            write!(f, "`{}`: ", excerpt(&self.pointer))?;
        }
        match &self.kind {
            ChangeKind::Repaired(repair) => write!(f, "{repair}"),
            ChangeKind::Absent => f.write_str("absent arguments became `{}`"),
            ChangeKind::Default => f.write_str("the default was used"),
            ChangeKind::Number => f.write_str("a string became a number"),
            ChangeKind::Boolean => f.write_str("a string became a boolean"),
            ChangeKind::Null => f.write_str("a string became `null`"),
            ChangeKind::Json => f.write_str("a string became the JSON that it held"),
            ChangeKind::Wrapped => f.write_str("a single value became a list"),
            ChangeKind::Case => f.write_str("the case of letters was changed"),
            ChangeKind::Dropped => f.write_str("an empty value was taken as absent"),
            ChangeKind::Unwrapped(key) => write!(f, "the wrapper `{}` was removed", excerpt(key)),
            ChangeKind::Renamed(field) => write!(f, "the key was read as `{}`", excerpt(field)),
            ChangeKind::Further(count) => write!(f, "{count} further changes"),
        }
    }
}

/// Shortens a text for a message, by characters, saying how much is left out.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(MAX_EXCERPT) {
        None => text.to_owned(),
        Some((cut, _)) => {
            let shown = text.get(..cut).or_report("a character begins at a boundary", text);
            format!("{shown}… ({} bytes)", text.len())
        }
    }
}
