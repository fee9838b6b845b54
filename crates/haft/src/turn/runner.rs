//! The runner of turns, and its builder.

mod approval_options;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_core::Tool;
use haft_core::artifact::SpooledArtifact;
use haft_core::cancel::Cancellation;
use haft_core::clock::{Clock, SystemClock};
use haft_core::context::{DispatchContext, ToolSource, TurnContext, TurnSource};
use haft_core::error::{Coded, ErrorCode, codes};
use haft_core::event::Observer;
use haft_core::forge::{Formats, HandleSchema};
use haft_core::gate::{ApprovalLedger, GateKey, GrantStore};
use haft_core::media::Media;
use haft_core::pipeline::{Middleware, Pipeline, Stage};
use haft_core::record::{RecordLoader, SpoolResolver};
use haft_core::registry::ToolRegistry;
use haft_core::spool::SpoolStore;
use haft_core::step::{DispatchExecutor, ExecutorDescription, StepRequest};
use haft_core::store::{ClaimFilter, StoreError, TurnId, TurnStore};
use haft_core::tool::Spooler;
use haft_core::trust::EnvelopeSecret;
use sha2::{Digest as _, Sha256};

use super::cancel_signal::{CancelSignal, run_cancellable};
use super::earlier_turns::StoredHistory;
use super::gates::{Approver, GateNotifier, GatePolicy, Gatekeeper};
use super::lease::LeaseRenewer;
use super::limits::{Deadlines, Limits};
use super::machine::{TurnMachine, TurnRules};
use super::query_tools::overlay_baseline;
use super::rendering::RenderedRequest;
use super::timed::TimedStore;
use super::{TurnError, TurnInput, TurnReport, driver, rendering};
use crate::secret::random_secret;
use haft_stores::{MemorySpoolStore, MemoryStore};

/// Runs turns. Cheap to clone, and usable for any number of turns, one after the other and in parallel.
///
/// ```
/// use haft::executors::{Step, StepContext, StepError};
/// use haft::turn::{TurnInput, TurnRunner};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runner = TurnRunner::builder(async |ctx: StepContext| {
///     Ok::<_, StepError>(Step::done().say(ctx.message("Hello!")?))
/// })
/// .build()?;
///
/// let report = runner.run(TurnInput::new("You are polite.").user("Hi")).await?;
/// assert_eq!(report.text(), "Hello!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TurnRunner {
    pub(super) shared: Arc<RunnerShared>,
}

/// What all turns of a runner share.
pub(super) struct RunnerShared {
    pub(super) executor: Arc<dyn DispatchExecutor>,
    pub(super) allows_executor_change: bool,
    pub(super) store: Arc<TimedStore>,
    pub(super) spooler: Spooler,
    pub(super) loader: RecordLoader,
    pub(super) tools: ToolRegistry,
    pub(super) formats: Formats,
    pub(super) handles: HandleSchema,
    pub(super) turn_input: Pipeline<TurnContext>,
    pub(super) turn_output: Pipeline<TurnContext>,
    pub(super) dispatch_input: Pipeline<DispatchContext>,
    pub(super) dispatch_output: Pipeline<DispatchContext>,
    pub(super) tool_source: Option<Arc<dyn ToolSource>>,
    pub(super) source: Option<Arc<dyn TurnSource>>,
    pub(super) earlier_turns: Arc<StoredHistory>,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) gate_policy: GatePolicy,
    pub(super) limits: Limits,
    pub(super) deadlines: Deadlines,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) key: GateKey,
    pub(super) envelope_secret: Option<EnvelopeSecret>,
    pub(super) ledger: Option<Arc<dyn ApprovalLedger>>,
    pub(super) grants: Option<Arc<dyn GrantStore>>,
    pub(super) agent: Option<Arc<str>>,
    pub(super) observers: Vec<Arc<dyn Observer>>,
    pub(super) name: Arc<str>,
    pub(super) leases: Arc<LeaseRenewer>,
    /// The fingerprint of the secret, which all processes that share the store must have.
    pub(super) fingerprint: [u8; 32],
    /// Whether the store has accepted the fingerprint.
    pub(super) is_verified: AtomicBool,
    pub(super) gate_notifier: Arc<GateNotifier>,
}

