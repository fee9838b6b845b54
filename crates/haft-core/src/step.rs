//! One step of the model, and the executor that takes it.
//!
//! A [`DispatchExecutor`] receives the state of the turn and returns what the model says next: a [`Step`]. The loop
//! does the rest: it stores the step, executes its calls, shows their results in the next iteration, and ends the
//! dispatch when the step says so. Anything can be an executor: a provider, a script, a person.
//!
//! ```
//! use haft_core::step::{Step, StepContext, StepError};
//!
//! /// Repeats what the user said.
//! async fn echo(ctx: StepContext) -> Result<Step, StepError> {
//!     let said = ctx.dispatch().turn().messages().all();
//!     let text = said.last().and_then(|it| it.content()).map_or("", |it| it.as_str());
//!     Ok(Step::done().say(ctx.message(format!("You said: {text}"))?))
//! }
//! ```

mod description;
mod request;

use std::fmt::{self, Write as _};
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BoxFuture;
use crate::error::{Coded, ErrorCode, codes};
use crate::event::{ErrorReport, EventKind, GenerationStats, StreamState};
use crate::pipeline::BoxError;
use crate::record::{InvalidRecord, Message, Record as _, Text, Thought};
use crate::schema::args::RawArgs;
use crate::stream::{StreamError, StreamPart, StreamReport, StreamTracker};
use crate::tool::context::{DispatchContext, SignalError};
use crate::usage::Usage;

pub use self::description::ExecutorDescription;
pub use self::request::StepRequest;

/// Takes steps.
///
/// An async closure that is `Clone` is an executor. It is cloned for each step, so that it may consume its captured
/// values:
///
/// ```
/// use haft_core::step::{DispatchExecutor, Step, StepContext, StepError};
///
/// fn executor(words: String) -> impl DispatchExecutor {
///     async move |ctx: StepContext| Ok::<_, StepError>(Step::done().say(ctx.message(words)?))
/// }
/// # let _ = executor("Hello!".to_owned());
/// ```
pub trait DispatchExecutor: Send + Sync {
    /// Says what the model says next.
    fn step(&self, ctx: StepContext) -> BoxFuture<'_, Result<Step, StepError>>;

    /// Describes the executor. The description is stored with every turn that it begins, and a turn is resumed only
    /// with an executor that has the same one. The default is unnamed custom code.
    fn description(&self) -> ExecutorDescription {
        ExecutorDescription::default()
    }

    /// Renders the request that [`step`](Self::step) would send, without sending it and without any other effect. By
    /// default an executor sends no requests.
    fn render_request(
        &self,
        _ctx: StepContext,
    ) -> BoxFuture<'_, Result<Option<StepRequest>, StepError>> {
        Box::pin(async { Ok(None) })
    }
}

impl<F, Fut> DispatchExecutor for F
where
    F: FnOnce(StepContext) -> Fut + Clone + Send + Sync,
    Fut: Future<Output = Result<Step, StepError>> + Send + 'static,
{
    fn step(&self, ctx: StepContext) -> BoxFuture<'_, Result<Step, StepError>> {
        Box::pin(self.clone()(ctx))
    }
}

/// A shared executor, such as one that is chosen when the program runs.
impl<E: DispatchExecutor + ?Sized> DispatchExecutor for Arc<E> {
    fn step(&self, ctx: StepContext) -> BoxFuture<'_, Result<Step, StepError>> {
        (**self).step(ctx)
    }

    fn description(&self) -> ExecutorDescription {
        (**self).description()
    }

    fn render_request(
        &self,
        ctx: StepContext,
    ) -> BoxFuture<'_, Result<Option<StepRequest>, StepError>> {
        (**self).render_request(ctx)
    }
}

/// The context of a step: the dispatch in this iteration, with the tools that the executor can offer.
///
/// ```
/// use haft_core::DispatchContext;
/// use haft_core::step::StepContext;
///
/// let ctx = StepContext::new(DispatchContext::builder("turn-1").build());
/// let message = ctx.message("Hello!")?;
/// assert_eq!(message.content().map(|text| text.as_str()), Some("Hello!"));
/// assert_ne!(ctx.next_id("message"), ctx.next_id("message"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StepContext {
    ctx: DispatchContext,
    said: Arc<StepOutputs>,
}

