//! What an agent remembers from turn to turn.

use anyhow::Result;
use haft::record::{Loader, Memory, Record as _};
use haft::store::{RowKind, Store as _, StoredText, TurnQuery};
use haft::stores::TurnDir;
use serde_json::Value;

use super::Agent;

impl Agent {
    /// What its turns have stored until now: the memories of the newest turn that it has begun in the store,
    /// which has those of the turns before it. Nothing unless the agent has the pack `memory`.
    ///
    /// `began` tells its turns from those of other agents: it gets the first entry of a turn's journal.
    pub(crate) async fn memories(
        &self,
        folder: &TurnDir,
        began: impl Fn(&Value) -> bool,
    ) -> Result<Vec<Memory>> {
        if !self.file.tools.remembers() {
            return Ok(Vec::new());
        }
        let mut query = TurnQuery::default();
        query.limit = Some(MOST);
        for summary in folder.store().turns(query).await? {
            let Some(turn) = folder.store().load(summary.id).await? else { continue };
            let first = turn.journal.first().map_or("", StoredText::as_str);
            if !began(&serde_json::from_str(first).unwrap_or_default()) {
                continue;
            }
            let mut memories = Vec::new();
            for row in turn.rows.iter().filter(|row| row.kind == RowKind::Memory) {
                memories.push(Memory::from_stored(&row.json, &Loader::new()).await?);
            }
            return Ok(memories);
        }
        Ok(Vec::new())
    }
}

/// How many turns are looked at. They are listed with the newest first.
const MOST: usize = 200;
