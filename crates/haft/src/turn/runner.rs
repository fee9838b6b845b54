//! Building a runner, and what can be asked of it.

use haft_core::error::codes;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use haft_core::Tool;
use haft_core::cancel::Cancellation;
use haft_core::clock::{Clock, SystemClock};
use haft_core::context::{DispatchContext, ToolSource, TurnContext};
use haft_core::error::{Coded, ErrorCode};
use haft_core::event::Observer;
use haft_core::forge::Formats;
use haft_core::gate::GateKey;
use haft_core::pipeline::{Middleware, Pipeline, Stage};
use haft_core::record::{Loader, SpoolResolver};
use haft_core::registry::ToolRegistry;
use haft_core::spool::SpoolStore;
use haft_core::step::Executor;
use haft_core::store::{Store, StoreError, StoredTurn, TurnId, TurnQuery, TurnSummary};
use haft_core::tool::Spooler;

use super::gates::{Bells, Gatekeeper};
use super::lease::Leases;
use super::limits::{Deadlines, Limits};
use super::timed::TimedStore;
use super::{TurnError, TurnInput, TurnReport, live};
use crate::secret::random_secret;
use haft_stores::{MemorySpoolStore, MemoryStore};

/// Runs turns. Cheap to clone, and good for any number of turns, one after the other and side by side.
///
/// ```
/// use haft::clock::Timestamp;
/// use haft::record::Message;
/// use haft::step::{Step, StepContext, StepError};
/// use haft::turn::{TurnInput, TurnRunner};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runner = TurnRunner::builder(async |cx: StepContext| {
///     Ok::<_, StepError>(Step::done().say(cx.message("Hello!")?))
/// })
/// .build()?;
///
/// let input = TurnInput::new("You are polite.").message(Message::user("m", "Hi", Timestamp::EPOCH)?);
/// let report = runner.run(input).await?;
/// assert_eq!(report.text(), "Hello!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TurnRunner {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) executor: Arc<dyn Executor>,
    pub(super) store: Arc<TimedStore>,
    pub(super) spooler: Spooler,
    pub(super) loader: Loader,
    pub(super) tools: ToolRegistry,
    pub(super) formats: Formats,
    pub(super) turn_input: Pipeline<TurnContext>,
    pub(super) turn_output: Pipeline<TurnContext>,
    pub(super) dispatch_input: Pipeline<DispatchContext>,
    pub(super) dispatch_output: Pipeline<DispatchContext>,
    pub(super) tool_source: Option<Arc<dyn ToolSource>>,
    pub(super) limits: Limits,
    pub(super) deadlines: Deadlines,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) key: GateKey,
    pub(super) observers: Vec<Arc<dyn Observer>>,
    pub(super) name: Arc<str>,
    pub(super) leases: Arc<Leases>,
    pub(super) bells: Arc<Bells>,
}

impl TurnRunner {
    /// Starts a runner whose steps an executor takes. Everything else has a default: no tools, no
    /// middleware, records in memory, safe limits.
    pub fn builder(executor: impl Executor + 'static) -> TurnRunnerBuilder {
        TurnRunnerBuilder::new(Arc::new(executor))
    }

    /// Runs a turn to its end.
    ///
    /// Dropping the future stops it where it is: what was journaled stays, and
    /// [`resume`](Self::resume) goes on from there.
    ///
    /// # Errors
    ///
    /// The turn could not begin: its input was refused, its name is taken, or the store failed. Nothing
    /// was run then. Everything that happens later is told by the report. If the store failed then, the
    /// report has its error, and the turn is not over: it can be resumed.
    pub fn run(
        &self,
        input: TurnInput,
    ) -> impl Future<Output = Result<TurnReport, TurnError>> + Send + use<> {
        self.run_until(input, Cancellation::new())
    }

