//! Opening a stored turn with its records, and rendering its requests again.

use std::collections::HashSet;
use std::sync::Arc;

use haft_core::artifact::SpooledArtifact;
use haft_core::call::{RecordId, ToolResults};
use haft_core::context::{DispatchContext, RecordError};
use haft_core::event::ErrorReport;
use haft_core::media::Media;
use haft_core::record::Memory;
use haft_core::step::{StepContext, StepRequest};
use haft_core::store::{MemoryScope, Row, RowKind, StoredTurn, TurnId};
use haft_core::tool::{OfferPoint, Spooler};
use haft_stores::MemorySpoolStore;

use super::agent::AgentShared;
use super::driver::{PreparedTurn, load_turn, prepare_turn, restore_history, restore_records};
use super::history::{SentRequest, StepHistory, TurnHistory};
use super::input::TurnInput;
use super::log::{StoredLog, TurnLog};
use super::query_tools::QueryTools;
use super::seed::TurnSeed;
use super::{StoredTurns, TurnError};

/// A request that was rendered from the records of a stored turn.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RenderedRequest {
    /// The iteration, counted from zero.
    pub iteration: u32,
    /// The request.
    pub request: StepRequest,
    /// The request that was sent, or `None` if the step has not been taken, or an earlier version took it.
    pub sent: Option<SentRequest>,
    /// Whether the tools that are offered now are those of the request that was sent, if that is known.
    pub has_same_tools: Option<bool>,
}

impl RenderedRequest {
    /// Whether it is byte by byte the request that was sent, or `None` if that is not known.
    #[must_use]
    pub fn is_identical(&self) -> Option<bool> {
        self.sent.as_ref().map(|sent| sent.sha256 == self.request.sha256())
    }
}

/// An artifact of a stored turn.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TurnArtifact {
    /// The name by which the model queries it.
    pub handle: String,
    /// The call that returned it, or `None` for a retrieved record.
    pub call: Option<RecordId>,
    /// The artifact.
    pub artifact: SpooledArtifact,
}

impl StoredTurns {
    /// Lists the artifacts of a stored turn with the handles that open them, in the order of their calls. Those of the
    /// earlier turns that it shows are among them.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::{Agent, Tool};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let log = Tool::builder("get_log").description("Gets.").handler(|| "line\n".repeat(5000)).build()?;
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"call": {"get_log": {}}}, {"say": "Done."}]}"#)?;
    /// let agent = Agent::builder(script).tool(log).build()?;
    /// let turn = agent.turn([]).system("Look.").report().await?.turn;
    /// let turns = agent.stored_turns();
    /// let all = turns.list_artifacts(&turn).await?;
    /// assert_eq!((all.len(), all[0].artifact.reader().byte_length()), (1, 25_000));
    /// assert!(turns.open_artifact(&turn, &all[0].handle).await?.is_some());
    /// assert!(turns.list_media(&turn).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such turn, or a stored record cannot be read.
    pub async fn list_artifacts(&self, turn: &TurnId) -> Result<Vec<TurnArtifact>, TurnError> {
        let ctx = self.open_turn(turn).await?.ctx;
        let all = ctx.artifacts().all().into_iter().map(|(handle, artifact)| {
            let call = ctx.artifacts().call_of(&handle);
            TurnArtifact { handle, call, artifact }
        });
        Ok(all.collect())
    }

    /// Lists the media of a stored turn: those that its calls returned, and those of its messages.
    ///
    /// # Errors
    ///
    /// There is no such turn, or a stored record cannot be read.
    pub async fn list_media(&self, turn: &TurnId) -> Result<Vec<Media>, TurnError> {
        let ctx = self.open_turn(turn).await?.ctx;
        let calls = ctx.turn().tool_calls().all();
        let of_calls = calls.iter().flat_map(|call| match &call.results {
            Some(ToolResults::Media(all)) => all.as_slice(),
            _ => &[],
        });
        let messages = ctx.turn().messages().all();
        let all = of_calls.chain(messages.iter().flat_map(|message| message.attachments()));
        Ok(all.filter(|media| media.id().is_some()).cloned().collect())
    }

    /// Opens an artifact of a stored turn by the handle that the model sees. Returns `None` if the turn has no such
    /// artifact.
    ///
    /// # Errors
    ///
    /// There is no such turn, or a stored record cannot be read.
    pub async fn open_artifact(
        &self,
        turn: &TurnId,
        handle: &str,
    ) -> Result<Option<SpooledArtifact>, TurnError> {
        Ok(self.open_turn(turn).await?.ctx.artifacts().get(handle))
    }

    /// Opens a media item of a stored turn by its name. Returns `None` if the turn has no such item.
    ///
    /// # Errors
    ///
    /// There is no such turn, or a stored record cannot be read.
    pub async fn open_media(&self, turn: &TurnId, name: &str) -> Result<Option<Media>, TurnError> {
        let all = self.list_media(turn).await?;
        Ok(all.into_iter().find(|media| media.id().is_some_and(|id| id.as_str() == name)))
    }

    /// Loads a turn with everything that it has. Changes to its context are not stored.
    pub(crate) async fn open_turn(&self, id: &TurnId) -> Result<OpenedTurn, TurnError> {
        let (stored, mut read) = load_turn(&self.stores, id).await?;
        let history = TurnHistory::take_from(&mut read);
        let log = read.log.clone();
        let seed = TurnSeed::of_stored(&stored, read)?;
        let ctx = self.stores.context_builder(&seed).build();
        restore_history(ctx.turn(), &self.stores, seed.hydrations).await?;
        restore_records(ctx.turn(), &self.stores.readers, &stored.rows, |_| ()).await?;
        Ok(OpenedTurn { stored, history, log, ctx })
    }
}

