//! The agent: what runs turns.

mod approval_options;
mod builder;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use haft_core::cancel::Cancellation;
use haft_core::context::{DispatchContext, Instruction, ToolSource, TurnContext};
use haft_core::event::Observer;
use haft_core::forge::Formats;
use haft_core::pipeline::Pipeline;
use haft_core::record::Text;
use haft_core::registry::ToolRegistry;
use haft_core::step::{DispatchExecutor, ExecutorDescription};
use haft_core::store::{ClaimFilter, Lease, TurnId};
use haft_core::tool::Spooler;
use haft_core::trust::EnvelopeSecret;

use super::gates::{Approver, GatePolicy, Gatekeeper};
use super::input::{TurnInput, TurnMessages};
use super::lease::LeaseRenewer;
use super::limits::{Deadlines, Limits};
use super::rendering::RenderedRequest;
use super::request::Turn;
use super::stored_turns::{StoredTurns, TurnStores};
use super::{TurnError, TurnReport, driver, rendering};
use crate::events::TracedContent;

pub use self::builder::{AgentBuilder, InvalidAgent};

/// Runs turns. Cheap to clone, and usable for any number of turns, one after the other and in parallel.
///
/// ```
/// use haft::Agent;
/// use haft::executors::{Step, StepContext, StepError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> haft::Result<()> {
/// let agent = Agent::builder(async |ctx: StepContext| {
///     Ok::<_, StepError>(Step::done().say(ctx.message("Hello!")?))
/// })
/// .system("You are polite.")
/// .build()?;
///
/// assert_eq!(agent.turn("Hi").await?.to_string(), "Hello!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Agent {
    pub(super) shared: Arc<AgentShared>,
}

/// What all turns of an agent share.
#[derive(Clone)]
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
    pub(super) name: Option<String>,
    /// By what standing approvals know the agent.
    pub(super) identity: Option<Arc<str>>,
    pub(super) system: Text,
    pub(super) instructions: Vec<Instruction>,
    pub(super) observers: Arc<[Arc<dyn Observer>]>,
    pub(super) traced_content: TracedContent,
    /// The name of the process in leases.
    pub(super) process: Arc<str>,
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

    /// Requests a new turn: with the text of a user, a message, or several messages of which the last is the new one.
    pub fn turn(&self, messages: impl Into<TurnMessages>) -> Turn {
        let AgentShared { name, system, instructions, .. } = &*self.shared;
        let input =
            TurnInput::new(messages.into(), name.clone(), system.clone(), instructions.clone());
        Turn::of_input(self.clone(), input)
    }

    /// Requests the continuation of a turn that was interrupted, in this process or another one. Steps that were journaled
    /// are not taken again. A turn that has ended is reported again.
    ///
    /// ```
    /// use haft::Agent;
    /// use haft::executors::ScriptExecutor;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> haft::Result<()> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let agent = Agent::builder(script).build()?;
    /// let report = agent.turn("Hi").report().await?;
    /// assert_eq!(agent.resume(&report.turn).report().await?.to_string(), "Hello!");
    /// assert!(agent.resume("another").report().await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn resume(&self, id: impl AsRef<str>) -> Turn {
        Turn::of_stored(self.clone(), id.as_ref().to_owned())
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
        cancellation: &Cancellation,
    ) -> Result<Option<TurnReport>, TurnError> {
        Box::pin(driver::run_next_turn(&self.shared, filter, cancellation.child())).await
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
            .field("process", &self.shared.process)
            .field("store", &self.shared.store)
            .field("tools", &self.shared.tools.len())
            .finish_non_exhaustive()
    }
}
