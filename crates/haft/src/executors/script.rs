//! Scripts: the messages and calls of each step, and the expected results.

mod expect;
mod parse;
mod plan;
mod run;
mod source;
mod template;
#[cfg(feature = "formats")]
mod yaml;

use haft_core::error::codes;
use std::fmt;
use std::time::Duration;

use haft_core::error::{Coded, ErrorCode};
use haft_core::usage::Usage;
use serde_json::Value;

use self::expect::CallExpectation;
use self::parse::ScriptParser;
use self::template::{ArgsTemplate, Template};

pub use self::plan::PlannedCall;
pub use self::run::ScriptExecutor;

#[doc = include_str!("../../docs/script.md")]
#[derive(Clone, Debug)]
pub struct Script {
    name: Option<String>,
    hash: String,
    steps: Vec<ScriptStep>,
}

/// One step, in the order in which its parts happen.
#[derive(Clone, Debug)]
struct ScriptStep {
    expect: Vec<CallExpectation>,
    stall: Option<ScriptStall>,
    think: Vec<Template>,
    say: Vec<Template>,
    /// The number of pieces in which it is reported.
    pieces: usize,
    call: Vec<ScriptCall>,
    usage: Usage,
    end: StepEnd,
}

#[derive(Clone, Debug)]
struct ScriptCall {
    tool: String,
    args: ArgsTemplate,
    /// JSON pointer to the call.
    pointer: String,
    /// Line and column of the call.
    place: Option<(usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScriptStall {
    For(Duration),
    Forever,
}

/// How a step ends.
#[derive(Clone, Debug)]
enum StepEnd {
    Continue,
    Done,
    Nack(Template),
    Fail { reason: Template, retryable: bool },
}

impl Script {
    /// Reads a script: JSON, or with the feature `formats` YAML.
    ///
    /// ```
    /// use haft::executors::Script;
    ///
    /// let script = Script::parse(r#"{"name": "greeting", "steps": [{"say": "Hello!"}]}"#)?;
    /// assert_eq!((script.name(), script.len()), (Some("greeting"), 1));
    /// let refused = Script::parse(r#"{"steps": [{"sya": "Hello!"}]}"#).unwrap_err();
    /// assert_eq!(refused.faults.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Every problem that was found, each with its place.
    pub fn parse(text: &str) -> Result<Self, InvalidScript> {
        let source = source::read(text)?;
        let parsed = ScriptParser::read(source.document);
        let mut script = parsed.map_err(|faults| InvalidScript {
            faults: faults.into_iter().map(|fault| source.places.locate(fault)).collect(),
        })?;
        for call in script.steps.iter_mut().flat_map(|step| &mut step.call) {
            call.place = source.places.find(&call.pointer);
        }
        Ok(script)
    }

    /// Reads a script that is a JSON value already.
    ///
    /// ```
    /// use haft::executors::Script;
    ///
    /// let script = Script::from_value(&serde_json::json!({"steps": [{"say": "Hello!"}]}))?;
    /// assert_eq!(script.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Every problem that was found, each with its JSON pointer.
    pub fn from_value(value: &Value) -> Result<Self, InvalidScript> {
        let document = source::of_value(value)?;
        ScriptParser::read(document).map_err(|faults| InvalidScript { faults })
    }

    /// Its name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The SHA-256 of its canonical JSON, in hexadecimal: spaces, comments and the order of keys do not change it.
    ///
    /// ```
    /// use haft::executors::Script;
    ///
    /// let script = Script::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// assert_eq!(Script::parse(r#"{ "steps":[{"say":"Hello!"}] }"#)?.hash(), script.hash());
    /// assert_ne!(Script::parse(r#"{"steps": [{"say": "Bye!"}]}"#)?.hash(), script.hash());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// How many steps it has. Never zero.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a script has at least one step")]
    pub fn len(&self) -> usize {
        self.steps.len()
    }
}

/// A script that was refused, with every reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidScript {
    /// Every problem that was found.
    pub faults: Vec<ScriptFault>,
}

/// One problem of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptFault {
    /// JSON pointer to the place; empty for the script as a whole.
    pub pointer: String,
    /// Line and column of the place, counted from one, or `None` where no text is known.
    pub place: Option<(usize, usize)>,
    /// What is wrong, and what to write instead.
    pub what: String,
}

impl ScriptFault {
    fn new(pointer: impl Into<String>, what: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), place: None, what: what.into() }
    }
}

/// ``line 3, column 5, `/steps/0/sayy`: this field does not exist; did you mean `say`?``
impl fmt::Display for ScriptFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = self.pointer.as_str();
        match self.place {
            Some((line, column)) if pointer.is_empty() => {
                write!(f, "line {line}, column {column}: ")?;
            }
            Some((line, column)) => write!(f, "line {line}, column {column}, `{pointer}`: ")?,
            None if pointer.is_empty() => {}
            None => write!(f, "`{pointer}`: ")?,
        }
        f.write_str(&self.what)
    }
}

impl fmt::Display for InvalidScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script was refused")?;
        match self.faults.as_slice() {
            [only] => write!(f, ": {only}"),
            all => all.iter().try_for_each(|fault| write!(f, "\n- {fault}")),
        }
    }
}

impl std::error::Error for InvalidScript {}

impl From<ScriptFault> for InvalidScript {
    fn from(fault: ScriptFault) -> Self {
        Self { faults: vec![fault] }
    }
}

impl Coded for InvalidScript {
    fn code(&self) -> ErrorCode {
        codes::INVALID_TURN_RUNNER_CONFIG
    }
}