impl RunnerShared {
    /// Compares the secret with that of the other processes, once, if the store is shared.
    pub(super) async fn verify_secret(&self) -> Result<(), StoreError> {
        if self.store.is_shared() && !self.is_verified.load(Ordering::Acquire) {
            self.store.verify_secret(self.fingerprint).await?;
            self.is_verified.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// The machine of a new turn.
    pub(super) fn new_machine(&self) -> TurnMachine {
        let has_output = !self.dispatch_output.is_empty() || !self.turn_output.is_empty();
        TurnMachine::new(TurnRules { limits: self.limits, has_output })
    }
}

impl TurnRunner {
    /// Starts a runner with an executor. Everything else has a default: no tools, no middleware, stores in memory, safe
    /// limits.
    pub fn builder(executor: impl DispatchExecutor + 'static) -> TurnRunnerBuilder {
        TurnRunnerBuilder::new(Arc::new(executor))
    }

    /// Runs a turn to its end.
    ///
    /// Dropping the future stops the turn where it is: what was journaled stays, and
    /// [`resume`](Self::resume) continues from there.
    ///
    /// # Errors
    ///
    /// The turn could not be created: its input was refused, its id is taken, or the store failed. Nothing was run
    /// then. Everything that happens later is in the report. If the store fails later, the report has its error, and
    /// the turn has not ended: it can be resumed.
    pub fn run(
        &self,
        input: TurnInput,
    ) -> impl Future<Output = Result<TurnReport, TurnError>> + Send + use<> {
        self.run_until(input, Cancellation::new())
    }

    /// Runs a turn to its end, or until it is cancelled: by a [`Cancellation`], or (feature `tokio-util`) by a
    /// `CancellationToken`.
    ///
    /// ```
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::turn::{Cancellation, TurnOutcome};
    /// use haft::{TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let executor = async |_: StepContext| Ok::<_, StepError>(Step::new());
    /// let runner = TurnRunner::builder(executor).build()?;
    /// let cancellation = Cancellation::new();
    /// cancellation.cancel("the user pressed stop");
    /// let report = runner.run_until(TurnInput::new("Never stop."), cancellation).await?;
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
        let turn = driver::create_turn(Arc::clone(&self.shared), input, cancellation.clone());
        run_cancellable(turn, watch, cancellation)
    }

    /// Resumes a turn that was interrupted, in this process or another one. Steps that were journaled are not taken
    /// again. A turn that has ended is reported again.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::{TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let runner = TurnRunner::builder(script).build()?;
    /// let report = runner.run(TurnInput::new("Be polite.")).await?;
    /// assert_eq!(runner.resume(&report.turn).await?.text(), "Hello!");
    /// assert!(runner.resume(&"another".parse()?).await.is_err());
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
    /// [`run_next`](Self::run_next), in the order of priorities and times. Turns of a conversation run one after the other.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::stores::ClaimFilter;
    /// use haft::turn::Cancellation;
    /// use haft::{TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let runner = TurnRunner::builder(script).build()?;
    /// let turn = runner.enqueue(TurnInput::new("Be polite.").user("Hi")).await?;
    /// let report = runner.run_next(ClaimFilter::default(), Cancellation::new()).await?;
    /// assert_eq!(report.map(|it| it.turn), Some(turn));
    /// assert!(runner.run_next(ClaimFilter::default(), Cancellation::new()).await?.is_none());
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

    /// Claims the next turn that can run ([`TurnStore::claim_next`]) and runs it to its end: a queued one, one whose
    /// process died, one whose gate was settled, one that was suspended and is due, or one that is to be cancelled. Returns
    /// nothing at once if there is none.
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

    /// Renders the request of a step of a stored turn again, from its records and through the same code that rendered it
    /// first, and says whether it is the one that was sent. The next step of a turn that has not ended can be rendered as
    /// well. Nothing is sent, and middleware does not run. Returns nothing if the executor sends no requests.
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

    /// Renders the first request of a turn without creating the turn. Nothing is sent or stored, and middleware does not
    /// run. Returns nothing if the executor sends no requests.
    ///
    /// ```
    /// use haft::providers::dialects::chat_completions::ChatCompletions;
    /// use haft::{Provider, TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = Provider::builder(ChatCompletions::new(), "gpt-5-mini").build()?;
    /// let runner = TurnRunner::builder(model).build()?;
    /// let request = runner.render_first_request(TurnInput::new("Be polite.")).await?;
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

    /// Opens an artifact of a stored turn by the handle that the model sees; nothing if the turn has no such artifact.
    ///
    /// # Errors
    ///
    /// There is no such turn, or a stored record cannot be read.
    pub async fn open_artifact(
        &self,
        turn: &TurnId,
        handle: &str,
    ) -> Result<Option<SpooledArtifact>, TurnError> {
        rendering::open_artifact(&self.shared, turn, handle).await
    }

    /// What takes the steps of its turns.
    ///
    /// ```
    /// use haft::TurnRunner;
    /// use haft::executors::ScriptExecutor;
    ///
    /// let script = ScriptExecutor::parse(r#"{"name": "greeting", "steps": [{"say": "Hello!"}]}"#)?;
    /// let runner = TurnRunner::builder(script).build()?;
    /// assert_eq!(runner.executor_description().to_string(), "script `greeting`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn executor_description(&self) -> ExecutorDescription {
        self.shared.executor.description()
    }

