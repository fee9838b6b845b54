//! The stored turns of a store: what can be done with them without running one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::clock::{Clock, SystemClock};
use haft_core::context::{DispatchContext, DispatchContextBuilder};
use haft_core::gate::{ApprovalStore, GateKey};
use haft_core::media::ReaderResolvers;
use haft_core::spool::SpoolStore;
use haft_core::step::{DispatchExecutor, ExecutorDescription, Step, StepContext, StepError};
use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, JournalRow, StoreError, StoredTurn, TurnId,
    TurnQuery, TurnStore as _, TurnStoreExt as _, TurnSummary,
};
use haft_tools::readers::StoredReader;

use super::agent::AgentBuilder;
use super::gates::{GateNotifier, Gatekeeper};
use super::seed::TurnSeed;
use super::timed::TimedStore;
use super::{Deadlines, TurnError, TurnReport, driver};

/// The turns of a store, for programs that show, decide, cancel or remove them. Running them needs a [`Agent`](crate::Agent).
/// Cheap to clone.
///
/// An agent gives those of its stores ([`Agent::stored_turns`](crate::Agent::stored_turns)); a program without one opens its stores
/// ([`of_stores`](Self::of_stores)).
///
/// ```
/// use haft::executors::ScriptExecutor;
/// use haft::stores::TurnQuery;
/// use haft::Agent;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
/// let agent = Agent::builder(script).build()?;
/// let turn = agent.turn("Hi").system("Be polite.").report().await?.turn;
///
/// let turns = agent.stored_turns();
/// assert_eq!(turns.list_turns(TurnQuery::default()).await?.len(), 1);
/// assert_eq!(turns.load_report(&turn).await?.map(|it| it.text().to_owned()).as_deref(), Some("Hello!"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct StoredTurns {
    pub(super) stores: Arc<TurnStores>,
}

/// The stores in which turns are, with the key of their gates.
pub(super) struct TurnStores {
    pub(super) store: Arc<TimedStore>,
    pub(super) spools: Arc<dyn SpoolStore>,
    pub(super) readers: ReaderResolvers,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) key: GateKey,
    pub(super) approvals: Option<Arc<dyn ApprovalStore>>,
    pub(super) gate_notifier: Arc<GateNotifier>,
}

impl TurnStores {
    /// Starts the context of a turn: its ids, its system prompt and its stash.
    pub(super) fn context_builder(&self, seed: &TurnSeed) -> DispatchContextBuilder {
        let builder = DispatchContext::builder(&seed.id)
            .dispatch([seed.id.as_str(), "/dispatch"].concat())
            .clock(Arc::clone(&self.clock))
            .system_prompt(seed.system_prompt.clone())
            .stash(seed.stash.clone());
        match seed.conversation.as_deref() {
            Some(conversation) => builder.conversation(conversation),
            None => builder,
        }
    }
}

