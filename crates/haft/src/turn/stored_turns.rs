//! Listing, loading and cancelling stored turns.

use std::collections::BTreeMap;

use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::context::DispatchContext;
use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, JournalRow, NumberedRow, StoreError, StoredTurn,
    TurnId, TurnOutline, TurnQuery, TurnStore as _, TurnSummary,
};

use super::history::TurnHistory;
use super::runner::TurnRunner;
use super::{TurnError, TurnReport, rendering};

impl TurnRunner {
    /// Lists the stored turns, newest first.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::stores::TurnQuery;
    /// use haft::{TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let runner = TurnRunner::builder(script).build()?;
    /// runner.run(TurnInput::new("Be polite.").conversation("support-7")).await?;
    /// assert_eq!(runner.list_turns(TurnQuery::default().conversation("support-7")).await?.len(), 1);
    /// assert!(runner.list_turns(TurnQuery::default().unfinished()).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn list_turns(&self, query: TurnQuery) -> Result<Vec<TurnSummary>, StoreError> {
        self.shared.store.turns(query).await
    }

    /// Loads everything that is stored of a turn. Returns `None` if there is no such turn.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn load_turn(&self, turn: &TurnId) -> Result<Option<StoredTurn>, StoreError> {
        self.shared.store.load(turn.clone()).await
    }

    /// Loads the summary of a turn that lists show. Returns `None` if there is no such turn.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn load_summary(&self, turn: &TurnId) -> Result<Option<TurnSummary>, StoreError> {
        self.shared.store.summary(turn.clone()).await
    }

    /// Reads the journal entries of a turn after a number, at most `limit` of them. Number 0 is before the first entry.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::{TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let runner = TurnRunner::builder(script).build()?;
    /// let turn = runner.run(TurnInput::new("Be polite.")).await?.turn;
    /// let entries = runner.read_journal(&turn, 0, 100).await?;
    /// let last = entries.last().ok_or("no entry")?.number;
    /// assert!(runner.read_journal(&turn, last, 100).await?.is_empty());
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
        self.shared.store.read_journal(turn.clone(), after, limit).await
    }

    /// Reads what a stored turn consists of, without its texts. Returns `None` if there is no such turn.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::{TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let runner = TurnRunner::builder(script).build()?;
    /// let turn = runner.run(TurnInput::new("Be polite.").user("Hi")).await?.turn;
    /// let outline = runner.read_outline(&turn).await?.ok_or("no turn")?;
    /// let first = outline.rows.first().ok_or("no row")?;
    /// let window = runner.read_rows(&turn, first.number, 10).await?;
    /// assert_eq!(window.len(), outline.rows.len() - 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn read_outline(&self, turn: &TurnId) -> Result<Option<TurnOutline>, StoreError> {
        self.shared.store.outline(turn.clone()).await
    }

    /// Reads the rows of a turn after a number of its outline, at most `limit` of them. Number 0 is before the first
    /// row.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn read_rows(
        &self,
        turn: &TurnId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<NumberedRow>, StoreError> {
        self.shared.store.read_rows(turn.clone(), after, limit).await
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
        self.shared.store.titles(tenant.to_owned(), conversations).await
    }

    /// Listens to changes of stored turns, by this and by other processes, from now on.
    #[must_use]
    pub fn listen(&self) -> Box<dyn ChangeListener> {
        self.shared.store.listen()
    }

    /// Loads the steps of a stored turn, and a context with its records, whose artifacts are opened.
    pub(crate) async fn load_records(
        &self,
        turn: &TurnId,
    ) -> Result<(TurnHistory, DispatchContext), TurnError> {
        rendering::load_records(&self.shared, turn).await
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
        self.shared.store.request_cancel(turn.clone(), request).await
    }

    /// Cancels a turn that no process runs: ends its calls, closes its gates and stores the reason. No step is taken,
    /// so that the runner can have another executor than the turn. A turn that has ended is reported as it is.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::turn::{GatePolicy, TurnOutcome};
    /// use haft::{Tool, TurnInput, TurnRunner};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    /// let script = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "Deployed."}]}"#;
    /// let runner = TurnRunner::builder(ScriptExecutor::parse(script)?)
    ///     .tool(deploy.handler(|| "done").build()?)
    ///     .gate_policy(GatePolicy::Suspend)
    ///     .build()?;
    /// let waiting = runner.run(TurnInput::new("You deploy.")).await?;
    /// let cancelled = runner.cancel_turn(&waiting.turn, "not needed any more").await?;
    /// assert!(matches!(cancelled.outcome, TurnOutcome::Cancelled { .. }));
    /// assert!(runner.gates().open_gates(None).await?.is_empty());
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
        self.resume_until(turn, cancellation).await
    }
}
