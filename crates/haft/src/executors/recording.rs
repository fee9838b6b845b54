//! Recordings of turns: the steps of the model and the results of calls, for replay.

mod form;
mod recorder;
mod replay;

use haft_core::error::codes;
use std::fmt;

use haft_core::error::{Coded, ErrorCode};
use haft_core::json::Document;
use haft_core::media::MediaError;
use haft_core::spool::SpoolError;
use serde::Serialize;

use self::form::{CallForm, StepForm, ToolForm, Versioned};

pub use self::recorder::RecordingExecutor;
pub use self::replay::ReplayExecutor;

/// The recording of a turn: the steps of its executor and the results of its calls, by call id and occurrence.
///
/// A [`RecordingExecutor`] makes one. [`Recording::replay`] repeats the steps; the results of calls come from the
/// recording, and no handler runs. Arguments are stored as the exact text that was received.
///
/// ```
/// use haft::executors::{RecordingExecutor, Recording, ScriptExecutor};
/// use haft::turn::Agent;
/// use haft::Tool;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptExecutor::parse(r#"{"steps": [{"call": {"roll": {}}}, {"say": "{{ last.roll }}!"}]}"#)?;
/// let roll = Tool::builder("roll").description("Rolls.").handler(|| "4").build()?;
///
/// let recorder = RecordingExecutor::new(model);
/// let agent = Agent::builder(recorder.clone()).tool(roll).build()?;
/// let report = agent.turn([]).system("You play.").report().await?;
/// let text = recorder.finish(&report).await?.to_json();
///
/// // Later, or elsewhere: the same turn, without the model and without the handler.
/// let roll = Tool::builder("roll").description("Rolls.").handler(|| "6").build()?;
/// let replay = Recording::from_json(&text)?.replay([roll])?;
/// let agent = Agent::builder(replay.clone()).tools(replay.tools()).build()?;
/// assert_eq!(agent.turn([]).system("You play.").report().await?.text(), "4!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Recording {
    #[serde(flatten)]
    version: Versioned,
    tools: Vec<ToolForm>,
    steps: Vec<StepForm>,
    calls: Vec<CallForm>,
}

impl Recording {
    /// Reads the text that [`to_json`](Self::to_json) wrote.
    ///
    /// ```
    /// use haft::executors::Recording;
    ///
    /// assert!(Recording::from_json("{}").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// It is not a recording, has another version, or is damaged.
    pub fn from_json(text: &str) -> Result<Self, InvalidRecording> {
        let versioned: Versioned =
            serde_json::from_str(text).map_err(InvalidRecording::unreadable)?;
        versioned.check()?;
        let form: form::RecordingForm =
            serde_json::from_str(text).map_err(InvalidRecording::unreadable)?;
        for call in &form.calls {
            call.raw()?;
        }
        for call in form.steps.iter().flat_map(|step| &step.calls) {
            call.raw()?;
        }
        Ok(Self { version: versioned, tools: form.tools, steps: form.steps, calls: form.calls })
    }

    /// The recording as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // It is made of text, numbers and values that were JSON before.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// How many steps it has.
    #[must_use]
    pub fn n_steps(&self) -> usize {
        self.steps.len()
    }

    /// The body of the request with which a step was taken, counted from zero, or `None` if none was recorded.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use haft::executors::{RecordingExecutor, ScriptExecutor};
    /// use haft::Agent;
    ///
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let recorder = RecordingExecutor::new(script);
    /// let agent = Agent::builder(recorder.clone()).build()?;
    /// let report = agent.turn([]).system("Be polite.").report().await?;
    /// assert_eq!(recorder.finish(&report).await?.request(0), None, "a script sends no requests");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn request(&self, step: usize) -> Option<String> {
        let upto = self.steps.get(..=step)?;
        upto.last()?.request.as_ref()?;
        let mut requests = upto.iter().filter_map(|step| step.request.as_ref());
        requests.try_fold(String::new(), |before, request| request.body(&before))
    }

    /// How many calls it has.
    #[must_use]
    pub fn n_calls(&self) -> usize {
        self.calls.len()
    }
}

/// A text that is not a valid recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRecording {
    /// It has another form.
    #[error("this is not a recording: {reason}")]
    Unreadable {
        /// What is wrong, and where.
        reason: String,
    },
    /// A program of another version wrote it.
    #[error(
        "the recording has version {found}, and this program reads version {known}: record it again"
    )]
    OtherVersion {
        /// Its version.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
    /// The recording was changed: the arguments of a call do not match its id.
    #[error("the recording is damaged: the call `{id}` of `{tool}` does not have these arguments")]
    Damaged {
        /// The call.
        id: String,
        /// Its tool.
        tool: String,
    },
}

impl InvalidRecording {
    fn unreadable(error: impl fmt::Display) -> Self {
        Self::Unreadable { reason: error.to_string() }
    }
}

impl Coded for InvalidRecording {
    fn code(&self) -> ErrorCode {
        codes::INVALID_TURN_RUNNER_CONFIG
    }
}

/// A turn that cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The recorder did not see some steps, for example because they were taken before the turn was resumed.
    #[error("step {iteration} of the turn `{turn}` was not taken through this recorder")]
    Incomplete {
        /// The turn.
        turn: String,
        /// The first iteration that is missing.
        iteration: u32,
    },
    /// The results are larger than a recording may be.
    #[error("the results up to the call `{call}` have more than {limit} bytes")]
    TooLarge {
        /// The call.
        call: String,
        /// The limit.
        limit: u64,
    },
    /// The content of a result could not be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// A media item could not be read.
    #[error(transparent)]
    Media(#[from] MediaError),
}

impl Coded for RecordingError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Incomplete { .. } => codes::INVALID_LLM_EXECUTION_CONTEXT,
            Self::TooLarge { .. } => codes::LIMIT_REACHED,
            Self::Spool(error) => error.code(),
            Self::Media(error) => error.code(),
        }
    }
}

/// Tools that are not those of the recording, with every difference.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotReplayable {
    /// Every difference.
    pub differences: Vec<ReplayDifference>,
}

/// What is different about one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayDifference {
    /// The tool.
    pub tool: String,
    /// What is different, in words, with JSON pointers into its input schema.
    pub what: String,
}

impl fmt::Display for NotReplayable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("these are not the tools of the recording")?;
        let mut all = self.differences.iter();
        all.try_for_each(|it| write!(f, "\n- `{}`: {}", it.tool, it.what))
    }
}

impl std::error::Error for NotReplayable {}

impl Coded for NotReplayable {
    fn code(&self) -> ErrorCode {
        codes::INVALID_TURN_RUNNER_CONFIG
    }
}

/// A text as a document; text that is not JSON as a string.
fn text_document(text: &str) -> Document {
    Document::parse(text).unwrap_or_else(|_| {
        let mut out = haft_core::json::JsonWriter::new();
        out.string(text);
        out.finish()
    })
}