    /// Opens a medium of a stored turn by its name; nothing if the turn has no such medium.
    ///
    /// # Errors
    ///
    /// There is no such turn, or a stored record cannot be read.
    pub async fn open_media(&self, turn: &TurnId, name: &str) -> Result<Option<Media>, TurnError> {
        let all = rendering::list_media(&self.shared, turn).await?;
        Ok(all.into_iter().find(|media| media.id().is_some_and(|id| id.as_str() == name)))
    }

    /// Settles the gates of the turns.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::{Tool, TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    /// let script = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "{{ last.deploy }}"}]}"#;
    /// let runner = TurnRunner::builder(ScriptExecutor::parse(script)?)
    ///     .tool(deploy.handler(|| "done").build()?)
    ///     .build()?;
    /// let turn = tokio::spawn(runner.run(TurnInput::new("You deploy.")));
    /// let gate = loop {
    ///     match runner.gates().open_gates(None).await?.pop() {
    ///         Some(gate) => break gate,
    ///         None => tokio::task::yield_now().await,
    ///     }
    /// };
    /// runner.gates().resolve(&gate.id, true.into(), "Ada").await?;
    /// assert_eq!(turn.await??.text(), "done");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn gates(&self) -> Gatekeeper {
        let RunnerShared { store, key, clock, gate_notifier, grants, .. } = &*self.shared;
        let gates = Gatekeeper::new(Arc::clone(store) as _, key.clone(), Arc::clone(clock))
            .notifying(Arc::clone(gate_notifier));
        match grants {
            Some(grants) => gates.with_grants(Arc::clone(grants)),
            None => gates,
        }
    }
}

impl fmt::Debug for TurnRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnRunner")
            .field("name", &self.shared.name)
            .field("store", &self.shared.store)
            .field("tools", &self.shared.tools.len())
            .finish_non_exhaustive()
    }
}

