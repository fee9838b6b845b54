//! Builds the input of a turn: instructions, memories, the user's message and the path of the agent.

use std::path::Path;

use anyhow::{Context as _, Result};
use haft::records::{Memory, Message, Record as _, RecordLoader};
use haft::stores::TurnDir;
use haft::stores::{RowKind, StoredText, StoredTurn, TurnId, TurnQuery, TurnStore as _};
use haft::turn::Instruction;
use haft::turn::TurnInput;
use haft::turn::{Clock as _, SystemClock};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::user_error::UserError;

/// The stash key under which a turn stores the agent that started it.
const ORIGIN_KEY: &str = "haft-run";

/// How many turns are searched for memories, newest first.
const MAX_SEARCHED_TURNS: usize = 200;

/// Builds the input that every turn of an agent starts with.
pub(crate) async fn build_turn_input(
    agent: &Agent,
    path: &Path,
    store_dir: Option<&TurnDir>,
) -> Result<TurnInput> {
    let path = std::fs::canonicalize(path).context("cannot resolve the path of the agent")?;
    let mut input = TurnInput::new(agent.system.as_str());
    for (n, text) in agent.file.instructions.iter().enumerate() {
        let rule = Instruction::from_developer(format!("instruction-{n}"), text.as_str())?;
        input = input.instruction(rule);
    }
    if let Some(store_dir) = store_dir.filter(|_| agent.has_memory()) {
        for memory in load_memories(&path, store_dir).await? {
            input = input.memory(memory);
        }
    }
    Ok(input.stash(json!({ORIGIN_KEY: {"agent": path}})))
}

/// Makes a message of the user.
pub(crate) fn new_user_message(id: impl Into<String>, text: String) -> Result<Message> {
    Ok(Message::user_at(id, text, SystemClock::new().now())?)
}

/// Loads the memories of the newest turn that this agent has started in the store. They include the memories of
/// its earlier turns.
async fn load_memories(agent_path: &Path, store_dir: &TurnDir) -> Result<Vec<Memory>> {
    let mut query = TurnQuery::default();
    query.limit = Some(MAX_SEARCHED_TURNS);
    for summary in store_dir.store().turns(query).await? {
        let Some(turn) = store_dir.store().load(summary.id).await? else { continue };
        if origin_agent(&turn).as_deref() != agent_path.to_str() {
            continue;
        }
        let mut memories = Vec::new();
        for row in turn.rows.iter().filter(|row| row.kind == RowKind::Memory) {
            memories.push(Memory::from_stored(&row.json, &RecordLoader::new()).await?);
        }
        return Ok(memories);
    }
    Ok(Vec::new())
}

/// Loads the path of the agent that started a turn.
pub(crate) async fn load_agent_path(store_dir: &TurnDir, id: &TurnId) -> Result<String> {
    let stored = store_dir.store().load(id.clone()).await?;
    let agent = stored.as_ref().and_then(origin_agent).ok_or_else(|| {
        UserError::new(format!("turn `{id}` was not started by `haft run`"))
            .hint("name its agent: haft resume TURN --agent AGENT")
    })?;
    Ok(agent)
}

/// The path of the agent that the first journal entry of a turn contains.
fn origin_agent(turn: &StoredTurn) -> Option<String> {
    let first = turn.journal.first().map(StoredText::as_str)?;
    let entry: Value = serde_json::from_str(first).ok()?;
    let agent = entry.pointer(&format!("/stash/{ORIGIN_KEY}/agent"))?;
    agent.as_str().map(str::to_owned)
}
