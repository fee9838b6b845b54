//! Removing stored content that no record refers to.

use std::collections::HashSet;

use haft_core::context::RecordError;
use haft_core::store::{StoreError, TurnQuery};
use serde_json::Value;

use super::TurnError;
use super::runner::RunnerShared;

/// Removes content that no record refers to, and returns how many were removed. A record of any turn counts: later
/// turns of a conversation can refer to content of an earlier one, also after that was removed. Content of a turn that
/// has not ended may not have its record yet, and content that belongs to no turn was stored by others: neither is
/// touched.
pub(super) async fn collect_garbage(runner: &RunnerShared) -> Result<usize, TurnError> {
    let spools = runner.spooler.store();
    let keys = spools.list().await.map_err(RecordError::from)?;
    if !keys.iter().any(|key| key.turn().is_some()) {
        return Ok(0);
    }
    let (unfinished, live) = collect_live_keys(runner).await?;
    let mut removed = 0;
    for key in keys {
        let Some(turn) = key.turn() else { continue };
        // A turn that began after the list of turns was read is there now.
        let began_meanwhile = || async {
            match turn.parse() {
                Ok(id) => {
                    Ok(runner.store.load(id).await?.is_some_and(|it| !it.summary.status.is_final()))
                }
                Err(_) => Ok::<_, TurnError>(false),
            }
        };
        if !live.contains(key.as_str()) && !unfinished.contains(&turn) && !began_meanwhile().await?
        {
            removed += usize::from(spools.delete(key).await.map_err(RecordError::from)?);
        }
    }
    Ok(removed)
}

/// The turns that have not ended, and the keys that the records of all turns refer to.
async fn collect_live_keys(
    runner: &RunnerShared,
) -> Result<(HashSet<String>, HashSet<String>), TurnError> {
    let (mut unfinished, mut live) = (HashSet::new(), HashSet::new());
    let mut query = TurnQuery::default();
    loop {
        let page = runner.store.turns(query.clone()).await?;
        let Some(oldest) = page.last().map(|summary| summary.id.clone()) else { break };
        for summary in page {
            if !summary.status.is_final() {
                unfinished.insert(summary.id.as_str().to_owned());
            }
            let stored = runner.store.load(summary.id).await?;
            for row in stored.iter().flat_map(|turn| &turn.rows) {
                collect_keys(&row.json, &mut live)?;
            }
        }
        query = query.before(oldest);
    }
    Ok((unfinished, live))
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