/// What was said so far in a step.
#[derive(Debug, Default)]
struct StepOutputs {
    ids: AtomicU32,
    /// `None` until the executor reports text while it is written. Boxed, because most steps report nothing.
    streams: Mutex<Option<Box<StreamTracker>>>,
    /// What the last generation was, if the executor has said so.
    generation: Mutex<Option<Box<GenerationStats>>>,
    /// When the first piece was reported, by the clock that never goes back.
    first_piece: OnceLock<Duration>,
}

impl StepContext {
    /// The step of an iteration.
    #[must_use]
    pub fn new(ctx: DispatchContext) -> Self {
        Self { ctx, said: Arc::default() }
    }

    /// The dispatch.
    #[must_use]
    pub fn dispatch(&self) -> &DispatchContext {
        &self.ctx
    }

    /// Acknowledges the dispatch, and runs the callbacks that were registered with [`on_ack`](DispatchContext::on_ack),
    /// in order. A step with [`Step::done`] does the same after it is stored; call this only to signal earlier.
    ///
    /// Handlers have no such function: they see a [`DispatchContext`], and the record of their call is not
    /// stored before they return.
    ///
    /// ```
    /// use haft_core::DispatchContext;
    /// use haft_core::step::StepContext;
    ///
    /// let ctx = StepContext::new(DispatchContext::builder("turn-1").build());
    /// ctx.ack()?;
    /// assert!(ctx.nack("changed my mind").is_err());
    /// # Ok::<(), haft_core::context::SignalError>(())
    /// ```
    ///
    /// ```compile_fail,E0624
    /// # let ctx = haft_core::DispatchContext::builder("turn-1").build();
    /// ctx.ack()?;
    /// # Ok::<(), haft_core::context::SignalError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// It was signalled already.
    pub fn ack(&self) -> Result<(), SignalError> {
        self.ctx.ack()
    }

    /// Fails the dispatch with an error. Callbacks that wait for an ack do not run.
    ///
    /// # Errors
    ///
    /// It was signalled already.
    pub fn nack(&self, error: impl Into<ErrorReport>) -> Result<(), SignalError> {
        self.ctx.nack(error.into())
    }

    /// An id for the next record of this step. It is the same when the step is taken again.
    #[must_use]
    pub fn next_id(&self, what: &str) -> String {
        let n = self.said.ids.fetch_add(1, Ordering::Relaxed);
        let (turn, iteration) = (self.ctx.turn_id(), self.ctx.iteration());
        // Two numbers of up to ten digits, and what stands between the parts.
        let mut id = String::with_capacity(turn.len() + what.len() + 23);
        // Writing to a string does not fail.
        let _ = write!(id, "{turn}/{iteration}/{what}-{n}");
        id
    }

    /// A message of the assistant, with an id of its own.
    ///
    /// # Errors
    ///
    /// The text is empty.
    pub fn message(&self, text: impl Into<Text>) -> Result<Message, InvalidRecord> {
        Message::assistant_at(self.next_id("message"), text, self.ctx.clock().now())
    }

    /// A thought of the assistant, with an id of its own.
    ///
    /// # Errors
    ///
    /// The text is empty.
    pub fn thought(&self, text: impl Into<Text>) -> Result<Thought, InvalidRecord> {
        Thought::new(self.next_id("thought"), text, self.ctx.clock().now()).checked()
    }