impl StoredTurns {
    /// The turns in stores that were opened by their addresses.
    ///
    /// ```
    /// use haft::stores::{OpenStores, StoreOptions, TurnQuery};
    /// use haft::turn::StoredTurns;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let stores = OpenStores::open(&"memory:".parse()?, StoreOptions::default()).await?;
    /// assert!(StoredTurns::of_stores(&stores).list_turns(TurnQuery::default()).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn of_stores(stores: &haft_stores::OpenStores) -> Self {
        let deadlines = Deadlines::new();
        let store = Arc::new(TimedStore::new(Arc::clone(stores.turns()), deadlines.store));
        let secret = stores.secret();
        Self {
            stores: Arc::new(TurnStores {
                gate_notifier: GateNotifier::new(Arc::clone(&store) as _, deadlines.gate_poll),
                store,
                spools: Arc::clone(stores.spools()),
                readers: stored_readers(ReaderResolvers::default(), stores.spools()),
                clock: Arc::new(SystemClock::new()),
                key: GateKey::from_bytes(secret),
                approvals: stores.approvals().cloned(),
            }),
        }
    }

    /// Lists the stored turns, newest first.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::stores::TurnQuery;
    /// use haft::Agent;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let agent = Agent::builder(script).build()?;
    /// agent.turn([]).system("Be polite.").conversation("support-7").report().await?;
    /// assert_eq!(agent.stored_turns().list_turns(TurnQuery::default().conversation("support-7")).await?.len(), 1);
    /// assert!(agent.stored_turns().list_turns(TurnQuery::default().unfinished()).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn list_turns(&self, query: TurnQuery) -> Result<Vec<TurnSummary>, StoreError> {
        self.stores.store.turns(query).await
    }

    /// Loads everything that is stored of a turn. Returns `None` if there is no such turn.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn load_turn(&self, turn: &TurnId) -> Result<Option<StoredTurn>, StoreError> {
        self.stores.store.load(turn.clone()).await
    }

    /// Loads the summary of a turn that lists show. Returns `None` if there is no such turn.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn load_summary(&self, turn: &TurnId) -> Result<Option<TurnSummary>, StoreError> {
        self.stores.store.summary(turn.clone()).await
    }

    /// Reads the journal entries of a turn after a number, at most `limit` of them. Number 0 is before the first entry.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::Agent;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let agent = Agent::builder(script).build()?;
    /// let turn = agent.turn([]).system("Be polite.").report().await?.turn;
    /// let entries = agent.stored_turns().read_journal(&turn, 0, 100).await?;
    /// let last = entries.last().ok_or("no entry")?.number;
    /// assert!(agent.stored_turns().read_journal(&turn, last, 100).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn read_journal(
        &self,
        turn: &TurnId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JournalRow>, StoreError> {
        self.stores.store.read_journal(turn.clone(), after, limit).await
    }

    /// Loads the titles of conversations of a namespace; those without a title are left out. The default namespace is
    /// empty.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn load_titles(
        &self,
        tenant: &str,
        conversations: Vec<String>,
    ) -> Result<BTreeMap<String, String>, StoreError> {
        self.stores.store.titles(tenant.to_owned(), conversations).await
    }

    /// Listens to changes of stored turns, by this and by other processes, from now on.
    #[must_use]
    pub fn listen(&self) -> Box<dyn ChangeListener> {
        self.stores.store.listen()
    }

    /// Asks for the end of a turn, whichever process runs it: that process sees the request when it renews its lease,
    /// and otherwise the next one that claims the turn.
    ///
    /// # Errors
    ///
    /// There is no such turn, or the store failed.
    pub async fn request_cancel(
        &self,
        turn: &TurnId,
        request: CancelRequest,
    ) -> Result<CancelOutcome, StoreError> {
        self.stores.store.request_cancel(turn.clone(), request).await
    }

    /// Cancels a turn that no process runs: ends its calls, closes its gates and stores the reason. No step is taken,
    /// so that any program can do it that has the stores. A turn that has ended is reported as it is.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::turn::{GatePolicy, TurnOutcome};
    /// use haft::{Agent, Tool};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    /// let script = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "Deployed."}]}"#;
    /// let agent = Agent::builder(ScriptExecutor::parse(script)?)
    ///     .tool(deploy.handler(|| "done").build()?)
    ///     .gate_policy(GatePolicy::Suspend)
    ///     .build()?;
    /// let waiting = agent.turn([]).system("You deploy.").report().await?;
    /// let cancelled = agent.stored_turns().cancel_turn(&waiting.turn, "not needed any more").await?;
    /// assert!(matches!(cancelled.outcome, TurnOutcome::Cancelled { .. }));
    /// assert!(agent.stored_turns().gates().open_gates(None).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such turn, a process runs it ([`StoreError::Held`]), or a stored record cannot be read.
    pub async fn cancel_turn(
        &self,
        turn: &TurnId,
        reason: impl Into<CancelReason>,
    ) -> Result<TurnReport, TurnError> {
        let cancellation = Cancellation::new();
        cancellation.cancel(reason);
        let agent = AgentBuilder::new(Arc::new(NoSteps)).build_idle(self.clone());
        Box::pin(driver::resume_turn(&agent.shared, turn, cancellation)).await
    }

    /// Loads the report of a turn that has ended. Returns `None` if there is no such turn, or if it has not ended.
    ///
    /// # Errors
    ///
    /// The store failed, or a stored record cannot be read.
    pub async fn load_report(&self, turn: &TurnId) -> Result<Option<TurnReport>, TurnError> {
        driver::load_report(&self.stores, turn).await
    }

    /// Settles the gates of the turns.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::{Agent, Tool};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    /// let script = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "{{ last.deploy }}"}]}"#;
    /// let agent = Agent::builder(ScriptExecutor::parse(script)?)
    ///     .tool(deploy.handler(|| "done").build()?)
    ///     .build()?;
    /// let turn = tokio::spawn(agent.turn([]).system("You deploy.").report());
    /// let gates = agent.stored_turns().gates();
    /// let gate = loop {
    ///     match gates.open_gates(None).await?.pop() {
    ///         Some(gate) => break gate,
    ///         None => tokio::task::yield_now().await,
    ///     }
    /// };
    /// gates.resolve(&gate.id, true.into(), "Ada").await?;
    /// assert_eq!(turn.await??.text(), "done");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn gates(&self) -> Gatekeeper {
        let TurnStores { store, key, clock, gate_notifier, approvals, .. } = &*self.stores;
        let gates = Gatekeeper::new(Arc::clone(store) as _, key.clone(), Arc::clone(clock))
            .notifying(Arc::clone(gate_notifier));
        match approvals {
            Some(approvals) => gates.with_approvals(Arc::clone(approvals)),
            None => gates,
        }
    }
}

impl fmt::Debug for StoredTurns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredTurns").field("store", &self.stores.store).finish_non_exhaustive()
    }
}

/// Takes no step. A turn that is cancelled needs none, and nothing else is run with it.
struct NoSteps;

impl DispatchExecutor for NoSteps {
    fn step(&self, _: StepContext) -> BoxFuture<'_, Result<Step, StepError>> {
        Box::pin(async { Err(StepError::new("no turn runs here")) })
    }

    fn description(&self) -> ExecutorDescription {
        ExecutorDescription::default()
    }
}

/// The readers of a program, and those of what the store of large results has.
pub(super) fn stored_readers(
    readers: ReaderResolvers,
    spools: &Arc<dyn SpoolStore>,
) -> ReaderResolvers {
    let stored = StoredReader::resolver(Arc::clone(spools));
    readers.with(StoredReader::TAG, stored).with_spools(Arc::clone(spools))
}
