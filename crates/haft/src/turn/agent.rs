//! The agent of turns.

mod approval_options;
mod builder;

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;

use haft_core::answer::AnswerFormat;
use haft_core::args::ToolArgs;
use haft_core::cancel::Cancellation;
use haft_core::context::{DispatchContext, ToolSource, TurnContext};
use haft_core::event::Observer;
use haft_core::forge::Formats;
use haft_core::pipeline::Pipeline;
use haft_core::registry::ToolRegistry;
use haft_core::step::{DispatchExecutor, ExecutorDescription, StepRequest};
use haft_core::store::{ClaimFilter, Lease, TurnId};
use haft_core::tool::Spooler;
use haft_core::trust::EnvelopeSecret;

use super::cancel_signal::{CancelSignal, run_cancellable};
use super::gates::{Approver, GatePolicy, Gatekeeper};
use super::lease::LeaseRenewer;
use super::limits::{Deadlines, Limits};
use super::rendering::RenderedRequest;
use super::stored_turns::{StoredTurns, TurnStores};
use super::{TurnError, TurnInput, TurnReport, TypedReport, driver, rendering};
use crate::events::TracedContent;

pub use self::builder::{AgentBuilder, InvalidAgent};

/// Runs turns. Cheap to clone, and usable for any number of turns, one after the other and in parallel.
///
/// ```
/// use haft::executors::{Step, StepContext, StepError};
/// use haft::turn::{Agent, TurnInput};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Agent::builder(async |ctx: StepContext| {
///     Ok::<_, StepError>(Step::done().say(ctx.message("Hello!")?))
/// })
/// .build()?;
///
/// let report = agent.run(TurnInput::new("You are polite.").user("Hi")).await?;
/// assert_eq!(report.text(), "Hello!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Agent {
    pub(super) shared: Arc<AgentShared>,
}

/// What all turns of an agent share.
pub(super) struct AgentShared {
    pub(super) turns: StoredTurns,
    pub(super) executor: Arc<dyn DispatchExecutor>,
    pub(super) allows_executor_change: bool,
    pub(super) definition: Option<String>,
    pub(super) spooler: Spooler,
    pub(super) preview_tokens: Option<u32>,
    pub(super) content_notice: Option<Arc<str>>,
    pub(super) tools: ToolRegistry,
    pub(super) formats: Formats,
    pub(super) turn_input: Pipeline<TurnContext>,
    pub(super) turn_output: Pipeline<TurnContext>,
    pub(super) dispatch_input: Pipeline<DispatchContext>,
    pub(super) dispatch_output: Pipeline<DispatchContext>,
    pub(super) tool_source: Option<Arc<dyn ToolSource>>,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) gate_policy: GatePolicy,
    pub(super) limits: Limits,
    pub(super) deadlines: Deadlines,
    pub(super) envelope_secret: Option<EnvelopeSecret>,
    pub(super) agent: Option<Arc<str>>,
    pub(super) observers: Arc<[Arc<dyn Observer>]>,
    pub(super) traced_content: TracedContent,
    pub(super) name: Arc<str>,
    pub(super) leases: Arc<LeaseRenewer>,
}

/// An agent reads and writes the stores of its turns.
impl Deref for AgentShared {
    type Target = TurnStores;

    fn deref(&self) -> &TurnStores {
        &self.turns.stores
    }
}

impl AgentShared {
    /// Whether output middleware runs after a step. Without it the last step and the end of the turn are stored by one
    /// commit.
    pub(super) fn has_output(&self) -> bool {
        !self.dispatch_output.is_empty() || !self.turn_output.is_empty()
    }
}

impl Agent {
    /// Starts an agent with an executor. Everything else has a default: no tools, no middleware, stores in memory, safe
    /// limits.
    pub fn builder(executor: impl DispatchExecutor + 'static) -> AgentBuilder {
        AgentBuilder::new(Arc::new(executor))
    }

    /// Runs a turn to its end.
    ///
    /// Dropping the future stops the turn where it is: what was journaled stays, and
    /// [`resume`](Self::resume) continues from there.
    ///
    /// # Errors
    ///
    /// The turn could not be created: its input was refused, its id is taken, or the store failed. Nothing has run in
    /// that case. Everything that happens later is part of the report. If the store fails later, the report contains
    /// the error, and the turn has not ended: it can be resumed.
    pub fn run(
        &self,
        input: TurnInput,
    ) -> impl Future<Output = Result<TurnReport, TurnError>> + Send + use<> {
        driver::create_turn(Arc::clone(&self.shared), input, Cancellation::new())
    }

