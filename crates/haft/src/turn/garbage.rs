//! Removing stored content that no record refers to.

use std::collections::HashSet;

use haft_core::context::RecordError;
use haft_core::spool::SpoolKey;
use haft_core::store::StoreError;
use serde_json::Value;

use super::TurnError;
use super::runner::RunnerShared;

/// Removes content that no record refers to, and returns how many were removed. Content of a turn that has not ended
/// may not have its record yet, and content that belongs to no turn was stored by others: neither is touched.
pub(super) async fn collect_garbage(runner: &RunnerShared) -> Result<usize, TurnError> {
    let spools = runner.spooler.store();
    let keys = spools.list().await.map_err(RecordError::from)?;
    let turns: HashSet<String> = keys.iter().filter_map(SpoolKey::turn).collect();
    let mut removed = 0;
    for turn in turns {
        // A text that is no valid id belongs to no turn.
        let stored = match turn.parse() {
            Ok(id) => runner.store.load(id).await?,
            Err(_) => None,
        };
        let mut live = HashSet::new();
        if let Some(stored) = stored {
            if !stored.summary.status.is_final() {
                continue;
            }
            for row in &stored.rows {
                collect_keys(&row.json, &mut live)?;
            }
        }
        let of_turn = keys.iter().filter(|key| key.turn().as_deref() == Some(turn.as_str()));
        for key in of_turn.filter(|key| !live.contains(key.as_str())) {
            removed += usize::from(spools.delete(key.clone()).await.map_err(RecordError::from)?);
        }
    }
    Ok(removed)
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
