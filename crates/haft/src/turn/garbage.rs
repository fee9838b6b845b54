//! Stored content that no record names any more.

use std::collections::HashSet;
use std::sync::Arc;

use haft_core::spool::{SpoolKey, SpoolStore};
use haft_core::store::{StoreError, TurnId};

use super::TurnError;
use super::runner::Shared;

/// Removes what no record names. A key begins with the turn that it belongs to: content of a turn that
/// somebody runs may not have its record yet, so it is left alone.
pub(super) async fn collect(
    runner: &Arc<Shared>,
    spools: &dyn SpoolStore,
) -> Result<usize, TurnError> {
    let keys = spools.list().await.map_err(haft_core::context::RecordError::from)?;
    let turns: HashSet<&str> = keys.iter().filter_map(turn_of).collect();
    let mut live: HashSet<String> = HashSet::new();
    let mut untouchable: HashSet<&str> = HashSet::new();
    let now = runner.clock.now();
    for turn in turns {
        let Ok(id) = turn.parse::<TurnId>() else { continue };
        let Some(stored) = runner.store.load(id).await? else { continue };
        if stored.summary.held_until.is_some_and(|until| until > now) {
            untouchable.insert(turn);
            continue;
        }
        for row in &stored.rows {
            named(&row.json, &mut live)?;
        }
    }
    let mut removed = 0;
    for key in &keys {
        let spared = turn_of(key).is_none_or(|turn| untouchable.contains(turn));
        if spared || live.contains(key.as_str()) {
            continue;
        }
        let gone = spools.delete(key.clone()).await;
        removed += usize::from(gone.map_err(haft_core::context::RecordError::from)?);
    }
    Ok(removed)
}

/// The turn that a key belongs to; nothing if somebody else wrote it.
fn turn_of(key: &SpoolKey) -> Option<&str> {
    let (turn, rest) = key.as_str().split_once('/')?;
    (!rest.is_empty()).then_some(turn)
}

/// The keys that a record names: those of the readers it describes, wherever they stand in it.
fn named(json: &str, keys: &mut HashSet<String>) -> Result<(), StoreError> {
    let value: serde_json::Value = serde_json::from_str(json).map_err(|error| {
        StoreError::Damaged { what: "a record".to_owned(), reason: error.to_string() }
    })?;
    let mut left = vec![&value];
    while let Some(value) = left.pop() {
        match value {
            serde_json::Value::Object(members) => {
                if let Some(key) = members.get("locator").and_then(|it| it.get("key")) {
                    keys.extend(key.as_str().map(str::to_owned));
                }
                left.extend(members.values());
            }
            serde_json::Value::Array(elements) => left.extend(elements),
            _ => {}
        }
    }
    Ok(())
}
