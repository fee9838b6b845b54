//! Removing turns, and stored content that no record refers to.

use std::collections::HashSet;

use haft_core::clock::Timestamp;
use haft_core::context::RecordError;
use haft_core::store::{StoreError, TurnId, TurnQuery};
use serde_json::Value;

use super::TurnError;
use super::runner::{RunnerShared, TurnRunner};

/// What [`TurnRunner::collect_garbage_with`] removes beside the content that no record refers to.
///
/// ```
/// use haft::turn::{GarbageOptions, Timestamp};
///
/// let options = GarbageOptions::new().created_before(Timestamp::EPOCH).unknown_turns();
/// assert!(options.unknown_turns);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GarbageOptions {
    /// Removes the turns that were created before this time and have ended, with their content.
    pub created_before: Option<Timestamp>,
    /// Removes the content of turns that the store does not know. Without this such content stays, because the
    /// database may be a wrong or an incomplete one.
    pub unknown_turns: bool,
}

impl GarbageOptions {
    /// Removes only the content of known turns that no record refers to.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes the turns that were created before this time and have ended.
    #[must_use]
    pub fn created_before(mut self, time: Timestamp) -> Self {
        self.created_before = Some(time);
        self
    }

    /// Removes the content of turns that the store does not know.
    #[must_use]
    pub fn unknown_turns(mut self) -> Self {
        self.unknown_turns = true;
        self
    }
}

/// What [`TurnRunner::collect_garbage_with`] has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GarbageReport {
    /// How many turns were removed.
    pub turns: usize,
    /// How many stored contents were removed.
    pub content: usize,
    /// How many stored contents belong to turns that the store does not know, and were not removed.
    pub unknown: usize,
}

impl TurnRunner {
    /// Removes stored content that no record refers to, and returns how many were removed: what a crash left between
    /// storing a result and storing its record. Content of turns that have not ended, content of turns that the store
    /// does not know, and content that turns did not store, is not touched.
    ///
    /// # Errors
    ///
    /// The store or the spool failed.
    pub async fn collect_garbage(&self) -> Result<usize, TurnError> {
        Ok(self.collect_garbage_with(GarbageOptions::new()).await?.content)
    }

    /// Removes stored content that no record refers to, and what the options select. A turn that a process runs, and a
    /// turn that has not ended, is not touched.
    ///
    /// # Errors
    ///
    /// The store or the spool failed.
    pub async fn collect_garbage_with(
        &self,
        options: GarbageOptions,
    ) -> Result<GarbageReport, TurnError> {
        let removed = match options.created_before {
            Some(time) => remove_turns_before(&self.shared, time).await?,
            None => HashSet::new(),
        };
        let turns = removed.len();
        let removable = RemovableTurns { removed, unknown: options.unknown_turns };
        let report = remove_content(&self.shared, &removable).await?;
        Ok(GarbageReport { turns, ..report })
    }

    /// Removes a turn, its gates and its content, and returns whether there was one. Content that other turns refer to
    /// stays. Nothing is removed while a process runs the turn.
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
    /// assert!(runner.remove_turn(&report.turn).await?);
    /// assert!(runner.load_turn(&report.turn).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A process runs the turn ([`StoreError::Held`]), or the store or the spool failed.
    pub async fn remove_turn(&self, turn: &TurnId) -> Result<bool, TurnError> {
        let RunnerShared { store, clock, .. } = &*self.shared;
        if !store.remove(turn.clone(), clock.now()).await? {
            return Ok(false);
        }
        let removed = HashSet::from([turn.as_str().to_owned()]);
        remove_content(&self.shared, &RemovableTurns { removed, unknown: false }).await?;
        Ok(true)
    }
}

/// The turns that are not in the store and whose content can be removed.
struct RemovableTurns {
    /// Turns that were removed just now.
    removed: HashSet<String>,
    /// Whether all others can be removed too.
    unknown: bool,
}