/// Builds a [`TurnRunner`].
///
/// ```
/// use std::time::Duration;
/// use haft::executors::ScriptExecutor;
/// use haft::turn::{Deadlines, Limits};
/// use haft::{Tool, TurnRunner};
///
/// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
/// let roll = Tool::builder("roll").description("Rolls.").handler(|| "4").build()?;
/// let builder = TurnRunner::builder(script).tool(roll.clone()).name("worker-1");
/// let builder = builder.deadlines(Deadlines::new().step(Duration::from_secs(60)));
/// let refused = builder.tool(roll).limits(Limits::new().iterations(0)).build().unwrap_err();
/// assert_eq!(refused.faults.len(), 2, "two tools share a name, and no iteration is allowed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct TurnRunnerBuilder {
    executor: Arc<dyn DispatchExecutor>,
    allows_executor_change: bool,
    store: Option<Arc<dyn TurnStore>>,
    spools: Option<(Arc<dyn SpoolStore>, Arc<dyn SpoolResolver>)>,
    inline_below: Option<usize>,
    loader: RecordLoader,
    tools: Vec<Tool>,
    formats: Option<Formats>,
    handles: HandleSchema,
    turn_input: Pipeline<TurnContext>,
    turn_output: Pipeline<TurnContext>,
    dispatch_input: Pipeline<DispatchContext>,
    dispatch_output: Pipeline<DispatchContext>,
    tool_source: Option<Arc<dyn ToolSource>>,
    source: Option<Arc<dyn TurnSource>>,
    approver: Option<Arc<dyn Approver>>,
    gate_policy: GatePolicy,
    limits: Limits,
    deadlines: Deadlines,
    clock: Arc<dyn Clock>,
    secret: Option<[u8; 32]>,
    envelope_secret: Option<[u8; 32]>,
    ledger: Option<Arc<dyn ApprovalLedger>>,
    grants: Option<Arc<dyn GrantStore>>,
    agent: Option<Arc<str>>,
    observers: Vec<Arc<dyn Observer>>,
    name: Option<String>,
}

/// A runner cannot be built, for these reasons.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the runner was refused: {}", .faults.join("; "))]
#[non_exhaustive]
pub struct InvalidRunner {
    /// Everything that is wrong.
    pub faults: Vec<String>,
}

impl Coded for InvalidRunner {
    fn code(&self) -> ErrorCode {
        codes::INVALID_TURN_RUNNER_CONFIG
    }
}

impl TurnRunnerBuilder {
    fn new(executor: Arc<dyn DispatchExecutor>) -> Self {
        Self {
            executor,
            allows_executor_change: false,
            store: None,
            spools: None,
            inline_below: None,
            loader: RecordLoader::new(),
            tools: Vec::new(),
            formats: None,
            handles: HandleSchema::default(),
            turn_input: Pipeline::new(Stage::TurnInput),
            turn_output: Pipeline::new(Stage::TurnOutput),
            dispatch_input: Pipeline::new(Stage::DispatchInput),
            dispatch_output: Pipeline::new(Stage::DispatchOutput),
            tool_source: None,
            source: None,
            approver: None,
            gate_policy: GatePolicy::default(),
            limits: Limits::new(),
            deadlines: Deadlines::new(),
            clock: Arc::new(SystemClock::new()),
            secret: None,
            envelope_secret: None,
            ledger: None,
            grants: None,
            agent: None,
            observers: Vec::new(),
            name: None,
        }
    }

    /// Stores turns, their large results, the key for gates, the ledger of approvals, the standing approvals and the secret
    /// of envelopes in a directory, so that another process can resume a turn, settle its gates and render the same
    /// prompts.
    #[cfg(feature = "sqlite")]
    pub fn dir(self, dir: &haft_stores::TurnDir) -> Self {
        let this = self.store(Arc::clone(dir.store()) as _).spools(Arc::clone(dir.spools()));
        let this = this.secret(dir.secret()).approval_ledger(Arc::clone(dir.ledger()) as _);
        let this = this.grants(Arc::new(haft_stores::DirGrants::of_dir(dir)));
        match dir.envelope_secret() {
            Some(secret) => this.envelope_secret(secret),
            None => this,
        }
    }