/// A stored turn with its records so far.
pub(crate) struct OpenedTurn {
    pub(super) stored: StoredTurn,
    pub(crate) history: TurnHistory,
    pub(super) log: TurnLog,
    pub(crate) ctx: DispatchContext,
}

/// The rows that were stored before a step: all of them for the next step.
fn rows_before_step<'s>(
    stored: &'s StoredTurn,
    history: &TurnHistory,
    iteration: u32,
) -> &'s [Row] {
    let later = history.steps.iter().skip_while(|step| step.iteration != iteration);
    let later: HashSet<(RowKind, String)> = later.flat_map(StepHistory::records).collect();
    let is_later = |row: &Row| later.contains(&(row.kind, row.id.clone()));
    let end = stored.rows.iter().position(is_later).unwrap_or(stored.rows.len());
    stored.rows.split_at(end).0
}

/// Renders the request of an iteration of a stored turn.
pub(super) async fn render_stored_request(
    agent: &AgentShared,
    id: &TurnId,
    iteration: u32,
) -> Result<Option<RenderedRequest>, TurnError> {
    let (stored, mut read) = load_turn(agent, id).await?;
    let history = TurnHistory::take_from(&mut read);
    let has_ended = read.log.end().is_some();
    let mut seed = TurnSeed::of_stored(&stored, read)?;
    let step = history.steps.iter().find(|step| step.iteration == iteration);
    let steps = history.steps.len();
    if step.is_none() && (has_ended || usize::try_from(iteration) != Ok(steps)) {
        let number = iteration.saturating_add(1);
        let reason = format!("the turn has {steps} steps, and this is number {number}");
        return Err(TurnError::invalid("step", reason));
    }
    if let Some(step) = step {
        let (before, _) = stored.journal.split_at(step.place.min(stored.journal.len()));
        seed.stash = TurnSeed::of_stored(&stored, StoredLog::read(id, before)?)?.stash;
    }
    let memories = load_other_memories(agent, &stored, seed.memory_scope.clone()).await?;
    let rows = rows_before_step(&stored, &history, iteration);
    let ctx = build_context(agent, seed, memories, rows).await?;
    let Some(request) = render_iteration(agent, &ctx, iteration).await? else { return Ok(None) };
    let digest = step.and_then(|step| step.tools_sha256.as_deref());
    Ok(Some(RenderedRequest {
        iteration,
        has_same_tools: digest.map(|digest| digest == request.tools_sha256),
        sent: step.and_then(|step| step.request.clone()),
        request,
    }))
}

/// Renders the first request of a turn that is not created.
pub(super) async fn render_first_request(
    agent: &AgentShared,
    input: TurnInput,
) -> Result<Option<StepRequest>, TurnError> {
    let PreparedTurn { mut seed, mut records, .. } = prepare_turn(agent, input)?;
    // Every turn has an origin of its own, and this one will never be.
    seed.nonce = None;
    // Long texts are shown as the model sees them. Nothing is stored outside of the memory.
    let spooler = Spooler::new(Arc::new(MemorySpoolStore::new()));
    for record in &mut records.retrievables {
        let spooled = spooler.spool_retrieved(seed.id.as_str(), Arc::clone(record)).await;
        *record = spooled.map_err(RecordError::from)?;
    }
    let builder = agent.keyed_context_builder(&seed).tools(Arc::new(agent.tools.clone()));
    let ctx = builder.build();
    records.put(ctx.turn())?;
    render_iteration(agent, &ctx, 0).await
}

/// Builds a read-only context: it has no observers, and changes to it are not stored.
async fn build_context(
    agent: &AgentShared,
    seed: TurnSeed,
    memories: Vec<Memory>,
    rows: &[Row],
) -> Result<DispatchContext, TurnError> {
    let ctx = agent.keyed_context_builder(&seed).tools(Arc::new(agent.tools.clone())).build();
    seed.tools.iter().for_each(|changes| ctx.tools().restore(changes));
    restore_history(ctx.turn(), agent, seed.hydrations).await?;
    for memory in memories {
        ctx.turn().memories().put(memory);
    }
    restore_records(ctx.turn(), &agent.readers, rows, |_| ()).await?;
    Ok(ctx)
}

/// Loads the memories of a scope as they are now, without those that the turn stored.
async fn load_other_memories(
    agent: &AgentShared,
    stored: &StoredTurn,
    scope: Option<MemoryScope>,
) -> Result<Vec<Memory>, TurnError> {
    let Some(scope) = scope else { return Ok(Vec::new()) };
    let own = stored.rows.iter().filter(|row| row.kind == RowKind::Memory);
    let own: HashSet<&str> = own.map(|row| row.id.as_str()).collect();
    let mut memories = agent.load_scope(scope).await?;
    memories.retain(|memory| !own.contains(memory.id().as_str()));
    Ok(memories)
}

/// Renders the request of an iteration by the executor.
async fn render_iteration(
    agent: &AgentShared,
    ctx: &DispatchContext,
    iteration: u32,
) -> Result<Option<StepRequest>, TurnError> {
    let mut query_tools = QueryTools::new(&agent.tools);
    let updated = query_tools.update(&agent.formats, ctx);
    updated.map_err(|error| TurnError::NotRendered { error: ErrorReport::of(&error) })?;
    ctx.tools().offer_tools(OfferPoint::new());
    let ctx = StepContext::new(ctx.at_iteration(iteration));
    let request = agent.executor.render_request(ctx).await;
    request.map_err(|error| TurnError::NotRendered { error: ErrorReport::from(&error) })
}
