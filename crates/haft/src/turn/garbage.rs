//! Removing turns, and stored content that no record refers to.

use std::collections::{HashMap, HashSet};

use haft_core::clock::Timestamp;
use haft_core::context::RecordError;
use haft_core::spool::SpoolKey;
use haft_core::store::{StoreError, TurnId, TurnQuery, TurnStatus, TurnStoreExt as _};

use super::TurnError;
use super::stored_turns::{StoredTurns, TurnStores};

/// What [`StoredTurns::collect_garbage_with`] removes in addition to content that no record refers to.
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

/// What [`StoredTurns::collect_garbage_with`] has done.
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

impl StoredTurns {
    /// Removes stored content that no record refers to, and returns how many were removed. A crash between storing a
    /// result and storing its record leaves such content. Content of turns that have not ended, content of turns that
    /// the store does not know, and content that turns did not store, is not removed.
    ///
    /// # Errors
    ///
    /// The store or the spool failed.
    pub async fn collect_garbage(&self) -> Result<usize, TurnError> {
        Ok(self.collect_garbage_with(GarbageOptions::new()).await?.content)
    }

    /// Removes stored content that no record refers to, and what the options select. A turn that a process runs, and a
    /// turn that has not ended, is not removed.
    ///
    /// # Errors
    ///
    /// The store or the spool failed.
    pub async fn collect_garbage_with(
        &self,
        options: GarbageOptions,
    ) -> Result<GarbageReport, TurnError> {
        let mut report = GarbageReport::default();
        loop {
            let removed = match options.created_before {
                Some(time) => remove_turns_before(&self.stores, time).await?,
                None => HashSet::new(),
            };
            let turns = removed.len();
            let removable = RemovableTurns { removed, unknown: options.unknown_turns };
            let prefix = SpoolKey::PREFIX_OF_TURNS;
            let GarbageReport { content, unknown, .. } =
                remove_content(&self.stores, &removable, prefix).await?;
            // What is unknown stays, and the last pass counts all of it.
            report = GarbageReport {
                turns: report.turns + turns,
                content: report.content + content,
                unknown,
            };
            if turns < MAX_REMOVED {
                return Ok(report);
            }
        }
    }

    /// Removes a turn, its gates and its content, and returns whether there was one. Content that other turns refer to
    /// stays. Nothing is removed while a process runs the turn.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::Agent;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let agent = Agent::builder(script).build()?;
    /// let report = agent.turn([]).system("Be polite.").report().await?;
    /// assert!(agent.stored_turns().remove_turn(&report.turn).await?);
    /// assert!(agent.stored_turns().load_turn(&report.turn).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A process runs the turn ([`StoreError::Held`](haft_core::store::StoreError::Held)), or the store or the spool failed.
    pub async fn remove_turn(&self, turn: &TurnId) -> Result<bool, TurnError> {
        if !self.stores.store.remove(turn.clone()).await? {
            return Ok(false);
        }
        let removed = HashSet::from([turn.as_str().to_owned()]);
        let removable = RemovableTurns { removed, unknown: false };
        let prefix = SpoolKey::prefix_of_turn(turn.as_str());
        remove_content(&self.stores, &removable, &prefix).await?;
        Ok(true)
    }

    /// Removes turns as [`remove_turn`](Self::remove_turn) does, and returns how many there were. A turn that a process runs stays.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::Agent;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let agent = Agent::builder(script).build()?;
    /// let report = agent.turn([]).system("Be polite.").report().await?;
    /// assert_eq!(agent.stored_turns().remove_turns(&[report.turn, "another".parse()?]).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The store or the spool failed.
    pub async fn remove_turns(&self, turns: &[TurnId]) -> Result<usize, TurnError> {
        let mut count = 0;
        for turn in turns {
            match self.remove_turn(turn).await {
                Ok(was_there) => count += usize::from(was_there),
                // A process that resumes the turn to report it holds it for a moment.
                Err(TurnError::Store(StoreError::Held { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }
}

/// The turns that are not in the store and whose content can be removed.
struct RemovableTurns {
    /// Turns that were removed just now.
    removed: HashSet<String>,
    /// Whether all others can be removed too.
    unknown: bool,
}

/// Removes turns that were created before a time and have ended, page by page, and returns their ids. More may be left if
/// there are [`MAX_REMOVED`].
async fn remove_turns_before(
    stores: &TurnStores,
    time: Timestamp,
) -> Result<HashSet<String>, TurnError> {
    let mut removed = HashSet::new();
    loop {
        // A turn that a process holds for a moment to report it is left out.
        let query = TurnQuery::default().ended().created_before(time);
        let page = stores.store.remove_turns(query).await?;
        let is_last = page.is_empty();
        removed.extend(page.iter().map(|id| id.as_str().to_owned()));
        if is_last || removed.len() >= MAX_REMOVED {
            return Ok(removed);
        }
    }
}

/// Removes content that no record refers to, a thousand keys at a time. A record of any turn counts: later turns of a conversation can
/// refer to content of an earlier one, also after that was removed. Content of a turn that has not ended may not have its
/// record yet, and content that belongs to no turn was stored by others: neither is touched.
async fn remove_content(
    stores: &TurnStores,
    removable: &RemovableTurns,
    prefix: &str,
) -> Result<GarbageReport, TurnError> {
    let mut report = GarbageReport::default();
    let spools = &stores.spools;
    let mut scan = spools.scan_keys(prefix);
    while let Some(keys) = scan.next_keys().await.map_err(RecordError::from)? {
        for keys in keys.chunks(PAGE) {
            // Nearly all content is in use, which one query finds out for all turns of the page.
            let unused = stores.store.unreferenced_keys(keys.to_vec()).await?;
            if unused.is_empty() {
                continue;
            }
            let (known, unknown) = select_candidates(stores, removable, unused).await?;
            report.unknown += unknown.len();
            // Once more: a turn may have stored the record and ended in between.
            for key in stores.store.unreferenced_keys(known).await? {
                report.content += usize::from(spools.delete(key).await.map_err(RecordError::from)?);
            }
        }
    }
    Ok(report)
}

/// The keys of turns that have ended or whose content can be removed, and those of turns that the store does not know.
async fn select_candidates(
    stores: &TurnStores,
    removable: &RemovableTurns,
    keys: Vec<SpoolKey>,
) -> Result<(Vec<SpoolKey>, Vec<SpoolKey>), TurnError> {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    let mut states: HashMap<String, Option<TurnStatus>> = HashMap::new();
    for key in keys {
        let Some(turn) = key.turn() else { continue };
        let status = match states.get(&turn) {
            Some(status) => *status,
            None => {
                let status = load_status(stores, &turn).await?;
                states.insert(turn.clone(), status);
                status
            }
        };
        match status {
            Some(status) if status.is_final() => known.push(key),
            Some(_) => {}
            None if removable.unknown || removable.removed.contains(&turn) => known.push(key),
            None => unknown.push(key),
        }
    }
    Ok((known, unknown))
}

async fn load_status(stores: &TurnStores, turn: &str) -> Result<Option<TurnStatus>, TurnError> {
    match turn.parse() {
        Ok(id) => Ok(stores.store.summary(id).await?.map(|it| it.status)),
        Err(_) => Ok(None),
    }
}

/// How many keys are looked at together.
const PAGE: usize = 1000;

/// How many removed turns are remembered until their content is removed.
const MAX_REMOVED: usize = 50_000;