    /// Says what a generation was, to observers and to the span of the step. Of several, the span has the last one.
    ///
    /// ```
    /// use haft_core::DispatchContext;
    /// use haft_core::event::GenerationStats;
    /// use haft_core::step::StepContext;
    /// use haft_core::usage::Usage;
    ///
    /// let ctx = StepContext::new(DispatchContext::builder("turn-1").build());
    /// ctx.report_generation(GenerationStats::new(Usage::new(100, 20)).model("small-1"));
    /// assert_eq!(ctx.generation().map(|it| it.usage.total), Some(120));
    /// ```
    pub fn report_generation(&self, stats: GenerationStats) {
        self.ctx.emit_with(|| EventKind::GenerationStats(stats.clone()));
        *self.said.generation.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Box::new(stats));
    }

    /// What the last generation of the step was, if the executor has said so.
    #[must_use]
    pub fn generation(&self) -> Option<GenerationStats> {
        let generation = self.said.generation.lock().unwrap_or_else(PoisonError::into_inner);
        generation.as_deref().cloned()
    }

    /// Shows observers a piece of a message while the model writes it. The id is that of the message in the step; if
    /// the step has no message with this id, observers see the message as aborted.
    ///
    /// # Errors
    ///
    /// The message has ended, or would be too long, or the id is invalid.
    pub fn report_message(
        &self,
        id: &str,
        delta: &str,
        part: StreamPart,
    ) -> Result<(), StreamError> {
        self.note_piece();
        self.show_message(id, delta, part)
    }

    fn show_message(&self, id: &str, delta: &str, part: StreamPart) -> Result<(), StreamError> {
        let at = self.ctx.clock().now();
        let report = self.with_streams(|it| it.report_message(id, delta, part, at))?;
        self.ctx.emit_with(|| report.into());
        Ok(())
    }

    /// Shows observers a piece of a thought, as [`report_message`](Self::report_message) does.
    ///
    /// # Errors
    ///
    /// The thought has ended, or would be too long, or the id is invalid.
    pub fn report_thought(
        &self,
        id: &str,
        delta: &str,
        part: StreamPart,
    ) -> Result<(), StreamError> {
        self.note_piece();
        self.show_thought(id, delta, part)
    }

    fn show_thought(&self, id: &str, delta: &str, part: StreamPart) -> Result<(), StreamError> {
        let at = self.ctx.clock().now();
        let report = self.with_streams(|it| it.report_thought(id, delta, part, at))?;
        self.ctx.emit_with(|| report.into());
        Ok(())
    }

    /// Notes that the model has begun to write, also if what it writes now is not shown to observers.
    pub fn note_piece(&self) {
        self.said.first_piece.get_or_init(|| self.ctx.clock().monotonic());
    }

    /// When the model began to write, by [`Clock::monotonic`](crate::clock::Clock::monotonic), if the executor has said so
    /// before the end of the step.
    #[must_use]
    pub fn first_piece_at(&self) -> Option<Duration> {
        self.said.first_piece.get().copied()
    }

    /// Ends the reported texts according to the step: a text that was not streamed is shown as a whole, and one that is
    /// not in the step is aborted. The loop calls it once, when the step is over.
    pub fn end_reports(&self, step: Option<&Step>) {
        if !self.ctx.is_observed() {
            return;
        }
        let (thoughts, messages) = match step {
            Some(step) => (step.thoughts.as_slice(), step.messages.as_slice()),
            None => Default::default(),
        };
        if !self.has_streams() && self.show_only_text(thoughts, messages) {
            return;
        }
        for thought in thoughts {
            let (id, state) =
                (thought.id().as_str(), |it: &StreamTracker, id: &str| it.thought_state(id));
            if let Some(rest) = self.rest(id, thought.content().as_str(), state) {
                let _ = self.show_thought(id, rest, StreamPart::Last);
            }
        }
        for message in messages {
            let (id, state) =
                (message.id().as_str(), |it: &StreamTracker, id: &str| it.message_state(id));
            let text = message.content().map_or("", |text| text.as_str());
            if let Some(rest) = self.rest(id, text, state) {
                let _ = self.show_message(id, rest, StreamPart::Last);
            }
        }
        if self.has_streams() {
            let at = self.ctx.clock().now();
            for event in self.with_streams(|it| it.abort_leftovers(at)) {
                self.ctx.emit_with(|| event);
            }
        }
    }

    /// Shows the text of a step that has no other text and streamed nothing. Returns whether it is such a step.
    fn show_only_text(&self, thoughts: &[Thought], messages: &[Message]) -> bool {
        let at = || self.ctx.clock().now();
        let report = match (thoughts, messages) {
            ([], []) => return true,
            ([thought], []) => {
                StreamReport::of_thought(thought.id().shared(), thought.content().as_str(), at())
            }
            ([], [message]) => {
                let text = message.content().map_or("", |text| text.as_str());
                StreamReport::of_message(message.id().shared(), text, at())
            }
            _ => return false,
        };
        if let Ok(report) = report {
            self.ctx.emit_with(|| report.into());
        }
        true
    }

    /// Withdraws the texts that were reported so far, because the executor asks its model again.
    ///
    /// ```
    /// use haft_core::DispatchContext;
    /// use haft_core::step::StepContext;
    /// use haft_core::stream::StreamPart;
    ///
    /// let ctx = StepContext::new(DispatchContext::builder("turn-1").build());
    /// ctx.report_message("m-1", "Half an ans", StreamPart::More)?;
    /// ctx.supersede_reports();
    /// // The message is reported again from its beginning.
    /// ctx.report_message("m-1", "An answer.", StreamPart::More)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn supersede_reports(&self) {
        let at = self.ctx.clock().now();
        let superseded = self.with_streams(|it| it.supersede_leftovers(at));
        for event in superseded {
            self.ctx.emit_with(|| event);
        }
    }

    /// The piece that ends a stream, or `None` if it has ended.
    fn rest<'t>(
        &self,
        id: &str,
        text: &'t str,
        state: impl FnOnce(&StreamTracker, &str) -> Option<StreamState>,
    ) -> Option<&'t str> {
        match self.with_streams(|it| state(it, id)) {
            None => Some(text),
            Some(StreamState::Open) => Some(""),
            Some(_) => None,
        }
    }

    fn with_streams<T>(&self, run: impl FnOnce(&mut StreamTracker) -> T) -> T {
        run(self.lock_streams().get_or_insert_default())
    }

    fn has_streams(&self) -> bool {
        self.lock_streams().is_some()
    }

    fn lock_streams(&self) -> MutexGuard<'_, Option<Box<StreamTracker>>> {
        self.said.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The output of the model in one step.