    /// Uses stores that were opened by their addresses, with their secrets and their ledger.
    ///
    /// ```
    /// use haft::TurnRunner;
    /// use haft::executors::ScriptExecutor;
    /// use haft::stores::{OpenStores, StoreOptions};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let stores = OpenStores::open(&"memory:".parse()?, StoreOptions::default()).await?;
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let runner = TurnRunner::builder(script).stores(&stores).build()?;
    /// # let _ = runner;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "sqlite")]
    pub fn stores(self, stores: &haft_stores::OpenStores) -> Self {
        let this = self.store(Arc::clone(stores.turns())).spools(Arc::clone(stores.spools()));
        let mut this = this.secret(stores.secret());
        if let Some(ledger) = stores.ledger() {
            this = this.approval_ledger(Arc::clone(ledger));
        }
        match stores.envelope_secret() {
            Some(secret) => this.envelope_secret(secret),
            None => this,
        }
    }

    /// Lets this runner resume turns that another executor began: another model, other options, another address, or a
    /// script that was edited. By default such a turn is refused. The change is journaled.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::TurnRunner;
    ///
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let runner = TurnRunner::builder(script).allow_executor_change().build()?;
    /// # let _ = runner;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allow_executor_change(mut self) -> Self {
        self.allows_executor_change = true;
        self
    }

    /// The store of turns (default: in memory).
    pub fn store(mut self, store: Arc<dyn TurnStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// The store of large results (default: in memory).
    pub fn spools<S: SpoolStore + SpoolResolver + 'static>(mut self, spools: Arc<S>) -> Self {
        self.spools = Some((Arc::clone(&spools) as _, spools));
        self
    }

    /// Results of fewer bytes are shown in full (default: 4096).
    pub fn inline_below(mut self, bytes: usize) -> Self {
        self.inline_below = Some(bytes);
        self
    }

    /// Resolves media that stored records refer to.
    pub fn loader(mut self, loader: RecordLoader) -> Self {
        self.loader = loader;
        self
    }

    /// Adds a tool that every turn begins with.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds tools that every turn begins with.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// The formats of artifacts that can be queried (default: [`standard_formats`](haft_artifacts::standard_formats)).
    pub fn formats(mut self, formats: Formats) -> Self {
        self.formats = Some(formats);
        self
    }

    /// How the tools that query artifacts name them (default: [`HandleSchema::Pattern`], so that the tools of a turn stay
    /// the same when artifacts appear).
    pub fn handles(mut self, handles: HandleSchema) -> Self {
        self.handles = handles;
        self
    }

    /// Adds middleware that runs once, before the dispatch.
    pub fn turn_input(
        mut self,
        name: &str,
        middleware: impl Middleware<TurnContext> + 'static,
    ) -> Self {
        self.turn_input = self.turn_input.with(name, middleware);
        self
    }

    /// Adds middleware that runs once, after a dispatch that was acknowledged.
    pub fn turn_output(
        mut self,
        name: &str,
        middleware: impl Middleware<TurnContext> + 'static,
    ) -> Self {
        self.turn_output = self.turn_output.with(name, middleware);
        self
    }

    /// Adds middleware that runs in every iteration, before the executor.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::middleware::Next;
    /// use haft::turn::DispatchContext;
    /// use haft::{TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let refuse = async |_: DispatchContext, next: Next<DispatchContext>| {
    ///     next.nack("not today")?;
    ///     next.run().await
    /// };
    /// let runner = TurnRunner::builder(script).dispatch_input("refuse", refuse).build()?;
    /// let report = runner.run(TurnInput::new("Be polite.")).await?;
    /// assert!(report.error.is_some_and(|error| error.message.contains("not today")));
    /// # Ok(())
    /// # }
    /// ```
    pub fn dispatch_input(
        mut self,
        name: &str,
        middleware: impl Middleware<DispatchContext> + 'static,
    ) -> Self {
        self.dispatch_input = self.dispatch_input.with(name, middleware);
        self
    }

    /// Adds middleware that runs in every iteration, after the calls of the step.
    pub fn dispatch_output(
        mut self,
        name: &str,
        middleware: impl Middleware<DispatchContext> + 'static,
    ) -> Self {
        self.dispatch_output = self.dispatch_output.with(name, middleware);
        self
    }

    /// Where [`TurnContext::fetch_tools`] finds tools. The runner itself never calls it.
    pub fn fetch_tools(mut self, source: impl ToolSource + 'static) -> Self {
        self.tool_source = Some(Arc::new(source));
        self
    }

    /// What the `fetch_…` methods of [`TurnContext`] ask: messages, memories, retrieved records, thoughts, tool calls,
    /// tools and standing instructions that the application keeps itself. The runner itself never calls it; see
    /// [`hydrate_from_source`](crate::middleware::hydrate_from_source).
    pub fn source(mut self, source: impl TurnSource + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Decides the gates of the turns in this program: calls that require approval, and questions of handlers and
    /// middleware. See [`Approver`] for what it returns. Its decisions are signed in the name `approver`.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::turn::Gate;
    /// use haft::{Tool, TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), haft::Error> {
    /// let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    /// let script = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "{{ last.deploy }}"}]}"#;
    /// let runner = TurnRunner::builder(ScriptExecutor::parse(script)?)
    ///     .tool(deploy.handler(|| "done").build()?)
    ///     .approver(async |_: Gate| false)
    ///     .build()?;
    /// let report = runner.run(TurnInput::new("You deploy.").user("Go!")).await?;
    /// assert_eq!(report.text(), "the call of `deploy` was not allowed: it was not approved");
    /// # Ok(())
    /// # }
    /// ```
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// What happens at a gate that the approver does not decide (default: the runner waits).
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::turn::{GatePolicy, TurnOutcome};
    /// use haft::{Tool, TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), haft::Error> {
    /// let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    /// let script = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "{{ last.deploy }}"}]}"#;
    /// let runner = TurnRunner::builder(ScriptExecutor::parse(script)?)
    ///     .tool(deploy.handler(|| "done").build()?)
    ///     .gate_policy(GatePolicy::Suspend)
    ///     .build()?;
    /// let report = runner.run(TurnInput::new("You deploy.").user("Go!")).await?;
    /// let TurnOutcome::Waiting { gates } = &report.outcome else { panic!("{report:?}") };
    /// runner.gates().resolve(&gates[0], true.into(), "Ada").await?;
    /// assert_eq!(runner.resume(&report.turn).await?.text(), "done");
    /// # Ok(())
    /// # }
    /// ```
    pub fn gate_policy(mut self, policy: GatePolicy) -> Self {
        self.gate_policy = policy;
        self
    }

    /// The limits of a turn.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The deadlines within a turn.
    pub fn deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// The clock (default: that of the system).
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The 32 random bytes with which the settlements of gates are signed (default: new ones, so that only this runner
    /// can verify its gates). A store that is shared with other machines needs them, and refuses processes with other ones.
    pub fn secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = Some(secret);
        self
    }

    /// The 32 random bytes from which the names of envelopes in prompts are derived (default: the executor draws its own).
    /// Store them and give the same ones to every process: then later turns of a conversation and resumed turns are
    /// rendered to the same bytes, and the prompt cache of the provider matches. They are no key of gates.
    ///
    /// ```
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::{TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let executor = async |ctx: StepContext| {
    ///     assert!(ctx.dispatch().turn().envelope_key().is_some());
    ///     Ok::<_, StepError>(Step::done())
    /// };
    /// let runner = TurnRunner::builder(executor).envelope_secret([7; 32]).build()?;
    /// assert!(runner.run(TurnInput::new("Be brief.")).await?.error.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn envelope_secret(mut self, secret: [u8; 32]) -> Self {
        self.envelope_secret = Some(secret);
        self
    }

    /// Adds an observer of every event of every turn.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// The name of the runner in leases (default: the number of the process).
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Builds the runner.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it: tools that share a name, limits and deadlines of zero.
    pub fn build(self) -> Result<TurnRunner, InvalidRunner> {
        // A hook that the program has set before stays.
        let _ = haft_core::invariant::set_hook(log_broken_invariant);
        let mut faults = Vec::new();
        let tools = ToolRegistry::with_tools(self.tools);
        if let Err(error) = &tools {
            faults.push(error.to_string());
        }
        if self.limits.iterations == 0 {
            faults.push("a turn needs at least one iteration".to_owned());
        }
        let deadlines = &self.deadlines;
        let times = [
            ("step", deadlines.step),
            ("call", deadlines.call),
            ("pipeline", deadlines.pipeline),
            ("store", deadlines.store),
            ("lease", deadlines.lease),
            ("gate_poll", deadlines.gate_poll),
        ];
        for (what, _) in times.iter().filter(|(_, time)| time.is_zero()) {
            faults.push(format!("the deadline `{what}` is zero"));
        }
        let formats = self.formats.unwrap_or_else(haft_artifacts::standard_formats);
        if let (Ok(tools), HandleSchema::Pattern) = (&tools, self.handles)
            && let Err(error) = overlay_baseline(tools, &formats)
        {
            faults.push(error.to_string());
        }
        if self.secret.is_none() && self.store.as_ref().is_some_and(|it| it.is_shared()) {
            faults.push(
                "the store is shared with other machines, and there is no secret: give all processes the same one"
                    .to_owned(),
            );
        }
        let secret = self.secret.map_or_else(random_secret, Ok);
        if let Err(error) = &secret {
            faults.push(format!("there are no random bytes for the key of gates: {error}"));
        }
        let (Ok(tools), Ok(secret), true) = (tools, secret, faults.is_empty()) else {
            return Err(InvalidRunner { faults });
        };
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        let store = Arc::new(TimedStore::new(store, deadlines.store));
        let (spools, resolver) = self.spools.unwrap_or_else(|| {
            let spools = Arc::new(MemorySpoolStore::new());
            (Arc::clone(&spools) as _, spools)
        });
        let spooler = Spooler::new(spools).query_budget(formats.answer_budget());
        let spooler = match self.inline_below {
            Some(bytes) => spooler.inline_below(bytes),
            None => spooler,
        };
        let leases = LeaseRenewer::new(Arc::clone(&store) as _, deadlines.lease);
        let gate_notifier = GateNotifier::new(Arc::clone(&store) as _, deadlines.gate_poll);
        let loader = self.loader.spool(resolver);
        let earlier_turns = Arc::new(StoredHistory::new(Arc::clone(&store), loader.clone()));
        let shared = RunnerShared {
            executor: self.executor,
            allows_executor_change: self.allows_executor_change,
            store,
            spooler,
            loader,
            tools,
            formats,
            handles: self.handles,
            turn_input: self.turn_input,
            turn_output: self.turn_output,
            dispatch_input: self.dispatch_input,
            dispatch_output: self.dispatch_output,
            tool_source: self.tool_source,
            source: self.source,
            earlier_turns,
            approver: self.approver,
            gate_policy: self.gate_policy,
            limits: self.limits,
            deadlines: self.deadlines,
            clock: self.clock,
            key: GateKey::from_bytes(secret),
            envelope_secret: self.envelope_secret.map(EnvelopeSecret::from_bytes),
            ledger: self.ledger,
            grants: self.grants,
            agent: self.agent,
            observers: self.observers,
            name: self.name.unwrap_or_else(|| format!("process {}", std::process::id())).into(),
            leases,
            fingerprint: secret_fingerprint(&secret),
            is_verified: AtomicBool::new(false),
            gate_notifier,
        };
        Ok(TurnRunner { shared: Arc::new(shared) })
    }
}

impl fmt::Debug for TurnRunnerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnRunnerBuilder").field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// A hash of the secret that says nothing about it.
fn secret_fingerprint(secret: &[u8; 32]) -> [u8; 32] {
    let hash = Sha256::new_with_prefix(b"haft fingerprint of the secret of gates\n");
    hash.chain_update(secret).finalize().into()
}

fn log_broken_invariant(broken: &haft_core::invariant::BrokenInvariant) {
    tracing::error!(
        invariant = broken.invariant,
        location = %broken.location,
        "an invariant of Haft does not hold; please report it"
    );
}