    /// Runs a turn whose answer has a type. Like the arguments of a tool, the type derives `ToolArgs`, so that the
    /// schema that the model sees, the check and the decoder agree; `haft_conformance::prove` proves it.
    ///
    /// An answer that does not fit goes back to the model with its problems, twice at most; see [`TurnInput::answer`]
    /// for another bound, for streams ([`run_until`](Self::run_until)) and for workers. An interrupted turn is resumed
    /// like any other, and [`TurnReport::answer`] decodes its answer.
    ///
    /// ```
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::{Agent, ToolArgs, TurnInput};
    ///
    /// /// An invoice.
    /// #[derive(Debug, PartialEq, ToolArgs)]
    /// struct Invoice {
    ///     /// Who sent it
    ///     #[arg(min_len = 1)]
    ///     sender: String,
    ///     /// Amount in cents
    ///     cents: u32,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = async |ctx: StepContext| {
    /// #     let texts = [r#"{"sender": ""}"#, r#"{"sender": "Ada", "cents": "250"}"#];
    /// #     let text = texts[ctx.dispatch().iteration() as usize];
    /// #     Ok::<_, StepError>(Step::done().say(ctx.message(text)?))
    /// # };
    /// let agent = Agent::builder(model).build()?;
    /// let input = TurnInput::new("You read invoices.").user("Ada asks for 2.50.");
    /// let typed = agent.run_typed::<Invoice>(input).await?;
    /// assert_eq!(typed.answer?, Invoice { sender: "Ada".into(), cents: 250 });
    /// assert_eq!(typed.report.iterations, 2, "the first answer did not fit");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run). The schema of the type can also be invalid. A missing answer is not an error but part of
    /// the report.
    pub async fn run_typed<T: ToolArgs + Send + 'static>(
        &self,
        input: TurnInput,
    ) -> Result<TypedReport<T>, TurnError> {
        let format = AnswerFormat::of::<T>().map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            TurnError::invalid("answer", faults.join("; "))
        })?;
        let report = self.run(input.answer(format)).await?;
        Ok(TypedReport { answer: report.answer(), report })
    }

    /// Runs a turn to its end, or until it is cancelled: by a [`Cancellation`], or (feature `tokio-util`) by a
    /// `CancellationToken`.
    ///
    /// ```
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::turn::{Cancellation, TurnOutcome};
    /// use haft::{Agent, TurnInput};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let executor = async |_: StepContext| Ok::<_, StepError>(Step::new());
    /// let agent = Agent::builder(executor).build()?;
    /// let cancellation = Cancellation::new();
    /// cancellation.cancel("the user pressed stop");
    /// let report = agent.run_until(TurnInput::new("Never stop."), cancellation).await?;
    /// assert!(matches!(report.outcome, TurnOutcome::Cancelled { .. }));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_until<C: CancelSignal>(
        &self,
        input: TurnInput,
        signal: C,
    ) -> impl Future<Output = Result<TurnReport, TurnError>> + Send + use<C> {
        let (cancellation, watch) = signal.into_cancellation();
        // A child, so that a limit or a lost lease does not cancel what else the caller runs under it.
        let turn = driver::create_turn(Arc::clone(&self.shared), input, cancellation.child());
        run_cancellable(turn, watch, cancellation)
    }

    /// Resumes a turn that was interrupted, in this process or another one. Steps that were journaled are not taken
    /// again. A turn that has ended is reported again.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::{Agent, TurnInput};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let agent = Agent::builder(script).build()?;
    /// let report = agent.run(TurnInput::new("Be polite.")).await?;
    /// assert_eq!(agent.resume(&report.turn).await?.text(), "Hello!");
    /// assert!(agent.resume(&"another".parse()?).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such turn, another process runs it, another executor began it, or a stored record cannot be read.
    pub async fn resume(&self, turn: &TurnId) -> Result<TurnReport, TurnError> {
        self.resume_until(turn, Cancellation::new()).await
    }

    /// Resumes a turn as [`resume`](Self::resume) does, and runs it until it is cancelled.
    ///
    /// # Errors
    ///
    /// As [`resume`](Self::resume).
    pub async fn resume_until(
        &self,
        turn: &TurnId,
        signal: impl CancelSignal,
    ) -> Result<TurnReport, TurnError> {
        let (cancellation, watch) = signal.into_cancellation();
        let turn = Box::pin(driver::resume_turn(&self.shared, turn, cancellation.clone()));
        run_cancellable(turn, watch, cancellation).await
    }

    /// Stores a turn without running it. Any process with the same store and executor can claim it by
    /// [`run_next`](Self::run_next), in the order of priorities and times. Turns of a conversation run one after the
    /// other.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::stores::ClaimFilter;
    /// use haft::turn::Cancellation;
    /// use haft::{Agent, TurnInput};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let agent = Agent::builder(script).build()?;
    /// let turn = agent.enqueue(TurnInput::new("Be polite.").user("Hi")).await?;
    /// let report = agent.run_next(ClaimFilter::default(), Cancellation::new()).await?;
    /// assert_eq!(report.map(|it| it.turn), Some(turn));
    /// assert!(agent.run_next(ClaimFilter::default(), Cancellation::new()).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The input was refused, its id is taken, or the store failed.
    pub async fn enqueue(&self, input: TurnInput) -> Result<TurnId, TurnError> {
        driver::enqueue_turn(&self.shared, input).await
    }

    /// Claims the next turn that can run ([`TurnStore::claim_turns`](haft_core::store::TurnStore::claim_turns)) and runs it to its end: a queued one, one whose
    /// process died, one whose gate was settled, one that was interrupted and is due, or one that is to be cancelled.
    /// Returns `None` at once if there is none.
    ///
    /// A turn that was taken over more often than [`Limits::take_overs`] allows is not run: it ends as failed.
    ///
    /// # Errors
    ///
    /// The store failed, another executor began the turn, or a stored record cannot be read.
    pub async fn run_next(
        &self,
        filter: ClaimFilter,
        signal: impl CancelSignal,
    ) -> Result<Option<TurnReport>, TurnError> {
        let (cancellation, watch) = signal.into_cancellation();
        let turn = Box::pin(driver::run_next_turn(&self.shared, filter, cancellation.clone()));
        run_cancellable(turn, watch, cancellation).await
    }

    /// Runs a turn whose lease was claimed, as [`run_next`](Self::run_next) does.
    pub(crate) async fn run_claimed(
        &self,
        lease: Lease,
        cancellation: Cancellation,
    ) -> Result<TurnReport, TurnError> {
        driver::run_claimed_turn(&self.shared, lease, cancellation).await
    }

    /// Renders the request of a step of a stored turn again, from its records and through the same code that rendered
    /// it first, and says whether it is the one that was sent. The next step of a turn that has not ended can be
    /// rendered as well. Nothing is sent, and middleware does not run. Returns `None` if the executor sends no
    /// requests.
    ///
    /// Iterations are counted from zero.
    ///
    /// # Errors
    ///
    /// There is no such turn or step, a stored record cannot be read, or the executor cannot render the request.
    pub async fn render_request(
        &self,
        turn: &TurnId,
        iteration: u32,
    ) -> Result<Option<RenderedRequest>, TurnError> {
        rendering::render_stored_request(&self.shared, turn, iteration).await
    }

    /// Renders the first request of a turn without creating the turn. Nothing is sent or stored, and middleware does
    /// not run. Returns `None` if the executor sends no requests.
    ///
    /// ```
    /// use haft::providers::dialects::chat_completions::ChatCompletions;
    /// use haft::{Agent, Provider, TurnInput};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = Provider::builder(ChatCompletions::new(), "gpt-5-mini").build()?;
    /// let agent = Agent::builder(model).build()?;
    /// let request = agent.render_first_request(TurnInput::new("Be polite.")).await?;
    /// assert_eq!(request.map(|it| it.model).as_deref(), Some("gpt-5-mini"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The input was refused, or the executor cannot render the request.
    pub async fn render_first_request(
        &self,
        input: TurnInput,
    ) -> Result<Option<StepRequest>, TurnError> {
        rendering::render_first_request(&self.shared, input).await
    }

    /// What takes the steps of its turns.
    ///
    /// ```
    /// use haft::Agent;
    /// use haft::executors::ScriptExecutor;
    ///
    /// let script = ScriptExecutor::parse(r#"{"name": "greeting", "steps": [{"say": "Hello!"}]}"#)?;
    /// let agent = Agent::builder(script).build()?;
    /// assert_eq!(agent.executor_description().to_string(), "script `greeting`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn executor_description(&self) -> ExecutorDescription {
        self.shared.executor.description()
    }

    /// The turns in the stores of the agent, whichever agent ran them.
    #[must_use]
    pub fn stored_turns(&self) -> &StoredTurns {
        &self.shared.turns
    }

    /// Settles the gates of the turns.
    #[must_use]
    pub fn gates(&self) -> Gatekeeper {
        self.shared.turns.gates()
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.shared.name)
            .field("store", &self.shared.store)
            .field("tools", &self.shared.tools.len())
            .finish_non_exhaustive()
    }
}
