//! Stored results and their handles.
//!
//! The handle of a result is the random part of the id of its turn, so that every process with the store finds it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft::Agent;
use haft::turn::TurnError;
use haft_core::artifact::SpooledArtifact;
use haft_core::call::ToolResults;
use haft_core::clock::{Clock, Timestamp};
use haft_core::store::{TurnId, TurnQuery, TurnSummary};
use haft_core::tool::ArtifactSet;
use rmcp::ErrorData;

/// How the ids of turns begin that this server made.
const TURN_PREFIX: &str = "mcp-";

/// How many results are held open.
const MAX_OPEN: usize = 1_000;

/// The results of calls, by handle.
pub(super) struct StoredResults {
    agent: Agent,
    clock: Arc<dyn Clock>,
    lifetime: Duration,
    /// The results that this process has opened, the newest at the end.
    open: Mutex<VecDeque<OpenResult>>,
    /// When old turns were removed last, in seconds of the monotonic clock, and whether that happens now.
    swept_at: AtomicU64,
    is_sweeping: AtomicBool,
}

/// A result that is held open.
#[derive(Clone)]
pub(super) struct OpenResult {
    handle: String,
    created_at: Timestamp,
    artifacts: Vec<SpooledArtifact>,
}

impl StoredResults {
    pub(super) fn new(agent: Agent, clock: Arc<dyn Clock>, lifetime: Duration) -> Self {
        let swept_at = AtomicU64::new(0);
        let (open, is_sweeping) = (Mutex::default(), AtomicBool::new(false));
        Self { agent, clock, lifetime, open, swept_at, is_sweeping }
    }

    /// How long results are stored.
    pub(super) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// The id of a new turn.
    pub(super) fn new_turn() -> Result<TurnId, ErrorData> {
        let failed = |error: String| ErrorData::internal_error(error, None);
        let mut bits = [0; 16];
        getrandom::fill(&mut bits).map_err(|error| failed(error.to_string()))?;
        let id = format!("{TURN_PREFIX}{:032x}", u128::from_be_bytes(bits));
        id.parse().map_err(|error| failed(format!("{error}")))
    }

    /// Takes up the results of a turn and returns their handles: that of the turn, and `.0`, `.1`, … for several.
    pub(super) fn put(&self, turn: &TurnId, artifacts: &[SpooledArtifact]) -> Vec<String> {
        let handle = handle_of(turn).to_owned();
        let created_at = self.clock.now();
        let result = OpenResult { handle, created_at, artifacts: artifacts.to_vec() };
        let handles = result.handles().collect();
        self.hold_open(result);
        handles
    }

    /// The result that a handle names, or `None` if there is none, or its lifetime is over.
    pub(super) async fn find(&self, handle: &str) -> Result<Option<SpooledArtifact>, TurnError> {
        let base = handle.split_once('.').map_or(handle, |(base, _)| base);
        if base.len() != 32 || !base.bytes().all(|it| it.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let known = self.lock().iter().find(|it| it.handle == base).cloned();
        let result = match known {
            Some(result) => result,
            None => match self.load(base).await? {
                Some(result) => result,
                None => return Ok(None),
            },
        };
        if self.is_expired(result.created_at) {
            return Ok(None);
        }
        let found = result.handles().zip(&result.artifacts).find(|(it, _)| it == handle);
        Ok(found.map(|(_, artifact)| artifact.clone()))
    }

    /// The results that a client may list: those that this process has opened.
    pub(super) fn all(&self) -> ArtifactSet {
        let set = ArtifactSet::new();
        for result in self.lock().iter().filter(|it| !self.is_expired(it.created_at)) {
            for (handle, artifact) in result.handles().zip(&result.artifacts) {
                // Random handles do not collide.
                let _ = set.put_retrieved(&handle, artifact.clone());
            }
        }
        set
    }

    /// Loads the results of a turn that another process ran, or that was closed here.
    async fn load(&self, handle: &str) -> Result<Option<OpenResult>, TurnError> {
        let Ok(turn) = format!("{TURN_PREFIX}{handle}").parse::<TurnId>() else { return Ok(None) };
        let Some(stored) = self.agent.stored_turns().load_turn(&turn).await? else {
            return Ok(None);
        };
        if !stored.summary.status.is_final() {
            return Ok(None);
        }
        let report = self.agent.resume(&turn).report().await?;
        let results = report.calls.first().and_then(|call| call.results.clone());
        let Some(ToolResults::Artifacts(artifacts)) = results else { return Ok(None) };
        let created_at = stored.summary.created_at;
        let result = OpenResult { handle: handle.to_owned(), created_at, artifacts };
        self.hold_open(result.clone());
        Ok(Some(result))
    }

    fn hold_open(&self, result: OpenResult) {
        let mut open = self.lock();
        open.retain(|it| it.handle != result.handle && !self.is_expired(it.created_at));
        if open.len() >= MAX_OPEN {
            open.pop_front();
        }
        open.push_back(result);
    }

    fn is_expired(&self, created_at: Timestamp) -> bool {
        self.clock.now().duration_since(created_at) >= self.lifetime
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<OpenResult>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes turns of this server whose lifetime is over, with their results. Does nothing if that was done a short
    /// time ago, or is being done.
    pub(super) async fn remove_expired(&self) -> Result<usize, TurnError> {
        let now = self.clock.monotonic().as_secs();
        let pause = (self.lifetime.as_secs() / 24).clamp(1, 3_600);
        let is_due = now.saturating_sub(self.swept_at.load(Ordering::Relaxed)) >= pause;
        if !is_due || self.is_sweeping.swap(true, Ordering::AcqRel) {
            return Ok(0);
        }
        let _sweeping = Sweeping(&self.is_sweeping);
        self.swept_at.store(now, Ordering::Relaxed);
        let mut expired = Vec::new();
        let mut query = TurnQuery::default();
        loop {
            let page = self.agent.stored_turns().list_turns(query.clone()).await?;
            let Some(oldest) = page.last().map(|summary| summary.id.clone()) else { break };
            expired.extend(page.into_iter().filter(|it| self.is_own_and_expired(it)));
            query = query.before(oldest);
        }
        let mut turns = Vec::with_capacity(expired.len());
        for summary in expired {
            if !summary.status.is_final()
                && self.agent.stored_turns().cancel_turn(&summary.id, EXPIRED).await.is_err()
            {
                continue;
            }
            turns.push(summary.id);
        }
        self.agent.stored_turns().remove_turns(&turns).await
    }

    fn is_own_and_expired(&self, turn: &TurnSummary) -> bool {
        turn.id.as_str().starts_with(TURN_PREFIX) && self.is_expired(turn.created_at)
    }
}

/// Why a call that waits for input is cancelled.
const EXPIRED: &str = "no input arrived in the lifetime of the call";

/// Says that no turns are being removed any more.
struct Sweeping<'a>(&'a AtomicBool);

impl Drop for Sweeping<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl OpenResult {
    fn handles(&self) -> impl Iterator<Item = String> {
        let single = self.artifacts.len() == 1;
        (0..self.artifacts.len()).map(move |part| match single {
            true => self.handle.clone(),
            false => format!("{}.{part}", self.handle),
        })
    }
}

/// The handle of the results of a turn.
fn handle_of(turn: &TurnId) -> &str {
    turn.as_str().strip_prefix(TURN_PREFIX).unwrap_or(turn.as_str())
}
