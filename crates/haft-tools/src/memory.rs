//! What is remembered from turn to turn. Memories are those of the turn's context; what the model writes is
//! not trusted.

pub(super) mod delete_memory;
pub(super) mod list_memories;
mod memory_view;
pub(super) mod store_memory;
pub(super) mod update_memory;

use haft_core::tool::{InvalidTool, Tool, ToolBuilder};

/// `list_memories`, `store_memory`, `update_memory` and `delete_memory`.
///
/// # Errors
///
/// None is expected: the definitions are fixed.
pub fn memory() -> Result<Vec<Tool>, InvalidTool> {
    [
        list_memories::list_memories(),
        store_memory::store_memory(),
        update_memory::update_memory(),
        delete_memory::delete_memory(),
    ]
    .into_iter()
    .collect()
}

/// A definition whose answers are JSON.
fn definition(name: &str) -> ToolBuilder {
    Tool::builder(name).artifact(haft_core::artifact::ArtifactKind::JSON)
}