///
/// ```
/// use haft_core::step::{NextAction, ProposedCall, Step};
/// use haft_core::usage::Usage;
///
/// let step = Step::new()
///     .call(ProposedCall::new("get_weather", r#"{"city": "Paris"}"#))
///     .usage(Usage::new(100, 20));
/// assert_eq!((step.calls.len(), step.then), (1, NextAction::Continue));
/// assert_eq!(Step::done().then, NextAction::Done);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a step does nothing until the loop has it"]
#[non_exhaustive]
pub struct Step {
    /// What it thinks.
    pub thoughts: Vec<Thought>,
    /// What it says.
    pub messages: Vec<Message>,
    /// The calls that the model proposes, in order.
    pub calls: Vec<ProposedCall>,
    /// What comes next.
    pub then: NextAction,
    /// What the step cost.
    pub usage: Usage,
    /// The request with which it was taken, if one was sent.
    pub request: Option<StepRequest>,
}

/// What comes after a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NextAction {
    /// Another iteration.
    Continue,
    /// The dispatch is done, once output middleware agrees.
    Done,
    /// The dispatch has failed. The error has a code.
    #[serde(with = "stored_failure")]
    #[cfg_attr(feature = "schemars", schemars(with = "stored_failure::Stored"))]
    Fail(Box<ErrorReport>),
}

/// The stored form of the failure of a step: the error, or only the reason in words.
mod stored_failure {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::error::codes;
    use crate::event::ErrorReport;

    #[derive(Deserialize)]
    #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
    #[serde(untagged)]
    pub(super) enum Stored {
        Reason(String),
        Error(ErrorReport),
    }

    pub(super) fn serialize<S: Serializer>(
        error: &ErrorReport,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let reason = ErrorReport::coded(codes::LLM_EXECUTION_NACKED, error.message.clone());
        if *error == reason {
            return serializer.serialize_str(&error.message);
        }
        error.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<ErrorReport>, D::Error> {
        Ok(Box::new(match Stored::deserialize(deserializer)? {
            Stored::Reason(reason) => ErrorReport::coded(codes::LLM_EXECUTION_NACKED, reason),
            Stored::Error(error) => error.or_code(codes::LLM_EXECUTION_NACKED),
        }))
    }
}

impl NextAction {
    /// The dispatch has failed. A reason in words has the code `E_LLM_EXECUTION_NACKED`.
    #[must_use]
    pub fn failed(error: impl Into<ErrorReport>) -> Self {
        Self::Fail(Box::new(error.into().or_code(codes::LLM_EXECUTION_NACKED)))
    }
}

/// A call that the model asks for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProposedCall {
    /// The tool. It need not exist.
    pub tool: String,
    /// The arguments as they were received.
    pub args: RawArgs,
    /// The id that the provider gave the call.
    pub provider_id: Option<String>,
    /// A value that the provider wants back unchanged, and the tag of the providers that understand it.
    pub payload: Option<(Value, Arc<str>)>,
}

