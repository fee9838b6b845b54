//! Prepares a turn: instructions, the scope of its memories, the user's message and the path of the agent.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use haft::records::{Memory, Message, Record as _};
use haft::stores::OpenStores;
use haft::stores::{MemoryScope, TurnId};
use haft::turn::Instruction;
use haft::turn::{Clock as _, SystemClock};
use haft::turn::{Turn, TurnHistory};
use serde_json::json;

use crate::agent::AgentDir;
use crate::user_error::UserError;

/// The stash key under which a turn stores the agent that started it.
const ORIGIN_KEY: &str = "haft-run";

/// Adds to a turn what every turn of an agent starts with. Its memories belong to the agent, whose id is its path.
pub(crate) fn prepare_turn(turn: Turn, agent: &AgentDir, path: &Path) -> Result<Turn> {
    let path = canonical_path(path)?;
    let mut turn = turn.system(agent.system.as_str());
    for (n, text) in agent.file.instructions.iter().enumerate() {
        let rule = Instruction::from_developer(format!("instruction-{n}"), text.as_str())?;
        turn = turn.instruction(rule);
    }
    if agent.has_memory() {
        turn = turn.memories(memory_scope(&path));
    }
    if let Some(name) = agent_name(&path) {
        turn = turn.agent(name);
    }
    let path = path.to_str().context("the path of the agent is not valid UTF-8")?;
    Ok(turn.stash(json!({ORIGIN_KEY: {"agent": path}})))
}

/// The name of the agent at a path, by which workers know its turns: that of its directory, or of a file with another name
/// than `agent.toml`.
pub(crate) fn agent_name(path: &Path) -> Option<String> {
    let is_usual_file = path.file_name().is_some_and(|name| name == "agent.toml");
    let named = if is_usual_file { path.parent()? } else { path };
    Some(named.file_name()?.to_string_lossy().into_owned())
}

/// Loads the memories that a turn of an agent starts with.
pub(crate) async fn load_memories(path: &Path, stores: &OpenStores) -> Result<Vec<Memory>> {
    let scope = memory_scope(&canonical_path(path)?);
    let mut memories = Vec::new();
    for row in stores.turns().load_memories(scope).await? {
        memories.push(Memory::from_json(&row.json)?);
    }
    Ok(memories)
}

fn canonical_path(path: &Path) -> Result<PathBuf> {
    std::fs::canonicalize(path).context("cannot resolve the path of the agent")
}

fn memory_scope(path: &Path) -> MemoryScope {
    MemoryScope::agent(path.to_string_lossy())
}

/// Makes a message of the user.
pub(crate) fn new_user_message(id: impl Into<String>, text: String) -> Result<Message> {
    Ok(Message::user_at(id, text, SystemClock::new().now())?)
}

/// Finds the path of the agent that started a turn.
pub(crate) fn find_agent_path(turn: &TurnId, history: &TurnHistory) -> Result<PathBuf, UserError> {
    origin_agent(history).map(PathBuf::from).ok_or_else(|| {
        UserError::new(format!("turn `{turn}` was not started by `haft run`"))
            .hint("name its agent: haft resume TURN --agent AGENT")
    })
}

/// The path of the agent that started a turn, if `haft` did.
pub(crate) fn origin_agent(history: &TurnHistory) -> Option<&str> {
    history.stash.get(ORIGIN_KEY)?.get("agent")?.as_str()
}