    /// Runs a turn to its end, or until it is cancelled.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_until(
        &self,
        input: TurnInput,
        cancellation: Cancellation,
    ) -> impl Future<Output = Result<TurnReport, TurnError>> + Send + use<> {
        live::begin(Arc::clone(&self.shared), input, cancellation)
    }

    /// Goes on with a turn that another process, or this one before, did not bring to its end. Steps that
    /// were journaled are not taken again. A turn that is over gives its report again.
    ///
    /// # Errors
    ///
    /// There is no such turn, somebody else runs it, or what is stored cannot be read.
    pub async fn resume(&self, turn: &TurnId) -> Result<TurnReport, TurnError> {
        self.resume_until(turn, Cancellation::new()).await
    }

    /// As [`resume`](Self::resume), until it is cancelled.
    ///
    /// # Errors
    ///
    /// As [`resume`](Self::resume).
    pub async fn resume_until(
        &self,
        turn: &TurnId,
        cancellation: Cancellation,
    ) -> Result<TurnReport, TurnError> {
        Box::pin(live::resume(&self.shared, turn, cancellation)).await
    }

    /// The turns that are kept, newest first.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn turns(&self, query: TurnQuery) -> Result<Vec<TurnSummary>, StoreError> {
        self.shared.store.turns(query).await
    }

    /// Everything that is kept of a turn; nothing if there is no such turn.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn inspect(&self, turn: &TurnId) -> Result<Option<StoredTurn>, StoreError> {
        self.shared.store.load(turn.clone()).await
    }

    /// Answers the gates of the turns.
    #[must_use]
    pub fn gates(&self) -> Gatekeeper {
        let Shared { store, key, clock, bells, .. } = &*self.shared;
        Gatekeeper::new(Arc::clone(store) as _, key.clone(), Arc::clone(clock))
            .ringing(Arc::clone(bells))
    }

    /// Removes stored content that no record names any more: what a crash left behind between storing a
    /// result and keeping its record, and what belonged to turns that were removed. Content of turns that
    /// are not over, and content that turns did not store, is not touched. Says how many were removed.
    ///
    /// # Errors
    ///
    /// The store or the spool failed.
    pub async fn collect_garbage(&self) -> Result<usize, TurnError> {
        super::garbage::collect(&self.shared).await
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

/// A runner in the making.
#[must_use = "a builder does nothing until `build` is called"]
pub struct TurnRunnerBuilder {
    executor: Arc<dyn Executor>,
    store: Option<Arc<dyn Store>>,
    spools: Option<(Arc<dyn SpoolStore>, Arc<dyn SpoolResolver>)>,
    inline_below: Option<usize>,
    loader: Loader,
    tools: Vec<Tool>,
    formats: Option<Formats>,
    turn_input: Pipeline<TurnContext>,
    turn_output: Pipeline<TurnContext>,
    dispatch_input: Pipeline<DispatchContext>,
    dispatch_output: Pipeline<DispatchContext>,
    tool_source: Option<Arc<dyn ToolSource>>,
    limits: Limits,
    deadlines: Deadlines,
    clock: Arc<dyn Clock>,
    secret: Option<[u8; 32]>,
    observers: Vec<Arc<dyn Observer>>,
    name: Option<String>,
}

/// A runner that cannot be built, with every reason.
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
    fn new(executor: Arc<dyn Executor>) -> Self {
        Self {
            executor,
            store: None,
            spools: None,
            inline_below: None,
            loader: Loader::new(),
            tools: Vec::new(),
            formats: None,
            turn_input: Pipeline::new(Stage::TurnInput),
            turn_output: Pipeline::new(Stage::TurnOutput),
            dispatch_input: Pipeline::new(Stage::DispatchInput),
            dispatch_output: Pipeline::new(Stage::DispatchOutput),
            tool_source: None,
            limits: Limits::new(),
            deadlines: Deadlines::new(),
            clock: Arc::new(SystemClock::new()),
            secret: None,
            observers: Vec::new(),
            name: None,
        }
    }

    /// Stores turns, their large results and the key for gates in a directory, so that another process can resume a
    /// turn and decide on its gates.
    #[cfg(feature = "sqlite")]
    pub fn dir(self, dir: &haft_stores::TurnDir) -> Self {
        let this = self.store(Arc::clone(dir.store()) as _).spools(Arc::clone(dir.spools()));
        this.secret(dir.secret())
    }

    /// Keeps turns in a store; in memory if not said.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Keeps large results in a spool store; in memory if not said.
    pub fn spools<S: SpoolStore + SpoolResolver + 'static>(mut self, spools: Arc<S>) -> Self {
        self.spools = Some((Arc::clone(&spools) as _, spools));
        self
    }

    /// Shows results of fewer than so many bytes in full; 4096 if not said.
    pub fn inline_below(mut self, bytes: usize) -> Self {
        self.inline_below = Some(bytes);
        self
    }

    /// Finds media that stored records refer to.
    pub fn loader(mut self, loader: Loader) -> Self {
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

    /// The formats of artifacts; [`standard_formats`](haft_artifacts::standard_formats) by default.
    pub fn formats(mut self, formats: Formats) -> Self {
        self.formats = Some(formats);
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

    /// Where [`TurnContext::fetch_tools`] finds tools. Nobody calls it by itself.
    pub fn fetch_tools(mut self, source: impl ToolSource + 'static) -> Self {
        self.tool_source = Some(Arc::new(source));
        self
    }

    /// How far a turn may go.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How long things may take.
    pub fn deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// The clock; the system's if not said.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The 32 random bytes with which answers to gates are signed. Without them they are drawn anew, and
    /// only this runner can check its gates.
    pub fn secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Adds somebody who sees every event of every turn.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Names the runner, in leases; host and process if not said.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Finishes the runner.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it: tools that share a name, limits and deadlines of zero.
    pub fn build(self) -> Result<TurnRunner, InvalidRunner> {
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
        let secret = self.secret.map_or_else(random_secret, Ok);
        if let Err(error) = &secret {
            faults.push(format!("there are no random bytes for the key of gates: {error}"));
        }
        let (Ok(tools), Ok(secret), true) = (tools, secret, faults.is_empty()) else {
            return Err(InvalidRunner { faults });
        };
        let formats = self.formats.unwrap_or_else(haft_artifacts::standard_formats);
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        let store = Arc::new(TimedStore::new(store, deadlines.store));
        let (spools, resolver) = self.spools.unwrap_or_else(|| {
            let spools = Arc::new(MemorySpoolStore::new());
            (Arc::clone(&spools) as _, spools)
        });
        let spooler = Spooler::new(spools);
        let spooler = match self.inline_below {
            Some(bytes) => spooler.inline_below(bytes),
            None => spooler,
        };
        let leases = Leases::new(Arc::clone(&store) as _, Arc::clone(&self.clock), deadlines.lease);
        let bells = Bells::new(Arc::clone(&store) as _, deadlines.gate_poll);
        let shared = Shared {
            executor: self.executor,
            store,
            spooler,
            loader: self.loader.spool(resolver),
            tools,
            formats,
            turn_input: self.turn_input,
            turn_output: self.turn_output,
            dispatch_input: self.dispatch_input,
            dispatch_output: self.dispatch_output,
            tool_source: self.tool_source,
            limits: self.limits,
            deadlines: self.deadlines,
            clock: self.clock,
            key: GateKey::from_bytes(secret),
            observers: self.observers,
            name: self.name.unwrap_or_else(|| format!("process {}", std::process::id())).into(),
            leases,
            bells,
        };
        Ok(TurnRunner { shared: Arc::new(shared) })
    }
}

impl fmt::Debug for TurnRunnerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnRunnerBuilder").field("tools", &self.tools).finish_non_exhaustive()
    }
}