impl Step {
    /// A step after which there is another iteration.
    pub fn new() -> Self {
        Self {
            thoughts: Vec::new(),
            messages: Vec::new(),
            calls: Vec::new(),
            then: NextAction::Continue,
            usage: Usage::default(),
            request: None,
        }
    }

    /// A step with which the dispatch is done.
    pub fn done() -> Self {
        Self { then: NextAction::Done, ..Self::new() }
    }

    /// A step with which the dispatch has failed: an error that has a code, or a reason in words, whose code is
    /// `E_LLM_EXECUTION_NACKED`.
    ///
    /// ```
    /// use haft_core::error::codes;
    /// use haft_core::step::{NextAction, Step, StepError};
    ///
    /// let step = Step::failed(StepError::coded(codes::LLM_RESPONSE_EMPTY, "the model said nothing"));
    /// let NextAction::Fail(error) = step.then else { panic!("the step has not failed") };
    /// assert_eq!(error.code, Some(codes::LLM_RESPONSE_EMPTY));
    /// assert!(error.retryable);
    /// ```
    pub fn failed(error: impl Into<ErrorReport>) -> Self {
        Self { then: NextAction::failed(error), ..Self::new() }
    }

    /// Thinks.
    pub fn think(mut self, thought: Thought) -> Self {
        self.thoughts.push(thought);
        self
    }

    /// Says.
    pub fn say(mut self, message: Message) -> Self {
        // Nearly always it is the only one, and thousands of turns run at once.
        self.messages.reserve_exact(usize::from(self.messages.is_empty()));
        self.messages.push(message);
        self
    }

    /// Asks for a call.
    pub fn call(mut self, call: ProposedCall) -> Self {
        self.calls.reserve_exact(usize::from(self.calls.is_empty()));
        self.calls.push(call);
        self
    }

    /// Says what the step cost.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the request with which the step was taken. Its hash is journaled.
    pub fn request(mut self, request: StepRequest) -> Self {
        self.request = Some(request);
        self
    }
}

impl Default for Step {
    fn default() -> Self {
        Self::new()
    }
}

impl ProposedCall {
    /// A call of a tool.
    #[must_use]
    pub fn new(tool: impl Into<String>, args: impl Into<RawArgs>) -> Self {
        Self { tool: tool.into(), args: args.into(), provider_id: None, payload: None }
    }
}

/// A step could not be taken.
///
/// ```
/// use haft_core::step::StepError;
///
/// let error = StepError::new("the model is overloaded").retryable();
/// assert_eq!(error.message(), "the model is overloaded");
/// assert!(error.is_retryable());
/// ```
pub struct StepError {
    code: ErrorCode,
    message: String,
    retryable: bool,
    source: Option<BoxError>,
}

impl StepError {
    /// A failure in words for the operator.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { retryable: false, ..Self::coded(codes::LLM_EXECUTION_EXECUTOR_ERROR, message) }
    }

    /// A failure with a code and a message for the operator. It is retryable if its code is.
    #[must_use]
    pub fn coded(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { retryable: code.retryable(), code, message: message.into(), source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says that the same step may succeed later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Says whether the same step may succeed later.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same step may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// The cause.
    #[must_use]
    pub fn source(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }
}

impl<E: Into<BoxError>> From<E> for StepError {
    fn from(error: E) -> Self {
        let source = error.into();
        Self::new(source.to_string()).with_source(source)
    }
}

/// What observers see of the error: its message, its code and its causes.
impl From<&StepError> for ErrorReport {
    fn from(error: &StepError) -> Self {
        let mut report = Self::coded(error.code.clone(), error.message.as_str());
        report.retryable = error.retryable;
        report.caused_by(error.source.as_deref().map(|source| source as _))
    }
}

impl From<StepError> for ErrorReport {
    fn from(error: StepError) -> Self {
        Self::from(&error)
    }
}

impl Coded for StepError {
    fn code(&self) -> ErrorCode {
        self.code.clone()
    }

    fn retryable(&self) -> bool {
        self.retryable
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the executor failed: {}", self.message)
    }
}

impl fmt::Debug for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepError")
            .field("message", &self.message)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