/// Removes the turns that were created before a time and have ended, and returns their ids.
async fn remove_turns_before(
    runner: &RunnerShared,
    time: Timestamp,
) -> Result<HashSet<String>, TurnError> {
    let mut old = Vec::new();
    let mut query = TurnQuery::default();
    loop {
        let page = runner.store.turns(query.clone()).await?;
        let Some(oldest) = page.last().map(|summary| summary.id.clone()) else { break };
        old.extend(page.into_iter().filter(|it| it.status.is_final() && it.created_at < time));
        query = query.before(oldest);
    }
    let mut removed = HashSet::new();
    for summary in old {
        match runner.store.remove(summary.id.clone(), runner.clock.now()).await {
            Ok(true) => {
                removed.insert(summary.id.as_str().to_owned());
            }
            // A process that resumes the turn to report it holds it for a moment.
            Ok(false) | Err(StoreError::Held { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(removed)
}

/// Removes content that no record refers to. A record of any turn counts: later turns of a conversation can refer to
/// content of an earlier one, also after that was removed. Content of a turn that has not ended may not have its record
/// yet, and content that belongs to no turn was stored by others: neither is touched.
async fn remove_content(
    runner: &RunnerShared,
    removable: &RemovableTurns,
) -> Result<GarbageReport, TurnError> {
    let mut report = GarbageReport::default();
    let spools = runner.spooler.store();
    let keys = spools.list().await.map_err(RecordError::from)?;
    if !keys.iter().any(|key| key.turn().is_some()) {
        return Ok(report);
    }
    let known = KnownTurns::load(runner).await?;
    for key in keys {
        let Some(turn) = key.turn() else { continue };
        if known.live_keys.contains(key.as_str()) || known.unfinished.contains(&turn) {
            continue;
        }
        if !known.ended.contains(&turn) {
            if is_stored(runner, &turn).await? {
                // It began after the list of turns was read.
                continue;
            }
            if !removable.unknown && !removable.removed.contains(&turn) {
                report.unknown += 1;
                continue;
            }
        }
        report.content += usize::from(spools.delete(key).await.map_err(RecordError::from)?);
    }
    Ok(report)
}

async fn is_stored(runner: &RunnerShared, turn: &str) -> Result<bool, TurnError> {
    match turn.parse() {
        Ok(id) => Ok(runner.store.load(id).await?.is_some()),
        Err(_) => Ok(false),
    }
}

/// The turns of a store.
#[derive(Default)]
struct KnownTurns {
    unfinished: HashSet<String>,
    ended: HashSet<String>,
    /// The keys that the records of all turns refer to.
    live_keys: HashSet<String>,
}

impl KnownTurns {
    async fn load(runner: &RunnerShared) -> Result<Self, TurnError> {
        let mut known = Self::default();
        let mut query = TurnQuery::default();
        loop {
            let page = runner.store.turns(query.clone()).await?;
            let Some(oldest) = page.last().map(|summary| summary.id.clone()) else { break };
            for summary in page {
                let list = match summary.status.is_final() {
                    true => &mut known.ended,
                    false => &mut known.unfinished,
                };
                list.insert(summary.id.as_str().to_owned());
                let stored = runner.store.load(summary.id).await?;
                for row in stored.iter().flat_map(|turn| &turn.rows) {
                    collect_keys(&row.json, &mut known.live_keys)?;
                }
            }
            query = query.before(oldest);
        }
        Ok(known)
    }
}

/// Adds the keys that a record refers to: those of the readers it describes, wherever they stand in it.
fn collect_keys(json: &str, keys: &mut HashSet<String>) -> Result<(), StoreError> {
    let value: Value = serde_json::from_str(json).map_err(|error| StoreError::Damaged {
        what: "a record".to_owned(),
        reason: error.to_string(),
    })?;
    let mut left = vec![&value];
    while let Some(value) = left.pop() {
        match value {
            Value::Object(members) => {
                if let Some(key) = members.get("locator").and_then(|it| it.get("key")) {
                    keys.extend(key.as_str().map(str::to_owned));
                }
                left.extend(members.values());
            }
            Value::Array(elements) => left.extend(elements),
            _ => {}
        }
    }
    Ok(())
}
